"""A dataset as it was read: structure, and whatever labels and attributes its files hold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from scipy.sparse import csr_array

from nmrgcl.data.categories import Categories
from nmrgcl.data.molecule_rows import MoleculeRows, class_codes
from nmrgcl.data.texts import Texts
from nmrgcl.errors import DataError, printable
from nmrgcl.graphs import Graphs
from nmrgcl.sparse_rows import is_sparse
from nmrgcl.store import Store

Level = Literal["graph", "node"]
Label = int | str


@dataclass(frozen=True)
class Statistics:
    """What tables of datasets print; undirected edges, self-loops not counted."""

    graphs: int
    avg_nodes: float
    avg_edges: float
    classes: int


@dataclass(frozen=True, eq=False)
class Dataset:
    """Graphs with the raw values that features are made from.

    Attributes:
        name: the name its files carry.
        held: structure with the constant feature, in memory or as a function that reads it. ``y`` holds class codes
            of graphs or nodes, -1 where a label is missing, or is None.
        classes: the original labels, sorted; ``y`` counts into them.
        node_labels: ``[N, C]`` integers, raw.
        node_attributes: ``[N, D]`` float32, sparse where most are zero.
        edge_labels: ``[E, C]`` integers, in the order of ``graphs.edge_index``.
        edge_attributes: ``[E, D]`` float32, likewise.
        categories: attributes of nodes that are text, or stand for kinds of nodes.
        public_split: ``[N]`` the nodes that everybody trains (1), validates (2) and tests (3) on; 0 is none of them.
        graph_ids: what the user calls each graph; molecules have theirs in ``molecules``.
        node_ids: what the user calls each node, if there is only one graph.
        self_loops: distinct self-loops that were left out.
        duplicate_edges: rows that repeated an earlier one and were left out.
        one_way_edges: edges whose reverse was not listed and has been added.
        notes: what was changed or left out, each as a short clause; a store does not keep them.
        source: where it was read from.
        level: what is told apart: the graphs, or the nodes of one graph.
        sizes: graphs, nodes and directed edges, for those who do not want to read the graphs for it.
        store: where the graphs lie, for those who do not want all of them in memory.
        molecules: what is known about each graph where they are molecules; their graphs have the features of Hu et al.
    """

    name: str
    held: Graphs | Callable[[], Graphs]
    classes: tuple[Label, ...] = ()
    node_labels: np.ndarray | None = None
    node_attributes: np.ndarray | csr_array | None = None
    edge_labels: np.ndarray | None = None
    edge_attributes: np.ndarray | None = None
    categories: Categories | None = None
    public_split: np.ndarray | None = None
    graph_ids: Texts | None = None
    node_ids: Texts | None = None
    self_loops: int = 0
    duplicate_edges: int = 0
    one_way_edges: int = 0
    notes: tuple[str, ...] = ()
    source: str = ""
    level: Level = "graph"
    sizes: tuple[int, int, int] | None = None
    store: Store | None = None
    molecules: MoleculeRows | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", printable(self.name))  # it is shown, and written into model folders

    @cached_property
    def graphs(self) -> Graphs:
        """The graphs, read on first use where they were left on disk."""
        return self.held if isinstance(self.held, Graphs) else self.held()

    @property
    def y(self) -> np.ndarray | None:
        """Class codes, one a graph or a node; -1 where there is no label."""
        if self.molecules is not None:  # without reading the graphs
            return class_codes(self.molecules.targets) if self.classes else None
        return None if self.graphs.y is None else self.graphs.y.numpy()

    def ids(self, level: Level) -> Sequence[str] | None:
        """What the user calls the graphs or nodes, in their order; None if they have no ids."""
        if level == "node":
            return self.node_ids
        return self.graph_ids if self.molecules is None else self.molecules.ids

    @property
    def kind(self) -> Literal["graph", "node", "molecule"]:
        """What there may be a recipe for."""
        return self.level if self.molecules is None else "molecule"

    @property
    def counts(self) -> tuple[int, int, int]:
        """Graphs, nodes and directed edges."""
        return self.sizes or (self.graphs.num_graphs, self.graphs.num_nodes, self.graphs.num_edges)

    @property
    def listed_edges(self) -> int:
        """Rows of the file that named an edge, as it counts them."""
        return self.counts[2] - self.one_way_edges + self.duplicate_edges + self.self_loops

    @property
    def statistics(self) -> Statistics:
        """Measured on the graphs; averages of no graphs are 0."""
        graphs, nodes, edges = self.counts
        count = max(graphs, 1)
        return Statistics(graphs, nodes / count, edges / 2 / count, len(self.classes))


def dataset_of(graphs: Graphs, name: str = "graphs", source: str = "memory") -> Dataset:
    """Graphs as a dataset: features become labels or attributes; a constant one says nothing, so it counts as none.

    Edge features that are whole numbers become labels, others attributes.
    """
    graphs = graphs.compact().to("cpu")
    level: Level = graphs.y_level if graphs.num_graphs == 1 and graphs.y is not None else "graph"
    classes, graphs = _classes(graphs, level)
    edges = edge_features(graphs)
    if is_sparse(graphs.x):
        parts = graphs.x.values(), graphs.x.col_indices(), graphs.x.crow_indices()
        words = csr_array(tuple(part.numpy() for part in parts), graphs.x.shape)
        plain = replace(graphs, x=torch.zeros(graphs.num_nodes, 1, dtype=torch.long), num_features=1)
        return Dataset(name, plain, classes, node_attributes=words, **edges, source=source, level=level)
    x = graphs.x.numpy()
    constant = graphs.num_features == 1 and (x.size == 0 or bool((x == x.flat[0]).all()))
    labels = x.astype(np.int64) if graphs.categorical and not constant else None
    attributes = x.astype(np.float32) if not graphs.categorical and not constant else None
    nodes: dict[str, Any] = {"node_labels": labels, "node_attributes": attributes}
    return Dataset(name, graphs, classes, **nodes, **edges, source=source, level=level)


def edge_features(graphs: Graphs) -> dict[str, Any]:
    """The fields of a dataset that hold them."""
    if graphs.edge_attr is None:
        return {}
    if graphs.edge_attr.dim() > 2:
        raise DataError(f"edge_attr has the shape {list(graphs.edge_attr.shape)}; give each edge one row of numbers")
    values = (graphs.edge_attr[:, None] if graphs.edge_attr.dim() == 1 else graphs.edge_attr).numpy()
    if graphs.edge_attr.is_floating_point():
        return {"edge_attributes": values.astype(np.float32)}
    return {"edge_labels": values.astype(np.int64)}


def _classes(graphs: Graphs, level: Level) -> tuple[tuple[int, ...], Graphs]:
    """Whole numbers are classes and NaN is a missing one; any other ``y`` is none that a dataset knows."""
    y = graphs.y
    if y is None or graphs.y_level != level or y.dim() != 1:
        return (), replace(graphs, y=None)
    missing = torch.isnan(y) if y.is_floating_point() else torch.zeros_like(y, dtype=torch.bool)
    given = y[~missing]
    if y.is_floating_point() and not (missing.any() and bool(((given == given.round()) & (given.abs() < 2**53)).all())):
        return (), replace(graphs, y=None)
    values, codes = torch.unique(given.long(), return_inverse=True)
    whole = torch.full(y.shape, -1, dtype=torch.long)
    whole[~missing] = codes
    return tuple(values.tolist()), replace(graphs, y=whole)
