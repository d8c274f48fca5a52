"""Edge labels and attributes, from files, PyG and NetworkX to ``Graphs.edge_attr``."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

from nmrgcl.data.accept import as_dataset
from nmrgcl.data.conversions import from_pyg
from nmrgcl.data.dataset import Dataset, dataset_of
from nmrgcl.data.edge_features import EdgeSpec
from nmrgcl.data.featured import featured_store
from nmrgcl.data.features import FeatureSpec, apply_features, choose_features
from nmrgcl.data.formats.tu import read_tu
from nmrgcl.data.stored import open_dataset, write_dataset
from nmrgcl.errors import DataError
from tests.data.formats.tu_text import write_tu
from tests.examples import one_graph, with_edge_labels
from tests.test_store import assert_equal


@pytest.fixture
def tiny(tmp_path: Path) -> Dataset:
    """Edges 1-2, 2-3 and 4-5 with the labels 10, 20 and 30, and one attribute 1.5, 2.5 and 3.5."""
    return read_tu(write_tu(tmp_path / "tiny"))


def edge_attr(dataset: Dataset, edges: str) -> Any:
    found = apply_features(dataset, choose_features(dataset, edges=edges)).edge_attr
    return None if found is None else found.tolist()


def test_labels_are_numbered_from_one_and_attributes_are_taken_as_they_are(tiny: Dataset) -> None:
    spec = choose_features(tiny, edges="labels")
    assert spec.edges == EdgeSpec("labels", 3, ((10, 20, 30),))
    assert spec.edge_shape == (3,)
    assert edge_attr(tiny, "labels") == [[1], [1], [2], [2], [3], [3]]
    assert choose_features(tiny, edges="attributes").edge_shape == 1
    assert edge_attr(tiny, "attributes") == [[1.5], [1.5], [2.5], [2.5], [3.5], [3.5]]


def test_auto_takes_labels_then_attributes_then_none_and_none_is_the_default(tiny: Dataset) -> None:
    assert edge_attr(tiny, "auto") == edge_attr(tiny, "labels")
    plain = replace(tiny, edge_labels=None)
    assert edge_attr(plain, "auto") == edge_attr(tiny, "attributes")
    assert edge_attr(replace(plain, edge_attributes=None), "auto") is None
    assert choose_features(tiny).edges is None
    assert apply_features(tiny, choose_features(tiny)).edge_attr is None
    for kind in ("labels", "attributes", "degree", "constant"):  # whatever nodes have
        assert choose_features(tiny, kind, edges="auto").edge_shape == (3,)


def test_each_column_of_labels_is_numbered_on_its_own(tmp_path: Path) -> None:
    data = read_tu(write_tu(tmp_path, edge_labels="4,-1\n4,-1\n4,9\n4,9\n2,9\n2,9\n"))
    assert choose_features(data, edges="labels").edge_shape == (2, 2)
    assert edge_attr(data, "labels") == [[2, 1], [2, 1], [2, 2], [2, 2], [1, 2], [1, 2]]


def test_what_a_dataset_does_not_have_is_reported_in_one_line(tiny: Dataset) -> None:
    plain = replace(tiny, edge_labels=None)
    with pytest.raises(DataError, match="^T: there are no edge labels; available edge features: attributes, none$"):
        choose_features(plain, edges="labels")
    with pytest.raises(DataError, match="unknown kind 'colour'; known: auto, labels, attributes, none"):
        choose_features(plain, edges="colour")
    with pytest.raises(DataError, match="these features need edge labels"):
        apply_features(plain, choose_features(tiny, edges="labels"))
    spec = choose_features(tiny, edges="attributes")
    with pytest.raises(DataError, match="there are 2 attributes per edge, but these features need 1"):
        apply_features(replace(tiny, edge_attributes=np.zeros((6, 2), np.float32)), spec)
    with pytest.raises(DataError, match="there are 2 labels per edge; these features need 1"):
        apply_features(replace(tiny, edge_labels=np.zeros((6, 2), np.int64)), choose_features(tiny, edges="labels"))
    without_edges = replace(tiny, edge_labels=np.zeros((0, 1), np.int64))
    with pytest.raises(DataError, match="there are no edge labels"):
        choose_features(without_edges, edges="labels")


def test_a_label_that_a_model_does_not_know_is_an_error_or_no_feature(tiny: Dataset) -> None:
    spec = choose_features(tiny, edges="labels")
    other = replace(tiny, edge_labels=np.array([[10], [10], [25], [25], [30], [30]]))
    told = (
        "^T: the edge from node 3 to node 2 has the label 25, which is not among the 3 labels the model knows; "
        "use unknown=zero to encode such edges as zeros$"
    )
    with pytest.raises(DataError, match=told):
        apply_features(other, spec)
    found = apply_features(other, spec, unknown="zero").edge_attr
    assert found is not None
    assert found.tolist() == [[1], [1], [0], [0], [3], [3]]


@pytest.mark.parametrize("edges", ["labels", "attributes"])
def test_a_spec_survives_json_and_one_from_before_has_no_edges(tiny: Dataset, edges: str) -> None:
    spec = choose_features(tiny, edges=edges)
    assert FeatureSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec
    old = {name: value for name, value in spec.to_dict().items() if name != "edges"}
    assert FeatureSpec.from_dict(old) == replace(spec, edges=None) == choose_features(tiny)
    assert choose_features(tiny).to_dict() == old


GOOD = {"kind": "labels", "width": 3, "labels": [[10, 20, 30]]}


@pytest.mark.parametrize(
    "junk",
    [
        *(None, [], "labels", {}, GOOD | {"more": 1}, {"kind": "labels", "width": 3}),
        *(GOOD | {"kind": "colour"}, GOOD | {"kind": []}, GOOD | {"kind": "attributes"}),
        *(GOOD | {"width": 4}, GOOD | {"width": "3"}, GOOD | {"width": True}),
        *(GOOD | {"labels": None}, GOOD | {"labels": []}, GOOD | {"labels": [[]]}, GOOD | {"labels": [[10, 30, 20]]}),
        *(GOOD | {"labels": [[10, 20, 20]]}, GOOD | {"labels": [[10, 20, 3.5]]}),
        *({"kind": "attributes", "width": width, "labels": None} for width in (0, -1, 2**70)),
    ],
)
def test_junk_is_not_a_spec(junk: Any) -> None:
    with pytest.raises(DataError) as caught:
        FeatureSpec.from_dict({"kind": "constant", "width": 1, "max_degree": None, "labels": None, "edges": junk})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("edges", ["labels", "attributes"])
def test_a_store_gives_the_edge_features_back_also_of_some_graphs(tiny: Dataset, edges: str, tmp_path: Path) -> None:
    write_dataset(tmp_path / "store", tiny)
    stored = open_dataset(tmp_path / "store")
    spec = choose_features(stored, edges=edges)
    assert spec == choose_features(tiny, edges=edges)
    source = featured_store(stored, spec)
    assert source is not None
    whole = apply_features(tiny, spec)
    for index in ([], [1], [1, 0, 1], [0, 1]):
        number = torch.tensor(index, dtype=torch.long)
        assert_equal(source.take(number), whole.take(number))
    assert "graphs" not in vars(stored)


def molecule(**values: Any) -> Any:
    from torch_geometric.data import Data

    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    return Data(edge_index=edges, num_nodes=3, **values)


def test_pygs_numbers_are_attributes_and_its_whole_numbers_labels() -> None:
    real = as_dataset([molecule(edge_attr=torch.tensor([[0.5], [0.5], [2], [2]]))] * 2)
    assert edge_attr(real, "auto") == [[0.5], [0.5], [2], [2]] * 2
    whole = as_dataset(molecule(edge_attr=torch.tensor([7, 7, 4, 4])))
    assert edge_attr(whole, "auto") == [[2], [2], [1], [1]]
    with pytest.raises(DataError, match="there are no edge attributes; available edge features: labels, none"):
        choose_features(whole, edges="attributes")


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"edge_attr": torch.zeros(3, 1)}, "edge_attr has 3 rows, but there are 4 edges"),
        ({"edge_weight": torch.ones(5)}, "edge_weight has 5 rows, but there are 4 edges"),
        ({"edge_attr": torch.tensor([[1.0], [2], [3], [float("nan")]])}, "an edge feature is not finite"),
        ({"edge_attr": torch.zeros(4, 1, 2)}, r"edge_attr has the shape \[4, 1, 2\]; give each edge one row"),
    ],
)
def test_pygs_edge_features_that_cannot_be_meant_are_reported_in_one_line(values: Any, told: str) -> None:
    with pytest.raises(DataError, match=told) as refused:
        as_dataset(molecule(**values))
    assert "\n" not in str(refused.value)


def test_networkx_edges_have_the_attributes_that_are_named_or_all() -> None:
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, {(0, 1): 0.5, (1, 2): 2.0}, "length")
    assert edge_attr(as_dataset(graph, edge_feature="length"), "auto") == [[0.5], [0.5], [2], [2]]
    assert edge_attr(as_dataset(graph), "auto") == [[0.5], [0.5], [2], [2]]
    assert edge_attr(as_dataset(graph, edge_feature=[]), "auto") is None
    with pytest.raises(DataError, match="no edge has the attribute 'colour'; known: length"):
        as_dataset(graph, edge_feature="colour")


def test_features_that_graphs_carry_themselves_stay_where_none_are_made() -> None:
    graphs = with_edge_labels(one_graph(3, (0, 1), (1, 2)), (5,))
    data = dataset_of(graphs)
    assert edge_attr(data, "none") == graphs.edge_attr.tolist()  # type: ignore[union-attr]
    assert from_pyg(molecule()).edge_attr is None
    assert dataset_of(one_graph(2, (0, 1))).edge_labels is None
