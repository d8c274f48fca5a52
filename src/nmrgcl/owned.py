"""Ownership of files: those that this package did not write are never changed.

A folder is ours only if it contains our marker, a JSON file which states that this package wrote it. In such a folder,
the names listed by the marker are ours, and so are temporary names that contain its token. Nothing else is removed or
replaced; a command refuses if foreign files are in the way. Links are never ours, because we create none.
"""

import json
import os
import stat
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmrgcl import reading
from nmrgcl.errors import SettingError

MAX_BYTES = 1 << 28
"""Largest size of a marker."""


@dataclass(frozen=True)
class FolderKind:
    """A kind of folder that this package writes.

    Attributes:
        what: its name in messages.
        marker: name of the marker file.
        recognise: returns True if the values in a marker file were written by us.
        names: returns every name that we may have written in the folder, given the values of its marker.
    """

    what: str
    marker: str
    recognise: Callable[[Mapping[str, Any]], bool]
    names: Callable[[Mapping[str, Any]], Collection[str]]


def read_marker(folder: Path, kind: FolderKind) -> dict[str, Any] | None:
    """Return the values of the marker; None if the folder is not ours."""
    values = _values(folder / kind.marker)
    return values if values is not None and kind.recognise(values) else None


def is_plain(path: Path) -> bool:
    """Return True for a regular file, but not for a link to one."""
    with suppress(OSError):
        return stat.S_ISREG(path.lstat().st_mode)
    return False


def require_replaceable(folder: Path, kind: FolderKind) -> None:
    """Raise SettingError unless the folder is absent, empty, or ours without foreign files."""
    while True:
        seen = _version(folder)
        problem = _problem(folder, kind) if seen else None
        if problem is None:
            return
        if _version(folder) == seen:  # otherwise another process has just replaced it
            raise SettingError(f"{folder}: {problem} choose another place")


def _problem(folder: Path, kind: FolderKind) -> str | None:
    if not folder.is_dir() or folder.is_symlink():
        return "exists and is not a folder;"
    try:
        found = sorted(os.listdir(folder))
    except OSError as error:
        return f"cannot be read ({error.strerror});"
    values = read_marker(folder, kind)
    if values is None:
        return f"is not empty and contains no {kind.what};" if found else None
    names = kind.names(values)
    strange = (name for name in found if name not in names or not is_plain(folder / name))
    return next((f"{name!r} is not part of the {kind.what}; move it away or" for name in strange), None)


def _version(folder: Path) -> tuple[int, int, int] | None:
    with suppress(OSError):
        found = folder.lstat()
        return found.st_dev, found.st_ino, found.st_ctime_ns
    return None


def remove(folder: Path, kind: FolderKind) -> None:
    """Remove our files from a folder of ours, the marker last, and the folder itself if it is then empty."""
    names = kind.names(read_marker(folder, kind) or {})
    for name in sorted(names, key=lambda name: name == kind.marker):
        if is_plain(folder / name):
            (folder / name).unlink(missing_ok=True)
    remove_empty(folder)


def remove_empty(folder: Path) -> None:
    """Remove a folder if it is empty."""
    with suppress(OSError):
        folder.rmdir()


def require_no_link(path: Path) -> None:
    """Raise SettingError if the path is a link, which may lead out of a folder of ours."""
    if path.is_symlink():
        raise SettingError(f"{path}: is a link, and links are not written to; remove it or choose another place")


def require_named(path: Path, *kinds: FolderKind) -> None:
    """Raise SettingError if the file exists and is not one that a folder of these kinds lists."""
    found = ((kind, read_marker(path.parent, kind)) for kind in kinds)
    ours = any(values is not None and path.name in kind.names(values) for kind, values in found)
    if os.path.lexists(path) and not (ours and is_plain(path)):
        raise _foreign(path)


def require_format(path: Path, format_: str) -> None:
    """Raise SettingError if the file exists and is not JSON of this format."""
    if os.path.lexists(path) and (not is_plain(path) or (_values(path) or {}).get("format") != format_):
        raise _foreign(path)


def require_signed(path: Path, signature: bytes) -> None:
    """Raise SettingError if the file exists and does not contain ``signature``."""
    if os.path.lexists(path) and not (is_plain(path) and signature in reading.read_bytes(path, limit=None)):
        raise _foreign(path)


def require_group(marker: Path, format_: str, others: Collection[Path]) -> None:
    """Raise SettingError if ``marker`` exists in another format, or any of ``others`` exists without it."""
    require_format(marker, format_)
    for path in others:
        if os.path.lexists(path) and not (marker.exists() and is_plain(path)):
            raise _foreign(path)


def _foreign(path: Path) -> SettingError:
    return SettingError(f"{path}: was not written by nmrgcl; move it away or choose another place")


def _values(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in a regular file, if there is one."""
    try:
        values = json.loads(reading.read_bytes(path, MAX_BYTES)) if is_plain(path) else None
    except (OSError, ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None
