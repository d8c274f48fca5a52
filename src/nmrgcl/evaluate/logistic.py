"""Logistic regression with an l2 penalty, for all penalties at once, with scikit-learn's objective and optimum.

The objective is ``C Σ cross-entropy + ½‖W‖²`` over K ≥ 3 classes, with an intercept that is not penalised. For two
classes scikit-learn fits one vector w, which stands for the columns −w/2 and w/2 of W: there ‖W‖² is half of ‖w‖², so
that the same objective has C/2 in place of C.

Newton's method takes tens of steps, each of which solves for its direction by conjugate gradients. Rows are centred and
turned to their principal axes, which does not change the optimum: there the curvature is close to diagonal.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

STEPS = 200
"""Newton steps at most: separable classes with next to no penalty take about 40."""
INNER = 1000
"""Steps of conjugate gradients at most for one direction."""
RESIDUAL = 0.1
"""How much of the gradient a direction may leave unsolved: less costs more inner steps than it saves outer ones."""
HALVINGS = 40
LOOK = 16
"""Inner steps after which the host looks whether a GPU is done."""


def fit_logistic(
    z: Tensor, y: Tensor, penalties: Sequence[float], *, classes: int | None = None, tolerance: float = 1e-7
) -> tuple[Tensor, Tensor]:
    """Weights ``[P, D, K]`` and intercepts ``[P, K]`` for each C of ``penalties``, in float64.

    Args:
        z: ``[N, D]`` rows to learn from.
        y: ``[N]`` class codes. A class without rows has no part in the fit, and is never predicted.
        penalties: the values of C.
        classes: K, at least the largest code plus one.
        tolerance: expected fall of the objective, relative to its value, at which a step is the last.
    """
    z, (present, own) = z.double(), torch.unique(y, return_inverse=True)
    mean = z.mean(0)
    axes = _principal_axes(z - mean)
    x = torch.cat([(z - mean) @ axes, z.new_ones(len(z), 1)], 1)  # the last column is the intercept's
    c = torch.tensor(list(penalties), dtype=torch.float64, device=z.device) / (2 if len(present) == 2 else 1)
    found = minimise(x, own, c, tolerance, look=LOOK if z.is_cuda else 1)
    count = classes or int(present[-1]) + 1
    weights = z.new_zeros(len(c), z.shape[1], count)
    intercept = z.new_full((len(c), count), -torch.inf)
    weights[:, :, present] = torch.einsum("dr,rkp->pdk", axes, found[:-1])
    shift = torch.einsum("d,pdk->pk", mean, weights[:, :, present])
    intercept[:, present] = (found[-1] - found[-1].mean(0)).T - shift
    return weights, intercept


def _principal_axes(z: Tensor) -> Tensor:
    """``[D, R]`` orthonormal columns that span the rows of ``z`` ``[N, D]``, R ≤ D; outside of them W is zero."""
    if len(z) > z.shape[1]:
        return torch.linalg.eigh(z.T @ z).eigenvectors
    _, spread, axes = torch.linalg.svd(z, full_matrices=False)
    return axes[spread > spread.amax() * 1e-12].T


def predict(z: Tensor, weights: Tensor, intercept: Tensor) -> Tensor:
    """``[P, N]`` the class of each row by each of P models."""
    return (torch.einsum("nd,pdk->pnk", z.double(), weights) + intercept[:, None]).argmax(2)


def minimise(x: Tensor, y: Tensor, c: Tensor, tolerance: float, *, look: int = 1) -> Tensor:
    """``[M, K, P]``: the parameters of P problems with penalties ``c`` on rows ``x`` ``[N, M]`` of classes ``y``.

    A step costs the same few products for all problems together; a problem that is done drops out. In the directions
    the host takes part only every ``look`` inner steps, between which a GPU need not wait for it.
    """
    problem = _Problem(x, y, c)
    w = x.new_zeros(x.shape[1], int(y.max()) + 1, len(c))
    found, todo, logits = w, torch.arange(len(c), device=x.device), problem.logits(w)
    value = problem.value(logits, w)
    for _ in range(STEPS):
        share = logits.softmax(1)
        grad = problem.gradient(share, w)
        direction = problem.solve(share, -grad, look)
        slope, turn = (grad * direction).sum((0, 1)), problem.logits(direction)
        length, value = _search(problem, logits, turn, w, direction, value, slope)
        w, logits = w + length * direction, logits + length * turn
        moving = -slope > tolerance * value
        if not bool(moving.all()):
            found = found.index_copy(2, todo, w)
            todo, value, problem = todo[moving], value[moving], replace(problem, c=problem.c[moving])
            w, logits = w[:, :, moving], logits[:, :, moving]
            if not len(todo):
                return found
    return found.index_copy(2, todo, w)


@dataclass(frozen=True)
class _Problem:
    """Rows ``x`` ``[N, M]``, classes ``y`` ``[N]`` and penalties ``c`` ``[Q]``; the last entry of a row is 1.

    Problems come last in all tensors: sums over classes then run over whole vectors, and all problems share a product.
    """

    x: Tensor
    y: Tensor
    c: Tensor

    def logits(self, w: Tensor) -> Tensor:
        return (self.x @ w.flatten(1)).view(len(self.x), *w.shape[1:])

    def value(self, logits: Tensor, w: Tensor) -> Tensor:
        own = logits[torch.arange(len(self.y), device=logits.device), self.y]
        return self.c * (logits.logsumexp(1) - own).sum(0) + _penalised(w).square().sum((0, 1)) / 2

    def gradient(self, share: Tensor, w: Tensor) -> Tensor:
        wrong = share.clone()
        wrong[torch.arange(len(self.y), device=share.device), self.y] -= 1
        return self.c * self._back(wrong) + _penalised(w)

    def curvature(self, share: Tensor, v: Tensor) -> Tensor:
        """The Hessian times ``v``."""
        turn = self.logits(v)
        return self.c * self._back(share * (turn - (share * turn).sum(1, keepdim=True))) + _penalised(v)

    def solve(self, share: Tensor, right: Tensor, look: int) -> Tensor:
        """What the Hessian turns into ``right``, by conjugate gradients, up to ``RESIDUAL``."""
        mean = (share * (1 - share)).mean((0, 1))
        scale = self.c * mean * self.x.square().sum(0)[:, None]  # along principal axes, if all rows counted alike
        scale = (scale + _penalised(torch.ones_like(scale))).clamp(min=1e-12)[:, None]
        found, rest, step = torch.zeros_like(right), right, right / scale
        square = (rest * step).sum((0, 1))
        goal = RESIDUAL**2 * square
        for number in range(INNER):
            moving = square > goal
            if number % look == 0 and not bool(moving.any()):
                break
            turned = self.curvature(share, step)
            length = torch.where(moving, square / (step * turned).sum((0, 1)).clamp(min=1e-300), 0.0)
            found, rest = found + length * step, rest - length * turned
            last, square = square, torch.where(moving, (rest.square() / scale).sum((0, 1)), square)
            step = rest / scale + square / last.clamp(min=1e-300) * step
        return found

    def _back(self, of_logits: Tensor) -> Tensor:
        return (self.x.T @ of_logits.flatten(1)).view(self.x.shape[1], *of_logits.shape[1:])


def _penalised(w: Tensor) -> Tensor:
    """``w`` without the intercepts, its last row."""
    return torch.cat([w[:-1], torch.zeros_like(w[-1:])])


def _search(
    problem: _Problem, logits: Tensor, turn: Tensor, w: Tensor, direction: Tensor, value: Tensor, slope: Tensor
) -> tuple[Tensor, Tensor]:
    """How far to go along ``direction``, which changes the logits by ``turn``: 1, or half as far until values fall."""
    length = torch.ones_like(value)
    for _ in range(HALVINGS):
        after = problem.value(logits + length * turn, w + length * direction)
        # The slack is what rounding can hide: near the optimum values no longer tell steps apart.
        fallen = after <= value + 1e-4 * length * slope + 1e-13 * value
        if bool(fallen.all()):
            break
        length = torch.where(fallen, length, length / 2)
    return length, after
