"""Many graphs as flat tensors on one device: the one type that travels through the library.

A view of the graphs is a set of masks over the same tensors, not a copy, so that shapes stay static
and nothing has to wait for the host. ``compact()`` applies the masks for those who want smaller tensors.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import pad

from nmrgcl import ops
from nmrgcl.errors import DataError
from nmrgcl.sparse_rows import entry_rows, is_sparse, select_rows

GRAPHS_AT_ONCE = 512
"""In one pass of an encoder that does not learn."""
NODES_IN_CACHES = 8192
"""On a processor, in one such pass; tensors of more nodes are read from memory again and again (LAB.md)."""


@dataclass(frozen=True, eq=False)
class Graphs:
    """``B`` graphs with ``N`` nodes and ``E`` directed edges in all; nodes and edges of a graph are contiguous.

    Attributes:
        x: node features, either dense (floating point, ``[N, F]``), the same as a sparse CSR tensor, or categorical
            (``int64``, ``[N, C]``): each row then names the columns that are one, and -1 names none.
        num_features: ``F``, also for categorical ``x``.
        edge_index: ``[2, E]`` source and destination, sorted by destination, then source.
        row_ptr: ``[N + 1]``; the edges into node ``v`` are ``row_ptr[v]:row_ptr[v + 1]``.
        node_ptr: ``[B + 1]``; the nodes of graph ``g`` are ``node_ptr[g]:node_ptr[g + 1]``.
        batch: ``[N]`` the graph of each node.
        pair: ``[E]`` the first of the (one or two) directed edges that make up the same undirected edge.
        symmetric: every edge has its reverse, so the adjacency matrix is its own transpose.
        y: labels, one row a graph or a node (``y_level``).
        edge_attr: ``[E, ...]`` features of edges.
        edge_weight: ``[E]`` positive weights, which may have a gradient; None means all one.
        node_keep: ``[N]`` which nodes a view keeps; None means all.
        edge_keep: ``[E]`` which edges a view keeps, apart from those that go with their nodes.
        added: ``[2, A]`` edges that a view adds, padded to a size that does not depend on chance.
        added_keep: ``[A]`` which entries of ``added`` are edges and not padding.
        views: 2 where the second half of the graphs are the first half again, to be seen as another view.
    """

    x: Tensor
    num_features: int
    edge_index: Tensor
    row_ptr: Tensor
    node_ptr: Tensor
    batch: Tensor
    pair: Tensor
    symmetric: bool
    y: Tensor | None = None
    y_level: Literal["graph", "node"] = "graph"
    edge_attr: Tensor | None = None
    edge_weight: Tensor | None = None
    node_keep: Tensor | None = None
    edge_keep: Tensor | None = None
    added: Tensor | None = None
    added_keep: Tensor | None = None
    views: int = 1

    @classmethod
    def build(
        cls,
        edge_index: Tensor,
        node_ptr: Tensor,
        *,
        x: Tensor | None = None,
        num_features: int | None = None,
        y: Tensor | None = None,
        y_level: Literal["graph", "node"] = "graph",
        edge_attr: Tensor | None = None,
        edge_weight: Tensor | None = None,
    ) -> "Graphs":
        """Sort the edges and derive pointers; without ``x`` every node has the constant feature 1."""
        num_nodes = int(node_ptr[-1])
        if x is None:
            x, num_features = torch.zeros(num_nodes, 1, dtype=torch.long, device=node_ptr.device), 1
        elif num_features is None:
            num_features = x.shape[1] if x.is_floating_point() else int(x.max()) + 1 if x.numel() else 0
        batch = torch.repeat_interleave(node_ptr.diff())
        source, destination = edge_index
        if edge_index.numel():
            if int(edge_index.min()) < 0 or int(edge_index.max()) >= num_nodes:
                raise DataError(f"an edge points outside the {num_nodes} nodes")
            if not torch.equal(batch[source], batch[destination]):
                raise DataError("an edge joins two graphs")
        key = destination * num_nodes + source
        if not bool((key[1:] >= key[:-1]).all()):
            key, order = torch.sort(key, stable=True)
            edge_index, edge_attr, edge_weight = (
                edge_index[:, order],
                _select(edge_attr, order),
                _select(edge_weight, order),
            )
        pair, found = _pair_edges(edge_index, key, num_nodes)
        row_ptr = pad(torch.bincount(edge_index[1], minlength=num_nodes).cumsum(0), (1, 0))
        return cls(
            x=x,
            num_features=num_features,
            edge_index=edge_index.contiguous(),
            row_ptr=row_ptr,
            node_ptr=node_ptr,
            batch=batch,
            pair=pair,
            symmetric=bool(found.all()),
            y=y,
            y_level=y_level,
            edge_attr=edge_attr,
            edge_weight=edge_weight,
        )

    @property
    def num_graphs(self) -> int:
        """``B``."""
        return self.node_ptr.shape[0] - 1

    @property
    def num_nodes(self) -> int:
        """``N``, masked nodes included."""
        return self.x.shape[0]

    @property
    def num_edges(self) -> int:
        """``E``, directed, masked edges included, added ones not."""
        return self.edge_index.shape[1]

    @property
    def device(self) -> torch.device:
        """The device that holds every tensor."""
        return self.x.device

    @property
    def categorical(self) -> bool:
        """Whether ``x`` names columns instead of holding values."""
        return not self.x.is_floating_point()

    @cached_property
    def edge_ptr(self) -> Tensor:
        """``[B + 1]`` the edges of graph ``g`` are ``edge_ptr[g]:edge_ptr[g + 1]``; every batch asks for it."""
        return self.row_ptr.index_select(0, self.node_ptr)

    @property
    def split(self) -> Tensor | None:
        """``[1]`` the first node of the second view, where there are two."""
        half = self.num_graphs // 2
        return self.node_ptr[half : half + 1] if self.views == 2 else None

    @property
    def masked(self) -> bool:
        """Whether a view has removed or added anything (or might have)."""
        return self.node_keep is not None or self.edge_keep is not None or self.added is not None

    @property
    def weights_learn(self) -> bool:
        """Whether a gradient by the weights of the edges is asked for."""
        return self.edge_weight is not None and self.edge_weight.requires_grad

    def __len__(self) -> int:
        return self.num_graphs

    def __repr__(self) -> str:
        kind = "categorical" if self.categorical else "dense"
        return (
            f"Graphs({self.num_graphs} graphs, {self.num_nodes} nodes, {self.num_edges} directed edges, "
            f"{self.num_features} {kind} features, {self.device})"
        )

    def to(self, device: torch.device | str) -> "Graphs":
        """The same graphs on another device."""
        values = ((f.name, getattr(self, f.name)) for f in fields(self))
        moved: dict[str, Any] = {name: value.to(device) for name, value in values if isinstance(value, Tensor)}
        there = replace(self, **moved)
        return there.sized_like(self) if self.device.type == "cpu" else there

    def dense_x(self) -> Tensor:
        """``[N, F]`` features as floating point, whichever way they are stored."""
        if is_sparse(self.x):  # to_dense() may wait for a device
            entries = entry_rows(self.x), self.x.col_indices()
            return self.x.values().new_zeros(self.x.shape).index_put_(entries, self.x.values())
        if not self.categorical:
            return self.x
        dense = torch.zeros(self.num_nodes, self.num_features + 1, device=self.device)
        columns = torch.where(self.x < 0, self.num_features, self.x)
        return dense.scatter_add_(1, columns, torch.ones_like(columns, dtype=dense.dtype))[:, : self.num_features]

    # Batches

    @cached_property
    def _host_ptr(self) -> tuple[Tensor, Tensor]:
        """Pointers on the host: sizes of a batch are known there without asking the device."""
        return self.node_ptr.cpu(), self.edge_ptr.cpu()

    def sizes(self) -> tuple[Tensor, Tensor]:
        """``[B]`` nodes and directed edges of each graph, on the host."""
        nodes, edges = self._host_sizes.unbind(1)
        return nodes, edges

    def sized_like(self, other: "Graphs") -> "Graphs":
        """These graphs, whose sizes are those of ``other``: the host need not ask the device for them."""
        vars(self)["_host_ptr"] = other._host_ptr
        return self

    def _bounds(self, index: Tensor) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Where the nodes and the edges of the graphs named by ``index`` begin and end; others may be millions."""
        nodes = self.node_ptr.index_select(0, index), self.node_ptr.index_select(0, index + 1)
        return nodes, (self.row_ptr.index_select(0, nodes[0]), self.row_ptr.index_select(0, nodes[1]))

    @cached_property
    def _host_sizes(self) -> Tensor:
        """``[B, 2]`` on the host: how many nodes and edges each graph has."""
        return torch.stack([ptr.diff() for ptr in self._host_ptr], 1)

    def take(self, index: Tensor) -> "Graphs":
        """The graphs named by ``index`` (on the host), in that order: gathers on the device, no waiting for it."""
        if self.added is not None:
            return self.merge_added().take(index)
        num_nodes, num_edges = self._host_sizes.index_select(0, index).sum(0).tolist()
        index = index.to(self.device, non_blocking=True)
        of_nodes, of_edges = self._bounds(index)
        nodes, edges = _Ranges(*of_nodes, num_nodes), _Ranges(*of_edges, num_edges)
        row_ptr = self.row_ptr.index_select(0, nodes.items) - edges.shift.index_select(0, nodes.owner)
        return Graphs(
            x=select_rows(self.x, nodes.items),
            num_features=self.num_features,
            edge_index=_select_edges(self.edge_index, edges.items).sub_(nodes.shift.index_select(0, edges.owner)),
            row_ptr=pad(row_ptr, (0, 1), value=num_edges),
            node_ptr=nodes.ptr,
            batch=nodes.owner,
            pair=self.pair.index_select(0, edges.items) - edges.shift.index_select(0, edges.owner),
            symmetric=self.symmetric,
            y=_select(self.y, index if self.y_level == "graph" else nodes.items),
            y_level=self.y_level,
            edge_attr=_select(self.edge_attr, edges.items),
            edge_weight=_select(self.edge_weight, edges.items),
            node_keep=_select(self.node_keep, nodes.items),
            edge_keep=_select(self.edge_keep, edges.items),
        )

    def passes(self, index: Tensor) -> Iterator["Graphs"]:
        """The graphs named by ``index`` (on the host) in turn, as many at a time as an encoder is quick with.

        For embedding and classifying only: on a processor, what caches do not hold takes up to four times as long.
        """
        size = GRAPHS_AT_ONCE
        if self.device.type == "cpu":
            size = max(1, min(size, NODES_IN_CACHES * self.num_graphs // max(1, self.num_nodes)))
        yield from (self.take(part) for part in index.split(size))

    def take_padded(self, index: Tensor, room: "Room") -> "Graphs":
        """``take`` for an ``index`` on the device, with tensors as large as ``room`` says whatever the batch needs.

        Shapes then do not depend on the batch, and nothing is asked of the host. What is not needed is masked, comes
        last, and lies in no row and no graph. The batch must fit.
        """
        if ops.serve(index):
            return self._gather_padded(index, room)
        of_nodes, of_edges = self._bounds(index)
        nodes = _Ranges(*of_nodes, room.nodes, padded=True)
        edges = _Ranges(*of_edges, room.edges, padded=True)
        row_ptr = self.row_ptr.index_select(0, nodes.items) - edges.shift.index_select(0, nodes.owner)
        row_ptr = torch.where(nodes.used, row_ptr, edges.ptr[-1])
        edge_index = self.edge_index.index_select(1, edges.items) - nodes.shift.index_select(0, edges.owner)
        pair = self.pair.index_select(0, edges.items) - edges.shift.index_select(0, edges.owner)
        return Graphs(
            x=select_rows(self.x, nodes.items),
            num_features=self.num_features,
            edge_index=torch.where(edges.used, edge_index, room.nodes - 1),
            row_ptr=torch.cat([row_ptr, edges.ptr[-1:]]),
            node_ptr=nodes.ptr,
            batch=nodes.owner,
            pair=torch.where(edges.used, pair, torch.arange(room.edges, device=self.device)),
            symmetric=self.symmetric,
            y=_select(self.y, index if self.y_level == "graph" else nodes.items),
            y_level=self.y_level,
            edge_attr=_select(self.edge_attr, edges.items),
            edge_weight=_select(self.edge_weight, edges.items),
            node_keep=nodes.used if self.node_keep is None else nodes.used & self.node_keep[nodes.items],
            edge_keep=edges.used if self.edge_keep is None else edges.used & self.edge_keep[edges.items],
        )

    def _gather_padded(self, index: Tensor, room: "Room") -> "Graphs":
        """``take_padded`` by a kernel."""
        from nmrgcl.ops.triton.batch import gather_structure
        from nmrgcl.ops.triton.rows import take_rows

        found = gather_structure(
            index, self.edge_index, self.row_ptr, self.node_ptr, self.pair, self.node_keep, self.edge_keep,
            nodes=room.nodes, edges=room.edges,
        )  # fmt: skip
        y = None if self.y is None else take_rows(self.y, index if self.y_level == "graph" else found.nodes)
        return Graphs(
            x=take_rows(self.x, found.nodes),
            num_features=self.num_features,
            edge_index=found.edge_index,
            row_ptr=found.row_ptr,
            node_ptr=found.node_ptr,
            batch=found.batch,
            pair=found.pair,
            symmetric=self.symmetric,
            y=y,
            y_level=self.y_level,
            edge_attr=None if self.edge_attr is None else take_rows(self.edge_attr, found.edges),
            edge_weight=None if self.edge_weight is None else take_rows(self.edge_weight, found.edges),
            node_keep=found.node_keep,
            edge_keep=found.edge_keep,
        )

    def twice(self) -> "Graphs":
        """All graphs, and all of them again as a second view, with masks of their own: both at the cost of one pass."""
        index = torch.arange(2 * self.num_graphs, device=self.device) % self.num_graphs
        return replace(self.take_padded(index, Room(2 * self.num_nodes, 2 * self.num_edges)), views=2)

    def room_for(self, batch_size: int) -> "Room":
        """Enough for practically every random batch of that size; it depends on the graphs and the size alone."""
        return Room.for_batches(*self.sizes(), batch_size)

    def fits(self, index: Tensor, room: "Room") -> bool:
        """Whether the batch named by ``index`` (on the host) has room."""
        nodes, edges = self._host_sizes.index_select(0, index).sum(0).tolist()
        return bool(nodes <= room.nodes and edges <= room.edges)

    # Views

    def keep_nodes(self, keep: Tensor) -> "Graphs":
        """Remove the nodes where ``keep`` ([N], bool) is false, on top of what is removed already."""
        return replace(self, node_keep=keep if self.node_keep is None else self.node_keep & keep)

    def keep_edges(self, keep: Tensor, added_keep: Tensor | None = None) -> "Graphs":
        """Remove the edges where ``keep`` ([E], bool) is false; likewise ``added_keep`` for added edges.

        Both directions of an undirected edge must fare alike: ``keep`` equals ``keep[pair]``.
        """
        keep = keep if self.edge_keep is None else self.edge_keep & keep
        if self.added_keep is not None and added_keep is not None:
            added_keep = self.added_keep & added_keep
        else:
            added_keep = self.added_keep
        return replace(self, edge_keep=keep, added_keep=added_keep)

    @cached_property
    def live_edges(self) -> Tensor:
        """``[E]`` which edges are there: kept themselves, and so are both their ends; every layer asks for it."""
        live = self.edge_keep
        if self.node_keep is not None and ops.serve(self.node_keep):
            from nmrgcl.ops.triton.masks import edges_between

            return edges_between(self.edge_index, self.node_keep, live)
        if self.node_keep is not None:
            source, destination = (self.node_keep.index_select(0, end) for end in self.edge_index)
            ends = source.logical_and_(destination)
            live = ends if live is None else ends.logical_and_(live)
        return torch.ones_like(self.pair, dtype=torch.bool) if live is None else live

    def node_counts(self) -> Tensor:
        """``[B]`` how many nodes each graph keeps."""
        if self.node_keep is None:
            return self.node_ptr.diff()
        return pad(self.node_keep.cumsum(0), (1, 0))[self.node_ptr].diff()

    def merge_added(self) -> "Graphs":
        """Sort the added edges in among the others; padding goes last, beyond every row.

        The number of edges stays what it was plus the padded size of ``added``, so nothing waits for the host.
        """
        if self.added is None or self.added_keep is None:
            return self
        n, own, new = self.num_nodes, self.num_edges, self.added.shape[1]
        there = self.added_keep
        if self.node_keep is not None:
            there = there & self.node_keep[self.added].all(0)
        added = torch.where(there, self.added, n - 1)
        key, by_key = torch.sort(torch.where(there, added[1] * n + added[0], n * n), stable=True)
        own_before = torch.searchsorted(self.edge_index[1] * n + self.edge_index[0], key)
        new_before = self.pair.new_zeros(own + 1).scatter_add_(0, own_before, torch.ones_like(key))
        position = torch.arange(own + new, device=self.device)
        own_place = position[:own] + new_before.cumsum(0)[:own]
        new_place = torch.empty_like(key).index_copy_(0, by_key, own_before + position[:new])
        order = torch.empty_like(position).index_copy_(0, torch.cat([own_place, new_place]), position)
        # The second half of what is added is the first, reversed.
        first = torch.minimum(*new_place.chunk(2))
        pair = torch.cat([own_place.index_select(0, self.pair), first, first])
        rows = torch.zeros_like(self.row_ptr).scatter_add_(0, added[1] + 1, there.long())
        return replace(
            self,
            edge_index=_select_edges(torch.cat([self.edge_index, added], 1), order),
            row_ptr=self.row_ptr + rows.cumsum(0),
            pair=pair.index_select(0, order),
            # Edges that a view invents have no features of their own: zero, and the ordinary weight.
            edge_attr=_select(_extend(self.edge_attr, new, 0), order),
            edge_weight=_select(_extend(self.edge_weight, new, 1), order),
            edge_keep=torch.cat([self.live_edges, there]).index_select(0, order),
            added=None,
            added_keep=None,
        )

    def compact(self) -> "Graphs":
        """The same graphs without masks: what is removed is gone, what is added is sorted in."""
        if self.added is not None:
            return self.merge_added().compact()
        if not self.masked:
            return self
        kept_edges = pad(self.live_edges.cumsum(0), (1, 0))
        edges = self.live_edges.nonzero().squeeze(1)
        plain = replace(
            self,
            edge_index=_select_edges(self.edge_index, edges),
            row_ptr=kept_edges.index_select(0, self.row_ptr),
            # A pair goes as a whole, so the first of the two is still there.
            pair=kept_edges.index_select(0, self.pair.index_select(0, edges)),
            edge_attr=_select(self.edge_attr, edges),
            edge_weight=_select(self.edge_weight, edges),
            edge_keep=None,
        )
        return plain if plain.node_keep is None else plain._without_nodes()

    def compact_nodes(self) -> "Graphs":
        """For an encoder: the same graphs without the nodes that are removed; edges that are gone stay, masked.

        That is much cheaper than ``compact()``. The edges of a removed node fall to the row before its own, which may
        be another graph's, so no batch can be taken from the result.
        """
        if self.added is not None:
            return self.merge_added().compact_nodes()
        if self.node_keep is None:
            return self
        return replace(self, edge_keep=self.live_edges)._without_nodes()

    def _without_nodes(self) -> "Graphs":
        """Only kept nodes, if no edge that is kept touches another one."""
        keep = torch.ones_like(self.batch, dtype=torch.bool) if self.node_keep is None else self.node_keep
        nodes, kept = keep.nonzero().squeeze(1), keep.cumsum(0)
        row_ptr = torch.cat([self.row_ptr.index_select(0, nodes), self.row_ptr[-1:]])
        row_ptr[:1] = 0
        number = (kept - 1).clamp_(min=0)
        return replace(
            self,
            x=select_rows(self.x, nodes),
            batch=self.batch.index_select(0, nodes),
            node_ptr=pad(kept, (1, 0)).index_select(0, self.node_ptr),
            y=_select(self.y, nodes) if self.y_level == "node" else self.y,
            edge_index=number.index_select(0, self.edge_index.flatten()).view_as(self.edge_index),
            row_ptr=row_ptr,
            node_keep=None,
        )


@dataclass(frozen=True)
class Room:
    """How many nodes and edges a padded batch has."""

    nodes: int
    edges: int

    @classmethod
    def for_batches(cls, nodes: Tensor, edges: Tensor, batch_size: int) -> "Room":
        """Enough for practically every random batch of graphs of which each has so many."""
        sizes = [nodes.double(), edges.double()]
        # A sum of so many draws exceeds its mean by five standard deviations once in millions; the largest, never.
        bounds = [
            min(s.mean() * batch_size + 5 * s.std(correction=0) * batch_size**0.5, s.max() * batch_size) for s in sizes
        ]
        return cls.of(*map(int, bounds))

    @classmethod
    def of(cls, nodes: int, edges: int) -> "Room":
        """Of at least that size; sizes come in steps, so that few kernels are compiled for them."""
        return cls(nodes // 256 * 256 + 256, edges // 256 * 256 + 256)


class _Ranges:
    """The items of the ranges ``start[i]:end[i]``, one range after another.

    There are ``total`` of them, or fewer, and then the rest of the places is not ``used``.
    """

    def __init__(self, start: Tensor, end: Tensor, total: int, *, padded: bool = False) -> None:
        count = end - start
        self.ptr = pad(count.cumsum(0), (1, 0))
        self.shift = start - self.ptr[:-1]  # old position minus new position
        place = torch.arange(total, device=start.device)
        if padded:
            self.used = place < self.ptr[-1]
            self.owner = torch.searchsorted(self.ptr[1:], place, right=True).clamp_(max=start.shape[0] - 1)
            self.items = torch.where(self.used, place + self.shift.index_select(0, self.owner), 0)
        else:
            self.owner = torch.repeat_interleave(count, output_size=total)
            self.items = place + self.shift.index_select(0, self.owner)


def _pair_edges(edge_index: Tensor, key: Tensor, num_nodes: int) -> tuple[Tensor, Tensor]:
    """First edge of each undirected pair, and whether an edge has its reverse (``[E]`` each).

    ``key`` = destination · N + source, sorted. The k-th copy of an edge is paired with the k-th copy of its reverse.
    """
    position = torch.arange(key.shape[0], device=key.device)
    if key.shape[0] == 0:
        return position, torch.ones_like(key, dtype=torch.bool)
    reverse_key = edge_index[0] * num_nodes + edge_index[1]
    # In place, because the largest datasets are as large as memory allows.
    reverse = torch.searchsorted(key, reverse_key).sub_(torch.searchsorted(key, key)).add_(position)
    reverse.clamp_(max=key.shape[0] - 1)
    found = key[reverse] == reverse_key
    return torch.where(found, torch.minimum(position, reverse), position), found


def _select(values: Tensor | None, index: Tensor) -> Tensor | None:
    return None if values is None else values.index_select(0, index)


def _select_edges(edge_index: Tensor, index: Tensor) -> Tensor:
    """``edge_index[:, index]``, row by row, which is faster."""
    out = edge_index.new_empty(2, index.shape[0])
    for ends, place in zip(edge_index, out, strict=True):
        torch.index_select(ends, 0, index, out=place)
    return out


def _extend(values: Tensor | None, count: int, fill: float) -> Tensor | None:
    return None if values is None else torch.cat([values, values.new_full((count, *values.shape[1:]), fill)])
