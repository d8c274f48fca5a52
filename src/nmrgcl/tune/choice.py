"""Choose a candidate: for each fold separately to get an honest score, or overall to get a preset.

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
    chosen = np.round(inner, 9).argmax(axis=0)  # Rounding makes equal means tie whatever the order of summation.
    return Choice(chosen, np.take_along_axis(outer, chosen[None], axis=0)[0])


def best_overall(scores: np.ndarray) -> int:
    """The candidate with the highest mean over seeds and folds; ties go to the first."""
    return int(np.round(scores.mean(axis=(1, 2)), 9).argmax())
