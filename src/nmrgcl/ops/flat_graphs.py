"""What operations read of ``nmrgcl.graphs.Graphs``, which imports them and so cannot be imported here."""

from typing import Protocol

from torch import Tensor


class FlatGraphs(Protocol):
    """Many graphs as flat tensors; ``nmrgcl.graphs.Graphs`` says what each attribute holds."""

    @property
    def edge_index(self) -> Tensor: ...  # noqa: D102
    @property
    def row_ptr(self) -> Tensor: ...  # noqa: D102
    @property
    def node_ptr(self) -> Tensor: ...  # noqa: D102
    @property
    def batch(self) -> Tensor: ...  # noqa: D102
    @property
    def pair(self) -> Tensor: ...  # noqa: D102
    @property
    def symmetric(self) -> bool: ...  # noqa: D102
    @property
    def node_keep(self) -> Tensor | None: ...  # noqa: D102
    @property
    def edge_keep(self) -> Tensor | None: ...  # noqa: D102
    @property
    def live_edges(self) -> Tensor: ...  # noqa: D102
    def node_counts(self) -> Tensor: ...  # noqa: D102
