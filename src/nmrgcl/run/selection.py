"""Two ways from embeddings of graphs to scores: one that looks at the evaluated folds only once, and the usual one."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from torch import Tensor

from nmrgcl.evaluate.cases import Nested, candidates
from nmrgcl.evaluate.lssvm import lssvm_nested, lssvm_table
from nmrgcl.evaluate.svm import svm_nested, svm_table
from nmrgcl.run.cell import Run
from nmrgcl.settings import SVMSettings

JUDGED_EVERY, MOST_JUDGED = 5, 20
"""Published code evaluates every fifth epoch, or each of twenty, and reports the best: no more looks than that."""

PenaltyScores = list[tuple[float, list[float]]]
"""Scores ``[folds]`` for each C."""


@dataclass(frozen=True)
class Chosen:
    """What the evaluated folds liked best."""

    epoch: int
    c: float


def is_judged(epoch: int, epochs: int) -> bool:
    """Whether selection "paper" looks at the folds after that one of at most ``epochs``; the last it always sees."""
    return epoch % max(JUDGED_EVERY, -(-epochs // MOST_JUDGED)) == 0


def judge_by_folds(
    run: Run, z: Tensor, y: np.ndarray, epochs: Sequence[dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Scores (``folds``, their ``mean``, the ``inner`` ones by which C was chosen), and what was chosen by the former.

    Args:
        run: the cell.
        z: ``[B, D]`` the last embeddings.
        y: ``[B]`` class codes, -1 for a graph that is not judged.
        epochs: what was noted of each; some have the ``scores`` of ``every_penalty``.
    """
    if run.selection == "honest":
        found = honest_scores(run, z, y)
        return _scores(found.outer.tolist()) | ({} if found.inner is None else {"inner": found.inner.tolist()}), None
    tables = {epoch["epoch"]: epoch["scores"] for epoch in epochs if "scores" in epoch}
    if epochs[-1]["epoch"] not in tables:
        tables[epochs[-1]["epoch"]] = every_penalty(run, z, y)
    chosen, scores = best_of(tables)
    return _scores(scores), asdict(chosen)


def _scores(folds: list[float]) -> dict[str, Any]:
    return {"folds": folds, "mean": float(np.mean(folds))}


def honest_scores(run: Run, z: Tensor, y: np.ndarray) -> Nested:
    """Accuracies of embeddings ``z`` ``[B, D]`` on the held-out folds; C is chosen inside the training folds."""
    rows, labels, settings = z.cpu().numpy()[y >= 0], y[y >= 0], run.settings
    if run.protocol == "lssvm":
        return lssvm_nested(rows, labels, seed=run.seed, **lssvm_options(settings.svm), device=z.device)
    found = svm_nested([(rows, labels, run.seed)], **asdict(settings.svm), jobs=1, device=z.device)
    return Nested(found.outer[0], None if found.inner is None else found.inner[0])


def every_penalty(run: Run, z: Tensor, y: np.ndarray) -> PenaltyScores:
    """Accuracies on the held-out folds for each C, so that the best one may be reported."""
    rows, labels, settings = z.cpu().numpy()[y >= 0], y[y >= 0], run.settings
    options: dict[str, Any] = lssvm_options(settings.svm) | {"seed": run.seed, "device": z.device}
    if run.protocol == "lssvm":
        tested = lssvm_table(rows, labels, **options)[1]
    else:
        tested = svm_table(rows, labels, **options, jobs=1)
    return list(zip(candidates(settings.svm.c), tested.tolist(), strict=True))


def lssvm_options(options: SVMSettings) -> dict[str, Any]:
    """Those of the SVM but for inner folds, which one of least squares does not have."""
    return {name: value for name, value in asdict(options).items() if name != "inner"}


def best_of(epochs: Mapping[int, PenaltyScores]) -> tuple[Chosen, list[float]]:
    """The epoch and C of the highest mean, the first of equals, and its scores."""
    candidates = [(Chosen(epoch, c), folds) for epoch, table in epochs.items() for c, folds in table]
    return max(candidates, key=lambda candidate: float(np.mean(candidate[1])))
