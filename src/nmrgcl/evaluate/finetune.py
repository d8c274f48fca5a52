"""The finetune protocol: encoder and a linear head trained end to end, the epoch chosen on the validation part.

From a fresh encoder it is supervised learning. Models train side by side, each on a split of its own. The test part is
looked at once, at the end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, dropout

from nmrgcl.encode.norm import MaskedBatchNorm
from nmrgcl.errors import DataError
from nmrgcl.evaluate.parts import Parts
from nmrgcl.evaluate.side_by_side import Epochs
from nmrgcl.graphs import Graphs
from nmrgcl.settings import FinetuneSettings

Embed = Callable[[Graphs], Tensor]
AT_ONCE = 20
"""Models that train side by side; each has the activations of a batch in memory."""
LOOK_EVERY = 10
"""Epochs on a GPU between two looks at whose patience has ended: looking waits for the device."""


@dataclass(frozen=True)
class FinetuneScore:
    """Accuracies in percent at the epoch that was best on the validation part, the first of equals."""

    test: float
    valid: float
    epoch: int


class Classifier(nn.Module):
    """An encoder's embeddings, batch norm if asked, dropout, and a linear map to classes.

    Sums over the nodes of large graphs have large values; without the norm, GIN loses six points on DD (LAB.md).
    """

    def __init__(
        self, encoder: nn.Module, embed: Embed, width: int, classes: int, drop: float, *, normalise: bool = False
    ) -> None:
        super().__init__()
        self.encoder, self.embed, self.drop = encoder, embed, drop
        self.norm = MaskedBatchNorm(width) if normalise else nn.Identity()
        self.head = nn.Linear(width, classes)
        nn.init.xavier_uniform_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, graphs: Graphs) -> Tensor:
        """``[B, classes]``, or ``[N, classes]`` where nodes are embedded."""
        z = self.norm(self.embed(graphs))
        scores: Tensor = self.head(dropout(z, self.drop, self.training))
        return scores


@dataclass(frozen=True, eq=False)
class Task:
    """A ``model`` to train in place, on the device of the graphs; ``split`` has numbers of graphs or nodes."""

    model: Classifier
    split: Parts
    options: FinetuneSettings


def finetune_scores(
    tasks: Sequence[Task],
    graphs: Graphs,
    y: np.ndarray,
    *,
    level: Literal["graph", "node"],
    batch_size: int,
    capture: bool = True,
) -> list[FinetuneScore]:
    """Train every task's model; chance comes from torch's global generator. Models end as they were at their best.

    Args:
        tasks: are trained side by side.
        graphs: of which whole graphs, or the nodes of the one there is, are classified.
        y: class codes; those in no part of a split are not looked at.
        level: nodes are trained on all at once, graphs in batches of ``batch_size``.
        batch_size: graphs in a step; those that do not fill one are left out of an epoch, others in each.
        capture: on a GPU, record steps and replay them.
    """
    for task in tasks:
        if len(np.unique(y[task.split.train])) < 2:
            raise DataError("all of the training part is of one class: choose another split or seed")
    labels = torch.from_numpy(np.asarray(y, np.int64)).to(graphs.device)
    found: list[FinetuneScore] = []
    for first in range(0, len(tasks), AT_ONCE):
        some = [Training(task, graphs, labels, level) for task in tasks[first : first + AT_ONCE]]
        train(some, Epochs(some, graphs, labels, batch_size if level == "graph" else 0, capture=capture))
        found += [one.score() for one in some]
    return found


def train(trainings: "Sequence[Training]", epochs: Epochs) -> None:
    """Epoch by epoch, until patience has ended for all of them."""
    look_every = LOOK_EVERY if epochs.device.type == "cuda" else 1
    for number in range(1, max(one.options.epochs for one in trainings) + 1):
        epochs.run()
        if number % look_every == 0 and not [one for one in trainings if one.look()]:
            break


class Training:
    """One model, its optimiser, and the weights with which it was best on its validation part.

    Only ``look`` and ``score`` wait for the device: even the comparison with the best epoch so far is made there.
    """

    def __init__(self, task: Task, graphs: Graphs, y: Tensor, level: Literal["graph", "node"]) -> None:
        self.model, self.options, self.graphs, self.y, self.level = task.model, task.options, graphs, y, level
        # Graphs are taken by numbers on the host, nodes by numbers on the device, to which they go once.
        where = graphs.device if level == "node" else torch.device("cpu")
        parts = (torch.from_numpy(part).to(where) for part in (task.split.train, task.split.valid, task.split.test))
        self.train, self.valid, self.test = parts
        self.running = True
        self.state = list(self.model.state_dict().values())
        self.best = [value.clone() for value in self.state]
        # The largest share of the validation part that was right, the epoch it was reached in, and the epoch now.
        self.reached, self.best_epoch, self.now = (torch.full((), v, device=graphs.device) for v in (-1.0, 0.0, 0.0))
        self.judged = [graphs] if level == "node" else list(graphs.passes(self.valid))
        self.truth = y[self.valid.to(y.device)]
        self.adam = torch.optim.Adam(
            self.model.parameters(),
            lr=self.options.lr,
            weight_decay=self.options.weight_decay,
            fused=y.is_cuda,
            capturable=y.is_cuda,
        )

    @property
    def kept(self) -> list[Tensor]:
        """What a step and a comparison change, but for the optimiser's own."""
        return [*self.state, *self.best, self.reached, self.best_epoch, self.now]

    def learn(self, batch: Graphs) -> None:
        """One step of the optimiser: on the graphs of a batch, or on the training nodes of the one graph."""
        self.model.train()
        scores = self.model(batch)
        if self.level == "node":
            loss = cross_entropy(scores[self.train], self.y[self.train])
        else:
            assert batch.y is not None
            loss = cross_entropy(scores, batch.y)
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()

    @torch.no_grad()
    def compare(self) -> None:
        """Remember the weights if more of the validation part is right than ever, unless patience has ended."""
        found = (self._classes(self.judged, self.valid) == self.truth).float().mean()
        better = found > self.reached
        if self.options.patience:
            better &= self.now - self.best_epoch < self.options.patience
        self.now += 1
        self.reached.copy_(torch.where(better, found, self.reached))
        self.best_epoch.copy_(torch.where(better, self.now, self.best_epoch))
        for best, value in zip(self.best, self.state, strict=True):
            best.copy_(torch.where(better, value, best))

    def _classes(self, judged: Sequence[Graphs], part: Tensor) -> Tensor:
        """``[len(part)]`` what ``part`` is classified as; of graphs, ``judged`` are those and no others."""
        self.model.eval()
        found = torch.cat([self.model(graphs).argmax(1) for graphs in judged])
        return found[part] if self.level == "node" else found

    def look(self) -> bool:
        """Whether patience has not ended yet."""
        if self.options.patience and float(self.now - self.best_epoch) >= self.options.patience:
            self.running = False
        return self.running

    @torch.no_grad()
    def score(self) -> FinetuneScore:
        """With the best weights, on the test part."""
        for best, value in zip(self.best, self.state, strict=True):
            value.copy_(best)
        judged = [self.graphs] if self.level == "node" else list(self.graphs.passes(self.test))
        right = self._classes(judged, self.test) == self.y[self.test.to(self.y.device)]
        return FinetuneScore(100 * float(right.double().mean()), 100 * float(self.reached), int(self.best_epoch))
