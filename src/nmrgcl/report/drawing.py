"""Draw graphs with a layout that preserves path lengths, and next to those embedded nearest to them."""

from collections.abc import Sequence

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

from nmrgcl.data.dataset import Dataset
from nmrgcl.report.svg import INK, PALETTE, STYLE, new_figure

MOST_NODES = 200
"""Of larger graphs, only a part is drawn, because more nodes would not be discernible."""
MANY_EDGES = 80
"""Graphs with more edges are drawn with thinner lines."""


def nearest(z: np.ndarray, row: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of ``z`` closest to ``row``, excluding itself, and their Euclidean distances."""
    distance = np.linalg.norm(z - z[row], axis=1)
    distance[row] = np.inf
    rows = np.argsort(distance, kind="stable")[: min(count, len(z) - 1)]
    return rows, distance[rows]


def choose_examples(y: np.ndarray | None, total: int, count: int) -> list[int]:
    """Rows spread evenly over the classes, or over all graphs if there are no classes."""
    # Sorted by class, evenly spaced places are spread over the classes in proportion.
    order = np.arange(total) if y is None else np.argsort(y, kind="stable")
    return [int(order[i]) for i in sorted({int((k + 0.5) * total / count) for k in range(count)})]


@rc_context(STYLE)
def draw_rows(dataset: Dataset, rows: Sequence[Sequence[tuple[int, str]]]) -> Figure:
    """Draw rows of graphs, all of the same length, each graph below its title."""
    figure, grid = new_figure(height=1.4 * len(rows), columns=len(rows[0]), rows=len(rows))
    for axes, (row, title) in zip(grid, (pair for line in rows for pair in line), strict=True):
        _draw(axes, dataset, row)
        axes.set_title(title, fontsize=8, parse_math=False)  # An id may contain dollar signs.
    return figure


def layout(edges: np.ndarray, count: int) -> np.ndarray:
    """Positions ``[count, 2]`` whose distances approximate path lengths (stress majorisation, Gansner et al. 2004)."""
    if count < 2:
        return np.zeros((count, 2))
    d = path_lengths(edges, count)
    # Classical scaling gives the start: the two leading eigenvectors of −½ J D² J.
    centre = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-0.5 * centre @ d**2 @ centre)
    x = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 1e-9))
    x = x + np.random.default_rng(0).normal(scale=0.05, size=x.shape)  # Equivalent nodes must not start at one point.
    # Only so that its power below is finite; the diagonal has no weight.
    np.fill_diagonal(d, 1)
    weight = d**-2.0
    np.fill_diagonal(weight, 0)
    # The weighted Laplacian is singular, because a layout may be moved as a whole.
    inverse = np.linalg.pinv(np.diag(weight.sum(1)) - weight)
    for _ in range(100):
        # Each step solves L_w x' = L(x) x, which never raises the stress.
        apart = np.linalg.norm(x[:, None] - x[None], axis=2)
        pull = -weight * d / np.maximum(apart, 1e-9)
        np.fill_diagonal(pull, 0)
        np.fill_diagonal(pull, -pull.sum(1))
        x = inverse @ (pull @ x)
    return x


def path_lengths(edges: np.ndarray, count: int) -> np.ndarray:
    """``[count, count]`` path lengths; disconnected nodes are one farther apart than the longest path."""
    ones = np.ones(edges.shape[1])
    adjacency = coo_array((ones, (edges[0], edges[1])), shape=(count, count)).tocsr()
    d = shortest_path(adjacency, directed=False, unweighted=True)
    d[np.isinf(d)] = d[np.isfinite(d)].max() + 1
    return np.asarray(d)


def cut_graph(dataset: Dataset, row: int) -> tuple[np.ndarray, np.ndarray]:
    """The nodes of a graph to draw, as indices in the dataset, and the edges ``[2, e]`` between them, each once.

    Of a large graph, these are the nodes nearest to the one with the highest degree.
    """
    graphs = dataset.graphs
    first, end = (int(graphs.node_ptr[row + i]) for i in (0, 1))
    low, high = (int(graphs.edge_ptr[row + i]) for i in (0, 1))
    edges = graphs.edge_index[:, low:high].numpy() - first
    kept = np.arange(end - first)
    if len(kept) > MOST_NODES:
        ones = np.ones(edges.shape[1])
        adjacency = coo_array((ones, (edges[0], edges[1])), shape=(len(kept), len(kept))).tocsr()
        hub = int(np.bincount(edges.ravel(), minlength=len(kept)).argmax())
        kept = np.argsort(shortest_path(adjacency, unweighted=True, indices=hub), kind="stable")[:MOST_NODES]
    place = np.full(end - first, -1)
    place[kept] = np.arange(len(kept))
    edges = place[edges]
    return kept + first, edges[:, (edges[0] < edges[1]) & (edges >= 0).all(0)]


def rank_labels(dataset: Dataset, nodes: np.ndarray, count: int) -> list[int]:
    """The rank of each node's first label by frequency, from 0 to ``count`` − 1, and −1 beyond; 1 without labels."""
    if dataset.node_labels is None:
        return [1] * len(nodes)
    values, counts = np.unique(dataset.node_labels[:, 0], return_counts=True)
    rank = {value: n for n, value in enumerate(values[np.argsort(-counts, kind="stable")][:count].tolist())}
    return [rank.get(label, -1) for label in dataset.node_labels[nodes, 0].tolist()]


def _draw(axes: Axes, dataset: Dataset, row: int) -> None:
    nodes, edges = cut_graph(dataset, row)
    x = layout(edges, len(nodes))
    size = float(np.clip(500 / max(len(nodes), 1), 3, 26))
    width = 0.35 if edges.shape[1] > MANY_EDGES else 0.9
    axes.add_collection(LineCollection(list(x[edges.T]), colors=INK, linewidths=width, alpha=0.6, zorder=1))
    axes.scatter(x[:, 0], x[:, 1], s=size, c=_colours(dataset, nodes), linewidths=0, zorder=2)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.08)
    axes.axis("off")


def _colours(dataset: Dataset, nodes: np.ndarray) -> list[str]:
    """Colours by the first node label: the most frequent labels have their own colour, all others are in ink."""
    return [PALETTE[rank] if rank >= 0 else INK for rank in rank_labels(dataset, nodes, len(PALETTE))]
