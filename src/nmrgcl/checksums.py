"""``SHA256SUMS``: written beside files that travel, checked before they are believed."""

import hashlib
from pathlib import Path

from nmrgcl.errors import ModelError

NAME = "SHA256SUMS"


def write_checksums(folder: Path) -> None:
    """List every file of ``folder`` the way the ``sha256sum`` command does."""
    files = sorted(p for p in folder.iterdir() if p.is_file() and p.name != NAME)
    (folder / NAME).write_text("".join(f"{_digest(p)}  {p.name}\n" for p in files), encoding="utf-8")


def verify_checksums(folder: Path, required: tuple[str, ...]) -> None:
    """Raise unless every listed file is there unchanged and the ``required`` ones are listed."""
    try:
        lines = (folder / NAME).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise ModelError(f"{folder}: no readable {NAME}; this is not a complete model folder") from None
    listed: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        digest, separator, name = line.partition("  ")
        if not separator or len(digest) != 64 or Path(name).name != name or not name.isprintable():
            raise ModelError(f"{folder / NAME}, line {number}: not a checksum; copy the model folder again")
        listed[name] = digest
    for name in required:
        if name not in listed:
            raise ModelError(f"{folder / NAME}: {name} is not listed; copy the model folder again")
    for name, digest in listed.items():
        if not (folder / name).is_file():
            raise ModelError(f"{folder / name}: missing; copy the model folder again")
        if _digest(folder / name) != digest:
            raise ModelError(f"{folder / name}: checksum does not match {NAME}; the file is damaged, copy it again")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
