"""The entries of a diffusion matrix: how much of a walk that starts at one node is at another.

With A the adjacency matrix including self-loops, and D its degrees, personalised PageRank is
α(I − (1 − α)D^{-1/2}AD^{-1/2})^{-1}, and the heat kernel is exp(tAD^{-1} − t). Both are series in the matrix of a walk,
and rows are computed in blocks, so that no N × N matrix exists.
"""

from collections.abc import Iterator
from math import exp
from typing import Literal, NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array, diags_array, eye_array, vstack
from torch import Tensor
from torch.nn.functional import pad

from nmrgcl.ops import on_host
from nmrgcl.ops.forms import Form
from nmrgcl.sparse_rows import sparse_rows

FORMS = (
    Form("diffusion", "plain", "on a CPU: sparse walks that leave out what is small"),
    Form("diffusion", "matrix products", "on a GPU: nothing is left out"),
)

Diffusion = Literal["ppr", "heat"]
BLOCK = 1024
"""Rows that are computed at a time; 80 MB for the graph of PubMed on a GPU."""
REST = 1e-6
"""On a GPU, a series ends when the remaining terms add up to less than this."""


class Entries(NamedTuple):
    """A sparse matrix by rows: row v has the columns ``source[row_ptr[v]:row_ptr[v + 1]]``, sorted, with ``weight``."""

    row_ptr: Tensor
    source: Tensor
    weight: Tensor


def diffusion_entries(
    edge_index: Tensor,
    edge_weight: Tensor | None,
    num_nodes: int,
    kind: Diffusion,
    *,
    alpha: float,
    time: float,
    keep: int,
    accuracy: float,
) -> Entries:
    """The ``keep`` largest entries of each row of the diffusion matrix of an undirected graph.

    Args:
        edge_index: ``[2, E]`` without self-loops.
        edge_weight: ``[E]``; None means all one.
        num_nodes: N.
        kind: "ppr" or "heat".
        alpha: probability to return to the start, for "ppr".
        time: t, for "heat".
        keep: entries per row.
        accuracy: on a CPU, at most this much for each unit of a node's degree is not passed on.
    """
    if on_host(edge_index):
        return _by_walks(edge_index, edge_weight, num_nodes, kind, alpha, time, keep, accuracy)
    return _by_products(edge_index, edge_weight, num_nodes, kind, alpha=alpha, time=time, keep=keep)


