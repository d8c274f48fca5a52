"""The server of the page: the standard library's, for a few addresses that can only be read.

No address names a file. What a request says is checked against what there is: runs and rows by number, attributes by
name. Everything else is answered in one line.
"""

import hmac
import ipaddress
import json
import secrets
import socket
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

from nmrgcl import reading
from nmrgcl.errors import SettingError, UserError
from nmrgcl.report import page
from nmrgcl.report.live_page import PORT
from nmrgcl.view.drawings import draw
from nmrgcl.view.runs import Viewed

LOOPBACK = "127.0.0.1"
COOKIE = "nmrgcl"
SECONDS = 20
"""That a client may take to say what it wants."""
LONGEST, MOST = 2000, 12
"""Characters of an address, and its parameters."""
NEIGHBOURS = 50
FIGURES = ("loss", "rank", "spectrum", "map")
POLICY = (
    # The plot library compiles its shaders' callers by Function, and indexes points in a worker made of a blob.
    "default-src 'none'; script-src 'self' 'unsafe-eval'; worker-src blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_FILES = {
    "/": ("nmrgcl.view", "page.html", "text/html; charset=utf-8"),
    "/page.js": ("nmrgcl.view", "page.js", "text/javascript; charset=utf-8"),
    "/plots.js": ("nmrgcl.view", "plots.js", "text/javascript; charset=utf-8"),
    "/page.css": ("nmrgcl.view", "page.css", "text/css; charset=utf-8"),
    "/style.css": ("nmrgcl.report", "style.css", "text/css; charset=utf-8"),
}
Answer = tuple[str, bytes]
"""The type and the content of what is sent."""


class Refused(Exception):
    """A request that is answered with a status and one line."""

    def __init__(self, status: HTTPStatus, words: str) -> None:
        super().__init__(words)
        self.status = status


class Asked:
    """The parameters of a request; whatever is not as expected is refused."""

    def __init__(self, query: str, runs: Sequence[Viewed]) -> None:
        try:
            found = parse_qs(query, max_num_fields=MOST, keep_blank_values=True, errors="strict")
        except ValueError:
            raise Refused(HTTPStatus.BAD_REQUEST, "the parameters cannot be read") from None
        self.values, self.runs = {name: values[-1] for name, values in found.items()}, runs

    def number(self, name: str, below: int, usual: int | None = None) -> int:
        """A whole number from 0 up to ``below``."""
        text = self.values.get(name, "" if usual is None else str(usual))
        if not (text.isascii() and text.isdigit() and len(text) <= 12 and int(text) < below):
            raise Refused(HTTPStatus.BAD_REQUEST, f"{name} must be a whole number below {below}")
        return int(text)

    def word(self, name: str, known: Sequence[str] | Mapping[str, Any]) -> str:
        """One of the words that are known."""
        text = self.values.get(name, "")
        if text not in known:
            raise Refused(HTTPStatus.NOT_FOUND, f"there is no such {name}")
        return text

    @property
    def run(self) -> Viewed:
        """The run that is asked about; the first if none is named."""
        return self.runs[self.number("run", len(self.runs), 0)]

    @property
    def seed(self) -> int:
        """The model that is asked about; the first that is complete if none is named."""
        known = list(self.run.models())
        if not known:
            raise Refused(HTTPStatus.NOT_FOUND, "no model is complete yet")
        seed = self.number("seed", 10**9, known[0])
        if seed not in known:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such model")
        return seed

    @property
    def placed(self) -> Any:
        """The map of that model."""
        return self.run.placed(self.seed)

    @property
    def row(self) -> int:
        """The graph or node that is asked about."""
        return self.number("row", len(self.placed.z))


def _values(asked: Asked) -> Answer:
    attributes = asked.placed.attributes
    values = attributes[asked.word("name", attributes)].values
    return "application/octet-stream", np.asarray(values, dtype="<f4").tobytes()


def _row(asked: Asked) -> Answer:
    count = asked.number("k", NEIGHBOURS + 1, 0)
    row, placed = asked.row, asked.placed
    return _json(placed.about(row) | {"neighbours": placed.neighbours(row, count) if count else []})


def _search(asked: Asked) -> Answer:
    text = asked.values.get("text", "")
    return _json({"rows": asked.placed.search(text) if text else []})


def _drawing(asked: Asked) -> Answer:
    row, placed = asked.row, asked.placed
    return "image/svg+xml", draw(placed.dataset, row, placed.level).encode()


def _figure(asked: Asked) -> Answer:
    kind = asked.word("kind", FIGURES)
    live = not asked.run.models()
    seed = asked.number("seed", 10**9, 0) if live else asked.seed
    return "image/svg+xml", asked.run.picture(kind, seed).encode()


def _report(asked: Asked) -> Answer:
    path = asked.run.report()
    if path is None:
        raise Refused(HTTPStatus.NOT_FOUND, "there is no report yet; write one with nmrgcl report RUN")
    return "text/html; charset=utf-8", reading.read_bytes(path, 1 << 28)


def _json(values: Any) -> Answer:
    return "application/json", json.dumps(values, allow_nan=False).encode()  # a browser does not read NaN


