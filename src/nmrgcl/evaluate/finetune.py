"""The finetune protocol: train an encoder with a linear head end to end and choose the epoch on validation data.

With a fresh encoder, this is supervised learning. Several models train side by side, each on its own split. The test
data is used once, at the end.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from nmrgcl.adam import Adam
from nmrgcl.data.splits import Split
from nmrgcl.encode.norm import MaskedBatchNorm
from nmrgcl.errors import SettingError
from nmrgcl.evaluate.goals import CLASSES, Goal
from nmrgcl.evaluate.side_by_side import Epochs
from nmrgcl.graphs import Graphs
from nmrgcl.ops import full_precision, widen
from nmrgcl.ops.dropout import dropout
from nmrgcl.settings import FinetuneSettings
from nmrgcl.train.precision import matrix_precision

Embed = Callable[[Graphs], Tensor]
AT_ONCE = 20
"""How many models train side by side; each holds the activations of a batch in memory."""
LOOK_EVERY = 10
"""On a GPU, early stopping is checked only every so many epochs, because a check waits for the device."""


@dataclass(frozen=True)
class FinetuneScore:
    """Scores at the epoch that was best on the validation data; ties go to the earlier epoch.

    They are accuracies in percent, mean ROC-AUCs in percent, or mean RMSEs; ``beside`` holds the other metrics of the
    goal on the test data.
    """

    test: float
    valid: float
    epoch: int
    beside: dict[str, float] = field(default_factory=dict)


class Classifier(nn.Module):
    """An encoder followed by optional batch norm, dropout, and a linear map to classes or tasks.

    Sums over the nodes of large graphs are large; without the norm, GIN loses six points on DD (docs/lab).
    After ``fit_scale``, outputs are rescaled by the mean (``centre``) and deviation (``spread``) of the labels.
    """

    centre: Tensor | None
    spread: Tensor | None

    def __init__(
        self, encoder: nn.Module, embed: Embed, width: int, outputs: int, drop: float, *, normalise: bool = False
    ) -> None:
        super().__init__()
        self.encoder, self.embed, self.drop = encoder, embed, drop
        self.norm = MaskedBatchNorm(width) if normalise else nn.Identity()
        self.head = nn.Linear(width, outputs)
        nn.init.xavier_uniform_(self.head.weight)
        nn.init.zeros_(self.head.bias)
        # Registered although they are None, so that they are part of the state as soon as fit_scale has set them.
        self.register_buffer("centre", None)
        self.register_buffer("spread", None)

    def fit_scale(self, labels: Tensor) -> None:
        """Compute mean and standard deviation of each task from ``labels`` ``[M, T]``; missing ones are NaN."""
        exact = labels.double()  # squares of large labels exceed float32
        centre = exact.nanmean(0).nan_to_num(0.0)
        deviation = (exact - centre).square().nanmean(0).sqrt()
        self.centre, self.spread = centre.to(labels), torch.where(deviation > 0, deviation, 1.0).to(labels)

    def forward(self, graphs: Graphs) -> Tensor:
        """``[B, outputs]``, or ``[N, outputs]`` at node level."""
        z = self.norm(self.embed(graphs))
        with full_precision(z):  # in bfloat16, many molecules would have equal outputs, and so no order
            outputs: Tensor = self.head(dropout(widen(z), self.drop, training=self.training))
        return outputs if self.spread is None or self.centre is None else outputs * self.spread + self.centre


@dataclass(frozen=True, eq=False)
class Task:
    """A ``model`` to train in place on the device of the graphs; ``split`` holds indices of graphs or nodes."""

    model: Classifier
    split: Split
    options: FinetuneSettings


def finetune_scores(
    tasks: Sequence[Task],
    graphs: Graphs,
    y: np.ndarray,
    *,
    level: Literal["graph", "node"],
    batch_size: int,
    goal: Goal = CLASSES,
    capture: bool = True,
    watch: Callable[[int, int], None] | None = None,
) -> list[FinetuneScore]:
    """Train the model of every task and leave it with its best weights; randomness is from torch's global generator.

    Args:
        tasks: the tasks, which are trained side by side.
        graphs: the graphs to classify, or one graph whose nodes are classified.
        y: class codes ``[B]``, or labels ``[B, T]`` of T tasks, NaN where one is missing; labels outside of a split
            are not used.
        level: at "node", all nodes are trained on at once; at "graph", batches of ``batch_size`` graphs.
        batch_size: the number of graphs per step; a random remainder that does not fill a batch is skipped each epoch.
        goal: the kind of labels, which determines the loss and the metrics.
        capture: on a GPU, record steps and replay them.
        watch: called after each epoch with the number of epochs done and the largest possible number.
    """
    for task in tasks:
        goal.require(y, task.split)
    # A copy, because labels may be mapped read-only from a file.
    labels = torch.from_numpy(np.array(y)).to(graphs.device, goal.type)
    found: list[FinetuneScore] = []
    for first in range(0, len(tasks), AT_ONCE):
        some = [Training(task, graphs, labels, level, goal) for task in tasks[first : first + AT_ONCE]]
        by_size = tasks[0].options.batches == "by_size"
        size = batch_size if level == "graph" else 0
        train(some, Epochs(some, graphs, labels, size, capture=capture, by_size=by_size), watch)
        found += [one.score() for one in some]
    return found


def train(trainings: "Sequence[Training]", epochs: Epochs, watch: Callable[[int, int], None] | None = None) -> None:
    """Run epochs until early stopping has ended all trainings."""
    look_every = LOOK_EVERY if epochs.device.type == "cuda" else 1
    most = max(one.options.epochs for one in trainings)
    for number in range(1, most + 1):
        epochs.run()
        if watch is not None:
            watch(number, most)
        # A list, because any() would stop at the first training that goes on, and the others would not look.
        if number % look_every == 0 and not [one for one in trainings if one.look()]:
            break


class Training:
    """One model, its optimiser, and its best weights so far by the validation data.

    Only ``look`` and ``score`` wait for the device; even the comparison with the best epoch is made on the device.
    """

    def __init__(
        self, task: Task, graphs: Graphs, y: Tensor, level: Literal["graph", "node"], goal: Goal = CLASSES
    ) -> None:
        self.goal = goal
        self.model, self.options, self.graphs, self.y, self.level = task.model, task.options, graphs, y, level
        # Graphs are gathered by indices on the host, nodes by indices on the device, which are copied there once.
        where = graphs.device if level == "node" else torch.device("cpu")
        parts = (torch.tensor(part).to(where) for part in (task.split.train, task.split.valid, task.split.test))
        self.train, self.valid, self.test = parts
        if goal.standardise:
            self.model.fit_scale(y[self.train.to(y.device)])
        self.running = True
        # These tensors share the memory of the weights, so that copying into them changes the model.
        self.state = list(self.model.state_dict().values())
        self.best = [value.clone() for value in self.state]
        # The best validation merit so far, the epoch in which it was reached, and the current epoch.
        zero = torch.zeros((), dtype=torch.float64, device=graphs.device)
        self.reached, self.best_epoch, self.now = zero - torch.inf, zero.clone(), zero.clone()
        # Gathered once, because every epoch is compared on the same graphs.
        self.judged = [graphs] if level == "node" else list(graphs.passes(self.valid))
        self.truth = y[self.valid.to(y.device)]
        self.adam = Adam(
            _groups(self.model, self.options, y.device),
            lr=self.options.lr,
            weight_decay=self.options.weight_decay,
            fused=True,
            capturable=y.is_cuda,
        )

    @property
    def changed(self) -> list[Tensor]:
        """The tensors that a step and a comparison modify, except for the state of the optimiser."""
        return [*self.state, *self.best, self.reached, self.best_epoch, self.now, *self._rates]

    @property
    def _rates(self) -> list[Tensor]:
        """The learning rates, if they are halved during training."""
        return [group["lr"] for group in self.adam.param_groups] if self.options.halve_every else []

    def learn(self, batch: Graphs) -> None:
        """Take one optimiser step on the graphs of a batch, or on the training nodes of the one graph."""
        self.model.train()
        self.adam.zero_grad()
        with self._precision():
            self._loss(batch).backward()
        self.adam.step()

    def _loss(self, batch: Graphs) -> Tensor:
        outputs, labels = self.model(batch), batch.y
        if self.level == "node":
            outputs, labels = outputs[self.train], self.y[self.train]
        assert labels is not None
        if self.model.spread is not None:
            outputs, labels = outputs / self.model.spread, labels / self.model.spread
        return self.goal.loss(outputs, labels)

    def _precision(self) -> AbstractContextManager[None]:
        return matrix_precision(self.options.precision, self.y.device)

    @torch.no_grad()
    def compare(self) -> None:
        """Remember the weights if they are the best so far on the validation data, unless patience has run out."""
        with self._precision():
            outputs = self._outputs(self.judged, self.valid)
        found = self.goal.merit(outputs, self.truth)
        better = found > self.reached
        if self.options.patience:
            better &= self.now - self.best_epoch < self.options.patience
        self.now += 1
        self.reached.copy_(torch.where(better, found, self.reached))
        self.best_epoch.copy_(torch.where(better, self.now, self.best_epoch))
        for best, value in zip(self.best, self.state, strict=True):
            best.copy_(torch.where(better, value, best))
        for rate in self._rates:
            rate.mul_(torch.where(self.now % self.options.halve_every == 0, 0.5, 1.0))

    def _outputs(self, judged: Sequence[Graphs], part: Tensor) -> Tensor:
        """Outputs ``[len(part), ·]``; at graph level, ``judged`` must consist of the graphs of ``part``."""
        self.model.eval()
        found = torch.cat([self.model(graphs) for graphs in judged])
        return found[part] if self.level == "node" else found

    def look(self) -> bool:
        """Whether to continue training; False once patience has run out."""
        if self.options.patience and float(self.now - self.best_epoch) >= self.options.patience:
            self.running = False
        return self.running

    @torch.no_grad()
    def score(self) -> FinetuneScore:
        """Restore the best weights and score them on the test data."""
        for best, value in zip(self.best, self.state, strict=True):
            value.copy_(best)
        # NaN compares false, so this refuses it as well.
        if not float(self.reached) > -torch.inf:
            raise SettingError("the outputs on the validation data are not finite in any epoch; lower finetune.lr")
        judged = [self.graphs] if self.level == "node" else list(self.graphs.passes(self.test))
        test, beside = self.goal.scores(self._outputs(judged, self.test), self.y[self.test.to(self.y.device)])
        return FinetuneScore(test, self.goal.unit * float(self.reached), int(self.best_epoch), beside)


def _groups(model: Classifier, options: FinetuneSettings, device: torch.device) -> list[dict[str, Any]]:
    """One parameter group, or two if encoder and head have different learning rates.

    A second group costs additional kernel launches in every step, so there is only one if the rates are equal. A rate
    that is halved during training is a tensor on the device, so that recorded steps read its current value.
    """
    groups: list[dict[str, Any]] = [{"params": list(model.parameters()), "lr": options.lr}]
    if options.head_lr_scale != 1:
        head = [*model.norm.parameters(), *model.head.parameters()]
        groups[0]["params"] = list(model.encoder.parameters())
        groups.append({"params": head, "lr": options.lr * options.head_lr_scale})
    if options.halve_every:
        for group in groups:
            group["lr"] = torch.tensor(group["lr"], device=device)
    return groups
