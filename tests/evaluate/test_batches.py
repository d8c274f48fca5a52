"""Batches of an epoch: everyone at most once; by size, one graph of each class, and never beyond the room."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nmrgcl.evaluate.batches import batches_by_size, random_batches, room_by_size


def test_by_size_every_batch_has_one_graph_of_each_class() -> None:
    """Six graphs of sizes 1 to 6 in two batches of three: {1, 2}, {3, 4} and {5, 6} are torn apart."""
    train, sizes = torch.tensor([9, 4, 7, 2, 5, 0]), torch.zeros(10, dtype=torch.long)
    sizes[train] = torch.tensor([6, 1, 4, 3, 5, 2])
    seen = set()
    for seed in range(50):
        torch.manual_seed(seed)
        found = sizes[batches_by_size(train, sizes, 2, 3)].sort(1).values
        assert all(
            {a, b} == {k, k + 1} for a, b, k in zip(found[0].tolist(), found[1].tolist(), (1, 3, 5), strict=True)
        )
        seen.add(tuple(sorted(map(tuple, found.tolist()))))
    assert len(seen) == 4  # two ways to tear each class apart, and which batch comes first does not matter


@pytest.mark.parametrize("by_size", [False, True])
def test_no_graph_is_in_an_epoch_twice_and_all_have_their_turn(by_size: bool) -> None:
    torch.manual_seed(0)
    train, sizes = torch.arange(3, 26), torch.randint(1, 50, (30,))
    met: set[int] = set()
    for _ in range(60):
        found = batches_by_size(train, sizes, 5, 4) if by_size else random_batches(train, 5, 4)
        assert found.shape == (5, 4)
        assert len(set(found.flatten().tolist())) == 20
        met |= set(found.flatten().tolist())
    assert met == set(train.tolist())


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 3000), min_size=6, max_size=60), st.integers(1, 6), st.integers(0, 10_000))
def test_there_is_room_for_every_batch(numbers: list[int], batch_size: int, seed: int) -> None:
    torch.manual_seed(seed)
    nodes, edges = torch.tensor(numbers) + 1, torch.tensor(numbers[::-1])
    train = torch.randperm(len(nodes))[: max(batch_size, len(nodes) - 2)]
    steps = len(train) // batch_size
    room = room_by_size(train, nodes, edges, steps, batch_size)
    for _ in range(20):
        batches = batches_by_size(train, nodes + edges, steps, batch_size)
        assert nodes[batches].sum(1).max() < room.nodes
        assert edges[batches].sum(1).max() < room.edges
