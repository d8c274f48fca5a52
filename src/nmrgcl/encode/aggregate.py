"""Message passing: the sum over a node's neighbours, by rows of the sorted edge list."""

from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag
from torch.utils.weak import WeakTensorKeyDictionary

from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.ops import serve


def neighbour_sum(
    h: Tensor,
    graphs: Graphs,
    *,
    self_weight: float = 0.0,
    edge_table: Tensor | None = None,
    edge_counts: Tensor | None = None,
    looped: bool = False,
) -> Tensor:
    """``[N, D]``: for each node the sum of ``h`` over its in-neighbours plus ``self_weight`` times its own row.

    Gather and sum are one operation per destination row, so no ``[E, D]`` messages exist and the order of
    summation is fixed. On a symmetric graph the same operation is its own backward pass. With ``edge_table``
    (``[K, D]``) each message also carries the table's rows that ``graphs.edge_attr`` (``[E, C]``, integers) names,
    -1 naming none (Hu et al. 2020); if ``looped``, its last row is that of the loop which every node has to itself.
    Layers that share their ``edge_counts`` need not find them anew. ``h``, ``edge_table`` and ``graphs.edge_weight``
    have gradients; that of an edge which a view has removed is zero.
    """
    graphs = graphs.merge_added()
    weight = edge_shares(graphs)
    result: Tensor = _NeighbourSum.apply(h, edge_table, graphs, weight, self_weight, edge_counts, looped)
    return result


def edge_shares(graphs: Graphs, dtype: torch.dtype | None = None) -> Tensor | None:
    """``[E]`` what each edge counts: its weight, or nothing if it is gone; None: one each."""
    weight = graphs.live_edges if graphs.masked else None
    if graphs.edge_weight is not None:
        weight = graphs.edge_weight if weight is None else torch.where(weight, graphs.edge_weight, 0.0)
    return weight if weight is None or dtype is None else weight.to(dtype)


