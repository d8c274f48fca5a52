"""The linear protocol: logistic regression on frozen embeddings of nodes, C chosen on the validation nodes."""

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
    """Accuracy in percent on the test nodes, with the C that was best on the validation nodes, the first of equals."""

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
    """Judge embeddings ``z`` ``[N, D]`` with labels ``y`` ``[N]`` on one split.

    Args:
        z: finite embeddings, one row a node.
        y: class codes; those of nodes in no part of the split are not looked at.
        split: nodes to train, validate and test on.
        scaling: "l2" gives each row length 1, "standardise" each column mean 0 and variance 1 on the training nodes;
            "squash" draws in the long tails of the latter.
        device: where to compute; where ``z`` is, if None.
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
    """The classes of the test nodes, in their order, by the classifier of ``linear_score`` with that C."""
    train, test, labels = (torch.from_numpy(np.asarray(part, np.int64)) for part in (split.train, split.test, y))
    rows = scaled(torch.as_tensor(z).double(), train, scaling)
    weights = fit_logistic(rows[train], labels[train], (c,), classes=int(labels.max()) + 1)
    return predict(rows[test], *weights)[0].numpy()


def scaled(z: Tensor, train: Tensor, scaling: str) -> Tensor:
    """``z`` brought to one scale as ``linear_score`` says."""
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
        raise DataError(f"{list(z.shape)} embeddings and {list(y.shape)} labels: pass one row and one label a node")
    if bad := int((~(z.double().abs() <= LARGEST)).any(1).sum()):
        raise DataError(f"{bad} of {len(z)} embeddings hold {NOT_USABLE}")
    if len(torch.unique(y[train])) < 2:
        raise DataError("all training nodes are of one class: choose another split or seed")
