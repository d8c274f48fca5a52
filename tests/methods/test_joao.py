"""JOAO: the step of its distribution by hand, draws that follow it, and heads that go with views."""

from typing import cast

import pytest
import torch

from nmrgcl.augment import DropNodes, Identity, MaskFeatures
from nmrgcl.contrast import graphcl_loss
from nmrgcl.errors import SettingError
from nmrgcl.methods import build_pretraining
from nmrgcl.methods.joao import JOAO, moved, on_simplex
from nmrgcl.train import Progress, pretrain
from tests.methods.members import GRAPHS, settings_of

TWO = ["views.first=[]", "views.second=[{name = 'Identity'}, {name = 'MaskFeatures', p = 1.0}]"]


def build(*assignments: str) -> JOAO:
    return cast("JOAO", build_pretraining(settings_of("joao", *assignments), GRAPHS.num_features))


def test_the_projection_on_the_simplex_by_hand() -> None:
    # Already a distribution: nothing to do.
    assert on_simplex(torch.tensor([0.2, 0.8])).tolist() == pytest.approx([0.2, 0.8])
    # μ = (0.9 + 0.7 − 1) / 2 = 0.3 leaves nothing of the third.
    assert on_simplex(torch.tensor([0.9, 0.1, 0.7])).tolist() == pytest.approx([0.6, 0.0, 0.4])
    # One that is larger than the others by 1 or more takes all.
    assert on_simplex(torch.tensor([5.0, 6.5, 5.5])).tolist() == pytest.approx([0.0, 1.0, 0.0])
    # μ = (−3 − 1) / 3
    assert on_simplex(torch.tensor([-1.0, -1.0, -1.0])).tolist() == pytest.approx([1 / 3] * 3)


def test_a_step_of_the_distribution_by_hand() -> None:
    """b = p + ℓ − γ(p − ½) = [0.7 + 1.0 − 0.1, 0.3 + 1.2 + 0.1] = [1.6, 1.6]."""
    found = moved(torch.tensor([0.7, 0.3]), torch.tensor([1.0, 1.2]), gamma=0.5)
    assert found.tolist() == pytest.approx([0.5, 0.5])


def test_the_nearest_distribution_is_found() -> None:
    """No distribution of a fine grid is nearer."""
    torch.manual_seed(0)
    grid = torch.cartesian_prod(*[torch.linspace(0, 1, 41)] * 2)
    grid = torch.cat([grid, 1 - grid.sum(1, keepdim=True)], 1)
    grid = grid[(grid >= 0).all(1)]
    for b in torch.randn(20, 3):
        found = on_simplex(b)
        assert float(found.sum()) == pytest.approx(1)
        assert float((found - b).norm()) <= float((grid - b).norm(dim=1).min()) + 1e-6


def test_views_that_are_harder_to_match_are_drawn_more_often() -> None:
    """Features that are all masked make a graph hard to recognise; the graph itself is easy."""
    method = build(*TWO, "epochs=4")
    settings = settings_of("joao", *TWO, "epochs=4")
    epochs = pretrain(method, GRAPHS, settings.train)
    next(epochs)
    assert method.chance.tolist() == [0.5, 0.5]
    list(epochs)
    assert float(method.chance[1]) > 0.6


def test_pairs_are_drawn_as_often_as_the_distribution_says(monkeypatch: pytest.MonkeyPatch) -> None:
    method, many = build(), GRAPHS.take(torch.zeros(4000, dtype=torch.long))
    chance = torch.zeros(len(method.chance))
    chance[[1, 6, 7]] = torch.tensor([0.5, 0.2, 0.3])
    method.chance.copy_(chance)
    drawn: list[torch.Tensor] = []
    monkeypatch.setattr(method, "contrast", lambda graphs, pair: drawn.append(pair))
    list(method.losses(many, Progress()))
    shares = torch.bincount(drawn[0], minlength=len(chance)) / 4000
    torch.testing.assert_close(shares, chance, atol=0.03, rtol=0)
    assert bool((shares[chance == 0] == 0).all())


def test_without_choices_it_is_graphcl() -> None:
    method = build("views.first=[]", "views.second=[{name = 'MaskFeatures', p = 1.0}]").train()
    (found,) = method.losses(GRAPHS, Progress())
    z1, z2 = (method.heads[0](method.embed(view(GRAPHS))) for view in (Identity(), MaskFeatures(1.0)))
    torch.testing.assert_close(found, graphcl_loss(z1, z2))


def test_each_row_goes_through_the_head_of_its_view() -> None:
    views = "[{name = 'Identity'}, {name = 'DropNodes'}]"
    method = build(f"views.first={views}", f"views.second={views}", "heads=per_view")
    assert method.sides == [(Identity(), DropNodes()), (Identity(), DropNodes())]
    assert len(method.heads) == 2
    assert method.head_of.tolist() == [[0, 0, 1, 1], [0, 1, 0, 1]]
    r, which = torch.randn(3, method.encoder.units), torch.tensor([1, 0, 1])
    found = method.project(r, which)
    for row, head, out in zip(r, which.tolist(), found, strict=True):
        torch.testing.assert_close(method.heads[head](row[None])[0], out)


def test_version_two_trains_and_reaches_every_head() -> None:
    method = build("heads=per_view").train()
    (loss,) = method.losses(GRAPHS, Progress())
    loss.backward()
    assert len(method.heads) == 4
    assert all(p.grad is not None for p in method.parameters())


def test_estimating_leaves_the_statistics_of_batch_norm_alone() -> None:
    method = build().train()
    before = {name: value.clone() for name, value in method.encoder.state_dict().items()}
    with torch.no_grad():
        method.survey(iter([GRAPHS, GRAPHS]), Progress(epoch=2, step=2, epochs=4, steps=8))
    assert method.training
    assert all(torch.equal(value, before[name]) for name, value in method.encoder.state_dict().items())
    assert float(method.chance.sum()) == pytest.approx(1)


@pytest.mark.parametrize("heads", ["shared", "per_view"])
def test_the_estimate_of_a_pair_is_the_loss_of_graphs_that_all_draw_it(heads: str) -> None:
    """Views without chance, so that both see the same."""
    views = "[{name = 'Identity'}, {name = 'MaskFeatures', p = 1.0}]"
    method = build(f"views.first={views}", f"views.second={views}", f"heads={heads}").eval()
    alone = [method.contrast(GRAPHS, torch.full((len(GRAPHS),), pair)) for pair in range(4)]
    torch.testing.assert_close(method.estimate(GRAPHS), torch.stack(alone))


def test_what_it_cannot_use_is_reported_in_one_line() -> None:
    with pytest.raises(SettingError, match="joao learns how often views are drawn; leave out their weights"):
        build("views.second=[{name = 'DropNodes', weight = 2}, {name = 'DropEdges'}]")
    with pytest.raises(SettingError, match="joao embeds graphs, not nodes; use level = graph"):
        build("level=node")
    with pytest.raises(SettingError, match="at least two graphs in a batch"):
        list(build().losses(GRAPHS.take(torch.tensor([0])), Progress()))
