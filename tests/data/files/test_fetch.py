"""Downloads against a server that breaks off, changes its mind and lies."""

import hashlib
import io
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message
from http.client import HTTPMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request

import pytest

from nmrgcl.data.files import fetch as fetch_module
from nmrgcl.data.files import part as part_module
from nmrgcl.data.files.fetch import fetch
from nmrgcl.data.files.request import _Redirects
from nmrgcl.errors import DataError
from tests.data.files.test_archive import make_zip

BODY = bytes(i * i % 251 for i in range(5000))
DIGEST = hashlib.sha256(BODY).hexdigest()


class Killed(BaseException):
    pass


@dataclass
class Server:
    """One file at every address; ``cuts`` are the bytes sent before each answer breaks off (None: all)."""

    url: str = ""
    body: bytes = BODY
    headers: dict[str, str] = field(default_factory=lambda: {"ETag": '"one"'})
    cuts: list[int | None] = field(default_factory=list)
    ranges: bool = True
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    length: str | None = "true"
    seen: list[tuple[str, "Message[str, str]"]] = field(default_factory=list)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.seen.append((handler.path, handler.headers))
        start, total = 0, len(self.body)
        wanted = handler.headers.get("Range")
        if wanted and self.ranges and handler.headers["If-Range"] in self.headers.values():
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
        status, headers = 206 if start else 200, dict(self.headers)
        if start:
            headers["Content-Range"] = f"bytes {start}-{total - 1}/{total}"
        data = self.body[start:]
        if self.length:
            headers["Content-Length"] = str(len(data)) if self.length == "true" else self.length
        if self.answers:
            status, changes = self.answers.pop(0)
            headers |= changes
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        cut = self.cuts.pop(0) if self.cuts else None
        handler.wfile.write(data if cut is None else data[:cut])

    @property
    def asked(self) -> list[str | None]:
        return [headers.get("Range") for _, headers in self.seen]


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_module, "WAITS", (0, 0, 0))
    for name in [n for n in os.environ if n.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


@pytest.fixture
def server() -> Iterator[Server]:
    described = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            described.answer(self)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.005,))
        thread.start()
        described.url = f"http://127.0.0.1:{running.server_port}/T.bin"
        yield described
        running.shutdown()
        thread.join()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "home" / "T.bin"


def files(target: Path) -> list[str]:
    return sorted(path.name for path in target.parent.iterdir())