def _by_walks(
    edge_index: Tensor,
    edge_weight: Tensor | None,
    num_nodes: int,
    kind: Diffusion,
    alpha: float,
    time: float,
    keep: int,
    accuracy: float,
) -> Entries:
    """Amounts that are small compared with a node's degree are not passed on (Andersen et al. 2006).

    The work for a node then depends on the accuracy asked for, not on the size of the graph.
    """
    source, destination = edge_index.numpy()
    weight = np.ones(len(source)) if edge_weight is None else edge_weight.double().numpy()
    size = (num_nodes, num_nodes)
    adjacency = csr_array(csr_array((weight, (destination, source)), size) + eye_array(num_nodes))
    degree = adjacency.sum(1)
    walk = csr_array(diags_array(1 / degree) @ adjacency)
    parts = []
    for rows in np.array_split(np.arange(num_nodes), max(1, -(-num_nodes // BLOCK))):
        if kind == "ppr":
            found = _ppr_rows(rows, walk, degree, alpha, accuracy)
        else:
            found = _heat_rows(rows, walk, degree, time, accuracy)
        parts.append(_largest_of_rows(found, keep))
    # D^{-1}A, along whose rows it was walked, is similar to the matrices of both formulas.
    scale = degree**0.5 if kind == "ppr" else degree
    matrix = csr_array(diags_array(scale) @ vstack(parts) @ diags_array(1 / scale))
    matrix.sort_indices()
    ptr, source = (torch.from_numpy(part.astype(np.int64)) for part in (matrix.indptr, matrix.indices))
    return Entries(ptr, source, torch.from_numpy(matrix.data.astype(np.float32)))


def _ppr_rows(rows: np.ndarray, walk: csr_array, degree: np.ndarray, alpha: float, accuracy: float) -> csr_array:
    """The given rows of α Σ (1 − α)^k walk^k: as long as anything is worth passing on, pass on all that is."""
    waiting = _starts(rows, walk.shape[0])
    found = csr_array(waiting.shape)
    while waiting.nnz:
        moving = waiting.copy()
        # An accuracy of 0 would pass on ever smaller remainders; below 1e-12 they no longer change a float32 result.
        moving.data[moving.data < max(accuracy, 1e-12) * degree[moving.indices]] = 0
        moving.eliminate_zeros()
        if not moving.nnz:
            break
        found = found + alpha * moving
        waiting = csr_array(waiting - moving + (1 - alpha) * (moving @ walk))
    return found


def _heat_rows(rows: np.ndarray, walk: csr_array, degree: np.ndarray, time: float, accuracy: float) -> csr_array:
    """The given rows of e^{-t} Σ t^k / k! walk^k."""
    moving = _starts(rows, walk.shape[0])
    found, weight, step, left = csr_array(moving.shape), exp(-time), 0, 1.0
    while left > 1e-9:
        found = found + weight * moving
        left -= weight
        step += 1
        weight *= time / step
        moving = csr_array(moving @ walk)
        moving.data[moving.data * max(left, 0.0) < accuracy * degree[moving.indices]] = 0
        moving.eliminate_zeros()
    return found


def _starts(rows: np.ndarray, width: int) -> csr_array:
    return csr_array((np.ones(len(rows)), rows, np.arange(len(rows) + 1)), (len(rows), width))


def _largest_of_rows(rows: csr_array, keep: int) -> csr_array:
    """The ``keep`` largest entries of each row, the first of equals."""
    rows = csr_array(rows)
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    order = np.lexsort((rows.indices, -rows.data, row))
    rank = np.arange(len(order)) - rows.indptr[row]
    kept = order[rank < keep]
    return csr_array((rows.data[kept], (row[kept], rows.indices[kept])), rows.shape)


def _by_products(
    edge_index: Tensor,
    edge_weight: Tensor | None,
    num_nodes: int,
    kind: Diffusion,
    *,
    alpha: float,
    time: float,
    keep: int,
) -> Entries:
    """``diffusion_entries`` with an accuracy of zero, by products of matrices on the device of the edges.

    With S = D^{-1/2}AD^{-1/2} both diffusions are series in S, which is symmetric: a row is a column.
    """
    matrix, degree = _symmetric(edge_index, edge_weight, num_nodes)
    root, shares = degree.sqrt(), list(_ppr_shares(alpha) if kind == "ppr" else _heat_shares(time))
    found = [
        _largest_of_columns(_series(matrix, rows, shares), root, keep)
        for rows in torch.arange(num_nodes, device=edge_index.device).split(BLOCK)
    ]
    source, weight = (torch.cat(parts, 1).T for parts in zip(*found, strict=True))
    if kind == "heat":  # exp(tAD^{-1} − t) is D^{1/2}f(S)D^{-1/2}
        weight = weight * root[:, None] / root[source]
    there = weight > 0
    return Entries(pad(there.sum(1).cumsum(0), (1, 0)), source[there], weight[there])


def _symmetric(edge_index: Tensor, edge_weight: Tensor | None, num_nodes: int) -> tuple[Tensor, Tensor]:
    """``D^{-1/2}(A + I)D^{-1/2}`` as a sparse matrix, and D ``[N]``."""
    device = edge_index.device
    own = torch.arange(num_nodes, device=device)
    weight = torch.ones_like(edge_index[0], dtype=torch.float32) if edge_weight is None else edge_weight.float()
    source, destination = torch.cat([edge_index, own.expand(2, -1)], 1)
    weight = torch.cat([weight, torch.ones_like(own, dtype=torch.float32)])
    degree = torch.zeros(num_nodes, device=device).index_add_(0, destination, weight)
    order = torch.argsort(destination * num_nodes + source)
    source, destination = source[order], destination[order]
    value = weight[order] * (degree[source] * degree[destination]).rsqrt()
    rows = torch.searchsorted(destination, torch.arange(num_nodes + 1, device=device))
    return sparse_rows(rows, source, value, num_nodes), degree


def _ppr_shares(alpha: float) -> Iterator[float]:
    """α(1 − α)^k."""
    share, left = alpha, 1.0
    while left > REST:
        yield share
        left -= share
        share *= 1 - alpha


def _heat_shares(time: float) -> Iterator[float]:
    """e^{-t} t^k / k!."""
    share, left, step = exp(-time), 1.0, 0
    while left > REST:
        yield share
        left -= share
        step += 1
        share *= time / step


def _series(matrix: Tensor, rows: Tensor, shares: list[float]) -> Tensor:
    """``[N, R]``: the columns of Σ_k shares[k] · matrix^k that ``rows`` names."""
    power = torch.zeros(matrix.shape[0], len(rows), device=rows.device)
    power[rows, torch.arange(len(rows), device=rows.device)] = 1
    total = shares[0] * power
    for share in shares[1:]:
        power = matrix @ power
        total.add_(power, alpha=share)
    return total


def _largest_of_columns(columns: Tensor, root: Tensor, keep: int) -> tuple[Tensor, Tensor]:
    """``[keep, R]`` rows and values of the entries of each column that are largest for a walk, sorted by row."""
    index = (columns * root[:, None]).topk(min(keep, len(columns)), 0).indices.sort(0).values
    return index, columns.gather(0, index)
