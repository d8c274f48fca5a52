"""The SVM protocol on a GPU: the machines of all training sets, pairs of classes and penalties at once.

They are solved to LIBSVM's tolerance by LIBSVM's rule for the next step. Two solutions within the tolerance may differ,
so that a row at the border may fall on either side.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from nmrgcl.evaluate.rbf import PaddedRows, Scaling, bytes_at_once, padded, rbf_kernels, scaled
from nmrgcl.ops.svm_solver import TOLERANCE, solve_svms

AT_ONCE = 2**32
"""Bytes of the kernel matrices whose machines are solved at once."""
WORKSPACE = 2**29
"""Bytes of the kernel matrices that are computed at once, in float64."""

Cut = tuple[np.ndarray, np.ndarray]
"""The numbers of the training rows, and of the test rows."""

KernelsOf = Callable[[PaddedRows, Tensor], tuple[Tensor, Tensor]]
"""Kernel matrices of F cuts: of the training rows ``[F, n, n]``, and of test with training rows ``[F, m, n]``.

The arguments are the training rows and the numbers ``[F, m]`` of the test rows. What is returned for a padded row is
never used.
"""


def from_embeddings(z: Tensor, *, standardise: Scaling) -> KernelsOf:
    """RBF kernels of rows of ``z`` ``[B, D]``, scaled as measured on the training rows; see ``Scaling``."""

    def kernels_of(known: PaddedRows, unknown: Tensor) -> tuple[Tensor, Tensor]:
        rows, real = known
        return rbf_kernels(*scaled(z[rows].double(), z[unknown].double(), real, standardise), real)

    return kernels_of


def from_kernels(kernels: Tensor) -> KernelsOf:
    """Parts of precomputed ``kernels`` ``[K, B, B]``; row k B + i of a cut means row i of kernel k."""
    rows_of_all, count = kernels.flatten(0, 1), kernels.shape[2]

    def kernels_of(known: PaddedRows, unknown: Tensor) -> tuple[Tensor, Tensor]:
        rows, columns = known[0], known[0][:, None] % count
        return rows_of_all[rows[:, :, None], columns], rows_of_all[unknown[:, :, None], columns].double()

    return kernels_of


def shares_on_device(
    kernels_of: KernelsOf,
    y: np.ndarray,
    cuts: Sequence[Cut],
    values: Sequence[float],
    device: torch.device,
    on_host: Callable[[np.ndarray, np.ndarray, float], float],
) -> np.ndarray:
    """``[cuts, C]`` the share of test rows that are classified rightly; the arguments are those of ``shares_right``.

    ``on_host`` solves the machines of a cut and a C again if they did not converge on the device.
    """
    shares, solved = shares_right(kernels_of, np.unique(y, return_inverse=True)[1], cuts, values, device)
    for cut, number in np.argwhere(~solved):
        train, test = cuts[cut]
        shares[cut, number] = on_host(train, test, values[number])
    return shares


def shares_right(
    kernels_of: KernelsOf, y: np.ndarray, cuts: Sequence[Cut], values: Sequence[float], device: torch.device
) -> tuple[np.ndarray, np.ndarray]:
    """``[cuts, C]`` the share of test rows that are classified rightly, and whether all machines converged.

    Args:
        kernels_of: computes the kernel matrices of cuts on the device.
        y: class codes of all rows, from 0.
        cuts: training and test rows.
        values: the penalties C.
        device: where the machines are solved.
    """
    kernel_size = 4 * max(len(train) for train, _ in cuts) ** 2
    groups = _slices(len(cuts), bytes_at_once(AT_ONCE, device) // kernel_size)
    found = [_of_group(kernels_of, y, cuts[some], values, device) for some in groups]
    shares, solved = (torch.cat(part).cpu().numpy() for part in zip(*found, strict=True))
    return shares, solved


def _of_group(
    kernels_of: KernelsOf, y: np.ndarray, cuts: Sequence[Cut], values: Sequence[float], device: torch.device
) -> tuple[Tensor, Tensor]:
    """``shares_right`` of cuts whose kernel matrices fit in memory at once."""
    classes = int(y.max()) + 1
    # The solver expects the rows of a class next to each other.
    by_class = [train[np.argsort(y[train], kind="stable")] for train, _ in cuts]
    counts = np.array([np.bincount(y[rows], minlength=classes) for rows in by_class])
    bounds = np.concatenate([np.zeros((len(cuts), 1), np.int64), counts.cumsum(1)], 1)
    known, unknown = padded(tuple(by_class), device), padded(tuple(test for _, test in cuts), device)
    # LIBSVM holds its kernel in single precision, too.
    kernel = torch.empty(len(cuts), known[0].shape[1], known[0].shape[1], dtype=torch.float32, device=device)
    of_tests = []
    for some in _slices(len(cuts), WORKSPACE // (8 * known[0].shape[1] ** 2)):
        kernel[some], of_test = kernels_of((known[0][some], known[1][some]), unknown[0][some])
        of_tests.append(of_test)
    pairs = list(combinations(range(classes), 2))
    penalties = torch.tensor(values, dtype=torch.float64, device=device)
    found = solve_svms(kernel, torch.from_numpy(bounds).to(device), torch.tensor(pairs, device=device), penalties)
    # One product per cut: with the penalties as a dimension of their own, kernels would be copied for each of them.
    weights = found.beta.permute(1, 3, 0, 2)
    decision = torch.cat(of_tests) @ weights.flatten(2)
    decision = decision.unflatten(2, weights.shape[2:]).permute(2, 0, 1, 3) - found.threshold[:, :, None]
    right = (_elected(decision, pairs, classes) == torch.from_numpy(y).to(device)[unknown[0]]) & unknown[1]
    solved = (found.gap <= 1.001 * TOLERANCE).all(2)  # the GPU compares in float32
    return (right.sum(2).double() / unknown[1].sum(1)).T, solved.T


def _slices(count: int, most: int) -> Iterator[slice]:
    """0 … ``count`` − 1, ``most`` at a time, but at least one."""
    step = max(1, most)
    yield from (slice(first, first + step) for first in range(0, count, step))


def _elected(decision: Tensor, pairs: Sequence[tuple[int, int]], classes: int) -> Tensor:
    """``[M, P, m]`` the class with the most votes of machines that decide between pairs, ``[M, P, m, Q]``."""
    votes = decision.new_zeros(*decision.shape[:3], classes)
    for number, (positive, negative) in enumerate(pairs):
        chosen = decision[..., number] > 0
        votes[..., positive] += chosen
        votes[..., negative] += ~chosen
    # Ties go to the first class; argmax alone does not say to which.
    return (votes * classes - torch.arange(classes, device=votes.device)).argmax(3)
