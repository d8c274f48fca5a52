"""Diffusion: a graph whose edges say how much of a walk that starts at one node is at another (MVGRL).

Rows are worked out in blocks, and what is small beside a node's degree is not passed on (Andersen et al. 2006): the
work for a node depends on the accuracy asked for, not on the size of the graph, and no N × N matrix exists.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import exp
from typing import Any, Literal

import numpy as np
import torch
from scipy.sparse import csr_array, diags_array, eye_array, vstack
from torch.utils.weak import WeakTensorKeyDictionary

from nmrgcl.augment.diffusion_on_device import diffuse_on_device
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs

Diffusion = Literal["ppr", "heat"]
BLOCK = 1024
"""Rows that are worked out at a time."""


def diffuse(
    graphs: Graphs,
    kind: Diffusion = "ppr",
    *,
    alpha: float = 0.2,
    time: float = 5.0,
    keep: int = 32,
    accuracy: float = 1e-4,
) -> Graphs:
    """The same nodes; the weight of the edge u → v is entry (v, u) of the diffusion matrix, loops included.

    With A including self-loops and D its degrees: ``ppr`` is α(I − (1 − α)D^{-1/2}AD^{-1/2})^{-1}, ``heat`` is
    exp(tAD^{-1} − t).

    Args:
        graphs: undirected; what a view has removed is not walked on.
        kind: "ppr" or "heat".
        alpha: probability to return to the start, for "ppr".
        time: t, for "heat".
        keep: the largest entries of a row that stay.
        accuracy: at most this much, for each unit of a node's degree, is not passed on; 0, as on a GPU, passes
            everything on.
    """
    if kind not in ("ppr", "heat"):
        raise SettingError(f"unknown diffusion {kind!r}; known: ppr, heat")
    if graphs.weights_learn:
        raise SettingError("a diffusion has no gradient by edge weights; detach them first")
    graphs = graphs.compact()
    if graphs.device.type == "cuda":
        return diffuse_on_device(graphs, kind, alpha=alpha, time=time, keep=keep)
    adjacency = _with_loops(graphs)
    degree = adjacency.sum(1)
    walk = csr_array(diags_array(1 / degree) @ adjacency)
    parts = []
    for rows in _blocks(graphs.num_nodes):
        if kind == "ppr":
            found = _ppr(rows, walk, degree, alpha, accuracy)
        else:
            found = _heat(rows, walk, degree, time, accuracy)
        parts.append(_largest(found, keep))
    # D^{-1}A, along whose rows it was walked, is similar to the matrices of both formulas.
    scale = degree**0.5 if kind == "ppr" else degree
    return _as_graphs(csr_array(diags_array(scale) @ vstack(parts) @ diags_array(1 / scale)), graphs)


class DiffusedOnce:
    """``diffuse`` with these options, worked out once for each structure; features are those of the graphs given."""

    def __init__(self, kind: Diffusion, **options: Any) -> None:
        self.kind, self.options, self.known = kind, options, WeakTensorKeyDictionary()

    def __call__(self, graphs: Graphs) -> Graphs:
        """The diffusion of ``graphs``, of which no view has removed anything."""
        if graphs.edge_index not in self.known:
            self.known[graphs.edge_index] = replace(diffuse(graphs, self.kind, **self.options), y=None)
        found: Graphs = self.known[graphs.edge_index]
        return replace(found, x=graphs.x)


def _ppr(rows: np.ndarray, walk: csr_array, degree: np.ndarray, alpha: float, accuracy: float) -> csr_array:
    """α Σ (1 − α)^k walk^k, the given rows of it: as long as anything is worth passing on, pass on all that is."""
    waiting = _starts(rows, walk.shape[0])
    found = csr_array(waiting.shape)
    while waiting.nnz:
        moving = waiting.copy()
        moving.data[moving.data < max(accuracy, 1e-12) * degree[moving.indices]] = 0
        moving.eliminate_zeros()
        if not moving.nnz:
            break
        found = found + alpha * moving
        waiting = csr_array(waiting - moving + (1 - alpha) * (moving @ walk))
    return found


def _heat(rows: np.ndarray, walk: csr_array, degree: np.ndarray, time: float, accuracy: float) -> csr_array:
    """e^{-t} Σ t^k / k! walk^k, the given rows of it."""
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


def _largest(rows: csr_array, keep: int) -> csr_array:
    """The ``keep`` largest entries of each row, the first of equals."""
    rows = csr_array(rows)
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    order = np.lexsort((rows.indices, -rows.data, row))
    rank = np.arange(len(order)) - rows.indptr[row]
    kept = order[rank < keep]
    return csr_array((rows.data[kept], (row[kept], rows.indices[kept])), rows.shape)


def _with_loops(graphs: Graphs) -> csr_array:
    cpu = graphs.to("cpu")
    source, destination = cpu.edge_index.numpy()
    weight = np.ones(len(source)) if cpu.edge_weight is None else cpu.edge_weight.double().numpy()
    size = (cpu.num_nodes, cpu.num_nodes)
    return csr_array(csr_array((weight, (destination, source)), size) + eye_array(cpu.num_nodes))


def _starts(rows: np.ndarray, width: int) -> csr_array:
    return csr_array((np.ones(len(rows)), rows, np.arange(len(rows) + 1)), (len(rows), width))


def _blocks(count: int) -> Iterator[np.ndarray]:
    yield from np.array_split(np.arange(count), max(1, -(-count // BLOCK)))


def _as_graphs(matrix: csr_array, graphs: Graphs) -> Graphs:
    matrix.sort_indices()
    ptr, source = (torch.from_numpy(part.astype(np.int64)) for part in (matrix.indptr, matrix.indices))
    edge_index = torch.stack([source, torch.repeat_interleave(ptr.diff())])
    diffused = replace(
        graphs,
        edge_index=edge_index,
        row_ptr=ptr,
        pair=torch.arange(len(source)),
        symmetric=False,
        edge_attr=None,
        edge_weight=torch.from_numpy(matrix.data.astype(np.float32)),
    )
    return diffused.to(graphs.device)
