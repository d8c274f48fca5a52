"""What ``nmrgcl sweep`` says about differences between methods, for hand-written results."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from nmrgcl.run.cell import Cell
from nmrgcl.run.results import Result, Results
from nmrgcl.run.sweep_pairs import compare_methods
from tests.run.cells import QUICK, quick, result_of
from tests.test_cli import run

SETTINGS = [word for key, value in QUICK.items() for word in ("--set", f"{key}={value}")]
FIRST = [[70.0, 72.0], [74.0, 76.0]]
"""Two seeds of two folds by the first method."""
GAINS = [[6.0, 4.0], [8.0, 2.0]]
"""What the second method adds: the mean is 5 and the variance 20/3. Two folds train on as much as they test, so that
the squared error is 20/3 · (1/4 + 1) = 25/3 and t is √3, with 3 degrees of freedom."""
P = 1 / 2 - 1 / math.pi
"""The p-value of t = √3: 1 − 2/π · (x / (1 + x²) + atan x), where x = t/√3 = 1."""
MARGIN = 3.182446 * 5 / math.sqrt(3)
"""The 97.5 % point of t with 3 degrees of freedom is in every table."""


def cells_of(method: str, seeds: int = 2) -> list[Cell]:
    return [quick(method=method, seed=seed) for seed in range(seeds)]


def planted(sign: int = 1, **more: int) -> dict[str, Result]:
    """Results by key: nmrgcl, graphcl 5 points above it, and further methods with multiples of its gains."""
    scores = {"nmrgcl": 0, "graphcl": sign, **more}
    made = {}
    for method, times in scores.items():
        for cell, base, gain in zip(cells_of(method), FIRST, GAINS, strict=True):
            made[cell.key] = result_of(cell, *(b + times * g for b, g in zip(base, gain, strict=True)))
    return made


def test_a_difference_by_hand() -> None:
    (found,) = compare_methods(cells_of("nmrgcl") + cells_of("graphcl"), planted())
    assert (found.reference, found.untested) == ("nmrgcl", ())
    (pair,) = found.pairs
    assert (pair.row, pair.dataset, pair.seeds, pair.compared, pair.mixed) == ("graphcl", "motifs", 2, 1, False)
    assert pair.difference.mean == pytest.approx(5)
    assert pair.difference.p == pair.p == pytest.approx(P)
    assert (pair.difference.low, pair.difference.high) == pytest.approx((5 - MARGIN, 5 + MARGIN), abs=1e-5)


def test_p_values_are_corrected_for_all_that_is_printed() -> None:
    cells = cells_of("nmrgcl") + cells_of("graphcl") + cells_of("untrained")
    (found,) = compare_methods(cells, planted(untrained=-1))
    assert [pair.difference.mean for pair in found.pairs] == pytest.approx([5, -5])
    assert [pair.p for pair in found.pairs] == pytest.approx([2 * P] * 2)
    assert str(found).splitlines() == [
        "paired difference to nmrgcl in points; svm, stratified, honest selection",
        "                     mean   95 % interval",
        "graphcl    motifs   +5.00   −4.19 … +14.19  p = 0.363",
        "untrained  motifs   −5.00  −14.19 …  +4.19  p = 0.363",
        "corrected resampled t-test (Nadeau & Bengio 2003); p by Holm's method for all 2 comparisons",
    ]
    again = [Cell(c.dataset, c.settings, "lssvm") for c in cells[:4]]
    more = {c.key: result_of(c, *r.scores["folds"]) for c, r in zip(again, planted().values(), strict=True)}
    both = compare_methods([*cells, *again], planted(untrained=-1) | more)
    assert [one.judge.partition(",")[0] for one in both] == ["svm", "lssvm"]
    assert [pair.p for one in both for pair in one.pairs] == pytest.approx([3 * P] * 3)
    assert {pair.compared for one in both for pair in one.pairs} == {3}


def test_the_first_method_stays_the_reference_where_its_cells_are_missing() -> None:
    cells = cells_of("nmrgcl") + cells_of("graphcl") + cells_of("untrained")
    there = {key: result for key, result in planted(untrained=-1).items() if key not in {cells[0].key, cells[1].key}}
    (found,) = compare_methods(cells, there)
    assert (found.reference, found.pairs) == ("nmrgcl", ())
    assert found.untested == (("graphcl", "motifs"), ("untrained", "motifs"))


def test_one_seed_in_common_is_too_few_and_reported_in_a_sentence() -> None:
    cells = cells_of("nmrgcl") + cells_of("graphcl")
    there = planted()
    del there[cells[3].key]
    (found,) = compare_methods(cells, there)
    assert str(found).splitlines()[1:] == [
        "no test for graphcl on motifs: it needs 3 scores (seeds × folds) of both methods; use more --seeds, or "
        "compute the missing cells"
    ]
    assert found.to_rows() == [
        {"judge": cells[0].judge, "reference": "nmrgcl", "method": "graphcl", "dataset": "motifs", "mean": None}
    ]


def test_nothing_is_compared_with_one_seed_or_one_method() -> None:
    assert compare_methods(cells_of("nmrgcl"), planted()) == []
    assert compare_methods(cells_of("nmrgcl", 1) + cells_of("graphcl", 1), planted()) == []


def test_pairs_of_different_devices_are_marked() -> None:
    cells = cells_of("nmrgcl") + cells_of("graphcl")
    there = {key: replace(result, hardware={"device": "cpu"}) for key, result in planted().items()}
    there[cells[3].key] = replace(there[cells[3].key], hardware={"device": "NVIDIA H200"})
    (found,) = compare_methods(cells, there)
    assert found.pairs[0].mixed
    assert "p = 0.182, devices differ" in str(found)


def test_a_fine_tuned_fold_trains_on_two_folds_less() -> None:
    """With four folds, one is for test and two for training, so the squared error is the variance · (1/8 + 1/2)."""
    cells = [
        Cell("motifs", replace(settings, seed=seed), "finetune")
        for settings in (quick(folds=4, method=name).settings for name in ("nmrgcl", "graphcl"))
        for seed in range(2)
    ]
    gains = [6.0, 4.0, 8.0, 2.0]
    there = {c.key: result_of(c, *(70 + (c.method == "graphcl") * gain for gain in gains)) for c in cells}
    (found,) = compare_methods(cells, there)
    error = math.sqrt(40 / 7 * (1 / 8 + 1 / 2))
    assert found.pairs[0].difference.high == pytest.approx(5 + 2.364624 * error, abs=1e-5)


def test_the_command_prints_them_below_the_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ["sweep", "motifs", *SETTINGS, "--method", "nmrgcl", "--method", "graphcl", "--results", str(tmp_path)]
    command += ["--preset", "graphcl", "--backend", "inline", "--device", "cpu", "--seeds", "2"]
    planned = json.loads(run(capsys, *command, "--dry-run", "--json")[0])["cells"]
    for values, result in zip(planned, planted().values(), strict=True):
        cell = Cell.from_dict({key: value for key, value in values.items() if key not in ("key", "finished")})
        Results(tmp_path).put(result_of(cell, *result.scores["folds"]))
    out, _ = run(capsys, *command)
    assert "\n\npaired difference to nmrgcl in points" in out
    assert "graphcl  motifs   +5.00   −4.19 … +14.19  p = 0.182\n" in out
    assert out.endswith("corrected resampled t-test (Nadeau & Bengio 2003)\n")
    (row,) = json.loads(run(capsys, *command, "--json")[0])["differences"]
    assert {key: row[key] for key in ("reference", "method", "dataset", "mean", "seeds", "compared")} == {
        "reference": "nmrgcl",
        "method": "graphcl",
        "dataset": "motifs",
        "mean": pytest.approx(5),
        "seeds": 2,
        "compared": 1,
    }
    assert row["p"] == row["p_holm"] == pytest.approx(P)
    assert json.loads(run(capsys, *command, "--seeds", "1", "--json")[0])["differences"] == []


def test_sweep_and_compare_find_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    small = ["--seeds", "2", "--device", "cpu"]
    small += [word for text in ("epochs=1", "encoder.units=4", "svm.c=default") for word in ("--set", text)]
    methods = ("nmrgcl", "graphcl")
    for method in methods:
        run(capsys, "pretrain", "motifs", "--method", method, *small, "--out", str(tmp_path / method), "--quiet")
    runs = [str(tmp_path / method) for method in methods]
    compared = json.loads(run(capsys, "compare", *runs, "--data", "motifs", "--jobs", "1", "--json")[0])
    named = [word for method in methods for word in ("--method", method)]
    command = ["sweep", "motifs", *named, *small, "--backend", "inline", "--results", str(tmp_path / "r"), "--json"]
    (swept,) = json.loads(run(capsys, *command)[0])["differences"]
    (expected,) = compared["differences"]
    keys = ("mean", "low", "high", "p", "p_holm")
    assert [swept[key] for key in keys] == pytest.approx([expected[key] for key in keys])
