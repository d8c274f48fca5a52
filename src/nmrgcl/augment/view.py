"""What every view is: a function from a batch of graphs to the same batch, seen differently."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, overload

from torch import Tensor

from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs

if TYPE_CHECKING:
    from torch_geometric.data import Data


class View(ABC):
    """Acts on a whole batch at once, on the batch's device, drawing from torch's global generator.

    Example:
        >>> import networkx as nx
        >>> from nmrgcl import DropEdges, View, from_networkx
        >>> isinstance(DropEdges(0.2), View)
        True
        >>> DropEdges(1.0)(from_networkx(nx.path_graph(3))).compact()
        Graphs(1 graphs, 3 nodes, 0 directed edges, 1 categorical features, cpu)
    """

    @abstractmethod
    def forward(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """Graphs where ``chosen`` (``[B]``, bool) is false pass unchanged; None chooses all."""

    @overload
    def __call__(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs: ...
    @overload
    def __call__(self, graphs: "Data", chosen: Tensor | None = None) -> "Data": ...
    def __call__(self, graphs: Any, chosen: Tensor | None = None) -> Any:
        """``forward``; PyG's ``Data`` or ``Batch`` gives a new one, so that every view is also a PyG transform."""
        if isinstance(graphs, Graphs):
            return self.forward(graphs, chosen)
        from nmrgcl.data.conversions.geometric_view import view_of_pyg

        return view_of_pyg(lambda given: self.forward(given, chosen), graphs)


def check_share(view: object, **shares: float) -> None:
    """Refuse a probability or portion outside 0…1."""
    for name, value in shares.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise SettingError(f"{type(view).__name__}: {name} = {value!r} must be a number between 0 and 1")
