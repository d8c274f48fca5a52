"""The ceiling of message passing: by hand on tiny graphs, against slow refinement, and on real data."""

import json
from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch

from nmrgcl.graphs import Graphs
from nmrgcl.words.ceiling import message_passing_ceiling, stable_kinds
from tests.examples import undirected
from tests.methods.test_wl import HEXAGON, PATH, TRIANGLES, graphs_of
from tests.test_cli import run

ALIKE = [0] * 6


def test_what_looks_alike_shares_the_label_of_the_majority() -> None:
    # A hexagon and two triangles look alike, a path does not: 3 of the 4 that look alike can be right, and the path.
    graphs = graphs_of(HEXAGON, TRIANGLES, HEXAGON, TRIANGLES, PATH, x=ALIKE)
    found = message_passing_ceiling(graphs, np.array([0, 1, 1, 1, 0]))
    assert found.to_dict() == {
        "graphs": 5,
        "different": 2,
        "doubles": 4,
        "accuracy": 80.0,
        "accuracy_of_doubles": 75.0,
        "rounds": 3,  # The path's ends differ after one round, what is next to them after two, its middle after three.
    }


def test_node_labels_tell_graphs_apart_and_missing_classes_do_not_count() -> None:
    one, other = (graphs_of(HEXAGON, x=[label, *ALIKE[1:]]) for label in (0, 1))
    graphs = Graphs.build(
        torch.cat([one.edge_index, other.edge_index + 6, one.edge_index + 12], 1),
        torch.tensor([0, 6, 12, 18]),
        x=torch.cat([one.x, other.x, one.x]),
    )
    assert message_passing_ceiling(graphs, np.array([0, 1, 1])).accuracy == pytest.approx(200 / 3)
    found = message_passing_ceiling(graphs, np.array([0, 1, -1]))
    assert (found.graphs, found.different, found.doubles, found.accuracy) == (2, 2, 0, 100.0)
    assert found.accuracy_of_doubles is None


def test_enough_rounds_are_run_for_long_paths() -> None:
    # Two trees of 24 nodes that differ only in how far a leaf is from the middle of a path.
    path = [(i, i + 1) for i in range(22)]
    graphs = graphs_of([*path, (11, 23)], [*path, (9, 23)], nodes=24, x=[0] * 24)
    kinds, rounds = stable_kinds(graphs)
    assert kinds[0] != kinds[1]
    cycles = graphs_of([(i, (i + 1) % 24) for i in range(24)], [(i, (i + 2) % 24) for i in range(24)],
                       nodes=24, x=[0] * 24)  # fmt: skip
    assert stable_kinds(cycles)[0].tolist() == [0, 0]
    assert stable_kinds(cycles)[1] == 0
    assert rounds >= 1


def test_kinds_are_those_of_slow_refinement() -> None:
    random = [nx.gnp_random_graph(6, 0.4, seed=seed) for seed in range(60)]
    index = [undirected(*graph.edges) + 6 * number for number, graph in enumerate(random) if graph.edges]
    graphs = Graphs.build(torch.cat(index, 1), torch.arange(61) * 6, x=torch.zeros(360, 1, dtype=torch.long))
    slow: list[tuple[tuple[object, int], ...]] = []
    for graph in random:
        colour: dict[int, object] = dict.fromkeys(graph, 0)
        for _ in range(6):
            colour = {v: (colour[v], tuple(sorted(map(repr, (colour[u] for u in graph[v]))))) for v in graph}
        slow.append(tuple(sorted(Counter(map(repr, colour.values())).items())))
    kinds = stable_kinds(graphs)[0]
    assert len(set(slow)) < 60  # Some of them are alike.
    assert [[a == b for b in kinds] for a in kinds] == [[a == b for b in slow] for a in slow]


def test_only_387_graphs_of_imdb_multi_differ(capsys: pytest.CaptureFixture[str], mirror: Path) -> None:
    found = json.loads(run(capsys, "datasets", "info", "IMDB-MULTI", "--ceiling", "--json")[0])["message_passing"]
    assert (found["node_features"], found["different"], found["doubles"]) == ("constant", 387, 1212)
    assert (found["accuracy"], found["accuracy_of_doubles"]) == (63.27, 54.54)


def test_what_has_no_classes_of_graphs_is_reported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "g.jsonl").write_text('{"edges": [[0, 1]]}\n')
    _, error = run(capsys, "datasets", "info", str(tmp_path / "g.jsonl"), "--ceiling", code=2)
    assert "--ceiling: g is not a dataset of graphs with classes" in error
