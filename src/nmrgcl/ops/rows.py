"""Sums over the rows of a sorted edge list: gather and sum in one pass, so no message is ever stored.

The edges into row v are ``row_ptr[v]:row_ptr[v + 1]``. Every row is summed in a fixed order, so results repeat bit for
bit. Nothing here has a gradient; operations that do, such as ``neighbour_sum``, are made of these.
"""

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from nmrgcl.ops import serve
from nmrgcl.ops.forms import Form

PLAIN = Form("row sums", "plain", "on a CPU: PyTorch's embedding_bag")
KERNEL = Form("row sums", "Triton kernels", "on a GPU")
FORMS = (PLAIN, KERNEL)


def row_sums(
    h: Tensor,
    column: Tensor | None,
    row_ptr: Tensor,
    weight: Tensor | None = None,
    *,
    self_weight: float = 0.0,
    edge_attr: Tensor | None = None,
    edge_table: Tensor | None = None,
    counts: Tensor | None = None,
    looped: bool = False,
    ends: Tensor | None = None,
) -> Tensor:
    """``[R, D]``, row v: ``self_weight · h[v] + Σ_e weight[e] · (h[column[e]] + Σ_c edge_table[edge_attr[e, c]])``.

    Args:
        h: ``[N, D]``.
        column: ``[E]`` the source of each edge; None: the source of edge e is row e.
        row_ptr: ``[R + 1]``; R must be N unless ``self_weight`` is 0.
        weight: ``[E]`` floating point or bool; None means all one.
        self_weight: how much a node counts in its own sum.
        edge_attr: ``[E, C]`` the rows of ``edge_table`` that each edge adds to its message; -1 names none.
        edge_table: ``[K, D]``.
        counts: ``row_counts`` of ``edge_attr``, if they are known already.
        looped: add the last row of ``edge_table`` to every row once, for the loop from each node to itself.
        ends: ``[E]`` the row of each edge, where some rows have hundreds; a GPU then sums these in parts.
    """
    if serve(h) and KERNEL.on:
        from nmrgcl.ops.triton import rows

        # The kernel adds rows of the table as it reads the edges, so it has no use for counts.
        return rows.row_sums(
            h, column, row_ptr, weight,
            self_weight=self_weight, edge_attr=edge_attr, edge_table=edge_table, looped=looped, ends=ends,
        )  # fmt: skip
    out = _bags(h, torch.arange(h.shape[0], device=h.device) if column is None else column, row_ptr, weight)
    if self_weight:
        out.add_(h, alpha=self_weight)
    if edge_attr is not None and edge_table is not None:
        rows_ = edge_table.shape[0]
        if counts is None:
            counts = row_counts(edge_attr, row_ptr, weight, rows_, h.dtype, loop=rows_ - 1 if looped else None)
        out.addmm_(counts[:, :rows_].to(h.dtype), edge_table.to(h.dtype))
    return out


def row_counts(
    edge_attr: Tensor, row_ptr: Tensor, weight: Tensor | None, categories: int, dtype: torch.dtype, *, loop: int | None
) -> Tensor:
    """``[R, categories]``: how often, by ``weight``, the edges of each row name each category (-1 names none).

    Their product with a table is the table's share in ``row_sums``, so its gradient is ``counts.T @ grad``. Column
    ``loop`` is 1 in every row.
    """
    if serve(edge_attr) and KERNEL.on:
        from nmrgcl.ops.triton import rows

        return rows.row_counts(edge_attr, row_ptr, weight, categories, -1 if loop is None else loop).to(dtype)
    # Sums of rows of the identity matrix; -1 becomes the row of zeros at its end.
    one_hot = torch.eye(categories + 1, categories, dtype=dtype, device=edge_attr.device)
    names = edge_attr.shape[1]
    weight = None if weight is None else weight.repeat_interleave(names)
    counts = _bags(one_hot, edge_attr.remainder(categories + 1).flatten(), row_ptr * names, weight)
    if loop is not None:
        counts[:, loop] = 1
    return counts


def edge_products(left: Tensor, right: Tensor, edge_index: Tensor) -> Tensor:
    """``[E]``: for each edge u → v the inner product of row v of ``left`` with row u of ``right`` (``[N, D]``)."""
    if serve(left) and KERNEL.on:
        from nmrgcl.ops.triton import rows

        return rows.edge_products(left, right, edge_index)
    source, destination = edge_index
    return (left.index_select(0, destination) * right.index_select(0, source)).sum(1)


def spread_rows(h: Tensor, owner: Tensor, keep: Tensor | None) -> Tensor:
    """``[N, D]``: row ``owner[i]`` of ``h``, or zeros where ``keep`` (``[N]``) is false."""
    if serve(h) and KERNEL.on:
        from nmrgcl.ops.triton import rows

        return rows.spread_rows(h.contiguous(), owner, keep)
    spread = h.index_select(0, owner)
    return spread if keep is None else spread * keep[:, None]


def _bags(h: Tensor, column: Tensor, row_ptr: Tensor, weight: Tensor | None) -> Tensor:
    if column.shape[0] == 0:
        return h.new_zeros(row_ptr.shape[0] - 1, h.shape[1])
    weight = None if weight is None else weight.to(h.dtype)
    h = h.detach()  # otherwise PyTorch would save tensors for a backward pass of its own
    return embedding_bag(column, h, row_ptr, mode="sum", include_last_offset=True, per_sample_weights=weight)
