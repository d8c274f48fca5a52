"""Preallocated tensors that graphs are copied into."""

from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from nmrgcl.graphs import Graphs
from nmrgcl.train.feed.source import Source

AT_A_TIME = 4096
"""How many graphs are copied at a time; few enough to stay in the processor's cache."""


@dataclass(frozen=True)
class BufferSizes:
    """Numbers of graphs, nodes and directed edges."""

    graphs: int = 0
    nodes: int = 0
    edges: int = 0

    @classmethod
    def of(cls, graphs: Graphs) -> "BufferSizes":
        """The sizes of ``graphs``."""
        return cls(graphs.num_graphs, graphs.num_nodes, graphs.num_edges)

    def __add__(self, other: "BufferSizes") -> "BufferSizes":
        return BufferSizes(self.graphs + other.graphs, self.nodes + other.nodes, self.edges + other.edges)

    def along(self, name: str, y_level: str) -> int:
        """The length of the tensor ``name`` for these sizes; for pointers, the index of the last entry."""
        if name == "node_ptr" or (name == "y" and y_level == "graph"):
            return self.graphs
        return self.nodes if name in ("x", "batch", "row_ptr", "y", "node_keep") else self.edges


class Buffers:
    """Space for graphs of total size ``extent`` on a ``device``; the addresses never change, only the content."""

    def __init__(self, like: Graphs, extent: BufferSizes, device: torch.device, *, pinned: bool = False) -> None:
        made: dict[str, Any] = {}
        for name, value in _tensors(like).items():
            shape = list(value.shape)
            shape[_axis(name)] = extent.along(name, like.y_level) + name.endswith("_ptr")
            made[name] = torch.zeros(shape, dtype=value.dtype, device=device, pin_memory=pinned)
        self.whole = replace(like, **made)

    @property
    def nbytes(self) -> int:
        """The size of all tensors in bytes."""
        return sum(value.nbytes for value in _tensors(self.whole).values())

    def fill(self, source: Source, index: Tensor) -> Graphs:
        """Copy the graphs at ``index`` into the buffers and return them as views of the buffers."""
        done = BufferSizes()
        for few in index.split(AT_A_TIME):
            part = source.take(few)
            self.put(part, done)
            done += BufferSizes.of(part)
        return self.part(done)

    def put(self, graphs: Graphs, start: BufferSizes | None = None) -> None:
        """Copy ``graphs`` to position ``start``; copies from pinned memory are asynchronous."""
        start = start or BufferSizes()
        # In the buffers, numbers of nodes, edges and graphs count from the first graph of all.
        shifts = {"node_ptr": start.nodes, "edge_index": start.nodes, "row_ptr": start.edges, "pair": start.edges}
        shifts["batch"] = start.graphs
        for name, value in _tensors(graphs).items():
            axis, first = _axis(name), start.along(name, graphs.y_level)
            place = getattr(self.whole, name).narrow(axis, first, value.shape[axis])
            place.copy_(value, non_blocking=True)
            if shifts.get(name):
                place += shifts[name]

    def part(self, extent: BufferSizes) -> Graphs:
        """The first graphs, of total size ``extent``, as views of the buffers."""
        narrowed: dict[str, Any] = {}
        for name, value in _tensors(self.whole).items():
            length = extent.along(name, self.whole.y_level) + name.endswith("_ptr")
            narrowed[name] = value.narrow(_axis(name), 0, length)
        return replace(self.whole, **narrowed)


def _tensors(graphs: Graphs) -> dict[str, Tensor]:
    values = ((f.name, getattr(graphs, f.name)) for f in fields(graphs))
    return {name: value for name, value in values if isinstance(value, Tensor)}


def _axis(name: str) -> int:
    return 1 if name == "edge_index" else 0
