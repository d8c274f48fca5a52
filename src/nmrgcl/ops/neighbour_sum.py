"""Message passing: weighted sums over each node's neighbours, with first derivatives.

No ``[E, D]`` matrix of messages exists, forwards or backwards: both passes are sums over rows (``ops.rows``).
"""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from torch.utils.weak import WeakTensorKeyDictionary

from nmrgcl.errors import SettingError
from nmrgcl.ops.rows import edge_products, row_counts, row_sums

if TYPE_CHECKING:
    from nmrgcl.graphs import Graphs


def neighbour_sum(
    h: Tensor,
    graphs: "Graphs",
    *,
    self_weight: float = 0.0,
    edge_table: Tensor | None = None,
    edge_counts: Tensor | None = None,
    looped: bool = False,
) -> Tensor:
    """``[N, D]``: for each node the sum of ``h`` over its in-neighbours plus ``self_weight`` times its own row.

    With ``edge_table`` (``[K, D]``) each message also carries the rows of the table that ``graphs.edge_attr``
    (``[E, C]``, integers) names, where -1 names none (Hu et al. 2020). If ``looped``, the table's last row belongs to
    the loop from every node to itself. Layers that share ``edge_counts`` need not count again. ``h``, ``edge_table``
    and ``graphs.edge_weight`` have gradients; that of an edge which a view has removed is zero.
    """
    graphs = graphs.merge_added()
    weight, undirected = edge_shares(graphs), is_undirected(graphs)
    result: Tensor = _NeighbourSum.apply(
        h, weight, None, edge_table, graphs, undirected, self_weight, edge_counts, looped
    )
    return result


def weighted_sum(
    h: Tensor, graphs: "Graphs", weight: Tensor, own: Tensor | None = None, *, undirected: bool = False
) -> Tensor:
    """``[N, D]``: row v is Σ ``weight[e]`` · h_u over the edges e: u → v, plus ``own[v]`` · h_v; all have gradients.

    Set ``undirected`` if both directions of every edge have the same weight: the backward pass is then faster.
    """
    result: Tensor = _NeighbourSum.apply(h, weight, own, None, graphs, undirected, 0.0, None, False)
    return result


def edge_scores(h: Tensor, graphs: "Graphs") -> Tensor:
    """``[E]``: the inner product of the two ends of each edge, with a gradient."""
    result: Tensor = _EdgeScores.apply(h, graphs)
    return result


def is_undirected(graphs: "Graphs") -> bool:
    """True if both directions of every edge count the same, so that the sum over neighbours is its own transpose."""
    return graphs.symmetric and graphs.edge_weight is None


def edge_shares(graphs: "Graphs", dtype: torch.dtype | None = None) -> Tensor | None:
    """``[E]`` how much each edge counts: its weight, or zero if it was removed. None means one each."""
    # A mask stays boolean: kernels then read one byte per edge, and the plain form converts it.
    weight = graphs.live_edges if graphs.masked else None
    if graphs.edge_weight is not None:
        weight = graphs.edge_weight if weight is None else torch.where(weight, graphs.edge_weight, 0.0)
    return weight if weight is None or dtype is None else weight.to(dtype)


def in_degrees(graphs: "Graphs", dtype: torch.dtype) -> Tensor:
    """``[N]``: the sum of the weights of the live edges into each node, with the gradient of learned weights."""
    graphs = graphs.merge_added()
    if graphs.edge_weight is not None:
        return neighbour_sum(torch.ones(graphs.num_nodes, 1, dtype=dtype, device=graphs.device), graphs).squeeze(1)
    if not graphs.masked:
        return graphs.row_ptr.diff().to(dtype)
    # Differences of a running count take the same time for hubs as for other nodes.
    live = pad(graphs.live_edges.cumsum(0), (1, 0))
    return live.index_select(0, graphs.row_ptr).diff().to(dtype)


