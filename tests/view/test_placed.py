"""Points, attributes and drawings of graphs, nodes and molecules."""

import numpy as np
import pytest
import torch

from nmrgcl.data.dataset import Dataset, dataset_of
from nmrgcl.data.features import choose_features
from nmrgcl.methods import build_method
from nmrgcl.model_folder import Model
from nmrgcl.run.recipe import recipe
from nmrgcl.view.drawings import draw, draw_molecule
from nmrgcl.view.placed import Placed
from tests.examples import one_graph, random_graphs


def placed_of(dataset: Dataset, level: str) -> Placed:
    method = "graphcl" if level == "graph" else "grace"
    settings = recipe(method, assignments={"encoder.units": 8, "encoder.layers": 1}, level=level)
    features = choose_features(dataset)
    return Placed.by(
        Model(build_method(settings, features.width), settings, features, dataset.name), dataset, torch.device("cpu")
    )


def test_a_far_point_does_not_make_the_others_a_dot() -> None:
    placed = placed_of(dataset_of(random_graphs([3, 4, 5])), "graph")
    z = np.random.default_rng(0).normal(size=(5000, 8)).astype(np.float32)
    z[0] = 1e6
    xy, shares, aspect = Placed(placed.dataset, placed.model, z).points
    assert np.abs(xy[1:]).max() < 3
    assert np.quantile(np.abs(xy), 0.9) > 0.1
    assert 0.25 <= aspect <= 4
    assert 0 <= shares[1] <= shares[0] <= 1


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_points_have_places(rows: int) -> None:
    placed = placed_of(dataset_of(random_graphs([3, 4, 5])), "graph")
    if rows:
        xy, _, aspect = Placed(placed.dataset, placed.model, placed.z[:rows]).points
        assert np.isfinite(xy).all()
        assert np.isfinite(aspect)


def test_attributes_of_graphs_and_of_nodes() -> None:
    graphs = placed_of(dataset_of(random_graphs([3, 4, 5])), "graph")
    assert list(graphs.attributes) == ["class", "nodes", "edges", "mean degree", "length of the embedding"]
    assert graphs.attributes["nodes"].values.tolist() == [3, 4, 5]
    assert graphs.about(1)["nodes"] == 4
    nodes = placed_of(dataset_of(one_graph(4, (0, 1), (1, 2), (1, 3))), "node")
    assert nodes.attributes["degree"].values.tolist() == [1, 3, 1, 1]
    assert nodes.attributes["attribute 2"].values.tolist() == [1, 4, 9, 16]
    assert [one["row"] for one in nodes.neighbours(0, 9)] != []


def test_drawings_have_every_node_and_edge_once() -> None:
    dataset = dataset_of(one_graph(5, (0, 1), (1, 2), (2, 0), (3, 4)))
    whole = draw(dataset, 0, "graph")
    assert (whole.count("<circle"), whole.count("<line")) == (5, 4)
    node = draw(dataset, 1, "node")
    assert (node.count("<circle"), node.count("<line"), node.count("marked")) == (3, 3, 1)
    assert draw(dataset_of(one_graph(1)), 0, "graph").count("<circle") == 1


def test_molecules_are_drawn_by_rdkit() -> None:
    pytest.importorskip("rdkit", reason="RDKit is not installed (extra chem)")
    drawn = draw_molecule("CCO")
    assert drawn is not None
    assert drawn.startswith("<svg")
    assert draw_molecule("no molecule") is None