@torch.no_grad()
def edge_counts(graphs: Graphs, rows: int, *, looped: bool = False) -> Tensor:
    """``[N, ≥ rows]``: how often, by weight, the live edges into each node name each row of an edge table.

    A table's share in ``neighbour_sum`` is their product with it; if ``looped``, the last of its ``rows`` counts once.
    There are columns of zeros at the end, because only products of matrices whose rows begin at multiples of 16 bytes
    are fast on a GPU. They have no gradient of their own: that by the weights is worked out in ``neighbour_sum``.
    """
    graphs = graphs.merge_added()
    assert graphs.edge_attr is not None
    dtype = torch.get_default_dtype() if graphs.edge_weight is None else graphs.edge_weight.dtype
    return _named_rows(
        graphs.edge_attr, graphs.row_ptr, edge_shares(graphs), -(-rows // 8) * 8, dtype, rows - 1 if looped else -1
    )


def normalised_sum(h: Tensor, graphs: Graphs, *, count_self: bool = True) -> Tensor:
    """``D^{-1/2}(A + I)D^{-1/2} h``, ``[N, D]`` (Eq. 4); the matrix is worked out once for each view.

    If the weights of the edges learn, it is worked out anew each time, and they have a gradient through ``D`` as well.

    ``D`` counts the self-loop in GCN's renormalisation. The paper's five-node example works out only with degrees
    that do not count it, at least 1 each: ``count_self=False``.
    """
    graphs = graphs.merge_added()
    weight, own = _normalised(graphs, count_self, torch.float64 if h.dtype == torch.float64 else torch.float32)
    result: Tensor = _NormalisedSum.apply(h, graphs, weight, own)
    return result


_NORMALISED: WeakKeyDictionary[Graphs, dict[tuple[bool, torch.dtype], tuple[Tensor, Tensor]]] = WeakKeyDictionary()
_TRANSPOSED = WeakTensorKeyDictionary()
"""By the edges alone, which a graph's views share."""


def _normalised(graphs: Graphs, count_self: bool, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """``_matrix``, remembered unless it has a gradient."""
    if graphs.weights_learn:
        return _matrix(graphs, count_self, dtype)
    known = _NORMALISED.setdefault(graphs, {})
    if (count_self, dtype) not in known:
        with torch.no_grad():
            known[count_self, dtype] = _matrix(graphs, count_self, dtype)
    return known[count_self, dtype]


def _matrix(graphs: Graphs, count_self: bool, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """The matrix of ``normalised_sum``: one entry per edge ``[E]``, and its diagonal ``[N]``."""
    degree = neighbour_sum(torch.ones(graphs.num_nodes, 1, dtype=dtype, device=graphs.device), graphs).squeeze(1)
    scale = (degree + 1 if count_self else degree.clamp(min=1)).rsqrt()
    source, destination = scale[graphs.edge_index]
    weight = source * destination
    if graphs.edge_weight is not None:
        weight = weight * graphs.edge_weight
    return (torch.where(graphs.live_edges, weight, 0.0) if graphs.masked else weight), scale.square()


def transposed(graphs: Graphs) -> tuple[Tensor, Tensor, Tensor]:
    """Edges by source: their destinations ``[E]``, row pointers ``[N + 1]``, and the numbers the edges had ``[E]``."""
    if graphs.edge_index not in _TRANSPOSED:
        order = torch.argsort(graphs.edge_index[0], stable=True)
        source = graphs.edge_index[0].index_select(0, order)
        rows = torch.searchsorted(source, torch.arange(graphs.num_nodes + 1, device=source.device))
        _TRANSPOSED[graphs.edge_index] = graphs.edge_index[1].index_select(0, order), rows, order
    found: tuple[Tensor, Tensor, Tensor] = _TRANSPOSED[graphs.edge_index]
    return found


def _refuse_second_derivatives() -> None:
    """They would come out as zero; PyTorch's own ``once_differentiable`` costs every backward pass microseconds."""
    if torch.is_grad_enabled():
        raise SettingError("sums over neighbours have first derivatives only; leave create_graph=True out")


class _NormalisedSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, h: Tensor, graphs: Graphs, weight: Tensor, own: Tensor) -> Tensor:
        ctx.graphs = graphs
        ctx.save_for_backward(weight, own, h if ctx.needs_input_grad[2] else None)
        out = row_sums(h, graphs.edge_index[0], graphs.row_ptr, weight)
        return out.addcmul_(h, own.to(h.dtype)[:, None])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        _refuse_second_derivatives()
        (weight, own, h), graphs, grad = ctx.saved_tensors, ctx.graphs, grads[0].contiguous()
        if graphs.symmetric and graphs.edge_weight is None:
            out = row_sums(grad, graphs.edge_index[0], graphs.row_ptr, weight)
        else:
            column, rows, order = transposed(graphs)
            out = row_sums(grad, column, rows, weight.index_select(0, order))
        on_weight, on_own = (None, None) if h is None else (edge_products(grad, h, graphs), (grad * h).sum(1))
        return out.addcmul_(grad, own.to(grad.dtype)[:, None]), None, on_weight, on_own


class _NeighbourSum(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        table: Tensor | None,
        graphs: Graphs,
        weight: Tensor | None,
        self_weight: float,
        counts: Tensor | None,
        looped: bool,
    ) -> Tensor:
        ctx.graphs, ctx.self_weight, ctx.looped = graphs, self_weight, looped
        ctx.save_for_backward(h if ctx.needs_input_grad[3] else None, weight, table, counts)
        return sum_sources(h, graphs, weight, self_weight, table, counts, looped=looped)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        _refuse_second_derivatives()
        (grad,), (h, weight, table, named) = grads, ctx.saved_tensors
        grad, graphs, on_table = grad.contiguous(), ctx.graphs, None
        if ctx.needs_input_grad[1]:
            if named is None:
                rows = table.shape[0]
                named = _named_rows(
                    graphs.edge_attr, graphs.row_ptr, weight, rows, grad.dtype, rows - 1 if ctx.looped else -1
                )
            on_table = (named.to(grad.dtype).T @ grad)[: table.shape[0]].to(table.dtype)
        on_h = sum_targets(grad, graphs, weight, ctx.self_weight) if ctx.needs_input_grad[0] else None
        on_weight = edge_products(grad, h, graphs, table) if ctx.needs_input_grad[3] else None
        return on_h, on_table, None, on_weight, None, None, None


def sum_sources(
    h: Tensor,
    graphs: Graphs,
    weight: Tensor | None,
    self_weight: float = 0.0,
    table: Tensor | None = None,
    counts: Tensor | None = None,
    *,
    looped: bool = False,
) -> Tensor:
    """What ``neighbour_sum`` is, without a gradient; ``weight``: ``[E]``."""
    attr = None if table is None else graphs.edge_attr
    return row_sums(h, graphs.edge_index[0], graphs.row_ptr, weight, self_weight, attr, table, counts, looped=looped)


def sum_targets(grad: Tensor, graphs: Graphs, weight: Tensor | None, self_weight: float = 0.0) -> Tensor:
    """The gradient of ``sum_sources`` by ``h``: the sum over out-neighbours."""
    if graphs.symmetric and graphs.edge_weight is None:
        return row_sums(grad, graphs.edge_index[0], graphs.row_ptr, weight, self_weight)
    column, rows, order = transposed(graphs)
    weight = None if weight is None else weight.index_select(0, order)
    return row_sums(grad, column, rows, weight, self_weight)


def edge_products(grad: Tensor, h: Tensor, graphs: Graphs, table: Tensor | None = None) -> Tensor:
    """``[E]`` the gradient of ``sum_sources`` by ``weight``: row v of ``grad`` times the message u → v."""
    if serve(h):
        from nmrgcl.ops.triton import rows

        products = rows.edge_products(grad, h, graphs.edge_index)
    else:
        source, destination = graphs.edge_index
        products = (grad.index_select(0, destination) * h.index_select(0, source)).sum(1)
    if table is None:
        return products
    assert graphs.edge_attr is not None
    # Every node times every row of the table, and a column of zeros for -1, "none".
    each = torch.nn.functional.pad(grad @ table.to(grad.dtype).T, (0, 1))
    named = each.index_select(0, graphs.edge_index[1]).gather(1, graphs.edge_attr.remainder(each.shape[1]))
    return products + named.sum(1)


def edge_scores(h: Tensor, graphs: Graphs) -> Tensor:
    """``[E]``: the inner product of the two ends of each edge, with a gradient."""
    result: Tensor = _EdgeScores.apply(h, graphs)
    return result


class _EdgeScores(torch.autograd.Function):
    """Backwards a sum over neighbours on either side, so that nothing is kept for an edge but a number."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, graphs: Graphs) -> Tensor:
        ctx.graphs = graphs
        ctx.save_for_backward(h)
        return edge_products(h, h, graphs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        _refuse_second_derivatives()
        (h,), graphs, weight = ctx.saved_tensors, ctx.graphs, grads[0].contiguous()
        column, rows, order = transposed(graphs)
        into = row_sums(h, graphs.edge_index[0], graphs.row_ptr, weight)
        return into.add_(row_sums(h, column, rows, weight.index_select(0, order))), None


def row_sums(
    h: Tensor,
    column: Tensor,
    row_ptr: Tensor,
    weight: Tensor | None,
    self_weight: float = 0.0,
    attr: Tensor | None = None,
    table: Tensor | None = None,
    counts: Tensor | None = None,
    *,
    looped: bool = False,
) -> Tensor:
    """What ``nmrgcl.ops.triton.rows.row_sums`` says, by it where it serves."""
    if serve(h):
        from nmrgcl.ops.triton import rows

        return rows.row_sums(
            h, column, row_ptr, weight, self_weight=self_weight, edge_attr=attr, edge_table=table, looped=looped
        )
    out = _bags(h, column, row_ptr, weight)
    if self_weight:
        out.add_(h, alpha=self_weight)
    if attr is not None and table is not None:
        if counts is None:
            own = table.shape[0] - 1 if looped else -1
            counts = _named_rows(attr, row_ptr, weight, table.shape[0], h.dtype, own)
        out.addmm_(counts[:, : table.shape[0]].to(h.dtype), table.to(h.dtype))
    return out


def _named_rows(
    attr: Tensor, row_ptr: Tensor, weight: Tensor | None, count: int, dtype: torch.dtype, loop: int
) -> Tensor:
    """``[N, count]`` how often (by ``weight``) the edges into each node name each row of a table; row ``loop`` once."""
    if serve(attr):
        from nmrgcl.ops.triton.rows import row_counts

        return row_counts(attr, row_ptr, weight, count, loop).to(dtype)
    one_hot = torch.eye(count + 1, count, dtype=dtype, device=attr.device)  # -1, "none", is the row of zeros at the end
    names = attr.shape[1]
    weight = None if weight is None else weight.repeat_interleave(names)
    named = _bags(one_hot, attr.remainder(count + 1).flatten(), row_ptr * names, weight)
    if loop >= 0:
        named[:, loop] = 1
    return named


def _bags(h: Tensor, column: Tensor, row_ptr: Tensor, weight: Tensor | None) -> Tensor:
    if column.shape[0] == 0:
        return h.new_zeros(row_ptr.shape[0] - 1, h.shape[1])
    weight = None if weight is None else weight.to(h.dtype)
    h = h.detach()  # PyTorch would keep notes for a backward pass of its own
    return embedding_bag(column, h, row_ptr, mode="sum", include_last_offset=True, per_sample_weights=weight)
