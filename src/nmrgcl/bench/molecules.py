"""Graphs the size of molecules, made up: as many as wanted, the same every time."""

import torch
from torch.nn.functional import pad

from nmrgcl.graphs import Graphs


def molecules(count: int) -> Graphs:
    """Random trees with a few rings, 24 nodes and 50 directed edges on average, with a categorical feature."""
    generator = torch.Generator().manual_seed(0)
    sizes = torch.randint(14, 35, (count,), generator=generator)
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
