"""Rows of a table by name: categorical features times a matrix, without making them one-hot."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding, embedding_bag, pad

from nmrgcl.ops import serve
from nmrgcl.ops.forms import Form
from nmrgcl.ops.linear import aligned_width

FEW_NAMES, WIDE = 256, 128
"""The most rows of a table that the forms for a GPU take, and the fewest units that one of them is made for."""

PLAIN = Form("look-up", "plain", f"on a CPU, and tables of more than {FEW_NAMES} rows")
COUNTS = Form(
    "look-up", "counts times table", f"several names per row, up to {FEW_NAMES} rows of at least {WIDE} units, on a GPU"
)
KERNEL = Form("look-up", "Triton kernels", f"other tables of up to {FEW_NAMES} rows, on a GPU")
FORMS = (PLAIN, COUNTS, KERNEL)


def look_up(table: Tensor, names: Tensor) -> Tensor:
    """``[N, D]``: the sum of the rows of ``table`` ``[K, D]`` that each row of ``names`` ``[N, C]`` lists; -1: none."""
    if serve(table) and table.shape[0] <= FEW_NAMES:
        if names.shape[1] > 1 and table.shape[1] >= WIDE and COUNTS.on:
            return _counts_times_table(table, names)
        if KERNEL.on:
            result: Tensor = _LookUp.apply(table, names)
            return result
    table = pad(table, (0, 0, 0, 1))  # -1, "none", becomes the row of zeros at the end
    row = names.remainder(table.shape[0])
    if row.shape[1] > 1:
        return embedding_bag(row, table, mode="sum")
    # The backward pass of index_select takes half as long as embedding's, but on a GPU it would add in any order.
    return embedding(row[:, 0], table) if row.is_cuda else table.index_select(0, row[:, 0])


def _counts_times_table(table: Tensor, names: Tensor) -> Tensor:
    """A product of matrices, on tensor cores in bfloat16 under autocast; its gradient needs no sorting either."""
    from nmrgcl.ops.triton.look_up import name_counts

    table = pad(table, (0, 0, 0, aligned_width(table.shape[0]) - table.shape[0]))
    dtype = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else table.dtype
    return name_counts(names.contiguous(), table.shape[0], dtype) @ table


class _LookUp(torch.autograd.Function):
    """``out_i = Σ_c T[a_ic]``, so ``∂L/∂T_k`` is the sum of ``∂L/∂out_i`` over all i and c with ``a_ic = k``.

    PyTorch's backward pass of ``embedding`` on a GPU sorts the names first.
    """

    @staticmethod
    def forward(ctx: Any, table: Tensor, names: Tensor) -> Tensor:
        from nmrgcl.ops.triton import look_up

        ctx.save_for_backward(names)
        ctx.count = table.shape[0]
        return look_up.look_up(table, names)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        from nmrgcl.ops.triton import look_up

        (names,) = ctx.saved_tensors
        return look_up.look_up_gradient(grads[0].contiguous(), names, ctx.count), None
