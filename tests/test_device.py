"""What only a GPU can show: the same results there, and no step that waits for the host."""

import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from bench.molecules import bonded_molecules
from nmrgcl.augment import VIEWS, AddEdges, Compose, DropEdges, DropNodes, MaskFeatures, OneOf
from nmrgcl.data.conversions import to_pyg
from nmrgcl.data.splits import Split
from nmrgcl.encode import GCN, GIN, EdgeShape, MoleculeGIN, build_encoder, pool
from nmrgcl.errors import NonFiniteError
from nmrgcl.evaluate.finetune import Classifier, Task, finetune_scores
from nmrgcl.evaluate.goals import GOALS
from nmrgcl.evaluate.metrics import average_precision, mae, rmse, roc_auc
from nmrgcl.graphs import Graphs, Room
from nmrgcl.methods import build_pretraining, find_method, method_names
from nmrgcl.ops import batch, masks, new_edges, walk
from nmrgcl.ops.forms import switched_off
from nmrgcl.run.recipe import recipe, with_encoder
from nmrgcl.settings import FinetuneSettings, TrainSettings, resolve
from nmrgcl.store import open_store, write_store
from nmrgcl.train import Optimiser, Progress, Trainable, pretrain
from nmrgcl.train.feed import batches
from nmrgcl.train.feed.chunks import Chunks
from nmrgcl.train.feed.resident import Resident
from nmrgcl.train.recording import CapturedStep, Recording
from nmrgcl.train.state import TrainingState
from nmrgcl.train.step import GuardedStep
from tests.examples import molecules_of, random_graphs, sparse_x, with_edge_attributes, with_edge_labels
from tests.methods.members import known_here
from tests.train.stops import Stops

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")

NODE_METHODS = [name for name in method_names() if "node" in find_method(name).PRESETS and name != "untrained"]
GRAPHS = random_graphs([6, 1, 9, 4, 0, 7, 5, 8] * 4, density=0.4, categorical=True)


@contextmanager
def no_waiting() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the mode calls itself a prototype
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_a_batch_and_its_views_do_not_wait_for_the_host() -> None:
    graphs = GRAPHS.to("cuda")
    index = torch.randperm(len(GRAPHS))[:16]
    graphs.take(index)  # the host's copy of the pointers is made once
    every = OneOf(*(view() for view in VIEWS.values()))
    with no_waiting():
        seen = every(graphs.take(index))
    assert bool((seen.node_counts().cpu() > 0).equal(graphs.take(index).node_counts().cpu() > 0))


@pytest.mark.parametrize("operation", [batch, masks, new_edges, walk])
def test_the_plain_forms_do_not_wait_either(operation: Any) -> None:
    graphs, every = GRAPHS.to("cuda"), OneOf(*(view() for view in VIEWS.values()))
    with switched_off(*operation.FORMS[1:]):
        every(graphs.twice())
        with no_waiting():
            seen = every(graphs.twice()).merge_added()
    assert bool((seen.node_counts().cpu() > 0).equal(GRAPHS.twice().node_counts() > 0))


def test_new_edges_by_the_plain_form_can_be_recorded() -> None:
    graphs, edges, index = GRAPHS.to("cuda"), torch.zeros((), device="cuda"), torch.tensor([0, 2, 5, 6, 7, 8, 10, 13])

    def step(given: Graphs) -> None:
        edges.copy_(AddEdges(0.3)(given).merge_added().live_edges.sum())

    with switched_off(new_edges.KERNEL):
        recorded = CapturedStep(graphs, 8, step, [edges])
        recorded(index)
    assert int(edges) == AddEdges(0.3)(GRAPHS.take(index)).merge_added().live_edges.sum()


def drawing(place: torch.Tensor) -> Recording:
    def work() -> None:
        place.uniform_()

    return Recording(work, [place], place.device)


def test_old_recordings_are_not_collected_while_one_is_made() -> None:
    place = torch.zeros(8, device="cuda")
    old: list[Any] = [drawing(place) for _ in range(4)]
    for recording in old:
        recording.itself = recording  # only the collector can find it
    del recording
    thresholds = gc.get_threshold()

    def work() -> None:
        if torch.cuda.is_current_stream_capturing():
            old.clear()
            gc.set_threshold(1)
        kept = [[number] for number in range(1000)]  # enough for the collector to come
        place.add_(len(kept))

    try:
        made = Recording(work, [place], place.device)
    finally:
        gc.set_threshold(*thresholds)
    assert gc.isenabled()
    made.replay()
    assert place.tolist() == [1000.0] * 8


