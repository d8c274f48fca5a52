"""A queue and a teacher, as in MoCo (He et al. 2020): both are state between batches and live in buffers."""

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from nmrgcl.augment import build_view
from nmrgcl.encode import pool
from nmrgcl.encode.teacher import Teacher
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Pretraining
from nmrgcl.settings import Settings
from nmrgcl.train import Progress


class Queued(Pretraining):
    """Tell the teacher's embedding of a graph from those of the last few batches."""

    queue: Tensor

    def __init__(self, settings: Settings, num_features: int) -> None:
        super().__init__(settings, num_features)
        self.view, self.teacher = build_view(settings.views.first), Teacher(self.encoder)
        self.register_buffer("queue", normalize(torch.randn(16, self.encoder.units)))

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        z, seen = normalize(self.embed(self.view(graphs))), self.view(graphs)
        with torch.no_grad():
            taught = normalize(pool(self.teacher(self.encoder, seen), seen, self.readout))
        similar = torch.cat([(z * taught).sum(1, keepdim=True), z @ self.queue.T], 1)
        yield cross_entropy(similar / 0.2, torch.zeros_like(graphs.node_ptr[1:]))
        self.teacher.follow(self.encoder, 0.9)
        self.queue.copy_(torch.cat([taught, self.queue])[: len(self.queue)])


METHOD = Queued
