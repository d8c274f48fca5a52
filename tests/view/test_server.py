"""The server answers what it knows, refuses the rest in one line, and never gives a file away."""

import http.client
import json
import random
import re
import socket
import threading
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
import torch

from nmrgcl.data.loading import load
from nmrgcl.diagnose.spectrum import ROUNDING
from nmrgcl.errors import ModelError, SettingError
from nmrgcl.model_folder import load_model
from nmrgcl.run.embeddings import embed_dataset
from nmrgcl.view import Viewed, open_server
from nmrgcl.view.server import FIGURES, ROUTES, Server

CPU = torch.device("cpu")


def get(server: Server, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes, http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read(), answer
    finally:
        connection.close()


def test_the_page_asks_nobody_but_this_server(server: Server) -> None:
    for path in ("/", "/page.js", "/page.css", "/style.css"):
        status, content, answer = get(server, path)
        assert status == 200
        assert b"//" not in content.replace(b"// ", b"").replace(b"http://www.w3.org/2000/svg", b"")
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "connect-src 'self'" in answer.headers["Content-Security-Policy"]


def test_the_page_counts_as_many_directions_as_nmrgcl_diagnose(server: Server) -> None:
    said = re.search(r"const ROUNDING = ([\w.-]+);", get(server, "/page.js")[1].decode())
    assert said is not None
    assert float(said[1]) == ROUNDING


def test_numbers_are_those_of_the_run(server: Server, run: Path) -> None:
    (status,) = json.loads(get(server, "/api/runs")[1])["runs"]
    assert (status["dataset"], status["seeds"], status["training"], status["epochs"]) == ("MUTAG", [0, 1], None, 2)
    curves = json.loads(get(server, "/api/curves")[1])["seeds"]
    lines = [json.loads(line) for line in (run / "seed-1/metrics.jsonl").read_text().splitlines()]
    assert curves["1"]["loss"] == [[1.0, 2.0], [line["loss"] for line in lines]]
    z = embed_dataset(load_model(run / "seed-1"), load("MUTAG"), CPU).z
    told = json.loads(get(server, "/api/map?seed=1")[1])
    assert (told["count"], told["things"], told["dimensions"]) == (188, "graphs", 4)
    xy = np.frombuffer(get(server, "/api/points?seed=1")[1], "<f4").reshape(-1, 2)
    centred = z - z.mean(0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    for axis in (0, 1):
        assert abs(np.corrcoef(xy[:, axis], u[:, axis] * s[axis])[0, 1]) == pytest.approx(1, abs=1e-4)
    assert np.abs(xy).max() <= 0.951
    nodes = np.frombuffer(get(server, "/api/values?name=nodes")[1], "<f4")
    assert nodes.sum() == 3371
    row = json.loads(get(server, "/api/row?seed=1&row=7&k=3")[1])
    distance = np.linalg.norm(z - z[7], axis=1)
    distance[7] = np.inf
    assert [one["distance"] for one in row["neighbours"]] == pytest.approx(np.sort(distance)[:3], rel=1e-3, abs=1e-4)
    assert json.loads(get(server, "/api/search?text=8")[1]) == {"rows": [7]}


def test_drawings_and_figures_are_svg(server: Server) -> None:
    status, drawn, answer = get(server, "/api/drawing?row=3")
    assert (status, answer.headers["Content-Type"]) == (200, "image/svg+xml")
    assert (drawn.count(b"<circle"), drawn.count(b"<line")) == (19, 22)
    for kind in FIGURES:
        status, drawn, answer = get(server, f"/figure?kind={kind}")
        assert status == 200
        assert b"<svg" in drawn
        assert answer.headers["Content-Disposition"].startswith("attachment")


@pytest.mark.parametrize(
    ("path", "status"),
    {
        "/nothing": 404,
        "/../../etc/passwd": 404,
        "/..%2f..%2fetc%2fpasswd": 404,
        "/run.json": 404,
        "/seed-0/model.safetensors": 404,
        "//etc/passwd": 404,
        "/report": 404,
        "/api/row": 400,
        "/api/row?row=188": 400,
        "/api/row?row=-1": 400,
        "/api/row?row=1&k=51": 400,
        "/api/row?row=%C2%B2": 400,
        "/api/row?row=" + 100 * "9": 400,
        "/api/map?run=1": 400,
        "/api/map?seed=7": 404,
        "/api/values?name=../../run.json": 404,
        "/api/values": 404,
        "/figure?kind=../loss": 404,
        "/api/search?text=%ff": 400,
        "/api/map?" + "&".join(f"a{n}=1" for n in range(20)): 400,
        "/" + 3000 * "a": 414,
        "/" + 70000 * "a": 414,
    }.items(),
)
def test_what_is_not_there_is_refused_in_one_line(server: Server, path: str, status: int) -> None:
    found, content, _ = get(server, path)
    assert found == status
    assert content.count(b"\n") == 1
    assert b"root:" not in content


def test_only_reading_is_served(server: Server) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "BREW"):
        status, content, _ = get(server, "/api/runs", method)
        assert (status, content) == (405, b"only GET and HEAD are served\n")
    status, content, answer = get(server, "/api/runs", "HEAD")
    assert (status, content) == (200, b"")
    assert int(answer.headers["Content-Length"]) > 0


def test_a_foreign_name_for_this_machine_is_not_served(server: Server) -> None:
    assert get(server, "/", Host="attacker.example")[0] == 403
    assert get(server, "/", Host=f"localhost:{server.server_port}")[0] == 200


def test_hundreds_of_mutated_requests_end_no_thread_and_give_no_file_away(server: Server, run: Path) -> None:
    chance, before = random.Random(0), sorted(path for path in run.rglob("*"))
    secret = (run / "run.json").read_text()[:60].encode()
    pieces = [
        *ROUTES,
        "/",
        "..",
        "%2e%2e/",
        "?",
        "&",
        "row=",
        "seed=",
        "run=",
        "name=",
        "k=",
        "kind=loss",
        "\x00",
        "é",
        "%",
    ]
    pieces += [
        "1",
        "-1",
        "1e9",
        "../run.json",
        "class",
        " HTTP/1.1",
        "\r\nHost: 127.0.0.1",
        "\n\n",
        40 * "A",
        "%ff",
        "[",
        "://",
    ]
    for _ in range(600):
        target = "".join(chance.choice(pieces) for _ in range(chance.randint(1, 6)))
        method = chance.choice(["GET"] * 6 + ["HEAD", "POST", "", "G\x00T"])
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as client:
            client.sendall(f"{method} {target} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode("utf-8", "replace"))
            client.shutdown(socket.SHUT_WR)
            with client.makefile("rb") as sent:
                answer = sent.read()
        assert secret not in answer
        assert b" 500 " not in answer.split(b"\r\n")[0], (method, target, answer[:200])
        assert b"Traceback" not in answer
    assert get(server, "/api/runs")[0] == 200
    assert sorted(path for path in run.rglob("*")) == before


def test_other_machines_need_the_token(run: Path) -> None:
    with open_server([Viewed(run, data=None, device=CPU)], host="0.0.0.0", port=0) as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.01,))
        thread.start()
        try:
            token = served.token
            assert token is not None
            assert len(token) >= 32
            assert served.address.endswith(f"?token={token}")
            for path, cookie in (
                ("/", ""),
                ("/?token=wrong", ""),
                ("/api/runs", "nmrgcl=wrong"),
                ("/", "a=\x7f;;="),
                ("/?token=%C3%A9", ""),
            ):
                status, content, _ = get(served, path, Cookie=cookie)
                assert status == 403, path
                assert token.encode() not in content
            status, _, answer = get(served, f"/?token={quote(token)}")
            assert status == 200
            cookie = answer.headers["Set-Cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=Strict" in cookie
            assert get(served, "/api/runs", Cookie=cookie.partition(";")[0])[0] == 200
        finally:
            served.shutdown()
            thread.join()


def test_a_report_is_served_from_the_run_only(run: Path, server: Server, tmp_path: Path) -> None:
    page = run / "report.html"
    try:
        page.write_text("<p>mine</p>")
        assert get(server, "/report")[:2] == (200, b"<p>mine</p>")
        page.unlink()
        (tmp_path / "secret").write_text("secret")
        page.symlink_to(tmp_path / "secret")
        assert get(server, "/report")[0] == 404
    finally:
        page.unlink(missing_ok=True)


def test_a_port_that_is_taken_and_a_host_that_is_none_are_one_line(server: Server, run: Path) -> None:
    with pytest.raises(SettingError, match="choose another --port"):
        open_server([], port=server.server_port)
    with pytest.raises(SettingError, match="--host example.org: not an address"):
        open_server([], host="example.org")
    with pytest.raises(ModelError, match="no such run or model folder"):
        Viewed(run.parent, data=None, device=CPU)


def test_data_that_has_gone_is_reported_where_the_map_would_be(run: Path) -> None:
    viewed = Viewed(run, data="/nowhere/at/all", device=CPU)
    with open_server([viewed], port=0) as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.01,))
        thread.start()
        try:
            status, content, _ = get(served, "/api/map")
            assert status == 409
            assert b"/nowhere/at/all: no such file or folder" in content
        finally:
            served.shutdown()
            thread.join()