def refusal(url: str, target: Path, *, left: tuple[str, ...] = (), **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        fetch(url, target, **options)
    told = str(caught.value)
    assert told.isprintable()
    assert f"get {url} elsewhere and place it as {target}" in told
    assert not target.parent.is_dir() or files(target) == sorted(left)
    return told


def test_a_file_arrives_whole(server: Server, target: Path) -> None:
    told: list[tuple[int, int | None]] = []
    fetch(server.url, target, sha256=DIGEST.upper(), progress=lambda done, total: told.append((done, total)))
    assert target.read_bytes() == BODY
    assert files(target) == ["T.bin"]
    assert told[-1] == (5000, 5000)
    assert server.seen[0][1]["Accept-Encoding"] == "identity"
    fetch(server.url, target)
    assert len(server.seen) == 1


@pytest.mark.parametrize("headers", [{"ETag": '"one"'}, {"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}])
def test_a_broken_connection_is_continued_within_one_call(
    server: Server, target: Path, headers: dict[str, str]
) -> None:
    server.headers, server.cuts = headers, [1000, 0, 2500]
    fetch(server.url, target)
    assert target.read_bytes() == BODY
    assert server.asked == [None, "bytes=1000-", "bytes=1000-", "bytes=3500-"]
    assert [h.get("If-Range") for _, h in server.seen] == [None] + 3 * list(headers.values())


def test_what_broke_off_is_continued_by_the_next_call(server: Server, target: Path) -> None:
    server.cuts = [700, 300, 0, 0]
    told = refusal(server.url, target, left=("T.bin.part", "T.bin.part.json"))
    assert "T: the download failed (1000 of 5000 bytes arrived)" in told
    assert told.endswith("; the 1000 bytes that are there will be continued")
    assert (target.parent / "T.bin.part").read_bytes() == BODY[:1000]
    fetch(server.url, target, sha256=DIGEST)
    assert target.read_bytes() == BODY
    assert files(target) == ["T.bin"]
    assert server.asked[-1] == "bytes=1000-"


def begun(server: Server, target: Path, length: int = 1000) -> None:
    """Leave a part behind."""
    server.cuts = [length, 0, 0, 0]
    refusal(server.url, target, left=("T.bin.part", "T.bin.part.json"))
    server.seen.clear()


LATER = {"Last-Modified": "Tue, 02 Jan 2024 00:00:00 GMT"}
ANOTHER = {
    "the server does not continue": (False, []),
    "the rest is not satisfiable": (True, [(416, {"Content-Length": "0"})]),
    "another place": (True, [(206, {"Content-Range": "bytes 999-4999/5000"})]),
    "another length": (True, [(206, {"Content-Range": "bytes 1000-4999/5001"})]),
    "an unknown length": (True, [(206, {"Content-Range": "bytes 1000-4999/*"})]),
    "another tag": (True, [(206, {"ETag": '"two"'})]),
    "no place": (True, [(206, {"Content-Range": "lines 1-2/3"})]),
}


@pytest.mark.parametrize("case", ANOTHER)
def test_what_cannot_be_continued_is_fetched_anew(server: Server, target: Path, case: str) -> None:
    begun(server, target)
    server.body = BODY[::-1]  # so that a mixture of the two would show
    server.ranges, server.answers = ANOTHER[case]
    fetch(server.url, target)
    assert target.read_bytes() == BODY[::-1]
    assert server.asked[0] == "bytes=1000-"
    assert files(target) == ["T.bin"]


def test_a_file_that_has_changed_is_fetched_anew(server: Server, target: Path) -> None:
    begun(server, target)
    server.body, server.headers = BODY[::-1], {"ETag": '"two"'}
    fetch(server.url, target)
    assert target.read_bytes() == BODY[::-1]


@pytest.mark.parametrize("headers", [{}, {"ETag": 'W/"one"'}])
def test_without_a_strong_validator_nothing_is_continued_or_left(
    server: Server, target: Path, headers: dict[str, str]
) -> None:
    server.headers, server.cuts = headers, [1000] * 4
    assert "continued" not in refusal(server.url, target)
    server.cuts = [1000]
    fetch(server.url, target)
    assert target.read_bytes() == BODY
    assert set(server.asked) == {None}


@pytest.mark.parametrize("record", ["", "[]", "{}", '{"url": 3}', '{"url": "http://other/", "etag": "\\"one\\""}'])
def test_a_part_without_a_record_to_believe_is_forgotten(server: Server, target: Path, record: str) -> None:
    begun(server, target)
    (target.parent / "T.bin.part.json").write_text(record)
    (target.parent / "T.bin.part").write_bytes(b"?" * 1000)
    fetch(server.url, target)
    assert target.read_bytes() == BODY
    assert server.asked == [None]


def test_whenever_it_is_killed_the_same_bytes_arrive(
    server: Server, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch_module, "_CHUNK", 613)

    def die(done: int, total: int | None) -> None:
        raise Killed

    for _ in range(20):
        if target.exists():
            break
        before = target.parent / "T.bin.part"
        length = before.stat().st_size if before.exists() else 0
        if length < len(BODY):
            with pytest.raises(Killed):
                fetch(server.url, target, progress=die)
            assert before.read_bytes() == BODY[: before.stat().st_size]
            assert before.stat().st_size > length
        else:
            server.seen.clear()
            fetch(server.url, target, progress=die)
            assert server.seen == []  # only its renaming was missing
    assert target.read_bytes() == BODY


@pytest.mark.parametrize("where", ["write_text", "os.replace", "os.fsync", "Part.append", "Part.sync"])
@pytest.mark.parametrize("part_there", [False, True])
def test_killed_between_the_steps_the_same_bytes_arrive(
    server: Server, target: Path, monkeypatch: pytest.MonkeyPatch, where: str, part_there: bool
) -> None:
    if part_there:
        begun(server, target)
        server.headers = {"ETag": '"two"'}
        server.body = BODY[::-1]

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(f"nmrgcl.data.files.part.{where}", die)
        with pytest.raises(Killed):
            fetch(server.url, target)
    assert not target.exists()
    fetch(server.url, target)
    assert target.read_bytes() == server.body
    assert files(target) == ["T.bin"]


HOLD = """
import fcntl, os, sys, time
file = open(sys.argv[1] + ".part", "wb")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.readline()
file.write(b"by the other")
file.flush()
os.replace(sys.argv[1] + ".part", sys.argv[1])
"""


def test_a_process_waits_for_the_one_that_is_at_it_and_finds_the_file_in_place(server: Server, target: Path) -> None:
    target.parent.mkdir()
    command = [sys.executable, "-S", "-E", "-c", HOLD, str(target)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        waiting = threading.Thread(target=fetch, args=(server.url, target))
        waiting.start()
        time.sleep(0.05)
        assert waiting.is_alive()
        other.stdin.write("\n")
        other.stdin.close()
        waiting.join()
    assert target.read_bytes() == b"by the other"
    assert server.seen == []
    assert files(target) == ["T.bin"]


def test_many_at_once_share_one_download(server: Server, target: Path) -> None:
    server.cuts = [1000, 1000]
    crowd = [threading.Thread(target=fetch, args=(server.url, target)) for _ in range(8)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert target.read_bytes() == BODY
    assert len(server.seen) == 3
    assert files(target) == ["T.bin"]


def test_who_waited_for_one_that_failed_fetches_it_himself(
    server: Server, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.headers, server.cuts = {}, [10] * 4  # the first leaves nothing
    told: list[Exception] = []

    def attempt() -> None:
        try:
            fetch(server.url, target)
        except DataError as error:
            told.append(error)

    crowd = [threading.Thread(target=attempt) for _ in range(2)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert len(told) == 1
    assert target.read_bytes() == BODY


def test_the_wrong_digest_is_told_beside_the_right_one_and_nothing_is_kept(server: Server, target: Path) -> None:
    told = refusal(server.url, target, sha256="0" * 64)
    assert f"its SHA-256 is {DIGEST} instead of {'0' * 64}" in told
    target.write_bytes(b"mine")
    with pytest.raises(DataError, match=r"T\.bin: is not http.* \(its SHA-256 is .* instead of .*\); remove it"):
        fetch(server.url, target, sha256=DIGEST)
    assert target.read_bytes() == b"mine"


def test_a_file_placed_by_hand_ends_the_part(server: Server, target: Path) -> None:
    begun(server, target)
    target.write_bytes(BODY)
    fetch(server.url, target, sha256=DIGEST)
    assert server.seen == []
    assert files(target) == ["T.bin"]


def test_a_length_that_is_never_reached_is_told(server: Server, target: Path) -> None:
    server.length, server.ranges = "5001", False
    left = ("T.bin.part", "T.bin.part.json")
    assert "5000 of 5001 bytes arrived" in refusal(server.url, target, left=left)


def test_more_than_was_announced_is_not_taken(server: Server, target: Path) -> None:
    server.length = "4999"
    assert "SHA-256" in refusal(server.url, target, sha256=DIGEST)


def test_without_a_length_only_a_checksum_tells_the_end(server: Server, target: Path) -> None:
    server.length = None
    assert "does not say how long it is" in refusal(server.url, target)
    fetch(server.url, target, sha256=DIGEST)
    assert target.read_bytes() == BODY


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)


def test_a_chunked_answer_ends_where_it_says(server: Server, target: Path) -> None:
    server.length, server.headers = None, {"Transfer-Encoding": "chunked", "ETag": '"one"'}
    server.body = chunked(BODY[:2000], BODY[2000:])
    server.ranges = False
    assert "IncompleteRead" in refusal(server.url, target, left=("T.bin.part", "T.bin.part.json"))
    server.body += b"0\r\n\r\n"
    fetch(server.url, target)
    assert target.read_bytes() == BODY


def test_a_download_that_is_too_large_is_broken_off(
    server: Server, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch_module, "MAX_BYTES", 4999)
    assert "larger than 0 MiB" in refusal(server.url, target)
    server.length, server.headers = None, {"Transfer-Encoding": "chunked"}
    server.body = chunked(BODY) + b"0\r\n\r\n"
    assert "larger than 0 MiB" in refusal(server.url, target)
    assert len(server.seen) == 2
    monkeypatch.setattr(fetch_module, "MAX_BYTES", 5000)
    fetch(server.url, target)
    assert target.read_bytes() == BODY


def test_what_was_compressed_on_the_way_is_refused(server: Server, target: Path) -> None:
    server.headers["Content-Encoding"] = "gzip"
    assert "sent it as gzip, which was not asked for" in refusal(server.url, target)
    fetch(f"{server.url}.gz?raw=1", target)
    assert target.read_bytes() == BODY


def test_a_busy_server_is_asked_again_and_an_answer_of_no_is_not(server: Server, target: Path) -> None:
    server.answers = [(503, {}), (429, {})]
    fetch(server.url, target)
    assert len(server.seen) == 3
    target.unlink()
    server.answers, server.seen = [(404, {"Content-Length": "0"})], []
    assert "T: the download failed (HTTP Error 404" in refusal(server.url, target)
    assert len(server.seen) == 1
    server.answers, server.seen = [(204, {})], []
    assert "answered with status 204" in refusal(server.url, target)
    server.answers = [(206, {})] * 4
    assert "a part of another file" in refusal(server.url, target)


def test_nobody_there_is_told_at_once(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_module, "WAITS", (60, 60, 60))
    assert "Connection refused" in refusal("http://127.0.0.1:1/T.bin", target)


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY"])
def test_proxies_are_honoured(server: Server, target: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, server.url.removesuffix("/T.bin"))
    server.cuts = [1000]
    fetch("http://data.invalid/T.bin", target)
    assert target.read_bytes() == BODY
    assert [path for path, _ in server.seen] == ["http://data.invalid/T.bin"] * 2


def test_addresses_without_a_proxy_are_honoured(server: Server, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert "Connection refused" in refusal(server.url, target)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    fetch(server.url, target)
    assert target.read_bytes() == BODY


def test_five_redirections_are_followed(server: Server, target: Path) -> None:
    server.answers = [(302, {"Location": f"/{i}", "Content-Length": "0"}) for i in range(5)]
    fetch(server.url, target)
    assert target.read_bytes() == BODY
    target.unlink()
    server.answers = [(302, {"Location": "/again", "Content-Length": "0"})] * 6
    assert "more than 5 redirections" in refusal(server.url, target)
    assert len(server.seen) == 6 + 6


@pytest.mark.parametrize("place", ["file:///etc/passwd", "ftp://localhost/T", "data:,x"])
def test_a_redirection_never_leads_elsewhere(server: Server, target: Path, place: str) -> None:
    server.answers = [(301, {"Location": place, "Content-Length": "0"})]
    assert place in refusal(server.url, target)


def test_a_redirection_never_gives_up_encryption() -> None:
    def follow(old: str, new: str) -> Request | None:
        return _Redirects().redirect_request(Request(old), io.BytesIO(), 302, "Found", HTTPMessage(), new)

    assert follow("http://a/", "https://b/") is not None
    assert follow("https://a/", "https://b/") is not None
    with pytest.raises(HTTPError, match="it leads to http://b/"):
        follow("https://a/", "http://b/")


@pytest.mark.parametrize("url", ["ftp://h/T", "data:,x", "/etc/passwd", "", "http://[::1", "http://h:x/T", "http://"])
def test_addresses_of_other_kinds_are_refused(target: Path, url: str) -> None:
    assert "T: the download failed (" in refusal(url, target)


def test_a_line_stays_one_line(target: Path) -> None:
    with pytest.raises(DataError) as caught:
        fetch("http://h/a\nb\x1b[0m", target.with_name("T\n.bin"))
    assert str(caught.value).isprintable()


def test_where_nothing_can_be_written_the_place_is_told(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert "File exists" in refusal(server.url, tmp_path / "file" / "T.bin")
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "T.bin.part").symlink_to(tmp_path / "file")
    assert "Too many levels" in refusal(server.url, tmp_path / "home" / "T.bin", left=("T.bin.part",))


def test_the_record_says_what_is_needed_to_continue(server: Server, target: Path) -> None:
    server.headers |= LATER
    begun(server, target)
    assert json.loads((target.parent / "T.bin.part.json").read_text()) == {
        "url": server.url,
        "etag": '"one"',
        "last_modified": LATER["Last-Modified"],
        "length": 5000,
    }
    assert part_module.Version("u", 'W/"one"', "then").validator == "then"


def zip_refusal(url: str, target: Path) -> str:
    with pytest.raises(DataError) as caught:
        fetch(url, target, zipped=True)
    assert files(target) == []
    assert f"get {url} elsewhere and place it as {target}" in str(caught.value)
    return str(caught.value)


def test_a_zip_arrives_whole(tmp_path: Path) -> None:
    source, target = make_zip(tmp_path / "T.zip"), tmp_path / "new" / "folder" / "T.zip"
    fetch(source.as_uri(), target, zipped=True)
    assert target.read_bytes() == source.read_bytes()
    assert files(target) == ["T.zip"]


@pytest.mark.parametrize("content", [b"<html>please log in</html>", b""])
def test_what_is_not_a_zip_is_not_kept(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "page").write_bytes(content)
    told = zip_refusal((tmp_path / "page").as_uri(), tmp_path / "home" / "X.zip")
    assert "what arrived is not a zip file" in told
