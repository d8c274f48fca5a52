"""The finetune protocol: encoder and a linear head trained end to end, the epoch chosen on the validation part.

From a fresh encoder it is supervised learning.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

from nmrgcl.errors import DataError
from nmrgcl.evaluate.finetune_step import graph_step, node_step
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
    capture: bool = True,
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
        capture: on a GPU, record steps and replay them.
    """
    labels = torch.from_numpy(np.asarray(y, np.int64)).to(graphs.device)
    # Graphs are taken by numbers on the host, nodes by numbers on the device, to which they go once.
    where = graphs.device if level == "node" else torch.device("cpu")
    parts = [torch.from_numpy(part).to(where) for part in (split.train, split.valid, split.test)]
    if len(torch.unique(labels[parts[0].to(graphs.device)])) < 2:
        raise DataError("all of the training part is of one class: choose another split or seed")
    train = _epoch(model, graphs, labels, parts[0], options, level=level, batch_size=batch_size, capture=capture)
    best = FinetuneScore(0.0, -1.0, 0)
    for epoch in range(1, options.epochs + 1):
        model.train()
        train()
        valid, test = _accuracies(model, graphs, labels, parts[1:], level)
        if valid > best.valid:
            best = FinetuneScore(test, valid, epoch)
        if options.patience and epoch - best.epoch >= options.patience:
            break
    return best


def _epoch(
    model: Classifier,
    graphs: Graphs,
    y: Tensor,
    train: Tensor,
    options: FinetuneSettings,
    *,
    level: str,
    batch_size: int,
    capture: bool,
) -> Callable[[], None]:
    """What trains on all of the training part once."""
    model.train()
    if level == "node":
        return node_step(model, graphs, y, train, options, capture=capture)
    sizes = {min(batch_size, len(train)), len(train) % batch_size} - {0, 1}  # one graph has nothing to normalise by
    step = graph_step(model, graphs, y, options, sizes=sizes, capture=capture)

    def epoch() -> None:
        for part in train[torch.randperm(len(train))].split(batch_size):
            if len(part) in sizes:
                step(part)

    return epoch


@torch.no_grad()
def _accuracies(model: Classifier, graphs: Graphs, y: Tensor, parts: list[Tensor], level: str) -> list[float]:
    """In percent, on each of the parts."""
    model.eval()
    if level == "node":
        right = model(graphs).argmax(1) == y
        shares = [right[part].double().mean() for part in parts]
    else:
        every = torch.cat(parts)
        found = torch.cat([model(part).argmax(1) for part in graphs.passes(every)])
        shares = [right.double().mean() for right in (found == y[every.to(y.device)]).split([len(p) for p in parts])]
    return [100 * share for share in torch.stack(shares).tolist()]
