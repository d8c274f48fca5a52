"""The peer's views as transforms of single graphs, in the dataset that PyG's loader reads.

Like PyG's transforms, a view works on the tensors of one ``Data`` and uses PyG's functions where these exist.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from torch_geometric.data import Data

DROP_NODES, DROP_EDGES, DROP_FEATURES, SUBGRAPH = range(4)


class TwoViews(torch.utils.data.Dataset[tuple["Data", "Data"]]):
    """Two views of each graph, each of one of the first ``choices`` kinds."""

    def __init__(self, graphs: Sequence["Data"], choices: int) -> None:
        self.graphs, self.choices = graphs, choices

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, index: int) -> tuple["Data", "Data"]:
        data = self.graphs[index]
        return view(data, self.choices), view(data, self.choices)


def view(data: "Data", choices: int, *, p: float = 0.2) -> "Data":
    """A view of one undirected graph without loops, of one of ``choices`` kinds."""
    from torch_geometric.data import Data
    from torch_geometric.utils import dropout_edge, subgraph

    x, edge_index, kind = data.x, data.edge_index, int(torch.randint(choices, ()))
    if kind == DROP_EDGES:
        return Data(x, dropout_edge(edge_index, p, force_undirected=True)[0])
    if kind == DROP_FEATURES:
        return Data(x * (torch.rand(len(x), 1) >= p), edge_index)
    keep = walk(edge_index, len(x)) if kind == SUBGRAPH else torch.rand(len(x)) >= p
    if not keep.any():
        keep[int(torch.randint(len(x), ()))] = True
    return Data(x[keep], subgraph(keep, edge_index, relabel_nodes=True, num_nodes=len(x))[0])


def walk(edge_index: Tensor, size: int, *, p: float = 0.2, ratio: float = 0.8, steps: int = 40) -> Tensor:
    """``[size]`` which nodes a random walk with restart visits; for so few nodes, lists are faster than tensors."""
    neighbours: list[list[int]] = [[] for _ in range(size)]
    for source, destination in zip(*edge_index.tolist(), strict=True):
        neighbours[destination].append(source)
    draws = torch.rand(2, steps).tolist()
    start = here = int(torch.randint(size, ()))
    seen, enough = {start}, ratio * size
    for draw, back in zip(*draws, strict=True):
        if len(seen) >= enough or not neighbours[here]:
            break
        here = start if back < p else neighbours[here][int(draw * len(neighbours[here]))]
        seen.add(here)
    keep = torch.zeros(size, dtype=torch.bool)
    keep[list(seen)] = True
    return keep
