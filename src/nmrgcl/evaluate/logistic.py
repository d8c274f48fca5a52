"""Multinomial logistic regression with an l2 penalty, for all penalties at once.

The objective is scikit-learn's, ``C Σ cross-entropy + ½‖W‖²`` with an intercept that is not penalised, and so is the
optimum. Rows are centred and turned to their principal axes, which changes neither; there the curvature is close to
diagonal and known beforehand (Böhning 1992), and L-BFGS takes tens of steps where it would take hundreds.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

HISTORY = 10
"""Steps that L-BFGS remembers."""
STEPS = 1000
"""After so many it ends, wherever it is: only separable classes with next to no penalty take as long."""

Objective = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""``[Q, M]`` parameters of the problems with these Q numbers to their values ``[Q]`` and gradients ``[Q, M]``."""


def fit_logistic(
    z: Tensor, y: Tensor, penalties: Sequence[float], *, classes: int | None = None, tolerance: float = 1e-6
) -> tuple[Tensor, Tensor]:
    """Weights ``[P, D, K]`` and intercepts ``[P, K]`` for each C of ``penalties``, in float64.

    Args:
        z: ``[N, D]`` rows to learn from.
        y: ``[N]`` class codes.
        penalties: the values of C.
        classes: K, at least the largest code plus one.
        tolerance: largest entry of the gradient that counts as zero, beside that at the start.
    """
    z = z.double()
    count, device = (classes or int(y.max()) + 1), z.device
    mean = z.mean(0)
    axes = _principal_axes(z - mean)
    turned = (z - mean) @ axes
    spread = turned.norm(dim=0)
    c = torch.tensor(list(penalties), dtype=torch.float64, device=device)
    # Half of the squared spread bounds the curvature along an axis; the intercept's axis is a column of ones.
    curvature = torch.cat([1 + c[:, None] * spread.square() / 2, c[:, None] * len(z) / 2], 1).clamp(min=1e-12)
    scale = curvature.rsqrt()[:, :, None].expand(-1, -1, count)
    rows = torch.arange(len(z), device=device)

    def objective(theta: Tensor, problems: Tensor) -> tuple[Tensor, Tensor]:
        unit, cost = scale[problems], c[problems]
        w = (theta.view(unit.shape) * unit).permute(1, 2, 0)
        weights, intercept = w[:-1], w[-1]
        # Problems come last: sums over classes then run over whole vectors, and all problems share one product.
        logits = (turned @ weights.flatten(1)).view(len(z), *intercept.shape).add_(intercept)
        own = logits[rows, y].sum(0)
        top = logits.amax(1, keepdim=True)
        share = logits.sub_(top).exp_()
        total = share.sum(1, keepdim=True)
        loss = (total.log() + top).sum((0, 1)) - own
        wrong = share.div_(total)
        wrong[rows, y] -= 1
        of_weights = cost * (turned.T @ wrong.flatten(1)).view(weights.shape) + weights
        grad = torch.cat([of_weights, (cost * wrong.sum(0))[None]]).permute(2, 0, 1) * unit
        return cost * loss + weights.square().sum((0, 1)) / 2, grad.flatten(1)

    start = torch.zeros(len(c), scale[0].numel(), dtype=torch.float64, device=device)
    found = minimise(objective, start, tolerance).view(scale.shape) * scale
    weights = torch.einsum("dr,prk->pdk", axes, found[:, :-1])
    intercept = found[:, -1] - torch.einsum("d,pdk->pk", mean, weights)
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


def minimise(objective: Objective, start: Tensor, tolerance: float) -> Tensor:
    """L-BFGS on P smooth convex problems side by side, each with step sizes of its own; ``start``: ``[P, M]``.

    Once half of them are done the others go on without them.
    """
    found = start.clone()
    problems = torch.arange(len(start), device=start.device)
    x, (value, grad) = start, objective(start, problems)
    goal = tolerance * grad.abs().amax(1).clamp(min=1e-12)
    moves: list[Tensor] = []
    turns: list[Tensor] = []
    for _ in range(STEPS):
        moving = grad.abs().amax(1) > goal
        if 2 * int(moving.sum()) <= len(moving):
            found[problems] = x
            problems, x, value, grad, goal = (part[moving] for part in (problems, x, value, grad, goal))
            moves, turns = ([part[moving] for part in parts] for parts in (moves, turns))
            if not len(problems):
                break
            moving = moving[moving]
        direction = -_apply_inverse(grad, moves, turns) * moving[:, None]
        after, new_value, new_grad = _search(objective, problems, x, value, grad, direction)
        moves, turns = [*moves, after - x][-HISTORY:], [*turns, new_grad - grad][-HISTORY:]
        x, value, grad = after, new_value, new_grad
    found[problems] = x
    return found


def _search(
    objective: Objective, problems: Tensor, x: Tensor, value: Tensor, grad: Tensor, direction: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Halve each problem's step until its value has fallen enough: the new x, values and gradients."""
    slope = (direction * grad).sum(1)
    step = torch.ones_like(value)
    for _ in range(40):
        after = x + step[:, None] * direction
        new_value, new_grad = objective(after, problems)
        # The slack is what rounding can hide: near the optimum values no longer tell steps apart.
        short = new_value > value + 1e-4 * step * slope + 1e-12 * value.abs()
        if not bool(short.any()):
            break
        step = torch.where(short, step / 2, step)
    return after, new_value, new_grad


def _apply_inverse(grad: Tensor, moves: list[Tensor], turns: list[Tensor]) -> Tensor:
    """The two-loop recursion; a step in which a problem did not move counts for nothing."""
    pairs = []
    for s, t in zip(moves, turns, strict=True):
        product = (s * t).sum(1, keepdim=True)
        pairs.append((s, t, torch.where(product > 1e-300, 1 / product.clamp(min=1e-300), 0.0)))
    q, shares = grad.clone(), []
    for s, t, rho in reversed(pairs):
        share = rho * (s * q).sum(1, keepdim=True)
        q = q - share * t
        shares.append(share)
    if pairs:
        s, t, _ = pairs[-1]
        length = (t * t).sum(1, keepdim=True)
        q = q * torch.where(length > 0, (s * t).sum(1, keepdim=True) / length.clamp(min=1e-300), 1.0)
    for (s, t, rho), share in zip(pairs, reversed(shares), strict=True):
        q = q + s * (share - rho * (t * q).sum(1, keepdim=True))
    return q
