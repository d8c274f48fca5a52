"""InfoNCE across views, against its definition as slow loops and PyTorch's cross-entropy."""

import math

import pytest
import torch
from torch.nn.functional import cosine_similarity, cross_entropy, normalize

from nmrgcl.contrast import across_views
from nmrgcl.errors import SettingError

Z1, Z2 = torch.randn(2, 6, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
TAU = 0.3


def test_it_is_its_definition_in_both_directions() -> None:
    total = 0.0
    for one, other in ((Z1, Z2), (Z2, Z1)):
        for i in range(6):
            e = [math.exp(float(cosine_similarity(one[i], other[j], dim=0)) / TAU) for j in range(6)]
            total -= math.log(e[i] / sum(e)) / 12
    assert float(across_views(Z1, Z2, tau=TAU)) == pytest.approx(total, abs=1e-12)


def test_it_is_cross_entropy_with_the_right_gradient() -> None:
    logits, own = normalize(Z1) @ normalize(Z2).T / TAU, torch.arange(6)
    expected = (cross_entropy(logits, own) + cross_entropy(logits.T, own)) / 2
    torch.testing.assert_close(across_views(Z1, Z2, tau=TAU), expected)
    views = Z1.clone().requires_grad_(), Z2.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: across_views(a, b, tau=TAU), views)


def test_one_graph_has_no_negatives() -> None:
    with pytest.raises(SettingError, match=r"needs at least two graphs in a batch; raise train\.batch_size"):
        across_views(Z1[:1], Z2[:1])
