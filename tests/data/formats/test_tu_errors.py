"""Every way a TU file can be wrong is told in one line that names the file and the line."""

from pathlib import Path
from typing import Any

import pytest

from nmrgcl.data.formats import table, tu
from nmrgcl.data.formats.tu import read_tu
from nmrgcl.errors import DataError
from tests.data.formats.tu_text import TINY, write_tu


def replace_line(kind: str, number: int, text: str) -> str:
    lines = TINY[kind].split("\n")
    lines[number - 1] = text
    return "\n".join(lines)


def message(folder: Path, **files: Any) -> str:
    with pytest.raises(DataError) as caught:
        read_tu(write_tu(folder, **files))
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 300
    return text


PAIRS = [
    "2",
    "2, 3, 4",
    "2, ",
    ",3",
    "2 3",
    "2 2, 3",
    "",
    "  ",
    "2.0, 3",
    "2e0, 3",
    "two, 3",
    "2-, 3",
    "2, -",
    "1-2, 3",
]
PAIRS += ["0x2, 3", "1_0, 3", "9223372036854775808, 3", "-9223372036854775809, 3", "9" * 5000 + ", 3", "2\r3, 4"]
REALS = ["1.5", "nan, 1", "1, inf", "1, 1e400", "1, -1e39", "1.2.3, 1", "1-2, 1", "1e, 1", "., 1", "1 2, 1", "0x1p2, 1"]
NO_NUMBERS = [
    *(("A", 3, text, "expected 2 comma-separated values, each a 64-bit integer, not") for text in PAIRS),
    *(("node_attributes", 2, text, "expected 2 comma-separated values, each a finite 32-bit") for text in REALS),
    ("graph_indicator", 3, "1, 1", "expected a 64-bit integer, not '1, 1'"),
    ("graph_labels", 2, "1.5", "expected a 64-bit integer, not '1.5'"),
    ("graph_labels", 2, "1, 1", "expected a 64-bit integer, not '1, 1'"),
    ("node_labels", 4, "1, 2", "expected a 64-bit integer, not '1, 2'"),
    ("node_labels", 4, "C", "expected a 64-bit integer, not 'C'"),
    ("node_labels", 4, "", "expected a 64-bit integer, not a blank line"),
    ("edge_attributes", 6, "?", "expected a finite 32-bit number, not '?'"),
    ("edge_labels", 1, "1,", "expected 2 comma-separated values"),
]
WRONG_NUMBERS = [
    ("A", 3, "0, 3", "node 0 does not exist (5 nodes in T_graph_indicator.txt)"),
    ("A", 3, "-2, 3", "node -2 does not exist"),
    ("A", 3, "2, 6", "node 6 does not exist"),
    ("A", 3, "2, 9223372036854775807", "node 9223372036854775807 does not exist"),
    ("A", 3, "2, 4", "joins node 2 of graph 1 and node 4 of graph 2"),
    ("graph_indicator", 1, "0", "graph id 0; ids must start at 1"),
    ("graph_indicator", 2, "-9223372036854775808", "ids must start at 1"),
    ("graph_indicator", 5, "1", "graph id 1 after 2"),
    ("graph_indicator", 5, "3", "graph 3 has no label (2 lines in T_graph_labels.txt)"),
]


@pytest.mark.parametrize(("kind", "number", "text", "expected"), NO_NUMBERS + WRONG_NUMBERS)
def test_a_wrong_line_is_named(tmp_path: Path, kind: str, number: int, text: str, expected: str) -> None:
    told = message(tmp_path, **{kind: replace_line(kind, number, text)})
    assert f"T_{kind}.txt, line {number}: " in told
    assert expected in told


@pytest.mark.parametrize("size", [8, 16])
def test_the_line_is_right_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(table, "BLOCK", size)
    assert "T_A.txt, line 6: expected 2" in message(tmp_path, A=replace_line("A", 6, "x,4"))
    assert "T_A.txt, line 3: expected 2" in message(tmp_path, A=replace_line("A", 3, "\n\n \n\n\n\n\n\n\n\n2, 3"))
    monkeypatch.setattr(table, "MAX_LINE", 40)
    assert "T_A.txt, line 2: is longer than 0 MiB" in message(tmp_path, A="1,2\n" + "1" * 50)


def test_a_line_may_be_cut_off_and_counts_must_agree(tmp_path: Path) -> None:
    for kind, other in [
        ("node_labels", "graph_indicator"),
        ("node_attributes", "graph_indicator"),
        ("edge_labels", "A"),
    ]:
        rows = TINY[kind].count("\n")
        short = "".join(TINY[kind].splitlines(keepends=True)[:-1])
        told = message(tmp_path, **{kind: short})
        assert f"T_{kind}.txt, line {rows}: the file has {rows - 1} lines, but T_{other}.txt has {rows}" in told
        told = message(tmp_path, **{kind: TINY[kind] + TINY[kind].splitlines()[-1]})
        assert f"T_{kind}.txt, line {rows + 1}: the file has {rows + 1} lines" in told
    assert "T_graph_indicator.txt, line 4: graph 2 has no label" in message(tmp_path, graph_labels="7\n")
    assert "T_graph_labels.txt, line 3: a label for graph 3" in message(tmp_path, graph_labels="7\n1\n1\n")


@pytest.mark.parametrize("kind", list(TINY))
def test_an_empty_file_is_refused(tmp_path: Path, kind: str) -> None:
    assert f"T_{kind}.txt, line 1: the file is empty" in message(tmp_path, **{kind: ""})
    assert f"T_{kind}.txt, line 1: the file is empty" in message(tmp_path, **{kind: " \r\n\n"})


@pytest.mark.parametrize("kind", list(TINY))
@pytest.mark.parametrize("text", [b"\x00\x01\x02", b"\xff\xfe1\x00", "１\n".encode(), b"1\x0b\n", b"\x89PNG\r\n\x1a\n"])
def test_bytes_that_are_not_text_are_refused(tmp_path: Path, kind: str, text: bytes) -> None:
    told = message(tmp_path, **{kind: text})
    assert f"T_{kind}.txt, line 1: expected " in told
    assert told.isprintable()


@pytest.mark.parametrize("kind", ["A", "graph_indicator"])
def test_required_files_are_missed(tmp_path: Path, kind: str) -> None:
    assert f"contains no T_{kind}.txt" in message(tmp_path, **{kind: None})


def test_a_folder_without_a_dataset_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"contains no NAME_A.txt, so it is not a TU dataset"):
        read_tu(tmp_path)
    write_tu(tmp_path)
    with pytest.raises(DataError, match=r"contains no OTHER_A.txt"):
        read_tu(tmp_path, "OTHER")


def test_an_absurd_graph_id_does_not_take_the_memory_for_it(tmp_path: Path) -> None:
    told = message(tmp_path, graph_indicator=replace_line("graph_indicator", 5, str(2**62)), graph_labels=None)
    assert f"T_graph_indicator.txt, line 5: graph id {2**62} skips more than {tu.MAX_EMPTY} graphs" in told


def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    write_tu(tmp_path, node_labels=None)
    (tmp_path / "T_node_labels.txt").mkdir()
    with pytest.raises(DataError, match=r"T_node_labels.txt: cannot be read \(Is a directory\)"):
        read_tu(tmp_path)
