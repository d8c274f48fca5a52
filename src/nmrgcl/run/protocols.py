"""Protocols that turn embeddings (or fingerprints) and labels into test scores; ``finetuning`` has the remaining one.

Cells of tables and ``nmrgcl evaluate`` use the same functions. Selection "honest" looks at the test data only once;
selection "paper" reports the best among the test scores for every C and for many epochs, as published code does.

Each function imports its own classifier, because scikit-learn takes seconds to import.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal, Protocol

import numpy as np
import torch

from nmrgcl.evaluate.cross_validation import Watch, penalties
from nmrgcl.run.cases import Case, FoldScores, Truth
from nmrgcl.settings import Settings, SVMSettings

JUDGED_EVERY, MOST_JUDGED = 5, 20
"""Published code evaluates every fifth epoch, or each of twenty, and reports the best; we do not look more often."""

PenaltyScores = list[tuple[float, list[float]]]
"""For each C, the scores of all folds."""


def score_by_svm(
    cases: Sequence[Case], settings: Settings, device: torch.device, jobs: int, watch: Watch | None = None
) -> list[FoldScores]:
    """SVMs on stratified folds with C chosen inside the training folds; all folds of all cases run in parallel.

    The kernel is the RBF kernel of the embeddings, or the method's own.
    """
    from nmrgcl.evaluate.svm import svm_nested

    if cases[0].kernels is not None:
        return [_score_kernels(case, settings.svm, device, jobs) for case in cases]
    found = svm_nested([case.labelled for case in cases], **asdict(settings.svm), jobs=jobs, device=device, watch=watch)
    inner = [None] * len(cases) if found.inner is None else found.inner
    assert found.chosen is not None
    chosen = np.array(penalties(settings.svm.c))[found.chosen].tolist()
    return [_by_folds(*parts) for parts in zip(found.outer, inner, chosen, strict=True)]


def _score_kernels(case: Case, options: SVMSettings, device: torch.device, jobs: int) -> FoldScores:
    from nmrgcl.evaluate.kernel_svm import kernel_nested

    own = case.labelled_kernels
    assert own is not None
    kernels, y, seed = own
    chosen: dict[str, Any] = {"folds": options.folds, "c": options.c, "inner": options.inner}
    found = kernel_nested(kernels, y, seed=seed, **chosen, jobs=jobs, device=device)
    return _by_folds(found.outer, found.inner)


def score_by_lssvm(
    cases: Sequence[Case], settings: Settings, device: torch.device, jobs: int, watch: Watch | None = None
) -> list[FoldScores]:
    """Least-squares SVMs on the same folds, computed on the device."""
    from nmrgcl.evaluate.lssvm import lssvm_nested

    options, scores = _lssvm_options(settings.svm), []
    for z, y, seed in (case.labelled for case in cases):
        found = lssvm_nested(z, y, seed=seed, **options, device=device)
        scores.append(_by_folds(found.outer, found.inner))
    return scores


def score_by_linear(
    cases: Sequence[Case], settings: Settings, device: torch.device, jobs: int, watch: Watch | None = None
) -> list[FoldScores]:
    """Logistic regression on one split of the nodes, with C chosen on the validation nodes."""
    from nmrgcl.evaluate.linear import linear_score

    scaling, scores = settings.linear.normalise, []
    for case in cases:
        found = linear_score(case.z, case.truth.y, case.parts, scaling=scaling, device=device)
        scores.append(FoldScores([found.test], {"valid": found.valid, "c": found.c}, [found.c]))
    return scores


class Score(Protocol):
    """A protocol for embeddings with ``jobs`` worker processes, -1 for one per core; only the SVM calls ``watch``."""

    def __call__(
        self, cases: Sequence[Case], settings: Settings, device: torch.device, jobs: int, watch: Watch | None = None
    ) -> list[FoldScores]:
        """The scores of each case."""
        ...


SCORE_BY: dict[str, Score] = {
    "svm": score_by_svm,
    "lssvm": score_by_lssvm,
    "linear": score_by_linear,
}


def score_by_fingerprints(truth: Truth, split: str, *, seed: int, model: Literal["forest", "linear"]) -> FoldScores:
    """Fit a simple model to fingerprints, as a chemist would do first; the splits are those of the other protocols."""
    from nmrgcl.data.molecules.fingerprints import ecfp
    from nmrgcl.data.molecules.splits import split_rows
    from nmrgcl.evaluate.fingerprints import fingerprint_score
    from nmrgcl.evaluate.goals import goal_of

    assert truth.molecules is not None  # Cell refuses other data.
    goal: Any = goal_of(truth.y)
    parts = split_rows(truth.molecules, split, seed=seed)
    found = fingerprint_score(ecfp(truth.molecules.smiles), truth.y, parts, model=model, goal=goal, seed=seed)
    beside = {name: [value] for name, value in found.beside.items()}
    return FoldScores([found.test], {"valid": [found.valid], "chosen": found.chosen, **beside})


def score_every_penalty(protocol: str, case: Case, settings: Settings, device: torch.device) -> PenaltyScores:
    """Test accuracies of every fold for each C, from which selection "paper" reports the best."""
    from nmrgcl.evaluate.kernel_svm import kernel_table
    from nmrgcl.evaluate.lssvm import lssvm_table
    from nmrgcl.evaluate.svm import svm_table

    own = case.labelled_kernels if protocol == "svm" else None
    if own is not None:
        kernels, y, seed = own
        table = kernel_table(kernels, y, seed=seed, folds=settings.svm.folds, c=settings.svm.c, jobs=1, device=device)
        values = penalties(settings.svm.c) * len(kernels)  # The rows of the table, by kernel and then by C.
        return list(zip(values, table.reshape(len(values), -1).tolist(), strict=True))
    z, y, seed = case.labelled
    options: dict[str, Any] = _lssvm_options(settings.svm) | {"seed": seed, "device": device}
    tested = lssvm_table(z, y, **options)[1] if protocol == "lssvm" else svm_table(z, y, **options, jobs=1)
    return list(zip(penalties(settings.svm.c), tested.tolist(), strict=True))


def is_judged(epoch: int, epochs: int) -> bool:
    """Whether selection "paper" evaluates after this epoch; it also evaluates after the last one in any case."""
    return epoch % max(JUDGED_EVERY, -(-epochs // MOST_JUDGED)) == 0


def choose_best(epochs: Mapping[int, PenaltyScores]) -> tuple[FoldScores, dict[str, Any]]:
    """The scores of the epoch and C with the highest mean, and that epoch and C; ties go to the earlier one."""
    tried = [({"epoch": epoch, "c": c}, folds) for epoch, table in epochs.items() for c, folds in table]
    chosen, folds = max(tried, key=lambda candidate: float(np.mean(candidate[1])))
    return FoldScores(folds), chosen


def _lssvm_options(options: SVMSettings) -> dict[str, Any]:
    """The SVM's options except for ``inner``: a least-squares SVM needs no inner folds."""
    return {name: value for name, value in asdict(options).items() if name != "inner"}


def _by_folds(outer: np.ndarray, inner: np.ndarray | None, chosen: list[float] | None = None) -> FoldScores:
    return FoldScores(outer.tolist(), {} if inner is None else {"inner": inner.tolist()}, chosen)
