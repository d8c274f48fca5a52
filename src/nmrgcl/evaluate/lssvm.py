"""The LS-SVM protocol: least-squares support vector machines, a cheaper judge that runs on the device.

Folds, standardisation, kernel and values of C are those of the SVM protocol; the squared error in the place of the
hinge (Suykens & Vandewalle 1999) makes a fit one linear system. With ±1 targets ``Y``, one column a class:

    [ 0   1ᵀ      ] [ b ]   [ 0 ]
    [ 1   K + I/C ] [ α ] = [ Y ]        f(x) = k(x) α + b, the largest column wins

C is chosen by the accuracy on training rows left out one at a time, which follows from the same factorisation: without
row i the fit predicts ``Y_i − α_i / (M⁻¹)_ii`` there, M the matrix above (Cawley 2006). So the held-out fold is not
looked at. Each C is a Cholesky factorisation of its own, which is mostly matrix products, as an eigendecomposition that
would serve them all is not; on a GPU all C are factorised at once.
"""

import numpy as np
import torch
from sklearn.model_selection import StratifiedKFold
from torch import Tensor

from nmrgcl.evaluate.cross_validation import NestedScores, Penalty, penalties, require_foldable
from nmrgcl.evaluate.inverse_root import inverse_root
from nmrgcl.evaluate.rbf import PaddedRows, Scaling, bytes_at_once, padded, rbf_kernels, scaled

TOGETHER = 512
"""Folds of up to so many training rows are one batch; larger ones fill a device alone."""
AT_ONCE = 2**31
"""Bytes of the systems that a GPU solves at once; solving takes about three times as many."""


def lssvm_scores(
    z: np.ndarray,
    y: np.ndarray,
    *,
    seed: int,
    folds: int = 10,
    c: Penalty = "grid",
    standardise: Scaling = True,
    device: torch.device | None = None,
) -> np.ndarray:
    """Accuracy in percent on each held-out fold, ``[folds]``, of embeddings ``z`` ``[B, D]`` with labels ``y`` ``[B]``.

    Args:
        z: finite embeddings, one row a graph.
        y: class codes.
        seed: of the shuffle that makes the folds, which are those of ``svm_scores``.
        folds: how many; every class needs at least as many members.
        c: "grid" chooses from ``GRID`` by leaving out training rows, the smallest of equals, "fine" from thirds of
            its steps; "default" is 1.
        standardise: bring each column to mean 0 and variance 1 as measured on the training rows; see ``Scaling``.
        device: where to compute, in float64; the CPU if None.
    """
    return lssvm_nested(z, y, seed=seed, folds=folds, c=c, standardise=standardise, device=device).outer


def lssvm_nested(
    z: np.ndarray,
    y: np.ndarray,
    *,
    seed: int,
    folds: int = 10,
    c: Penalty = "grid",
    standardise: Scaling = True,
    device: torch.device | None = None,
) -> NestedScores:
    """``lssvm_scores`` beside the accuracy on left-out training rows at the C that was chosen, ``[folds]`` each."""
    left_out, tested = lssvm_table(z, y, seed=seed, folds=folds, c=c, standardise=standardise, device=device)
    return NestedScores(tested[left_out.argmax(0), np.arange(folds)], left_out.max(0))


def lssvm_table(
    z: np.ndarray,
    y: np.ndarray,
    *,
    seed: int,
    folds: int = 10,
    c: Penalty = "grid",
    standardise: Scaling = True,
    device: torch.device | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """For each C, accuracies in percent on left-out training rows and on the held-out folds, ``[len(C), folds]``."""
    values = penalties(c)
    require_foldable(z, y, folds, inner=len(values) > 1)
    cuts = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(y, y))
    rows = torch.from_numpy(np.array(z, np.float64)).to(device)
    classes, numbered = np.unique(y, return_inverse=True)
    codes, columns = (torch.from_numpy(part).to(device) for part in (numbered, np.arange(len(classes))))
    together = folds if len(cuts[0][0]) <= TOGETHER else 1
    found = []
    for first in range(0, folds, together):
        train, test = (padded(part, rows.device) for part in zip(*cuts[first : first + together], strict=True))
        found.append(_accuracies(rows, codes, columns, train, test, values, standardise))
    left_out, tested = torch.cat(found, 2).mul(100).cpu().numpy()
    return left_out, tested


def _accuracies(
    z: Tensor,
    codes: Tensor,
    columns: Tensor,
    train: PaddedRows,
    test: PaddedRows,
    values: tuple[float, ...],
    standardise: Scaling,
) -> Tensor:
    """Shares ``[2, len(values), F]`` of left-out training rows and of held-out rows that are right."""
    (known_rows, real), (unknown_rows, judged) = train, test
    known, unknown = z[known_rows], z[unknown_rows]
    known, unknown = scaled(known, unknown, real, standardise)
    kernel, kernel_test = rbf_kernels(known, unknown, real)
    targets = torch.where(codes[known_rows][..., None] == columns, 1.0, -1.0).double() * real[..., None]
    most = max(1, bytes_at_once(AT_ONCE, kernel.device) // (8 * kernel.numel())) if kernel.is_cuda else 1
    shares = []
    for some in torch.tensor(values, dtype=kernel.dtype, device=kernel.device).split(most):
        alpha, bias, left_out = _fit(kernel, targets, real, some)
        known_right = _share_right(left_out, codes[known_rows], real)
        shares.append(torch.stack([known_right, _share_right(kernel_test @ alpha + bias, codes[unknown_rows], judged)]))
    return torch.cat(shares, 1)


def _share_right(found: Tensor, codes: Tensor, meant: Tensor) -> Tensor:
    """``[P, F]``."""
    right = (found.argmax(3) == codes) & meant
    return right.sum(2).double() / meant.sum(1)


def _fit(kernel: Tensor, targets: Tensor, real: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """For each C of ``[P]``: α ``[P, F, n, K]``, b ``[P, F, 1, K]``, and what each row is without itself, like α."""
    systems = kernel.repeat(len(c), 1, 1)
    systems.diagonal(dim1=1, dim2=2).add_((1 / c).repeat_interleave(len(kernel))[:, None])
    root = inverse_root(systems).view(len(c), *kernel.shape)  # the inverse is rootᵀ root
    ones = real.double()[..., None]
    solved = root.mT @ (root @ torch.cat([ones, targets], 2))
    of_ones, of_targets = solved[..., :1], solved[..., 1:]
    total = of_ones.sum(2, keepdim=True)
    bias = of_targets.sum(2, keepdim=True) / total
    alpha = of_targets - of_ones * bias
    diagonal = root.square().sum(2)[..., None] - of_ones.square() / total
    return alpha, bias, targets - alpha / diagonal
