"""The same small graphs from every source are the same graphs, and what is changed in them is said alike."""

import csv
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array

from nmrgcl.data.accept import as_dataset
from nmrgcl.data.conversions import to_pyg
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.errors import DataWarning
from tests.data.conversions.test_geometric import equal

geometric = pytest.importorskip("torch_geometric.data")
Plain = dict[str, Any]
"""``n`` nodes with rows ``x`` and texts ``role``, directed ``edges`` with their ``weight``, and a class ``y``."""


def as_networkx(graphs: list[Plain]) -> Any:
    made = []
    for graph in graphs:
        one = nx.MultiDiGraph(y=graph["y"])
        for i in range(graph["n"]):
            one.add_node(f"n{i}", a=graph["x"][i][0], b=graph["x"][i][1], role=graph["role"][i])
        for (u, v), weight in zip(graph["edges"], graph["weight"], strict=True):
            one.add_edge(f"n{u}", f"n{v}", weight=weight)
        made.append(one)
    return made


def as_igraph(graphs: list[Plain]) -> Any:
    igraph = pytest.importorskip("igraph")
    made = []
    for graph in graphs:
        one = igraph.Graph(n=graph["n"], edges=graph["edges"], directed=True)
        one["y"] = graph["y"]
        one.vs["name"] = [f"n{i}" for i in range(graph["n"])]
        one.vs["ab"] = graph["x"]
        one.vs["role"] = graph["role"]
        one.es["weight"] = graph["weight"]
        made.append(one)
    return made


def as_pyg(graphs: list[Plain]) -> Any:
    return [
        geometric.Data(
            x=torch.tensor(graph["x"]),
            edge_index=torch.tensor(graph["edges"], dtype=torch.long).reshape(-1, 2).T,
            edge_weight=torch.tensor(graph["weight"]),
            role=graph["role"],
            y=torch.tensor([graph["y"]]),
        )
        for graph in graphs
    ]


def as_matrices(graphs: list[Plain], dense: bool) -> Any:
    made = []
    for graph in graphs:
        ends = np.array(graph["edges"], np.int64).reshape(-1, 2)
        matrix = coo_array((np.array(graph["weight"], np.float32), tuple(ends.T)), shape=(graph["n"], graph["n"]))
        made.append((matrix.toarray() if dense else matrix, np.array(graph["x"], np.float32)))
    return made


def as_graphml(graphs: list[Plain], folder: Path) -> str:
    (folder / "graphml").mkdir(exist_ok=True)
    for earlier in (folder / "graphml").iterdir():
        earlier.unlink()
    for number, graph in enumerate(as_networkx(graphs)):
        nx.write_graphml(graph, folder / "graphml" / f"g{number}.graphml")
    return str(folder / "graphml")


