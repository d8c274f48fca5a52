from typing import Any

import numpy as np
import pytest
import torch
from joblib import Parallel
from scipy.stats import rankdata
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from nmrgcl.errors import DataError, SettingError
from nmrgcl.evaluate import svm
from nmrgcl.evaluate.cross_validation import FINE, GRID, Penalty
from nmrgcl.evaluate.rbf import Scaling
from nmrgcl.evaluate.svm import svm_nested, svm_predictions, svm_scores, svm_table

SCALINGS: list[Scaling] = [True, False, "squashed"]


def embeddings(rows: int = 150, classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Correlated, skewed columns of unequal size with overlapping classes, as a sum readout gives them."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(rows) % classes)
    hidden = rng.normal(size=(rows, 6)) + 1.2 * np.eye(classes, 6)[y]
    return np.maximum(hidden @ rng.normal(size=(6, 20)), 0) * np.geomspace(0.1, 30, 20), y


def pipeline_of(standardise: Scaling) -> Pipeline:
    steps: list[Any] = [StandardScaler()] if standardise else []
    steps += [FunctionTransformer(np.arcsinh)] if standardise == "squashed" else []
    return make_pipeline(*steps, SVC())


def by_grid_search(
    z: np.ndarray, y: np.ndarray, *, seed: int, folds: int, standardise: Scaling, shuffled: bool = False
) -> list[float]:
    cut = StratifiedKFold(5, shuffle=True, random_state=seed) if shuffled else 5
    search = GridSearchCV(pipeline_of(standardise), {"svc__C": GRID}, cv=cut)
    splits = StratifiedKFold(folds, shuffle=True, random_state=seed).split(z, y)
    return [100 * search.fit(z[train], y[train]).score(z[test], y[test]) for train, test in splits]


@pytest.mark.parametrize("standardise", SCALINGS)
def test_predictions_are_those_of_the_machines_with_the_chosen_penalties(standardise: Scaling) -> None:
    z, y = embeddings(classes=3)
    found = svm_nested([(z, y, 5)], folds=4, standardise=standardise, jobs=1)
    assert found.chosen is not None
    search = GridSearchCV(pipeline_of(standardise), {"svc__C": GRID}, cv=5)
    expected = np.empty_like(y)
    for fold, (train, test) in enumerate(StratifiedKFold(4, shuffle=True, random_state=5).split(z, y)):
        expected[test] = search.fit(z[train], y[train]).predict(z[test])
        assert GRID[found.chosen[0, fold]] == search.best_params_["svc__C"]
    penalties = [GRID[number] for number in found.chosen[0]]
    assert svm_predictions(z, y, seed=5, penalties=penalties, standardise=standardise).tolist() == expected.tolist()


@pytest.mark.parametrize("standardise", SCALINGS)
def test_inner_scores_are_the_best_ones_of_grid_search(standardise: Scaling) -> None:
    z, y = embeddings(classes=3)
    found = svm_nested([(z, y, 5)], folds=4, standardise=standardise, inner="shuffled", jobs=1)
    cut = StratifiedKFold(5, shuffle=True, random_state=5)
    search = GridSearchCV(pipeline_of(standardise), {"svc__C": GRID}, cv=cut)
    outer = StratifiedKFold(4, shuffle=True, random_state=5).split(z, y)
    expected = [search.fit(z[train], y[train]).best_score_ for train, _ in outer]
    assert found.inner is not None
    np.testing.assert_allclose(found.inner[0], 100 * np.array(expected), rtol=1e-12)
    assert (
        found.outer.tolist()
        == svm_nested([(z, y, 5)], folds=4, standardise=standardise, inner="shuffled").outer.tolist()
    )
    assert svm_nested([(z, y, 5)], c="default", jobs=1).inner is None


def test_the_fine_grid_has_the_values_of_the_coarse_one_and_two_between_them() -> None:
    assert FINE[::3] == pytest.approx(GRID, rel=1e-12)
    assert len(FINE) == 19
    np.testing.assert_allclose(np.diff(np.log10(FINE)), 1 / 3)
    z, y = embeddings()
    found = svm_nested([(z, y, 2)], folds=3, c="fine", jobs=1)
    search = GridSearchCV(pipeline_of(True), {"svc__C": FINE}, cv=5)
    splits = list(StratifiedKFold(3, shuffle=True, random_state=2).split(z, y))
    fits = [(search.fit(z[train], y[train]).score(z[test], y[test]), search.best_score_) for train, test in splits]
    assert found.inner is not None
    np.testing.assert_allclose([found.outer[0], found.inner[0]], 100 * np.array(fits).T, rtol=1e-12)


@pytest.mark.parametrize("standardise", SCALINGS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("classes", [2, 3])
def test_every_fold_scores_as_with_grid_search(classes: int, dtype: type, standardise: Scaling) -> None:
    z, y = embeddings(classes=classes)
    z = z.astype(dtype)
    ours = svm_scores(z, y, seed=3, folds=4, standardise=standardise, jobs=1)
    assert ours.tolist() == by_grid_search(z, y, seed=3, folds=4, standardise=standardise)
    assert len(set(ours)) > 1


def test_shuffled_inner_folds_score_as_with_grid_search_over_the_same_folds() -> None:
    z, y = embeddings()
    order = np.lexsort((z[:, 0], y))  # an order that means something
    z, y = z[order], y[order]
    differ = 0
    for seed in range(4):
        shuffled = svm_scores(z, y, seed=seed, folds=4, inner="shuffled", jobs=1).tolist()
        assert shuffled == by_grid_search(z, y, seed=seed, folds=4, standardise=True, shuffled=True)
        differ += shuffled != svm_scores(z, y, seed=seed, folds=4, jobs=1).tolist()
    assert differ


@pytest.mark.parametrize("standardise", SCALINGS)
def test_repeated_and_far_off_rows_score_as_with_grid_search(standardise: Scaling) -> None:
    z, y = embeddings(rows=120)
    z = np.round(z[np.arange(120) // 3]) + 1000
    ours = svm_scores(z, y, seed=0, folds=3, standardise=standardise, jobs=1)
    assert ours.tolist() == by_grid_search(z, y, seed=0, folds=3, standardise=standardise)


@pytest.mark.parametrize(("c", "value"), [("default", 1.0), (10, 10.0), (0.1, 0.1)])
def test_a_given_c_is_used_as_it_is(c: Penalty, value: float) -> None:
    z, y = embeddings()
    expected = []
    for train, test in StratifiedKFold(10, shuffle=True, random_state=1).split(z, y):
        expected.append(100 * SVC(C=value).fit(z[train], y[train]).score(z[test], y[test]))
    assert svm_scores(z, y, seed=1, c=c, standardise=False, jobs=1).tolist() == expected


def test_equal_accuracies_choose_the_smallest_c() -> None:
    table = np.full((5, 7), 0.5)
    table[:, 2:5] = 0.75
    higher = table.copy()
    higher[0, 4] = 0.8
    assert svm._best(np.array([table, higher]).mean(1)).tolist() == [2, 4]


def test_ties_but_for_rounding_are_settled_as_grid_search_settles_them() -> None:
    rng = np.random.default_rng(0)
    tables, expected = [], []
    for _ in range(200):
        row = rng.integers(15, 30, size=5) / 29
        rows = np.array([rng.permutation(row) for _ in GRID])  # equal means, summed in different orders
        tables.append(rows.T)
        expected.append(int(rankdata(-np.average(rows, axis=1), method="min").argmin()))
    assert svm._best(np.array(tables).mean(axis=1)).tolist() == expected


@pytest.mark.parametrize("standardise", [True, False])
@pytest.mark.parametrize("value", [0.0, 0.1, 7.0])
def test_constant_embeddings_score_the_majority_class(value: float, standardise: bool) -> None:
    y = np.repeat([0, 1], [60, 40])
    scores = svm_scores(np.full((100, 96), value), y, seed=0, standardise=standardise, jobs=1)
    assert scores.tolist() == [60.0] * 10


def test_equal_rows_far_from_the_origin_have_kernel_one() -> None:
    for kernel in svm._kernels(np.full((90, 96), 0.1), np.full((10, 96), 0.1)):
        assert (kernel == 1).all()


def test_random_labels_score_no_better_than_chance() -> None:
    z, _ = embeddings(rows=200)
    y = np.random.default_rng(5).permutation(np.arange(200) % 2)
    assert svm_scores(z, y, seed=0, jobs=1).mean() < 60


@pytest.mark.parametrize("seed", [None, 0])
def test_c_is_chosen_without_the_held_out_rows(seed: int | None) -> None:
    z, y = embeddings()
    train, test = next(StratifiedKFold(5, shuffle=True, random_state=0).split(z, y))
    hidden_z, hidden_y = z.copy(), y.copy()
    hidden_z[test], hidden_y[test] = np.nan, 1 - y[test]
    parts = (svm.inner_cuts(y, train, seed), svm.inner_cuts(hidden_y, train, seed))
    for seen, hidden in zip(*parts, strict=True):
        assert not set(np.concatenate(hidden)) & set(test)
        found = svm._accuracies(hidden_z, hidden_y, hidden[0], hidden[1], GRID, True)
        np.testing.assert_array_equal(found, svm._accuracies(z, y, seen[0], seen[1], GRID, True))


def test_the_table_of_all_penalties_holds_the_scores_of_each() -> None:
    z, y = embeddings()
    table = svm_table(z, y, seed=3, folds=4, jobs=1)
    for row, c in zip(table, GRID, strict=True):
        np.testing.assert_array_equal(row, svm_scores(z, y, seed=3, folds=4, c=c, jobs=1))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("standardise", SCALINGS)
def test_a_gpu_scores_as_the_cpu_does(standardise: Scaling, classes: int) -> None:
    z, y = embeddings(rows=400, classes=classes)
    options: dict[str, Any] = {"standardise": standardise, "inner": "shuffled", "jobs": 1}
    cpu, gpu = (svm_nested([(z, y, 0)], **options, device=torch.device(name)) for name in ("cpu", "cuda"))
    assert cpu.inner is not None
    assert gpu.inner is not None
    assert np.abs(gpu.outer - cpu.outer).max() <= 100 / 40  # a row at the border
    assert np.abs(gpu.inner - cpu.inner).max() <= 0.5
    tables = [
        svm_table(z, y, seed=0, standardise=standardise, jobs=1, device=torch.device(name)) for name in ("cpu", "cuda")
    ]
    assert np.abs(tables[0] - tables[1]).mean() <= 0.5


def test_held_out_rows_are_judged_one_by_one() -> None:
    z, y = embeddings()
    train, test = next(StratifiedKFold(5, shuffle=True, random_state=0).split(z, y))
    together = svm._accuracies(z, y, train, test, GRID, True)
    alone = [svm._accuracies(z, y, train, row, GRID, True) for row in test[:, None]]
    np.testing.assert_allclose(np.mean(alone, axis=0), together, rtol=1e-12)


def test_folds_in_parallel_score_as_one_by_one() -> None:
    cases = [(*embeddings(seed=s), s) for s in range(2)]
    seen: list[tuple[int, int]] = []
    together = svm_nested(cases, folds=3, jobs=2, watch=lambda *count: seen.append(count)).outer
    assert together.shape == (2, 3)
    assert seen == [(done, 36) for done in range(1, 37)]
    for (z, y, seed), scores in zip(cases, together, strict=True):
        assert svm_scores(z, y, seed=seed, folds=3, jobs=1).tolist() == scores.tolist()


@pytest.mark.parametrize(("wait", "jobs"), [(0.0, -1), (1000.0, 1)])
def test_processes_are_started_only_if_they_save_time(wait: float, jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def pool(n_jobs: int, **options: Any) -> Any:
        asked.append(n_jobs)
        return Parallel(n_jobs=1, **options)

    monkeypatch.setattr(svm, "Parallel", pool)
    monkeypatch.setattr(svm, "cpu_count", lambda: 4)
    monkeypatch.setattr(svm, "SECONDS_TO_START", wait)
    svm_scores(*embeddings(), seed=0, folds=3)
    svm_scores(*embeddings(), seed=0, folds=3, jobs=2)
    assert asked == [jobs, 2]  # a number that was asked for is obeyed


def test_one_core_never_starts_processes_and_many_do_for_long_work() -> None:
    assert not svm.processes_help(1e6, 1)
    assert svm.processes_help(10.0, 2)
    assert not svm.processes_help(7.0, 2)
    assert svm.expected_seconds([4110] * 10, 7) > 10 * svm.expected_seconds([188] * 10, 7)


def test_every_fold_is_counted_once() -> None:
    seen: list[tuple[int, int]] = []
    svm_nested([(*embeddings(), 0)], folds=3, jobs=1, watch=lambda *count: seen.append(count))
    assert seen == [(done, 18) for done in range(1, 19)]  # five inner folds and the outer one, three times
    svm_nested([(*embeddings(), 0)], folds=3, c="default", jobs=1, watch=lambda *count: seen.append(count))
    assert seen[18:] == [(1, 3), (2, 3), (3, 3)]


def test_the_same_seed_gives_the_same_scores_and_another_seed_other_folds() -> None:
    z, y = embeddings()
    first, again, other = (svm_scores(z, y, seed=s, c="default", jobs=1).tolist() for s in (0, 0, 1))
    assert first == again != other


def test_arguments_stay_as_they_were() -> None:
    z, y = embeddings()
    z.flags.writeable = y.flags.writeable = False
    svm_scores(z, y, seed=0, c="default", standardise=False, jobs=1)


def test_a_class_smaller_than_the_folds_is_named() -> None:
    z, _ = embeddings(rows=40)
    y = np.repeat([0, 3, 7], [20, 4, 16])
    with pytest.raises(DataError, match=r"^class 3 has 4 members, fewer than 10 folds: lower svm.folds or leave the"):
        svm_scores(z, y, seed=0, jobs=1)


def test_a_class_too_small_to_choose_c_is_named_and_a_given_c_works() -> None:
    z, _ = embeddings(rows=40)
    y = np.repeat([0, 1], [34, 6])
    with pytest.raises(DataError, match=r"^class 1 has 6 members, 4 of them for training.* set svm.c to default"):
        svm_scores(z, y, seed=0, folds=3, jobs=1)
    assert len(svm_scores(z, y, seed=0, folds=3, c="default", jobs=1)) == 3


@pytest.mark.parametrize(
    ("z", "y", "message"),
    [
        (np.ones((20, 2)), np.zeros(20, int), "all 20 labels are the same class"),
        (np.ones((20, 2)), np.arange(19) % 2, "20 embeddings but labels of shape [19]"),
        (np.ones(20), np.arange(20) % 2, "embeddings have shape [20]"),
        (np.r_[np.ones((18, 2)), [[1, np.nan], [np.inf, -np.inf]]], np.arange(20) % 2, "2 of 20 embeddings"),
    ],
)
def test_input_that_cannot_be_scored_is_refused_in_one_line(z: np.ndarray, y: np.ndarray, message: str) -> None:
    with pytest.raises(DataError) as refused:
        svm_scores(z, y, seed=0, jobs=1)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("c", ["best", 0.0, -1.0, np.nan, np.inf])
def test_an_impossible_c_is_refused(c: Penalty) -> None:
    with pytest.raises(SettingError, match="^c is"):
        svm_scores(*embeddings(), seed=0, c=c, jobs=1)


def test_one_fold_is_refused() -> None:
    with pytest.raises(SettingError, match="^folds is 1"):
        svm_scores(*embeddings(), seed=0, folds=1, jobs=1)
