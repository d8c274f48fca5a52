import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from nmrgcl.data import fetch
from nmrgcl.errors import DataError
from tests.data.test_archive import make_zip


@pytest.fixture
def server() -> Iterator[str]:
    """Promises a thousand bytes and breaks off after ten; anything but ``/short`` does not exist."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/short" else 404)
            self.send_header("Content-Length", "1000" if self.path == "/short" else "0")
            self.end_headers()
            if self.path == "/short":
                self.wfile.write(b"PK\x03\x04......")

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def refusal(url: str, target: Path) -> str:
    with pytest.raises(DataError) as caught:
        fetch.fetch_zip(url, target)
    assert list(target.parent.iterdir()) == []
    assert "\n" not in str(caught.value)
    assert f"get {url} elsewhere and place it as {target}" in str(caught.value)
    return str(caught.value)


def test_a_file_arrives_whole(tmp_path: Path) -> None:
    source, target = make_zip(tmp_path / "T.zip"), tmp_path / "new" / "folder" / "T.zip"
    fetch.fetch_zip(source.as_uri(), target)
    assert target.read_bytes() == source.read_bytes()
    assert [p.name for p in target.parent.iterdir()] == ["T.zip"]


def test_a_download_that_breaks_off_leaves_nothing(server: str, tmp_path: Path) -> None:
    assert "10 of 1000 bytes arrived" in refusal(f"{server}/short", tmp_path / "home" / "X.zip")


def test_a_missing_file_is_told_with_the_answer_of_the_server(server: str, tmp_path: Path) -> None:
    assert "X: the download failed (HTTP Error 404" in refusal(f"{server}/gone", tmp_path / "home" / "X.zip")


@pytest.mark.parametrize("content", [b"<html>please log in</html>", b""])
def test_what_is_not_a_zip_is_not_kept(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "page").write_bytes(content)
    told = refusal((tmp_path / "page").as_uri(), tmp_path / "home" / "X.zip")
    assert "what arrived is not a zip file" in told


def test_a_download_that_is_too_large_is_broken_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "MAX_BYTES", 100)
    make_zip(tmp_path / "T.zip")
    assert "larger than 0 MiB" in refusal((tmp_path / "T.zip").as_uri(), tmp_path / "home" / "T.zip")
