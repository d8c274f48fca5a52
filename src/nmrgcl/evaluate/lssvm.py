"""The LS-SVM protocol: least-squares support vector machines, a cheaper alternative that runs on the device.

Folds, standardisation, kernel and values of C are those of the SVM protocol; with the squared error in place of the
hinge loss (Suykens & Vandewalle 1999), a fit is one linear system. With ±1 targets ``Y``, one column per class:

    [ 0   1ᵀ      ] [ b ]   [ 0 ]
    [ 1   K + I/C ] [ α ] = [ Y ]        f(x) = k(x) α + b, the largest column wins

C is chosen by the leave-one-out accuracy on the training rows, without using the test fold. It follows from the same
factorisation: a fit without row i predicts ``Y_i − α_i / (M⁻¹)_ii`` there, where M is the matrix above (Cawley 2006).
Each C needs its own Cholesky factorisation. An eigendecomposition would serve all of them, but is slower, because it
is not mostly matrix multiplication; on a GPU, all C are factorised at once.
"""

import numpy as np
import torch
from torch import Tensor

from nmrgcl.evaluate.cross_validation import NestedScores, Penalty, penalties, require_foldable
from nmrgcl.evaluate.inverse_root import inverse_root
from nmrgcl.evaluate.rbf import PaddedRows, Scaling, bytes_at_once, padded, rbf_kernels, scaled
from nmrgcl.evaluate.svm import outer_cuts

TOGETHER = 512
"""Folds with up to this many training rows are computed as one batch; larger ones fill a device alone."""
AT_ONCE = 2**31
"""Size in bytes of the systems that a GPU solves at once; solving takes about three times as much memory."""


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
    """Accuracy in percent on each test fold, ``[folds]``, of embeddings ``z`` ``[B, D]`` with labels ``y`` ``[B]``.

    Args:
        z: finite embeddings, one row per graph.
        y: class codes.
        seed: the seed of the folds, which are those of ``svm_scores``.
        folds: the number of folds; every class needs at least as many members.
        c: "grid" chooses from ``GRID`` by leave-one-out accuracy, with ties going to the smallest; "fine" chooses from
            a grid with a third of its step size; "default" is 1.
        standardise: scale each column to mean 0 and variance 1 on the training rows; see ``Scaling``.
        device: the device to compute on, in float64; None: the CPU.

    Example:
        >>> import numpy as np
        >>> from nmrgcl import lssvm_scores
        >>> y = np.repeat([0, 1], 30)
        >>> z = np.random.default_rng(0).normal(size=(60, 4)) + 10 * y[:, None]  # two classes far apart
        >>> lssvm_scores(z, y, seed=0, folds=3)
        array([100., 100., 100.])
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
    """``lssvm_scores`` together with the leave-one-out accuracy at the chosen C, ``[folds]`` each."""
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
    """For each C, leave-one-out and test accuracies in percent, ``[len(C), folds]`` each."""
    values = penalties(c)
    require_foldable(z, y, folds, inner=len(values) > 1)
    cuts = outer_cuts(y, seed, folds)
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
    """Leave-one-out and test accuracies as fractions, ``[2, len(values), F]``."""
    (known_rows, real), (unknown_rows, judged) = train, test
    known, unknown = z[known_rows], z[unknown_rows]
    known, unknown = scaled(known, unknown, real, standardise)
    kernel, kernel_test = rbf_kernels(known, unknown, real)
    # Targets of padded rows are 0 and their kernel rows are those of the identity, so that their α is 0.
    targets = torch.where(codes[known_rows][..., None] == columns, 1.0, -1.0).double() * real[..., None]
    most = max(1, bytes_at_once(AT_ONCE, kernel.device) // (8 * kernel.numel())) if kernel.is_cuda else 1
    shares = []
    for some in torch.tensor(values, dtype=kernel.dtype, device=kernel.device).split(most):
        alpha, bias, left_out = _fit(kernel, targets, real, some)
        known_right = _share_right(left_out, codes[known_rows], real)
        shares.append(torch.stack([known_right, _share_right(kernel_test @ alpha + bias, codes[unknown_rows], judged)]))
    return torch.cat(shares, 1)


def _share_right(found: Tensor, codes: Tensor, meant: Tensor) -> Tensor:
    """``[P, F]`` accuracies as fractions."""
    right = (found.argmax(3) == codes) & meant
    return right.sum(2).double() / meant.sum(1)


def _fit(kernel: Tensor, targets: Tensor, real: Tensor, c: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """For each C of ``[P]``: α ``[P, F, n, K]``, b ``[P, F, 1, K]``, and leave-one-out outputs, shaped like α."""
    systems = kernel.repeat(len(c), 1, 1)
    systems.diagonal(dim1=1, dim2=2).add_((1 / c).repeat_interleave(len(kernel))[:, None])
    root = inverse_root(systems).view(len(c), *kernel.shape)  # The inverse is rootᵀ root.
    ones = real.double()[..., None]
    solved = root.mT @ (root @ torch.cat([ones, targets], 2))
    of_ones, of_targets = solved[..., :1], solved[..., 1:]
    # With A = K + I/C, the lower rows give α = A⁻¹ Y − A⁻¹ 1 b, and 1ᵀ α = 0 then gives b = 1ᵀ A⁻¹ Y / 1ᵀ A⁻¹ 1.
    total = of_ones.sum(2, keepdim=True)
    bias = of_targets.sum(2, keepdim=True) / total
    alpha = of_targets - of_ones * bias
    # (M⁻¹)_ii of the bordered matrix is (A⁻¹)_ii − (A⁻¹ 1)_i² / 1ᵀ A⁻¹ 1.
    diagonal = root.square().sum(2)[..., None] - of_ones.square() / total
    return alpha, bias, targets - alpha / diagonal
