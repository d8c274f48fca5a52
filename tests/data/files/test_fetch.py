"""Downloads from a server that breaks off and lies."""

import hashlib
import os
import stat
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from nmrgcl.data.files import fetch as fetch_module
from nmrgcl.data.files.fetch import NotThereError, fetch, is_safe
from nmrgcl.errors import DataError
from tests.data.files.test_archive import make_zip
from tests.local_server import serving

BODY = bytes(i * i % 251 for i in range(5000))
DIGEST = hashlib.sha256(BODY).hexdigest()


@dataclass
class Server:
    """One file at every address, of which ``sent`` bytes are sent; ``answers`` are the first statuses and headers."""

    url: str = ""
    body: bytes = BODY
    sent: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    asked: list[Any] = field(default_factory=list)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.asked.append(handler.headers)
        status, headers = self.answers.pop(0) if self.answers else (200, {})
        handler.send_response(status)
        for name, value in ({"Content-Length": str(len(self.body))} | self.headers | headers).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(self.body[: self.sent])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in [n for n in os.environ if n.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    described = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            described.answer(self)

        def log_message(self, *_: object) -> None:
            pass

    with serving(Handler) as address:
        described.url = f"{address}/T.bin"
        yield described


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "home" / "T.bin"


def refusal(url: str, target: Path, **options: Any) -> str:
    """One line that says what to place where, and nothing is left behind."""
    with pytest.raises(DataError) as caught:
        fetch(url, target, **options)
    told = str(caught.value)
    assert told.isprintable()
    assert f"download {url} elsewhere and save it as {target}" in told
    assert not target.parent.is_dir() or not list(target.parent.iterdir())
    return told


def test_a_file_arrives_whole_and_everybody_can_read_it(server: Server, target: Path) -> None:
    told: list[tuple[int, int | None]] = []
    fetch(server.url, target, sha256=DIGEST, progress=lambda done, total: told.append((done, total)))
    assert target.read_bytes() == BODY
    assert [path.name for path in target.parent.iterdir()] == ["T.bin"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    assert told[-1] == (5000, 5000)
    assert server.asked[0]["Accept-Encoding"] == "identity"
    fetch(server.url, target)
    assert len(server.asked) == 1


def test_a_file_placed_by_hand_is_kept(server: Server, target: Path) -> None:
    target.parent.mkdir()
    target.write_text("mine")
    fetch(server.url, target, sha256=DIGEST)
    assert target.read_text() == "mine"
    assert not server.asked


@pytest.mark.parametrize("sent", [0, 1, 4999])
def test_a_connection_that_breaks_off_leaves_nothing(server: Server, target: Path, sent: int) -> None:
    server.sent = sent
    assert "T: the download failed (" in refusal(server.url, target)


def test_the_wrong_digest_is_told_beside_the_right_one(server: Server, target: Path) -> None:
    told = refusal(server.url, target, sha256="0" * 64)
    assert "0" * 64 in told
    assert DIGEST in told


def test_a_download_that_is_too_large_is_broken_off(
    server: Server, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch_module, "MAX_BYTES", 4999)
    assert "larger than" in refusal(server.url, target)


@pytest.mark.parametrize("content", [b"<html>please log in</html>", b""])
def test_what_is_not_a_zip_is_not_kept(server: Server, target: Path, content: bytes) -> None:
    server.body, zipped = content, server.url.replace(".bin", ".zip")
    assert "not a zip file" in refusal(zipped, target.with_suffix(".zip"))
    server.body = make_zip(target.parent / "made").read_bytes()
    fetch(zipped, target.with_suffix(".zip"))
    assert target.with_suffix(".zip").read_bytes() == server.body


def test_a_gz_that_the_server_calls_an_encoding_stays_as_it_is(server: Server, target: Path) -> None:
    server.headers = {"Content-Encoding": "gzip"}
    fetch(server.url, target)
    assert target.read_bytes() == BODY


@pytest.mark.parametrize("status", [404, 410])
def test_a_file_that_the_server_does_not_have_is_told_from_one_that_fails(
    server: Server, target: Path, status: int
) -> None:
    server.answers = [(status, {}), (503, {})]
    with pytest.raises(NotThereError, match=f"save it as {target}"):
        fetch(server.url, target)
    assert "503" in refusal(server.url, target)


def test_a_server_that_is_not_there_is_reported_at_once(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert "no connection to 127.0.0.1:9" in refusal("http://127.0.0.1:9/T.bin", target)


def test_redirections_are_followed_but_never_elsewhere(server: Server, target: Path) -> None:
    for place in ("file:///etc/passwd", "ftp://localhost/T"):
        server.answers = [(302, {"Location": place})]
        refusal(server.url, target)
    server.answers = [(302, {"Location": "/other"})] * 3
    fetch(server.url, target)
    assert target.read_bytes() == BODY


def test_a_redirection_never_gives_up_encryption(server: Server, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers = [(302, {"Location": server.url.replace("127.0.0.1", "localhost")})]
    monkeypatch.setattr(fetch_module, "is_safe", lambda url: "localhost" not in url)
    assert "it redirects to http://localhost" in refusal(server.url, target)


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://h/T", True),
        ("http://127.0.0.1:80/T", True),
        ("http://localhost/T", True),
        ("http://[::1]/T", True),
        ("http://h/T", False),
        ("http://127.0.0.1.evil.org/T", False),
        ("ftp://h/T", False),
        ("file:///etc/passwd", False),
        ("data:,x", False),
        ("/etc/passwd", False),
        ("https://", False),
        ("http://[::1", False),
    ],
)
def test_addresses_that_are_not_encrypted_are_of_this_machine(target: Path, url: str, safe: bool) -> None:
    assert is_safe(url) == safe
    if not safe:
        assert "only https addresses are supported" in refusal(url, target)


def test_a_line_stays_one_line(target: Path) -> None:
    with pytest.raises(DataError) as caught:
        fetch("http://h/a\nb\x1b[0m", target.with_name("T\n.bin"))
    assert str(caught.value).isprintable()


def test_where_nothing_can_be_written_the_place_is_reported(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=f"save it as {tmp_path}/file/T.bin"):
        fetch(server.url, tmp_path / "file" / "T.bin")


def test_many_at_once_end_with_one_whole_file(server: Server, target: Path) -> None:
    crowd = [threading.Thread(target=fetch, args=(server.url, target)) for _ in range(8)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert target.read_bytes() == BODY
    assert [path.name for path in target.parent.iterdir()] == ["T.bin"]


def test_without_pooch_one_line_says_so(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert "T: downloads need pooch: pip install pooch, or download" in refusal("https://h/T.bin", target)
