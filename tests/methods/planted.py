"""Data whose classes an untrained encoder finds poorly, and a pre-training has to find without labels."""

import numpy as np
import torch

from nmrgcl.data.edges import undirected
from nmrgcl.graphs import Graphs

GRAPHS, KINDS, LABELS, SPREAD = 240, 3, 12, 0.35
RECENT = np.array([0.5, 1.0, 2.5])
"""How much a new node prefers a parent that is itself new, by class."""
NODES, COMMUNITIES, COLUMNS, SIGNAL = 240, 4, 48, 0.35
WITHIN, ACROSS = 0.06, 0.015


def planted_graphs(seed: int = 0) -> tuple[Graphs, np.ndarray]:
    """Random trees of three classes, which differ mildly in how nodes are labelled and in where new ones are attached.

    Sizes vary from 6 to 119 nodes and have nothing to do with the class, but an untrained sum over nodes shows little
    else.
    """
    random = np.random.default_rng(seed)
    y, sizes = np.arange(GRAPHS) % KINDS, random.integers(6, 120, GRAPHS)
    start = np.concatenate([[0], sizes.cumsum()])
    shares = np.exp(SPREAD * random.normal(size=(KINDS, LABELS)))
    labels = [random.choice(LABELS, n, p=shares[c] / shares[c].sum()) for c, n in zip(y, sizes, strict=True)]
    own = np.concatenate([np.arange(1, n) for n in sizes])
    first, recent = np.repeat(start[:-1], sizes - 1), np.repeat(RECENT[y], sizes - 1)
    parent = (own * random.random(len(own)) ** (1 / recent)).astype(np.int64)
    edges, _, _ = undirected(first + parent, first + own, int(start[-1]))
    x = torch.from_numpy(np.concatenate(labels)[:, None])
    return Graphs.build(torch.from_numpy(edges), torch.from_numpy(start), x=x, num_features=LABELS), y


def planted_network(seed: int = 0) -> tuple[Graphs, np.ndarray]:
    """One graph of four communities, the classes, whose features are mostly noise."""
    random = np.random.default_rng(seed)
    y = np.arange(NODES) % COMMUNITIES
    chance = np.where(y[:, None] == y, WITHIN, ACROSS)
    source, destination = np.triu(random.random((NODES, NODES)) < chance, 1).nonzero()
    edges, _, _ = undirected(source, destination, NODES)
    x = SIGNAL * random.normal(size=(COMMUNITIES, COLUMNS))[y] + random.normal(size=(NODES, COLUMNS))
    return Graphs.build(torch.from_numpy(edges), torch.tensor([0, NODES]), x=torch.from_numpy(x).float()), y
