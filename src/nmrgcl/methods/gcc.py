"""GCC (Qiu et al. 2020): match two random walks around the same node, using structure only."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from nmrgcl.augment import Subgraph
from nmrgcl.augment.seeds import draw_seeds, highest_degree
from nmrgcl.contrast import find_key
from nmrgcl.encode import embed_graphs, pool
from nmrgcl.encode.feature_map import FeatureMap
from nmrgcl.encode.positions import positions
from nmrgcl.encode.teacher import follow, teach
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, Pretraining
from nmrgcl.ops import across_ranks
from nmrgcl.settings import Settings, TrainSettings, setting
from nmrgcl.train import Optimiser, Progress

POSITIONS, DEGREES, LARGEST_DEGREE = 32, 16, 512
"""Dimensions of the positional encoding and of the degree embedding, which larger degrees share."""
PARTS = ("encoder", "degrees", "outputs")


@dataclass(frozen=True)
class Options:
    """The walks, the source of keys, and the loss."""

    contrast: Literal["end_to_end", "moco"] = setting(
        "end_to_end", "keys from the batch, or from a teacher and a queue"
    )
    queue: int = setting(16384, "length of the queue of keys, for moco", min=1)
    momentum: float = setting(0.999, "momentum of the teacher, for moco", min=0, max=1)
    tau: float = setting(0.07, "temperature of the loss (τ)", above=0)
    restart: float = setting(0.8, "probability that a walk returns to its seed", min=0, max=1)
    steps: int = setting(256, "number of steps of a walk", min=1)
    columns: int = setting(64, "dimension of the embeddings", min=1)
    dropout: float = setting(0.5, "dropout on the contribution of each layer to an embedding", min=0, below=1)


class GCC(Pretraining):
    """Recognise whether two walks started from the same node; features are positions, degrees and the seed only."""

    options: Options
    FIXED: ClassVar[dict[str, Any]] = {"encoder.name": "gin"}
    PRESETS: ClassVar[dict[Level, str]] = {"graph": "gcc"}
    ABOUT = About(
        family="contrastive",
        paper="Qiu et al. 2020, GCC: Graph Contrastive Coding for Graph Neural Network Pre-Training",
        trains="the encoder, degree embeddings and a linear map per layer, all of which are kept",
        published="frozen, pre-trained with MoCo on six networks: IMDB-BINARY 72.0, IMDB-MULTI 49.4, COLLAB 78.9, "
        "REDDIT-BINARY 89.8, REDDIT-MULTI-5K 53.7 (not verified)",
        checked="positions against NumPy's eigenvectors, the queue by hand, seeds against their probabilities; after a "
        "short training it recognises walks in unseen graphs; tests/methods/test_gcc.py",
    )
    ACROSS_RANKS = True
    CAPTURABLE = False  # Eigendecompositions synchronise with the host.
    queue: Tensor

    def __init__(self, settings: Settings, num_features: int) -> None:
        super().__init__(settings, POSITIONS + DEGREES + 1)
        options, units = self.options, settings.encoder.units
        self.batch_size = settings.train.batch_size
        self.walk = Subgraph(p=options.restart, ratio=1.0, steps=options.steps)
        self.degrees = FeatureMap(LARGEST_DEGREE + 1, DEGREES)
        # The input counts as a level of its own: five readouts for four layers.
        widths = [POSITIONS + DEGREES + 1, *[units] * (self.encoder.units // units)]
        self.outputs = nn.ModuleList(nn.Linear(width, options.columns) for width in widths)
        self.dropout = nn.Dropout(options.dropout)
        self.is_moco = options.contrast == "moco"
        if self.is_moco:
            self.teachers = teach(self, *PARTS)
            self.register_buffer("queue", normalize(torch.randn(options.queue, options.columns)))

    @property
    def width(self) -> int:
        """The option ``columns``."""
        return self.options.columns

    def optimisers(self, options: TrainSettings) -> list[Optimiser]:
        """Adam with decoupled weight decay, warm-up, linear decay and gradient clipping."""
        group = {"params": list(self.parameters()), "weight_decay": 1e-5}
        return [Optimiser([group], lr=options.lr, schedule="linear", warmup=0.1, clip=1.0)]

    def begin_epoch(self, progress: Progress) -> None:
        """Refuse a queue that is so long that graphs would meet their own older keys."""
        most = (progress.steps // progress.epochs - 1) * self.batch_size  # The keys of an epoch's other batches.
        if self.is_moco and self.options.queue > most:
            advice = f"set queue to {most} or less" if most else "lower train.batch_size and queue"
            raise SettingError(
                f"queue = {self.options.queue} holds more keys than an epoch has in other batches ({most}), so that "
                f"graphs would be their own negatives; {advice}, or set contrast=end_to_end"
            )

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """InfoNCE of two walks from one seed per graph; with moco, keys come from a teacher and a FIFO queue."""
        first, second = self.walks(graphs)
        if not self.is_moco:
            yield find_key(self(first), self(second), tau=self.options.tau)
            return
        # As in the published code, keys are computed without dropout, but with the batch's statistics.
        self.dropout.eval()
        keys = self.taught(self.teachers, second)
        self.dropout.train()
        yield find_key(self(first), keys, self.queue, tau=self.options.tau)
        follow(self.teachers, self, self.options.momentum)
        # Only now, so that the keys of this batch were not among its own negatives.
        self.queue.copy_(torch.cat([across_ranks.gather(keys), self.queue])[: len(self.queue)])

    def walks(self, graphs: Graphs) -> tuple[Graphs, Graphs]:
        """The subgraphs of two walks from one seed per graph; all walks run in parallel."""
        count, seed = graphs.num_graphs, draw_seeds(graphs)
        # In the batch below, the nodes of the second copy follow those of the first.
        seed = torch.cat([seed, seed + graphs.num_nodes])
        twice = graphs.take(torch.arange(2 * count) % count)
        seen = describe(self.walk.around(twice, seed), seed)
        return seen.take(torch.arange(count)), seen.take(torch.arange(count, 2 * count))

    def forward(self, graphs: Graphs) -> Tensor:
        """Unit vectors ``[B, columns]`` for described graphs: the sum over layers of linear maps of their readouts."""
        position, degree, is_seed = graphs.x.split([POSITIONS, 1, 1], 1)
        x = torch.cat([position, self.degrees(degree.long()), is_seed], 1)
        graphs = replace(graphs, x=x, num_features=x.shape[1])
        r = embed_graphs(self.encoder, graphs, self.readout)
        levels = [pool(x, graphs, self.readout), *r.chunk(len(self.outputs) - 1, 1)]
        return normalize(sum(self.dropout(out(level)) for out, level in zip(self.outputs, levels, strict=True)))

    def embed(self, graphs: Graphs) -> Tensor:
        """``[B, columns]`` embeddings of whole graphs with their highest-degree node as seed.

        With moco, this is the mean of the embeddings by encoder and teacher.
        """
        graphs = graphs.compact()
        graphs = describe(graphs, highest_degree(graphs))
        ours: Tensor = self(graphs)
        return (ours + self.taught(self.teachers, graphs)) / 2 if self.is_moco else ours


def describe(graphs: Graphs, seed: Tensor) -> Graphs:
    """Compacted graphs with structural node features: position, degree, and whether the node is the ``seed``."""
    some = (graphs.node_counts() > 0).float()  # A graph without nodes has no seed.
    # The spare entry is where the seeds of a batch without any node point.
    is_seed = torch.zeros(graphs.num_nodes + 1, device=graphs.device).index_add_(0, seed, some)[:-1]
    graphs = replace(graphs, x=is_seed[:, None], num_features=1, edge_attr=None, edge_weight=None).compact()
    degree = graphs.row_ptr.diff().clamp(max=LARGEST_DEGREE)
    x = torch.cat([positions(graphs, POSITIONS), degree[:, None].float(), graphs.x], 1)
    return replace(graphs, x=x, num_features=x.shape[1])


METHOD = GCC
