"""Many graphs as flat tensors on one device: the one type that travels through the library.

A view of the graphs is a set of masks over the same tensors, not a copy, so that shapes stay static and nothing has to
wait for the host. ``compact()`` applies the masks for those who want smaller tensors.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from nmrgcl.edge_pairs import edge_pairs
from nmrgcl.errors import DataError
from nmrgcl.ops import on_host
from nmrgcl.ops.batch import Structure, gather, gather_padded, graphs_per_pass, select_edges, take_rows
from nmrgcl.ops.masks import edges_between
from nmrgcl.ops.new_edges import Listed, Merged, merge_edges
from nmrgcl.room import Room
from nmrgcl.sparse_rows import entry_rows, is_sparse, select_rows

NODE_FIELDS = ("x",)
EDGE_FIELDS = ("edge_attr", "edge_weight")
"""What a batch takes along row by row; ``y`` belongs to the nodes or to the graphs."""


HUB = 256
"""Where a node has more edges than this, a GPU sums rows in parts."""


class Sizes(NamedTuple):
    """``[B]`` nodes and directed edges of each graph, on the host."""

    nodes: Tensor
    edges: Tensor


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
        y: labels, one row per graph or per node (``y_level``).
        edge_attr: ``[E, ...]`` features of edges.
        edge_weight: ``[E]`` positive weights, which may have a gradient; None means all one.
        node_keep: ``[N]`` which nodes a view keeps; None means all.
        edge_keep: ``[E]`` which edges a view keeps, apart from those that go with their nodes.
        added: ``[2, A]`` edges that a view adds, padded to a size that does not depend on chance.
        added_keep: ``[A]`` which entries of ``added`` are edges and not padding.
        views: 2 if the second half of the graphs repeats the first half as another view.
        known_sizes: the sizes of the graphs, where they were known before the graphs came to a device; None means
            that the device is asked for them when they are needed. A copy with other pointers must not have them.
        hubs: some node may have more than ``HUB`` edges, which was found out before the graphs came to a device.

    Example:
        >>> import torch
        >>> from nmrgcl import Graphs
        >>> edges = torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])  # 0 - 1 in the first graph, 2 - 3 in the second
        >>> graphs = Graphs.build(edges, torch.tensor([0, 2, 5]), x=torch.eye(5))
        >>> graphs
        Graphs(2 graphs, 5 nodes, 4 directed edges, 5 dense features, cpu)
        >>> graphs.take(torch.tensor([1]))
        Graphs(1 graphs, 3 nodes, 2 directed edges, 5 dense features, cpu)
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
    known_sizes: Sizes | None = None
    hubs: bool = False

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
        # Sorted edges stay as they are: to sort them would copy them and their features.
        if not bool((key[1:] >= key[:-1]).all()):
            key, order = torch.sort(key, stable=True)
            edge_index = edge_index[:, order]
            edge_attr, edge_weight = _select(edge_attr, order), _select(edge_weight, order)
        pair, found = edge_pairs(edge_index, key, num_nodes)
        return cls(
            x=x,
            num_features=num_features,
            edge_index=edge_index.contiguous(),
            row_ptr=pad(torch.bincount(edge_index[1], minlength=num_nodes).cumsum(0), (1, 0)),
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
        """True if ``x`` names columns instead of holding values."""
        return not self.x.is_floating_point()

    @cached_property
    def edge_ptr(self) -> Tensor:
        """``[B + 1]``; the edges of graph ``g`` are ``edge_ptr[g]:edge_ptr[g + 1]``."""
        return self.row_ptr.index_select(0, self.node_ptr)

    @property
    def split(self) -> Tensor | None:
        """``[1]`` the first node of the second view, if there are two."""
        half = self.num_graphs // 2
        return self.node_ptr[half : half + 1] if self.views == 2 else None

    @property
    def masked(self) -> bool:
        """True if a view has removed or added anything, or might have."""
        return self.node_keep is not None or self.edge_keep is not None or self.added is not None

    @property
    def weights_learn(self) -> bool:
        """True if the weights of the edges need a gradient."""
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
        # Sizes are read while it costs nothing: asking the device for them later would wait for it.
        return replace(there.sized_like(self), hubs=self._has_hubs()) if on_host(self.node_ptr) else there

    def _has_hubs(self) -> bool:
        return self.num_edges > HUB and int(self.row_ptr.diff().max()) > HUB

    def dense_x(self) -> Tensor:
        """``[N, F]`` features as floating point, whichever way they are stored."""
        if is_sparse(self.x):  # to_dense() may wait for a device
            entries = entry_rows(self.x), self.x.col_indices()
            return self.x.values().new_zeros(self.x.shape).index_put_(entries, self.x.values())
        if not self.categorical:
            return self.x
        dense = torch.zeros(self.num_nodes, self.num_features + 1, device=self.device)
        # A spare column takes what names none and is cut off, because -1 is no valid place to add to.
        columns = torch.where(self.x < 0, self.num_features, self.x)
        return dense.scatter_add_(1, columns, torch.ones_like(columns, dtype=dense.dtype))[:, : self.num_features]

    # Batches

    def sizes(self) -> Sizes:
        """``[B]`` nodes and directed edges of each graph, on the host."""
        return Sizes(*self._sizes.unbind(1))

    @cached_property
    def _sizes(self) -> Tensor:
        """``[B, 2]`` the columns of ``sizes()``, so that one look-up finds both numbers of a graph."""
        known = self.known_sizes or [ptr.cpu().diff() for ptr in (self.node_ptr, self.edge_ptr)]
        return torch.stack([*known], 1)

    def sized_like(self, other: "Graphs") -> "Graphs":
        """These graphs, known to have the sizes of ``other``, so that no device has to be asked for them."""
        return replace(self, known_sizes=other.sizes())

    def take(self, index: Tensor) -> "Graphs":
        """The graphs named by ``index`` (on the host), in that order: gathers on the device, without waiting for it."""
        if self.added is not None:
            return self.merge_added().take(index)
        nodes, edges = self._sizes.index_select(0, index).sum(0).tolist()
        # Sizes come from the host's copy of the pointers, so nothing waits for the device.
        index = index.to(self.device, non_blocking=True)
        return self._batch(gather(self, index, nodes=nodes, edges=edges), index, select_rows)

    def take_padded(self, index: Tensor, room: Room) -> "Graphs":
        """``take`` for an ``index`` on the device, into tensors of the size ``room``, which the batch must fit into.

        Shapes then do not depend on the batch, and the host is not involved. Padding is masked, comes last, and belongs
        to no row and no graph.
        """
        return self._batch(gather_padded(self, index, nodes=room.nodes, edges=room.edges), index, take_rows)

    def _batch(self, found: Structure, index: Tensor, select: Callable[[Tensor, Tensor], Tensor]) -> "Graphs":
        """The graphs named by ``index``, put together as ``found`` says."""
        sources = dict.fromkeys(NODE_FIELDS, found.nodes) | dict.fromkeys(EDGE_FIELDS, found.edges)
        sources["y"] = index if self.y_level == "graph" else found.nodes
        changes: dict[str, Any] = {
            name: None if value is None else select(value, source)
            for name, source in sources.items()
            for value in [getattr(self, name)]
        }
        changes |= found._asdict()
        del changes["nodes"], changes["edges"]
        return replace(self, **changes, views=1, known_sizes=None)

    def passes(self, index: Tensor) -> Iterator["Graphs"]:
        """The graphs named by ``index`` (on the host) in turn, as many at a time as an encoder is fastest with.

        For embedding and classifying only, where the size of a batch does not change the result.
        """
        size = graphs_per_pass(self.num_graphs, self.num_nodes, self.device)
        yield from (self.take(part) for part in index.split(size))

    def twice(self) -> "Graphs":
        """All graphs, and all of them again as a second view with masks of its own: both at the cost of one pass."""
        index = torch.arange(2 * self.num_graphs, device=self.device) % self.num_graphs
        # The room is exact, so nothing is padding; unlike `take`, this needs no index on the host.
        return replace(self.take_padded(index, Room(2 * self.num_nodes, 2 * self.num_edges)), views=2)

    def room_for(self, batch_size: int) -> Room:
        """Enough for practically every random batch of that size; it depends on the graphs and the size alone."""
        return Room.for_batches(*self.sizes(), batch_size)

    def fits(self, index: Tensor, room: Room) -> bool:
        """True if ``room`` suffices for the batch named by ``index`` (on the host)."""
        nodes, edges = self._sizes.index_select(0, index).sum(0).tolist()
        return bool(nodes <= room.nodes and edges <= room.edges)

    # Views

    def keep_nodes(self, keep: Tensor) -> "Graphs":
        """Remove the nodes where ``keep`` ([N], bool) is false, on top of what is removed already."""
        return replace(self, node_keep=keep if self.node_keep is None else self.node_keep & keep)

    def keep_edges(self, keep: Tensor, added_keep: Tensor | None = None) -> "Graphs":
        """Remove the edges where ``keep`` ([E], bool) is false; likewise ``added_keep`` for added edges.

        Both directions of an undirected edge must be kept or removed together: ``keep`` equals ``keep[pair]``.
        """
        keep = keep if self.edge_keep is None else self.edge_keep & keep
        if self.added_keep is not None and added_keep is not None:
            added_keep = self.added_keep & added_keep
        else:
            added_keep = self.added_keep
        return replace(self, edge_keep=keep, added_keep=added_keep)

    @cached_property
    def live_edges(self) -> Tensor:
        """``[E]`` which edges exist: they and both their ends are kept. Cached, because every layer needs it."""
        if self.node_keep is not None:
            return edges_between(self.edge_index, self.node_keep, self.edge_keep)
        return torch.ones_like(self.pair, dtype=torch.bool) if self.edge_keep is None else self.edge_keep

    def node_counts(self) -> Tensor:
        """``[B]`` how many nodes each graph keeps."""
        if self.node_keep is None:
            return self.node_ptr.diff()
        return pad(self.node_keep.cumsum(0), (1, 0))[self.node_ptr].diff()

    def with_new_edges(self, new: Listed | Merged) -> "Graphs":
        """These graphs with edges that a view adds, which are listed apart or already sorted in among the others."""
        if isinstance(new, Listed):
            return replace(self, added=new.added, added_keep=new.keep)
        return replace(
            self,
            edge_index=new.edge_index,
            row_ptr=new.row_ptr,
            pair=new.pair,
            edge_keep=new.edge_keep,
            # Edges that a view invents have no features of their own: zero, and the ordinary weight.
            edge_attr=_select_or(self.edge_attr, new.origin, 0),
            edge_weight=_select_or(self.edge_weight, new.origin, 1),
            added=None,
            added_keep=None,
            known_sizes=None,
        )

    def merge_added(self) -> "Graphs":
        """Sort the added edges in among the others; padding goes last, beyond every row.

        The number of edges stays what it was plus the padded size of ``added``, so nothing waits for the host.
        """
        if self.added is None or self.added_keep is None:
            return self
        return self.with_new_edges(merge_edges(self, self.added, self.added_keep))

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
            edge_index=select_edges(self.edge_index, edges),
            row_ptr=kept_edges.index_select(0, self.row_ptr),
            # A pair goes as a whole, so the first of the two is still there.
            pair=kept_edges.index_select(0, self.pair.index_select(0, edges)),
            edge_attr=_select(self.edge_attr, edges),
            edge_weight=_select(self.edge_weight, edges),
            edge_keep=None,
            known_sizes=None,
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
        # Edges of removed nodes have to be masked themselves, as the mask of nodes goes.
        return replace(self, edge_keep=self.live_edges)._without_nodes()

    def _without_nodes(self) -> "Graphs":
        """Only the kept nodes; no edge that is kept may touch another one."""
        # Callers have masked or removed every edge that touches a removed node.
        keep = torch.ones_like(self.batch, dtype=torch.bool) if self.node_keep is None else self.node_keep
        nodes, kept = keep.nonzero().squeeze(1), keep.cumsum(0)
        row_ptr = torch.cat([self.row_ptr.index_select(0, nodes), self.row_ptr[-1:]])
        # The first row also gets the masked edges of nodes that were removed before it.
        row_ptr[:1] = 0
        # A removed end counts as the kept node before it, which does no harm, as its edges are masked.
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
            known_sizes=None,
        )


def _select(values: Tensor | None, index: Tensor) -> Tensor | None:
    return None if values is None else values.index_select(0, index)


def _select_or(values: Tensor | None, index: Tensor, beyond: float) -> Tensor | None:
    """``_select`` where an index one beyond the last row means a row of ``beyond``."""
    if values is None:
        return None
    return torch.cat([values, values.new_full((1, *values.shape[1:]), beyond)]).index_select(0, index)
