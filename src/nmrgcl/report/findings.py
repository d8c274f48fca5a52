"""The finding of a run: one sentence and a verdict."""

from dataclasses import dataclass

import numpy as np

from nmrgcl.evaluate.paired import FEWEST, Difference, paired_difference
from nmrgcl.report.page import Tone
from nmrgcl.run.evaluation import Evaluation

CHANCE = 0.05
"""Differences with at least this p-value are within chance."""


@dataclass(frozen=True)
class Finding:
    """A sentence, and a short verdict with its tone."""

    sentence: str
    verdict: str
    tone: Tone


def compare_with_untrained(found: Evaluation) -> Difference | None:
    """Trained minus untrained on the same folds; None if one is missing or there are too few scores for a test."""
    if found.untrained is None or found.trained.folds.size < FEWEST:
        return None
    return paired_difference(found.trained.folds, found.untrained.folds, test_to_train=found.test_to_train)


def find_in_accuracy(
    method: str, trained: float, untrained: float | None, difference: Difference | None, largest: float
) -> Finding:
    """The finding from mean accuracies in percent; ``largest`` is the share of the largest class."""
    if method == "untrained" or untrained is None:
        subject = "The untrained encoder" if method == "untrained" else method
        sentence = f"{subject} reaches an accuracy of {trained:.1f} %"
        better = trained > largest
        beside = f"always naming the largest class would reach {largest:.1f} %"
        verdict = "above the largest class" if better else "not above the largest class"
        return Finding(f"{sentence}; {beside}.", verdict, "open" if better else "bad")
    # Of the rounded values, so that the words agree with the numbers beside them.
    change = round(trained, 1) - round(untrained, 1)
    moved = f"{'raised' if change > 0 else 'lowered'} accuracy from {untrained:.1f} to {trained:.1f} %"
    sentence = f"Pre-training {moved if change else f'left accuracy at {trained:.1f} %'}"
    if difference is None:
        return Finding(f"{sentence}; there are too few scores to say whether that is chance.", "not tested", "open")
    if difference.p >= CHANCE:
        words = "the difference is within chance" if change else "any difference is within chance"
        return Finding(f"{sentence}; {words}.", "within chance", "open")
    better = difference.mean > 0
    verdict = "better than untrained" if better else "worse than untrained"
    return Finding(f"{sentence}; the difference is beyond chance.", verdict, "good" if better else "bad")


def find_in_rank(method: str, before: float, after: float, width: int) -> str:
    """The sentence about a run that cannot be evaluated because there are no labels."""
    if method == "untrained":
        return f"The embeddings of the untrained encoder have effective rank {after:.1f} of {width} dimensions."
    moved = "raised" if round(after, 1) > round(before, 1) else "lowered"
    change = f"{moved} the effective rank of the embeddings from {before:.1f} to {after:.1f}"
    if round(after, 1) == round(before, 1):
        change = f"left the effective rank of the embeddings at {after:.1f}"
    return f"Pre-training {change} of {width} dimensions; there are no labels to judge them by."


def largest_class(y: np.ndarray) -> float:
    """The share of the largest class among all labelled rows in percent."""
    return float(100 * np.bincount(y[y >= 0]).max() / (y >= 0).sum())