def test_a_recording_that_fails_leaves_the_device_usable() -> None:
    place, stream = torch.zeros(8, device="cuda"), torch.cuda.current_stream()

    def waits() -> None:
        place.uniform_()
        if torch.cuda.is_current_stream_capturing():
            place.sum().item()

    torch.cuda.manual_seed(3)
    with pytest.raises(RuntimeError):
        Recording(waits, [place], place.device)
    assert torch.cuda.current_stream() == stream
    assert gc.isenabled()
    assert not place.any()
    torch.cuda.synchronize()
    drawn = torch.rand(4, device="cuda").tolist()
    torch.cuda.manual_seed(3)
    assert torch.rand(4, device="cuda").tolist() == drawn
    recording = drawing(place)
    recording.replay()
    first = place.tolist()
    recording.replay()
    assert min(first) > 0
    assert first != place.tolist()


def spread(shape: tuple[int, ...], device: torch.device) -> Tensor:
    """Numbers between 0 and 1 that are the same on every device and in every recording."""
    numbers = torch.arange(torch.Size(shape).numel(), device=device, dtype=torch.float64)
    return (numbers * 0.6180339887).remainder(1).float().view(shape)


@pytest.fixture
def drawn_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """What methods themselves draw, hidden nodes and negatives, does not depend on the device."""
    rand, randint = torch.rand, torch.randint

    def numbers(*size: Any, **options: Any) -> Tensor:
        return spread(size, **options) if set(options) == {"device"} else rand(*size, **options)

    def integers(*bounds: Any, **options: Any) -> Tensor:
        if set(options) != {"device"}:
            return randint(*bounds, **options)
        low, high, size = bounds
        return low + (spread(size, **options) * (high - low)).long()

    monkeypatch.setattr(torch, "rand", numbers)
    monkeypatch.setattr(torch, "rand_like", lambda like: spread(tuple(like.shape), like.device))
    monkeypatch.setattr(torch, "randint", integers)


@pytest.mark.usefixtures("drawn_alike")
@pytest.mark.parametrize("name", NODE_METHODS)
@pytest.mark.parametrize("form", [lambda g: g, sparse_x], ids=["dense", "sparse"])
def test_a_step_on_nodes_does_not_wait_for_the_host_and_equals_the_cpus(
    name: str, form: Callable[[Graphs], Graphs]
) -> None:
    network = form(random_graphs([300], density=0.03, features=12))
    views = ["views.first=Identity", "views.second=Identity"]
    settings = recipe(name, level="node", assignments=["encoder.units=16", "encoder.dropout=0", *views])
    losses = []
    for device in ("cpu", "cuda"):
        method, graphs = build_pretraining(settings, 12).to(device).train(), network.to(device)
        if name in ("dgi", "mvgrl"):
            method.shuffle = MaskFeatures(1.0)  # type: ignore[assignment]
        if name in ("merit", "mvgrl"):  # as on a GPU, where a walk leaves nothing out
            method.diffuse.options["accuracy"] = 0.0  # type: ignore[union-attr,index,operator]
        for waiting in (True, False):  # the first step allocates and diffuses
            with torch.enable_grad() if waiting or device == "cpu" else no_waiting():
                (loss,) = method.losses(graphs, Progress())
                loss.backward()
        losses.append(float(loss.detach()))
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


class Summing(nn.Module):
    """A network that knows neither masks nor this library."""

    def __init__(self, in_channels: int, hidden_channels: int) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(in_channels, hidden_channels), nn.BatchNorm1d(hidden_channels)

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        h = self.linear(x)
        h = self.norm(h.index_add(0, edge_index[1], h[edge_index[0]]))
        return h.relu()


