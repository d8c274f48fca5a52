"""Choose a candidate: for each fold or seed separately to get an honest score, or overall to get a preset.

Scores are accuracies in percent, ``[candidates, seeds, folds]``: ``inner`` scores use only the training rows of a fold,
``outer`` scores are measured on the fold itself.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Choice:
    """The candidate chosen for every fold, and its score there.

    Attributes:
        chosen: ``[seeds, folds]`` indices of candidates.
        scores: ``[seeds, folds]`` their accuracies on the test folds.
    """

    chosen: np.ndarray
    scores: np.ndarray

    def times(self, candidates: int) -> list[int]:
        """For each of ``candidates``, on how many folds it was chosen."""
        counts: list[int] = np.bincount(self.chosen.ravel(), minlength=candidates).tolist()
        return counts


def choose_by_fold(inner: np.ndarray, outer: np.ndarray) -> Choice:
    """For every seed and fold, choose the candidate with the best inner score; ties go to the first.

    The labels of a fold do not affect the choice made for it: neither its own scores are used nor the inner scores of
    other folds or seeds, whose training rows include it.
    """
    chosen = _rounded(inner).argmax(axis=0)
    return Choice(chosen, np.take_along_axis(outer, chosen[None], axis=0)[0])


def choose_by_measure(measure: np.ndarray, outer: np.ndarray) -> Choice:
    """For every seed, choose the candidate with the highest ``measure`` ``[candidates, seeds]``; ties go to the first.

    A measure of a training needs no labels, so that all folds of a seed have the same candidate.
    """
    chosen = np.broadcast_to(_rounded(measure).argmax(axis=0)[:, None], outer.shape[1:])
    return Choice(chosen, np.take_along_axis(outer, chosen[None], axis=0)[0])


def best_overall(scores: np.ndarray) -> int:
    """The candidate with the highest mean over seeds and, if there are any, folds; ties go to the first."""
    return int(_rounded(scores.mean(axis=tuple(range(1, scores.ndim)))).argmax())


def _rounded(values: np.ndarray) -> np.ndarray:
    """Rounding makes equal means tie whatever the order of summation."""
    return np.round(values, 9)
