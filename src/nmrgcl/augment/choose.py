"""Views made of views."""

from dataclasses import dataclass

import torch
from torch import Tensor

from nmrgcl.augment.subgraph import Subgraph
from nmrgcl.augment.view import View
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs


@dataclass(frozen=True)
class Identity:
    """The graphs as they are."""

    def __call__(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """Nothing happens."""
        return graphs


@dataclass(frozen=True, init=False)
class OneOf:
    """Each graph, not each batch, gets one of the views, drawn evenly."""

    views: tuple[View, ...]

    def __init__(self, *views: View) -> None:
        if not views:
            raise SettingError("OneOf needs at least one view")
        object.__setattr__(self, "views", views)

    def __call__(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """Each view passes the graphs that drew another one, so they can act one after the other, in any order."""
        draw = torch.randint(len(self.views), (graphs.num_graphs,), device=graphs.device)
        # A walk is cheapest where nothing is masked yet.
        for number, view in sorted(enumerate(self.views), key=lambda item: not isinstance(item[1], Subgraph)):
            mine = draw == number
            graphs = view(graphs, mine if chosen is None else mine & chosen)
        return graphs


def on_halves(graphs: Graphs, first: View, second: View) -> Graphs:
    """``first`` on the first half of the graphs, ``second`` on the others."""
    if first == second:
        return first(graphs)
    is_first = torch.arange(graphs.num_graphs, device=graphs.device) < graphs.num_graphs // 2
    return second(first(graphs, is_first), ~is_first)


@dataclass(frozen=True, init=False)
class Compose:
    """The views one after the other: the compound augmentation that the paper leaves for later."""

    views: tuple[View, ...]

    def __init__(self, *views: View) -> None:
        object.__setattr__(self, "views", views)

    def __call__(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """A later view sees only what the earlier ones left."""
        for view in self.views:
            graphs = view(graphs, chosen)
        return graphs