@pytest.mark.parametrize("name", ["graphcl", "nmrgcl", "grace", "dgi", "cca_ssg"])
def test_a_network_of_the_users_trains_as_on_the_cpu(name: str) -> None:
    """It is not recorded, since views are compacted for it; nobody is warned of that."""
    level = "node" if "graph" not in find_method(name).PRESETS else "graph"
    same = ["views.first=Identity", "views.second=Identity"]  # chance differs between devices
    small = with_encoder(["encoder.units=16", "epochs=2", "patience=0", "batch_size=64", *same], Summing)
    settings = recipe(name, level=level, assignments=small)
    graphs, found = GRAPHS if level == "graph" else random_graphs([40], density=0.1), []
    for device in ("cpu", "cuda"):
        method = build_pretraining(settings, graphs.num_features).to(device)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            losses = [epoch.loss for epoch in pretrain(method, graphs.to(device), settings.train)]
        assert np.isfinite(losses).all()
        found.append((losses, method.eval()))
    if name != "dgi":  # which shuffles nodes by chance
        assert found[1][0] == pytest.approx(found[0][0], rel=1e-3)
    view = DropNodes(0.3)(graphs)
    with torch.no_grad():
        ours = found[1][1].embed(view.to("cuda")).cpu()
        torch.testing.assert_close(ours, found[1][1].cpu().embed(view), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("goal", ["classes", "binary", "numbers"])
@pytest.mark.parametrize("level", ["graph", "node"])
def test_recorded_fine_tuning_is_the_ordinary_one(level: Literal["graph", "node"], goal: str) -> None:
    graphs = (
        random_graphs([5, 6, 7, 8] * 20, density=0.4) if level == "graph" else random_graphs([80], density=0.1)
    ).to("cuda")
    y, numbers = np.arange(80) % 2, np.random.default_rng(0).permutation(80)
    if goal != "classes":  # two tasks, the second with labels missing
        y = np.stack([y, np.where(np.arange(80) % 5 > 0, 1 - y, np.nan)], 1)
    split = Split(numbers[:50], numbers[50:65], numbers[65:])  # batches of 16 and one of 2
    states, scores = [], []
    for capture in (True, False):
        torch.manual_seed(0)
        tasks = []
        for lr in (1e-2, 1e-3, 3e-3):  # side by side
            encoder = (GIN if level == "graph" else GCN)(graphs.num_features, layers=2, units=16).to("cuda")
            embed = (lambda g, e=encoder: pool(e(g), g, "sum")) if level == "graph" else encoder
            model = Classifier(encoder, embed, 32 if level == "graph" else 16, 2, 0.0, normalise=level == "graph")
            scale = 1.0 if goal == "classes" else 5.0
            halve = 2 if lr == 3e-3 else 0
            options = FinetuneSettings(3, lr, halve, weight_decay=1e-4, patience=0, head_lr_scale=scale)
            tasks.append(Task(model.to("cuda"), split, options))
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a step that could not be recorded would warn
            scores += finetune_scores(tasks, graphs, y, level=level, batch_size=16, goal=GOALS[goal], capture=capture)
        states.append([task.model.state_dict() for task in tasks])
    assert all(score.epoch > 0 for score in scores)
    for recorded, ordinary in zip(*states, strict=True):
        for name, value in ordinary.items():
            torch.testing.assert_close(recorded[name].float(), value.float(), rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("metric", [roc_auc, average_precision, rmse, mae])
def test_metrics_are_those_of_the_cpu_and_do_not_wait_for_the_host(metric: Callable[[Tensor, Tensor], Tensor]) -> None:
    torch.manual_seed(0)
    scores, labels = torch.randn(200, 12).round(decimals=1), torch.randint(0, 2, (200, 12)).float()
    labels[torch.rand(200, 12) < 0.2] = torch.nan
    there = scores.to("cuda"), labels.to("cuda")
    with no_waiting():
        found = metric(*there).nanmean()
    torch.testing.assert_close(found.cpu(), metric(scores, labels).nanmean())


def test_a_training_step_does_not_wait_for_the_host() -> None:
    graphs = GRAPHS.to("cuda")
    method = build_pretraining(resolve("graphcl"), graphs.num_features).to("cuda").train()
    optimiser = torch.optim.Adam(method.parameters(), fused=True)
    index = torch.arange(len(GRAPHS))
    for waiting in (True, False):  # the first step allocates
        with no_waiting() if not waiting else torch.enable_grad():
            for loss in method.losses(graphs.take(index), Progress()):
                loss.backward()
                optimiser.step()


def test_masked_on_the_gpu_equals_compacted_on_the_cpu() -> None:
    torch.manual_seed(0)
    view = OneOf(*(v() for v in VIEWS.values()))(GRAPHS)
    encoder = GIN(4, layers=3, units=32)
    expected = pool(encoder(view.compact()), view.compact(), "sum")
    encoder = encoder.to("cuda")
    for layer in encoder.layers:
        layer.norm.running_mean.zero_()  # type: ignore[union-attr,operator]
    on_gpu = view.to("cuda")
    torch.testing.assert_close(pool(encoder(on_gpu), on_gpu, "sum").cpu(), expected, atol=2e-3, rtol=1e-3)


def test_deterministic_training_repeats_bit_for_bit() -> None:
    settings = resolve("graphcl", assignments=["deterministic=true", "epochs=3", "batch_size=8"])
    states = []
    for _ in range(2):
        method = build_pretraining(settings, GRAPHS.num_features).to("cuda")
        list(pretrain(method, GRAPHS.to("cuda"), settings.train))
        states.append(method.state_dict())
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])


