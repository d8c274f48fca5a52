"""The objectives of the node methods against their definitions as slow loops."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cosine_similarity

from nmrgcl.contrast import cca_loss, jensen_shannon, merit_loss
from nmrgcl.ops.similarities import pair_softplus, row_logsumexp


def four(batch: int = 7, width: int = 3) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(batch, width, generator=generator, dtype=torch.float64) for _ in range(4)]


def test_jensen_shannon_is_binary_cross_entropy() -> None:
    joint, apart, *_ = four()
    logits, labels = torch.cat([joint, apart]), torch.cat([torch.ones_like(joint), torch.zeros_like(apart)])
    torch.testing.assert_close(jensen_shannon(joint, apart), binary_cross_entropy_with_logits(logits, labels))


def test_cca_by_its_definition() -> None:
    z1, z2, *_ = four(batch=9)
    a, b = ((z - z.mean(0)) / z.std(0, correction=0) for z in (z1, z2))
    expected = -sum(float((a[:, d] * b[:, d]).mean()) for d in range(3))
    for c in (a.T @ a / 9, b.T @ b / 9):
        expected += 0.01 * float((torch.eye(3) - c).square().sum())
    assert float(cca_loss(z1, z2, decorrelate=0.01)) == pytest.approx(expected, abs=1e-9)


def test_cca_of_equal_independent_dimensions_is_as_low_as_it_gets() -> None:
    z = torch.tensor([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    assert float(cca_loss(z, z)) == pytest.approx(-2, abs=1e-6)
    dead = torch.zeros(4, 2, requires_grad=True)
    loss = cca_loss(dead, z)
    loss.backward()
    assert dead.grad is not None
    assert bool(dead.grad.isfinite().all())


def test_merit_by_its_definition() -> None:
    z1, z2, t1, t2 = four()
    beta, tau, batch = 0.6, 0.7, len(z1)

    def e(a: Tensor, b: Tensor) -> float:
        return math.exp(float(cosine_similarity(a, b, dim=0)) / tau)

    total = 0.0
    for one, other, teacher in ((z1, z2, t2), (z2, z1, t1)):
        for i in range(batch):
            network = -math.log(e(one[i], teacher[i]) / sum(e(one[i], teacher[j]) for j in range(batch)))
            inter = -math.log(e(one[i], other[i]) / sum(e(one[i], other[j]) for j in range(batch)))
            own = sum(e(one[i], one[j]) for j in range(batch) if j != i)
            intra = -math.log(e(one[i], other[i]) / (e(one[i], other[i]) + own))
            total += beta * (inter + intra) + (1 - beta) * network
    found = merit_loss((z1, z2), (t1, t2), beta=beta, tau=tau)
    assert float(found) == pytest.approx(total / (2 * batch), abs=1e-12)


@pytest.mark.parametrize("bound", [math.inf, 30.0])
@pytest.mark.parametrize("without", [(), (0,), (2, -3)])
def test_streamed_rows_equal_the_matrix_form(
    without: tuple[int, ...], bound: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nmrgcl.ops.similarities.TILE", 3)
    a, b, *_ = (z.requires_grad_() for z in four())
    matrix = a @ b.T / 0.5
    for offset in without:
        matrix = matrix - torch.diag(torch.full((7 - abs(offset),), torch.inf, dtype=torch.float64), offset)
    assert float(matrix[matrix.isfinite()].detach().abs().max()) < 30
    options: dict[str, Any] = {"without": without, "bound": bound}
    torch.testing.assert_close(row_logsumexp(a, b, 0.5, **options), matrix.logsumexp(1))
    assert torch.autograd.gradcheck(lambda x, y: row_logsumexp(x, y, 0.5, **options), (a, b))
    assert torch.autograd.gradcheck(lambda x: row_logsumexp(x, b.detach(), 0.5, **options), (a,))


@pytest.mark.parametrize("bound", [math.inf, 30.0])
def test_sums_of_large_exponentials_keep_their_precision(bound: float) -> None:
    torch.manual_seed(0)
    a = torch.nn.functional.normalize(torch.randn(500, 8), dim=1).requires_grad_()
    tau = 1 / 30  # as large as such sums may be
    found = row_logsumexp(a, a.detach(), tau, bound=bound)
    wide = a.detach().double().requires_grad_()
    expected = (wide @ wide.detach().T / tau).logsumexp(1)
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=0)
    found.sum().backward()
    expected.sum().backward()
    assert a.grad is not None
    torch.testing.assert_close(a.grad.double(), wide.grad, rtol=1e-3, atol=1e-4)


def test_bfloat16_training_sums_similarities_in_the_precision_of_the_rows() -> None:
    a, b = (torch.randn(9, 4).requires_grad_() for _ in range(2))
    sums = {"logsumexp": lambda: row_logsumexp(a, b, 0.5).sum(), "softplus": lambda: pair_softplus(a) + 0 * b.sum()}
    for name, compute in sums.items():
        found = []
        for enabled in (False, True):
            with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
                total = compute()
                found.append([total, *torch.autograd.grad(total, (a, b))])
        assert all(map(torch.equal, *found)), name
