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
LOOK = 16
"""Steps after which the host looks which problems a GPU is done with."""

Objective = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""``[Q, M]`` parameters of the problems with these Q numbers to their values ``[Q]`` and gradients ``[Q, M]``."""
Pair = tuple[Tensor, Tensor, Tensor]
"""A move ``[Q, M]``, how it turned the gradient ``[Q, M]``, and one over their product ``[Q]``, 0 for no move."""


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
    found = minimise(objective, start, tolerance, look=LOOK if z.is_cuda else 1).view(scale.shape) * scale
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


def minimise(objective: Objective, start: Tensor, tolerance: float, *, look: int = 1) -> Tensor:
    """L-BFGS on P smooth convex problems side by side, each with step sizes of its own; ``start``: ``[P, M]``.

    A step computes the objective once: problems whose value has not fallen enough stay where they are and halve their
    step. Once half of them are done the others go on without them; that is asked every ``look`` steps, between which
    a GPU need not wait for the host.
    """
    found = start.clone()
    problems = torch.arange(len(start), device=start.device)
    x, (value, grad) = start, objective(start, problems)
    goal = tolerance * grad.abs().amax(1).clamp(min=1e-12)
    step, length, pairs = torch.ones_like(value), torch.ones_like(value), list[Pair]()
    for number in range(STEPS):
        moving = grad.abs().amax(1) > goal
        if number % look == 0 and 2 * int(moving.sum()) <= len(moving):
            found[problems] = x
            problems, x, value, grad, goal, step, length = (
                part[moving] for part in (problems, x, value, grad, goal, step, length)
            )
            pairs = [(s[moving], t[moving], rho[moving]) for s, t, rho in pairs]
            if not len(problems):
                break
            moving = moving[moving]
        direction = -_apply_inverse(grad, pairs, length) * moving[:, None]
        after = x + step[:, None] * direction
        new_value, new_grad = objective(after, problems)
        # The slack is what rounding can hide: near the optimum values no longer tell steps apart.
        fallen = new_value <= value + 1e-4 * step * (direction * grad).sum(1) + 1e-12 * value.abs()
        pair, length = _learn(fallen, after - x, new_grad - grad, length)
        pairs = [*pairs, pair][-HISTORY:]
        step = torch.where(fallen, 1.0, step / 2)
        value = torch.where(fallen, new_value, value)
        x, grad = (torch.where(fallen[:, None], new, old) for new, old in ((after, x), (new_grad, grad)))
    found[problems] = x
    return found


def _learn(fallen: Tensor, move: Tensor, turn: Tensor, length: Tensor) -> tuple[Pair, Tensor]:
    """What a step has shown of the curvature, and the length that the next one starts with; of no step, nothing."""
    move, turn = (torch.where(fallen[:, None], part, 0.0) for part in (move, turn))
    product = (move * turn).sum(1)
    shown = product > 1e-300
    rho = torch.where(shown, 1 / product.clamp(min=1e-300), 0.0)
    return (move, turn, rho), torch.where(shown, product / turn.square().sum(1).clamp(min=1e-300), length)


def _apply_inverse(grad: Tensor, pairs: list[Pair], length: Tensor) -> Tensor:
    """The two-loop recursion."""
    q, shares = grad, []
    for move, turn, rho in reversed(pairs):
        share = (rho * (move * q).sum(1))[:, None]
        q = torch.addcmul(q, share, turn, value=-1.0)
        shares.append(share)
    q = q * length[:, None]
    for (move, turn, rho), share in zip(pairs, reversed(shares), strict=True):
        q = torch.addcmul(q, share - (rho * (turn * q).sum(1))[:, None], move)
    return q
