"""Many support vector machines at once on a GPU; on a CPU, LIBSVM solves one after another (``evaluate/svm.py``)."""

from typing import NamedTuple

import torch
from torch import Tensor

from nmrgcl.ops import has_triton
from nmrgcl.ops.forms import Form

LARGEST = 8192
"""Rows of a machine that a program of the kernel can hold."""
TOLERANCE = 1e-3
"""LIBSVM's."""

PLAIN = Form("SVM", "plain", "LIBSVM: on a CPU, and for machines that did not converge on a GPU")
KERNEL = Form("SVM", "Triton kernel", f"up to {LARGEST} training rows, on a GPU")
FORMS = (PLAIN, KERNEL)


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
