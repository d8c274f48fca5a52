"""The members of an ensemble: an encoder with a head per seed, trained end to end or probing a frozen encoder."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import numpy as np
import torch

from nmrgcl.data.molecules import Molecules
from nmrgcl.data.splits import Split
from nmrgcl.encode import EdgeShape
from nmrgcl.encode.molecule import BONDS
from nmrgcl.errors import ModelError, SettingError, printable
from nmrgcl.evaluate.finetune import Classifier, FinetuneScore, Task, finetune_scores
from nmrgcl.evaluate.goals import GOALS
from nmrgcl.evaluate.probe import fit_probe
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Pretraining, build_pretraining
from nmrgcl.model_folder import Model
from nmrgcl.run.backends import worker_count
from nmrgcl.run.embeddings import embed_all
from nmrgcl.run.finetuning import build_classifier
from nmrgcl.run.interrupt import orphaned
from nmrgcl.run.machine import WIDE_UNITS, explained, suitable_threads
from nmrgcl.run.tasks import in_processes
from nmrgcl.settings import Settings
from nmrgcl.train.state import own_chance

LOOK_EVERY = 0.5
"""Seconds between looks at how far members in other processes are."""


@dataclass(frozen=True, eq=False)
class Member:
    """A model at its best validation score, and its scores; the epoch of a probe is 0."""

    seed: int
    model: Classifier
    score: FinetuneScore


def fit_members(
    molecules: Molecules,
    split: Split,
    settings: Settings,
    seeds: Sequence[int],
    *,
    goal: str,
    start: Model | None = None,
    probe: bool = False,
    device: torch.device,
    watch: Callable[[int, int], None] | None = None,
) -> Iterator[Member]:
    """Yield one member per seed, in order.

    On a GPU, all members are trained side by side. On a CPU each is trained by itself; those with a wide encoder in a
    process per core, since two trainings with one thread each take less time than one after the other with two.

    Args:
        molecules: labelled molecules.
        split: training, validation and test part.
        settings: settings of encoder and training.
        seeds: seeds of weights, dropout and batches.
        goal: kind of labels.
        start: pre-trained encoder to start from; None: a fresh encoder per member.
        probe: freeze the encoder and fit only the head, by logistic or ridge regression.
        device: where to compute.
        watch: called after each epoch with the number of epochs done, over all members, and its maximum.
    """
    if probe:  # the weights of a probe apply to unnormalised embeddings
        settings = settings.updated({"finetune.head_norm": False})
    weights = None if start is None else _Start.of(start)
    training = _Training(molecules, split, settings, goal, weights, probe, device)
    if device.type == "cuda" and not probe:
        yield from training.members(seeds, watch)
        return
    cores = 1 if probe or settings.encoder.units < WIDE_UNITS else worker_count(0, "cpu")
    for first in range(0, len(seeds), cores):
        group = seeds[first : first + cores]
        told = _counting(watch, first, len(seeds), settings.finetune.epochs)
        yield from training.members(group, told) if len(group) == 1 else _in_processes(training, group, told, cores)


@dataclass(frozen=True, eq=False)
class _Start:
    """A pre-trained encoder by its weights: its class may be in a user's file, which processes have not imported."""

    dataset: str
    features: tuple[int, EdgeShape | None]
    level: str
    weights: dict[str, torch.Tensor]

    @classmethod
    def of(cls, model: Model) -> "_Start":
        method, dataset = model.method, printable(model.dataset)
        if not isinstance(method, Pretraining):
            raise ModelError(f"the model of {dataset} was not pre-trained on molecules with the same features")
        return cls(dataset, method.features, method.level, dict(method.encoder.state_dict()))

    def require_molecules(self, num_features: int) -> None:
        if self.features != (num_features, BONDS) or self.level != "graph":
            raise ModelError(f"the model of {self.dataset} was not pre-trained on molecules with the same features")


