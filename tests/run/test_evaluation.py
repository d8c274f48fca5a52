"""The files of an evaluation describe what was evaluated."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.model_selection import StratifiedKFold

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import FeatureSpec, apply_features
from nmrgcl.data.motifs import motifs
from nmrgcl.errors import DataError, ModelError
from nmrgcl.graphs import Graphs
from nmrgcl.run.evaluate import evaluate_run
from nmrgcl.run.evaluation import EVALUATION, keep_evaluation, read_splits
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.settings import Settings

CPU = torch.device("cpu")
DATA = motifs(graphs=30)
SETTINGS = Settings().updated(
    {"epochs": 1, "encoder.units": 4, "layers": 1, "svm.folds": 3, "svm.c": "default", "features": "degree"}
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("kept") / "run"
    list(pretrain_seeds(DATA, SETTINGS, seeds=[0, 1], out=out, device=CPU))
    return out


def test_folds_are_those_of_the_protocol(run: Path) -> None:
    found = evaluate_run(run, DATA, device=CPU, jobs=1)
    assert keep_evaluation(run, found, DATA)
    assert json.loads((run / EVALUATION).read_text())["folds"] == found.trained.folds.tolist()
    kept = read_splits(run)
    assert list(kept) == [0, 1]
    assert DATA.y is not None
    for seed, fold in kept.items():
        folds = StratifiedKFold(3, shuffle=True, random_state=seed).split(DATA.y, DATA.y)
        for number, (_, test) in enumerate(folds):
            assert np.flatnonzero(fold == number).tolist() == test.tolist()


def test_features_are_applied_once_for_all_models_and_their_untrained_encoders(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, applied = evaluate_run(run, DATA, device=CPU, jobs=1), list[FeatureSpec]()

    def counted(dataset: Dataset, spec: FeatureSpec) -> Graphs:
        applied.append(spec)
        return apply_features(dataset, spec)

    monkeypatch.setattr("nmrgcl.run.evaluate.apply_features", counted)
    found = evaluate_run(run, DATA, device=CPU, jobs=1)
    assert len(applied) == 1
    assert found.to_dict() == expected.to_dict()


def test_graphs_without_a_label_are_not_judged(run: Path) -> None:
    assert DATA.graphs.y is not None
    y = DATA.graphs.y.clone()
    y[::5] = -1
    some = replace(DATA, held=replace(DATA.graphs, y=y))
    found = evaluate_run(run, some, device=CPU, jobs=1)
    labelled = torch.nonzero(y >= 0).squeeze(1)
    fewer = replace(DATA, held=DATA.graphs.take(labelled), node_labels=None)
    assert np.array_equal(found.trained.folds, evaluate_run(run, fewer, device=CPU, jobs=1).trained.folds)
    keep_evaluation(run, found, some)
    assert all((fold[::5] == -1).all() and (fold >= 0).sum() == 24 for fold in read_splits(run).values())
    none = replace(DATA, held=replace(DATA.graphs, y=torch.full_like(y, -1)))
    with pytest.raises(DataError, match="has no graph labels"):
        evaluate_run(run, none, device=CPU)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": "nmrgcl-splits"}', "[" * 10000, "\x00"])
def test_a_damaged_record_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "splits.json").write_text(text)
    with pytest.raises(ModelError, match="not what nmrgcl evaluate writes; run nmrgcl evaluate"):
        read_splits(tmp_path)
    with pytest.raises(ModelError, match="does not exist; run nmrgcl evaluate"):
        read_splits(tmp_path / "gone")


def test_a_graph_moved_to_another_fold_is_noticed(run: Path) -> None:
    keep_evaluation(run, evaluate_run(run, DATA, device=CPU, jobs=1), DATA)
    values = json.loads((run / "splits.json").read_text())
    values["tested_in"]["0"][0] = (values["tested_in"]["0"][0] + 1) % 3
    (run / "splits.json").write_text(json.dumps(values))
    with pytest.raises(ModelError, match="was changed after it was written"):
        read_splits(run)
