"""Views that act on node features."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from nmrgcl.augment.view import View, check_share
from nmrgcl.graphs import Graphs
from nmrgcl.ops.masks import blank_drawn_rows
from nmrgcl.sparse_rows import entry_rows, is_sparse, with_values


@dataclass(frozen=True)
class MaskFeatures(View):
    """Set each feature column to zero with probability ``p``, for a whole graph at once (FeatureMasking).

    Example:
        >>> import torch
        >>> from nmrgcl import Graphs, MaskFeatures
        >>> pair = Graphs.build(torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 2]), x=torch.ones(2, 50))
        >>> x = MaskFeatures(0.5)(pair).x
        >>> bool((x[0] == x[1]).all()), 0 < int(x[0].sum()) < 50  # some columns, for all nodes
        (True, True)
    """

    p: float = 0.2

    def __post_init__(self) -> None:
        check_share(self, p=self.p)

    def forward(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """One mask per graph, the same for all its nodes."""
        keep = torch.rand(graphs.num_graphs, graphs.num_features, device=graphs.device) >= self.p
        if chosen is not None:
            keep = keep | ~chosen[:, None]
        return keep_columns(graphs, keep)


def keep_columns(graphs: Graphs, keep: Tensor) -> Graphs:
    """The graphs without the feature columns where ``keep`` (``[B, F]``, bool) is false."""
    if graphs.categorical:
        # -1 names no column; whatever is looked up for it, it stays -1.
        kept = keep[graphs.batch[:, None], graphs.x.clamp(min=0)]
        return replace(graphs, x=torch.where(kept, graphs.x, -1))
    if is_sparse(graphs.x):
        owner = graphs.batch.index_select(0, entry_rows(graphs.x))
        return replace(graphs, x=with_values(graphs.x, graphs.x.values() * keep[owner, graphs.x.col_indices()]))
    return replace(graphs, x=graphs.x * keep.index_select(0, graphs.batch))


@dataclass(frozen=True)
class DropFeatures(View):
    """Set a node's whole feature vector to zero with probability ``p`` (FeatureDropout).

    Example:
        >>> import torch
        >>> from nmrgcl import DropFeatures, Graphs
        >>> pair = Graphs.build(torch.tensor([[0, 1], [1, 0]]), torch.tensor([0, 2]), x=torch.ones(2, 3))
        >>> DropFeatures(1.0)(pair).x.tolist()
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """

    p: float = 0.2

    def __post_init__(self) -> None:
        check_share(self, p=self.p)

    def forward(self, graphs: Graphs, chosen: Tensor | None = None) -> Graphs:
        """The node itself and its edges stay."""
        draw = torch.rand(graphs.num_nodes, device=graphs.device)
        return replace(graphs, x=blank_drawn_rows(graphs.x, draw, graphs.batch, chosen, self.p))
