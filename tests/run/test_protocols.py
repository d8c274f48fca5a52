"""Cells and ``nmrgcl evaluate`` give the same scores, for one case or many."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nmrgcl.data.loading import load
from nmrgcl.evaluate.cross_validation import GRID
from nmrgcl.run.cell import Cell
from nmrgcl.run.evaluate import evaluate_run
from nmrgcl.run.execute import execute
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.run.protocols import SCORE_BY, Case, Truth, choose_best, score_every_penalty
from nmrgcl.run.recipe import recipe
from nmrgcl.run.results import Results
from nmrgcl.settings import Settings
from tests.run.cells import CPU, quick

RNG = np.random.default_rng(0)
Y = np.arange(60) % 3
Z = (np.eye(3)[Y] + RNG.normal(size=(60, 3))).astype(np.float32)
SETTINGS = Settings().updated({"svm.folds": 3})


def cases(split: str = "stratified") -> list[Case]:
    """Three seeds of the same embeddings; in the last one, a fifth of the labels is missing."""
    some = np.where(np.arange(60) % 5 == 4, -1, Y)
    return [Case(Z, Truth(Y), 0, split), Case(Z, Truth(Y), 1, split), Case(Z, Truth(some), 1, split)]


def network(folder: Path) -> str:
    """Two groups of 30 nodes, each a ring with chords, with noisy features that separate the groups."""
    edges = [[g + i, g + (i + step) % 30] for g in (0, 30) for i in range(30) for step in (1, 7)]
    group = np.repeat([0, 1], 30)
    x = (np.eye(2)[group] + np.random.default_rng(1).normal(size=(60, 2))).round(3)
    path = folder / "network.jsonl"
    path.write_text(json.dumps({"edges": edges, "x": x.tolist(), "y": group.tolist()}) + "\n")
    return str(path)


@pytest.mark.parametrize("protocol", ["svm", "lssvm", "linear"])
def test_a_cell_and_an_evaluation_have_the_same_scores(protocol: str, tmp_path: Path) -> None:
    name, settings = "motifs", quick(**{"svm.c": "grid"}).settings
    if protocol == "linear":
        name, settings = network(tmp_path), recipe("grace", level="node", assignments=["encoder.units=4", "epochs=2"])
    cell = Cell(name, settings, protocol)  # type: ignore[arg-type]
    data = load(cell.dataset)
    list(pretrain_seeds(data, cell.settings, seeds=[0, 1], out=tmp_path / "run", device=CPU))
    found = evaluate_run(tmp_path / "run", data, device=CPU, jobs=1, protocol=protocol)
    for seed in (0, 1):
        one = replace(cell, settings=replace(cell.settings, seed=seed))
        result = execute(one, Results(tmp_path / "results"), device=CPU)
        assert result.scores["folds"] == found.trained.folds[seed].tolist()
    assert (found.protocol, found.seeds) == (protocol, (0, 1))


@pytest.mark.parametrize(
    ("protocol", "split"), [("svm", "stratified"), ("lssvm", "stratified"), ("linear", "paper-80-10-10")]
)
def test_many_cases_have_the_scores_that_each_has_alone(protocol: str, split: str) -> None:
    score, given = SCORE_BY[protocol], cases(split)
    together = score(given, SETTINGS, CPU, 2)
    assert together == [score([case], SETTINGS, CPU, 1)[0] for case in given]
    assert len({tuple(scores.folds) for scores in together}) == 3
    for scores in together:
        assert scores.to_dict()["mean"] == pytest.approx(sum(scores.folds) / len(scores.folds))


def test_rows_without_a_label_are_as_if_they_were_not_there() -> None:
    case = cases()[2]
    known = case.truth.y >= 0
    fewer = Case(Z[known], Truth(Y[known]), 1)
    for protocol in ("svm", "lssvm"):
        assert SCORE_BY[protocol]([case], SETTINGS, CPU, 1) == SCORE_BY[protocol]([fewer], SETTINGS, CPU, 1)


@pytest.mark.parametrize("protocol", ["svm", "lssvm"])
def test_the_scores_of_a_penalty_are_those_of_the_protocol_with_that_penalty(protocol: str) -> None:
    one = SETTINGS.updated({"svm.c": "default"})
    for case in cases():
        table = dict(score_every_penalty(protocol, case, SETTINGS, CPU))
        assert list(table) == list(GRID)
        assert table[1.0] == SCORE_BY[protocol]([case], one, CPU, 1)[0].folds
        assert score_every_penalty(protocol, case, one, CPU) == [(1.0, table[1.0])]


def test_the_first_of_equals_is_chosen() -> None:
    tables = {5: [(0.1, [50.0, 70.0]), (1.0, [60.0, 60.0])], 10: [(0.1, [55.0, 65.0]), (1.0, [0.0, 100.0])]}
    scores, chosen = choose_best(tables)
    assert (scores.folds, chosen) == ([50.0, 70.0], {"epoch": 5, "c": 0.1})
    assert choose_best({**tables, 15: [(10.0, [60.0, 60.5])]})[1] == {"epoch": 15, "c": 10.0}
