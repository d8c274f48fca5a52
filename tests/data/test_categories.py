"""Text attributes of nodes: hand-worked columns, what a model remembers, and every format that has them."""

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch

from nmrgcl import GraphEmbedder
from nmrgcl.data.accept import as_dataset
from nmrgcl.data.categories import categories_of
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import FeatureSpec, apply_features, choose_features
from nmrgcl.data.formats.jsonl_export import write_jsonl
from nmrgcl.data.loading import load
from nmrgcl.data.stored import open_dataset, write_dataset
from nmrgcl.errors import DataError, DataWarning, UserError


def people(*roles: str | None, age: bool = True) -> nx.Graph:
    graph = nx.path_graph(len(roles))
    for i, role in enumerate(roles):
        if role is not None:
            graph.nodes[i]["role"] = role
        if age:
            graph.nodes[i]["age"] = 10.0 * i
    return graph


def seen(data: Dataset, spec: FeatureSpec | None = None) -> list[list[float]]:
    return apply_features(data, spec or choose_features(data)).dense_x().tolist()


def test_text_follows_the_numbers_as_columns_in_alphabetical_order() -> None:
    data = as_dataset(people("clerk", "boss", None, "clerk"))
    assert seen(data) == [[0, 0, 1], [10, 1, 0], [20, 0, 0], [30, 0, 1]]
    assert seen(as_dataset(people("clerk", "boss", None, age=False))) == [[0, 1], [1, 0], [0, 0]]


def test_attributes_are_chosen_by_name_and_in_that_order() -> None:
    graph = people("clerk", "boss")
    nx.set_node_attributes(graph, {0: [1, 2], 1: [3, 4]}, "place")
    assert seen(as_dataset(graph, node_feature=["place", "age", "role"])) == [[1, 2, 0, 0, 1], [3, 4, 10, 1, 0]]
    assert seen(as_dataset(graph, node_feature="role")) == [[0, 1], [1, 0]]
    assert choose_features(as_dataset(graph, node_feature=[])).kind == "degree"


def test_whole_numbers_are_numbers_unless_they_are_said_to_be_categories() -> None:
    data = pytest.importorskip("torch_geometric.data").Data(x=torch.tensor([[7, 1], [-2, 1], [7, 0]]))
    assert seen(as_dataset(data)) == [[7, 1], [-2, 1], [7, 0]]
    assert seen(as_dataset(data, categorical=True)) == [[0, 1, 0, 1], [1, 0, 0, 1], [0, 1, 1, 0]]
    graph = nx.empty_graph(3)
    nx.set_node_attributes(graph, {0: 7, 1: -2, 2: 7}, "kind")
    assert seen(as_dataset(graph)) == [[7], [-2], [7]]
    assert seen(as_dataset(graph, categorical=True)) == [[0, 1], [1, 0], [0, 1]]


def test_what_a_model_does_not_know_is_zeros_and_counted() -> None:
    spec = choose_features(as_dataset(people("clerk", "boss")))
    again = FeatureSpec.from_dict(json.loads(json.dumps(spec.to_dict())))
    assert again == spec
    assert again.categories == (("role", ("boss", "clerk")),)
    with pytest.warns(
        DataWarning, match="^graphs: values unknown to the model are encoded as zeros: 'role' of 2 nodes$"
    ):
        assert seen(as_dataset(people("aide", "boss", "aide")), spec) == [[0, 0, 0], [10, 1, 0], [20, 0, 0]]
    with pytest.raises(DataError, match="these features need the node attribute 'role'; available: no text"):
        seen(as_dataset(people(None, None)), spec)


def test_names_of_nodes_are_no_features() -> None:
    graph = nx.path_graph(30)
    nx.set_node_attributes(graph, {i: f"node {i}" for i in graph}, "name")
    with pytest.warns(DataWarning, match="'name' has 30 different values among 30 nodes; it looks like an id"):
        assert choose_features(as_dataset(graph)).kind == "degree"
    twice = as_dataset([graph, graph])  # where two nodes share each name, it is a kind
    assert choose_features(twice).width == 30