@pytest.mark.parametrize("at", [1, 4, 6, 11])
def test_a_deterministic_training_that_is_resumed_equals_one_that_was_not(tmp_path: Path, at: int) -> None:
    settings = resolve("graphcl", assignments=["deterministic=true", "epochs=3", "batch_size=8"])
    states = []
    for memory in (None, Stops(tmp_path, at)):
        for _ in range(2 if memory else 1):
            method = build_pretraining(settings, GRAPHS.num_features).to("cuda")
            with suppress(KeyboardInterrupt):
                list(pretrain(method, GRAPHS.to("cuda"), settings.train, memory=memory))
        states.append(method.state_dict())
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])


def test_the_guard_against_numbers_that_are_not_finite_does_not_wait_either() -> None:
    graphs = GRAPHS.to("cuda")
    settings = resolve("graphcl")
    method = build_pretraining(settings, graphs.num_features).to("cuda").train()
    poison = torch.ones((), device="cuda")
    honest = method.losses
    method.losses = lambda batch, progress: (loss * poison for loss in honest(batch, progress))  # type: ignore[method-assign,assignment]
    step = GuardedStep(method, method.optimisers(settings.train), TrainingState().to(graphs.device))
    index = torch.arange(len(GRAPHS))
    before = []
    for number in range(3):
        poison.fill_(float("nan") if number == 1 else 1.0)
        with no_waiting() if number else torch.enable_grad():
            step(graphs.take(index))
        before.append([p.detach().clone() for p in method.parameters()])
    # The second batch was poisoned: it and all after it leave the weights alone.
    assert all(map(torch.equal, before[0], before[1]))
    assert all(map(torch.equal, before[0], before[2]))
    with pytest.raises(NonFiniteError, match="epoch 1, batch 2"):
        step.check([index] * 3, settings.train)


def losses(assignments: list[str], **options: Any) -> tuple[list[float], dict[str, torch.Tensor]]:
    settings = resolve("graphcl", assignments=["epochs=4", "batch_size=8", *assignments])
    method = build_pretraining(settings, GRAPHS.num_features).to("cuda")
    found = [epoch.loss for epoch in pretrain(method, GRAPHS.to("cuda"), settings.train, **options)]
    return found, method.state_dict()


def test_recorded_steps_train_as_ordinary_ones_do() -> None:
    # Slowly: Adam's first steps follow the signs of gradients, also of those that are zero but for rounding.
    plain = ["lr=1e-5", 'views.first=[{name="Identity"}]', 'views.second=[{name="Identity"}]']
    ordinary, one = losses([*plain, "capture=false"])
    recorded, two = losses(plain)
    assert recorded == pytest.approx(ordinary, rel=1e-4)
    for key in one:
        torch.testing.assert_close(one[key], two[key], atol=2e-3, rtol=2e-3)


class Sliding(Trainable):
    """Its gradient is always 1, so that Adam moves by the learning rate."""

    level: Literal["graph", "node"] = "graph"

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(()))

    def optimisers(self, options: TrainSettings) -> list[Optimiser]:
        return [Optimiser(self.parameters(), lr=options.lr, schedule="linear", clip=5.0)]

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[torch.Tensor]:
        yield self.weight * 1.0


@pytest.mark.filterwarnings("error:steps are not recorded")
@pytest.mark.parametrize("capture", [True, False])
def test_recorded_steps_follow_the_schedule(capture: bool) -> None:
    method = Sliding().to("cuda")
    list(pretrain(method, GRAPHS.to("cuda"), TrainSettings(epochs=2, batch_size=8, lr=0.1, capture=capture)))
    # Eight steps at 1, 7/8, …, 1/8 of the rate.
    assert float(method.weight.detach()) == pytest.approx(1 - 0.1 * 4.5, abs=1e-4)


@pytest.mark.filterwarnings("error:steps are not recorded")
@pytest.mark.parametrize("name", ["two_players", "queued"])
def test_players_queues_and_teachers_are_recorded(name: str) -> None:
    found = []
    with known_here():
        for capture in ("true", "false"):
            chosen = ["epochs=4", "batch_size=8", "lr=1e-5", "views.first=Identity", f"capture={capture}"]
            settings = recipe(name, preset="graphcl", assignments=chosen)
            method = build_pretraining(settings, GRAPHS.num_features).to("cuda")
            losses = [epoch.loss for epoch in pretrain(method, GRAPHS.to("cuda"), settings.train)]
            found.append((losses, method.state_dict()))
    (recorded, one), (ordinary, two) = found
    assert recorded == pytest.approx(ordinary, rel=1e-3)
    for key in one:
        torch.testing.assert_close(one[key], two[key], atol=2e-3, rtol=2e-3)


