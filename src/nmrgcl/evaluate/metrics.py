"""Metrics for several tasks at once, with missing labels.

Predictions and labels are ``[M, T]``; NaN marks a missing label. Results are float64 ``[T]``, with NaN for tasks whose
labels do not allow a score, so that ``nanmean`` averages over the others. Shapes do not depend on values and nothing
synchronises with the device, so that epochs can be compared inside a CUDA graph.
"""

import torch
from torch import Tensor


def roc_auc(scores: Tensor, labels: Tensor) -> Tensor:
    """The fraction of pairs of a positive (1) and a negative (0) in the right order; equal scores count half.

    This is the area under the ROC curve (the Mann–Whitney U statistic). It needs both classes.
    """
    positive, negative = labels == 1, labels == 0
    below, up_to = _places(scores, negative)
    in_order = torch.where(positive, below + up_to, 0).sum(0).double() / 2
    return in_order / (positive.sum(0) * negative.sum(0))


def average_precision(scores: Tensor, labels: Tensor) -> Tensor:
    """The area under the precision-recall curve: the mean over positives of the precision at their score.

    As for ``roc_auc``, there is no score without both classes.
    """
    positive, negative = labels == 1, labels == 0
    positives, negatives = positive.sum(0), negative.sum(0)
    found = positives - _places(scores, positive)[0]
    wrong = negatives - _places(scores, negative)[0]
    precision = torch.where(positive, found.double() / (found + wrong), 0)
    return torch.where(negatives > 0, precision.sum(0) / positives, torch.nan)


def rmse(predicted: Tensor, labels: Tensor) -> Tensor:
    """The root mean squared error."""
    return _mean_present((predicted.double() - labels.double()).square(), labels).sqrt()


def mae(predicted: Tensor, labels: Tensor) -> Tensor:
    """The mean absolute error."""
    return _mean_present((predicted.double() - labels.double()).abs(), labels)


def _mean_present(values: Tensor, labels: Tensor) -> Tensor:
    present = ~labels.isnan()
    return torch.where(present, values, 0).sum(0) / present.sum(0)


def _places(scores: Tensor, among: Tensor) -> tuple[Tensor, Tensor]:
    """For each score, how many scores of the task selected by ``among`` are below it, and how many are not above it.

    Both results are ``[M, T]``. Scores must be finite, as infinity replaces those that are not selected.
    """
    rows = scores.double().T.contiguous()
    line = rows.masked_fill(~among.T, torch.inf).sort(1).values
    return torch.searchsorted(line, rows).T, torch.searchsorted(line, rows, right=True).T
