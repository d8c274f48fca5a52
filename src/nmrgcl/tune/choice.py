"""Which candidate wins: fold by fold for an honest score, overall for a preset.

Scores are accuracies in percent, ``[candidates, seeds, folds]``: ``inner`` ones use the training rows of a fold alone,
``outer`` ones are of the fold itself.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Choice:
    """The candidate of every fold, and what it scores there.

    Attributes:
        chosen: ``[seeds, folds]`` numbers of candidates.
        scores: ``[seeds, folds]`` their accuracies on the held-out folds.
    """

    chosen: np.ndarray
    scores: np.ndarray

    def times(self, candidates: int) -> list[int]:
        """On how many folds each of ``candidates`` was chosen."""
        counts: list[int] = np.bincount(self.chosen.ravel(), minlength=candidates).tolist()
        return counts


def choose_by_fold(inner: np.ndarray, outer: np.ndarray) -> Choice:
    """For every seed and fold the candidate that is best inside its training rows, the first of equals.

    A fold's labels have no part in the choice made for it: neither its own scores nor the inner ones of other folds or
    seeds, in whose training rows it lies, are looked at.
    """
    chosen = np.round(inner, 9).argmax(axis=0)  # sums of the same shares in another order are equals
    return Choice(chosen, np.take_along_axis(outer, chosen[None], axis=0)[0])


def best_overall(scores: np.ndarray) -> int:
    """The candidate with the highest mean over seeds and folds, the first of equals."""
    return int(np.round(scores.mean(axis=(1, 2)), 9).argmax())
