"""Asking a server for a file, or for the rest of one, and judging what it answers."""

import re
import urllib.request
from http.client import HTTPException, HTTPMessage, InvalidURL
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from nmrgcl.data.files.part import Part, Version

MAX_REDIRECTS = 5
TIMEOUT = 30.0
_BUSY = (408, 425, 429, 500, 502, 503, 504)
_RANGE = re.compile(r"bytes ([0-9]{1,18})-[0-9]{1,18}/([0-9]{1,18})")


class Broken(Exception):
    """The connection, or what came through it; worth another try."""


class Refused(Exception):
    """Trying again would not help."""


def ask(url: str, part: Part, known: Version | None) -> Any:
    """The answer of a server that has the file; the caller closes it. ``known`` is the version to continue."""
    headers = {"User-Agent": "nmrgcl", "Accept-Encoding": "identity"}
    if known is not None and known.validator is not None:
        headers |= {"Range": f"bytes={part.position}-", "If-Range": known.validator}
    try:
        # A new opener each time, so that the proxies are those of now.
        opener = urllib.request.build_opener(_Redirects)
        return opener.open(urllib.request.Request(url, headers=headers), timeout=TIMEOUT)
    except HTTPError as error:
        error.close()  # it is also the open answer of the server
        if error.code == 416:
            part.forget()
        raise (Broken if error.code in (416, *_BUSY) else Refused)(str(error)) from None
    except URLError as error:  # nobody was reached: no reason to wait, unless somebody had been before
        raise (Broken if part.position else Refused)(str(error)) from None
    except (InvalidURL, ValueError) as error:
        raise Refused(str(error)) from None
    except (OSError, HTTPException) as error:
        raise Broken(str(error) or type(error).__name__) from None


def whole(url: str, answer: Any) -> Version:
    """What the server says about a file that it sends from the beginning."""
    if answer.status not in (200, None):  # a file: address has none
        raise Refused(f"the server answered with status {answer.status}")
    coding = (answer.headers.get("Content-Encoding") or "identity").lower()
    # Some servers call a .gz file, sent as it is, an encoding.
    if coding != "identity" and not (coding in ("gzip", "x-gzip") and urlsplit(url).path.endswith((".gz", ".tgz"))):
        raise Refused(f"the server sent it as {coding}, which was not asked for")
    length = answer.headers.get("Content-Length") or ""
    stated = length.isascii() and length.isdigit() and len(length) < 19 and not ends_itself(answer)
    return Version(
        url, answer.headers.get("ETag"), answer.headers.get("Last-Modified"), int(length) if stated else None
    )


def rest(answer: Any, part: Part, known: Version | None) -> int:
    """The length of the whole, where the answer is indeed the rest of it; otherwise what is there is forgotten."""
    match = _RANGE.fullmatch(answer.headers.get("Content-Range") or "")
    if known is not None and match is not None:
        start, total = int(match[1]), int(match[2])
        etag, modified = (
            answer.headers.get("ETag", known.etag),
            answer.headers.get("Last-Modified", known.last_modified),
        )
        # A length that was not stated before is believed now.
        then = (known.etag, known.last_modified, part.position, known.length or total)
        if (etag, modified, start, total) == then:
            return total
    part.forget()
    raise Broken("the server sent a part of another file")


def ends_itself(answer: Any) -> bool:
    """Whether the end of the answer is marked, so that it is told from a broken connection."""
    return bool(getattr(answer, "chunked", False))


def read(answer: Any, size: int) -> bytes:
    """What has arrived, ``size`` bytes at most; none at the end."""
    try:
        data: bytes = answer.read1(size)
    except (OSError, HTTPException) as error:
        raise Broken(str(error) or type(error).__name__) from None
    return data


class _Redirects(urllib.request.HTTPRedirectHandler):
    """At most five, and never to a file, nor from an encrypted connection to one that is not."""

    max_repeats = MAX_REDIRECTS + 1  # counted below

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        """The next request; the body of this answer is not read, however long."""
        fp.close()
        old, new = urlsplit(req.full_url).scheme, urlsplit(newurl).scheme
        if new not in ("http", "https") or (old, new) == ("https", "http"):
            raise HTTPError(req.full_url, code, f"{msg}: it leads to {newurl}", headers, fp)
        if sum(getattr(req, "redirect_dict", {}).values()) >= MAX_REDIRECTS:
            raise HTTPError(req.full_url, code, f"{msg}: more than {MAX_REDIRECTS} redirections", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)
