"""Random datasets survive being written and read; damage is the business of ``tests/fuzz``."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from nmrgcl.data.formats.tu import read_tu
from tests.data.formats.tu_text import write_tu

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
