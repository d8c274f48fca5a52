"""One of several views for each graph: as often as weights say, and without weights as ever."""

import math

import pytest
import torch

from nmrgcl.augment import (
    AddEdges,
    DropEdges,
    DropFeatures,
    DropNodes,
    Identity,
    MaskFeatures,
    OneOf,
    Subgraph,
    View,
    build_view,
)
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.settings import Settings, resolve
from tests.examples import random_graphs

CHOICES: list[View] = [Identity(), DropNodes(0.4), AddEdges(0.4), DropEdges(0.4), Subgraph(), MaskFeatures(0.5)]
MANY = 6000


def kinds(view: View, seed: int = 0) -> list[int]:
    """How many graphs of ``MANY`` keep everything, lose their edge, and lose their features."""
    torch.manual_seed(seed)
    pairs = torch.arange(2 * MANY).reshape(MANY, 2).T
    graphs = Graphs.build(
        torch.cat([pairs, pairs.flip(0)], 1), torch.arange(0, 2 * MANY + 1, 2), x=torch.ones(2 * MANY, 1)
    )
    after = view(graphs)
    edge, feature = after.live_edges.reshape(MANY, 2).all(1), (after.x != 0).reshape(MANY, 2).all(1)
    assert bool((edge | feature).all())
    return [int((edge & feature).sum()), int((~edge).sum()), int((~feature).sum())]


def drawn_as_ever(views: list[View], graphs: Graphs) -> Graphs:
    """An even draw of numbers, then the views in turn, walks first."""
    draw = torch.randint(len(views), (graphs.num_graphs,))
    for number in sorted(range(len(views)), key=lambda i: not isinstance(views[i], Subgraph)):
        graphs = views[number](graphs, draw == number)
    return graphs


@pytest.mark.parametrize("weights", [None, [1] * 6, [0.3] * 6])
@pytest.mark.parametrize("seed", range(5))
def test_without_weights_or_with_equal_ones_the_random_stream_is_unchanged(
    seed: int, weights: list[float] | None
) -> None:
    graphs = random_graphs([5, 1, 9, 0, 3, 12, 7], density=0.4)
    torch.manual_seed(seed)
    expected, after_expected = drawn_as_ever(CHOICES, graphs).compact(), torch.get_rng_state()
    torch.manual_seed(seed)
    found, after_found = OneOf(*CHOICES, weights=weights)(graphs).compact(), torch.get_rng_state()
    assert torch.equal(after_found, after_expected)
    for name in ("x", "edge_index", "node_ptr", "row_ptr", "pair"):
        assert torch.equal(getattr(found, name), getattr(expected, name)), name


@pytest.mark.parametrize("weights", [(1, 2, 5), (0.5, 0.25, 0.25), (3, 1e-3, 1), (1e-200, 2e-200, 3e-200)])
def test_views_are_drawn_as_often_as_weights_say(weights: tuple[float, ...]) -> None:
    """A χ² test at a level of one in a million, which a fixed seed passes for good."""
    found = kinds(OneOf(Identity(), DropEdges(1.0), DropFeatures(1.0), weights=weights))
    expected = [MANY * weight / sum(weights) for weight in weights]
    statistic = sum((n - e) ** 2 / e for n, e in zip(found, expected, strict=True))
    assert math.exp(-statistic / 2) > 1e-6  # the tail of χ² with two degrees of freedom


@pytest.mark.parametrize("none", range(3))
def test_a_view_of_weight_zero_is_never_drawn(none: int) -> None:
    weights = [2.0, 1.0, 1.0]
    weights[none] = 0
    found = kinds(OneOf(Identity(), DropEdges(1.0), DropFeatures(1.0), weights=weights))
    assert [n > 0 for n in found] == [weight > 0 for weight in weights]


def test_graphs_that_are_not_chosen_pass_whatever_the_weights() -> None:
    graphs = random_graphs([5, 6, 7], density=0.5)
    after = OneOf(DropNodes(1.0), DropEdges(1.0), weights=(1, 3))(graphs, torch.tensor([False, True, False]))
    counts = after.compact().sizes()
    assert [int(n) for n in counts[0]][::2] == [5, 7]
    assert torch.equal(counts[1][::2], graphs.sizes()[1][::2])


def test_settings_give_weights_to_choices() -> None:
    settings = resolve("graphcl", assignments=['views.first=[{name="DropNodes", p=0.3, weight=3}, {name="RWS"}]'])
    assert build_view(settings.views.first) == OneOf(DropNodes(0.3), Subgraph(), weights=(3, 1))
    assert Settings.from_dict(settings.to_dict()) == settings
    assert build_view([{"name": "DropNodes", "weight": 2}]) == DropNodes()
    composed = {"name": "Compose", "views": [{"name": "DropNodes"}], "weight": 0.5}
    assert build_view([composed, {"name": "RWS"}]).weights == (0.5, 1.0)  # type: ignore[attr-defined]
    even = build_view([{"name": "NodeDrop", "weight": 2}, {"name": "EdgeDrop", "weight": 2}])
    assert even == OneOf(DropNodes(), DropEdges())


@pytest.mark.parametrize(
    "weights",
    [
        (1,),
        (1, 2, 3),
        (0, 0),
        (1, -1),
        (1, math.nan),
        (math.nan, 1),
        (1, math.inf),
        (1, True),
        ("1", 2),
        3,
        (10**400, 1),
    ],
)
def test_impossible_weights_are_refused_in_one_line(weights: object) -> None:
    with pytest.raises(SettingError, match=r"^weights = .* of 2 views must be .*[^\n]$"):
        OneOf(DropNodes(), DropEdges(), weights=weights)  # type: ignore[arg-type]


def test_impossible_weights_in_settings_are_refused_in_one_line() -> None:
    for weight in (-1, "3", True, 0):
        with pytest.raises(SettingError, match="weights = "):
            build_view([{"name": "DropNodes", "weight": weight}, {"name": "DropEdges", "weight": 0}])
    with pytest.raises(SettingError, match="no option 'weight'"):
        build_view([{"name": "Compose", "views": [{"name": "DropNodes", "weight": 2}]}])
