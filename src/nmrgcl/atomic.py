"""Writing that is done or not done, never half done.

What is being written has a hidden name, ``.NAME.TOKEN.…``, until it is complete. Files and folders have the mode that
the umask gives.
"""

import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from nmrgcl.owned import FolderKind, is_plain, remove, require_replaceable

TOKEN = re.compile(r"[0-9a-f]{16}")
"""What a marker holds, so that unfinished files of a process that was killed can be told from those of others."""


def write_text(path: Path, text: str, token: str = "") -> None:
    """Replace ``path`` by a file with this text."""
    write_bytes(path, text.encode(), token)


def write_bytes(path: Path, content: bytes, token: str = "") -> None:
    """Replace ``path`` by a file with this content."""
    with new_file(path, token) as file:
        file.write(content)


@contextmanager
def new_file(path: Path, token: str = "") -> Iterator[IO[bytes]]:
    """A file to fill; it appears as ``path``, in place of the file that was there, when the block ends well."""
    _require_plain(path)
    filling = _hidden(path, token)
    descriptor = os.open(filling, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _require_plain(path)
        os.replace(filling, path)
    except BaseException:
        filling.unlink(missing_ok=True)
        raise
    _flush(path.parent)


@contextmanager
def new_folder(path: Path, kind: FolderKind, token: str = "") -> Iterator[Path]:
    """A folder to fill; it appears as ``path`` when the block ends well.

    It takes the place of a folder of the same kind that holds nothing foreign; any other is refused.
    """
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    require_replaceable(path, kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    filling = _hidden(path, token)
    filling.mkdir()
    try:
        yield filling
        for file in filling.iterdir():
            _flush(file)
        _flush(filling)
        with suppress(FileNotFoundError):
            shutil.copymode(path, filling)  # a folder that its owner has closed to others stays closed
        _put(filling, path, kind, token)
        _flush(path.parent)
    except BaseException:
        shutil.rmtree(filling, ignore_errors=True)
        raise


def remove_folder(path: Path, kind: FolderKind, token: str = "") -> None:
    """Remove a folder of ours that holds nothing foreign; it loses its name before it loses any file."""
    remove(_set_aside(path, kind, token), kind)


def remove_strays(folder: Path, token: str) -> None:
    """Remove what a process that was killed left unfinished; ``token`` is the one that it wrote with."""
    if not TOKEN.fullmatch(token):
        return
    for name in os.listdir(folder) if folder.is_dir() else ():
        if re.fullmatch(rf"\..+\.{token}\.[0-9a-f]{{8}}", name):
            stray = folder / name
            stray.unlink(missing_ok=True) if is_plain(stray) else shutil.rmtree(stray, ignore_errors=True)


def _put(filling: Path, path: Path, kind: FolderKind, token: str) -> None:
    """Give a complete folder its name; what had it is set aside first, and put back if that fails."""
    done = _renamed(filling, path)
    while not done:
        try:
            aside = _set_aside(path, kind, token)
        except FileNotFoundError:  # another process has just set it aside
            done = _renamed(filling, path)
            continue
        try:
            done = _renamed(filling, path)
        except BaseException:
            _put_back(aside, path, kind)
            raise
        remove(aside, kind)


def _set_aside(path: Path, kind: FolderKind, token: str) -> Path:
    """Rename a folder to a hidden name, unless it turns out to hold something foreign."""
    aside = _hidden(path, f"old.{token}" if token else "old")
    os.rename(path, aside)
    try:
        require_replaceable(aside, kind)  # now that nobody finds it any more
    except BaseException:
        _put_back(aside, path, kind)
        raise
    return aside


def _put_back(aside: Path, path: Path, kind: FolderKind) -> None:
    if not _renamed(aside, path):
        remove(aside, kind)  # another process has put a newer one in its place


def _renamed(folder: Path, path: Path) -> bool:
    """Rename a folder; False if another folder, which is not empty, has the name."""
    try:
        os.rename(folder, path)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    return True


def _hidden(path: Path, token: str) -> Path:
    return path.with_name(".".join(["", path.name, *([token] if token else []), secrets.token_hex(4)]))


def _require_plain(path: Path) -> None:
    if os.path.lexists(path) and not is_plain(path):
        raise FileExistsError(errno.EEXIST, "it is a link, a folder or a device, which is not replaced", str(path))


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
