"""Eq. 6: the gradient of InfoNCE with inner products, as printed and corrected."""

from collections.abc import Callable

import torch
from torch import Tensor

from nmrgcl.contrast import cosine
from nmrgcl.reproduce.theory.claim import Claim


def pair_loss(z: Tensor, tau: float) -> Tensor:
    """Losses ``[2, B]`` of both views of each row of ``z`` ``[2, B, D]``, with inner products as similarity (Eq. 3)."""
    similarity, positive = _similarities(z)
    logits = torch.cat([positive.expand(2, -1)[..., None], similarity], 2) / tau
    return torch.logsumexp(logits, 2) - positive / tau


def loss_gradient(z: Tensor, tau: float) -> Tensor:
    """The gradient ``[2, B, D]`` of the sum of all losses: Eq. 6, corrected, for the whole loss.

    ``∂L/∂z_i^a = −(1/τ)[(2 − P_i¹ − P_i²) z_i^ā − Σ_{j≠i,l} (Q_ij^{al} + Q_ji^{la}) z_j^l]``.
    """
    similarity, positive = _similarities(z)
    total = (positive / tau).exp() + (similarity / tau).exp().sum(2)
    p = (positive / tau).exp() / total
    rows = z.shape[1]
    q = ((similarity / tau).exp() / total[..., None]).reshape(2 * rows, 2 * rows)
    # The similarity of a row's own pair is −∞, so its Q is 0 and the sum over j ≠ i needs no mask.
    negatives = ((q + q.T) @ z.reshape(2 * rows, -1)).reshape(z.shape)
    # Flipped, because the pull on view a is towards the other view ā.
    return -((2 - p.sum(0))[:, None] * z.flip(0) - negatives) / tau


def printed_gradient(z: Tensor, tau: float, row: int) -> tuple[Tensor, Tensor]:
    """Gradients of ``L_row^(1)`` for both views of the row as printed in Eq. 6, without ``/τ`` in the numerators."""
    similarity, positive = _similarities(z)
    total = (positive[row] / tau).exp() + (similarity[0, row] / tau).exp().sum()
    pull = 1 - positive[row].exp() / total
    push = (similarity[0, row].exp() / total) @ z.reshape(-1, z.shape[2])
    return -(pull * z[1, row] - push) / tau, -pull * z[0, row] / tau


def check_gradients() -> list[Claim]:
    """Eq. 6 at τ = 1 and τ = 0.2, its correction, and the conclusions drawn from it."""
    z = 0.7 * torch.randn(2, 12, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return [
        *(_printed(z, tau) for tau in (1.0, 0.2)),
        _corrected(z, 0.2),
        _proportional(z, "inner products", lambda z: pair_loss(z, 0.2)[0, 0]),
        _proportional(z, "cosines, as it is trained", lambda z: pair_loss(_unit(z), 0.2)[0, 0]),
        _own_direction(z),
    ]


def _printed(z: Tensor, tau: float) -> Claim:
    (exact,) = torch.autograd.grad(pair_loss(z.requires_grad_(), tau)[0, 0], z)
    found = torch.stack(printed_gradient(z.detach(), tau, 0))
    gap = relative_gap(found, exact[:, 0])
    return Claim.vanishing(
        f"Eq. 6 as printed is the gradient of one row's loss, τ = {tau:g} (relative difference to autograd)",
        gap,
        1e-12,
        "τ = 1 only, and with the positive in p_i: the print leaves /τ out of the exponents of both numerators",
    )


def _corrected(z: Tensor, tau: float) -> Claim:
    (exact,) = torch.autograd.grad(pair_loss(z.requires_grad_(), tau).sum(), z)
    gap = relative_gap(loss_gradient(z.detach(), tau), exact)
    words = f"Eq. 6 corrected, for the whole loss, τ = {tau:g} (relative difference to autograd)"
    return Claim.vanishing(words, gap, 1e-12, "every τ, with inner products")


def _proportional(z: Tensor, what: str, loss: Callable[[Tensor], Tensor]) -> Claim:
    z = z.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(z), z)
    found = float(cosine(-gradient[1, :1], z[0, :1].detach()))
    return Claim(
        f"The descent direction of z_i^(2) in L_i^(1) is that of z_i^(1), with {what} (cosine)",
        1.0,
        found,
        abs(found - 1) < 1e-12,
        "inner products only: there every dimension grows with the other view's; with cosines the part along z_i^(2) "
        "itself is taken out",
    )


def _own_direction(z: Tensor) -> Claim:
    z = z.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(pair_loss(_unit(z), 0.2).sum(), z)
    found = float(cosine(gradient.flatten(0, 1), z.detach().flatten(0, 1)).abs().max())
    return Claim.vanishing(
        "With cosines no step changes the length of an embedding (largest |cosine| of gradient and embedding)",
        found,
        1e-12,
        "any loss of cosines: prominent dimensions can grow only at the cost of others",
    )


def _similarities(z: Tensor) -> tuple[Tensor, Tensor]:
    """Inner products ``[2, B, 2B]`` with both views of all rows, −∞ with the own row, and ``[B]`` between the pairs."""
    views, rows, _ = z.shape
    flat = z.reshape(views * rows, -1)
    own = torch.eye(rows, dtype=torch.bool, device=z.device).repeat(views, views)
    return (flat @ flat.T).masked_fill(own, -torch.inf).reshape(views, rows, views * rows), (z[0] * z[1]).sum(1)


def _unit(z: Tensor) -> Tensor:
    return z / z.norm(dim=2, keepdim=True)


def relative_gap(found: Tensor, exact: Tensor) -> float:
    """The norm of the difference divided by that of ``exact``."""
    return float((found - exact).norm() / exact.norm())