@pytest.mark.parametrize(
    "values", [[["role", ["b", "a"]]], [["role", [1, "a"]]], [["role"]], [[3, ["a"]]], "role", [["r", []]]]
)
def test_a_vocabulary_that_is_none_is_refused(values: Any) -> None:
    spec = choose_features(as_dataset(people("clerk", "boss"))).to_dict() | {"categories": values}
    with pytest.raises(DataError, match="categories"):
        FeatureSpec.from_dict(spec)


def test_a_model_folder_keeps_the_vocabulary(tmp_path: Path) -> None:
    small = {"train.epochs": 1, "encoder.layers": 2, "encoder.units": 8}
    graphs = [people("clerk", "boss", "clerk"), people("boss", "boss"), people("clerk", "clerk")]
    options: dict[str, Any] = {"node_feature": ["age", "role"], "device": "cpu"}
    fitted = GraphEmbedder(preset="graphcl", settings=small, **options).fit(graphs)
    fitted.save(tmp_path / "model")
    loaded = GraphEmbedder.load(tmp_path / "model", **options)
    np.testing.assert_array_equal(loaded.transform(graphs), fitted.transform(graphs))
    with pytest.warns(DataWarning, match="'role' of 1 nodes"):
        new = loaded.transform([people("aide", "boss")])
    missing = loaded.transform([people(None, "boss")])
    np.testing.assert_array_equal(new, missing)


def test_a_store_and_json_lines_keep_them(tmp_path: Path) -> None:
    data = as_dataset([people("clerk", None, "boss"), people("boss", "aide")])
    write_dataset(tmp_path / "store", data)
    write_jsonl(data, tmp_path / "g.jsonl")
    for again in (open_dataset(tmp_path / "store"), load(str(tmp_path / "g.jsonl"))):
        assert again.categories is not None
        assert data.categories is not None
        assert (again.categories.names, again.categories.values) == (data.categories.names, data.categories.values)
        assert seen(again) == seen(data)
    assert categories_of({}) is None


def test_csv_columns_of_text_are_categories_and_those_of_edges_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target,kind\na,b,x\nb,c,y\n")
    (tmp_path / "nodes.csv").write_text("node,role,age,label\na,clerk,1,red\nb,,2,blue\nc,boss,3,red\n")
    with pytest.warns(DataWarning, match="text column 'kind' of edges left out"):
        data = load(str(tmp_path))
    assert seen(data) == [[1, 0, 1, 0, 1], [2, 1, 0, 0, 0], [3, 0, 1, 1, 0]]  # age, label, role
    with pytest.warns(DataWarning):
        assert seen(load(str(tmp_path), node_feature=["role", "age"])) == [[1, 0, 1], [2, 0, 0], [3, 1, 0]]
    (tmp_path / "nodes.csv").write_text("node,age\na,1\nb,2x\nc,3\n")
    with pytest.raises(DataError, match="nodes.csv, line 3: age: "):  # a number that is misspelt is not a text
        load(str(tmp_path))


def test_json_lines_take_text_for_labels(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    path.write_text('{"edges": [], "node_labels": ["b", "a"]}\n{"edges": [], "node_labels": ["b"]}\n')
    assert seen(load(str(path))) == [[0, 1], [1, 0], [0, 1]]
    wrong = {
        '{"edges": [], "node_labels": [1, "a"]}': "line 1: node_labels: text after integers",
        '{"edges": [], "num_nodes": 2, "node_categories": {"r": ["a"]}}': "'r': has 1 entries, but",
        '{"edges": [], "node_categories": {"r": ["a", 1]}}': "line 1: node_categories, 'r': mixes text and",
    }
    for line, told in wrong.items():
        path.write_text(line + "\n")
        with pytest.raises(DataError, match=told):
            load(str(path))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"node_feature": 3}, "node_feature must be the name of a node attribute or a list of names, not int 3"),
        ({"node_feature": ["age", None]}, "not NoneType None"),
        ({"node_feature": ["age", "age"]}, "contains an attribute twice"),
        ({"node_feature": "y"}, "y is the class of a node"),
        ({"node_feature": "agee"}, "no node has the attribute 'agee'; did you mean age?"),
        ({"edge_weight": 1}, "edge_weight must be the name of an edge attribute or None"),
        ({"categorical": "yes"}, "categorical must be True or False"),
    ],
)
def test_choices_that_are_impossible_are_one_line(options: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError) as caught:
        as_dataset(people("clerk", "boss"), **options)
    assert told in str(caught.value)
