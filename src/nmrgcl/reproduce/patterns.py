"""Train one encoder with objectives that lead to complete, dimensional or no collapse."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor
from torch.nn.functional import normalize

from nmrgcl.contrast import cca_loss, cosine, infonce
from nmrgcl.graphs import Graphs
from nmrgcl.methods.nmrgcl import NMRGCL
from nmrgcl.reproduce.item import PRESET
from nmrgcl.run.embeddings import embed_all
from nmrgcl.run.machine import suitable_threads
from nmrgcl.settings import Settings, resolve
from nmrgcl.train import Progress, pretrain

UNITS = 32
"""The width of the projection."""
STAGES = (1e-2, 1e-3, 1e-4)
"""Successive learning rates: with the first one only, large steps would blur a complete collapse."""
EPOCHS = 30
"""The number of epochs at each learning rate."""
OBJECTIVES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "alignment alone": lambda z1, z2: (1 - cosine(z1, z2)).mean(),
    "contrastive": lambda z1, z2: infonce(z1, z2, tau=0.2),
    "decorrelated": lambda z1, z2: cca_loss(z1, z2, decorrelate=1.0),
    "nmrGCL": lambda z1, z2: infonce(z1, z2, tau=0.2, delta=0.7),
}
"""Alignment of two views only; InfoNCE; alignment with decorrelated dimensions; InfoNCE with removal (Eq. 14)."""


class Patterned(NMRGCL):
    """nmrGCL's encoder, head and views with another objective."""

    def __init__(self, settings: Settings, num_features: int, objective: str) -> None:
        super().__init__(settings, num_features)
        self.objective = OBJECTIVES[objective]

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """The objective on the projections of two views."""
        z1, z2 = self.head(self.embed_views(graphs, *self.views)).chunk(2)
        yield self.objective(z1, z2)


def train_pattern(
    graphs: Graphs, objective: str, seed: int, assignments: Sequence[str] = (), *, stages: Sequence[float] = STAGES
) -> tuple[Tensor, Tensor]:
    """Projections on the unit sphere and embeddings of all graphs, ``[B, UNITS]`` and ``[B, D]``.

    Without ``stages``, these are by the untrained encoder.
    """
    settings = resolve(PRESET, assignments=(f"train.epochs={EPOCHS}", f"head_units={UNITS}", *assignments))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        method = Patterned(settings, graphs.num_features, objective).to(graphs.device)
    with suitable_threads(settings):
        for stage, rate in enumerate(stages):
            options = settings.updated({"train.lr": rate}).train
            # Another seed for each stage and each training, so that no stage repeats the batches and views of another.
            for _ in pretrain(method, graphs, options, seed=len(STAGES) * seed + stage):
                pass
        r = embed_all(method, graphs)
        with torch.no_grad():
            return normalize(method.head(r), dim=1).cpu(), r.cpu()