ROUTES: dict[str, Callable[[Asked], Answer]] = {
    "/api/runs": lambda asked: _json({"runs": [run.status() for run in asked.runs]}),
    "/api/curves": lambda asked: _json(asked.run.curves()),
    "/api/map": lambda asked: _json(asked.run.map(asked.seed)),
    "/api/points": lambda asked: ("application/octet-stream", asked.placed.points[0].astype("<f4").tobytes()),
    "/api/values": _values,
    "/api/row": _row,
    "/api/search": _search,
    "/api/drawing": _drawing,
    "/figure": _figure,
    "/report": _report,
}


class Server(ThreadingHTTPServer):
    """Serves ``runs``; other machines must show the ``token``."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], runs: Sequence[Viewed], token: str | None) -> None:
        self.runs, self.token = list(runs), token
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Handler)

    @property
    def address(self) -> str:
        """What to open in a browser."""
        host = str(self.server_address[0])
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{self.server_port}/" + (f"?token={self.token}" if self.token else "")

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = "nmrgcl", ""
    timeout = SECONDS

    def do_GET(self) -> None:
        """Answer with a page, numbers or a picture."""
        try:
            self._send(HTTPStatus.OK, *self._answer())
        except Refused as refused:
            self._send(refused.status, "text/plain; charset=utf-8", f"{refused}\n".encode())
        except UserError as error:
            words = f"{error}\n".encode(errors="backslashreplace")
            self._send(HTTPStatus.CONFLICT, "text/plain; charset=utf-8", words)
        except (BrokenPipeError, ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception as error:  # shown where the server runs, not to whoever asked
            self.log_error("%s", f"{type(error).__name__}: {error}")
            words = b"this could not be computed; the terminal says why\n"
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain; charset=utf-8", words)

    do_HEAD = do_GET

    def _answer(self) -> Answer:
        if len(self.path) > LONGEST:
            raise Refused(HTTPStatus.REQUEST_URI_TOO_LONG, "the address is too long")
        try:
            parts = urlsplit(self.path)
        except ValueError:
            raise Refused(HTTPStatus.BAD_REQUEST, "the address cannot be read") from None
        # Before anything is looked up, so that strangers do not learn what there is.
        self._admit(parts.query)
        if parts.path in _FILES:
            package, name, kind = _FILES[parts.path]
            return kind, resources.files(package).joinpath(name).read_bytes()
        if parts.path not in ROUTES:
            raise Refused(HTTPStatus.NOT_FOUND, "there is nothing here")
        return ROUTES[parts.path](Asked(parts.query, self.server.runs))

    def _admit(self, query: str) -> None:
        """Others than this machine need the token; a name that a foreign page has for this machine is not served."""
        self.new_cookie = ""
        if self.server.token is None:
            host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
            if host not in (LOOPBACK, "localhost", "[::1]"):
                raise Refused(HTTPStatus.FORBIDDEN, f"this page is served to http://{LOOPBACK} only")
            return
        try:
            kept = SimpleCookie(self.headers.get("Cookie", "")).get(COOKIE)
        except CookieError:
            kept = None
        given = Asked(query, ()).values.get("token", "")
        token = self.server.token.encode()
        # In constant time, so that the answer's delay tells nothing about the token.
        if hmac.compare_digest(given.encode(errors="replace"), token):
            self.new_cookie = f"{COOKIE}={self.server.token}; HttpOnly; SameSite=Strict; Path=/"
        elif kept is None or not hmac.compare_digest(kept.value.encode(errors="replace"), token):
            raise Refused(
                HTTPStatus.FORBIDDEN, "the token is missing or wrong; open the address that nmrgcl view printed"
            )

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            "Cache-Control": "no-store",
            "Content-Security-Policy": POLICY,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        if kind == "image/svg+xml":
            headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"
        if self.path.startswith("/report"):  # which says for itself what it may load
            headers["Content-Security-Policy"] = page.POLICY
        if self.path.startswith("/figure") and status == HTTPStatus.OK:
            headers["Content-Disposition"] = 'attachment; filename="figure.svg"'
        if getattr(self, "new_cookie", ""):
            headers["Set-Cookie"] = self.new_cookie
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library refuses: methods that are not served, lines that are too long."""
        status = HTTPStatus(code)
        words = "only GET and HEAD are served" if status == HTTPStatus.NOT_IMPLEMENTED else status.phrase.lower()
        status = HTTPStatus.METHOD_NOT_ALLOWED if status == HTTPStatus.NOT_IMPLEMENTED else status
        self.path, self.command = getattr(self, "path", ""), self.command or "GET"
        self._send(status, "text/plain; charset=utf-8", f"{words}\n".encode())
        self.close_connection = True

    def log_message(self, format: str, *given: Any) -> None:
        """Requests are not worth a line."""

    def log_error(self, format: str, *given: Any) -> None:
        """What could not be computed is."""
        from nmrgcl.errors import printable, say

        if format == "%s":
            say(printable(format % given))


def open_server(runs: Sequence[Viewed], *, host: str = LOOPBACK, port: int = PORT) -> Server:
    """A server that is ready to ``serve_forever``; beyond this machine it asks for a token."""
    token = None if _is_loopback(host) else secrets.token_urlsafe(24)
    try:
        return Server((host, port), runs, token)
    except OSError as error:
        raise SettingError(
            f"--port {port}: cannot be used on {host} ({error.strerror}); choose another --port"
        ) from None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        raise SettingError(f"--host {host}: not an address of this machine, such as {LOOPBACK} or 0.0.0.0") from None
