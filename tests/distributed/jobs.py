"""What the processes of a ``Crew`` are asked to do."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import distributed as dist

from nmrgcl.graphs import Graphs
from nmrgcl.methods import Level, Pretraining, build_pretraining
from nmrgcl.settings import Settings
from nmrgcl.train import Progress, pretrain
from nmrgcl.train.checkpoint import Checkpoint, newest_checkpoint, write_checkpoint
from nmrgcl.train.distributed import Ranks, SharedMemory, joined
from nmrgcl.train.state import TrainingState
from nmrgcl.train.step import GuardedStep
from tests.distributed.draws import drawn
from tests.examples import random_graphs, random_molecules
from tests.methods.members import NETWORK, learns_from_molecules, settings_of

GROUPS: dict[int, Any] = {}
SIZES = [6, 1, 9, 4, 0, 7, 5, 8, 3, 10, 2, 7, 3, 6]
"""Graphs without nodes and without edges among them."""
BATCHES = [torch.arange(11), torch.tensor([13, 12, 11, 5])]
STILL = ("dropout=0", "replace=0", "negatives=97")
"""Draws of these cannot be told apart by their shape."""
CONSTANT = ("edge_pred",)
"""The number of its draws is not that of graphs, nodes or edges."""
VIEWS = '[{name="DropNodes"}, {name="DropEdges"}, {name="DropFeatures"}]'


def begin(size: int) -> None:
    """A group of the first 2, 3, … ranks for each number of ranks; made by all of them."""
    for count in range(2, size + 1):
        GROUPS[count] = dist.new_group(list(range(count)))


def fixed_settings(name: str, level: Level, *assignments: str) -> Settings:
    options = settings_of(name, level=level).options
    kept = ["encoder.dropout=0", *(text for text in STILL if options and hasattr(options, text.partition("=")[0]))]
    return settings_of(name, *kept, f"views.first={VIEWS}", f"views.second={VIEWS}", *assignments, level=level)


def graphs_for(name: str) -> Graphs:
    graphs = random_molecules(SIZES) if learns_from_molecules(name) else random_graphs(SIZES, density=0.4, features=3)
    return replace(graphs, x=graphs.x.double()) if graphs.x.is_floating_point() else graphs


def generic(method: Pretraining) -> Pretraining:
    """Away from the initial weights, where sums of normalised rows are exactly zero and a ReLU is at its kink."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in method.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
    return method


def losses_and_gradients(rank: int, count: int, name: str, level: Level, *assignments: str) -> list[dict[str, Any]]:
    """Train on two batches, in float64 and with fixed draws; what each step had for losses, gradients and buffers.

    At node level, the graphs stand for the samples around the roots of each rank.
    """
    if rank >= count:
        return []
    ranks, settings, graphs = (
        Ranks(rank, count, GROUPS.get(count)),
        fixed_settings(name, level, *assignments),
        graphs_for(name),
    )
    method = generic(build_pretraining(settings, graphs.num_features).double().train())
    step = GuardedStep(method, method.optimisers(settings.train), TrainingState(), ranks if count > 1 else None)
    step.state.total = step.state.total.double()
    found = []
    with torch.no_grad():
        method.survey(_surveyed(ranks, graphs, name), Progress(epoch=2, epochs=3, steps=6))
    for number, batch in enumerate(BATCHES):
        parts = [graphs.take(part) for part in batch.tensor_split(count)]
        step.state.total.zero_()
        with ranks.sharing(len(batch)), drawn(parts, rank, number, constant=name in CONSTANT):
            step(parts[rank])
        gradients = {name: p.grad.clone() for name, p in method.named_parameters() if p.grad is not None}
        buffers = {name: buffer.clone() for name, buffer in method.named_buffers()}
        found.append({"loss": step.state.total.clone(), "gradients": gradients, "buffers": buffers})
    return found


def _surveyed(ranks: Ranks, graphs: Graphs, name: str) -> Any:
    for number, batch in enumerate(BATCHES):
        parts = [graphs.take(part) for part in batch.tensor_split(ranks.count)]
        with ranks.sharing(len(batch)), drawn(parts, ranks.rank, 100 + number, constant=name in CONSTANT):
            yield parts[ranks.rank]


@dataclass
class Once:
    """Stores one checkpoint in the middle of the last epoch; recalls it if ``resumes``."""

    folder: Path
    resumes: bool
    batches: int = 0

    def recall(self) -> Checkpoint | None:
        return newest_checkpoint(self.folder)[0] if self.resumes else None

    def due(self, *, epoch_ended: bool) -> bool:
        self.batches += not epoch_ended
        return not self.resumes and not epoch_ended and self.batches == KEPT_AT

    def keep(self, step: int, checkpoint: Checkpoint) -> None:
        write_checkpoint(self.folder, step, checkpoint)


class NoSignals:
    received: int | None = None

    def obey(self) -> None: ...


@dataclass
class Library:
    """Graphs that are read as those of a store are; remembers which."""

    graphs: Graphs
    read: list[int] = field(default_factory=list)

    @property
    def num_features(self) -> int:
        return self.graphs.num_features

    def __len__(self) -> int:
        return len(self.graphs)

    def sizes(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self.graphs.sizes()

    def take(self, index: torch.Tensor) -> Graphs:
        self.read += index.tolist()
        return self.graphs.take(index)


KEPT_AT = 8
"""Batches until the checkpoint, in the last of three epochs of three batches."""


def train_from_a_library(rank: int, count: int, folder: Path, resumes: bool) -> dict[str, Any] | None:
    """Train for three epochs of three batches, a chunk of two at a time; the graphs of each batch, and the weights."""
    if rank >= count:
        return None
    ranks, settings = Ranks(rank, count, GROUPS.get(count)), settings_of("graphcl", "chunk_graphs=8")
    library = Library(replace(random_graphs(LIBRARY), y=torch.arange(len(LIBRARY))))
    method = build_pretraining(settings, library.num_features)
    seen: list[list[int]] = []
    losses = method.losses

    def noted(graphs: Graphs, progress: Progress) -> Iterator[torch.Tensor]:
        assert graphs.y is not None
        seen.append(graphs.y.tolist())
        return losses(graphs, progress)

    method.losses = noted  # type: ignore[method-assign]
    memory = SharedMemory(ranks, Once(folder, resumes) if rank == 0 else None, NoSignals())
    with joined(ranks):
        epochs = list(pretrain(method, library, settings.train, seed=3, memory=memory))
    return {
        "seen": seen,
        "read": library.read,
        "weights": method.state_dict(),
        "losses": [epoch.loss for epoch in epochs],
        "bytes": epochs[-1].bytes_per_step,
    }


LIBRARY = [5, 4, 6, 3, 7, 5, 4, 6, 8, 3, 5, 4]
"""Nodes of the graphs in the library: three batches of four."""


def train_on_samples(rank: int, count: int, name: str, sampling: str) -> dict[str, Any] | None:
    """Train for three epochs on samples of one graph; the nodes of the samples, and the weights."""
    if rank >= count:
        return None
    ranks, settings = (
        Ranks(rank, count, GROUPS.get(count)),
        settings_of(name, f"sampling={sampling}", "batch_size=10", level="node"),
    )
    method = build_pretraining(settings, NETWORK.num_features)
    with joined(ranks):
        losses = [epoch.loss for epoch in pretrain(method, NETWORK, settings.train, seed=3)]
    return {"losses": losses, "weights": method.state_dict()}
