"""Diffusion: a graph whose edges say how much of a walk that starts at one node is at another (MVGRL)."""

from dataclasses import replace
from typing import Any

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.ops.diffusion import Diffusion, diffusion_entries


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
    found = diffusion_entries(
        graphs.edge_index, graphs.edge_weight, graphs.num_nodes, kind,
        alpha=alpha, time=time, keep=keep, accuracy=accuracy,
    )  # fmt: skip
    return replace(
        graphs,
        edge_index=torch.stack([found.source, torch.repeat_interleave(found.row_ptr.diff())]),
        row_ptr=found.row_ptr,
        # Keeping the largest entries of each row breaks the symmetry, so every entry is an edge of its own.
        pair=torch.arange(len(found.source), device=graphs.device),
        symmetric=False,
        edge_attr=None,
        edge_weight=found.weight,
        known_sizes=None,
    )


class DiffusedOnce:
    """``diffuse`` with these options, computed once for each structure; features are those of the graphs given."""

    def __init__(self, kind: Diffusion, **options: Any) -> None:
        self.kind, self.options, self.known = kind, options, WeakTensorKeyDictionary()

    def __call__(self, graphs: Graphs) -> Graphs:
        """The diffusion of ``graphs``, of which no view has removed anything."""
        if graphs.edge_index not in self.known:
            self.known[graphs.edge_index] = replace(diffuse(graphs, self.kind, **self.options), y=None)
        found: Graphs = self.known[graphs.edge_index]
        return replace(found, x=graphs.x)
