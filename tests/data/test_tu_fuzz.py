"""Random datasets survive being written and read; random damage is refused or harmless, never a crash."""

import tempfile
from pathlib import Path
from typing import Any

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.tu import read_tu
from nmrgcl.errors import DataError
from tests.data.tu_text import TINY, write_tu

PADDING = st.sampled_from(["", " ", "  ", "\t"])


@st.composite
def tu_files(draw: st.DrawFn) -> tuple[dict[str, str], list[int], dict[tuple[int, int], int]]:
    """Files, the nodes of each graph, and the label of each directed edge, worked out with dictionaries."""
    sizes = draw(st.lists(st.integers(0, 5), min_size=1, max_size=5).filter(lambda s: s[-1] > 0))
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    inside = [
        (start + i, start + j) for start, n in zip(starts, sizes, strict=True) for i in range(n) for j in range(n)
    ]
    listed = draw(st.lists(st.sampled_from(inside), min_size=1, max_size=20))
    expected: dict[tuple[int, int], int] = {}
    for row, (u, v) in enumerate(listed):
        if u != v:
            expected.setdefault((u, v), row)
    for (u, v), row in list(expected.items()):
        expected.setdefault((v, u), row)
    end = draw(st.sampled_from(["\n", "\r\n"]))

    def lines(rows: list[list[int]]) -> str:
        def padded(value: int) -> str:
            return f"{draw(PADDING)}{value}{draw(PADDING)}"

        return end.join(",".join(map(padded, row)) for row in rows) + draw(st.sampled_from(["", end, end * 3]))

    files = {
        "A": lines([[u + 1, v + 1] for u, v in listed]),
        "graph_indicator": lines([[g + 1] for g, n in enumerate(sizes) for _ in range(n)]),
        "graph_labels": lines([[g % 3 - 1] for g in range(len(sizes))]),
        "edge_labels": lines([[row] for row in range(len(listed))]),
    }
    return files, sizes, expected


@settings(max_examples=150, deadline=None, derandomize=True)
@given(tu_files())
def test_what_is_written_is_read(case: Any) -> None:
    files, sizes, expected = case
    with tempfile.TemporaryDirectory() as folder:
        bare = dict.fromkeys(("node_labels", "node_attributes", "edge_attributes"))
        data = read_tu(write_tu(Path(folder), **bare | files))
    assert data.graphs.node_ptr.diff().tolist() == sizes
    assert data.edge_labels is not None
    pairs = [(u, v) for u, v in data.graphs.edge_index.T.tolist()]
    assert dict(zip(pairs, data.edge_labels[:, 0].tolist(), strict=True)) == expected
    assert pairs == sorted(expected, key=lambda e: (e[1], e[0]))


TOKENS = [
    b"",
    b"0",
    b"-1",
    b"1",
    b"6",
    b"99999999999999999999",
    b"1e9",
    b"1.5",
    b"nan",
    b"\n",
    b"\r",
    b",",
    b",,",
    b" ",
]
TOKENS += [b"\x00", b"\xff", b"\xef\xbb\xbf", b"-", b"+", b"e", b".", b"\n\n", b"2000000", b"#"]
DAMAGE = st.tuples(st.sampled_from(sorted(TINY)), st.integers(0, 60), st.integers(0, 4), st.sampled_from(TOKENS))


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.lists(DAMAGE, min_size=1, max_size=3), st.sets(st.sampled_from(sorted(TINY)), max_size=2))
def test_damage_is_refused_in_one_line_or_leaves_sound_graphs(damage: list[Any], absent: set[str]) -> None:
    files: dict[str, Any] = {kind: text.encode() for kind, text in TINY.items()}
    for kind, at, length, token in damage:
        at %= len(files[kind]) + 1
        files[kind] = files[kind][:at] + token + files[kind][at + length :]
    with tempfile.TemporaryDirectory() as folder:
        check(write_tu(Path(folder), **files | dict.fromkeys(absent)))


def check(folder: Path) -> None:
    told = ""
    try:
        check_invariants(read_tu(folder))
    except DataError as error:
        told = str(error)
    assert "\n" not in told


def check_invariants(data: Dataset) -> None:
    graphs = data.graphs
    n, e = graphs.num_nodes, graphs.num_edges
    source, destination = graphs.edge_index
    assert graphs.symmetric
    assert (source != destination).all()
    assert torch.equal(graphs.batch[source], graphs.batch[destination])
    assert (torch.diff(destination * n + source) > 0).all()
    assert int(graphs.node_ptr[-1]) == n
    assert graphs.num_graphs < 2_000_100
    if graphs.y is not None:
        assert len(graphs.y) == graphs.num_graphs
        assert sorted(set(graphs.y.tolist())) == list(range(len(data.classes)))
    for values, count in [(data.node_labels, n), (data.node_attributes, n), (data.edge_labels, e)]:
        assert values is None or len(values) == count
    assert data.node_attributes is None or bool(torch.isfinite(torch.from_numpy(data.node_attributes)).all())
