"""The linear protocol: logistic regression on frozen node embeddings, with C chosen on the validation nodes."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from nmrgcl.data.splits import Split
from nmrgcl.errors import DataError
from nmrgcl.evaluate.cross_validation import LARGEST, NOT_USABLE
from nmrgcl.evaluate.logistic import fit_logistic, predict
from nmrgcl.evaluate.normalise import Normalise, require_word

GRID = tuple(10.0**power for power in range(-5, 5))


@dataclass(frozen=True)
class LinearScore:
    """Accuracies in percent with the C that was best on the validation nodes; ties go to the smaller C."""

    test: float
    valid: float
    c: float


def linear_score(
    z: np.ndarray | Tensor,
    y: np.ndarray,
    split: Split,
    *,
    scaling: Normalise = "l2",
    device: torch.device | None = None,
) -> LinearScore:
    """Score embeddings ``z`` ``[N, D]`` with labels ``y`` ``[N]`` on one split.

    Args:
        z: finite embeddings, one row per node.
        y: class codes; labels outside of the split are not used.
        split: the training, validation and test nodes.
        scaling: "l2" scales each row to length 1, "standardise" each column to mean 0 and variance 1 on the training
            nodes, and "squash" also applies asinh to the latter to shorten long tails.
        device: the device to compute on; None: that of ``z``.

    Example:
        >>> import numpy as np
        >>> from nmrgcl import linear_score, split_nodes
        >>> y = np.tile([0, 1], 50)
        >>> z = np.eye(2)[y]  # each class has a direction of its own
        >>> linear_score(z, y, split_nodes("random-10-10-80", y, seed=0)).test
        100.0
    """
    rows = torch.as_tensor(z).to(device) if device is not None else torch.as_tensor(z)
    train, valid, test = (torch.from_numpy(part).to(rows.device) for part in (split.train, split.valid, split.test))
    labels = torch.from_numpy(np.asarray(y, np.int64)).to(rows.device)
    _check(rows, labels, train)
    rows = scaled(rows.double(), train, scaling)
    weights = fit_logistic(rows[train], labels[train], GRID, classes=int(labels.max()) + 1)
    right = [
        (predict(rows[part], *weights) == labels[part]).double().mean(1).mul(100).tolist() for part in (valid, test)
    ]
    best = int(np.argmax(right[0]))
    return LinearScore(right[1][best], right[0][best], GRID[best])


def linear_predictions(z: np.ndarray, y: np.ndarray, split: Split, *, c: float, scaling: Normalise) -> np.ndarray:
    """The predicted classes of the test nodes, by the classifier of ``linear_score`` with this C."""
    train, test, labels = (torch.from_numpy(np.asarray(part, np.int64)) for part in (split.train, split.test, y))
    rows = scaled(torch.as_tensor(z).double(), train, scaling)
    weights = fit_logistic(rows[train], labels[train], (c,), classes=int(labels.max()) + 1)
    return predict(rows[test], *weights)[0].numpy()


def scaled(z: Tensor, train: Tensor, scaling: str) -> Tensor:
    """``z`` scaled as described in ``linear_score``."""
    require_word(scaling, "linear.normalise")
    if scaling == "none":
        return z
    if scaling == "l2":
        return normalize(z, eps=1e-12)
    known = z[train]
    spread = known.std(0, correction=0)
    found = (z - known.mean(0)) / torch.where(spread > 0, spread, 1.0)
    return found.asinh() if scaling == "squash" else found


def _check(z: Tensor, y: Tensor, train: Tensor) -> None:
    if z.dim() != 2 or y.shape != z.shape[:1]:
        raise DataError(f"{list(z.shape)} embeddings and {list(y.shape)} labels: pass one row and one label per node")
    if bad := int((~(z.double().abs() <= LARGEST)).any(1).sum()):
        raise DataError(f"{bad} of {len(z)} embeddings contain {NOT_USABLE}")
    if len(torch.unique(y[train])) < 2:
        raise DataError("all training nodes are of one class: choose another split or seed")
