"""Build a dataset from the raw lists of nodes and edges that all readers produce."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from nmrgcl.data.categories import Categories
from nmrgcl.data.dataset import Dataset, Label, Level
from nmrgcl.data.edges import Counts, directed, merged_weights, undirected
from nmrgcl.data.texts import Texts
from nmrgcl.errors import DataError, say
from nmrgcl.graphs import Graphs

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_NODES = 1 << 31
"""Edges are sorted by the 64-bit key destination · N + source, which must not overflow."""


@dataclass(frozen=True, eq=False)
class Listing:
    """Graphs as listed in a file, before edges are sorted, merged or made undirected; ``R`` is the number of rows.

    Attributes:
        sizes: ``[B]`` number of nodes of each graph; the nodes of a graph are consecutive.
        source: ``[R]`` source node of each edge, numbered from 0 over the nodes of all graphs.
        destination: ``[R]`` destination node, in the same graph.
        mutual: each row stands for both directions of an edge, as in an undirected file.
        stated: the file states directions, so that making a one-way edge undirected is worth a note. Otherwise an
            undirected edge may be listed in one direction only.
        edge_weight: ``[R]`` positive.
        edge_labels: ``[R, C]`` int64; ``edge_attributes``: ``[R, D]`` float32.
        node_labels: ``[N, C]`` int64; ``node_attributes``: ``[N, D]`` float32.
        categories: categorical node attributes, such as text.
        y: the class of each graph or node, depending on ``level``; None where it is missing.
        public_split: as in ``Dataset``; likewise ``graph_ids`` and ``node_ids``.
        left_out: what the file contains beyond this, one short clause each.
    """

    sizes: np.ndarray
    source: np.ndarray
    destination: np.ndarray
    mutual: bool = False
    stated: bool = False
    edge_weight: np.ndarray | None = None
    edge_labels: np.ndarray | None = None
    edge_attributes: np.ndarray | None = None
    node_labels: np.ndarray | None = None
    node_attributes: "np.ndarray | csr_array | None" = None
    categories: Categories | None = None
    y: Sequence[Label | None] | np.ndarray | None = None
    level: Level = "graph"
    public_split: np.ndarray | None = None
    graph_ids: Texts | None = None
    node_ids: Texts | None = None
    left_out: tuple[str, ...] = ()


def assemble(listing: Listing, name: str, source: str, *, keep_directions: bool = False) -> Dataset:
    """Build the dataset of simple graphs that a listing describes.

    Self-loops are removed. Repeated edges are merged: their weights add up, and the first gives label and attributes.
    Edges become undirected unless ``keep_directions``. The dataset records how many edges were removed or added.
    """
    node_ptr = np.concatenate([[0], np.cumsum(listing.sizes, dtype=np.int64)])
    num_nodes = int(node_ptr[-1])
    if num_nodes >= MAX_NODES:
        raise DataError(f"{source}: {num_nodes} nodes are more than the {MAX_NODES} supported; split the dataset")
    begin, end = listing.source, listing.destination
    if listing.mutual:
        # Both orders mean the same edge; in one order, repeats are recognised.
        begin, end = np.minimum(begin, end), np.maximum(begin, end)
    one_way = keep_directions and not listing.mutual
    edge_index, row, counts = (directed if one_way else undirected)(begin, end, num_nodes)
    weight = None
    # With all weights equal to 1 the graph counts as unweighted, even if repeated edges are merged.
    if listing.edge_weight is not None and not (listing.edge_weight == 1).all():
        weight = merged_weights(begin, end, listing.edge_weight, edge_index, num_nodes, directed=one_way)
        if not (np.isfinite(weight) & (weight > 0)).all():
            raise DataError(f"{source}: an edge weight is not a positive 32-bit float; correct it")
    classes, y = encode_labels(listing.y, source)
    graphs = Graphs.build(
        torch.from_numpy(edge_index),
        torch.from_numpy(node_ptr),
        y=None if y is None else torch.from_numpy(y),
        y_level=listing.level,
        edge_weight=None if weight is None else torch.from_numpy(weight),
    )
    return Dataset(
        name=name,
        held=graphs,
        classes=classes,
        node_labels=listing.node_labels,
        node_attributes=listing.node_attributes,
        edge_labels=None if listing.edge_labels is None else listing.edge_labels[row],
        edge_attributes=None if listing.edge_attributes is None else listing.edge_attributes[row],
        categories=listing.categories,
        public_split=listing.public_split,
        graph_ids=listing.graph_ids,
        node_ids=listing.node_ids,
        self_loops=counts.self_loops,
        duplicate_edges=counts.duplicates,
        one_way_edges=0 if listing.mutual else counts.one_way,  # Rows of a mutual listing are one way by design.
        notes=(*_changes(counts, listing), *listing.left_out),
        source=source,
        level=listing.level,
    )


def say_notes(dataset: Dataset) -> Dataset:
    """Warn in one line about what was changed or left out, and return the dataset."""
    if dataset.notes:
        say(f"{dataset.name}: {'; '.join(dataset.notes)}")
    return dataset


def _changes(counts: Counts, listing: Listing) -> list[str]:
    """Count the changes to edges that a user may not expect."""
    one_way = counts.one_way if listing.stated and not listing.mutual else 0
    told = {
        "self-loop{} left out": counts.self_loops,
        "repeated edge{} merged": counts.duplicates,
        "one-way edge{} made to lead both ways": one_way,
    }
    return [f"{count} {text.format('' if count == 1 else 's')}" for text, count in told.items() if count]


def encode_labels(
    labels: Sequence[Label | None] | np.ndarray | None, source: str
) -> tuple[tuple[Label, ...], np.ndarray | None]:
    """Return the distinct labels, sorted, and the ``[B]`` int64 index of each label, -1 where it is missing."""
    if labels is None:
        return (), None
    if isinstance(labels, np.ndarray):
        values, codes = np.unique(labels, return_inverse=True)
        return tuple(values.tolist()), codes.astype(np.int64)
    given = {label for label in labels if label is not None}
    if len({isinstance(label, str) for label in given}) > 1:
        raise DataError(f"{source}: labels mix numbers and text; use one kind")
    classes = tuple(sorted(given))
    code = {label: i for i, label in enumerate(classes)} | {None: -1}
    return classes, np.fromiter((code[label] for label in labels), np.int64, len(labels))
