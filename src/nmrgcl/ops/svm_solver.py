"""Support vector machines with given kernels: one after another on a CPU, many at once on a GPU."""

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import combinations
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nmrgcl.ops import has_triton
from nmrgcl.ops.forms import Form

SMALLEST = 1000
"""Training rows from which on the compiled loop saves more time than it takes to import Numba."""

LARGEST = 8192
"""Rows of a machine that a program of the kernel can hold."""
TOLERANCE = 1e-3
"""LIBSVM's."""

PLAIN = Form("SVM", "plain", "LIBSVM: on a CPU, and for machines that did not converge on a GPU")
COMPILED = Form("SVM", "Numba loop", f"from {SMALLEST} training rows on, on a CPU with the extra fast; equals LIBSVM")
KERNEL = Form("SVM", "Triton kernel", f"up to {LARGEST} training rows, on a GPU")
FORMS = (PLAIN, COMPILED, KERNEL)


def predict_classes(
    kernel: np.ndarray, kernel_test: np.ndarray, y: np.ndarray, penalties: Sequence[float]
) -> np.ndarray:
    """``[penalties, m]`` the predicted classes of the test rows by machines with each penalty C.

    Args:
        kernel: ``[n, n]`` of the training rows.
        kernel_test: ``[m, n]`` between test rows and training rows.
        y: ``[n]`` classes.
        penalties: C.
    """
    if COMPILED.on and len(y) >= SMALLEST and (decisions := _compiled()) is not None:
        return _elect(decisions, kernel, kernel_test, y, penalties)
    from sklearn.svm import SVC

    cache_size = 64 + kernel.size * 4 / 2**20  # In MiB; LIBSVM caches the entries that it has used in single precision.
    machines = (SVC(C=c, kernel="precomputed", cache_size=cache_size) for c in penalties)
    return np.array([machine.fit(kernel, y).predict(kernel_test) for machine in machines])


Decisions = Callable[[np.ndarray, np.ndarray, np.ndarray, int, np.ndarray], np.ndarray]


def _elect(
    decisions: Decisions, kernel: np.ndarray, kernel_test: np.ndarray, y: np.ndarray, penalties: Sequence[float]
) -> np.ndarray:
    """``predict_classes`` by a machine for each pair of classes; ties go to the first class."""
    classes, codes = np.unique(y, return_inverse=True)
    members = [np.flatnonzero(codes == code) for code in range(len(classes))]
    known, unknown = (np.ascontiguousarray(part, np.float64) for part in (kernel, kernel_test))
    votes = np.zeros((len(penalties), len(unknown), len(classes)), np.int64)
    for a, b in combinations(range(len(classes)), 2):
        rows = np.concatenate([members[a], members[b]])
        first = decisions(known, unknown, rows, len(members[a]), np.array(penalties, np.float64)) > 0
        votes[..., a] += first
        votes[..., b] += ~first
    return classes[votes.argmax(2)]


@cache
def _compiled() -> Decisions | None:
    """The compiled loop, or None if Numba is not installed or cannot compile here."""
    if find_spec("numba") is None:
        return None
    try:
        from nmrgcl.ops.numba.svm_solver import compiled

        return compiled()
    except Exception as error:  # whatever is wrong with Numba or its cache, LIBSVM gives the same answer
        note = " ".join(str(error).split())[:200]
        warnings.warn(f"the SVM runs without Numba and is slower: {note}", RuntimeWarning, stacklevel=2)
        return None


class Solution(NamedTuple):
    """Solved duals of M penalties, P kernels and Q pairs of classes.

    Attributes:
        beta: ``[M, P, Q, n]`` y α of each row.
        threshold: ``[M, P, Q]``.
        gap: ``[M, P, Q]`` by how much the worst pair of rows still violates optimality.
        steps: ``[M, P, Q]``.
    """

    beta: Tensor
    threshold: Tensor
    gap: Tensor
    steps: Tensor


def can_solve(device: torch.device, rows: int) -> bool:
    """True if machines of up to ``rows`` rows can be solved on ``device``."""
    return KERNEL.on and device.type == "cuda" and has_triton() and rows <= LARGEST


def solve_svms(kernel: Tensor, bounds: Tensor, pairs: Tensor, penalties: Tensor) -> Solution:
    """A support vector machine for each penalty, kernel and pair of classes.

    Args:
        kernel: ``[P, n, n]`` float32, symmetric.
        bounds: ``[P, K + 1]`` int64: where the rows of each class begin; rows come class by class.
        pairs: ``[Q, 2]`` int64 classes; the first is positive.
        penalties: ``[M]`` float64 C.
    """
    from nmrgcl.ops.triton import svm_solver

    return svm_solver.solve_svms(kernel, bounds, pairs, penalties)
