"""One file from the network: whole in its place, or not there at all."""

import os
import tempfile
import urllib.request
import zipfile
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError

from nmrgcl.errors import DataError

MAX_BYTES = 1 << 30
TIMEOUT = 30.0
_CHUNK = 1 << 18


def fetch_zip(url: str, target: Path) -> None:
    """Download ``url`` to ``target``; whatever goes wrong, the user is told how to place the file by hand."""
    partial: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        partial = Path(name)
        with os.fdopen(handle, "wb") as file, urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
            expected = answer.headers.get("Content-Length")
            received = 0
            while chunk := answer.read(_CHUNK):
                received += len(chunk)
                if received > MAX_BYTES:
                    raise OSError(f"larger than {MAX_BYTES >> 20} MiB")
                file.write(chunk)
            # A connection that breaks off looks like the end of the file.
            if expected is not None and int(expected) != received:
                raise OSError(f"{received} of {expected} bytes arrived")
            file.flush()
            os.fsync(file.fileno())
        if not zipfile.is_zipfile(partial):
            raise OSError("what arrived is not a zip file")
        partial.chmod(0o644)
        os.replace(partial, target)
    except (OSError, HTTPException, ValueError) as error:
        if isinstance(error, HTTPError):
            error.close()  # it is also the open answer of the server
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(
            f"{target.stem}: the download failed ({reason}); get {url} elsewhere and place it as {target}"
        ) from None
    finally:
        if partial is not None:
            partial.unlink(missing_ok=True)
