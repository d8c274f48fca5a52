"""The finetune protocol: encoder and a linear head trained end to end, the epoch chosen on the validation part.

From a fresh encoder it is supervised learning.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, dropout

from nmrgcl.errors import DataError
from nmrgcl.evaluate.parts import Parts
from nmrgcl.graphs import Graphs
from nmrgcl.settings import FinetuneSettings

Embed = Callable[[Graphs], Tensor]


@dataclass(frozen=True)
class FinetuneScore:
    """Accuracies in percent at the epoch that was best on the validation part, the first of equals."""

    test: float
    valid: float
    epoch: int


class Classifier(nn.Module):
    """An encoder's embeddings, dropout, and a linear map to classes."""

    def __init__(self, encoder: nn.Module, embed: Embed, width: int, classes: int, drop: float) -> None:
        super().__init__()
        self.encoder, self.embed, self.drop = encoder, embed, drop
        self.head = nn.Linear(width, classes)
        nn.init.xavier_uniform_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, graphs: Graphs) -> Tensor:
        """``[B, classes]``, or ``[N, classes]`` where nodes are embedded."""
        scores: Tensor = self.head(dropout(self.embed(graphs), self.drop, self.training))
        return scores


def finetune_score(
    model: Classifier,
    graphs: Graphs,
    y: np.ndarray,
    split: Parts,
    options: FinetuneSettings,
    *,
    level: Literal["graph", "node"],
    batch_size: int,
) -> FinetuneScore:
    """Train ``model`` in place on the training part; chance comes from torch's global generator.

    Args:
        model: encoder and head, on the device of the graphs.
        graphs: of which whole graphs, or the nodes of the one there is, are classified.
        y: class codes; those in no part of the split are not looked at.
        split: numbers of graphs or nodes.
        options: how long and how fast.
        level: nodes are trained on all at once, graphs in batches of ``batch_size``.
        batch_size: graphs in a step.
    """
    labels = torch.from_numpy(np.asarray(y, np.int64)).to(graphs.device)
    # Graphs are taken by numbers on the host, nodes by numbers on the device, to which they go once.
    where = graphs.device if level == "node" else torch.device("cpu")
    parts = [torch.from_numpy(part).to(where) for part in (split.train, split.valid, split.test)]
    if len(torch.unique(labels[parts[0].to(graphs.device)])) < 2:
        raise DataError("all of the training part is of one class: choose another split or seed")
    optimiser = torch.optim.Adam(model.parameters(), lr=options.tune_lr, weight_decay=options.weight_decay)
    best = FinetuneScore(0.0, -1.0, 0)
    for epoch in range(1, options.tune_epochs + 1):
        model.train()
        for loss in _losses(model, graphs, labels, parts[0], level, batch_size):
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        valid, test = _accuracies(model, graphs, labels, parts[1:], level, batch_size)
        if valid > best.valid:
            best = FinetuneScore(test, valid, epoch)
        if options.tune_patience and epoch - best.epoch >= options.tune_patience:
            break
    return best


def _losses(
    model: Classifier, graphs: Graphs, y: Tensor, train: Tensor, level: str, batch_size: int
) -> Iterator[Tensor]:
    if level == "node":
        yield cross_entropy(model(graphs)[train], y[train])
        return
    for part in train[torch.randperm(len(train))].split(batch_size):
        if len(part) > 1:  # one graph has no statistics to normalise by
            yield cross_entropy(model(graphs.take(part)), y[part.to(graphs.device)])


@torch.no_grad()
def _accuracies(
    model: Classifier, graphs: Graphs, y: Tensor, parts: list[Tensor], level: str, batch_size: int
) -> list[float]:
    """In percent, on each of the parts."""
    model.eval()
    if level == "node":
        right = model(graphs).argmax(1) == y
        shares: list[float] = torch.stack([right[part].double().mean() for part in parts]).tolist()
        return [100 * share for share in shares]
    found = []
    for part in parts:
        right = [model(graphs.take(some)).argmax(1) == y[some.to(graphs.device)] for some in part.split(4 * batch_size)]
        found.append(100 * float(torch.cat(right).double().mean()))
    return found
