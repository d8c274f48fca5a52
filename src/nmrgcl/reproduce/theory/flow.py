"""Sec. 3.2: the dynamics of the singular values of a linear GCN's weights (Lemma 2, Eq. 11, Theorem 2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import torch
from torch import Tensor

from nmrgcl.diagnose.spectrum import entropy_rank
from nmrgcl.reproduce.theory.claim import Claim
from nmrgcl.reproduce.theory.gradients import loss_gradient, pair_loss, relative_gap

TAU = 0.5
NODES, WIDTH = 6, 8
"""The nodes of each graph, and their features."""
DEPTHS = (1, 2, 3, 4)
SIZES = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""How unbalanced weights are made."""


@dataclass(frozen=True, eq=False)
class Setting:
    """Graphs on the same nodes with the features of two views, multiplied by the K-th power of their adjacency.

    Attributes:
        spread: ``[2, B, n, F]`` ``Ã^K X`` of both views.
    """

    spread: Tensor

    def embed(self, weight: Tensor) -> Tensor:
        """Concatenated node embeddings ``[2, B, n·F]`` (Eq. 7)."""
        return (self.spread @ weight).flatten(2)

    def loss(self, weight: Tensor) -> Tensor:
        """The total loss for the product ``weight``."""
        return pair_loss(self.embed(weight), TAU).sum()

    def weight_gradient(self, weight: Tensor) -> Tensor:
        """``C_z = Σ_{i,a} (Ã^K X_i^a)ᵀ g_{z_i^a}``: dL/dW by Eq. 6."""
        gradient = loss_gradient(self.embed(weight), TAU).unflatten(2, (self.spread.shape[2], -1))
        return torch.einsum("abnf,abng->fg", self.spread, gradient)


