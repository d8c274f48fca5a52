"""Sparse features as PyTorch CSR tensors, with the row operations that PyTorch lacks."""

import warnings

import torch
from torch import Tensor


def sparse_rows(ptr: Tensor, column: Tensor, value: Tensor, width: int) -> Tensor:
    """Return a sparse matrix ``[len(ptr) - 1, width]``; the entries of row v are ``ptr[v]:ptr[v + 1]``."""
    shape = (ptr.shape[0] - 1, width)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns that CSR tensors are in beta
        return torch.sparse_csr_tensor(ptr, column, value, shape, check_invariants=False)


def is_sparse(x: Tensor) -> bool:
    """Return True if ``x`` is a CSR tensor."""
    return x.layout == torch.sparse_csr


def select_rows(x: Tensor, index: Tensor, *, total: int | None = None) -> Tensor:
    """Return ``x.index_select(0, index)`` for dense and sparse ``x``.

    ``total``, the number of entries of the result, avoids a synchronisation with the GPU for sparse ``x``.
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
    """Permute the rows of ``x``, without a synchronisation with the GPU."""
    return select_rows(x, order, total=x.values().shape[0] if is_sparse(x) else None)


def entry_rows(x: Tensor) -> Tensor:
    """Return the row of each entry of sparse ``x``."""
    return torch.repeat_interleave(x.crow_indices().diff(), output_size=x.values().shape[0])


def with_values(x: Tensor, value: Tensor) -> Tensor:
    """Return sparse ``x`` with its values replaced."""
    return sparse_rows(x.crow_indices(), x.col_indices(), value, x.shape[1])
