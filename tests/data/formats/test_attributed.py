"""What attributes mean, on graphs made by hand."""

from typing import Any

import numpy as np
import pytest

from nmrgcl.data.assemble import assemble
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.formats.attribute_values import LARGEST, read_boolean, read_integer, read_real
from nmrgcl.data.formats.attributed import AttributedGraph, listing
from nmrgcl.data.formats.classes import shown
from nmrgcl.data.formats.graph_files import natural
from nmrgcl.errors import DataError

Edges = list[tuple[int, int, bool, dict[str, Any]]]


def graph(nodes: list[dict[str, Any]], edges: Edges | None = None, **values: Any) -> AttributedGraph:
    """Node ``i`` has the id ``10 i`` and stands on line ``i + 1``, edge ``j`` on line ``100 + j``."""
    made = AttributedGraph("f", 50)
    made.values.update(values)
    for j, (u, v, both, attributes) in enumerate(edges or []):
        made.add_edge(10 * u, 10 * v, both, attributes, 100 + j)
    for i, attributes in enumerate(nodes):
        made.add_node(10 * i, attributes, i + 1)
    return made


def dataset(*graphs: AttributedGraph, keep_directions: bool = False) -> Dataset:
    return assemble(listing(graphs), "name", "source", keep_directions=keep_directions)


def message(*graphs: AttributedGraph) -> str:
    with pytest.raises(DataError) as caught:
        dataset(*graphs)
    assert str(caught.value).isprintable()
    return str(caught.value)


def rows(values: Any) -> list[list[float]]:
    assert isinstance(values, np.ndarray)
    return values.tolist()


def test_numbers_and_booleans_are_features_in_the_order_of_their_appearance() -> None:
    first = graph([{"b": 1, "a": 0.5, "t": "x"}, {"a": 2, "b": True}], [(0, 1, True, {"z": 1, "s": ""})])
    data = dataset(first, graph([{"a": -1, "b": 0.0, "t": "7"}]))
    assert rows(data.node_attributes) == [[1, 0.5], [1, 2], [0, -1]]
    assert rows(data.edge_attributes) == [[1], [1]]
    assert data.node_labels is data.edge_labels is data.y is None


def test_integer_labels_are_labels_and_text_ones_are_categories() -> None:
    data = dataset(graph([{"label": 3}, {"label": 4.0}], [(0, 1, True, {"label": False})]))
    assert rows(data.node_labels) == [[3], [4]]
    assert rows(data.edge_labels) == [[0], [0]]
    assert data.node_attributes is data.edge_attributes is None
    data = dataset(graph([{"label": "3", "role": "b"}, {}, {"role": "a"}]))
    assert data.node_labels is None
    assert data.categories is not None
    assert (data.categories.names, data.categories.values) == (("label", "role"), (("3",), ("a", "b")))
    assert data.categories.codes.tolist() == [[0, 1], [-1, -1], [-1, 0]]


def test_the_class_of_a_graph_is_y_or_else_its_label() -> None:
    data = dataset(graph([{}], y=3, label=9), graph([{}]), graph([{}], y=-1.0), graph([{}], label=9))
    assert (data.level, data.classes, data.graphs.y.tolist()) == ("graph", (-1, 3), [1, -1, 0, -1])  # type: ignore[union-attr]
    data = dataset(graph([{}], label="b"), graph([{}], label="a"))
    assert (data.classes, data.graphs.y.tolist()) == (("a", "b"), [1, 0])  # type: ignore[union-attr]


def test_the_class_of_a_node_is_y_if_there_is_one_graph() -> None:
    data = dataset(graph([{"y": "b"}, {}, {"y": "a"}], label=1))
    assert (data.level, data.classes, data.graphs.y.tolist()) == ("node", ("a", "b"), [1, -1, 0])  # type: ignore[union-attr]
    assert data.node_attributes is None
    assert "f, line 2: a node has a class y, but there are 2 graphs" in message(graph([{}, {"y": 1}]), graph([{}]))
    assert "f, line 1: both this node and the graph have a class y" in message(graph([{"y": 1}], y=1))


def test_a_missing_weight_is_one() -> None:
    data = dataset(graph([{}] * 3, [(0, 1, True, {"weight": 2.5}), (1, 2, True, {})]))
    assert data.graphs.edge_weight.tolist() == [2.5, 2.5, 1, 1]  # type: ignore[union-attr]
    assert data.edge_attributes is None


@pytest.mark.parametrize("weight", [0, -1.5, "2", False, 1e-60])
def test_other_weights_are_refused(weight: Any) -> None:
    told = message(graph([{}] * 2, [(0, 1, True, {}), (0, 1, True, {"weight": weight})]))
    assert told == f"f, line 101: weight {shown(weight)} is not a positive 32-bit float; correct it"


def test_directed_and_undirected_edges_side_by_side_become_directions() -> None:
    edges: Edges = [(0, 1, True, {"label": 1}), (1, 2, False, {"label": 2}), (2, 2, True, {"label": 3})]
    data = dataset(graph([{}] * 3, edges), keep_directions=True)
    assert data.graphs.edge_index.tolist() == [[1, 0, 1], [0, 1, 2]]
    assert rows(data.edge_labels) == [[1], [1], [2]]
    assert (data.self_loops, data.duplicate_edges) == (1, 0)
    data = dataset(graph([{}] * 3, edges))
    assert data.graphs.edge_index.tolist() == [[1, 0, 2, 1], [0, 1, 1, 2]]
    assert data.one_way_edges == 1


