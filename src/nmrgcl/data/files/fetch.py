"""Download a file with pooch; it appears complete and verified, or not at all."""

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
"""Called with the number of bytes received and, if the server states it, the total."""


class NotThereError(DataError):
    """The server works but does not have the file."""


def is_safe(url: str) -> bool:
    """Return True for https, and for http on this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and _is_this_machine(host)))


def fetch(url: str, target: Path, *, sha256: str | None = None, progress: ByteProgress | None = None) -> None:
    """Download ``url`` to ``target``, which appears when it is complete; an existing file is kept.

    A ``.zip`` or ``.npz`` must be a zip file, to recognise servers that answer with an error page. The usual
    ``*_proxy`` variables are honoured.
    """
    if target.exists():
        return
    remedy = f"download {url} elsewhere and save it as {target}"
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
    """Download to the temporary file that pooch then verifies and moves; redirections are followed."""
    import requests

    if not is_safe(url):
        raise ValueError("only https addresses are supported")
    try:
        answer = requests.get(url, stream=True, timeout=TIMEOUT, headers={"Accept-Encoding": "identity"})
    except requests.ConnectionError as error:
        raise OSError(f"no connection to {urlsplit(url).netloc}, {type(error).__name__}") from None
    with answer, open(path, "wb") as file:
        os.fchmod(file.fileno(), 0o644)  # pooch creates files that only their owner can read
        if answer.status_code in (404, 410):
            raise NotThereError("the server does not have the file")
        answer.raise_for_status()
        if answer.status_code != 200 or not all(is_safe(hop.url) for hop in (*answer.history, answer)):
            raise ValueError(f"it redirects to {answer.url}, with status {answer.status_code}")
        stated = answer.headers.get("Content-Length", "")
        # Raw bytes, because some servers declare a .gz file as an encoding, which requests would decode.
        for data in answer.raw.stream(_CHUNK, decode_content=False):
            file.write(data)
            if file.tell() > MAX_BYTES:
                raise ValueError(f"larger than {MAX_BYTES >> 20} MiB")
            if progress:
                progress(file.tell(), int(stated) if stated.isdecimal() else None)
    if urlsplit(url).path.endswith((".zip", ".npz")) and not zipfile.is_zipfile(path):
        raise ValueError("the response is not a zip file")


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
