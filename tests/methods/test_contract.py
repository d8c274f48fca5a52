"""What every method promises; a new file in ``methods/`` is picked up by itself."""

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
import torch
from torch import nn

from nmrgcl.augment import build_view
from nmrgcl.contrast import infonce
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Level, Pretraining, build_pretraining, build_untrained, find_method
from nmrgcl.settings import TrainSettings
from nmrgcl.train import Progress, pretrain
from nmrgcl.train.progress import Unreadable
from tests.methods.members import DATA, GRAPHS, MEMBERS, NETWORK, data_of, known_here, settings_of


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    with known_here():
        yield


def train(name: str, graphs: Graphs, *assignments: str, level: Level = "graph") -> tuple[Pretraining, list[float]]:
    settings = settings_of(name, *assignments, level=level)
    method = build_pretraining(settings, graphs.num_features)
    return method, [epoch.loss for epoch in pretrain(method, graphs, settings.train, seed=settings.seed)]


def surveyed(name: str, level: Level) -> Pretraining:
    """As it is when the first batch comes."""
    method = build_pretraining(settings_of(name, level=level), data_of(name, level).num_features).train()
    with torch.no_grad():
        method.survey(iter([data_of(name, level)]), Progress())
    return method


@pytest.fixture(params=MEMBERS, ids=[" of ".join(member) for member in MEMBERS])
def member(request: pytest.FixtureRequest) -> tuple[str, Level]:
    found: tuple[str, Level] = request.param
    return found


def test_training_is_finite_and_changes_the_encoder(member: tuple[str, Level]) -> None:
    name, level = member
    method, losses = train(name, data_of(name, level), level=level)
    settings = settings_of(name, level=level)
    assert len(losses) == settings.train.epochs
    assert all(torch.isfinite(torch.tensor(losses)))
    fresh = build_pretraining(settings, data_of(name, level).num_features)
    moved = any(not torch.equal(a, b) for a, b in zip(method.parameters(), fresh.parameters(), strict=True))
    assert moved == (settings.train.epochs > 0)


def test_every_parameter_is_reached_by_a_loss_of_its_own_player(member: tuple[str, Level]) -> None:
    name, level = member
    method = surveyed(name, level)
    players = [] if name == "untrained" else method.optimisers(TrainSettings())
    losses = 0
    for player, loss in zip(players, method.losses(data_of(name, level), Progress()), strict=False):
        method.zero_grad()
        loss.backward()
        assert all(p.grad is not None for p in player.parameters)
        losses += 1
    assert losses == len(players)
    assert name == "untrained" or sum(len(player.parameters) for player in players) == len(list(method.parameters()))


def test_what_is_recorded_does_not_depend_on_progress(member: tuple[str, Level]) -> None:
    name, level = member
    method = surveyed(name, level)
    if method.CAPTURABLE:
        list(method.losses(data_of(name, level), Unreadable()))


def test_a_seed_repeats_bit_for_bit_whatever_happens_between(member: tuple[str, Level]) -> None:
    name, level = member
    a, losses_a = train(name, data_of(name, level), level=level)
    torch.rand(17)
    b, losses_b = train(name, data_of(name, level), level=level)
    assert losses_a == losses_b
    assert all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))
    c, _ = train(name, data_of(name, level), "seed=1", level=level)
    assert any(not torch.equal(x, y) for x, y in zip(a.parameters(), c.parameters(), strict=True))


