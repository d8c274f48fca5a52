"""Two ways from embeddings of graphs to scores: one that looks at the evaluated folds only once, and the usual one."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nmrgcl.evaluate.svm import GRID, svm_scores
from nmrgcl.run.cell import Run
from nmrgcl.settings import Settings

JUDGED_EVERY = 5
"""Published code evaluates every fifth epoch and reports the best."""

PenaltyScores = list[tuple[float, list[float]]]
"""Scores ``[folds]`` for each C."""


@dataclass(frozen=True)
class Chosen:
    """What the evaluated folds liked best."""

    epoch: int
    c: float


def judge_by_svm(
    run: Run, z: np.ndarray, y: np.ndarray, epochs: Sequence[dict[str, Any]]
) -> tuple[list[float], dict[str, Any] | None]:
    """Scores ``[folds]``, and what was chosen by looking at them.

    Args:
        run: the cell.
        z: ``[B, D]`` the last embeddings.
        y: ``[B]`` class codes, -1 for a graph that is not judged.
        epochs: what was noted of each; some have the ``scores`` of ``every_penalty``.
    """
    if run.selection == "honest":
        return honest_scores(z, y, run.settings), None
    tables = {epoch["epoch"]: epoch["scores"] for epoch in epochs if "scores" in epoch}
    if epochs[-1]["epoch"] not in tables:
        tables[epochs[-1]["epoch"]] = every_penalty(z, y, run.settings)
    chosen, scores = best_of(tables)
    return scores, asdict(chosen)


def honest_scores(z: np.ndarray, y: np.ndarray, settings: Settings) -> list[float]:
    """Accuracies on the held-out folds of embeddings ``z`` ``[B, D]``; C is chosen inside the training folds."""
    z, y = z[y >= 0], y[y >= 0]
    found: list[float] = svm_scores(z, y, seed=settings.seed, **asdict(settings.svm), jobs=1).tolist()
    return found


def every_penalty(z: np.ndarray, y: np.ndarray, settings: Settings) -> PenaltyScores:
    """Accuracies on the held-out folds for each C, so that the best one may be reported."""
    z, y = z[y >= 0], y[y >= 0]
    options = asdict(settings.svm)
    penalties = GRID if options.pop("c") == "grid" else (1.0,)
    return [(c, svm_scores(z, y, seed=settings.seed, **options, c=c, jobs=1).tolist()) for c in penalties]


def best_of(epochs: Mapping[int, PenaltyScores]) -> tuple[Chosen, list[float]]:
    """The epoch and C of the highest mean, the first of equals, and its scores."""
    candidates = [(Chosen(epoch, c), folds) for epoch, table in epochs.items() for c, folds in table]
    return max(candidates, key=lambda candidate: float(np.mean(candidate[1])))