@torch.no_grad()
def edge_counts(graphs: "Graphs", rows: int, *, looped: bool = False) -> Tensor:
    """``[N, ≥ rows]``: how often, by weight, the live edges into each node name each row of an edge table.

    If ``looped``, the last of the ``rows`` counts once for every node. The columns are rounded up to a multiple of 8
    with zeros, because a GPU multiplies matrices fast only if their rows begin at multiples of 16 bytes. The counts
    have no gradient; ``neighbour_sum`` works out that of the edge weights itself.
    """
    graphs = graphs.merge_added()
    assert graphs.edge_attr is not None
    dtype = torch.get_default_dtype() if graphs.edge_weight is None else graphs.edge_weight.dtype
    return row_counts(
        graphs.edge_attr, graphs.row_ptr, edge_shares(graphs), -(-rows // 8) * 8, dtype,
        loop=rows - 1 if looped else None,
    )  # fmt: skip


def edge_ends(graphs: "Graphs") -> Tensor | None:
    """``[E]`` the destination of each edge if some node is a hub, else None: ``row_sums`` asks for it."""
    return graphs.edge_index[1] if graphs.hubs else None


_BY_SOURCE = WeakTensorKeyDictionary()
"""``edges_by_source`` of each ``edge_index``, which all views of a graph share."""


def edges_by_source(graphs: "Graphs") -> tuple[Tensor, Tensor, Tensor]:
    """The transposed edge list: destinations ``[E]``, row pointers ``[N + 1]``, and each edge's old number ``[E]``."""
    # Every layer of a directed graph needs this in every backward pass. The weak key frees it along with the graph.
    if graphs.edge_index not in _BY_SOURCE:
        order = torch.argsort(graphs.edge_index[0], stable=True)
        source = graphs.edge_index[0].index_select(0, order)
        rows = torch.searchsorted(source, torch.arange(graphs.num_nodes + 1, device=source.device))
        _BY_SOURCE[graphs.edge_index] = graphs.edge_index[1].index_select(0, order), rows, order
    found: tuple[Tensor, Tensor, Tensor] = _BY_SOURCE[graphs.edge_index]
    return found


def sum_to_sources(
    grad: Tensor, graphs: "Graphs", weight: Tensor | None, self_weight: float = 0.0, *, undirected: bool
) -> Tensor:
    """The transpose of the sum over in-neighbours, which is the sum over out-neighbours."""
    if undirected:
        ends = edge_ends(graphs)
        return row_sums(grad, graphs.edge_index[0], graphs.row_ptr, weight, self_weight=self_weight, ends=ends)
    column, rows, order = edges_by_source(graphs)
    weight = None if weight is None else weight.index_select(0, order)
    return row_sums(grad, column, rows, weight, self_weight=self_weight)


class _NeighbourSum(torch.autograd.Function):
    """``out_v = Σ_{e: u→v} w_e (h_u + Σ_c T[a_ec]) + (s + o_v) h_v`` for edges e with attributes a.

    With G = ∂L/∂out, and counts C_vk = Σ_{e: u→v} w_e · |{c : a_ec = k}|, so that the table's share in out is C T:

        ∂L/∂h_u = Σ_{e: u→v} w_e G_v + (s + o_u) G_u
        ∂L/∂w_e = ⟨G_v, h_u + Σ_c T[a_ec]⟩
        ∂L/∂o_v = ⟨G_v, h_v⟩
        ∂L/∂T   = Cᵀ G
    """

    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        weight: Tensor | None,
        own: Tensor | None,
        table: Tensor | None,
        graphs: "Graphs",
        undirected: bool,
        self_weight: float,
        counts: Tensor | None,
        looped: bool,
    ) -> Tensor:
        ctx.graphs, ctx.undirected, ctx.self_weight, ctx.looped = graphs, undirected, self_weight, looped
        # Only the gradients of weights read h; without them its memory is free during the rest of the forward pass.
        ctx.save_for_backward(h if ctx.needs_input_grad[1] or ctx.needs_input_grad[2] else None, weight, own, table,
                              counts)  # fmt: skip
        out = row_sums(
            h, graphs.edge_index[0], graphs.row_ptr, weight, self_weight=self_weight,
            edge_attr=None if table is None else graphs.edge_attr, edge_table=table, counts=counts, looped=looped,
            ends=edge_ends(graphs),
        )  # fmt: skip
        return out if own is None else out.addcmul_(h, own.to(h.dtype)[:, None])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        _refuse_second_derivatives()
        (h, weight, own, table, counts), graphs, grad = ctx.saved_tensors, ctx.graphs, grads[0].contiguous()
        by_h, by_weight, by_own, by_table = ctx.needs_input_grad[:4]
        on_h = on_weight = on_own = on_table = None
        if by_h:
            on_h = sum_to_sources(grad, graphs, weight, ctx.self_weight, undirected=ctx.undirected)
            if own is not None:
                on_h.addcmul_(grad, own.to(grad.dtype)[:, None])
        if by_weight:
            on_weight = edge_products(grad, h, graphs.edge_index)
            if table is not None:
                on_weight = on_weight + _table_products(grad, table, graphs)
        if by_own:
            on_own = (grad * h).sum(1)
        if by_table:
            if counts is None:
                rows, loop = table.shape[0], table.shape[0] - 1 if ctx.looped else None
                counts = row_counts(graphs.edge_attr, graphs.row_ptr, weight, rows, grad.dtype, loop=loop)
            # Counts that came from outside may be padded with columns beyond the rows of the table.
            on_table = (counts.to(grad.dtype).T @ grad)[: table.shape[0]].to(table.dtype)
        return on_h, on_weight, on_own, on_table, None, None, None, None, None


def _table_products(grad: Tensor, table: Tensor, graphs: "Graphs") -> Tensor:
    """``[E]``: ⟨G_v, Σ_c T[a_ec]⟩ for each edge e: u → v."""
    assert graphs.edge_attr is not None
    # Every node times every row of the table, and a column of zeros at the end for -1, "none".
    each = pad(grad @ table.to(grad.dtype).T, (0, 1))
    named = each.index_select(0, graphs.edge_index[1]).gather(1, graphs.edge_attr.remainder(each.shape[1]))
    return named.sum(1)


class _EdgeScores(torch.autograd.Function):
    """``s_e = ⟨h_u, h_v⟩`` for each edge e: u → v, keeping one number per edge.

    With g = ∂L/∂s, a node is the destination of some edges and the source of others:
    ``∂L/∂h_w = Σ_{e: u→w} g_e h_u + Σ_{e: w→v} g_e h_v``, a weighted sum over neighbours in each direction.
    """

    @staticmethod
    def forward(ctx: Any, h: Tensor, graphs: "Graphs") -> Tensor:
        ctx.graphs = graphs
        ctx.save_for_backward(h)
        return edge_products(h, h, graphs.edge_index)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        _refuse_second_derivatives()
        (h,), graphs, weight = ctx.saved_tensors, ctx.graphs, grads[0].contiguous()
        # g differs between the two directions of an edge, so even a symmetric graph needs the transposed edge list.
        into = row_sums(h, graphs.edge_index[0], graphs.row_ptr, weight, ends=edge_ends(graphs))
        return into.add_(sum_to_sources(h, graphs, weight, undirected=False)), None


def _refuse_second_derivatives() -> None:
    """They would come out as zero. PyTorch's own ``once_differentiable`` adds microseconds to every backward pass."""
    if torch.is_grad_enabled():
        raise SettingError("sums over neighbours have first derivatives only; leave create_graph=True out")
