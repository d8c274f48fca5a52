"""Views made of views."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor

from nmrgcl.augment.subgraph import Subgraph
from nmrgcl.augment.view import View
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs

LARGEST = 1e300
"""Weights whose sum is below this have finite partial sums."""


@dataclass(frozen=True)
class Identity(View):
    """The graphs as they are.

    Example:
        >>> import networkx as nx
        >>> from nmrgcl import Identity, from_networkx
        >>> graphs = from_networkx(nx.path_graph(3))
        >>> Identity()(graphs) is graphs
        True
    """

    def forward(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """The same graphs."""
        return graphs


@dataclass(frozen=True, eq=False)
class Drawn(View):
    """Each graph gets the view whose number it has drawn (``[B]``); a second copy of the graph gets the same one."""

    views: tuple[View, ...]
    draw: Tensor

    def forward(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """``draw`` has one entry per graph, not per copy."""
        return _apply(self.views, self.draw.repeat(graphs.views), graphs, chosen)


@dataclass(frozen=True, init=False)
class OneOf(View):
    """Each graph, not each batch, gets one of the views, drawn evenly or in proportion to ``weights``.

    Equal weights count as none, so that they lead to the same draws.

    Example:
        >>> import networkx as nx
        >>> from nmrgcl import DropEdges, Identity, OneOf, from_networkx
        >>> graphs = from_networkx([nx.path_graph(2)] * 50)
        >>> seen = OneOf(DropEdges(1.0), Identity(), weights=[3, 1])(graphs)
        >>> 0 < seen.compact().num_edges < graphs.num_edges  # some graphs have lost their edge, some have not
        True
    """

    views: tuple[View, ...]
    weights: tuple[float, ...] | None

    def __init__(self, *views: View, weights: Sequence[float] | None = None) -> None:
        if not views:
            raise SettingError("OneOf needs at least one view")
        if weights is not None:
            weights = _checked(weights, len(views))
        object.__setattr__(self, "views", views)
        object.__setattr__(self, "weights", weights if weights and len(set(weights)) > 1 else None)

    def forward(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """Every graph draws its own view."""
        return _apply(self.views, self._draw(graphs.num_graphs, graphs.device), graphs, chosen)

    def _draw(self, count: int, device: torch.device) -> Tensor:
        """``[count]`` numbers of views. Bounds are compared one by one: sending them to a device would make it wait."""
        if self.weights is None:
            return torch.randint(len(self.views), (count,), device=device)
        *bounds, total = accumulate(self.weights)
        draw = torch.rand(count, device=device, dtype=torch.float64)
        return torch.stack([draw >= bound / total for bound in bounds]).sum(0)


def _apply(views: Sequence[View], draw: Tensor, graphs: Graphs, chosen: Tensor | None) -> Graphs:
    """Each view leaves graphs alone that drew another one, so views act one after the other, in any order."""
    # A walk is cheapest as long as nothing is masked.
    for number, view in sorted(enumerate(views), key=lambda item: not isinstance(item[1], Subgraph)):
        mine = draw == number
        graphs = view(graphs, mine if chosen is None else mine & chosen)
    return graphs


def _checked(weights: Sequence[float], count: int) -> tuple[float, ...]:
    """``weights`` as floats, if they are valid for ``count`` views."""
    numbers = isinstance(weights, list | tuple) and all(
        isinstance(weight, int | float) and not isinstance(weight, bool) for weight in weights
    )
    if not numbers or len(weights) != count or not min(weights) >= 0 or not 0 < sum(weights) < LARGEST:
        raise SettingError(
            f"weights = {weights!r} of {count} views must be as many finite numbers, none below 0 and not all of them 0"
        )
    return tuple(float(weight) for weight in weights)


def on_halves(graphs: Graphs, first: View, second: View) -> Graphs:
    """``first`` on the first half of the graphs, ``second`` on the others."""
    # Equal views act on all graphs at once; each graph still has draws of its own.
    if first == second:
        return first(graphs)
    is_first = torch.arange(graphs.num_graphs, device=graphs.device) < graphs.num_graphs // 2
    return second(first(graphs, is_first), ~is_first)


@dataclass(frozen=True, init=False)
class Compose(View):
    """The views one after the other: the compound augmentation that the paper leaves to future work.

    Example:
        >>> import networkx as nx
        >>> from nmrgcl import Compose, DropEdges, DropNodes, from_networkx
        >>> Compose(DropEdges(1.0), DropNodes(0.0))(from_networkx(nx.path_graph(3))).compact()
        Graphs(1 graphs, 3 nodes, 0 directed edges, 1 categorical features, cpu)
    """

    views: tuple[View, ...]

    def __init__(self, *views: View) -> None:
        object.__setattr__(self, "views", views)

    def forward(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """A later view sees only what the earlier ones left."""
        for view in self.views:
            graphs = view(graphs, chosen)
        return graphs
