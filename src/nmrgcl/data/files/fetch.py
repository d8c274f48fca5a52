"""One file from the network, by pooch: complete and checked in its place, or not there at all."""

import os
import zipfile
from collections.abc import Callable
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from nmrgcl.errors import DataError, printable

MAX_BYTES = 1 << 30
TIMEOUT = 30.0
_CHUNK = 1 << 18

ByteProgress = Callable[[int, int | None], None]
"""Called with the bytes that have arrived and, where the server says so, how many there will be."""


class NotThereError(DataError):
    """The server is fine, but does not have the file."""


def is_safe(url: str) -> bool:
    """True for https, and for http on this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and _is_this_machine(host)))


def fetch(url: str, target: Path, *, sha256: str | None = None, progress: ByteProgress | None = None) -> None:
    """Download ``url`` to ``target``, which appears when it is complete; a file that is already there is kept.

    What is called ``.zip`` or ``.npz`` must be a zip file: a page that says sorry is none. The usual ``*_proxy``
    variables are honoured.
    """
    if target.exists():
        return
    remedy = f"get {url} elsewhere and place it as {target}"
    try:
        import pooch
        import urllib3
    except ImportError:
        raise DataError(printable(f"{target.stem}: downloads need pooch: pip install pooch, or {remedy}")) from None
    pooch.get_logger().setLevel("ERROR")
    try:
        receive = partial(_receive, progress=progress)
        pooch.retrieve(url, sha256, target.name, target.parent, downloader=receive)
    except NotThereError as error:
        raise NotThereError(printable(f"{target.stem}: {error}; {remedy}")) from None
    except (OSError, ValueError, urllib3.exceptions.HTTPError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(printable(f"{target.stem}: the download failed ({reason}); {remedy}")) from None


def _receive(url: str, path: str, _: object = None, *, progress: ByteProgress | None) -> None:
    """Fill the file that pooch then checks and moves; ``requests`` follows redirections."""
    import requests

    if not is_safe(url):
        raise ValueError("only https addresses are read")
    try:
        answer = requests.get(url, stream=True, timeout=TIMEOUT, headers={"Accept-Encoding": "identity"})
    except requests.ConnectionError as error:
        raise OSError(f"no connection to {urlsplit(url).netloc}, {type(error).__name__}") from None
    with answer, open(path, "wb") as file:
        os.fchmod(file.fileno(), 0o644)  # pooch makes files that only their owner can read
        if answer.status_code in (404, 410):
            raise NotThereError("the server does not have the file")
        answer.raise_for_status()
        if answer.status_code != 200 or not all(is_safe(hop.url) for hop in (*answer.history, answer)):
            raise ValueError(f"it leads to {answer.url}, with status {answer.status_code}")
        stated = answer.headers.get("Content-Length", "")
        # Bytes as they were sent: some servers call a .gz file an encoding, which would be undone.
        for data in answer.raw.stream(_CHUNK, decode_content=False):
            file.write(data)
            if file.tell() > MAX_BYTES:
                raise ValueError(f"larger than {MAX_BYTES >> 20} MiB")
            if progress:
                progress(file.tell(), int(stated) if stated.isdecimal() else None)
    if urlsplit(url).path.endswith((".zip", ".npz")) and not zipfile.is_zipfile(path):
        raise ValueError("what arrived is not a zip file")


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