@pytest.mark.parametrize("name", [name for name, level in MEMBERS if level == "graph"])
def test_embeddings_come_one_per_graph_and_do_not_depend_on_the_batch(name: str) -> None:
    graphs = data_of(name)
    method, _ = train(name, graphs)
    method.eval()
    with torch.no_grad():
        z = method.embed(graphs)
        parts = torch.cat([method.embed(graphs.take(torch.tensor([i]))) for i in range(len(graphs))])
    assert z.shape == (len(graphs), method.width)
    torch.testing.assert_close(parts, z, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("name", [name for name, level in MEMBERS if level == "node"])
def test_embeddings_come_one_per_node_and_do_not_depend_on_the_order_of_nodes(name: str) -> None:
    method, _ = train(name, NETWORK, level="node")
    order = torch.randperm(40)
    renamed = Graphs.build(torch.argsort(order)[NETWORK.edge_index], NETWORK.node_ptr, x=NETWORK.x[order])
    with torch.no_grad():
        z = method.eval().embed(NETWORK)
        torch.testing.assert_close(method.embed(renamed), z[order], atol=1e-3, rtol=1e-3)
    assert z.shape == (40, method.encoder.units)


@pytest.mark.parametrize("sampling", ["walk", "neighbours"])
@pytest.mark.parametrize("name", [name for name, level in MEMBERS if level == "node" and name != "untrained"])
def test_nodes_are_learned_from_parts_of_their_graph(name: str, sampling: str) -> None:
    losses = train(name, NETWORK, f"sampling={sampling}", "batch_size=16", "fanout=2", level="node")[1]
    assert len(losses) == 3
    assert all(torch.isfinite(torch.tensor(losses)))


def test_the_encoder_starts_from_the_same_weights_as_the_untrained_one(member: tuple[str, Level]) -> None:
    name, level = member
    settings, width = settings_of(name, level=level), data_of(name, level).num_features
    ours = build_pretraining(settings, width).encoder.state_dict()
    untrained = build_untrained(settings, width).encoder.state_dict()
    assert all(torch.equal(ours[key], untrained[key]) for key in untrained)


def test_the_untrained_baseline_is_the_method_itself_before_training(member: tuple[str, Level]) -> None:
    """For methods whose embeddings are the encoder's that is the encoder as it is initialised, to the bit."""
    name, level = member
    settings, graphs = settings_of(name, level=level), data_of(name, level)
    encoder = build_pretraining(settings.updated({"method": "untrained"}), graphs.num_features).eval()
    with torch.no_grad():
        found = build_untrained(settings, graphs.num_features).eval().embed(graphs)
        ours = build_pretraining(settings, graphs.num_features).eval().embed(graphs)
        assert torch.equal(found, ours)
        assert torch.equal(found, encoder.embed(graphs)) == (name not in ("gcc", "merit", "mvgrl"))


def test_a_method_says_what_it_can_embed() -> None:
    with pytest.raises(SettingError, match="graphcl embeds graphs, not nodes; use level = graph"):
        build_pretraining(settings_of("graphcl", "level=node"), 4)
    with pytest.raises(SettingError, match=r"dgi embeds nodes, not graphs; use level = node \(--preset dgi\)"):
        build_pretraining(settings_of("dgi", "level=graph", level="node"), 4)


@pytest.mark.parametrize("view", ["DropNodes", "Subgraph", "AddEdges"])
def test_only_nodes_that_both_views_keep_are_pairs(view: str) -> None:
    settings = settings_of("nmrgcl", f"views.first={view}", "views.second=DropNodes", level="node")
    method = build_pretraining(settings, NETWORK.num_features)
    first, second = (build_view([{"name": name}])(NETWORK) for name in (view, "DropNodes"))
    assert second.node_keep is not None
    kept = second.node_keep if first.node_keep is None else first.node_keep & second.node_keep
    r1, r2 = method.embed_pair(first, second)
    assert r1.shape == r2.shape == (int(kept.sum()), 8)
    # A kept node has the embedding that the view as a graph of its own gives it.
    alone = method.encoder(second.compact())
    torch.testing.assert_close(r2, alone[kept[second.node_keep]], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("end", ["", "METHOD = None\n", "METHOD = int\n"])
def test_a_file_that_names_no_method_is_reported_in_one_line(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("nmrgcl.methods.broken")
    module.__file__ = "methods/broken.py"
    exec(end, module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with pytest.raises(SettingError, match=r"methods/broken\.py: defines no method; end it with METHOD ="):
        find_method("broken")


def test_an_unknown_method_offers_the_nearest() -> None:
    with pytest.raises(SettingError, match="nmrgcl"):
        find_method("nmrgl")


@pytest.mark.parametrize("level", ["graph", "node"])
@pytest.mark.parametrize("where", ["projection", "representation"])
@pytest.mark.parametrize("kind", ["none", "non_maximum", "both", "random", "non_minimum", "learned"])
def test_every_removal_setting_trains(kind: str, where: str, level: Level) -> None:
    changed = (f"removal={kind}", f"where={where}", "head_units=5")
    _, losses = train("nmrgcl", DATA[level], *changed, level=level)
    assert all(torch.isfinite(torch.tensor(losses)))


def test_removing_nothing_is_the_plain_loss() -> None:
    """δ ≥ 1 and the setting ``none`` are the same training, at both places."""
    plain = train("nmrgcl", GRAPHS, "removal=none")[1]
    for where in ("projection", "representation"):
        assert train("nmrgcl", GRAPHS, "delta=1.0", f"where={where}")[1] == pytest.approx(plain, rel=1e-4)
    assert train("nmrgcl", GRAPHS, "delta=0.3")[1] != pytest.approx(plain, rel=1e-3)


def test_grace_is_the_plain_loss_at_node_level() -> None:
    """Eq. 14 without its mask, but for the activation inside the head."""
    method = build_pretraining(settings_of("grace", level="node"), NETWORK.num_features)
    assert isinstance(method.head, nn.Sequential)
    torch.manual_seed(1)
    (found,) = method.losses(NETWORK, Progress())
    torch.manual_seed(1)
    z1, z2 = (method.head(method.embed(view(NETWORK))) for view in method.views)
    torch.testing.assert_close(found, infonce(z1, z2, tau=0.7))


def test_merits_teacher_follows_after_each_step() -> None:
    method = build_pretraining(settings_of("merit", level="node"), NETWORK.num_features)
    bias = method.encoder.get_parameter("layers.0.bias")
    start = bias.detach().clone()
    for _ in method.losses(NETWORK, Progress()):
        with torch.no_grad():
            bias.add_(1.0)
    taught = method.state_dict()["teachers.0.layers__0__bias"]
    torch.testing.assert_close(taught, start + 0.2)


@pytest.mark.parametrize("name", [name for name, level in MEMBERS if level == "graph"])
def test_a_view_that_does_not_exist_is_refused_even_where_none_is_used(name: str) -> None:
    with pytest.raises(SettingError, match="unknown view 'Foo'"):
        build_pretraining(settings_of(name, "views.second=Foo"), 4)
