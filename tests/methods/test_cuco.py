"""CuCo: negatives from easy to hard, never the graph itself, never beyond the bank; a bank that survives a stop."""

import math
from pathlib import Path
from typing import cast

import pytest
import torch

from nmrgcl.contrast import ranked_loss, ranked_negatives
from nmrgcl.errors import SettingError
from nmrgcl.methods import build_pretraining
from nmrgcl.methods.cuco import CuCo, reach
from nmrgcl.train import Progress, pretrain
from tests.examples import random_graphs
from tests.methods.members import GRAPHS, settings_of
from tests.train.stops import Stops


def build(*assignments: str) -> CuCo:
    return cast("CuCo", build_pretraining(settings_of("cuco", *assignments), GRAPHS.num_features))


def angles(*degrees: float) -> torch.Tensor:
    """Rows of length one at these angles."""
    turn = torch.tensor(degrees, dtype=torch.float64).deg2rad()
    return torch.stack([turn.cos(), turn.sin()], 1)


def test_ranks_go_from_easy_to_hard_and_leave_the_graph_itself_out() -> None:
    z, bank = angles(0), angles(60, 1, 180, 0, 90)
    found = ranked_negatives(z, 3.0 * bank, torch.tensor([3]), torch.tensor([0, 1, 2, 3]))
    assert found[0].tolist() == pytest.approx([math.cos(math.radians(d)) for d in (180, 90, 60, 1)])
    # Another graph's row takes part, however like it is.
    other = ranked_negatives(z, bank, torch.tensor([2]), torch.tensor([3]))
    assert float(other) == pytest.approx(1)


def test_the_loss_is_its_definition_as_slow_loops() -> None:
    torch.manual_seed(0)
    z1, z2, bank = (torch.randn(n, 3, dtype=torch.float64) for n in (4, 4, 9))
    own, ranks, tau = torch.tensor([8, 0, 3, 5]), torch.tensor([6, 0, 6]), 0.3
    cos = torch.nn.functional.cosine_similarity
    total = 0.0
    for i in range(4):
        ranked = sorted(float(cos(z1[i], bank[j], dim=0)) for j in range(9) if j != int(own[i]))
        positive = math.exp(float(cos(z1[i], z2[i], dim=0)) / tau)
        total -= math.log(positive / (positive + sum(math.exp(ranked[int(r)] / tau) for r in ranks)))
    found = ranked_loss(z1, z2, ranked_negatives(z1, bank, own, ranks), tau=tau)
    assert float(found) == pytest.approx(total / 4, abs=1e-9)


def test_the_curriculum_reaches_from_the_easiest_negatives_to_all() -> None:
    """√(e / E) of the 99 others, and at least one."""
    assert [reach(99, epoch, 20) for epoch in (5, 20)] == pytest.approx([99 / 2, 99])
    grown = [reach(99, epoch, 20) for epoch in range(1, 21)]
    assert grown == sorted(grown)
    assert reach(2, 1, 500) == 1


def test_negatives_get_harder_as_epochs_go_by() -> None:
    """With the same weights and bank, the mean similarity of what is drawn rises with the epoch."""
    torch.manual_seed(0)
    z, bank, own = torch.randn(1, 8), torch.randn(400, 8), torch.tensor([0])
    means = []
    for epoch in (1, 5, 10, 20):
        ranks = (torch.rand(2000) * reach(399, epoch, 20)).long()
        means.append(float(ranked_negatives(z, bank, own, ranks).mean()))
    assert means == sorted(means)
    assert means[-1] > means[0] + 0.3


@pytest.mark.parametrize("epoch", [1, 3])
def test_no_rank_is_beyond_the_bank_and_no_graph_is_its_own_negative(
    epoch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = build("negatives=500").train()
    batches = [GRAPHS.take(torch.tensor(part)) for part in ([5, 0, 3], [2, 7])]
    with torch.no_grad():
        method.survey(iter(batches), Progress(epoch=epoch, step=0, epochs=3, steps=6))
    seen: list[tuple[list[int], torch.Tensor]] = []

    def note(z: torch.Tensor, bank: torch.Tensor, own: torch.Tensor, ranks: torch.Tensor) -> torch.Tensor:
        seen.append((own.tolist(), ranks))
        return ranked_negatives(z, bank, own, ranks)

    monkeypatch.setattr("nmrgcl.methods.cuco.ranked_negatives", note)
    for batch in batches:
        list(method.losses(batch, Progress()))
    assert [own for own, _ in seen] == [[0, 1, 2], [3, 4]]
    assert len(method.bank) == 5
    largest = max(int(ranks.max()) for _, ranks in seen)
    assert largest == (3 if epoch == 3 else 2)  # of the ranks 0 to 3: below 4, and below 4 · √⅓ = 2.3


def test_the_row_of_a_graph_is_its_own_projection() -> None:
    method = build("views.second=[]").eval()
    batches = [GRAPHS.take(torch.tensor(part)) for part in ([5, 0], [2, 7])]
    with torch.no_grad():
        method.survey(iter(batches), Progress())
        for number, batch in enumerate(batches):
            torch.testing.assert_close(method.head(method.embed(batch)), method.bank[2 * number : 2 * number + 2])


@pytest.mark.parametrize("at", [1, 2, 3, 4, 5])
def test_a_training_that_is_interrupted_continues_bit_for_bit_with_its_bank(tmp_path: Path, at: int) -> None:
    settings, memory = settings_of("cuco"), Stops(tmp_path, at)
    whole = build()
    losses = [epoch.loss for epoch in pretrain(whole, GRAPHS, settings.train)]
    with pytest.raises(KeyboardInterrupt):
        list(pretrain(build(), GRAPHS, settings.train, memory=memory))
    method = build()
    again = [epoch.loss for epoch in pretrain(method, GRAPHS, settings.train, memory=memory)]
    assert again == losses[len(losses) - len(again) :]
    for name, value in whole.state_dict().items():
        assert torch.equal(method.state_dict()[name], value), name


def test_a_trained_model_loads_into_a_fresh_one() -> None:
    trained, fresh = build(), build()
    list(pretrain(trained, GRAPHS, settings_of("cuco").train))
    assert len(trained.bank) == len(GRAPHS)
    fresh.load_state_dict(trained.state_dict())
    assert torch.equal(fresh.bank, trained.bank)
    with pytest.raises(RuntimeError, match="size mismatch for bank"):
        build("head_units=3").load_state_dict(trained.state_dict())


def test_a_last_graph_that_is_alone_has_no_row() -> None:
    method = build()
    list(pretrain(method, random_graphs([4] * 9, categorical=True), settings_of("cuco").train))
    assert len(method.bank) == 8


def test_what_it_cannot_use_is_reported_in_one_line() -> None:
    with pytest.raises(SettingError, match="needs a bank of at least two graphs; call survey first"):
        list(build().losses(GRAPHS, Progress()))
    with pytest.raises(SettingError, match="cuco embeds graphs, not nodes; use level = graph"):
        build("level=node")


def test_a_step_may_be_rehearsed_more_often_than_there_are_batches() -> None:
    """Recording a step does that; no row lies behind the last one of the bank."""
    method = build()
    with torch.no_grad():
        method.survey(iter([GRAPHS]), Progress())
        for _ in range(3):
            (loss,) = method.losses(GRAPHS, Progress())
            assert loss.isfinite()
