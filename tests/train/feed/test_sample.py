"""A random sample of graphs is the same for all, and reads like any other source."""

from dataclasses import fields

import pytest
import torch
from torch import Tensor

from nmrgcl.graphs import Graphs
from nmrgcl.train.feed import sample
from nmrgcl.train.feed.source import Sample
from tests.examples import random_graphs

GRAPHS = random_graphs([4, 1, 7, 3, 5, 2, 6, 8, 3, 9], density=0.5, categorical=True)


def same(one: Graphs, other: Graphs) -> bool:
    pairs = [(getattr(one, f.name), getattr(other, f.name)) for f in fields(one)]
    return all(torch.equal(a, b) if isinstance(a, Tensor) else a == b for a, b in pairs)


def test_a_sample_takes_the_graphs_it_has_drawn() -> None:
    drawn = sample(GRAPHS, 6)
    assert isinstance(drawn, Sample)
    assert len(drawn) == len(set(drawn.chosen.tolist())) == 6
    assert drawn.chosen.tolist() == sorted(drawn.chosen.tolist())
    index = torch.tensor([5, 0, 3])
    assert same(drawn.take(index), GRAPHS.take(drawn.chosen[index]))
    assert [sizes.tolist() for sizes in drawn.sizes()] == [
        [len(GRAPHS.take(drawn.chosen[i : i + 1]).x) for i in range(6)],
        [GRAPHS.take(drawn.chosen[i : i + 1]).num_edges for i in range(6)],
    ]


def test_chance_of_others_changes_nothing_and_a_smaller_sample_is_part_of_a_larger_one() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    seen = [sample(GRAPHS, most) for most in (2, 5, 9)]
    assert torch.equal(torch.get_rng_state(), before)
    sets = [set(one.chosen.tolist()) for one in seen if isinstance(one, Sample)]
    assert sets[0] < sets[1] < sets[2]


@pytest.mark.parametrize("most", [0, 10, 11])
def test_all_graphs_are_no_sample(most: int) -> None:
    assert sample(GRAPHS, most) is GRAPHS


def test_graphs_are_drawn_from_everywhere() -> None:
    """A tenth of ten thousand; a hypergeometric count has 50 ± 6.7 in each twentieth."""
    many = random_graphs([1] * 10_000)
    drawn = sample(many, 1000)
    assert isinstance(drawn, Sample)
    counts = torch.histc(drawn.chosen.float(), 20, 0, 10_000)
    assert 25 < counts.min() <= counts.max() < 75
