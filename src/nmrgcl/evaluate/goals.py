"""Kinds of labels: class codes, several binary tasks, or several numbers; the latter two may have missing values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, mse_loss

from nmrgcl.data.splits import Split
from nmrgcl.errors import DataError, printable
from nmrgcl.evaluate.metrics import average_precision, mae, rmse, roc_auc


@dataclass(frozen=True)
class Goal:
    """The loss of a kind of labels, and the metrics for model selection and evaluation.

    Attributes:
        loss: a function from outputs ``[M, T]`` and labels to a scalar.
        merits: named functions from outputs and labels to float64 scalars; higher is better. The first one selects.
        unit: a score is this times its merit: 100 for percentages, -1 for errors, where lower is better.
        type: the data type of the labels on the device.
        require: raises DataError if a split of the labels cannot be used for training and evaluation.
        standardise: divide labels by their standard deviation in the training data before computing the loss.
    """

    loss: Callable[[Tensor, Tensor], Tensor]
    merits: Mapping[str, Callable[[Tensor, Tensor], Tensor]]
    unit: float
    type: torch.dtype
    require: Callable[[np.ndarray, Split], None]
    standardise: bool = False

    @property
    def merit(self) -> Callable[[Tensor, Tensor], Tensor]:
        """The metric used for selection."""
        return next(iter(self.merits.values()))

    def scores(self, outputs: Tensor, labels: Tensor) -> tuple[float, dict[str, float]]:
        """The score by the metric used for selection, and those by the other metrics."""
        first, *others = ((name, self.unit * float(merit(outputs, labels))) for name, merit in self.merits.items())
        return first[1], dict(others)


def masked_cross_entropy(outputs: Tensor, labels: Tensor) -> Tensor:
    """Binary cross-entropy of logits, averaged over the labels that are present (Hu et al. 2020)."""
    present = ~labels.isnan()
    # NaN must be replaced before the loss: masking it afterwards would leave a gradient of NaN.
    each = binary_cross_entropy_with_logits(outputs, torch.where(present, labels, 0), reduction="none")
    return _mean_where(present, each)


def masked_squared_error(outputs: Tensor, labels: Tensor) -> Tensor:
    """Squared error, averaged over the labels that are present."""
    present = ~labels.isnan()
    return _mean_where(present, mse_loss(outputs, torch.where(present, labels, 0), reduction="none"))


def _mean_where(present: Tensor, values: Tensor) -> Tensor:
    """The mean of the ``values`` that are ``present``; 0 if there are none, so that such a batch has no effect."""
    return torch.where(present, values, 0).sum() / present.sum().clamp(min=1)


def _accuracy(outputs: Tensor, y: Tensor) -> Tensor:
    return (outputs.argmax(1) == y).double().mean()


def _over_tasks(metric: Callable[[Tensor, Tensor], Tensor], sign: float = 1.0) -> Callable[[Tensor, Tensor], Tensor]:
    """The mean of ``metric`` over the tasks that have a score; minus infinity if outputs are not finite."""

    def merit(outputs: Tensor, labels: Tensor) -> Tensor:
        return torch.where(outputs.isfinite().all(), sign * metric(outputs, labels).nanmean(), -torch.inf)

    return merit


def _require_classes(y: np.ndarray, split: Split) -> None:
    if len(np.unique(y[split.train])) < 2:
        raise DataError("all training labels are of one class: choose another split or seed")


def _require_binary(y: np.ndarray, split: Split) -> None:
    y = _columns(y)
    if strange := np.unique(y[~np.isnan(y) & (y != 0) & (y != 1)]).tolist():
        raise DataError(f"label {strange[0]:g}: labels of binary tasks are 0, 1, or NaN for a missing one")
    for name, part in _named(split):
        rows = y[part]
        if not ((rows == 0).any(0) & (rows == 1).any(0)).any():
            raise DataError(f"no task has both classes in the {name} data: choose another split or seed")


def _require_numbers(y: np.ndarray, split: Split) -> None:
    y = _columns(y)
    if np.isinf(y).any():
        raise DataError("some labels are infinite; leave them out, or write NaN for a missing one")
    for name, part in _named(split):
        if np.isnan(y[part]).all():
            raise DataError(f"all labels of the {name} data are missing: choose another split or seed")


def _columns(y: np.ndarray) -> np.ndarray:
    if y.ndim != 2:
        raise DataError(f"labels of shape {list(y.shape)}: pass one row per graph and one column per task")
    return np.asarray(y, float)


def _named(split: Split) -> tuple[tuple[str, np.ndarray], ...]:
    return ("training", split.train), ("validation", split.valid), ("test", split.test)


CLASSES = Goal(cross_entropy, {"accuracy": _accuracy}, 100.0, torch.int64, _require_classes)
BINARY = Goal(
    masked_cross_entropy,
    {"roc_auc": _over_tasks(roc_auc), "pr_auc": _over_tasks(average_precision)},
    100.0,
    torch.float32,
    _require_binary,
)
NUMBERS = Goal(
    masked_squared_error,
    {"rmse": _over_tasks(rmse, -1.0), "mae": _over_tasks(mae, -1.0)},
    -1.0,
    torch.float32,
    _require_numbers,
    standardise=True,
)
GOALS = {"classes": CLASSES, "binary": BINARY, "numbers": NUMBERS}


def goal_of(labels: np.ndarray) -> str:
    """The kind of the labels ``[M, T]``: "binary" if all present ones are 0 or 1, else "numbers"."""
    return "binary" if np.isin(labels[~np.isnan(labels)], (0, 1)).all() else "numbers"


def names_by_kind(labels: np.ndarray, names: Sequence[str], source: str) -> tuple[list[str], list[str]]:
    """The names of the columns of ``labels`` that hold only 0 and 1, and those of the others.

    Raises DataError if a column holds two other whole numbers, such as -1 and 1, which may be meant as yes and no.
    """
    binary, others = [], []
    for name, column in zip(names, labels.T, strict=True):
        values = np.unique(column[~np.isnan(column)])
        if np.isin(values, (0, 1)).all():
            binary.append(name)
            continue
        if len(values) == 2 and (values == values.round()).all():
            told = f"{source}: column {name!r} holds {values[0]:g} and {values[1]:g}"
            raise DataError(printable(f"{told}: write 0 and 1 for a yes-or-no task, or pass --task numbers"))
        others.append(name)
    return binary, others