def test_graphs_that_disagree_about_directions_are_treated_alike() -> None:
    data = dataset(graph([{}] * 2, [(1, 0, True, {})]), graph([{}] * 2, [(1, 0, False, {})]), keep_directions=True)
    assert data.graphs.edge_index.tolist() == [[1, 0, 3], [0, 1, 2]]


def test_an_undirected_file_stays_so_even_if_directions_are_kept() -> None:
    data = dataset(graph([{}] * 2, [(1, 0, True, {}), (0, 1, True, {})]), keep_directions=True)
    assert data.graphs.edge_index.tolist() == [[1, 0], [0, 1]]
    assert (data.duplicate_edges, data.one_way_edges) == (1, 0)


def test_graphs_without_nodes_or_edges_are_ordinary() -> None:
    data = dataset(graph([]), graph([{"f": 1}]), graph([]))
    assert data.graphs.node_ptr.tolist() == [0, 0, 1, 1]
    assert rows(data.node_attributes) == [[1]]
    assert dataset(graph([])).graphs.num_nodes == 0


@pytest.mark.parametrize("other", [{}, {"f": "1"}])
def test_a_number_that_some_lack_is_refused(other: dict[str, Any]) -> None:
    told = message(graph([{"f": 1}, {"f": 2}]), graph([{"f": 1}, other, {}]))
    expected = "f, line 2: this node has no number for the attribute 'f', but others do; "
    assert told == f"{expected}add one to every node or remove the attribute"
    told = message(graph([{}] * 2, [(0, 1, True, {"e": 1}), (0, 1, True, other)]))
    assert "f, line 101: this edge has no number for the attribute 'e'" in told


@pytest.mark.parametrize("value", [0.5, 2.0**53 + 2, -1e30])
def test_labels_that_are_no_integers_are_refused(value: float) -> None:
    assert f"f, line 1: label {value} is not an integer; labels are classes" in message(graph([{"label": value}]))
    assert f"f, line 50: y {value} is not an integer" in message(graph([{}], y=value))
    assert f"f, line 2: y {value} is not an integer" in message(graph([{}, {"y": value}]))


def test_classes_are_of_one_kind_and_printable() -> None:
    assert "labels mix numbers and text" in message(graph([{"y": 1}, {"y": "1"}]))
    assert r"f, line 50: y 'a\nb' is not a class" in message(graph([{}], y="a\nb"))


def test_an_edge_to_an_unknown_node_is_named() -> None:
    told = message(graph([{}] * 2, [(0, 1, True, {}), (1, 7, True, {}), (9, 0, True, {})]))
    assert told == "f, line 101: an edge refers to node 70, which does not exist; correct the id"


def test_an_attribute_of_its_own_for_every_node_takes_no_quadratic_time() -> None:
    data = dataset(graph([{f"t{i}": ""} for i in range(20_000)]))
    assert data.node_attributes is data.categories is None
    assert data.notes == ("20000 node attributes with text left out ('t0', 't1', 't2', …)",)
    assert "f, line 2: this node has no number" in message(graph([{f"t{i}": i} for i in range(20_000)]))


@pytest.mark.parametrize("text", ["1_0", "0x1", "1.", "", " 1", "１", "--1", "nan", "9" * 5000, str(2**63)])
def test_integers_are_strict(text: str) -> None:
    with pytest.raises(ValueError, match="is not an integer|does not fit 64 bits"):
        read_integer(text)


@pytest.mark.parametrize(
    "text", ["1_0.0", "0x1p3", ".", "", "e5", "1e", "nan", "inf", "-Infinity", "1e39", "1" * 2_000_000]
)
def test_reals_are_strict(text: str) -> None:
    with pytest.raises(ValueError, match="is not a finite number|does not fit a 32-bit float"):
        read_real(text)


def test_numbers_at_the_limits_are_read() -> None:
    assert (read_integer(str(-(2**63))), read_integer("+007")) == (-(2**63), 7)
    assert [read_real(text) for text in ("1", "-.5", "2.", "1E2", "1e-999", repr(LARGEST))] == [
        1,
        -0.5,
        2,
        100,
        0,
        LARGEST,
    ]
    assert np.float32(LARGEST) == np.finfo(np.float32).max == LARGEST
    assert [read_boolean(text) for text in ("true", "False", "1", "0")] == [True, False, True, False]
    with pytest.raises(ValueError, match="'yes' is neither true nor false"):
        read_boolean("yes")
    with pytest.raises(ValueError, match="is not a finite number"):
        read_real("1" * 2_000_000 + "x")  # in linear time


def test_what_messages_quote_is_short_and_in_one_line() -> None:
    assert shown("a\nb") == r"'a\nb'"
    assert len(shown("x" * 100)) < 40


def test_names_sort_as_people_count() -> None:
    names = ["g10", "g2", "g1", "h", "g02", "1", "g", "g2b"]
    assert sorted(names, key=natural) == ["1", "g", "g1", "g02", "g2", "g2b", "g10", "h"]
