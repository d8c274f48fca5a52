"""What is written is read back as it was."""

import gzip
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from nmrgcl.data.assemble import Listing, assemble
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats import jsonl_export
from nmrgcl.data.formats.jsonl import read_jsonl
from nmrgcl.data.formats.jsonl_export import directed, write_jsonl
from nmrgcl.data.formats.tu import read_tu
from nmrgcl.errors import DataError, SettingError
from nmrgcl.graphs import Graphs

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
INTEGERS = st.integers(-(2**63), 2**63 - 1)
WEIGHTS = st.sampled_from([0.1, 0.5, 1.0, 3.0])
TEXT = st.text('aä"\\é/ 1', min_size=1, max_size=3)


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    sizes = draw(st.lists(st.integers(0, 4), min_size=1, max_size=5))
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    inside = [(s + i, s + j) for s, n in zip(starts, sizes, strict=True) for i in range(n) for j in range(n)]
    listed = draw(st.lists(st.sampled_from(inside), max_size=15)) if inside else []

    def table(rows: int, values: Any, dtype: type) -> np.ndarray | None:
        width = draw(st.integers(0, 2))
        flat = [draw(values) for _ in range(rows * width)]
        return np.array(flat, dtype).reshape(rows, width) if flat else None

    level = draw(st.sampled_from(["graph", "node"])) if len(sizes) == 1 else "graph"
    count = len(sizes) if level == "graph" else sum(sizes)
    labels = draw(st.sampled_from([st.none(), st.none() | st.integers(-3, 3), st.none() | TEXT]))
    weight = draw(st.none() | st.lists(WEIGHTS, min_size=len(listed), max_size=len(listed)))
    listing = Listing(
        np.array(sizes),
        np.array([u for u, _ in listed], np.int64),
        np.array([v for _, v in listed], np.int64),
        edge_weight=None if weight is None else np.array(weight, np.float32),
        edge_labels=table(len(listed), INTEGERS, np.int64),
        edge_attributes=table(len(listed), FLOATS, np.float32),
        node_labels=table(sum(sizes), INTEGERS, np.int64),
        node_attributes=table(sum(sizes), FLOATS, np.float32),
        y=draw(st.none() | st.lists(labels, min_size=count, max_size=count)),
        level=level,  # type: ignore[arg-type]
    )
    return assemble(listing, "T", "here", keep_directions=draw(st.booleans()))


def there_and_back(data: Dataset, name: str = "T.jsonl") -> Dataset:
    with tempfile.TemporaryDirectory() as folder:
        write_jsonl(data, Path(folder) / name)
        return read_jsonl(Path(folder) / name, keep_directions=directed(data.graphs))


def assert_same(one: Dataset, two: Dataset) -> None:
    assert torch.equal(one.graphs.edge_index, two.graphs.edge_index)
    assert torch.equal(one.graphs.node_ptr, two.graphs.node_ptr)
    assert (one.classes, one.name) == (two.classes, two.name)
    assert one.y is None or one.level == two.level
    for field in ("node_labels", "node_attributes", "edge_labels", "edge_attributes", "y"):
        a, b = getattr(one, field), getattr(two, field)
        if a is not None and a.size:
            assert a.dtype == b.dtype
            assert a.tobytes() == b.tobytes()
        else:
            assert b is None or b.size == 0
    assert (one.y is None) == (two.y is None)
    weights = [
        torch.ones(data.graphs.num_edges) if (w := data.graphs.edge_weight) is None else w for data in (one, two)
    ]
    assert torch.equal(*weights)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(datasets())
def test_any_dataset_survives(data: Dataset) -> None:
    assert_same(data, there_and_back(data))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=50))
def test_every_number_of_32_bits_is_written_so_that_it_comes_back(bits: list[int]) -> None:
    values = np.array(bits, np.int32).view(np.float32)
    values = values[np.isfinite(values)]
    short = jsonl_export._shortest(values)
    read = np.array(json.loads(json.dumps(short.tolist())), np.float64).astype(np.float32)
    assert read.tobytes() == values.tobytes()


def graphs_of(edges: list[tuple[int, int]], n: int, **options: Any) -> Graphs:
    return Graphs.build(torch.tensor(edges).T, torch.tensor([0, n]), **options)


