"""The machines of the SVM protocol on a GPU: those of all training sets, classes and penalties at once.

They are solved to LIBSVM's tolerance, by its rule for the next step; where two solutions within it differ, a row at
the border may fall on either side.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from nmrgcl.evaluate.rbf import Scaling, bytes_at_once, padded, rbf_kernels, scaled
from nmrgcl.kernels import has_triton

AT_ONCE = 2**32
"""Bytes of the kernels whose machines are solved at once."""
WORKSPACE = 2**29
"""Bytes of the kernels that are computed at once, in float64."""

Cut = tuple[np.ndarray, np.ndarray]
"""Numbers of the rows that train, and of those that are judged."""


def solves(device: torch.device, rows: int) -> bool:
    """Whether machines of up to ``rows`` rows can be solved there."""
    if device.type != "cuda" or not has_triton():
        return False
    from nmrgcl.kernels.machines import WIDEST

    return rows <= WIDEST


def shares_right(
    z: Tensor, y: np.ndarray, cuts: Sequence[Cut], values: Sequence[float], *, standardise: Scaling
) -> tuple[np.ndarray, np.ndarray]:
    """Shares ``[cuts, C]`` of judged rows of ``z`` ``[B, D]`` that are right, and whether they are of solved machines.

    Args:
        z: embeddings, on the device.
        y: ``[B]`` class codes from 0.
        cuts: of the rows.
        values: of C.
        standardise: bring each column to mean 0 and variance 1 as measured on the training rows; see ``Scaling``.
    """
    kernel_size = 4 * max(len(train) for train, _ in cuts) ** 2
    groups = _slices(len(cuts), bytes_at_once(AT_ONCE, z.device) // kernel_size)
    found = [_of_group(z, y, cuts[some], values, standardise) for some in groups]
    shares, solved = (torch.cat(part).cpu().numpy() for part in zip(*found, strict=True))
    return shares, solved


def _of_group(
    z: Tensor, y: np.ndarray, cuts: Sequence[Cut], values: Sequence[float], standardise: Scaling
) -> tuple[Tensor, Tensor]:
    """``shares_right`` of cuts whose kernels fit."""
    from nmrgcl.kernels.machines import TOLERANCE, solve_machines

    classes = int(y.max()) + 1
    by_class = [train[np.argsort(y[train], kind="stable")] for train, _ in cuts]
    counts = np.array([np.bincount(y[rows], minlength=classes) for rows in by_class])
    bounds = np.concatenate([np.zeros((len(cuts), 1), np.int64), counts.cumsum(1)], 1)
    known, unknown = padded(tuple(by_class), z.device), padded(tuple(test for _, test in cuts), z.device)
    kernel = torch.empty(len(cuts), known[0].shape[1], known[0].shape[1], dtype=torch.float32, device=z.device)
    of_tests = []
    for some in _slices(len(cuts), WORKSPACE // (8 * known[0].shape[1] ** 2)):
        rows, real = known[0][some], known[1][some]
        a, b = z[rows].double(), z[unknown[0][some]].double()
        kernel[some], of_test = rbf_kernels(*scaled(a, b, real, standardise), real)
        of_tests.append(of_test)
    pairs = list(combinations(range(classes), 2))
    penalties = torch.tensor(values, dtype=torch.float64, device=z.device)
    machines = solve_machines(
        kernel, torch.from_numpy(bounds).to(z.device), torch.tensor(pairs, device=z.device), penalties
    )
    # One product a cut: with the penalties as a dimension of its own, the kernels would be copied for each.
    weights = machines.beta.permute(1, 3, 0, 2)
    decision = torch.cat(of_tests) @ weights.flatten(2)
    decision = decision.unflatten(2, weights.shape[2:]).permute(2, 0, 1, 3) - machines.threshold[:, :, None]
    right = (_elected(decision, pairs, classes) == torch.from_numpy(y).to(z.device)[unknown[0]]) & unknown[1]
    solved = (machines.gap <= 1.001 * TOLERANCE).all(2)  # the kernel has it in float32
    return (right.sum(2).double() / unknown[1].sum(1)).T, solved.T


def _slices(count: int, most: int) -> Iterator[slice]:
    """Of 0 … ``count`` − 1, ``most`` at a time, one at least."""
    step = max(1, most)
    yield from (slice(first, first + step) for first in range(0, count, step))


def _elected(decision: Tensor, pairs: Sequence[tuple[int, int]], classes: int) -> Tensor:
    """The class with the most votes, ``[M, P, m]``, of machines that decide between pairs, ``[M, P, m, Q]``."""
    votes = decision.new_zeros(*decision.shape[:3], classes)
    for number, (positive, negative) in enumerate(pairs):
        chosen = decision[..., number] > 0
        votes[..., positive] += chosen
        votes[..., negative] += ~chosen
    # Of equals the first; argmax alone does not say which.
    return (votes * classes - torch.arange(classes, device=votes.device)).argmax(3)
