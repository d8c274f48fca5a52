"""Diffusion on a GPU: rows in blocks, all of a block's walks at once; nothing is left out, no N × N matrix exists."""

from collections.abc import Iterator
from dataclasses import replace
from math import exp

import torch
from torch import Tensor
from torch.nn.functional import pad

from nmrgcl.graphs import Graphs
from nmrgcl.sparse_rows import sparse_rows

BLOCK = 1024
"""Rows that are worked out at a time: 80 MB for the graph of PubMed."""
REST = 1e-6
"""Walks end when so little is left of what they began with."""


def diffuse_on_device(graphs: Graphs, kind: str, *, alpha: float, time: float, keep: int) -> Graphs:
    """What ``diffuse`` says with an accuracy of zero, by products of matrices where ``graphs`` are.

    With S = D^{-1/2}AD^{-1/2} both diffusions are series in S, which is symmetric: a row is a column.
    """
    matrix, degree = _symmetric(graphs)
    root, shares = degree.sqrt(), list(_ppr_shares(alpha) if kind == "ppr" else _heat_shares(time))
    found = [
        _largest(_series(matrix, rows, shares), root, keep)
        for rows in torch.arange(graphs.num_nodes, device=graphs.device).split(BLOCK)
    ]
    source, weight = (torch.cat(parts, 1).T for parts in zip(*found, strict=True))
    if kind == "heat":  # exp(tAD^{-1} − t) is D^{1/2}f(S)D^{-1/2}
        weight = weight * root[:, None] / root[source]
    there = weight > 0
    ptr = pad(there.sum(1).cumsum(0), (1, 0))
    source = source[there]
    return replace(
        graphs,
        edge_index=torch.stack([source, torch.repeat_interleave(ptr.diff())]),
        row_ptr=ptr,
        pair=torch.arange(len(source), device=graphs.device),
        symmetric=False,
        edge_attr=None,
        edge_weight=weight[there],
    )


def _symmetric(graphs: Graphs) -> tuple[Tensor, Tensor]:
    """``D^{-1/2}(A + I)D^{-1/2}`` as a sparse matrix, and D ``[N]``."""
    own = torch.arange(graphs.num_nodes, device=graphs.device)
    weight = graphs.edge_weight if graphs.edge_weight is not None else torch.ones_like(graphs.pair, dtype=torch.float32)
    source, destination = torch.cat([graphs.edge_index, own.expand(2, -1)], 1)
    weight = torch.cat([weight.float(), torch.ones_like(own, dtype=torch.float32)])
    degree = torch.zeros(graphs.num_nodes, device=graphs.device).index_add_(0, destination, weight)
    order = torch.argsort(destination * graphs.num_nodes + source)
    source, destination = source[order], destination[order]
    value = weight[order] * (degree[source] * degree[destination]).rsqrt()
    rows = torch.searchsorted(destination, torch.arange(graphs.num_nodes + 1, device=graphs.device))
    return sparse_rows(rows, source, value, graphs.num_nodes), degree


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
    """``[N, R]``: Σ_k shares[k] · matrix^k, the columns that ``rows`` names."""
    power = torch.zeros(matrix.shape[0], len(rows), device=rows.device)
    power[rows, torch.arange(len(rows), device=rows.device)] = 1
    total = shares[0] * power
    for share in shares[1:]:
        power = matrix @ power
        total.add_(power, alpha=share)
    return total


def _largest(columns: Tensor, root: Tensor, keep: int) -> tuple[Tensor, Tensor]:
    """``[keep, R]`` numbers and values of what is largest in each column as a walk sees it, by number."""
    index = (columns * root[:, None]).topk(min(keep, len(columns)), 0).indices.sort(0).values
    return index, columns.gather(0, index)
