"""Whatever lies where a file should be, reading it ends at once: with its content, or with a reason in one line."""

import ast
import errno
import os
import socket
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

import nmrgcl
from nmrgcl import reading

SOURCES = Path(nmrgcl.__file__).parent
READS = {"read_text", "read_bytes", "open", "load", "load_file", "safe_open", "fromfile", "memmap", "open_code"}
OF_THE_SYSTEM_OR_THE_PACKAGE = {
    "reading.py": "what the others use",
    "atomic.py": "folders, to flush them",
    "lock.py": "locks",
    "data/files/fetch.py": "the file that it writes itself",
    "store/growing.py": "the file that it writes itself",
    "memory.py": "/proc",
    "run/machine.py": "/proc",
    "report/page.py": "the style of the package",
    "settings/sources.py": "presets of the package",
    "reproduce/tables/sheet.py": "tables of the package",
    "reproduce/tables/cells.py": "presets of the package",
    "tune/space.py": "spaces of the package",
    "view/server.py": "the page of the package",
    "cli/view.py": "no file: the address, in a browser",
    "run/live.py": "the file that it writes itself",
    "data/files/archive.py": "streams, of files that are open",
    "data/formats/arrays.py": "streams, of files that are open",
    "data/formats/text.py": "streams, of files that are open",
}


def test_the_content_of_a_regular_file_comes_back_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes("ä\n".encode())
    (tmp_path / "link").symlink_to("file")
    assert reading.read_bytes(tmp_path / "link") == b"\xc3\xa4\n"
    assert reading.read_text(tmp_path / "file") == "ä\n"
    with reading.open_file(tmp_path / "file", 3) as file:
        assert file.read() == b"\xc3\xa4\n"
        assert not os.get_inheritable(file.fileno())


def test_a_small_file_takes_little_memory_whatever_the_limit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"few")
    tracemalloc.start()
    try:
        assert reading.read_bytes(tmp_path / "file", 1 << 28) == b"few"
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_signal_right_after_opening_is_not_taken_for_an_error_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"few")

    def interrupted(*arguments: Any, **options: Any) -> None:
        open(*arguments, **options).close()
        raise KeyboardInterrupt

    monkeypatch.setattr(reading, "open", interrupted, raising=False)
    with pytest.raises(KeyboardInterrupt):
        reading.read_bytes(tmp_path / "file")


def test_pipes_sockets_devices_and_folders_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "terminal").symlink_to("/dev/ptmx")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for name in ("pipe", "zero", "terminal", "folder", "socket", "missing"):
            before = len(os.listdir("/proc/self/fd"))
            with pytest.raises(OSError) as refused:
                reading.read_bytes(tmp_path / name, limit=None)
            assert refused.value.strerror
            assert refused.value.filename == str(tmp_path / name)
            assert len(os.listdir("/proc/self/fd")) == before, "a descriptor was left open"


def test_a_file_is_refused_above_the_limit_and_read_at_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(10))
    assert reading.read_bytes(tmp_path / "file", 10) == bytes(10)
    with pytest.raises(OSError) as refused:
        reading.read_bytes(tmp_path / "file", 9)
    assert refused.value.errno == errno.EFBIG
    with (tmp_path / "holes").open("wb") as file:
        file.truncate(1 << 34)
    with pytest.raises(OSError, match="larger than the limit of 16 MiB"):
        reading.read_text(tmp_path / "holes")


def test_every_file_from_outside_is_read_by_that_module() -> None:
    """By the syntax trees: a new ``path.read_text()`` somewhere in the package fails here."""
    found: dict[str, list[str]] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _reads(node):
                found.setdefault(str(path.relative_to(SOURCES)), []).append(ast.unparse(node))
    unexpected = {name: calls for name, calls in found.items() if name not in OF_THE_SYSTEM_OR_THE_PACKAGE}
    assert not unexpected
    assert set(found) == set(OF_THE_SYSTEM_OR_THE_PACKAGE), "an exemption is no longer needed"


def _reads(call: ast.Call) -> bool:
    """Whether a call reads a file; folders, and the one that is always empty, are none."""
    function = call.func
    if any(isinstance(part, ast.Attribute) and part.attr in ("devnull", "O_DIRECTORY") for part in ast.walk(call)):
        return False
    if isinstance(function, ast.Name):
        return function.id in ("open", "load_file", "safe_open", "memmap")
    if not isinstance(function, ast.Attribute) or function.attr not in READS:
        return False
    by = ast.unparse(function.value)
    if function.attr == "load":
        return by in ("np", "numpy", "json", "tomllib", "pickle", "torch", "marshal")
    return by != "reading"