@pytest.mark.usefixtures("drawn_alike")
@pytest.mark.filterwarnings("error:steps are not recorded")
@pytest.mark.parametrize("name", NODE_METHODS)
def test_recorded_steps_on_all_nodes_train_as_ordinary_ones_do(name: str) -> None:
    network = random_graphs([300], density=0.03, features=12).to("cuda")
    small = ["encoder.units=32", "encoder.dropout=0", "epochs=4", "lr=1e-5", "patience=0", "precision=float32"]
    found = []
    for capture in ("true", "false"):
        chosen = [*small, f"capture={capture}", "views.first=Identity", "views.second=Identity"]
        settings = recipe(name, level="node", assignments=chosen)
        method = build_pretraining(settings, 12).to("cuda")
        if name in ("dgi", "mvgrl"):
            method.shuffle = MaskFeatures(1.0)  # type: ignore[assignment]
        found.append([epoch.loss for epoch in pretrain(method, network, settings.train)])
    assert found[0] == pytest.approx(found[1], rel=1e-4)


@pytest.mark.filterwarnings("error:steps are not recorded")
def test_a_recorded_step_of_graphmae_hides_other_nodes_every_time() -> None:
    small = ["encoder.units=32", "encoder.dropout=0", "epochs=6", "train.lr=1e-9", "batch_size=16"]
    settings = recipe("graphmae", assignments=small)
    method = build_pretraining(settings, GRAPHS.num_features).to("cuda")
    losses = [epoch.loss for epoch in pretrain(method, GRAPHS.to("cuda"), settings.train)]
    assert np.isfinite(losses).all()
    assert np.ptp(losses) > 1e-3


OF_MOLECULES = ["attr_masking", "context_pred", "edge_pred", "graphcl", "graphmae", "infograph", "nmrgcl"]


@pytest.mark.filterwarnings("error:steps are not recorded")
@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize("name", OF_MOLECULES)
def test_recorded_steps_on_molecules_lower_the_loss_as_ordinary_ones_do(name: str, precision: str) -> None:
    """What is drawn differs between the two, so that losses agree in the mean of an epoch only."""
    graphs, found = bonded_molecules(512).to("cuda"), []
    small = ["encoder.layers=3", "encoder.units=36", "epochs=6", "batch_size=64", f"precision={precision}"]
    for capture in ("true", "false"):
        settings = recipe(name, level="molecule", assignments=[*small, f"capture={capture}"])
        method = build_pretraining(settings, graphs.num_features, (4, 2)).to("cuda")
        found.append([epoch.loss for epoch in pretrain(method, graphs, settings.train)])
    recorded, ordinary = found
    assert np.isfinite(found).all()
    assert recorded[-1] < recorded[0]
    assert len(set(recorded)) == 6
    assert recorded == pytest.approx(ordinary, rel=0.25, abs=0.05)


@pytest.mark.filterwarnings("error:steps are not recorded")
@pytest.mark.parametrize("change", [*(name for name in VIEWS if "Central" not in name), "representation"])
def test_steps_on_molecules_are_recorded_with_every_view(change: str) -> None:
    """Batches of 256, as in a pre-training: the rooms of recorded steps have padding in every one of them."""
    graphs = bonded_molecules(2048).to("cuda")
    view = f'[{{name="{change}"}}]'
    changed = (
        ["where=representation"] if change == "representation" else [f"views.first={view}", f"views.second={view}"]
    )
    small = ["encoder.layers=3", "epochs=3", "batch_size=256", "precision=bf16"]
    settings = recipe("nmrgcl", level="molecule", assignments=[*small, *changed])
    method = build_pretraining(settings, graphs.num_features, (4, 2)).to("cuda")
    assert np.isfinite([epoch.loss for epoch in pretrain(method, graphs, settings.train)]).all()


@pytest.mark.parametrize("name", ["attr_masking", "context_pred", "edge_pred"])
def test_a_step_on_molecules_does_not_wait_for_the_host(name: str) -> None:
    graphs = bonded_molecules(64).to("cuda")
    bonds = ["mask_bonds=true"] if name == "attr_masking" else []
    settings = recipe(name, assignments=["encoder.units=36", *bonds])
    method = build_pretraining(settings, graphs.num_features).to("cuda").train()
    index = torch.arange(64)
    for waiting in (True, False):  # the first step allocates
        with no_waiting() if not waiting else torch.enable_grad():
            for loss in method.losses(graphs.take(index), Progress()):
                loss.backward()


