"""What views remove, given their draws, and which edges are left.

Draws come from outside, from torch's generator, so that a recorded CUDA graph has new ones at every replay. ``chosen``
(``[B]``, bool) names the graphs that a view acts on; None means all. ``keep`` is what earlier views have left; None
means everything.
"""

import torch
from torch import Tensor

from nmrgcl.ops import serve
from nmrgcl.ops.forms import Form
from nmrgcl.sparse_rows import entry_rows, is_sparse, with_values

PLAIN = Form("view masks", "plain", "on a CPU, and sparse features")
KERNEL = Form("view masks", "Triton kernel", "on a GPU")
FORMS = (PLAIN, KERNEL)


def keep_drawn_nodes(
    draw: Tensor, batch: Tensor, node_ptr: Tensor, keep: Tensor | None, chosen: Tensor | None, p: float
) -> Tensor:
    """``[N]`` bool: of each chosen graph the nodes with a draw of at least ``p``, or else the one with the largest.

    Args:
        draw: ``[N]`` in [0, 1).
        batch: ``[N]`` the graph of each node.
        node_ptr: ``[B + 1]``.
        keep: ``[N]``; nodes beyond the last graph are not kept.
        chosen: ``[B]``.
        p: probability with which a node is removed.
    """
    if KERNEL.on and serve(draw):
        from nmrgcl.ops.triton import masks

        return masks.keep_drawn_nodes(draw, node_ptr, keep, chosen, p)
    if keep is not None:
        draw = torch.where(keep, draw, -1.0)
    # The largest draw of a graph is below p only if all of them are.
    largest = draw.new_full((node_ptr.shape[0] - 1,), -1.0).scatter_reduce_(0, batch, draw, "amax")
    threshold = largest.clamp(max=p)
    if chosen is not None:
        threshold = threshold * chosen
    stays = draw >= threshold.index_select(0, batch)
    return stays if keep is None else keep & stays


def keep_drawn_edges(
    draw: Tensor, pair: Tensor, owner: Tensor, batch: Tensor, keep: Tensor | None, chosen: Tensor | None, p: float
) -> Tensor:
    """``[E]`` bool: an edge of a chosen graph stays if the draw of its ``pair`` is at least ``p``.

    Args:
        draw: ``[E]`` in [0, 1).
        pair: ``[E]`` the edge whose draw counts.
        owner: ``[E]`` a node of each edge.
        batch: ``[N]`` the graph of each node.
        keep: ``[E]``.
        chosen: ``[B]``.
        p: probability with which an undirected edge is removed.
    """
    if KERNEL.on and serve(draw):
        from nmrgcl.ops.triton import masks

        return masks.keep_drawn_edges(draw, pair, owner, batch, keep, chosen, p)
    risk = _risk(p, chosen, batch)
    # Both edges of a pair belong to one graph and share its risk.
    stays = (draw >= (risk.index_select(0, owner) if isinstance(risk, Tensor) else risk)).index_select(0, pair)
    return stays if keep is None else keep & stays


def blank_drawn_rows(x: Tensor, draw: Tensor, batch: Tensor, chosen: Tensor | None, p: float) -> Tensor:
    """``x`` without the rows of chosen graphs that have a draw below ``p``.

    Such a row is zero. Categorical features name no column there, which is written as -1.

    Args:
        x: ``[N, C]`` dense, sparse or categorical features.
        draw: ``[N]`` in [0, 1).
        batch: ``[N]`` the graph of each node.
        chosen: ``[B]``.
        p: probability with which a row is removed.
    """
    categorical = not x.is_floating_point()
    if KERNEL.on and serve(draw) and not is_sparse(x):
        from nmrgcl.ops.triton import masks

        return masks.blank_drawn_rows(x, draw, batch, chosen, p, -1.0 if categorical else 0.0)
    keep = (draw >= _risk(p, chosen, batch))[:, None]
    if is_sparse(x):
        return with_values(x, x.values() * keep[entry_rows(x), 0])
    return torch.where(keep, x, -1) if categorical else x * keep


def edges_between(edge_index: Tensor, node_keep: Tensor, edge_keep: Tensor | None) -> Tensor:
    """``[E]`` bool: the edges that are kept themselves (``[E]``) and whose ends are both kept (``[N]``)."""
    if KERNEL.on and serve(node_keep):
        from nmrgcl.ops.triton import masks

        return masks.edges_between(edge_index, node_keep, edge_keep)
    source, destination = (node_keep.index_select(0, end) for end in edge_index)
    live = source.logical_and_(destination)
    return live if edge_keep is None else live.logical_and_(edge_keep)


def _risk(p: float, chosen: Tensor | None, batch: Tensor) -> Tensor | float:
    """``p`` for the nodes of chosen graphs, and 0 for all others."""
    return p if chosen is None else (p * chosen).index_select(0, batch)
