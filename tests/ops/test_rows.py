"""Sums by rows against their definition as loops, and the layers that use them against the CPU's form."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from nmrgcl.encode.gcn import normalised_sum
from nmrgcl.graphs import Graphs
from nmrgcl.ops import rows as operation
from nmrgcl.ops.neighbour_sum import neighbour_sum
from nmrgcl.ops.triton.rows import edge_products, row_counts, row_sums, spread_rows, take_rows
from tests.examples import random_graphs
from tests.ops import DEVICE

# Empty rows, short ones and one that takes several steps; the last two edges are beyond every row.
LENGTHS = [3, 0, 1, 70, 0, 6, 2]
NODES, EDGES = len(LENGTHS), sum(LENGTHS) + 2


def edges(seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    column = torch.randint(NODES, (EDGES,), generator=generator)
    return column.to(DEVICE), torch.tensor([0, *LENGTHS]).cumsum(0).to(DEVICE)


def slow_sums(h: Tensor, column: Tensor, row_ptr: Tensor, weight: Tensor, own: float, added: Tensor) -> Tensor:
    """The definition, one edge after another in float64; ``added``: ``[E, D]`` what edges add to their messages."""
    out = own * h.double()
    for v in range(NODES):
        for e in range(int(row_ptr[v]), int(row_ptr[v + 1])):
            out[v] += weight[e].double() * (h[column[e]].double() + added[e].double())
    return out


@pytest.mark.parametrize("weight", ["none", "mask", "float"])
@pytest.mark.parametrize("width", [8, 20, 32, 130, 300, 512])
def test_row_sums_equal_their_definition(width: int, weight: str) -> None:
    column, row_ptr = edges()
    h = torch.randn(NODES, width, device=DEVICE)
    scale = {
        "none": None,
        "mask": torch.rand(EDGES, device=DEVICE) < 0.5,
        "float": torch.rand(EDGES, device=DEVICE),
    }[weight]
    ones, nothing = torch.ones(EDGES, device=DEVICE), torch.zeros(EDGES, width)
    for own in (0.0, 1.5):
        expected = slow_sums(h.cpu(), column, row_ptr, (ones if scale is None else scale).cpu(), own, nothing)
        torch.testing.assert_close(
            row_sums(h, column, row_ptr, scale, self_weight=own).cpu().double(), expected, atol=1e-5, rtol=1e-5
        )


@pytest.mark.parametrize("in_parts", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("width", [32, 600])
def test_hubs_among_short_rows_are_summed_whole(width: int, weighted: bool, in_parts: bool) -> None:
    """Two hubs in the tile of one program, one of just as many edges as are short, some with no whole chunk or only
    whole chunks of edges, one more at the end."""
    lengths = [2] * 120
    lengths[9], lengths[11], lengths[40], lengths[41], lengths[119] = 129, 300, 32, 33, 65
    lengths[60] = 32 - sum(lengths[:60]) % 32  # up to a chunk's end
    lengths[61], lengths[62], lengths[63] = 32, 64, 63
    row_ptr = torch.tensor([0, *lengths]).cumsum(0)
    total = int(row_ptr[-1])
    column, weight = torch.randint(120, (total,)), torch.rand(total) if weighted else None
    h = torch.randn(120, width, dtype=torch.float64)
    given = [part.to(DEVICE) if part is not None else None for part in (h, column, row_ptr, weight)]
    messages = h[column] * (1.0 if weight is None else weight[:, None])
    owner = torch.arange(120).repeat_interleave(torch.tensor(lengths))
    expected = 1.5 * h + torch.zeros(120, width, dtype=torch.float64).index_add_(0, owner, messages)
    ends = owner.to(DEVICE) if in_parts else None
    found = row_sums(*given, self_weight=1.5, ends=ends)  # type: ignore[arg-type]
    torch.testing.assert_close(found.cpu(), expected, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-13), (torch.float32, 1e-5), (torch.bfloat16, 1e-2)]
)
def test_every_precision_is_summed_in_float32_or_wider(dtype: torch.dtype, tolerance: float) -> None:
    """70 terms of bfloat16 summed in bfloat16 would be off by far more than the rounding of the result."""
    column, row_ptr = edges()
    h = torch.rand(NODES, 24, dtype=torch.float64, device=DEVICE).to(dtype)
    expected = slow_sums(h.cpu(), column, row_ptr, torch.ones(EDGES), 0.1, torch.zeros(EDGES, 24))
    out = row_sums(h, column, row_ptr, self_weight=0.1)
    assert out.dtype == dtype
    torch.testing.assert_close(out.cpu().double(), expected, atol=0, rtol=tolerance)


def test_edges_add_the_rows_of_the_table_that_they_name() -> None:
    column, row_ptr = edges()
    h, table = torch.randn(NODES, 20, device=DEVICE), torch.randn(9, 20, device=DEVICE)
    attr = torch.stack([torch.randint(-1, 6, (EDGES,)), torch.randint(6, 9, (EDGES,))], 1)
    weight = torch.rand(EDGES, device=DEVICE) * (torch.rand(EDGES, device=DEVICE) < 0.8)
    rows = torch.cat([table.cpu(), torch.zeros(1, 20)])
    expected = slow_sums(h.cpu(), column, row_ptr, weight.cpu(), 1.0, rows[attr].sum(1))
    out = row_sums(h, column, row_ptr, weight, self_weight=1.0, edge_attr=attr.to(DEVICE), edge_table=table)
    torch.testing.assert_close(out.cpu().double(), expected, atol=1e-5, rtol=1e-5)
    named = row_counts(attr.to(DEVICE), row_ptr, weight, 9)
    plain = row_sums(h, column, row_ptr, weight, self_weight=1.0)
    torch.testing.assert_close((plain + named @ table).cpu().double(), expected, atol=1e-5, rtol=1e-5)


def test_a_loop_adds_the_last_row_of_the_table_once_to_every_node() -> None:
    column, row_ptr = edges()
    h, table = torch.randn(NODES, 20, device=DEVICE), torch.randn(5, 20, device=DEVICE)
    attr = torch.randint(-1, 4, (EDGES, 1)).to(DEVICE)
    without = row_sums(h, column, row_ptr, edge_attr=attr, edge_table=table[:4].contiguous())
    found = row_sums(h, column, row_ptr, edge_attr=attr, edge_table=table, looped=True)
    torch.testing.assert_close(found, without + table[4], atol=1e-5, rtol=1e-5)
    counts = row_counts(attr, row_ptr, None, 8, 4)
    assert torch.equal(counts[:, :4], row_counts(attr, row_ptr, None, 4))
    assert counts[:, 4:].tolist() == [[1, 0, 0, 0]] * NODES


def test_what_a_dead_edge_comes_from_is_not_read() -> None:
    column, row_ptr = edges()
    h = torch.randn(NODES, 8, device=DEVICE)
    h[1] = torch.nan  # node 1 has no edges into it
    assert bool(row_sums(h, column, row_ptr, column != 1, self_weight=0.0).isfinite().all())


def test_rows_without_edges_and_no_rows_at_all() -> None:
    h, none = torch.randn(3, 8, device=DEVICE), torch.zeros(0, dtype=torch.long, device=DEVICE)
    row_ptr = torch.zeros(4, dtype=torch.long, device=DEVICE)
    assert torch.equal(row_sums(h, none, row_ptr, self_weight=2.0), 2 * h)
    assert row_sums(h[:0], none, row_ptr[:1]).shape == (0, 8)
    assert torch.equal(row_counts(none[:, None], row_ptr, None, 3), torch.zeros(3, 3, device=DEVICE))


def molecules(*, directed: bool, weighted: bool, masked: bool) -> Graphs:
    base = random_graphs([5, 1, 0, 7], density=0.5)
    index = base.edge_index[:, ::2] if directed else base.edge_index
    attr = torch.stack([torch.randint(-1, 4, (index.shape[1],)), torch.randint(4, 7, (index.shape[1],))], 1)
    weight = torch.rand(index.shape[1], dtype=torch.float64) if weighted else None
    graphs = Graphs.build(index, base.node_ptr, edge_attr=attr, edge_weight=weight)
    if not directed:  # both directions of a bond are of one kind, as the backward pass need not even know
        graphs = replace(graphs, edge_attr=attr[graphs.pair])
    if masked:
        graphs = graphs.keep_nodes(torch.arange(13) != 3).keep_edges(
            (torch.arange(graphs.num_edges) % 4 > 0)[graphs.pair]
        )
    return graphs


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_neighbour_sum_and_its_gradients_equal_the_matrix_product(
    monkeypatch: pytest.MonkeyPatch, masked: bool, directed: bool, weighted: bool, table: bool
) -> None:
    torch.manual_seed(0)
    graphs = molecules(directed=directed, weighted=weighted, masked=masked)
    live = graphs.live_edges.double() * (1 if graphs.edge_weight is None else graphs.edge_weight)
    matrix, named = torch.zeros(13, 13, dtype=torch.float64), torch.zeros(13, 8, dtype=torch.float64)
    matrix.index_put_((graphs.edge_index[1], graphs.edge_index[0]), live, accumulate=True)
    assert graphs.edge_attr is not None
    for c in range(2):
        named.index_put_((graphs.edge_index[1], graphs.edge_attr[:, c] % 8), live, accumulate=True)
    h, rows = torch.randn(13, 6, dtype=torch.float64), torch.randn(7, 6, dtype=torch.float64)
    grad = torch.randn(13, 6, dtype=torch.float64)
    expected = matrix @ h + 1.5 * h + (named[:, :7] @ rows if table else 0)
    message = h[graphs.edge_index[0]] + (torch.cat([rows, rows[:1] * 0])[graphs.edge_attr].sum(1) if table else 0)
    on_weight = graphs.live_edges * (grad[graphs.edge_index[1]] * message).sum(1)
    for device, by_kernel in (("cpu", False), (DEVICE, True)):
        monkeypatch.setattr(operation, "serve", lambda _, by_kernel=by_kernel: by_kernel)
        leaf, weight = (t.clone().to(device).requires_grad_() for t in (h, rows))
        there = graphs.to(device)
        if there.edge_weight is not None:
            there = replace(there, edge_weight=there.edge_weight.clone().requires_grad_())
        out = neighbour_sum(leaf, there, self_weight=1.5, edge_table=weight if table else None)
        out.backward(grad.to(device))
        torch.testing.assert_close(out.detach().cpu(), expected)
        assert leaf.grad is not None
        torch.testing.assert_close(leaf.grad.cpu(), matrix.T @ grad + 1.5 * grad)
        if table:
            assert weight.grad is not None
            torch.testing.assert_close(weight.grad.cpu(), named[:, :7].T @ grad, atol=1e-6, rtol=1e-6)
        if there.edge_weight is not None:
            assert there.edge_weight.grad is not None
            torch.testing.assert_close(there.edge_weight.grad.cpu(), on_weight)


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-13), (torch.float32, 1e-5), (torch.bfloat16, 1e-5)]
)
@pytest.mark.parametrize("width", [1, 20, 32, 300])
def test_products_along_edges_equal_their_definition(width: int, dtype: torch.dtype, tolerance: float) -> None:
    """Of bfloat16, too, the sum is in float32 and is not rounded."""
    left, right = (torch.rand(NODES, width, dtype=torch.float64, device=DEVICE).to(dtype) for _ in range(2))
    index = torch.stack([edges(0)[0], edges(1)[0]])
    found = edge_products(left, right[:, torch.arange(width)], index)
    expected = [sum((left[v].double() * right[u].double()).tolist()) for u, v in index.T.tolist()]
    assert found.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert found.tolist() == pytest.approx(expected, rel=tolerance)
    assert edge_products(left, right, index[:, :0]).shape == (0,)
    strided = torch.cat([left, right], 1)
    assert torch.equal(edge_products(strided[:, :width], strided[:, width:], index), found)


@pytest.mark.parametrize("count_self", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_the_weights_of_a_normalised_sum_learn_as_on_a_cpu(
    monkeypatch: pytest.MonkeyPatch, masked: bool, count_self: bool
) -> None:
    graphs, found = molecules(directed=True, weighted=True, masked=masked), []
    h = torch.randn(13, 6, dtype=torch.float64)
    for device, by_kernel in (("cpu", False), (DEVICE, True)):
        monkeypatch.setattr(operation, "serve", lambda _, by_kernel=by_kernel: by_kernel)
        weight = graphs.edge_weight.to(device).clone().requires_grad_()  # type: ignore[union-attr]
        out = normalised_sum(h.to(device), replace(graphs.to(device), edge_weight=weight), count_self=count_self)
        out.square().sum().backward()
        assert weight.grad is not None
        found.append(weight.grad.cpu())
    torch.testing.assert_close(*found)


def test_rows_that_are_taken_keep_their_gradient() -> None:
    values = torch.rand(5, device=DEVICE, requires_grad=True)
    take_rows(values, torch.tensor([0, 3, 3], device=DEVICE)).sum().backward()
    assert values.grad is not None
    assert values.grad.tolist() == [1, 0, 0, 2, 0]


@pytest.mark.skipif(DEVICE == "cpu", reason="no CUDA device on this machine")
def test_a_captured_sum_repeats_bit_for_bit_and_sees_new_values() -> None:
    column, row_ptr = edges()
    h = torch.randn(NODES, 300, device=DEVICE)
    row_sums(h, column, row_ptr, self_weight=1.0)  # compiled before the capture
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = row_sums(h, column, row_ptr, self_weight=1.0)
    for _ in range(2):
        h.normal_()
        graph.replay()
        assert torch.equal(out, row_sums(h, column, row_ptr, self_weight=1.0))


@pytest.mark.parametrize("kept", [False, True])
def test_spreading_copies_the_row_of_the_owner(kept: bool) -> None:
    h, owner = torch.randn(4, 96, device=DEVICE), torch.tensor([0, 0, 3, 1, 3], device=DEVICE)
    keep = torch.tensor([True, False, True, True, False], device=DEVICE) if kept else None
    expected = h[owner] if keep is None else h[owner] * keep[:, None]
    assert torch.equal(spread_rows(h, owner, keep), expected)


def test_ranges_need_no_column() -> None:
    h, ptr = torch.randn(9, 20, device=DEVICE), torch.tensor([0, 4, 4, 7], device=DEVICE)
    expected = torch.stack([h[:4].sum(0), torch.zeros(20, device=DEVICE), h[4:7].sum(0)])
    torch.testing.assert_close(row_sums(h, None, ptr), expected)
