"""The order of graphs in an epoch with chunks."""

import pytest
import torch

from nmrgcl.train.feed import batches
from nmrgcl.train.feed.order import block_size, largest_chunk, random_order


@pytest.mark.parametrize(("graphs", "chunk"), [(1, 4), (100, 0), (100, 32), (101, 32), (1000, 64), (100, 200)])
def test_every_graph_is_there_exactly_once(graphs: int, chunk: int) -> None:
    order = random_order(graphs, chunk)
    assert sorted(order.tolist()) == list(range(graphs))


def test_a_chunk_is_blocks_of_neighbours_mixed_into_batches() -> None:
    torch.manual_seed(0)
    chunk, block = 64, 4
    assert block_size(chunk) == block
    parts = batches(640, 16, chunk)
    chunks = [torch.cat(parts[i : i + 4]) for i in range(0, len(parts), 4)]
    for ids in chunks:
        blocks = sorted(set((ids // block).tolist()))
        # 640 graphs are 160 whole blocks, so that a chunk is 16 of them, and not 16 in a row.
        assert sorted(ids.tolist()) == [block * b + i for b in blocks for i in range(block)]
        assert blocks != list(range(blocks[0], blocks[0] + 16))
        assert ids.tolist() != sorted(ids.tolist())


def test_the_order_is_drawn_from_the_global_generator_alone() -> None:
    torch.manual_seed(3)
    first, second = random_order(500, 64), random_order(500, 64)
    torch.manual_seed(3)
    assert torch.equal(random_order(500, 64), first)
    assert not torch.equal(first, second)


def test_without_chunks_it_is_a_plain_permutation() -> None:
    torch.manual_seed(3)
    expected = torch.randperm(11).split(5)[:2]
    torch.manual_seed(3)
    assert [part.tolist() for part in batches(11, 5)] == [part.tolist() for part in expected]


@pytest.mark.parametrize("graphs", [65, 100, 129, 640, 1003])
def test_no_chunk_is_larger_than_the_largest_possible_one(graphs: int) -> None:
    torch.manual_seed(0)
    sizes = torch.arange(graphs) ** 2  # Blocks at the end are much larger.
    bound = largest_chunk(sizes, 64)
    for _ in range(50):
        for part in random_order(graphs, 64).split(64):
            assert int(sizes[part].sum()) <= bound
    assert bound <= int(sizes.sum())


def test_the_bound_on_equal_graphs_is_close() -> None:
    assert largest_chunk(torch.ones(10_000, dtype=torch.long), 4096) == 4096 + 3 * 256
