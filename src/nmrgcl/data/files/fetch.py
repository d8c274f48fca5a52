"""One file from the network: whole in its place, or not there at all; what broke off is continued."""

import hashlib
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from nmrgcl import reading
from nmrgcl.data.files.part import Part, part_of
from nmrgcl.data.files.request import Broken, Refused, ask, ends_itself, read, rest, whole
from nmrgcl.errors import DataError, printable

MAX_BYTES = 1 << 30
WAITS = (0.5, 1.0, 2.0)
"""Seconds before each further try within one call."""

Progress = Callable[[int, int | None], None]
_CHUNK = 1 << 18
_SCHEMES = ("https", "http", "file")


def fetch(
    url: str,
    target: Path,
    *,
    sha256: str | None = None,
    zipped: bool = False,
    progress: Progress | None = None,
) -> None:
    """Download ``url`` (http, https or file) to ``target``, which appears when complete; one in place is kept.

    A connection that breaks is tried again, and what arrived stays beside the target as ``NAME.part``: the next call
    continues it, if the server still has the same version. Two processes that want one file share one download.

    Args:
        url: the address; the usual ``*_proxy`` variables are honoured.
        target: where it goes; its folder is made.
        sha256: the digest it must have, in hexadecimal.
        zipped: it must be a zip file; a page that says sorry is none.
        progress: is told the bytes that are there and, where the server says so, how many there will be.
    """

    def check(path: Path) -> None:
        with reading.open_file(path) as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
            is_zip = zipfile.is_zipfile(file)
        if sha256 is not None and found != sha256.lower():
            raise Refused(f"its SHA-256 is {found} instead of {sha256.lower()}")
        if zipped and not is_zip:
            raise Refused("what arrived is not a zip file")

    _place(_Download(url, progress, check if sha256 or zipped else None), target)


@dataclass(frozen=True)
class _Download:
    """What is wanted; ``check`` refuses a file that is not it, so also one whose end is missing."""

    url: str
    progress: Progress | None
    check: Callable[[Path], None] | None

    def fill(self, part: Part) -> None:
        """Ask for what is missing until nothing is."""
        for wait in WAITS:
            try:
                return self._receive(part)
            except Broken:
                time.sleep(wait)
        return self._receive(part)

    def _receive(self, part: Part) -> None:
        """One request: for the rest of the version that is there, or for the whole."""
        known = part.continues(self.url)
        if known and part.position == known.length:
            return  # nothing but its renaming was missing
        with ask(self.url, part, known) as answer:
            if answer.status == 206:
                total: int | None = rest(answer, part, known)
            else:
                version = whole(self.url, answer)
                part.begin(version)
                total = version.length
            if total is None and self.check is None and not ends_itself(answer):
                raise Refused("the server does not say how long it is, so nobody could tell whether it is complete")
            self._copy(answer, part, total)

    def _copy(self, answer: Any, part: Part, total: int | None) -> None:
        """What the server sends to the end of the part."""
        end = MAX_BYTES + 1 if total is None else total
        while (total or 0) <= MAX_BYTES and (data := read(answer, min(_CHUNK, end - part.position))):
            part.append(data)
            if self.progress:
                self.progress(part.position, total)
        if max(part.position, total or 0) > MAX_BYTES:
            part.forget()
            raise Refused(f"larger than {MAX_BYTES >> 20} MiB")
        # A connection that breaks off looks like the end of the file.
        if total is not None and part.position != total:
            raise Broken(f"{part.position} of {total} bytes arrived")


def _place(wanted: _Download, target: Path) -> None:
    """Whatever goes wrong, the user is told how to place the file by hand."""
    left = 0
    try:
        if urlsplit(wanted.url).scheme not in _SCHEMES:
            raise Refused(f"only {', '.join(_SCHEMES)} addresses are read")
        target.parent.mkdir(parents=True, exist_ok=True)
        with part_of(target) as part:
            if part is None:
                return _check(wanted, target)
            try:
                wanted.fill(part)
                _check(wanted, part.path, part)
                part.finish()
            except BaseException:
                left = part.position if part.continues(wanted.url) else 0
                raise
    except (Broken, Refused, OSError, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        told = f"{target.stem}: the download failed ({reason}); get {wanted.url} elsewhere and place it as {target}"
        told += f"; the {left} bytes that are there will be continued" if left else ""
        raise DataError(printable(told)) from None


def _check(wanted: _Download, path: Path, part: Part | None = None) -> None:
    """Refuse a file that is not the one it should be; a part is then removed, a file in its place is the user's."""
    try:
        if wanted.check is not None:
            wanted.check(path)
    except Refused as error:
        if part is None:
            raise DataError(printable(f"{path}: is not {wanted.url} ({error}); remove it")) from None
        part.discard()
        raise
