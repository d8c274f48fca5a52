"""Data whose classes an untrained encoder finds poorly, and a pre-training has to find without labels."""

import numpy as np
import torch

from nmrgcl.data.edges import undirected
from nmrgcl.data.molecules.vocabulary import ATOMS, CHIRALITIES
from nmrgcl.graphs import Graphs

GRAPHS, KINDS, LABELS, SPREAD = 240, 3, 12, 0.35
RECENT = np.array([0.5, 1.0, 2.5])
"""How much a new node prefers a parent that is itself new, by class."""
NODES, COMMUNITIES, COLUMNS, SIGNAL = 240, 4, 48, 0.35
WITHIN, ACROSS = 0.06, 0.015
ROLES, ELEMENTS, ROLE_SPREAD, SAME_ROLE = 4, 10, 1.2, 0.8


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


def planted_molecules(seed: int = 0) -> tuple[Graphs, np.ndarray]:
    """Trees of atoms in three classes, which differ in how often their atoms have each of a few roles.

    An atom has the role of the one it is attached to, or else a role drawn by class, and is any of the elements of its
    role. Untrained, elements of a role have nothing in common; what stands near what tells them apart.
    """
    random = np.random.default_rng(seed)
    y, sizes = np.arange(GRAPHS) % KINDS, random.integers(10, 40, GRAPHS)
    start = np.concatenate([[0], sizes.cumsum()])
    shares = np.exp(ROLE_SPREAD * random.normal(size=(KINDS, ROLES)))
    shares /= shares.sum(1, keepdims=True)
    role, parents = np.empty(start[-1], np.int64), np.empty(start[-1], np.int64)
    for first, n, kind in zip(start, sizes, y, strict=False):
        for atom in range(first, first + n):
            parents[atom] = max(first, atom - random.integers(1, 3))
            copied = atom > first and random.random() < SAME_ROLE
            role[atom] = role[parents[atom]] if copied else random.choice(ROLES, p=shares[kind])
    inner = np.flatnonzero(parents != np.arange(start[-1]))
    edges, _, _ = undirected(parents[inner], inner, int(start[-1]))
    element = torch.from_numpy(role * ELEMENTS + random.integers(0, ELEMENTS, start[-1]))
    x = torch.stack([element, torch.full_like(element, ATOMS)], 1)
    bonds = torch.tensor([1, 0]).repeat(edges.shape[1], 1)
    found = Graphs.build(
        torch.from_numpy(edges), torch.from_numpy(start), x=x, num_features=ATOMS + CHIRALITIES, edge_attr=bonds
    )
    return found, y


def planted_network(seed: int = 0) -> tuple[Graphs, np.ndarray]:
    """One graph of four communities, the classes, whose features are mostly noise."""
    random = np.random.default_rng(seed)
    y = np.arange(NODES) % COMMUNITIES
    chance = np.where(y[:, None] == y, WITHIN, ACROSS)
    source, destination = np.triu(random.random((NODES, NODES)) < chance, 1).nonzero()
    edges, _, _ = undirected(source, destination, NODES)
    x = SIGNAL * random.normal(size=(COMMUNITIES, COLUMNS))[y] + random.normal(size=(NODES, COLUMNS))
    return Graphs.build(torch.from_numpy(edges), torch.tensor([0, NODES]), x=torch.from_numpy(x).float()), y
