"""Logistic regression with an l2 penalty for several values of C at once, with scikit-learn's objective and optimum.

The objective is ``C Σ cross-entropy + ½‖W‖²`` over K ≥ 3 classes, with an unpenalised intercept. For two classes,
scikit-learn fits a single vector w, which corresponds to the columns −w/2 and w/2 of W. Then ‖W‖² is half of ‖w‖², so
the same objective has C/2 in place of C.

Newton's method takes tens of steps, each of which computes its direction by conjugate gradients. Rows are centred and
rotated to their principal axes, which does not change the optimum but makes the Hessian nearly diagonal.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

STEPS = 200
"""Maximum number of Newton steps: separable classes with hardly any penalty take about 40."""
INNER = 1000
"""Maximum number of conjugate gradient steps per direction."""
RESIDUAL = 0.1
"""Relative residual at which a direction is accepted: a lower one costs more inner steps than it saves outer ones."""
HALVINGS = 40
LOOK = 16
"""On a GPU, the host checks for convergence only every so many inner steps."""


def fit_logistic(
    z: Tensor, y: Tensor, penalties: Sequence[float], *, classes: int | None = None, tolerance: float = 1e-7
) -> tuple[Tensor, Tensor]:
    """Weights ``[P, D, K]`` and intercepts ``[P, K]`` for each C of ``penalties``, in float64.

    Args:
        z: ``[N, D]`` rows to learn from.
        y: ``[N]`` class codes. A class without rows is ignored in the fit and never predicted.
        penalties: the values of C.
        classes: K, at least the largest code plus one.
        tolerance: stop when the expected decrease of the objective, relative to its value, is below this.
    """
    z, (present, own) = z.double(), torch.unique(y, return_inverse=True)
    mean = z.mean(0)
    axes = _principal_axes(z - mean)
    x = torch.cat([(z - mean) @ axes, z.new_ones(len(z), 1)], 1)  # The last column is for the intercept.
    c = torch.tensor(list(penalties), dtype=torch.float64, device=z.device) / (2 if len(present) == 2 else 1)
    found = minimise(x, own, c, tolerance, look=LOOK if z.is_cuda else 1)
    count = classes or int(present[-1]) + 1
    weights = z.new_zeros(len(c), z.shape[1], count)
    intercept = z.new_full((len(c), count), -torch.inf)
    weights[:, :, present] = torch.einsum("dr,rkp->pdk", axes, found[:-1])
    shift = torch.einsum("d,pdk->pk", mean, weights[:, :, present])
    # Softmax ignores a common shift of the intercepts, which are not penalised; their mean is set to zero.
    intercept[:, present] = (found[-1] - found[-1].mean(0)).T - shift
    return weights, intercept


def _principal_axes(z: Tensor) -> Tensor:
    """Orthonormal columns ``[D, R]``, R ≤ D, that span the rows of ``z`` ``[N, D]``; W is zero outside of them."""
    if len(z) > z.shape[1]:
        return torch.linalg.eigh(z.T @ z).eigenvectors
    _, spread, axes = torch.linalg.svd(z, full_matrices=False)
    return axes[spread > spread.amax() * 1e-12].T


def predict(z: Tensor, weights: Tensor, intercept: Tensor) -> Tensor:
    """``[P, N]`` the predicted class of each row by each of P models."""
    return (torch.einsum("nd,pdk->pnk", z.double(), weights) + intercept[:, None]).argmax(2)


def minimise(x: Tensor, y: Tensor, c: Tensor, tolerance: float, *, look: int = 1) -> Tensor:
    """Minimise P problems with penalties ``c`` on rows ``x`` ``[N, M]`` of classes ``y``; returns ``[M, K, P]``.

    A step takes the same few matrix products for all problems together; converged problems drop out. The inner solver
    synchronises with the host only every ``look`` steps, so that a GPU need not wait in between.
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

    The problems are the last axis of all tensors, so that sums over classes are vectorised and problems share products.
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
        """Solve Hessian · v = ``right`` by preconditioned conjugate gradients up to ``RESIDUAL``."""
        mean = (share * (1 - share)).mean((0, 1))
        # The preconditioner is the Hessian's diagonal along the principal axes if all rows had equal weight.
        scale = self.c * mean * self.x.square().sum(0)[:, None]
        scale = (scale + _penalised(torch.ones_like(scale))).clamp(min=1e-12)[:, None]
        found, rest, step = torch.zeros_like(right), right, right / scale
        square = (rest * step).sum((0, 1))
        goal = RESIDUAL**2 * square
        for number in range(INNER):
            moving = square > goal
            if number % look == 0 and not bool(moving.any()):
                break
            turned = self.curvature(share, step)
            # For a problem that has converged this may be 0 / 0, but its length is 0.
            length = torch.where(moving, square / (step * turned).sum((0, 1)).clamp(min=1e-300), 0.0)
            found, rest = found + length * step, rest - length * turned
            last, square = square, torch.where(moving, (rest.square() / scale).sum((0, 1)), square)
            step = rest / scale + square / last.clamp(min=1e-300) * step
        return found

    def _back(self, of_logits: Tensor) -> Tensor:
        return (self.x.T @ of_logits.flatten(1)).view(self.x.shape[1], *of_logits.shape[1:])


def _penalised(w: Tensor) -> Tensor:
    """``w`` with zeros in its last row, which holds the intercepts."""
    return torch.cat([w[:-1], torch.zeros_like(w[-1:])])


def _search(
    problem: _Problem, logits: Tensor, turn: Tensor, w: Tensor, direction: Tensor, value: Tensor, slope: Tensor
) -> tuple[Tensor, Tensor]:
    """Step length along ``direction``, which changes the logits by ``turn``: 1, halved until the value decreases."""
    length = torch.ones_like(value)
    for _ in range(HALVINGS):
        after = problem.value(logits + length * turn, w + length * direction)
        # The slack covers rounding errors, which exceed the actual decrease near the optimum.
        fallen = after <= value + 1e-4 * length * slope + 1e-13 * value
        if bool(fallen.all()):
            break
        length = torch.where(fallen, length, length / 2)
    return length, after
