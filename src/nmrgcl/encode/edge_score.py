"""A score for each edge, computed from the embeddings of its ends."""

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, relu

from nmrgcl.encode.attention import at_end
from nmrgcl.graphs import Graphs


class EdgeScore(nn.Module):
    """Linear, ReLU, Linear of [h_u ‖ h_v]; the mean over both directions, so an undirected edge has one score.

    The first map is applied to nodes, of which there are fewer than edges, before their embeddings are gathered.
    """

    def __init__(self, width: int, units: int = 64) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(2 * width, units), nn.Linear(units, 1)

    def forward(self, h: Tensor, graphs: Graphs) -> Tensor:
        """``[N, width]`` to ``[E]``."""
        as_source, as_destination = self.first.weight.chunk(2, 1)
        ends = torch.cat([linear(h, as_source), linear(h, as_destination, self.first.bias)], 1)
        (u_from, u_to), (v_from, v_to) = (at_end(ends, graphs, end).chunk(2, 1) for end in (0, 1))
        # The second map commutes with the mean, so it is applied once per edge.
        out: Tensor = self.second((relu(u_from + v_to) + relu(v_from + u_to)) / 2)
        return out.squeeze(1)
