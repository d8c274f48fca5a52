"""Write and verify checksums: ``SHA256SUMS`` of a folder, and of values in JSON."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmrgcl import reading
from nmrgcl.errors import ModelError

NAME = "SHA256SUMS"
LARGEST = 1 << 28
"""Largest size of a listed file, unless it is ``unlimited``."""


def write_checksums(folder: Path) -> None:
    """List every file of ``folder`` in the format of the ``sha256sum`` command."""
    files = sorted(p for p in folder.iterdir() if p.is_file() and p.name != NAME)
    (folder / NAME).write_text("".join(f"{_digest(p)}  {p.name}\n" for p in files), encoding="utf-8")


def verify_checksums(folder: Path, required: tuple[str, ...], *, unlimited: str) -> None:
    """Raise ModelError unless every listed file is unchanged and the ``required`` ones are listed.

    The file called ``unlimited`` may have any size.
    """
    try:
        lines = reading.read_text(folder / NAME).splitlines()
    except (OSError, ValueError):
        raise ModelError(f"{folder}: has no readable {NAME}, so it is not a complete model folder") from None
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
        try:
            same = _digest(folder / name, None if name == unlimited else LARGEST) == digest
        except FileNotFoundError:
            raise ModelError(f"{folder / name}: missing; copy the model folder again") from None
        except OSError as error:
            raise ModelError(
                f"{folder / name}: cannot be read ({error.strerror}); copy the model folder again"
            ) from None
        if not same:
            raise ModelError(f"{folder / name}: checksum does not match {NAME}; the file is damaged, copy it again")


def checksum_of(values: Mapping[str, Any]) -> str:
    """Return the SHA-256 of ``values`` as JSON, without the checksum itself."""
    rest = {key: value for key, value in values.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _digest(path: Path, limit: int | None = None) -> str:
    with reading.open_file(path, limit) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
