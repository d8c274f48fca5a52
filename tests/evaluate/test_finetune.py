"""Encoder and head end to end: nothing but the training and validation parts decides."""

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score, mean_absolute_error, mean_squared_error, roc_auc_score
from torch import nn

from bench.molecules import bonded_molecules
from nmrgcl.data.splits import Split
from nmrgcl.encode import GCN, GIN, MoleculeGIN, embed_graphs, pool
from nmrgcl.errors import DataError, SettingError
from nmrgcl.evaluate.finetune import Classifier, FinetuneScore, Task, Training, finetune_scores, train
from nmrgcl.evaluate.goals import BINARY, NUMBERS, Goal
from nmrgcl.evaluate.side_by_side import Epochs
from nmrgcl.graphs import Graphs
from nmrgcl.settings import FinetuneSettings
from tests.examples import random_graphs

NETWORK = random_graphs([60], density=0.08, features=5)
Y = np.asarray((NETWORK.x[:, 0] > 0).long())


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


def test_labels_that_cannot_be_written_to_are_learnt_without_a_warning() -> None:
    fixed = Y.copy()
    fixed.flags.writeable = False
    assert tuned(fixed) == tuned(Y)


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


TASKS = np.stack([NETWORK.x[:, 0] > 0, NETWORK.x[:, 1] + NETWORK.x[:, 2] > 0, NETWORK.x[:, 3] > 0], 1).astype(float)
TASKS[::3, 1] = TASKS[1::4, 2] = np.nan
NUMBERS_OF_NODES = np.where(np.isnan(TASKS), np.nan, 4 + np.asarray(NETWORK.x[:, :3]))


def trained(y: np.ndarray, goal: Goal, **changed: float) -> tuple[FinetuneScore, np.ndarray]:
    """The scores, and the outputs of the model as it ends."""
    torch.manual_seed(0)
    encoder = GCN(5, layers=1, units=16)
    options = FinetuneSettings(**{"epochs": 40, "patience": 0, "weight_decay": 0.0} | changed)  # type: ignore[arg-type]
    model = Classifier(encoder, encoder, 16, 3, 0.0)
    (score,) = finetune_scores([Task(model, SPLIT, options)], NETWORK, y, level="node", batch_size=0, goal=goal)
    with torch.no_grad():
        return score, model.eval()(NETWORK).numpy()


def over_tasks(metric: Callable[..., float], y: np.ndarray, outputs: np.ndarray, part: np.ndarray) -> float:
    """Of scikit-learn's ``metric``, of the labels of ``part`` that are present."""
    known = ~np.isnan(y[part])
    scores = [metric(y[part, t][known[:, t]], outputs[part, t][known[:, t]]) for t in range(y.shape[1])]
    return float(np.mean(scores))


def test_scores_of_yes_or_no_tasks_are_those_of_the_model_as_it_ends() -> None:
    score, outputs = trained(TASKS, BINARY)
    assert score.valid == pytest.approx(100 * over_tasks(roc_auc_score, TASKS, outputs, SPLIT.valid))
    assert score.test == pytest.approx(100 * over_tasks(roc_auc_score, TASKS, outputs, SPLIT.test))
    precision = over_tasks(average_precision_score, TASKS, outputs, SPLIT.test)
    assert score.beside == {"pr_auc": pytest.approx(100 * precision)}


def test_scores_of_numbers_are_those_of_the_model_as_it_ends() -> None:
    score, outputs = trained(NUMBERS_OF_NODES, NUMBERS, lr=0.05)

    def root(*pair: np.ndarray) -> float:
        return float(np.sqrt(mean_squared_error(*pair)))

    assert score.valid == pytest.approx(over_tasks(root, NUMBERS_OF_NODES, outputs, SPLIT.valid), rel=1e-5)
    assert score.test == pytest.approx(over_tasks(root, NUMBERS_OF_NODES, outputs, SPLIT.test), rel=1e-5)
    absolute = over_tasks(mean_absolute_error, NUMBERS_OF_NODES, outputs, SPLIT.test)
    assert score.beside == {"mae": pytest.approx(absolute, rel=1e-5)}
    assert score.valid < 1.5  # they lie around 4


def test_numbers_are_learnt_alike_in_any_unit() -> None:
    score, outputs = trained(NUMBERS_OF_NODES, NUMBERS)
    shifts = np.array([5000.0, 0.0, -3000.0])
    other, scaled = trained(1000 * NUMBERS_OF_NODES + shifts, NUMBERS)
    assert other.epoch == score.epoch
    assert (other.valid, other.test) == pytest.approx((1000 * score.valid, 1000 * score.test), rel=1e-3)
    np.testing.assert_allclose((scaled - shifts) / 1000, outputs, atol=2e-3)