def test_edge_pred_is_the_same_on_either_device_where_all_other_pairs_are_drawn() -> None:
    rings = molecules_of(*[(5, [(i, (i + 1) % 5) for i in range(5)])] * 16)
    found = []
    for device in ("cpu", "cuda"):
        method = build_pretraining(recipe("edge_pred", assignments=["encoder.units=36"]), rings.num_features).to(device)
        (loss,) = method.train().losses(rings.to(device), Progress())
        loss.backward()
        assert method.encoder.atoms.weight.grad is not None  # type: ignore[union-attr]
        found.append((loss.detach().cpu(), method.encoder.atoms.weight.grad.cpu()))  # type: ignore[union-attr]
    torch.testing.assert_close(found[0], found[1], rtol=1e-3, atol=1e-3)


@pytest.mark.filterwarnings("error:steps are not recorded")
def test_a_recorded_step_on_all_nodes_sees_new_views_every_time() -> None:
    network = random_graphs([300], density=0.03, features=12).to("cuda")
    settings = recipe("grace", level="node", assignments=["epochs=6", "lr=1e-9", "patience=0"])
    epochs = pretrain(build_pretraining(settings, 12).to("cuda"), network, settings.train)
    assert len({epoch.loss for epoch in epochs}) == 6


def check_on_either_device(encoder: nn.Module, view: Graphs, dtype: torch.dtype) -> list[str]:
    """Embeddings and gradients agree on both; returns the names of the parameters that have a gradient."""
    results = []
    for place in ("cpu", "cuda"):
        encoder.zero_grad()
        for name, buffer in encoder.named_buffers():
            if "running" in name:
                buffer.fill_(float("var" in name))
        seen, there = view.to(place), encoder.to(place)
        with torch.autocast(place, torch.bfloat16, enabled=dtype == torch.bfloat16):
            z = pool(there(seen), seen, "mean").float()
        (z * torch.arange(z.numel(), device=place).reshape(z.shape).sin()).sum().backward()
        grads = {name: p.grad.cpu() for name, p in encoder.named_parameters() if p.grad is not None}
        results.append((z.detach().cpu(), grads))
    (expected, one), (found, two) = results
    tolerance = 1e-3 if dtype == torch.float32 else 0.1
    torch.testing.assert_close(found, expected, atol=tolerance, rtol=tolerance)
    for name, grad in one.items():
        assert float((two[name] - grad).norm() / (grad.norm() + 1e-6)) < 5 * tolerance, name
    return list(one)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_molecular_encoder_is_the_same_on_either_device(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    view = OneOf(*(v() for v in VIEWS.values()))(bonded_molecules(64))
    check_on_either_device(MoleculeGIN(view.num_features, layers=3, units=36).train(), view, dtype)


EDGED: list[tuple[Graphs, EdgeShape]] = [
    (with_edge_labels(GRAPHS, (3, 2)), (3, 2)),
    (with_edge_labels(GRAPHS, (400,)), (400,)),  # more than the kernel that looks names up takes
    (with_edge_attributes(GRAPHS, 3), 3),
]


@pytest.mark.parametrize(("graphs", "shape"), EDGED, ids=["labels", "many labels", "attributes"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gin_with_edge_features_is_the_same_on_either_device(
    graphs: Graphs, shape: EdgeShape, dtype: torch.dtype
) -> None:
    torch.manual_seed(0)
    view = OneOf(*(v() for v in VIEWS.values()))(graphs)
    encoder = GIN(view.num_features, layers=2, units=32, edges=shape).eval()
    assert any(name.endswith("edges.weight") for name in check_on_either_device(encoder, view, dtype))


@pytest.mark.parametrize(("graphs", "shape"), EDGED, ids=["labels", "many labels", "attributes"])
def test_a_step_with_edge_features_does_not_wait_for_the_host(graphs: Graphs, shape: EdgeShape) -> None:
    method = build_pretraining(resolve("graphcl"), graphs.num_features, shape).to("cuda").train()
    there, index = graphs.to("cuda"), torch.arange(len(graphs))
    for waiting in (True, False):  # the first step allocates
        with no_waiting() if not waiting else torch.enable_grad():
            for loss in method.losses(there.take(index), Progress()):
                loss.backward()


@pytest.mark.parametrize(("graphs", "shape"), EDGED, ids=["labels", "many labels", "attributes"])
@pytest.mark.filterwarnings("error:steps are not recorded")
def test_recorded_steps_with_edge_features_train_as_ordinary_ones_do(graphs: Graphs, shape: EdgeShape) -> None:
    found = []
    for capture in ("true", "false"):
        chosen = ["lr=1e-5", "epochs=4", "batch_size=8", "views.first=Identity", "views.second=Identity"]
        settings = resolve("graphcl", assignments=[*chosen, f"capture={capture}"])
        method = build_pretraining(settings, graphs.num_features, shape).to("cuda")
        found.append([epoch.loss for epoch in pretrain(method, graphs.to("cuda"), settings.train)])
    assert found[0] == pytest.approx(found[1], rel=1e-4)


@pytest.mark.parametrize("name", list(VIEWS))
def test_views_on_the_gpu_keep_edge_features_in_place(name: str) -> None:
    graphs = with_edge_labels(GRAPHS, (50, 3))
    assert graphs.edge_attr is not None
    known = {(u, v): a for (u, v), a in zip(graphs.edge_index.T.tolist(), graphs.edge_attr.tolist(), strict=True)}
    after = VIEWS[name]()(graphs.to("cuda")).to("cpu")
    node = torch.arange(graphs.num_nodes) if after.node_keep is None else after.node_keep.nonzero().squeeze(1)
    after = after.compact()
    assert after.edge_attr is not None
    for (u, v), row in zip(node[after.edge_index].T.tolist(), after.edge_attr.tolist(), strict=True):
        assert row == known.get((u, v), [0, 0])


@pytest.mark.parametrize("name", ["gin", "gcn", "molecule"])
def test_edge_weights_learn_the_same_on_either_device_and_nothing_waits(name: str) -> None:
    torch.manual_seed(0)
    view = Compose(DropNodes(), DropEdges())(bonded_molecules(16))
    encoder, weight = build_encoder(name, view.num_features, layers=2, units=32), torch.rand(view.num_edges) + 0.5
    found = []
    for place in ("cpu", "cuda"):
        there, leaf, graphs = encoder.to(place), weight.clone().to(place).requires_grad_(), view.to(place)
        for waiting in (True, False):  # the first step allocates
            leaf.grad = None
            with torch.enable_grad() if waiting or place == "cpu" else no_waiting():
                twice = replace(graphs, edge_weight=leaf).twice()
                pool(there(twice), twice, "mean").square().sum().backward()
        assert leaf.grad is not None
        assert not bool(leaf.grad[~graphs.live_edges].any())
        found.append(leaf.grad.cpu())
    assert float(found[0].norm()) > 0
    assert float((found[1] - found[0]).norm() / found[0].norm()) < 1e-3


@pytest.mark.parametrize("name", VIEWS)
def test_a_pyg_batch_on_the_gpu_is_seen_there_and_its_attributes_follow(name: str) -> None:
    data = to_pyg(GRAPHS)
    data.node_id, data.edge_id = torch.arange(data.num_nodes), torch.arange(1, data.num_edges + 1)
    found = VIEWS[name](p=0.5)(data.to("cuda")) if name != "Identity" else VIEWS[name]()(data.to("cuda"))
    assert all(value.is_cuda for value in found.to_dict().values())
    kept = found.edge_id > 0
    assert torch.equal(found.node_id[found.edge_index[:, kept]], data.edge_index[:, found.edge_id[kept] - 1])
    assert torch.equal(found.batch, data.batch[found.node_id])
    assert len(found.to_data_list()) == len(GRAPHS)


def test_weighted_choices_do_not_wait_for_the_host() -> None:
    graphs, view = GRAPHS.to("cuda"), OneOf(DropNodes(), MaskFeatures(), weights=(1, 3))
    view(graphs)
    with no_waiting():
        view(graphs)


CHUNKED = ["chunk_graphs=16", "batch_size=4", "epochs=4"]


@pytest.mark.parametrize("capture", ["true", "false"])
def test_training_by_chunks_on_the_gpu_is_training_in_that_order(
    capture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = [*CHUNKED, f"capture={capture}", "deterministic=true"]
    write_store(tmp_path / "store", GRAPHS)
    settings = resolve("graphcl", assignments=options)
    method = build_pretraining(settings, GRAPHS.num_features).to("cuda")
    store = open_store(tmp_path / "store")
    found = [epoch.loss for epoch in pretrain(method, store, settings.train, device=torch.device("cuda"))]

    def all_in_memory(source: Graphs, device: torch.device, options: TrainSettings, level: str, chunk: int) -> Resident:
        return Resident(source, device, options.batch_size, chunk)

    with monkeypatch.context() as patch:
        patch.setattr("nmrgcl.train.loop.open_feed", all_in_memory)
        expected, weights = losses(options)
    assert found == pytest.approx(expected, rel=1e-5)
    for key, value in method.state_dict().items():
        torch.testing.assert_close(value, weights[key], atol=1e-5, rtol=1e-5)


def test_one_recording_serves_every_chunk_and_a_chunk_is_awaited_by_the_device_alone() -> None:
    source, recordings = GRAPHS, []
    feed = Chunks(source, torch.device("cuda"), 16, 4)
    nodes, edges = (torch.zeros((), device="cuda") for _ in range(2))

    def step(batch: Graphs) -> None:
        nodes.copy_(batch.node_counts().sum())
        edges.copy_(batch.live_edges.sum())

    parts = batches(len(source), 4, 16)
    feed.begin(parts, 0)
    recorded = CapturedStep(feed.lasting(), 4, step, [nodes, edges], feed.room(4))
    sizes = source.sizes()
    for position, part in enumerate(parts):
        graphs, index = feed.batch(position)
        with no_waiting():
            recorded(index, graphs)
        recordings.append((int(nodes), int(edges)))
        assert recordings[-1] == (int(sizes[0][part].sum()), int(sizes[1][part].sum()))
        torch.testing.assert_close(graphs.take(index).x.cpu(), source.take(part).x)
    feed.close()
    assert len(parts) == 8


@pytest.mark.parametrize("at", [1, 4, 9])
def test_a_training_by_chunks_is_resumed_on_the_gpu_bit_for_bit(tmp_path: Path, at: int) -> None:
    settings = resolve("graphcl", assignments=[*CHUNKED, "deterministic=true"])
    states = []
    for memory in (None, Stops(tmp_path, at)):
        for _ in range(2 if memory else 1):
            method = build_pretraining(settings, GRAPHS.num_features).to("cuda")
            with suppress(KeyboardInterrupt):
                list(pretrain(method, GRAPHS, settings.train, device=torch.device("cuda"), memory=memory))
        states.append(method.state_dict())
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])


def test_recorded_bf16_steps_see_the_weights_that_the_ones_before_left() -> None:
    # Slowly, as above: the second loss shows the first step's change of the weights all the same.
    plain = ["precision=bf16", "lr=1e-3", 'views.first=[{name="Identity"}]', 'views.second=[{name="Identity"}]']
    ordinary, _ = losses([*plain, "capture=false"])
    recorded, _ = losses(plain)
    assert recorded == pytest.approx(ordinary, rel=0.2)
    assert recorded[-1] < recorded[0]


def test_every_replay_draws_new_views() -> None:
    graphs = GRAPHS.to("cuda")
    kept: list[torch.Tensor] = []
    counts = torch.zeros(8, device="cuda")

    def step(batch: Graphs) -> None:
        counts.copy_(DropNodes(0.5)(batch).node_counts())

    recorded = CapturedStep(graphs, 8, step, [counts])
    assert not counts.any()
    for _ in range(20):
        recorded(torch.tensor([0, 2, 5, 6, 7, 8, 10, 13]))
        kept.append(counts.clone())
    assert len({tuple(row.tolist()) for row in kept}) > 10
    torch.cuda.manual_seed(3)
    recorded(torch.arange(8))
    again = counts.clone()
    torch.cuda.manual_seed(3)
    recorded(torch.arange(8))
    assert torch.equal(again, counts)


def test_a_batch_that_does_not_fit_is_computed_all_the_same() -> None:
    nodes = torch.zeros((), device="cuda")

    def step(batch: Graphs) -> None:
        nodes.copy_(batch.node_counts().sum())

    recorded = CapturedStep(GRAPHS.to("cuda"), 8, step, [nodes])
    recorded.room = Room(1, 1)
    recorded(torch.arange(8))
    assert int(nodes) == 40


@pytest.mark.parametrize("name", ["graphcl", "nmrgcl", "byol"])
def test_compiling_kernels_together_changes_no_training(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def trained() -> dict[str, Tensor]:
        settings = recipe(name, assignments={"train.epochs": 2, "train.batch_size": 12, "train.deterministic": True})
        method = build_pretraining(settings, GRAPHS.num_features).to("cuda")
        list(pretrain(method, GRAPHS.to("cuda"), settings.train))
        return method.state_dict()

    together = trained()
    monkeypatch.setattr("nmrgcl.train.loop.has_triton", lambda: False)
    for key, value in trained().items():
        assert torch.equal(together[key], value), key
