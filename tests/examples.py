"""Small graphs that tests share."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from nmrgcl.data.molecules.vocabulary import ATOMS, BONDS, CHIRALITIES
from nmrgcl.graphs import Graphs

BOND_RANGE = [(1, BONDS[0]), (0, BONDS[1])]
"""The least and the largest value of the columns of ``edge_attr``: a bond has a type, but need not have a direction."""


def undirected(*edges: tuple[int, int]) -> Tensor:
    """Both directions of each edge, ``[2, 2E]``."""
    pairs = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T
    return torch.cat([pairs, pairs.flip(0)], 1)


def one_graph(num_nodes: int, *edges: tuple[int, int]) -> Graphs:
    """One graph whose node i has the dense feature row (i + 1, (i + 1)²)."""
    value = torch.arange(1.0, num_nodes + 1)
    return Graphs.build(undirected(*edges), torch.tensor([0, num_nodes]), x=torch.stack([value, value**2], 1))


def complete(n: int) -> Graphs:
    return one_graph(n, *[(i, j) for i in range(n) for j in range(i)])


def cycle(n: int) -> Graphs:
    return one_graph(n, *[(i, (i + 1) % n) for i in range(n)])


def random_graphs(
    sizes: list[int], *, density: float = 0.3, seed: int = 0, features: int = 4, categorical: bool = False
) -> Graphs:
    """Erdős–Rényi graphs with random features; sizes may be 0 or 1."""
    generator = torch.Generator().manual_seed(seed)
    ptr = torch.tensor([0, *sizes]).cumsum(0)
    parts = [torch.zeros(2, 0, dtype=torch.long)]
    for start, n in zip(ptr.tolist(), sizes, strict=False):
        upper = torch.ones(n, n).triu(1).bool() & (torch.rand(n, n, generator=generator) < density)
        pairs = upper.nonzero().T + start
        parts += [pairs, pairs.flip(0)]
    n = int(ptr[-1])
    x = (
        torch.randint(0, features, (n, 1), generator=generator)
        if categorical
        else torch.randn(n, features, generator=generator)
    )
    y = torch.arange(len(sizes)) % 2
    return Graphs.build(torch.cat(parts, 1), ptr, x=x, num_features=features, y=y)


def edge_set(graphs: Graphs) -> set[tuple[int, int]]:
    """Directed edges of the graphs as numbered after compacting."""
    return {(s, d) for s, d in graphs.compact().edge_index.T.tolist()}


def sparse_x(graphs: Graphs) -> Graphs:
    """The same graphs with their features as a CSR tensor."""
    from nmrgcl.sparse_rows import sparse_rows

    x = graphs.dense_x()
    row, column = x.nonzero(as_tuple=True)
    ptr = torch.cat([torch.zeros(1, dtype=torch.long), torch.bincount(row, minlength=len(x)).cumsum(0)])
    return replace(graphs, x=sparse_rows(ptr, column, x[row, column], x.shape[1]))


def with_edge_labels(graphs: Graphs, sizes: Sequence[int], seed: int = 0) -> Graphs:
    """Edges with labels 1 … sizes[c] in each column, the same in both directions."""
    generator = torch.Generator().manual_seed(seed)
    attr = [torch.randint(1, size + 1, (graphs.num_edges,), generator=generator) for size in sizes]
    return replace(graphs, edge_attr=torch.stack(attr, 1).index_select(0, graphs.pair))


def with_edge_attributes(graphs: Graphs, width: int, seed: int = 0) -> Graphs:
    """Edges with ``width`` numbers, the same in both directions."""
    generator = torch.Generator().manual_seed(seed)
    attr = torch.randn(graphs.num_edges, width, generator=generator)
    return replace(graphs, edge_attr=attr.index_select(0, graphs.pair))


def molecules_of(*molecules: tuple[int, list[tuple[int, int]]], seed: int = 0) -> Graphs:
    """Molecules by their number of atoms and their bonds, with random elements and types as Hu et al. number them."""
    generator = torch.Generator().manual_seed(seed)
    ptr = torch.tensor([0, *(n for n, _ in molecules)]).cumsum(0)
    firsts = zip(ptr.tolist(), molecules, strict=False)
    edges, n = undirected(*((first + u, first + v) for first, (_, bonds) in firsts for u, v in bonds)), int(ptr[-1])
    kind = torch.tensor([5, 5, 5, 6, 7, 15])[torch.randint(0, 6, (n,), generator=generator)]
    x = torch.stack([kind, ATOMS + torch.randint(0, CHIRALITIES, (n,), generator=generator)], 1)
    values = [torch.randint(least, most + 1, (edges.shape[1] // 2,), generator=generator) for least, most in BOND_RANGE]
    attr = torch.stack(values, 1).repeat(2, 1)
    return Graphs.build(edges, ptr, x=x, num_features=ATOMS + CHIRALITIES, edge_attr=attr)


def random_molecules(sizes: list[int], *, seed: int = 0) -> Graphs:
    """Chains of atoms with branches, and a ring of six here and there."""
    generator = torch.Generator().manual_seed(seed)
    molecules = []
    for n in sizes:
        back = 1 + (torch.rand(n, generator=generator) < 0.2).long()
        bonds = {(max(i - int(back[i]), 0), i) for i in range(1, n)} | {(i - 5, i) for i in range(5, n, 9)}
        molecules.append((n, sorted(bonds)))
    return molecules_of(*molecules, seed=seed)