def test_the_scale_of_numbers_by_hand() -> None:
    model = Classifier(nn.Identity(), lambda g: g.x[:, :2], 2, 3, 0.0)
    model.fit_scale(torch.tensor([[1.0, np.nan, 7.0], [5.0, np.nan, 7.0], [np.nan, np.nan, 7.0]]))
    assert model.centre is not None
    assert model.spread is not None
    assert model.centre.tolist() == [3, 0, 7]
    assert model.spread.tolist() == [2, 1, 1]
    z = model.head(NETWORK.x[:, :2])
    torch.testing.assert_close(model(NETWORK), z * torch.tensor([2.0, 1, 1]) + torch.tensor([3.0, 0, 7]))
    assert {"centre", "spread"} < set(model.state_dict())


@pytest.mark.parametrize(("y", "goal", "worse"), [(TASKS, BINARY, -1), (NUMBERS_OF_NODES, NUMBERS, 1)])
def test_the_epoch_of_tasks_is_the_first_of_the_best_too(y: np.ndarray, goal: Goal, worse: int) -> None:
    whole, _ = trained(y, goal)
    assert trained(y, goal, epochs=whole.epoch)[0] == whole
    assert worse * (trained(y, goal, epochs=whole.epoch - 1)[0].valid - whole.valid) > 0


def test_graphs_of_several_tasks_come_in_batches() -> None:
    graphs = random_graphs([5, 6, 7, 8] * 10, density=0.5)
    y = np.stack([np.arange(40) % 4 // 2, 1 - np.arange(40) % 4 // 2], 1).astype(float)  # large, small
    y[::5, 0] = y[1::5, 1] = np.nan
    torch.manual_seed(0)
    encoder = GIN(4, layers=2, units=8)
    model = Classifier(encoder, lambda g: pool(encoder(g), g, "sum"), 16, 2, 0.0)
    split = Split(np.arange(0, 24), np.arange(24, 32), np.arange(32, 40))
    task = Task(model, split, FinetuneSettings(epochs=60))
    (found,) = finetune_scores([task], graphs, y, level="graph", batch_size=8, goal=BINARY)
    assert found.valid >= 80


def test_the_head_has_a_learning_rate_of_its_own() -> None:
    """The first step of Adam changes each weight by its learning rate, whatever its gradient is."""
    for scale in (1.0, 10.0):
        torch.manual_seed(0)
        encoder = GCN(5, layers=1, units=8)
        model = Classifier(encoder, encoder, 8, 2, 0.0, normalise=True)
        before = {name: value.detach().clone() for name, value in model.named_parameters()}
        options = FinetuneSettings(epochs=1, lr=1e-3, weight_decay=0.0, head_lr_scale=scale)
        finetune_scores([Task(model, SPLIT, options)], NETWORK, Y, level="node", batch_size=0)
        for name, value in model.named_parameters():
            step = float((value.detach() - before[name]).abs().max())
            assert step == pytest.approx(1e-3 if name.startswith("encoder") else scale * 1e-3, rel=1e-2), name


def test_the_learning_rate_halves_every_so_many_epochs() -> None:
    torch.manual_seed(0)
    encoder = GCN(5, layers=1, units=8)
    options = FinetuneSettings(epochs=5, patience=0, lr=0.08, halve_every=2, head_lr_scale=2.0)
    task = Task(Classifier(encoder, encoder, 8, 2, 0.0), SPLIT, options)
    y = torch.from_numpy(Y)
    training = Training(task, NETWORK, y, "node")
    train([training], Epochs([training], NETWORK, y, 0, capture=False))
    assert [float(group["lr"]) for group in training.adam.param_groups] == pytest.approx([0.02, 0.04])


def test_a_training_without_finite_outputs_says_so() -> None:
    with pytest.raises(SettingError, match=r"lower finetune\.lr"):
        trained(NUMBERS_OF_NODES, NUMBERS, lr=1e30, epochs=3)


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_a_molecular_gin_learns_what_atoms_and_bonds_say(precision: Literal["float32", "bf16"]) -> None:
    """Two tasks: whether few atoms are of the first sixty types; whether few bonds are double, half of it missing."""
    graphs = bonded_molecules(240)
    assert graphs.edge_attr is not None
    atoms = (graphs.x[:, 0] < 60).double()
    double = (graphs.edge_attr[:, 0] == 2).double()
    bonds = torch.zeros_like(atoms).index_add(0, graphs.edge_index[1], double)
    shares = pool(torch.stack([atoms, bonds], 1), graphs, "mean")
    y = (shares < shares.median(0).values).double().numpy()
    chance = np.random.default_rng(0)
    y[chance.random(240) < 0.5, 1] = np.nan
    order = chance.permutation(240)
    split = Split(order[:160], order[160:200], order[200:])
    tasks = []
    for seed in range(2):
        torch.manual_seed(seed)
        encoder = MoleculeGIN(123, layers=2, units=32, dropout=0.1)
        model = Classifier(encoder, partial(embed_graphs, encoder, readout="mean"), 32, 2, 0.0)
        options = FinetuneSettings(epochs=30, lr=3e-3, weight_decay=0.0, patience=0, precision=precision)
        tasks.append(Task(model, split, options))
    for found in finetune_scores(tasks, graphs, y, level="graph", batch_size=32, goal=BINARY):
        assert found.test > 70
