"""Under bfloat16 autocast, losses but InfoGraph's compute similarities in float32, whatever the embeddings are."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from nmrgcl.contrast import across_views, bootstrap_loss, cca_loss, graphcl_loss, infonce, merit_loss
from nmrgcl.contrast.cosine import cosine
from nmrgcl.contrast.keys import find_key
from nmrgcl.contrast.ranked import ranked_loss, ranked_negatives

BANK, QUEUE, TAUGHT = torch.randn(3, 8, 6, generator=torch.Generator().manual_seed(1)).bfloat16()
LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "infonce": infonce,
    "infonce with removal": lambda z1, z2: infonce(z1, z2, delta=0.7),
    "graphcl": graphcl_loss,
    "graphcl with removal": lambda z1, z2: graphcl_loss(z1, z2, delta=0.7),
    "graphcl with a given positive": lambda z1, z2: graphcl_loss(z1, z2, positive=cosine(z1, z2)),
    "ranked": lambda z1, z2: ranked_loss(
        z1, z2, ranked_negatives(z1, BANK.to(z1.dtype), torch.arange(8), torch.tensor([1, 4, 5]))
    ),
    "cca": lambda z1, z2: cca_loss(z1, z2, decorrelate=0.1),
    "across": across_views,
    "keys": find_key,
    "keys of a queue": lambda z1, z2: find_key(z1, z2, QUEUE.to(z1.dtype)),
    "merit": lambda z1, z2: merit_loss((z1, z2), (TAUGHT.to(z1.dtype), TAUGHT.flip(0).to(z1.dtype))),
    "bootstrap": lambda z1, z2: bootstrap_loss(z1, z2, TAUGHT.to(z1.dtype), TAUGHT.flip(0).to(z1.dtype)),
}


Z = torch.randn(2, 8, 6, generator=torch.Generator().manual_seed(0)).bfloat16()


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_under_bfloat16_autocast_is_the_float32_loss_of_the_same_embeddings(name: str) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        found = LOSSES[name](*Z)
    assert torch.equal(found, LOSSES[name](*Z.float()))


@pytest.mark.parametrize("name", LOSSES)
def test_autocast_does_not_change_the_gradient_for_float32_embeddings(name: str) -> None:
    found = []
    for enabled in (False, True):
        z1, z2 = (view.float().requires_grad_() for view in Z)
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            loss = LOSSES[name](z1, z2)
        found.append(torch.autograd.grad(loss, (z1, z2)))
    assert all(map(torch.equal, *found))
