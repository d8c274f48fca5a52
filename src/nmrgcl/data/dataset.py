"""A dataset as it was read: structure, and whatever labels and attributes its files hold."""

from dataclasses import dataclass, replace

import numpy as np
import torch

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


def dataset_of(graphs: Graphs, name: str = "graphs", source: str = "memory") -> Dataset:
    """Graphs as a dataset: features become labels or attributes; a constant one says nothing, so it counts as none."""
    graphs = graphs.compact().to("cpu")
    x = graphs.x.numpy()
    constant = graphs.num_features == 1 and (x.size == 0 or bool((x == x.flat[0]).all()))
    labels = x.astype(np.int64) if graphs.categorical and not constant else None
    attributes = x.astype(np.float32) if not graphs.categorical and not constant else None
    classes, graphs = _classes(graphs)
    return Dataset(name, graphs, classes, node_labels=labels, node_attributes=attributes, source=source)


def _classes(graphs: Graphs) -> tuple[tuple[int, ...], Graphs]:
    """Whole numbers, one a graph, are classes; any other ``y`` is none that a dataset of graphs knows."""
    y = graphs.y
    if y is None or graphs.y_level == "node" or y.is_floating_point() or y.dim() != 1:
        return (), replace(graphs, y=None)
    values, codes = torch.unique(y, return_inverse=True)
    return tuple(values.tolist()), replace(graphs, y=codes)
