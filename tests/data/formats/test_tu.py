"""What the reader makes of files that are as they should be."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nmrgcl.data.formats import table
from nmrgcl.data.formats.tu import read_tu
from nmrgcl.errors import DataError
from tests.data.formats.tu_text import TINY, write_tu

BARE: dict[str, Any] = dict.fromkeys(("node_labels", "node_attributes", "edge_labels", "edge_attributes"))


def test_every_file_of_a_tiny_dataset_is_read(tmp_path: Path) -> None:
    data = read_tu(write_tu(tmp_path))
    graphs = data.graphs
    assert (data.name, data.source) == ("T", str(tmp_path))
    assert graphs.edge_index.tolist() == [[1, 0, 2, 1, 4, 3], [0, 1, 1, 2, 3, 4]]
    assert graphs.node_ptr.tolist() == [0, 3, 5]
    assert graphs.symmetric
    assert graphs.dense_x().tolist() == [[1.0]] * 5
    assert graphs.y is not None
    assert (graphs.y.tolist(), graphs.y.dtype, data.classes) == ([1, 0], torch.int64, (-1, 7))
    assert data.node_labels is not None
    assert data.node_labels.tolist() == [[0], [3], [3], [0], [5]]
    assert data.node_attributes is not None
    assert data.node_attributes.dtype == np.float32
    assert data.node_attributes.tolist() == [[0.5, 1], [np.float32(-1e-3), 2], [3, 3], [0.25, 4], [500, 5]]
    assert data.edge_labels is not None
    assert data.edge_labels[:, 0].tolist() == [10, 10, 20, 20, 30, 30]
    assert data.edge_attributes is not None
    assert data.edge_attributes[:, 0].tolist() == [1.5, 1.5, 2.5, 2.5, 3.5, 3.5]
    assert (data.self_loops, data.duplicate_edges, data.one_way_edges) == (0, 0, 0)
    assert data.statistics.avg_edges == 1.5
    assert (data.statistics.graphs, data.statistics.avg_nodes, data.statistics.classes) == (2, 2.5, 2)


def test_edge_labels_follow_their_edges_into_sorted_order(tmp_path: Path) -> None:
    # As listed 3→1, 1→3, 2→1, 1→2; sorted by destination, then source: 2→1, 3→1, 1→2, 1→3.
    files = BARE | {"A": "3,1\n1,3\n2,1\n1,2\n", "edge_labels": "31\n13\n21\n12\n", "graph_labels": "0\n"}
    data = read_tu(write_tu(tmp_path, **files | {"graph_indicator": "1\n1\n1\n"}))
    assert data.graphs.edge_index.tolist() == [[1, 2, 0, 0], [0, 0, 1, 2]]
    assert data.edge_labels is not None
    assert data.edge_labels[:, 0].tolist() == [21, 31, 12, 13]


def test_loops_go_repeats_collapse_to_the_first_and_reverses_are_added(tmp_path: Path) -> None:
    edges, labels = "1,2\n1,1\n1,2\n2,1\n1,1\n3,2\n4,5\n", "1\n2\n3\n4\n5\n6\n7\n"
    data = read_tu(write_tu(tmp_path, **BARE | {"A": edges, "edge_labels": labels}))
    assert data.graphs.edge_index.tolist() == [[1, 0, 2, 1, 4, 3], [0, 1, 1, 2, 3, 4]]
    assert data.edge_labels is not None
    assert data.edge_labels[:, 0].tolist() == [4, 1, 6, 6, 7, 7]
    assert (data.self_loops, data.duplicate_edges, data.one_way_edges) == (1, 2, 2)


def test_graphs_without_edges_nodes_or_labels_are_ordinary(tmp_path: Path) -> None:
    data = read_tu(write_tu(tmp_path, **BARE | {"A": "1,1\n", "graph_indicator": "2\n2\n5\n", "graph_labels": None}))
    assert data.graphs.node_ptr.tolist() == [0, 0, 2, 2, 2, 3]
    assert data.graphs.num_edges == 0
    assert data.graphs.y is None
    assert data.classes == ()
    assert data.statistics.graphs == 5


@pytest.mark.parametrize(
    "dress",
    [
        lambda t: t.replace("\n", "\r\n"),
        lambda t: t + "\n \n\r\n\t\n",
        lambda t: t.removesuffix("\n"),
        lambda t: "\ufeff" + t,
        lambda t: t.replace("\n", "  \t\n").replace(", ", " ,\t  "),
        lambda t: "   " + t.replace("\n", "\n   "),
    ],
    ids=["crlf", "blank lines at the end", "no last newline", "byte order mark", "padded right", "padded left"],
)
def test_line_ends_and_padding_do_not_matter(tmp_path: Path, dress: Any) -> None:
    plain, dressed = (
        read_tu(write_tu(tmp_path / "a")),
        read_tu(write_tu(tmp_path / "b", **{kind: dress(text) for kind, text in TINY.items()})),
    )
    assert torch.equal(plain.graphs.edge_index, dressed.graphs.edge_index)
    assert torch.equal(plain.graphs.node_ptr, dressed.graphs.node_ptr)
    for kind in BARE:
        assert np.array_equal(getattr(plain, kind), getattr(dressed, kind))


def test_blocks_of_any_size_give_the_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = read_tu(write_tu(tmp_path))
    for size in (8, 9, 13, 30, 1000):
        monkeypatch.setattr(table, "BLOCK", size)
        data = read_tu(write_tu(tmp_path, node_attributes=None))
        assert torch.equal(data.graphs.edge_index, expected.graphs.edge_index)
        assert np.array_equal(data.edge_labels, expected.edge_labels)  # type: ignore[arg-type]


def test_extreme_integers_survive(tmp_path: Path) -> None:
    low, high = -(2**63), 2**63 - 1
    labels = f"{low}\n{high}\n+0\n-0\n00000000000000000000000012\n"
    data = read_tu(write_tu(tmp_path, node_labels=labels))
    assert data.node_labels is not None
    assert data.node_labels[:, 0].tolist() == [low, high, 0, 0, 12]


@pytest.mark.parametrize("place", [".", "raw", "T", "T/raw"])
def test_files_may_lie_deeper_in_the_folder(tmp_path: Path, place: str) -> None:
    write_tu(tmp_path / "T" / place)
    assert read_tu(tmp_path / "T").name == "T"


def test_a_name_chooses_between_two_datasets_in_one_folder(tmp_path: Path) -> None:
    write_tu(tmp_path, "ONE")
    write_tu(tmp_path, "TWO", **BARE)
    assert read_tu(tmp_path, "TWO").node_labels is None
    with pytest.raises(DataError, match="contains two datasets, ONE and TWO"):
        read_tu(tmp_path)
