"""Reproducible synthetic graphs of the size of molecules, in any number."""

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch.nn.functional import pad

from nmrgcl.data.molecules.vocabulary import ATOMS, CHIRALITIES
from nmrgcl.graphs import Graphs

SAMPLE = 20_000
"""The number of distinct graphs, from which larger sets are drawn."""


def molecules(count: int, *, smallest: int = 14, largest: int = 34) -> Graphs:
    """Random trees with a few rings, 24 nodes and 50 directed edges on average, with a categorical feature."""
    generator = torch.Generator().manual_seed(0)
    sizes = torch.randint(smallest, largest + 1, (count,), generator=generator)
    node_ptr = pad(sizes.cumsum(0), (1, 0))
    graph = torch.repeat_interleave(sizes)
    local = torch.arange(len(graph)) - node_ptr[graph]
    back = 1 + (torch.rand(len(graph), generator=generator) ** 3 * 3).long()
    tree = torch.stack([torch.arange(len(graph)), torch.arange(len(graph)) - torch.minimum(back, local)])[:, local > 0]
    first = (torch.rand(count, 2, generator=generator) * (sizes[:, None] - 6)).long() + node_ptr[:-1, None]
    rings = torch.stack([first + 5, first]).flatten(1)
    pairs = torch.unique(torch.cat([tree, rings], 1), dim=1)
    x = torch.randint(0, 30, (len(graph), 1), generator=generator)
    y = torch.randint(0, 2, (count,), generator=generator)
    return Graphs.build(torch.cat([pairs, pairs.flip(0)], 1), node_ptr, x=x, num_features=30, y=y)


def bonded_molecules(count: int) -> Graphs:
    """Graphs with 26.5 atoms and 56 directed bonds on average and two categories each, as in Hu et al. 2020."""
    graphs = molecules(count, smallest=16, largest=37)
    generator = torch.Generator().manual_seed(1)
    kind = torch.randint(0, ATOMS, (graphs.num_nodes, 1), generator=generator)
    chirality = torch.randint(0, CHIRALITIES, (graphs.num_nodes, 1), generator=generator) + ATOMS
    bonds = torch.rand(graphs.num_edges, 2, generator=generator) * torch.tensor([4, 3]) + torch.tensor([1, 0])
    return replace(
        graphs,
        x=torch.cat([kind, chirality], 1),
        num_features=ATOMS + CHIRALITIES,
        edge_attr=bonds.long()[graphs.pair],  # The same in both directions.
    )


def drawn(sample: Graphs, count: int, at_a_time: int = 16_384) -> Iterator[Graphs]:
    """``count`` random graphs of the ``sample``, in parts."""
    numbers = torch.randint(0, len(sample), (count,), generator=torch.Generator().manual_seed(1))
    for part in numbers.split(at_a_time):
        yield sample.take(part)
