"""A dataset as it was read: its graphs, and the raw labels and attributes from its files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from nmrgcl.data.categories import Categories
from nmrgcl.data.molecule_rows import MoleculeRows, class_codes
from nmrgcl.data.texts import Texts
from nmrgcl.errors import DataError, printable
from nmrgcl.graphs import Graphs
from nmrgcl.sparse_rows import is_sparse
from nmrgcl.store import Store

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Level = Literal["graph", "node"]
Label = int | str


@dataclass(frozen=True)
class Statistics:
    """The numbers that dataset tables print; edges are undirected and exclude self-loops."""

    graphs: int
    avg_nodes: float
    avg_edges: float
    classes: int


@dataclass(frozen=True, eq=False)
class Dataset:
    """Graphs with the raw values from which features are made.

    Attributes:
        name: the dataset's name, usually that of its files.
        held: the graphs with a constant feature, or a function that reads them. Their ``y`` holds the class index of
            each graph or node, -1 where the label is missing; it is None if nothing is labelled.
        classes: the original labels, sorted; ``y`` indexes into them.
        node_labels: ``[N, C]`` raw integers.
        node_attributes: ``[N, D]`` float32; sparse if most entries are zero.
        edge_labels: ``[E, C]`` integers, in the order of ``graphs.edge_index``.
        edge_attributes: ``[E, D]`` float32, in the same order.
        categories: categorical node attributes, such as text.
        public_split: ``[N]`` the published split: 1 for training, 2 for validation, 3 for test nodes, 0 for others.
        graph_ids: the user's names for the graphs; those of molecules are in ``molecules``.
        node_ids: the user's names for the nodes, if there is only one graph.
        self_loops: number of distinct self-loops that were removed.
        duplicate_edges: number of rows that repeated an earlier edge and were removed.
        one_way_edges: number of edges whose missing reverse was added.
        notes: what was changed or left out, one short clause each; a store does not keep them.
        source: the path or address it was read from.
        level: whether the graphs are classified, or the nodes of one graph.
        sizes: numbers of graphs, nodes and directed edges, known without reading the graphs.
        store: the store that holds the graphs, for reading some of them at a time.
        molecules: SMILES, labels and names of molecules; their graphs carry the features of Hu et al.
    """

    name: str
    held: Graphs | Callable[[], Graphs]
    classes: tuple[Label, ...] = ()
    node_labels: np.ndarray | None = None
    node_attributes: "np.ndarray | csr_array | None" = None
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
        object.__setattr__(self, "name", printable(self.name))  # messages and model folders quote it

    @cached_property
    def graphs(self) -> Graphs:
        """The graphs; those of a store are read on first use."""
        return self.held if isinstance(self.held, Graphs) else self.held()

    @property
    def y(self) -> np.ndarray | None:
        """The class index of each graph or node; -1 where the label is missing."""
        if self.molecules is not None:  # without reading the graphs
            return class_codes(self.molecules.targets) if self.classes else None
        return None if self.graphs.y is None else self.graphs.y.numpy()

    def ids(self, level: Level) -> Sequence[str] | None:
        """The user's names for the graphs or nodes, in order; None if they have none."""
        if level == "node":
            return self.node_ids
        return self.graph_ids if self.molecules is None else self.molecules.ids

    @property
    def kind(self) -> Literal["graph", "node", "molecule"]:
        """The kind of data by which a method chooses its default preset."""
        return self.level if self.molecules is None else "molecule"

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of graphs, nodes and directed edges."""
        return self.sizes or (self.graphs.num_graphs, self.graphs.num_nodes, self.graphs.num_edges)

    @property
    def listed_edges(self) -> int:
        """The number of rows in the file that listed an edge, including repeats and self-loops."""
        return self.counts[2] - self.one_way_edges + self.duplicate_edges + self.self_loops

    @property
    def statistics(self) -> Statistics:
        """Statistics measured on the graphs; the averages are 0 if there are no graphs."""
        graphs, nodes, edges = self.counts
        count = max(graphs, 1)
        return Statistics(graphs, nodes / count, edges / 2 / count, len(self.classes))


def dataset_of(graphs: Graphs, name: str = "graphs", source: str = "memory") -> Dataset:
    """Make a dataset of graphs: categorical features become labels, others attributes.

    A single constant feature carries no information and is dropped. Integer edge features become edge labels, others
    edge attributes.
    """
    graphs = graphs.compact().to("cpu")
    level: Level = graphs.y_level if graphs.num_graphs == 1 and graphs.y is not None else "graph"
    classes, graphs = _classes(graphs, level)
    edges = edge_features(graphs)
    if is_sparse(graphs.x):
        from scipy.sparse import csr_array  # takes long to import, and few datasets need it

        parts = graphs.x.values(), graphs.x.col_indices(), graphs.x.crow_indices()
        words = csr_array(tuple(part.numpy() for part in parts), graphs.x.shape)
        # The words go into node_attributes; the graphs keep a constant feature, as those of readers have.
        plain = replace(graphs, x=torch.zeros(graphs.num_nodes, 1, dtype=torch.long), num_features=1)
        return Dataset(name, plain, classes, node_attributes=words, **edges, source=source, level=level)
    x = graphs.x.numpy()
    constant = graphs.num_features == 1 and (x.size == 0 or bool((x == x.flat[0]).all()))
    labels = x.astype(np.int64) if graphs.categorical and not constant else None
    attributes = x.astype(np.float32) if not graphs.categorical and not constant else None
    nodes: dict[str, Any] = {"node_labels": labels, "node_attributes": attributes}
    return Dataset(name, graphs, classes, **nodes, **edges, source=source, level=level)


def edge_features(graphs: Graphs) -> dict[str, Any]:
    """Return the fields of ``Dataset`` that hold the edge features of ``graphs``."""
    if graphs.edge_attr is None:
        return {}
    if graphs.edge_attr.dim() > 2:
        raise DataError(f"edge_attr has the shape {list(graphs.edge_attr.shape)}; give each edge one row of numbers")
    values = (graphs.edge_attr[:, None] if graphs.edge_attr.dim() == 1 else graphs.edge_attr).numpy()
    if graphs.edge_attr.is_floating_point():
        return {"edge_attributes": values.astype(np.float32)}
    return {"edge_labels": values.astype(np.int64)}


def _classes(graphs: Graphs, level: Level) -> tuple[tuple[int, ...], Graphs]:
    """Return the classes in ``y``, and the graphs with ``y`` as indices into them.

    Integers are classes, and so are floats that are integers except for NaN, which marks a missing label. Any other
    ``y``, such as a regression target, is dropped.
    """
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
