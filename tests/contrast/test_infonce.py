"""Eq. 14 and GraphCL's loss against slow loops and the closed-form gradient."""

import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from nmrgcl.contrast import cosine, graphcl_loss, infonce
from nmrgcl.contrast.cosine import unit_rows
from nmrgcl.errors import SettingError


def pairs(batch: int = 5, width: int = 4, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(2, batch, width, generator=generator, dtype=torch.float64)
    return z[0], z[1]


def slow_infonce(z1: Tensor, z2: Tensor, positive: list[float], tau: float) -> float:
    batch, views, total = z1.shape[0], (z1, z2), 0.0
    for j in range(batch):
        for a in (0, 1):
            own = math.exp(positive[j] / tau)
            others = sum(
                math.exp(float(cosine_similarity(views[a][j], views[b][k], dim=0)) / tau)
                for k in range(batch)
                if k != j
                for b in (0, 1)
            )
            total -= math.log(own / (own + others))
    return total / (2 * batch)


@pytest.mark.parametrize("tau", [0.1, 0.2, 1.0])
def test_infonce_equals_eq_14_written_as_loops(tau: float) -> None:
    z1, z2 = pairs()
    mask = (torch.arange(4) != 1).double()
    for positive in (cosine(z1, z2), cosine(z1, z2 * mask)):
        expected = slow_infonce(z1, z2, positive.tolist(), tau)
        assert float(infonce(z1, z2, positive=positive, tau=tau)) == pytest.approx(expected, abs=1e-12)
    assert float(infonce(z1, z2, tau=tau)) == pytest.approx(
        slow_infonce(z1, z2, cosine(z1, z2).tolist(), tau), abs=1e-12
    )


def test_rows_of_length_one_and_their_gradient() -> None:
    z = pairs()[0].requires_grad_()
    assert torch.autograd.gradcheck(unit_rows, (z,))
    torch.testing.assert_close(unit_rows(z), torch.nn.functional.normalize(z))
    assert unit_rows(torch.tensor([[3.0, 4.0], [0.0, 0.0]])).tolist() == [
        [pytest.approx(0.6), pytest.approx(0.8)],
        [0, 0],
    ]


def test_infonce_by_hand() -> None:
    """Two graphs, orthogonal embeddings, equal views: s⁺ = 1 and two negatives of cosine 0 in each of four terms."""
    z = torch.eye(2, dtype=torch.float64)
    assert float(infonce(z, z, tau=1.0)) == pytest.approx(math.log((math.e + 2) / math.e), abs=1e-12)


def test_infonce_gradient_is_the_corrected_eq_6() -> None:
    """On the unit sphere cosines are inner products; the closed form is then projected onto the sphere's tangent."""
    tau, (z1, z2) = 0.3, pairs()
    z = [torch.nn.functional.normalize(v).requires_grad_() for v in (z1, z2)]
    infonce(z[0], z[1], tau=tau).backward()
    batch = z1.shape[0]
    inner = {(a, b): z[a].detach() @ z[b].detach().T / tau for a in (0, 1) for b in (0, 1)}
    off = 1 - torch.eye(batch, dtype=torch.float64)
    own = torch.diagonal(inner[0, 1]).exp()
    p = [own + sum((inner[a, b].exp() * off).sum(1) for b in (0, 1)) for a in (0, 1)]
    share = [own / p[a] for a in (0, 1)]
    q = {(a, b): inner[a, b].exp() * off / p[a][:, None] for a in (0, 1) for b in (0, 1)}
    for a in (0, 1):
        pull = (2 - share[0] - share[1])[:, None] * z[1 - a].detach()
        push = sum((q[a, b] + q[b, a].T) @ z[b].detach() for b in (0, 1))
        grad = -(pull - push) / tau / (2 * batch)
        tangent = grad - (grad * z[a].detach()).sum(1, keepdim=True) * z[a].detach()
        assert z[a].grad is not None
        torch.testing.assert_close(z[a].grad, tangent, atol=4e-15, rtol=0)


def test_streamed_negatives_equal_the_matrix_form(monkeypatch: pytest.MonkeyPatch) -> None:
    z1, z2 = (z.requires_grad_() for z in pairs(batch=9))
    dense = infonce(z1, z2)
    expected = torch.autograd.grad(dense, (z1, z2))
    monkeypatch.setattr("nmrgcl.ops.negatives.DENSE_ROWS", 0)
    monkeypatch.setattr("nmrgcl.ops.similarities.TILE", 4)
    streamed = infonce(z1, z2)
    torch.testing.assert_close(streamed, dense, atol=1e-14, rtol=0)
    torch.testing.assert_close(torch.autograd.grad(streamed, (z1, z2)), expected, atol=1e-14, rtol=0)


def test_a_batch_of_one_warns_and_has_neither_loss_nor_gradient() -> None:
    z1, z2 = (z.requires_grad_() for z in pairs(batch=1))
    with pytest.warns(UserWarning, match="no negatives"):
        loss = infonce(z1, z2)
    loss.backward()
    assert float(loss.detach()) == 0
    assert z1.grad is not None
    assert float(z1.grad.abs().sum()) == 0


def test_a_zero_embedding_has_cosine_zero() -> None:
    z1, z2 = (z.clone() for z in pairs(batch=3))
    z1[0] = 0
    assert float(cosine(z1, z2)[0]) == 0


def test_half_precision_is_widened() -> None:
    z1, z2 = (z.bfloat16() for z in pairs())
    assert infonce(z1, z2).dtype == torch.float32


def test_graphcl_loss_equals_its_definition() -> None:
    z1, z2 = pairs()
    tau, batch = 0.2, z1.shape[0]
    sim = [[math.exp(float(cosine_similarity(z1[i], z2[j], dim=0)) / tau) for j in range(batch)] for i in range(batch)]
    expected = -sum(math.log(sim[i][i] / (sum(sim[i]) - sim[i][i])) for i in range(batch)) / batch
    assert float(graphcl_loss(z1, z2, tau=tau)) == pytest.approx(expected, abs=1e-12)


def test_graphcl_loss_refuses_a_single_graph() -> None:
    with pytest.raises(SettingError, match="two graphs"):
        graphcl_loss(*pairs(batch=1))
