"""The same training as an experienced PyG user would write it, as the peer of a step.

It uses PyG's loader and layers. Views are drawn in one of two ways: per graph, as transforms in the loader, which is
usual with PyG; or per batch, with masks, like our own views.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from bench.timing import Measure, stopwatch
from nmrgcl.contrast import cosine, infonce, non_maximum
from nmrgcl.encode import Head
from nmrgcl.graphs import Graphs
from nmrgcl.settings import Settings

if TYPE_CHECKING:
    from torch_geometric.data import Batch

DROP_NODES, DROP_EDGES, DROP_FEATURES, SUBGRAPH = range(4)


def installed() -> bool:
    """Whether PyG is installed."""
    return find_spec("torch_geometric") is not None


class Encoder(nn.Module):
    """PyG's GINConv with the batch norm and readout of our GIN."""

    def __init__(self, num_features: int, layers: int, units: int) -> None:
        from torch_geometric.nn import GINConv

        super().__init__()
        widths = [num_features] + [units] * (layers - 1)
        mlps = [nn.Sequential(nn.Linear(w, units), nn.ReLU(), nn.Linear(units, units)) for w in widths]
        self.convs = nn.ModuleList(GINConv(mlp) for mlp in mlps)
        self.norms = nn.ModuleList(nn.BatchNorm1d(units) for _ in widths)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, size: int) -> Tensor:
        """``[size, layers · units]``."""
        from torch_geometric.nn import global_add_pool

        outputs = []
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = norm(conv(x, edge_index).relu())
            outputs.append(x)
        pooled: Tensor = global_add_pool(torch.cat(outputs, 1), batch, size)
        return pooled


def augment(data: "Batch", choices: int, *, p: float = 0.2) -> tuple[Tensor, Tensor, Tensor]:
    """``x``, ``edge_index`` and ``batch`` of a view in which each graph draws one of the first ``choices`` kinds.

    The graphs must be undirected and have no loops.
    """
    x, batch = data.x, data.batch
    kind = torch.randint(choices, (data.num_graphs,), device=x.device)[batch]
    chance = torch.rand(data.num_nodes, device=x.device)
    x = x * ((kind != DROP_FEATURES) | (chance >= p))[:, None]
    keep = (kind != DROP_NODES) | (chance >= p)
    if choices > SUBGRAPH:
        keep &= (kind != SUBGRAPH) | walk(data)
    half = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]  # One draw for both directions of an edge.
    stays = (kind[half[0]] != DROP_EDGES) | (torch.rand(half.shape[1], device=x.device) >= p)
    half = (keep.cumsum(0) - 1)[half[:, stays & keep[half[0]] & keep[half[1]]]]
    return x[keep], torch.cat([half, half.flip(0)], 1), batch[keep]


def walk(data: "Batch", *, p: float = 0.2, ratio: float = 0.8, steps: int = 40) -> Tensor:
    """``[N]`` which nodes are visited by random walks with restart, one per graph, computed in parallel."""
    source, destination = data.edge_index  # The loader sorts edges by destination.
    degree = torch.bincount(destination, minlength=data.num_nodes)
    first = degree.cumsum(0) - degree
    size = data.ptr.diff()
    limit = (ratio * size).ceil()
    start = data.ptr[:-1] + (torch.rand(len(size), device=size.device) * size).long()
    here, seen, count = start, torch.zeros_like(data.batch, dtype=torch.bool), torch.zeros_like(size)
    for _ in range(steps):
        new = ~seen[here] & (count < limit)
        seen[here] |= new
        count += new
        room = degree[here]
        edge = first[here] + (torch.rand(len(size), device=size.device) * room).long()
        there = torch.where(room > 0, source[edge.clamp(max=len(source) - 1)], here)
        here = torch.where(torch.rand(len(size), device=size.device) < p, start, there)
    return seen


def epochs(graphs: Graphs, settings: Settings, *, choices: int, by_graph: bool = False) -> Measure:
    """Seconds of an epoch with PyG and ``choices`` kinds of views; 0 for none."""
    from torch_geometric.loader import DataLoader

    from bench.geometric_transforms import TwoViews
    from nmrgcl.data.conversions import to_pyg

    device, options = graphs.device, settings.encoder
    items = to_pyg(graphs.to("cpu")).to_data_list()
    loader = DataLoader(TwoViews(items, choices) if by_graph else items, settings.train.batch_size, shuffle=True)
    encoder = Encoder(graphs.num_features, options.layers, options.units)
    model = nn.ModuleList([encoder, Head(options.layers * options.units)]).to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=settings.train.lr, fused=True)

    def embed(data: Any) -> Tensor:
        whole = by_graph or not choices
        view = (data.x, data.edge_index, data.batch) if whole else augment(data, choices)
        projected: Tensor = model[1](encoder(*view, data.num_graphs))
        return projected

    def epoch() -> None:
        for data in loader:
            one, two = (d.to(device) for d in (data if by_graph else (data, data)))
            z1, z2 = embed(one), embed(two)
            loss = infonce(z1, z2, positive=cosine(z1, z2 * non_maximum(z1, settings.options.delta)))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()

    return stopwatch(epoch, device)
