"""The rules for attributes once more, with dictionaries and loops: what a dataset must be, given plain graphs."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from nmrgcl.data.dataset import Dataset


@dataclass
class Plain:
    """One graph: attributes, nodes by id in their order, and edges as source, target, attributes, both ways."""

    values: dict[str, Any] = field(default_factory=dict)
    nodes: dict[Any, dict[str, Any]] = field(default_factory=dict)
    edges: list[tuple[Any, Any, dict[str, Any], bool]] = field(default_factory=list)


def check(graphs: list[Plain], data: Dataset, *, keep_directions: bool = False) -> None:
    """``data`` is what the graphs mean."""
    assert data.graphs.node_ptr.diff().tolist() == [len(graph.nodes) for graph in graphs]
    nodes = [values for graph in graphs for values in graph.nodes.values()]
    edges = [edge for graph in graphs for edge in graph.edges]
    check_classes(graphs, nodes, data)
    check_features(
        [without(values, "y") for values in nodes], data.node_labels, data.node_attributes, range(len(nodes))
    )
    mutual = all(both for *_, both in edges)
    rows = listed_rows(graphs, mutual)
    first: dict[tuple[int, int], int] = {}
    total: dict[tuple[int, int], float] = {}
    for u, v, row in rows:
        if u != v:
            first.setdefault((u, v), row)
            total[u, v] = total.get((u, v), 0.0) + float(np.float32(edges[row][2].get("weight", 1)))
    weights = dict(total)
    if mutual or not keep_directions:
        for u, v in total:
            first.setdefault((v, u), first[u, v])
            weights[u, v] = weights[v, u] = (total[u, v] + total.get((v, u), total[u, v])) / 2
    pairs = [(u, v) for u, v in data.graphs.edge_index.T.tolist()]
    assert pairs == sorted(first, key=lambda e: (e[1], e[0]))
    if data.graphs.edge_weight is None:
        assert all(values.get("weight", 1) == 1 for _, _, values, _ in edges)
    else:
        assert data.graphs.edge_weight.tolist() == pytest.approx([weights[pair] for pair in pairs], rel=1e-6)
    features = [without(values, "weight") for _, _, values, _ in edges]
    check_features(features, data.edge_labels, data.edge_attributes, [first[pair] for pair in pairs])


def listed_rows(graphs: list[Plain], mutual: bool) -> list[tuple[int, int, int]]:
    """Positions of source and target and the number of the edge, for each direction that the files list."""
    rows: list[tuple[int, int, int]] = []
    start = number = 0
    for graph in graphs:
        place = {name: start + i for i, name in enumerate(graph.nodes)}
        for source, target, _, both in graph.edges:
            u, v = place[source], place[target]
            rows.append((min(u, v), max(u, v), number) if mutual else (u, v, number))
            if both and not mutual and u != v:
                rows.append((v, u, number))
            number += 1
        start += len(place)
    return rows


def check_classes(graphs: list[Plain], nodes: list[dict[str, Any]], data: Dataset) -> None:
    expected: list[Any] | None = None
    if any("y" in values for values in nodes):
        assert (data.level, len(graphs)) == ("node", 1)
        expected = [values.get("y") for values in nodes]
    else:
        assert data.level == "graph"
        for name in ("label", "y"):
            if any(name in graph.values for graph in graphs):
                expected = [graph.values.get(name) for graph in graphs]
    if expected is None:
        assert data.y is None
        return
    assert data.y is not None
    classes = [*data.classes, None]
    assert [classes[code] for code in data.y] == expected
    assert not any(isinstance(label, bool | float) for label in data.classes)


def check_features(items: list[dict[str, Any]], labels: Any, attributes: Any, chosen: Any) -> None:
    """Names whose value is never text and never missing are features, in the order of the first item."""
    names = [name for name in (items[0] if items else ()) if not any(isinstance(i.get(name, ""), str) for i in items)]
    assert not any(not isinstance(value, str) for item in items for name, value in item.items() if name not in names)
    assert (labels is None) == ("label" not in names)
    if labels is not None:
        names.remove("label")
        assert labels.tolist() == [[items[i]["label"]] for i in chosen]
    assert (attributes is None) == (not names)
    if attributes is not None:
        expected = [[np.float32(items[i][name]) for name in names] for i in chosen]
        assert attributes.tolist() == np.array(expected, np.float32).reshape(len(expected), len(names)).tolist()


def without(values: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key != name}
