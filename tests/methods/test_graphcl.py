"""GraphCL's published recipe."""

import pytest

from nmrgcl.augment import AddEdges, DropEdges, DropFeatures, DropNodes, OneOf, Subgraph, build_view
from nmrgcl.run.recipe import recipe


@pytest.mark.parametrize("side", ["first", "second"])
def test_each_of_the_four_augmentations_is_drawn_as_often_and_edges_are_added_as_often_as_dropped(side: str) -> None:
    view = build_view(getattr(recipe("graphcl", preset="graphcl_published").views, side))
    assert isinstance(view, OneOf)
    assert view.weights is not None
    shares = {type(one): weight / sum(view.weights) for one, weight in zip(view.views, view.weights, strict=True)}
    assert shares == {DropNodes: 0.25, DropEdges: 0.125, AddEdges: 0.125, DropFeatures: 0.25, Subgraph: 0.25}


def test_nodes_without_labels_all_look_alike() -> None:
    assert recipe("graphcl", preset="graphcl_published", dataset="IMDB-BINARY").data.features == "constant"
    assert recipe("graphcl", preset="graphcl_published", dataset="MUTAG").data.features == "auto"
