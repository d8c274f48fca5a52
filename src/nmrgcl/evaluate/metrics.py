"""Metrics of several tasks at once, some of whose labels are missing.

Predictions and labels are ``[M, T]``; NaN stands for a label that is missing. Results are float64 ``[T]``, NaN for a
task whose labels do not allow a score, so that ``nanmean`` is the mean over the others. Shapes do not depend on values
and nothing waits for the device, so that a training can compare its epochs in a CUDA graph.
"""

import torch
from torch import Tensor


def roc_auc(scores: Tensor, labels: Tensor) -> Tensor:
    """The share of pairs of a positive (1) and a negative (0) whose scores are in order; equal scores count half.

    This is the area under the ROC curve (Mann and Whitney's U by average ranks). It needs both classes.
    """
    positive, negative = labels == 1, labels == 0
    below, up_to = _places(scores, negative)
    in_order = torch.where(positive, below + up_to, 0).sum(0).double() / 2
    return in_order / (positive.sum(0) * negative.sum(0))


def average_precision(scores: Tensor, labels: Tensor) -> Tensor:
    """The area under the precision-recall curve: the mean over positives of the precision at their score.

    One class alone has no score, as in ``roc_auc``.
    """
    positive, negative = labels == 1, labels == 0
    positives, negatives = positive.sum(0), negative.sum(0)
    found = positives - _places(scores, positive)[0]
    wrong = negatives - _places(scores, negative)[0]
    precision = torch.where(positive, found.double() / (found + wrong), 0)
    return torch.where(negatives > 0, precision.sum(0) / positives, torch.nan)


def rmse(predicted: Tensor, labels: Tensor) -> Tensor:
    """The root of the mean squared error."""
    return _mean_present((predicted.double() - labels.double()).square(), labels).sqrt()


def mae(predicted: Tensor, labels: Tensor) -> Tensor:
    """The mean absolute error."""
    return _mean_present((predicted.double() - labels.double()).abs(), labels)


def _mean_present(values: Tensor, labels: Tensor) -> Tensor:
    present = ~labels.isnan()
    return torch.where(present, values, 0).sum(0) / present.sum(0)


def _places(scores: Tensor, among: Tensor) -> tuple[Tensor, Tensor]:
    """``[M, T]`` each: how many of the scores ``among`` those of a task are below each score, and how many up to it.

    Scores are finite; those that are not counted lie beyond all of them.
    """
    rows = scores.double().T.contiguous()
    line = rows.masked_fill(~among.T, torch.inf).sort(1).values
    return torch.searchsorted(line, rows).T, torch.searchsorted(line, rows, right=True).T
