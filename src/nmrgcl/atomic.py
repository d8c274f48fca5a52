"""Write files and folders atomically: they appear complete or not at all.

Until then they have a hidden name, ``.NAME.TOKEN.…``. Files and folders get their mode from the umask.
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
"""A token identifies the unfinished files of a process, so that they can be removed if it was killed."""


def write_text(path: Path, text: str, token: str = "") -> None:
    """Replace ``path`` with a file of this text."""
    write_bytes(path, text.encode(), token)


def write_bytes(path: Path, content: bytes, token: str = "") -> None:
    """Replace ``path`` with a file of this content."""
    with new_file(path, token) as file:
        file.write(content)


@contextmanager
def new_file(path: Path, token: str = "") -> Iterator[IO[bytes]]:
    """Yield a file to fill; it replaces ``path`` when the block ends without an error."""
    _require_plain(path)
    filling = _hidden(path, token)
    with _named(path):
        descriptor = os.open(filling, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # Something else may have appeared there while the file was written.
        _require_plain(path)
        os.replace(filling, path)
    except BaseException:
        filling.unlink(missing_ok=True)
        raise
    # Without this, the new name might be lost in a power failure.
    _flush(path.parent)


@contextmanager
def new_folder(path: Path, kind: FolderKind, token: str = "") -> Iterator[Path]:
    """Yield a folder to fill; it appears as ``path`` when the block ends without an error.

    It may replace a folder of the same kind without foreign files; any other folder is refused.
    """
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    require_replaceable(path, kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    filling = _hidden(path, token)
    with _named(path):
        filling.mkdir()
    try:
        yield filling
        for file in filling.iterdir():
            _flush(file)
        _flush(filling)
        with suppress(FileNotFoundError):
            shutil.copymode(path, filling)  # keep the permissions of a folder that is replaced
        _put(filling, path, kind, token)
        _flush(path.parent)
    except BaseException:
        shutil.rmtree(filling, ignore_errors=True)
        raise


def remove_folder(path: Path, kind: FolderKind, token: str = "") -> None:
    """Remove a folder of ours without foreign files; it is renamed before any file is deleted."""
    remove(_set_aside(path, kind, token), kind)


def remove_strays(folder: Path, token: str) -> None:
    """Remove the unfinished files of a killed process, which wrote with this ``token``."""
    if not TOKEN.fullmatch(token):
        return
    for name in os.listdir(folder) if folder.is_dir() else ():
        if re.fullmatch(rf"\..+\.{token}\.[0-9a-f]{{8}}", name):
            stray = folder / name
            stray.unlink(missing_ok=True) if is_plain(stray) else shutil.rmtree(stray, ignore_errors=True)


def _put(filling: Path, path: Path, kind: FolderKind, token: str) -> None:
    """Rename a complete folder to ``path``; an existing one is moved aside first, and back if renaming fails."""
    done = _renamed(filling, path)
    while not done:
        try:
            aside = _set_aside(path, kind, token)
        except FileNotFoundError:  # another process has just moved it aside
            done = _renamed(filling, path)
            continue
        try:
            done = _renamed(filling, path)
        except BaseException:
            _put_back(aside, path, kind)
            raise
        remove(aside, kind)


def _set_aside(path: Path, kind: FolderKind, token: str) -> Path:
    """Rename a folder to a hidden name, unless it contains foreign files."""
    aside = _hidden(path, f"old.{token}" if token else "old")
    os.rename(path, aside)
    try:
        require_replaceable(aside, kind)  # again, now that no other process can add files
    except BaseException:
        _put_back(aside, path, kind)
        raise
    return aside


def _put_back(aside: Path, path: Path, kind: FolderKind) -> None:
    if not _renamed(aside, path):
        remove(aside, kind)  # another process has created a newer one


def _renamed(folder: Path, path: Path) -> bool:
    """Rename a folder; return False if there is a non-empty folder of that name."""
    try:
        os.rename(folder, path)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    return True


def _hidden(path: Path, token: str) -> Path:
    return path.with_name(".".join(["", path.name, *([token] if token else []), secrets.token_hex(4)]))


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Let an error name ``path`` instead of the hidden file beside it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def _require_plain(path: Path) -> None:
    if os.path.lexists(path) and not is_plain(path):
        raise FileExistsError(errno.EEXIST, "links, folders and devices are not replaced", str(path))


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
