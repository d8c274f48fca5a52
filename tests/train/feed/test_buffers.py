"""Graphs copied into preallocated tensors are unchanged."""

from pathlib import Path

import pytest
import torch

from nmrgcl.graphs import Graphs
from nmrgcl.store import open_store, write_store
from nmrgcl.train.feed.buffers import Buffers, BufferSizes
from nmrgcl.train.feed.choose import tensor_bytes
from nmrgcl.train.feed.resident import moved
from tests.examples import random_graphs
from tests.test_store import EXAMPLES, assert_equal

CPU = torch.device("cpu")


@pytest.mark.parametrize("graphs", EXAMPLES.values(), ids=EXAMPLES)
def test_what_is_put_is_what_lies_there_whatever_lay_there_before(graphs: Graphs) -> None:
    extent = BufferSizes.of(graphs) + BufferSizes(3, 20, 50)
    buffers = Buffers(graphs.take(torch.arange(0)), extent, CPU)
    addresses = buffers.whole.x.data_ptr(), buffers.whole.edge_index.data_ptr()
    for part in (graphs, graphs.take(torch.arange(graphs.num_graphs // 2)), graphs):
        buffers.put(part)
        assert_equal(buffers.part(BufferSizes.of(part)), part)
    assert (buffers.whole.x.data_ptr(), buffers.whole.edge_index.data_ptr()) == addresses


@pytest.mark.parametrize("graphs", EXAMPLES.values(), ids=EXAMPLES)
@pytest.mark.parametrize("at_a_time", [1, 3, 100])
def test_a_source_moved_in_parts_is_whole(
    tmp_path: Path, graphs: Graphs, at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nmrgcl.train.feed.buffers.AT_A_TIME", at_a_time)
    write_store(tmp_path / "store", graphs)
    assert_equal(moved(open_store(tmp_path / "store"), CPU), graphs)


def test_bytes_are_those_of_the_tensors() -> None:
    graphs = random_graphs([2, 3], density=1.0, categorical=True)  # 5 nodes, 2 + 6 edges
    # Per node: x, batch, row_ptr; per graph: node_ptr, y; per edge: two ends and pair; 8 bytes each.
    assert tensor_bytes(graphs) == 8 * (5 + 5 + 6 + 3 + 2 + 3 * 8)
