"""Sparse features times a dense matrix."""

from typing import Any

import torch
from torch import Tensor

from nmrgcl.ops.rows import row_sums
from nmrgcl.sparse_rows import entry_rows


def sparse_product(x: Tensor, weight: Tensor) -> Tensor:
    """``x @ weight`` for a CSR ``x`` ``[N, F]``, which has no gradient; ``weight`` is ``[F, D]``.

    Rows are summed in a fixed order, forwards and backwards. benchmarks/nodes.py compares it with PyTorch's product.
    """
    result: Tensor = _SparseProduct.apply(weight, x)
    return result


class _SparseProduct(torch.autograd.Function):
    """``Y = X W``, so ``∂L/∂W = Xᵀ ∂L/∂Y``: the same sum over rows, with the entries of X sorted by column."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, x: Tensor) -> Tensor:
        ctx.x = x
        return row_sums(weight, x.col_indices(), x.crow_indices(), x.values())

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        x, grad = ctx.x, grads[0].contiguous()
        order = torch.argsort(x.col_indices(), stable=True)
        column = x.col_indices().index_select(0, order)
        rows = torch.searchsorted(column, torch.arange(x.shape[1] + 1, device=column.device))
        return row_sums(grad, entry_rows(x).index_select(0, order), rows, x.values().index_select(0, order)), None
