"""Views that are more likely to keep what is central (GCA, Zhu et al. 2021)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from nmrgcl.augment.centrality import CENTRALITIES, centrality
from nmrgcl.augment.features import keep_columns
from nmrgcl.augment.view import View, check_share
from nmrgcl.errors import SettingError, nearest
from nmrgcl.graphs import Graphs
from nmrgcl.sparse_rows import entry_rows, is_sparse


def drop_rates(score: Tensor, owner: Tensor, groups: int, *, p: float, cap: float) -> Tensor:
    """``p · (max − s) / (max − mean)``, at most ``cap``, where s is the logarithm of ``score``, within each group.

    If all scores are equal, every rate is ``p``. A score of zero has no logarithm; its rate is ``cap``.
    """
    counted = score > 0
    s = torch.where(counted, score, 1.0).log()
    top = torch.full((groups,), -torch.inf, device=s.device, dtype=s.dtype)
    top = top.scatter_reduce(0, owner, torch.where(counted, s, -torch.inf), "amax")
    total, count = (
        torch.zeros(groups, device=s.device, dtype=s.dtype).index_add_(0, owner, part)
        for part in (torch.where(counted, s, 0.0), counted.to(s.dtype))
    )
    span = (top - total / count.clamp(min=1)).index_select(0, owner)
    # A group without any positive score has a span of −∞ and counts as even, too.
    even = ~(span > 1e-6)
    ratio = (top.index_select(0, owner) - s) / torch.where(even, 1.0, span)
    # Divided by p, because the product below multiplies by it again.
    ratio = torch.where(counted, torch.where(even, 1.0, ratio), cap / p if p else 0.0)
    return (p * ratio).clamp(max=cap)


@dataclass(frozen=True)
class _SparesCentral(View):
    p: float = 0.2
    centrality: str = "degree"
    cap: float = 0.7

    def __post_init__(self) -> None:
        check_share(self, p=self.p, cap=self.cap)
        if self.centrality not in CENTRALITIES:
            known = nearest(self.centrality, CENTRALITIES)
            raise SettingError(f"{type(self).__name__}: unknown centrality {self.centrality!r}; {known}")


@dataclass(frozen=True)
class DropCentralEdgesLess(_SparesCentral):
    """Remove undirected edges with probability ``p`` on average, central ones less often (GCA).

    Example:
        >>> import networkx as nx
        >>> from nmrgcl import DropCentralEdgesLess, from_networkx
        >>> karate = from_networkx(nx.karate_club_graph())
        >>> DropCentralEdgesLess(0.3, centrality="pagerank")(karate).compact().num_edges < karate.num_edges
        True
    """

    def forward(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """The centrality of an edge is the mean of that of its ends."""
        graphs = graphs.merge_added()
        score = centrality(graphs, self.centrality)[graphs.edge_index].mean(0)
        owner = graphs.batch.index_select(0, graphs.edge_index[1])
        rate = drop_rates(score, owner, graphs.num_graphs, p=self.p, cap=self.cap)
        # One draw for both directions.
        draw = torch.rand(graphs.num_edges, device=graphs.device).index_select(0, graphs.pair)
        keep = draw >= rate.index_select(0, graphs.pair)
        return graphs.keep_edges(keep if chosen is None else keep | ~chosen.index_select(0, owner))


@dataclass(frozen=True)
class MaskCentralFeaturesLess(_SparesCentral):
    """Set feature columns to zero with probability ``p`` on average, less often those of central nodes (GCA).

    Example:
        >>> import torch
        >>> from nmrgcl import Graphs, MaskCentralFeaturesLess
        >>> pair = Graphs.build(torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 2]), x=torch.ones(2, 50))
        >>> x = MaskCentralFeaturesLess(0.5)(pair).x
        >>> bool((x[0] == x[1]).all())  # whole columns
        True
    """

    def forward(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """One mask per graph, the same for all its nodes."""
        score = _column_scores(graphs, centrality(graphs, self.centrality)).flatten()
        owner = torch.arange(graphs.num_graphs, device=graphs.device).repeat_interleave(graphs.num_features)
        rate = drop_rates(score, owner, graphs.num_graphs, p=self.p, cap=self.cap)
        keep = (torch.rand_like(rate) >= rate).view(graphs.num_graphs, graphs.num_features)
        if chosen is not None:
            keep = keep | ~chosen[:, None]
        return keep_columns(graphs, keep)


def _column_scores(graphs: Graphs, central: Tensor) -> Tensor:
    """``[B, F]``: Σ |x| over the nodes of each graph, weighted by how central they are."""
    if not graphs.categorical and not is_sparse(graphs.x) and graphs.num_graphs == 1:
        return (central.to(graphs.x.dtype) @ graphs.x.abs())[None]
    if graphs.categorical:
        node = torch.arange(graphs.num_nodes, device=graphs.device)[:, None].expand_as(graphs.x).flatten()
        column, value = graphs.x.flatten().clamp(min=0), (graphs.x.flatten() >= 0).to(central.dtype)
    elif is_sparse(graphs.x):
        node, column, value = entry_rows(graphs.x), graphs.x.col_indices(), graphs.x.values().abs()
    else:
        total = central.new_zeros(graphs.num_graphs, graphs.num_features)
        return total.index_add_(0, graphs.batch, (graphs.x.abs() * central[:, None]).to(total.dtype))
    place = graphs.batch.index_select(0, node) * graphs.num_features + column
    total = central.new_zeros(graphs.num_graphs * graphs.num_features)
    return total.index_add_(0, place, value * central.index_select(0, node)).view(graphs.num_graphs, -1)