def make_setting(layers: int, *, graphs: int = 10, seed: int = 0) -> Setting:
    """A ring of nodes with random features, a third of which are masked in each view."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(1, graphs, NODES, WIDTH, generator=generator, dtype=torch.float64)
    mask = torch.rand(2, graphs, 1, WIDTH, generator=generator) >= 1 / 3
    ring = torch.eye(NODES, dtype=torch.float64)
    adjacency = (ring + ring.roll(1, 0) + ring.roll(-1, 0)) / 3
    return Setting(torch.linalg.matrix_power(adjacency, layers) @ (x * mask))


def balanced_factors(weight: Tensor, layers: int) -> list[Tensor]:
    """Factors ``W₁ … W_K`` with product ``weight`` and ``W_jᵀW_j = W_{j+1}W_{j+1}ᵀ``."""
    u, sigma, vh = torch.linalg.svd(weight)
    generator = torch.Generator().manual_seed(0)
    turns = [u]
    for _ in range(layers - 1):
        turns.append(torch.linalg.qr(torch.randn(weight.shape, generator=generator, dtype=weight.dtype))[0])
    turns.append(vh.T)
    root = sigma ** (1 / layers)
    # With orthogonal T_j, W_jᵀW_j = T_{j+1} Σ^{2/K} T_{j+1}ᵀ = W_{j+1}W_{j+1}ᵀ, and the inner T cancel in the product.
    return [turns[j] * root @ turns[j + 1].T for j in range(layers)]


def unbalance(factors: Sequence[Tensor], size: float) -> list[Tensor]:
    """Factors with the same product, where ``e^{size·S}`` is moved from the second factor to the first."""
    generator = torch.Generator().manual_seed(0)
    move = torch.randn(factors[0].shape, generator=generator, dtype=factors[0].dtype)
    # The exponential of a symmetric matrix has an inverse, and spectral norm 1 makes `size` the size of S.
    move = torch.linalg.matrix_exp(size * (move + move.T) / torch.linalg.matrix_norm(move + move.T, 2))
    return [factors[0] @ move, torch.linalg.solve(move, factors[1]), *factors[2:]]


def product_velocity(setting: Setting, factors: Sequence[Tensor]) -> Tensor:
    """``Ẇ`` of the product if every factor follows its negative gradient, by autograd."""
    leaves = [factor.detach().requires_grad_() for factor in factors]
    gradients = torch.autograd.grad(setting.loss(_product(leaves)), leaves)
    parts = []
    # The product rule: one factor after another is replaced by its velocity.
    for j, gradient in enumerate(gradients):
        changed = [*factors[:j], -gradient, *factors[j + 1 :]]
        parts.append(_product(changed))
    return torch.stack(parts).sum(0)


def flow(weight: Tensor, gradient: Tensor, layers: int, *, printed: bool = False) -> Tensor:
    """Eq. 11: ``Ẇ = −Σ_j [WWᵀ]^{(j−1)/K} G [WᵀW]^{(K−j)/K}``; in print, sides and sign are reversed."""
    left, right = (weight.T @ weight, weight @ weight.T) if printed else (weight @ weight.T, weight.T @ weight)
    terms = []
    for j in range(1, layers + 1):
        a, b = ((layers - j), (j - 1)) if printed else ((j - 1), (layers - j))
        terms.append(_power(left, a / layers) @ gradient @ _power(right, b / layers))
    total = torch.stack(terms).sum(0)
    return total if printed else -total


def singular_velocity(weight: Tensor, velocity: Tensor) -> Tensor:
    """``[F]`` Lemma 2: ``σ̇_m = u_mᵀ Ẇ v_m``."""
    u, _, vh = torch.linalg.svd(weight)
    return (u.T @ velocity @ vh.T).diagonal()


def predicted_velocity(weight: Tensor, gradient: Tensor, layers: int) -> Tensor:
    """``[F]`` Theorem 2: ``σ̇_m = −K (σ_m²)^{(K−1)/K} u_mᵀ C_z v_m``."""
    sigma = torch.linalg.svdvals(weight)
    return -layers * sigma ** (2 * (layers - 1) / layers) * singular_velocity(weight, gradient)


def check_singular_velocity() -> list[Claim]:
    """Lemma 2 against central differences, at distinct singular values and at equal ones."""
    generator = torch.Generator().manual_seed(0)
    weight, velocity = torch.randn(2, WIDTH, WIDTH, generator=generator, dtype=torch.float64)
    claims = []
    for name, start, holds_where in (
        ("distinct", weight, "wherever singular values are distinct and positive"),
        ("equal", torch.eye(WIDTH, dtype=torch.float64), "not where singular values meet: they move apart by the "
         "eigenvalues of the symmetric part of UᵀẆV, and a derivative exists from each side only"),
    ):  # fmt: skip
        step = 1e-6
        # Central differences, whose error is of second order in the step.
        ahead, behind = (torch.linalg.svdvals(start + sign * step * velocity) for sign in (1, -1))
        gap = relative_gap(singular_velocity(start, velocity), (ahead - behind) / (2 * step))
        words = f"Lemma 2: σ̇ = uᵀẆv at {name} singular values (relative difference to small steps)"
        claims.append(Claim.vanishing(words, gap, 1e-6, holds_where))
    return claims


def check_flow(depths: Sequence[int] = DEPTHS) -> list[Claim]:
    """Eq. 11 and Theorem 2 at balanced weights for several depths, and the power of σ in Theorem 2."""
    claims = []
    printed, corrected, theorem, chain = [], [], [], []
    for layers in depths:
        setting, weight = make_setting(layers), start_weight()
        gradient = setting.weight_gradient(weight)
        exact = product_velocity(setting, balanced_factors(weight, layers))
        corrected.append(relative_gap(flow(weight, gradient, layers), exact))
        printed.append(relative_gap(flow(weight, gradient, layers, printed=True), exact))
        theorem.append(relative_gap(predicted_velocity(weight, gradient, layers), singular_velocity(weight, exact)))
        leaf = weight.clone().requires_grad_()
        chain.append(relative_gap(gradient, torch.autograd.grad(setting.loss(leaf), leaf)[0]))
    named = f"K = {', '.join(map(str, depths))}"
    balance = "balanced weights (W_jᵀW_j = W_{j+1}W_{j+1}ᵀ); K = 1 needs none"
    # 1e-10 is far above what float64 rounds and far below what a wrong factor or sign changes.
    for title, gaps, where in (
        ("C_z = Σ (Ã^K X)ᵀ g_z is dL/dW", chain, "with g the corrected gradient of the whole loss"),
        ("Eq. 11 as printed is the flow of the product", printed, "nowhere: no sign, and WᵀW and WWᵀ exchanged"),
        ("Eq. 11 corrected is the flow of the product", corrected, balance),
        ("Theorem 2: σ̇ = −K σ^{2(K−1)/K} uᵀC_z v", theorem, balance),
    ):
        words = f"{title} (largest relative difference to autograd, {named})"
        claims.append(Claim.vanishing(words, max(gaps), 1e-10, where))
    return [*claims, check_small_step(3), *(check_power(layers) for layers in depths)]


def check_small_step(layers: int) -> Claim:
    """Theorem 2 against one small gradient descent step on every factor."""
    setting, weight, step = make_setting(layers), start_weight(), 1e-6
    factors = balanced_factors(weight, layers)
    leaves = [factor.detach().requires_grad_() for factor in factors]
    gradients = torch.autograd.grad(setting.loss(_product(leaves)), leaves)
    moved = [_product([f - s * g for f, g in zip(factors, gradients, strict=True)]) for s in (step, -step)]
    ahead, behind = (torch.linalg.svdvals(w) for w in moved)
    gap = relative_gap(
        predicted_velocity(weight, setting.weight_gradient(weight), layers), (ahead - behind) / (2 * step)
    )
    words = f"Theorem 2 tells what small steps of gradient descent do, K = {layers} (relative difference)"
    return Claim.vanishing(words, gap, 1e-6, f"balanced weights, step {step:g}, central differences")


def check_power(layers: int) -> Claim:
    """The power of σ_m in σ̇_m, measured as a slope; the paper says that they are proportional."""
    setting, weight = make_setting(layers), start_weight()
    exact = singular_velocity(weight, product_velocity(setting, balanced_factors(weight, layers)))
    along = singular_velocity(weight, setting.weight_gradient(weight))
    x, y = torch.linalg.svdvals(weight).log(), (exact / along).abs().log()
    # The ratio of the flow to uᵀC_z v is K σ^a, whose logarithm has the slope a.
    slope = float(((x - x.mean()) * (y - y.mean())).sum() / (x - x.mean()).square().sum())
    return Claim(
        f"The flow of σ_m is proportional to σ_m, K = {layers} (power of σ_m)",
        1.0,
        slope,
        abs(slope - 1) < 1e-9,
        f"K = 2 only; the power is 2(K−1)/K = {2 * (layers - 1) / layers:.3f}",
    )


def measure_imbalance(layers: int) -> list[tuple[float, float]]:
    """Pairs ``(size, relative error of Theorem 2)`` for increasingly unbalanced weights with the same product."""
    setting, weight = make_setting(layers), start_weight()
    predicted = predicted_velocity(weight, setting.weight_gradient(weight), layers)
    balanced = balanced_factors(weight, layers)
    found = []
    for size in SIZES:
        exact = singular_velocity(weight, product_velocity(setting, unbalance(balanced, size)))
        found.append((size, relative_gap(predicted, exact)))
    return found


def check_imbalance(gaps: dict[int, list[tuple[float, float]]]) -> list[Claim]:
    """The error of Theorem 2 at the largest imbalance measured."""
    claims = []
    for layers, curve in gaps.items():
        listed = ", ".join(f"{gap:.1e} at {size:g}" for size, gap in curve)
        size, worst = curve[-1]
        words = f"Theorem 2 without balance, K = {layers}, e^{{{size:g}·S}} between two factors (relative difference)"
        where = f"only at balance; the gap grows with the imbalance at the same product: {listed}"
        claims.append(Claim.vanishing(words, worst, 1e-10, where))
    return claims


def measure_training(*, steps: int = 1000, seeds: Sequence[int] = (0, 1, 2)) -> dict[int, list[list[float]]]:
    """The effective rank of the product of K factors during training: one list per seed, one entry per step.

    Data, initial product and step size are the same for all depths, so that only the depth differs.
    """
    return {layers: [_train(layers, steps, seed) for seed in seeds] for layers in DEPTHS}


def _train(layers: int, steps: int, seed: int) -> list[float]:
    setting = make_setting(2, graphs=30, seed=seed)
    factors = [f.requires_grad_() for f in balanced_factors(0.3 * start_weight(), layers)]
    optimiser = torch.optim.SGD(factors, lr=0.003)
    ranks = []
    for _ in range(steps):
        product = _product(factors)
        ranks.append(entropy_rank(torch.linalg.svdvals(product.detach())))
        optimiser.zero_grad()
        setting.loss(product).div(30).backward()
        optimiser.step()
    return ranks


def check_training(curves: dict[int, list[list[float]]]) -> list[Claim]:
    """The conclusion drawn from Theorem 2: depth makes the product of weights low-rank."""
    ends = {layers: [ranks[-1] for ranks in curve] for layers, curve in curves.items()}
    by_seed = zip(*(ends[layers] for layers in sorted(ends)), strict=True)
    # Within each seed, because data and initial product are the same for all depths of a seed.
    falls = all(all(b < a for a, b in pairwise(row)) for row in by_seed)
    start, deepest = curves[min(curves)][0][0], max(ends)
    mean = {layers: sum(row) / len(row) for layers, row in ends.items()}
    listed = ", ".join(f"{value:.2f} for K = {layers}" for layers, value in mean.items())
    return [
        Claim(
            f"Training makes the product of K = {deepest} factors lower in rank than K = {min(ends)} (effective rank)",
            mean[min(ends)],
            mean[deepest],
            falls and mean[deepest] < start,
            f"lower with every further factor in {'each' if falls else 'not each'} of {len(ends[deepest])} seeds, but "
            f"by little: from {start:.2f} to {listed}; loss with inner products, balanced start",
        )
    ]


def start_weight(width: int = WIDTH) -> Tensor:
    """A matrix with singular values from 1 to 0.3 and random singular vectors."""
    generator = torch.Generator().manual_seed(1)
    u, v = (torch.linalg.qr(torch.randn(width, width, generator=generator, dtype=torch.float64))[0] for _ in range(2))
    return u * torch.linspace(1, 0.3, width, dtype=torch.float64) @ v.T


def _product(factors: Sequence[Tensor]) -> Tensor:
    return reduce(torch.matmul, factors)


def _power(symmetric: Tensor, exponent: float) -> Tensor:
    values, vectors = torch.linalg.eigh(symmetric)
    # Rounding may make the eigenvalue of a singular direction negative, whose power would be NaN.
    return vectors * values.clamp(min=0) ** exponent @ vectors.T
