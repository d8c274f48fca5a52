"""Measures of trained embeddings that need no labels; every cell records them."""

from typing import Any

import torch
from torch import Tensor

from nmrgcl.augment import build_view
from nmrgcl.diagnose.alignment import alignment
from nmrgcl.diagnose.collapse import singular_spectrum
from nmrgcl.diagnose.neighbours import neighbour_agreement
from nmrgcl.diagnose.spectrum import spectrum_decay
from nmrgcl.diagnose.track import track
from nmrgcl.diagnose.units import to_unit_range
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Method, Pretraining
from nmrgcl.run.embeddings import embed_some
from nmrgcl.settings import Settings

VIEWED = 2048
"""Views are drawn of an evenly spaced sample of at most this many graphs."""
PAIRED = 512
"""The same for the views that every cell measures."""

BETTER = {
    "effective_rank": 1,
    "participation_ratio": 1,
    "stable_rank": 1,
    "spectrum_decay": -1,
    "mean_correlation": -1,
    "uniformity": -1,
    "alignment": -1,
    "neighbours": 1,
    "loss": -1,
}
"""What a cell records without labels, with the sign of the direction that is said to be better.

The share of the variance in one direction is left out, as it is the inverse of the stable rank."""


def measure_training(method: Method, graphs: Graphs, settings: Settings) -> dict[str, Any]:
    """How the embeddings of a sample use their dimensions and, for encoders of graphs, how well two views agree."""
    z, _ = to_unit_range(embed_some(method, graphs))
    values = singular_spectrum(z)
    found = track(z, values) | {"spectrum_decay": spectrum_decay(values)}
    if method.level == "graph" and isinstance(method, Pretraining):
        first, second = (to_unit_range(view)[0] for view in embed_views(method, graphs, settings, PAIRED))
        found |= {"alignment": alignment(first, second), "neighbours": neighbour_agreement(first, second)}
    return found


@torch.no_grad()
def embed_views(method: Pretraining, graphs: Graphs, settings: Settings, most: int = VIEWED) -> tuple[Tensor, Tensor]:
    """Embeddings of two views, as ``settings`` draw them, of an evenly spaced sample of at most ``most`` graphs."""
    if method.level == "graph":
        graphs = graphs.take(torch.arange(0, graphs.num_graphs, max(1, -(-graphs.num_graphs // most))))
    with torch.random.fork_rng(devices=[graphs.device] if graphs.device.type == "cuda" else []):
        # The views of a model are the same each time it is measured.
        torch.manual_seed(settings.seed)
        first, second = (build_view(choices)(graphs) for choices in (settings.views.first, settings.views.second))
    return method.embed_pair(first, second)