def text_of(data: Dataset, folder: Path) -> str:
    write_jsonl(data, folder / "T.jsonl")
    return (folder / "T.jsonl").read_text(encoding="utf-8")


def test_an_undirected_edge_is_written_once_and_numbers_are_short(tmp_path: Path) -> None:
    graphs = graphs_of([(0, 1), (1, 0), (1, 2), (2, 1)], 4, y=torch.tensor([1]))
    data = Dataset("T", graphs, ("ä", "b"), node_attributes=np.array([[0.1], [1], [0], [-2.5]], np.float32))
    expected = '{"num_nodes":4,"edges":[[0,1],[1,2]],"x":[0.1,1.0,0.0,-2.5],"y":"b"}\n'
    assert text_of(data, tmp_path) == expected
    assert sorted(file.name for file in tmp_path.iterdir()) == ["T.jsonl"]


def test_an_edge_that_differs_by_direction_is_written_twice(tmp_path: Path) -> None:
    graphs = graphs_of([(0, 1), (1, 0), (1, 2), (2, 1)], 3)
    # Sorted by destination, then source: 1→0, 0→1, 2→1, 1→2.
    data = Dataset("T", graphs, edge_labels=np.array([[5], [6], [7], [7]]))
    assert text_of(data, tmp_path) == '{"num_nodes":3,"edges":[[1,0],[0,1],[1,2]],"edge_labels":[5,6,7]}\n'
    assert_same(data, there_and_back(data))


def test_sparse_attributes_are_written_as_rows(tmp_path: Path) -> None:
    dense = np.array([[0, 0.5, 0], [0, 0, 2]], np.float32)
    data = Dataset("T", graphs_of([(0, 1), (1, 0)], 2), node_attributes=csr_array(dense))
    assert json.loads(text_of(data, tmp_path))["x"] == dense.tolist()
    assert_same(replace(data, node_attributes=dense), there_and_back(data))


def test_large_graphs_are_written_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ring = [(i, (i + d) % 50) for i in range(50) for d in (1, -1)]
    x = np.arange(150, dtype=np.float32).reshape(50, 3) / 7
    data = Dataset("T", graphs_of(ring, 50), node_attributes=x)
    whole = text_of(data, tmp_path)
    monkeypatch.setattr(jsonl_export, "_NUMBERS_AT_ONCE", 7)
    assert text_of(data, tmp_path) == whole
    monkeypatch.setattr(jsonl_export, "MAX_LINE", 500)
    with pytest.raises(DataError, match=r"T: graph 0 would take a line of more than 0 MiB"):
        text_of(data, tmp_path)
    assert (tmp_path / "T.jsonl").read_text() == whole


def test_a_name_in_gz_is_packed(tmp_path: Path) -> None:
    data = Dataset("T", graphs_of([(0, 1), (1, 0)], 2))
    write_jsonl(data, tmp_path / "T.jsonl.gz")
    assert gzip.decompress((tmp_path / "T.jsonl.gz").read_bytes()) == b'{"num_nodes":2,"edges":[[0,1]]}\n'
    assert_same(data, there_and_back(data, "T.jsonl.gz"))


def test_what_cannot_be_written_is_reported_in_a_line(tmp_path: Path) -> None:
    one = graphs_of([(0, 1), (1, 0)], 2, y=torch.tensor([0]))
    with pytest.raises(DataError, match=r"T: 'a\\nb' is not a class"):
        write_jsonl(Dataset("T", one, ("a\nb",)), tmp_path / "T.jsonl")
    none = Graphs.build(torch.empty(2, 0, dtype=torch.long), torch.tensor([0]))
    with pytest.raises(DataError, match=r"T: there are no graphs"):
        write_jsonl(Dataset("T", none), tmp_path / "T.jsonl")
    with pytest.raises(SettingError, match=r"cannot be written \(No such file"):
        write_jsonl(Dataset("T", one, (1,)), tmp_path / "missing" / "T.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_real_datasets_survive(mirror: Path) -> None:
    for name in ("MUTAG", "PROTEINS"):
        data = read_tu(mirror / "tu" / f"{name}.zip")
        assert_same(data, there_and_back(data, f"{name}.jsonl"))
