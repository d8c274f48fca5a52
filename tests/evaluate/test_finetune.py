"""Encoder and head end to end: nothing but the training and validation parts decides."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import nn

from nmrgcl.encode import GCN, GIN, pool
from nmrgcl.errors import DataError
from nmrgcl.evaluate.finetune import Classifier, FinetuneScore, Task, finetune_scores
from nmrgcl.graphs import Graphs
from nmrgcl.settings import FinetuneSettings
from tests.examples import random_graphs

NETWORK = random_graphs([60], density=0.08, features=5)
Y = np.asarray((NETWORK.x[:, 0] > 0).long())


@dataclass
class Split:
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray


SPLIT = Split(np.arange(0, 30), np.arange(30, 45), np.arange(45, 60))


def tuned(y: np.ndarray, **changed: float) -> FinetuneScore:
    torch.manual_seed(0)
    encoder = GCN(5, layers=1, units=8)
    options = FinetuneSettings(**{"epochs": 40, "patience": 0, "weight_decay": 0.0} | changed)  # type: ignore[arg-type]
    model = Classifier(encoder, encoder, 8, 2, 0.0)
    return finetune_scores([Task(model, SPLIT, options)], NETWORK, y, level="node", batch_size=0)[0]


def test_labels_of_the_test_part_change_nothing_but_the_test_score() -> None:
    found = tuned(Y)
    other = Y.copy()
    other[SPLIT.test] = 1 - other[SPLIT.test]
    again = tuned(other)
    assert (again.valid, again.epoch) == (found.valid, found.epoch)
    assert again.test == pytest.approx(100 - found.test)


def test_the_epoch_is_the_first_of_the_best_on_the_validation_part() -> None:
    whole = tuned(Y)
    assert tuned(Y, epochs=whole.epoch) == whole
    assert tuned(Y, epochs=whole.epoch - 1).valid < whole.valid


def test_patience_ends_it() -> None:
    class Counted(nn.Module):
        calls = 0

        def forward(self, graphs: Graphs) -> torch.Tensor:
            Counted.calls += 1
            return torch.ones(graphs.num_nodes, 3)

    encoder = Counted()
    options = FinetuneSettings(epochs=1000, patience=4)
    task = Task(Classifier(encoder, encoder, 3, 2, 0.0), SPLIT, options)
    finetune_scores([task], NETWORK, Y, level="node", batch_size=0)
    assert Counted.calls < 100


def test_graphs_come_in_batches() -> None:
    graphs = random_graphs([5, 6, 7, 8] * 10, density=0.5)
    y = np.arange(40) % 4 // 2  # large or small
    torch.manual_seed(0)
    encoder = GIN(4, layers=2, units=8)
    model = Classifier(encoder, lambda g: pool(encoder(g), g, "sum"), 16, 2, 0.0)
    split = Split(np.arange(0, 24), np.arange(24, 32), np.arange(32, 40))
    (found,) = finetune_scores(
        [Task(model, split, FinetuneSettings(epochs=60))], graphs, y, level="graph", batch_size=8
    )
    assert found.valid >= 75


def test_a_training_part_of_one_class_is_refused() -> None:
    with pytest.raises(DataError, match="one class"):
        tuned(np.zeros(60, int))
