"""What graphs are read from."""

from typing import Protocol

from torch import Tensor

from nmrgcl.graphs import Graphs


class Source(Protocol):
    """Graphs that can be had by their numbers: ``Graphs``, or a store on disk."""

    @property
    def num_features(self) -> int:
        """Of each node."""
        ...

    def __len__(self) -> int: ...

    def sizes(self) -> tuple[Tensor, Tensor]:
        """``[B]`` nodes and directed edges of each graph, on the host."""
        ...

    def take(self, index: Tensor) -> Graphs:
        """The graphs that ``index`` (on the host) names, in that order."""
        ...
