"""Settings and epochs are chosen on validation folds; a test fold is used once."""

from typing import Any

import numpy as np
import pytest
import torch

from nmrgcl.evaluate.finetune import FinetuneScore, Task
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_pretraining
from nmrgcl.run import finetuning
from nmrgcl.run.finetuning import candidates, score_by_finetuning
from nmrgcl.run.protocols import FoldScores, Truth
from nmrgcl.settings import resolve
from tests.examples import random_graphs

GRAPHS = random_graphs([4, 5, 6, 7, 8] * 8, density=0.5)
TRUTH = Truth(np.arange(40) % 2)


def settings_of(*assignments: str) -> Any:
    return resolve("supervised_graph_gin", assignments=["svm.folds=4", "encoder.units=8", "batch_size=8", *assignments])


def scored(settings: Any) -> FoldScores:
    method = build_pretraining(settings, GRAPHS.num_features)
    return score_by_finetuning(method, GRAPHS, TRUTH, "stratified", settings, fresh=settings.train.epochs == 0)


def test_the_grid_is_every_combination() -> None:
    assert candidates(settings_of("finetune.grid=none"), fresh=True) == [{}]
    assert candidates(settings_of(), fresh=True) == [
        {"encoder.layers": layers, "finetune.lr": lr} for layers in (3, 5) for lr in (1e-2, 1e-3)
    ]
    assert candidates(settings_of("finetune.grid=pooling"), fresh=True) == [
        {"encoder.pool": pool, "finetune.lr": lr} for pool in ("sum", "mean") for lr in (1e-2, 1e-3)
    ]
    for name in ("small", "pooling"):
        settings = settings_of(f"finetune.grid={name}")
        assert candidates(settings, fresh=False) == [{"finetune.lr": 1e-2}, {"finetune.lr": 1e-3}]


def test_every_fold_takes_the_settings_that_are_best_on_its_validation_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made-up scores: four settings on four folds, then two more runs of the chosen settings."""
    valid = np.array([[50, 60, 70, 80], [55, 60, 65, 75], [55, 50, 75, 70], [40, 65, 60, 90]], float)
    seen: list[list[tuple[int, float, tuple[int, ...]]]] = []

    def made_up(tasks: list[Task], graphs: Graphs, y: np.ndarray, **options: Any) -> list[FinetuneScore]:
        layers = [len(task.model.encoder.encoder.layers) for task in tasks]  # type: ignore[union-attr,arg-type]
        seen.append([(n, t.options.lr, tuple(map(int, t.split.valid))) for n, t in zip(layers, tasks, strict=True)])
        if len(seen) == 1:
            return [FinetuneScore(test=float(n), valid=v, epoch=n) for n, v in enumerate(valid.flatten())]
        return [FinetuneScore(test=100.0 + n, valid=0.0, epoch=1) for n in range(len(tasks))]

    monkeypatch.setattr(finetuning, "finetune_scores", made_up)
    found = scored(settings_of("finetune.runs=3"))
    first, again = seen
    chosen = [(3, 1e-3), (5, 1e-3), (5, 1e-2), (5, 1e-3)]  # In fold 0, two are equal, and the first is chosen.
    assert [(c["encoder.layers"], c["finetune.lr"]) for c in found.beside["chosen"]] == chosen
    assert [task[:2] for task in again] == chosen * 2
    assert found.beside["runs"] == [[4.0, 13.0, 10.0, 15.0], [100, 101, 102, 103], [104, 105, 106, 107]]
    assert found.folds == pytest.approx([(4 + 204) / 3, (13 + 206) / 3, (10 + 208) / 3, (15 + 210) / 3])
    # The validation folds of fold 0 differ between its three runs.
    assert len({first[0][2], again[0][2], again[4][2]}) == 3


def test_a_fold_is_never_in_two_parts() -> None:
    for run in range(5):
        for split in finetuning._parts(TRUTH, "stratified", settings_of(), run):
            parts = np.concatenate([split.train, split.valid, split.test])
            assert sorted(parts) == list(range(40))


def test_a_seed_repeats_whatever_happens_between() -> None:
    quick = settings_of("finetune.epochs=3", "finetune.runs=2")
    found = scored(quick)
    torch.rand(5)
    assert scored(quick) == found
    assert len(found.beside["runs"]) == 2


def test_runs_start_from_other_weights_unless_they_are_pre_trained() -> None:
    settings = settings_of("finetune.grid=none")
    for fresh in (True, False):
        method = build_pretraining(settings, GRAPHS.num_features)
        teacher = finetuning._Teacher(method, GRAPHS, TRUTH, settings, fresh=fresh)
        split = finetuning._parts(TRUTH, "stratified", settings)[0]
        weights = [teacher.model(finetuning._Job({}, split, run)).encoder.state_dict() for run in (0, 1)]
        name = "encoder.layers.1.first.weight"
        assert torch.equal(weights[0][name], method.state_dict()[name])
        assert torch.equal(weights[0][name], weights[1][name]) != fresh


def test_dropout_before_the_head_is_that_of_encoders_which_have_none_after_their_last_layer() -> None:
    split = finetuning._parts(TRUTH, "stratified", settings_of())[0]
    for name, head, expected in ("gin", 0.0, 0.3), ("molecule", 0.0, 0.0), ("gin", 0.5, 0.5), ("molecule", 0.5, 0.5):
        settings = settings_of(f"encoder.name={name}", "encoder.dropout=0.3", f"finetune.head_dropout={head}")
        teacher = finetuning._Teacher(build_pretraining(settings, 4), GRAPHS, TRUTH, settings, fresh=True)
        assert teacher.model(finetuning._Job({}, split)).drop == expected
