"""The streamed sum over negatives against the whole matrix in float64, and the loss that uses it."""

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from nmrgcl.contrast import cosine, infonce
from nmrgcl.ops import negatives as operation
from nmrgcl.ops.triton import negatives
from nmrgcl.ops.triton.negatives import Precision, negatives_gradient, negatives_logsumexp
from tests.ops import DEVICE

needs_gpu = pytest.mark.skipif(DEVICE == "cpu", reason="no CUDA device on this machine")


def dense(z: Tensor, tau: float) -> Tensor:
    count = z.shape[0]
    apart = (torch.arange(count)[:, None] - torch.arange(count)).abs()
    own = (apart == 0) | (2 * apart == count)
    return (z @ z.T / tau).masked_fill(own.to(z.device), -torch.inf).logsumexp(1)


def check(count: int, width: int, tau: float, precision: Precision, tolerance: float) -> None:
    torch.manual_seed(count)
    z = normalize(torch.randn(count, width, dtype=torch.float64, device=DEVICE)).float()
    exact, grad = z.double().requires_grad_(), torch.randn(count, device=DEVICE)
    expected = dense(exact, tau)
    expected.backward(grad.double())
    total = negatives_logsumexp(z, tau, precision=precision)
    assert total.dtype == torch.float32
    torch.testing.assert_close(total.double(), expected.detach(), atol=tolerance, rtol=tolerance)
    assert exact.grad is not None
    error = negatives_gradient(z, total, grad, tau, precision=precision).double() - exact.grad
    assert float(error.norm() / exact.grad.norm()) < tolerance
    assert float(error.abs().max()) < tolerance * float(exact.grad.abs().max())


@pytest.mark.parametrize(
    ("count", "width"), [(4, 8), (6, 3), (64, 16), (130, 48), (256, 32), (302, 300), (200, 512), (1100, 8)]
)
@pytest.mark.parametrize(("tau", "precision"), [(0.05, "ieee"), (1.0, "ieee"), (0.2, "tf32x3")])
def test_the_sum_over_negatives_and_its_gradient_equal_the_matrix_form(
    count: int, width: int, tau: float, precision: Precision
) -> None:
    check(count, width, tau, precision, 1e-5)


@pytest.mark.parametrize(("count", "width"), [(130, 48), (1100, 8)])
def test_products_in_parts_as_of_many_rows(count: int, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(negatives, "MANY", 0)
    check(count, width, 0.2, "tf32x3", 1e-5)
    check(count, width, 0.2, "tf32", 5e-3)


@needs_gpu
@pytest.mark.parametrize(("precision", "tolerance"), [("ieee", 1e-5), ("tf32x3", 1e-5), ("tf32", 5e-3)])
@pytest.mark.parametrize(("count", "width"), [(5002, 300), (9000, 512)])
def test_every_precision_of_the_gpu(count: int, width: int, precision: Precision, tolerance: float) -> None:
    check(count, width, 0.2, precision, tolerance)


def test_infonce_by_the_kernels_equals_the_matrix_form(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    z1, z2 = (torch.randn(37, 12, dtype=torch.float64, requires_grad=True) for _ in range(2))
    mask = torch.arange(12) != 3
    whole = infonce(z1, z2, positive=cosine(z1, z2 * mask))
    expected = torch.autograd.grad(whole, (z1, z2))
    monkeypatch.setattr(operation, "DENSE_ROWS", 0)
    monkeypatch.setattr(operation, "serve", lambda _: True)
    a, b = (z.detach().float().to(DEVICE).requires_grad_() for z in (z1, z2))
    streamed = infonce(a, b, positive=cosine(a, b * mask.to(DEVICE)))
    torch.testing.assert_close(streamed.detach().cpu().double(), whole.detach(), atol=1e-5, rtol=1e-5)
    for grad, other in zip(torch.autograd.grad(streamed, (a, b)), expected, strict=True):
        torch.testing.assert_close(grad.cpu().double(), other, atol=1e-6, rtol=1e-5)


@needs_gpu
def test_memory_is_a_small_part_of_the_matrix() -> None:
    z = normalize(torch.randn(20_000, 64, device=DEVICE))
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    negatives_gradient(z, negatives_logsumexp(z, 0.2), torch.ones_like(z[:, 0]), 0.2)
    assert torch.cuda.max_memory_allocated() - before < 0.05 * 4 * 20_000**2
