"""Features of which most are zero, as PyTorch's CSR tensors: the few operations on rows and columns it lacks."""

import warnings

import torch
from torch import Tensor


def sparse_rows(ptr: Tensor, column: Tensor, value: Tensor, width: int) -> Tensor:
    """``[len(ptr) - 1, width]``: the entries of row v are ``ptr[v]:ptr[v + 1]``."""
    shape = (ptr.shape[0] - 1, width)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch says once that such tensors are in beta
        return torch.sparse_csr_tensor(ptr, column, value, shape, check_invariants=False)


def is_sparse(x: Tensor) -> bool:
    """Whether ``x`` holds the entries that are not zero alone."""
    return x.layout == torch.sparse_csr


def select_rows(x: Tensor, index: Tensor, *, total: int | None = None) -> Tensor:
    """``x.index_select(0, index)`` for dense and sparse ``x``.

    Of sparse rows a GPU is asked how many entries they have, unless ``total`` says it.
    """
    if not is_sparse(x):
        return x.index_select(0, index)
    ptr = x.crow_indices()
    start = ptr.index_select(0, index)
    count = ptr.index_select(0, index + 1) - start
    new = torch.cat([count.new_zeros(1), count.cumsum(0)])
    total = int(new[-1]) if total is None else total
    entry = torch.arange(total, device=ptr.device) + torch.repeat_interleave(start - new[:-1], count, output_size=total)
    return sparse_rows(new, x.col_indices().index_select(0, entry), x.values().index_select(0, entry), x.shape[1])


def permute_rows(x: Tensor, order: Tensor) -> Tensor:
    """``x`` with its rows in another order; nothing waits for a device."""
    return select_rows(x, order, total=x.values().shape[0] if is_sparse(x) else None)


def entry_rows(x: Tensor) -> Tensor:
    """The row of each entry of sparse ``x``."""
    return torch.repeat_interleave(x.crow_indices().diff(), output_size=x.values().shape[0])


def with_values(x: Tensor, value: Tensor) -> Tensor:
    """Sparse ``x`` with other values in the same places."""
    return sparse_rows(x.crow_indices(), x.col_indices(), value, x.shape[1])
