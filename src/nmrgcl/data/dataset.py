"""A dataset as it was read: structure, and whatever labels and attributes its files hold."""

from dataclasses import dataclass

import numpy as np

from nmrgcl.graphs import Graphs


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
        graphs: undirected structure with the constant feature; ``y`` holds class codes, or None.
        classes: the original graph labels, sorted; ``y`` counts into them.
        node_labels: ``[N, C]`` int64, raw.
        node_attributes: ``[N, D]`` float32.
        edge_labels: ``[E, C]`` int64, in the order of ``graphs.edge_index``.
        edge_attributes: ``[E, D]`` float32, likewise.
        self_loops: distinct self-loops that were left out.
        duplicate_edges: rows that repeated an earlier one and were left out.
        one_way_edges: edges whose reverse was not listed and has been added.
        source: where it was read from.
    """

    name: str
    graphs: Graphs
    classes: tuple[int, ...] = ()
    node_labels: np.ndarray | None = None
    node_attributes: np.ndarray | None = None
    edge_labels: np.ndarray | None = None
    edge_attributes: np.ndarray | None = None
    self_loops: int = 0
    duplicate_edges: int = 0
    one_way_edges: int = 0
    source: str = ""

    @property
    def statistics(self) -> Statistics:
        """Measured on the graphs."""
        count = self.graphs.num_graphs
        return Statistics(
            graphs=count,
            avg_nodes=self.graphs.num_nodes / count,
            avg_edges=self.graphs.num_edges / 2 / count,
            classes=len(self.classes),
        )
