"""A synthetic dataset whose classes differ only in structure."""

from collections.abc import Callable

import numpy as np
import torch

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.edges import undirected
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs

Pairs = list[tuple[int, int]]


def _cycle() -> Pairs:
    return [(i, (i + 1) % 6) for i in range(6)]


def _clique() -> Pairs:
    return [(i, j) for i in range(4) for j in range(i)]


def _star() -> Pairs:
    return [(0, i) for i in range(1, 7)]


# Each motif has six edges, so that the number of edges does not reveal the class.
MOTIFS: tuple[Callable[[], Pairs], ...] = (_cycle, _clique, _star)
LABELS = 3


def motifs(graphs: int = 300, seed: int = 0) -> Dataset:
    """Generate random sparse graphs, each with a planted cycle (class 0), clique (1) or star (2) of 4 to 7 nodes.

    Sizes, node order and the three node labels are drawn independently of the class.
    """
    if graphs < len(MOTIFS):
        raise SettingError(f"motifs: {graphs} graphs are too few; at least {len(MOTIFS)} are needed, one per class")
    random = np.random.default_rng(seed)
    y = random.permutation(np.arange(graphs) % len(MOTIFS))
    sizes = random.integers(16, 31, graphs)
    node_ptr = np.concatenate([[0], sizes.cumsum()])
    # Not strict, because node_ptr has one entry more than there are graphs.
    listed = [_graph(MOTIFS[c](), n, random) + start for c, n, start in zip(y, sizes, node_ptr, strict=False)]
    source, destination = np.concatenate(listed, axis=1)
    edge_index, _, _ = undirected(source, destination, int(node_ptr[-1]))
    return Dataset(
        name="motifs",
        held=Graphs.build(torch.from_numpy(edge_index), torch.from_numpy(node_ptr), y=torch.from_numpy(y)),
        classes=tuple(range(len(MOTIFS))),
        node_labels=random.integers(0, LABELS, (int(node_ptr[-1]), 1)),
        source=f"motifs(graphs={graphs}, seed={seed})",
    )


def _graph(motif: Pairs, size: int, random: np.random.Generator) -> np.ndarray:
    """Return ``[2, E]`` a motif joined by one edge to a random tree with up to two additional edges."""
    first = max(map(max, motif)) + 1  # the nodes of the motif come first, then those of the tree
    tree = [(int(random.integers(first, v)), v) for v in range(first + 1, size)]
    more = random.integers(first, size, (int(random.integers(0, 3)), 2)).tolist()
    tie = (int(random.integers(0, first)), int(random.integers(first, size)))
    return random.permutation(size)[np.array([*motif, *tree, *more, tie]).T]