@dataclass(frozen=True, eq=False)
class _Training:
    """What the trainings of all members share."""

    molecules: Molecules
    split: Split
    settings: Settings
    goal: str
    start: _Start | None
    probe: bool
    device: torch.device

    def members(self, seeds: Sequence[int], watch: Callable[[int, int], None] | None) -> list[Member]:
        """Train a member per seed, side by side."""
        settings, labels, goal = self.settings, self.molecules.labels, GOALS[self.goal]
        graphs = self.molecules.graphs.to(self.device)
        # A member trained alone has its own random numbers, so it does not depend on the other members.
        with suitable_threads(settings), explained(settings, "then start again"), own_chance(seeds[0], 0, self.device):
            models = [self._build(seed).to(self.device) for seed in seeds]
            if self.probe:
                scores = [_probe(models[0], graphs, labels, self.split, self.goal)]
            else:
                scores = finetune_scores(
                    [Task(model, self.split, settings.finetune) for model in models],
                    graphs,
                    labels,
                    level="graph",
                    batch_size=settings.train.batch_size,
                    goal=goal,
                    capture=settings.train.capture,
                    watch=watch,
                )
        return [Member(*each) for each in zip(seeds, models, scores, strict=True)]

    def _build(self, seed: int) -> Classifier:
        settings, molecules = replace(self.settings, seed=seed), self.molecules
        if self.start is not None:
            self.start.require_molecules(molecules.graphs.num_features)
        encoder = build_pretraining(settings, molecules.graphs.num_features, BONDS)
        if self.start is not None:
            try:
                encoder.encoder.load_state_dict(self.start.weights)
            except RuntimeError:
                raise SettingError(
                    "--set changes the shape of the encoder of --model; leave that setting out, or use --model none"
                ) from None
        return build_classifier(settings, encoder, len(molecules.tasks))


def _counting(
    watch: Callable[[int, int], None] | None, before: int, members: int, epochs: int
) -> Callable[[int, int], None] | None:
    """Adapt ``watch`` for some of the ``members``, which are trained after those ``before``."""
    return None if watch is None else lambda done, _: watch(before * epochs + done, members * epochs)


def _in_processes(
    training: _Training, seeds: Sequence[int], watch: Callable[[int, int], None] | None, cores: int
) -> Iterator[Member]:
    """Train each member in a process of its own; together they use all cores."""
    with TemporaryDirectory() as folder, _watching(Path(folder), watch):
        work = partial(_one_member, training, Path(folder))
        remedy, threads = "close other programs and start again", cores // len(seeds)
        yield from in_processes(work, seeds, len(seeds), threads=threads, ordered=True, remedy=remedy)


def _one_member(training: _Training, folder: Path, seed: int) -> Member:
    """Train the member of ``seed``; its file in ``folder`` is as many bytes long as epochs are done."""
    epochs = folder / str(seed)
    epochs.touch()

    def note(done: int, most: int) -> None:
        if orphaned():  # nobody waits for this member any more
            os._exit(1)
        os.truncate(epochs, done)

    (member,) = training.members([seed], note)
    return member


@contextmanager
def _watching(folder: Path, watch: Callable[[int, int], None] | None) -> Iterator[None]:
    """Meanwhile, tell ``watch`` how many epochs are done according to the files in ``folder``."""
    ended = Event()

    def look() -> None:
        while watch is not None and not ended.wait(LOOK_EVERY):
            watch(sum(file.stat().st_size for file in folder.iterdir()), 0)

    looking = Thread(target=look, daemon=True)
    looking.start()
    try:
        yield
    finally:
        ended.set()
        looking.join()


def _probe(model: Classifier, graphs: Graphs, labels: np.ndarray, split: Split, goal: str) -> FinetuneScore:
    assert isinstance(model.encoder, Pretraining)
    if GOALS[goal].standardise:  # the outputs are the numbers themselves, but a saved model of numbers has a scale
        model.fit_scale(torch.zeros(1, labels.shape[1], device=model.head.weight.device))
    found = fit_probe(embed_all(model.encoder, graphs), labels, split, goal)
    with torch.no_grad():
        model.head.weight.copy_(found.weight)
        model.head.bias.copy_(found.bias)
    return FinetuneScore(found.test, found.valid, 0, found.beside)
