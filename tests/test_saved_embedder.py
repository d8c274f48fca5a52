"""What an embedder was given is there again after it was saved and loaded."""

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from nmrgcl import GraphEmbedder, MoleculeEmbedder
from nmrgcl.checksums import write_checksums
from nmrgcl.data.ids import LONGEST
from nmrgcl.errors import ModelError
from nmrgcl.model_folder import EMBEDDER

SMALL = {"train.epochs": 1, "encoder.layers": 1, "encoder.units": 4}


def named_cycles() -> list[nx.Graph]:
    graphs = [nx.cycle_graph(n) for n in range(4, 12)]
    for graph in graphs:
        graph.name = f"cycle of {len(graph)}"
        nx.set_node_attributes(graph, {node: float(node) for node in graph}, "height")
    return graphs


def test_parameters_and_ids_survive(tmp_path: Path) -> None:
    graphs = named_cycles()
    given = {"node_feature": "height", "edge_feature": None, "unknown": "zero"}
    made = GraphEmbedder("graphcl", settings=SMALL, device="cpu", **given).fit(graphs)  # type: ignore[arg-type]
    made.save(tmp_path / "model")
    loaded = GraphEmbedder.load(tmp_path / "model", device="cpu")
    assert {name: loaded.get_params()[name] for name in given} == given
    assert loaded.ids_.tolist() == made.ids_.tolist() == [f"cycle of {n}" for n in range(4, 12)]
    np.testing.assert_array_equal(loaded.transform(graphs), made.transform(graphs))
    assert GraphEmbedder.load(tmp_path / "model", unknown="error").unknown == "error"


def test_graphs_without_names_are_counted_and_nodes_have_theirs(tmp_path: Path) -> None:
    plain = GraphEmbedder("graphcl", settings=SMALL, device="cpu").fit([nx.path_graph(n) for n in range(2, 6)])
    assert plain.ids_.tolist() == [0, 1, 2, 3]
    nodes = GraphEmbedder("grace", level="node", settings=SMALL, device="cpu").fit(nx.Graph([("a", "b"), ("b", "c")]))
    nodes.save(tmp_path / "model")
    assert GraphEmbedder.load(tmp_path / "model").ids_.tolist() == ["a", "b", "c"]


def test_molecules_are_their_rows_and_keep_what_is_done_with_invalid_ones(tmp_path: Path) -> None:
    pytest.importorskip("rdkit")
    made = MoleculeEmbedder(settings=SMALL, invalid="nan", device="cpu").fit(["CCO", "bad", "c1ccccc1", "CC"])
    assert made.ids_.tolist() == [0, 2, 3]
    made.save(tmp_path / "model")
    assert MoleculeEmbedder.load(tmp_path / "model").invalid == "nan"


@pytest.mark.parametrize(
    "content",
    [
        [],
        {"ids": []},
        {"parameters": {}, "ids": [[1]]},
        {"parameters": [], "ids": []},
        {"parameters": {}, "ids": 3},
        {"parameters": {}, "ids": ["a" * (LONGEST + 1)]},
    ],
)
def test_a_file_of_parameters_that_is_none_is_refused(content: Any, tmp_path: Path) -> None:
    GraphEmbedder("graphcl", settings=SMALL, device="cpu").fit(named_cycles()).save(tmp_path / "model")
    (tmp_path / "model" / EMBEDDER).write_text(json.dumps(content))
    with pytest.raises(ModelError, match="checksum"):
        GraphEmbedder.load(tmp_path / "model")
    write_checksums(tmp_path / "model")
    with pytest.raises(ModelError, match=EMBEDDER):
        GraphEmbedder.load(tmp_path / "model")


def test_only_parameters_that_an_embedder_has_are_taken_from_a_file(tmp_path: Path) -> None:
    GraphEmbedder("graphcl", settings=SMALL, device="cpu").fit(named_cycles()).save(tmp_path / "model")
    values = {"parameters": {"node_feature": "w", "method": "evil.py", "device": "cuda", "colour": 1}, "ids": []}
    (tmp_path / "model" / EMBEDDER).write_text(json.dumps(values))
    write_checksums(tmp_path / "model")
    loaded = GraphEmbedder.load(tmp_path / "model")
    assert (loaded.method, loaded.device, loaded.node_feature) == ("graphcl", "auto", "w")
