"""A step of fine-tuning. On a GPU it is recorded: to launch the kernels of a small batch takes longer than they do."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from nmrgcl.graphs import Graphs
from nmrgcl.settings import FinetuneSettings
from nmrgcl.train.recording import CapturedStep, Recording, Step, captured_by_size, recorded_if_possible

GraphStep = Callable[[Tensor], None]
"""Train on the graphs of these numbers, which are on the host."""


class Update:
    """The gradient of a loss, and Adam's step."""

    def __init__(self, model: nn.Module, options: FinetuneSettings, device: torch.device) -> None:
        on_gpu = device.type == "cuda"
        self.optimiser = torch.optim.Adam(
            model.parameters(),
            lr=options.lr,
            weight_decay=options.weight_decay,
            fused=on_gpu,
            capturable=on_gpu,
        )
        self.idle = torch.zeros((), device=device)
        if on_gpu:
            self.optimiser.found_inf = self.idle  # type: ignore[attr-defined]

    def __call__(self, loss: Tensor) -> None:
        """Step down."""
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()

    @contextmanager
    def rehearsal(self) -> Iterator[None]:
        """Inside, on a GPU, steps change no weight."""
        self.idle.fill_(1.0)
        try:
            yield
        finally:
            self.idle.zero_()


def graph_step(
    model: nn.Module, graphs: Graphs, y: Tensor, options: FinetuneSettings, *, sizes: set[int], capture: bool
) -> GraphStep:
    """For batches of ``sizes`` graphs with classes ``y`` ``[B]``."""
    graphs, update = replace(graphs, y=y, y_level="graph"), Update(model, options, graphs.device)

    def step(batch: Graphs) -> None:
        assert batch.y is not None
        update(cross_entropy(model(batch), batch.y))

    def record() -> GraphStep:
        kept = list(model.state_dict().values())
        recorded = captured_by_size(sizes, lambda size, beside: CapturedStep(graphs, size, step, kept, beside=beside))
        return lambda index: recorded[len(index)](index)

    return _recorded(record, update, graphs, capture) or (lambda index: step(graphs.take(index)))


def node_step(
    model: nn.Module, graphs: Graphs, y: Tensor, train: Tensor, options: FinetuneSettings, *, capture: bool
) -> Callable[[], None]:
    """For the nodes ``train`` of one graph, all at once."""
    update, known = Update(model, options, graphs.device), y[train]

    def step() -> None:
        update(cross_entropy(model(graphs)[train], known))

    def record() -> Callable[[], None]:
        return Recording(step, model.state_dict().values(), graphs.device).replay

    return _recorded(record, update, graphs, capture) or step


def _recorded(record: Callable[[], Step], update: Update, graphs: Graphs, capture: bool) -> Step | None:
    """What ``record`` makes; None where nothing can be recorded, or is not to be."""
    if not capture or graphs.device.type != "cuda":
        return None
    with update.rehearsal():
        return recorded_if_possible(record)
