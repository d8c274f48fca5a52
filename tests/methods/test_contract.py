"""What every method promises; a new file in ``methods/`` is picked up by itself."""

from dataclasses import replace

import pytest
import torch

from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Method, build_method, find_method, method_names
from nmrgcl.settings import Settings, resolve
from nmrgcl.train import pretrain
from tests.examples import random_graphs

GRAPHS = random_graphs([6, 1, 9, 4, 0, 7, 5, 8], density=0.4, categorical=True)


def settings_of(name: str, *assignments: str) -> Settings:
    small = ["encoder.layers=2", "encoder.units=8", "batch_size=4", *assignments]
    if "train.epochs" not in find_method(name).FIXED:
        small.append("epochs=3")
    return resolve("graphcl", assignments=small, method=name, fixed=find_method(name).FIXED)


def train(name: str, graphs: Graphs, *assignments: str) -> tuple[Method, list[float]]:
    settings = settings_of(name, *assignments)
    method = build_method(settings, graphs.num_features)
    return method, [epoch.loss for epoch in pretrain(method, graphs, settings.train, seed=settings.seed)]


@pytest.fixture(params=method_names())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_training_is_finite_and_changes_the_encoder(name: str) -> None:
    method, losses = train(name, GRAPHS)
    settings = settings_of(name)
    assert len(losses) == settings.train.epochs
    assert all(torch.isfinite(torch.tensor(losses)))
    fresh = build_method(settings, GRAPHS.num_features)
    moved = any(not torch.equal(a, b) for a, b in zip(method.parameters(), fresh.parameters(), strict=True))
    assert moved == (settings.train.epochs > 0)


def test_every_parameter_is_reached_by_the_loss(name: str) -> None:
    method = build_method(settings_of(name), GRAPHS.num_features).train()
    for loss in method.losses(GRAPHS):
        loss.backward()
        assert all(p.grad is not None for p in method.parameters())


def test_a_seed_repeats_bit_for_bit_whatever_happens_between(name: str) -> None:
    a, losses_a = train(name, GRAPHS)
    torch.rand(17)
    b, losses_b = train(name, GRAPHS)
    assert losses_a == losses_b
    assert all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))
    c, _ = train(name, GRAPHS, "seed=1")
    assert any(not torch.equal(x, y) for x, y in zip(a.parameters(), c.parameters(), strict=True))


def test_embeddings_come_one_a_graph_and_do_not_depend_on_the_batch(name: str) -> None:
    method, _ = train(name, GRAPHS)
    method.eval()
    with torch.no_grad():
        z = method.embed(GRAPHS)
        parts = torch.cat([method.embed(GRAPHS.take(torch.tensor([i]))) for i in range(len(GRAPHS))])
    assert z.shape == (len(GRAPHS), method.encoder.units)
    torch.testing.assert_close(parts, z, atol=1e-5, rtol=1e-4)


def test_the_encoder_starts_from_the_same_weights_as_the_untrained_one(name: str) -> None:
    ours = build_method(settings_of(name), GRAPHS.num_features).encoder.state_dict()
    untrained = build_method(replace(settings_of(name), method="untrained"), GRAPHS.num_features).encoder.state_dict()
    assert all(torch.equal(ours[key], untrained[key]) for key in untrained)


def test_a_method_fixes_what_makes_it_what_it_is() -> None:
    with pytest.raises(SettingError, match="graphcl means removal.kind = 'none'"):
        settings_of("graphcl", "removal.kind=both")


def test_an_unknown_method_offers_the_nearest() -> None:
    with pytest.raises(SettingError, match="nmrgcl"):
        find_method("nmrgl")


@pytest.mark.parametrize("where", ["projection", "representation"])
@pytest.mark.parametrize("kind", ["none", "non_maximum", "both", "random", "non_minimum", "learned"])
def test_every_removal_setting_trains(kind: str, where: str) -> None:
    _, losses = train("nmrgcl", GRAPHS, f"removal.kind={kind}", f"removal.where={where}", "head.units=5")
    assert all(torch.isfinite(torch.tensor(losses)))


def test_removing_nothing_is_the_plain_loss() -> None:
    """δ ≥ 1 and the setting ``none`` are the same training, at both places."""
    plain = train("nmrgcl", GRAPHS, "removal.kind=none")[1]
    for where in ("projection", "representation"):
        assert train("nmrgcl", GRAPHS, "delta=1.0", f"removal.where={where}")[1] == pytest.approx(plain, rel=1e-4)
    assert train("nmrgcl", GRAPHS, "delta=0.3")[1] != pytest.approx(plain, rel=1e-3)
