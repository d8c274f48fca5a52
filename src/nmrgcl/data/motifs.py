"""A synthetic dataset whose classes differ in structure alone."""

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


# Six edges each, so that no class can be told by how many edges were planted.
MOTIFS: tuple[Callable[[], Pairs], ...] = (_cycle, _clique, _star)
LABELS = 3


def motifs(graphs: int = 300, seed: int = 0) -> Dataset:
    """Random sparse graphs, each with a planted cycle (class 0), clique (1) or star (2) on 4 to 7 of its nodes.

    Sizes, node order and the three node labels are drawn independently of the class.
    """
    if graphs < len(MOTIFS):
        raise SettingError(f"motifs: {graphs} graphs; at least {len(MOTIFS)} are needed, one for each class")
    random = np.random.default_rng(seed)
    y = random.permutation(np.arange(graphs) % len(MOTIFS))
    sizes = random.integers(16, 31, graphs)
    node_ptr = np.concatenate([[0], sizes.cumsum()])
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
    """``[2, E]`` a motif tied by one edge to a random tree that has up to two edges more than a tree."""
    first = max(map(max, motif)) + 1  # the motif's nodes come first, then the tree's
    tree = [(int(random.integers(first, v)), v) for v in range(first + 1, size)]
    more = random.integers(first, size, (int(random.integers(0, 3)), 2)).tolist()
    tie = (int(random.integers(0, first)), int(random.integers(first, size)))
    return random.permutation(size)[np.array([*motif, *tree, *more, tie]).T]