def as_jsonl(graphs: list[Plain], folder: Path) -> str:
    keys = {"edges": "edges", "x": "x", "weight": "edge_weight", "y": "y"}
    lines = [
        {new: graph[old] for old, new in keys.items()} | {"node_categories": {"role": graph["role"]}}
        for graph in graphs
    ]
    (folder / "g.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(folder / "g.jsonl")


def as_csv(graphs: list[Plain], folder: Path) -> str:
    (folder / "csv").mkdir(exist_ok=True)
    edges = [
        (g, u, v, w)
        for g, graph in enumerate(graphs)
        for (u, v), w in zip(graph["edges"], graph["weight"], strict=True)
    ]
    nodes = [
        (g, i, *graph["x"][i], graph["role"][i] or "") for g, graph in enumerate(graphs) for i in range(graph["n"])
    ]
    tables: dict[str, tuple[list[str], list[Any]]] = {
        "edges": (["graph", "source", "target", "weight"], edges),
        "nodes": (["graph", "node", "a", "b", "role"], nodes),
        "graphs": (["graph", "y"], [(g, graph["y"]) for g, graph in enumerate(graphs)]),
    }
    for name, (header, rows) in tables.items():
        with (folder / "csv" / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([header, *rows])
    return str(folder / "csv")


SOURCES: dict[str, Callable[[list[Plain], Path], Any]] = {
    "NetworkX": lambda graphs, _: as_networkx(graphs),
    "igraph": lambda graphs, _: as_igraph(graphs),
    "PyG": lambda graphs, _: as_pyg(graphs),
    "GraphML": as_graphml,
    "JSON lines": as_jsonl,
    "CSV": as_csv,
}
MATRICES: dict[str, Callable[[list[Plain]], Any]] = {
    "dense": lambda graphs: as_matrices(graphs, dense=True),
    "sparse": lambda graphs: as_matrices(graphs, dense=False),
}


def read(data: Any, **options: Any) -> Dataset:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return as_dataset(data, **options)


def counts(data: Dataset) -> tuple[int, int, int]:
    return data.self_loops, data.duplicate_edges, data.one_way_edges


@st.composite
def small_graphs(draw: st.DrawFn) -> list[Plain]:
    made = []
    for _ in range(draw(st.integers(1, 3))):
        n = draw(st.integers(1, 4))
        edges = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=6))
        graph: Plain = {"n": n, "edges": edges, "y": draw(st.integers(0, 2))}
        graph["weight"] = [draw(st.sampled_from([0.5, 1.0, 2.0, 3.0])) for _ in edges]
        graph["x"] = [[draw(st.sampled_from([-1.0, 0.5, 2.0])), float(i)] for i in range(n)]
        graph["role"] = [draw(st.sampled_from(["boss", "clerk", "aide"])) for _ in range(n)]
        made.append(graph)
    return made


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(small_graphs(), st.booleans())
def test_the_same_graphs_from_every_source(tmp_path: Path, graphs: list[Plain], directed: bool) -> None:
    found = {}
    for name, make in SOURCES.items():
        chosen = {"node_feature": ["x", "role"]} if name == "PyG" else {}
        found[name] = read(make(graphs, tmp_path), directed=directed, **chosen)
    for name, data in found.items():
        first = found["NetworkX"]
        assert counts(data) == counts(first), name
        assert data.classes == first.classes
        features = [apply_features(d, choose_features(d)) for d in (data, first)]
        assert equal(*features), name
        assert features[0].num_features == 2 + len({role for graph in graphs for role in graph["role"]})
    for make_matrices in MATRICES.values():  # which have no text, no classes, and repeats only where they are sparse
        data, first = read(make_matrices(graphs), directed=directed), found["NetworkX"]
        assert torch.equal(data.graphs.edge_index, first.graphs.edge_index)
        assert data.self_loops == first.self_loops
        one, two = (
            torch.ones(d.graphs.num_edges) if d.graphs.edge_weight is None else d.graphs.edge_weight
            for d in (data, first)
        )
        assert torch.equal(one, two)
        assert np.array_equal(data.node_attributes, first.node_attributes)  # type: ignore[arg-type]


LOOPS: list[Plain] = [
    {
        "n": 3,
        "edges": [(0, 1), (1, 0), (1, 2), (1, 2), (2, 2)],
        "weight": [1.0, 3.0, 0.5, 0.25, 9.0],
        "x": [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]],
        "role": ["boss", "clerk", "boss"],
        "y": 1,
    }
]


@pytest.mark.parametrize("name", SOURCES)
def test_what_is_changed_is_counted_and_said_in_one_line(name: str, tmp_path: Path) -> None:
    """By hand: weights 1 and 3 of the two directions become their mean, the two of 1-2 add up to 0.75."""
    with pytest.warns(DataWarning) as told:
        data = as_dataset(SOURCES[name](LOOPS, tmp_path))
    assert data.graphs.edge_index.tolist() == [[1, 0, 2, 1], [0, 1, 1, 2]]
    assert data.graphs.edge_weight is not None
    assert data.graphs.edge_weight.tolist() == [2, 2, 0.75, 0.75]
    assert counts(data) == (1, 1, 1)
    # A row of a list is an edge in whichever direction it is written; elsewhere a direction is on purpose.
    listed = name in ("JSON lines", "CSV")
    one_way = "" if listed else "; 1 one-way edge made to lead both ways"
    assert [str(one.message).split(": ", 1)[1] for one in told] == [
        f"1 self-loop left out; 1 repeated edge merged{one_way}"
    ]


def test_to_pyg_and_back_needs_no_word(recwarn: pytest.WarningsRecorder) -> None:
    data = read(as_networkx(LOOPS))
    again = as_dataset(to_pyg(data))
    assert torch.equal(again.graphs.edge_index, data.graphs.edge_index)
    assert not recwarn.list
