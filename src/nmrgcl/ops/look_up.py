"""Rows of a table by name: categorical features times a matrix, without making them one-hot."""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag, pad

from nmrgcl.ops import serve
from nmrgcl.ops.forms import Form
from nmrgcl.ops.linear import aligned_width

FEW_NAMES, WIDE = 256, 128
"""The largest table that the forms for a GPU take, and the narrowest that is multiplied by counts."""

PLAIN = Form("look-up", "plain", f"on a CPU, and tables of more than {FEW_NAMES} rows")
COUNTS = Form("look-up", "counts times table", f"tables of up to {FEW_NAMES} rows and at least {WIDE} units, on a GPU")
KERNEL = Form("look-up", "Triton kernels", f"narrower tables of up to {FEW_NAMES} rows, on a GPU")
FORMS = (PLAIN, COUNTS, KERNEL)


def look_up(table: Tensor, names: Tensor) -> Tensor:
    """``[N, D]``: the sum of the rows of ``table`` ``[K, D]`` that each row of ``names`` ``[N, C]`` lists; -1: none."""
    if serve(table) and table.shape[0] <= FEW_NAMES:
        if table.shape[1] >= WIDE and COUNTS.on:
            return _counts_times_table(table, names)
        if KERNEL.on:
            result: Tensor = _LookUp.apply(table, names)
            return result
    table = pad(table, (0, 0, 0, 1))  # -1, "none", becomes the row of zeros at the end
    row = names.remainder(table.shape[0])
    # One name per row: the backward pass of index_select is one index_add, which takes half as long as embedding_bag's.
    # On a GPU it would add in any order.
    if row.shape[1] == 1 and not row.is_cuda:
        return table.index_select(0, row[:, 0])
    return embedding_bag(row, table, mode="sum")


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
