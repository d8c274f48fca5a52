"""What only a GPU can show: the same results there, and no step that waits for the host."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import torch

from nmrgcl.augment import VIEWS, OneOf
from nmrgcl.checkpoint import Checkpoint, newest_checkpoint, write_checkpoint
from nmrgcl.encode import GIN, pool
from nmrgcl.errors import NonFiniteError
from nmrgcl.methods import build_method
from nmrgcl.settings import resolve
from nmrgcl.train import Guard, pretrain
from tests.examples import random_graphs

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device on this machine")

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


def test_a_training_step_does_not_wait_for_the_host() -> None:
    graphs = GRAPHS.to("cuda")
    method = build_method(resolve("graphcl"), graphs.num_features).to("cuda").train()
    optimiser = torch.optim.Adam(method.parameters(), fused=True)
    index = torch.arange(len(GRAPHS))
    for waiting in (True, False):  # the first step allocates
        with no_waiting() if not waiting else torch.enable_grad():
            for loss in method.losses(graphs.take(index)):
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
        method = build_method(settings, GRAPHS.num_features).to("cuda")
        list(pretrain(method, GRAPHS.to("cuda"), settings.train))
        states.append(method.state_dict())
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])


class Stops:
    """Keeps the checkpoint of one batch, ends the training there, and recalls it when asked again."""

    def __init__(self, folder: Path, at: int) -> None:
        self.folder, self.at, self.seen, self.kept = folder, at, 0, False

    def recall(self) -> Checkpoint | None:
        return newest_checkpoint(self.folder)[0]

    def due(self, *, epoch_ended: bool) -> bool:
        self.seen += not epoch_ended
        return not self.kept and self.seen == self.at

    def keep(self, step: int, checkpoint: Checkpoint) -> None:
        write_checkpoint(self.folder, step, checkpoint)
        self.kept = True
        raise KeyboardInterrupt


@pytest.mark.parametrize("at", [1, 4, 6, 11])
def test_a_deterministic_training_that_is_resumed_equals_one_that_was_not(tmp_path: Path, at: int) -> None:
    settings = resolve("graphcl", assignments=["deterministic=true", "epochs=3", "batch_size=8"])
    states = []
    for memory in (None, Stops(tmp_path, at)):
        for _ in range(2 if memory else 1):
            method = build_method(settings, GRAPHS.num_features).to("cuda")
            with suppress(KeyboardInterrupt):
                list(pretrain(method, GRAPHS.to("cuda"), settings.train, memory=memory))
        states.append(method.state_dict())
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])


def test_the_guard_against_numbers_that_are_not_finite_does_not_wait_either() -> None:
    graphs = GRAPHS.to("cuda")
    method = build_method(resolve("graphcl"), graphs.num_features).to("cuda").train()
    optimiser = torch.optim.Adam(method.parameters(), fused=True)
    guard = Guard(method, optimiser, graphs.device)
    index = torch.arange(len(GRAPHS))
    before = []
    for step in range(3):
        with no_waiting() if step else torch.enable_grad():
            for loss in method.losses(graphs.take(index)):
                optimiser.zero_grad()
                (loss * float("nan") if step == 1 else loss).backward()
                guard.step(loss, step)
        before.append([p.detach().clone() for p in method.parameters()])
    # The second step was poisoned: it and all after it leave the weights alone.
    assert all(map(torch.equal, before[0], before[1]))
    assert all(map(torch.equal, before[0], before[2]))
    with pytest.raises(NonFiniteError, match="epoch 1, batch 2"):
        guard.check(1, [index] * 3, resolve("graphcl").train)
