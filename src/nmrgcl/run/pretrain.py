"""Pre-train one model per seed into a run folder, resume such a run, or estimate what it would cost."""

import json
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch

from nmrgcl import atomic
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import FeatureSpec, features_for
from nmrgcl.diagnose.collapse import singular_spectrum
from nmrgcl.diagnose.track import track, warn_of_collapse
from nmrgcl.diagnose.units import to_unit_range
from nmrgcl.errors import NonFiniteError, SettingError
from nmrgcl.lock import locked
from nmrgcl.methods import Embedder, Pretraining, build_method, find_method
from nmrgcl.model_folder import MODEL, Model, save_model, weights_digest
from nmrgcl.run.cell_data import digest_of, training_source
from nmrgcl.run.checkpoints import Cadence, RunMemory
from nmrgcl.run.embeddings import column_scale, embed_some
from nmrgcl.run.folder import ResumeMode, RunFolder, RunRecord, settings_of_run
from nmrgcl.run.interrupt import Signals, noted_signals
from nmrgcl.run.live import Live, told_live
from nmrgcl.run.machine import explained, suitable_threads, versions
from nmrgcl.run.own_data import data_source
from nmrgcl.run.recipe import require_level
from nmrgcl.settings import Settings
from nmrgcl.settings.check import flatten
from nmrgcl.train import Epoch, Progress, Trainable, pretrain
from nmrgcl.train.checkpoint import Checkpoint, remove_checkpoints
from nmrgcl.train.distributed import SharedMemory, current_ranks
from nmrgcl.train.feed import Source, count_items, open_feed
from nmrgcl.train.state import TrainingState
from nmrgcl.train.step import GuardedStep

STEPS = 4
"""How many training steps are timed to estimate the cost."""


SeedWatch = Callable[[int, Progress, int], None]
"""Called after each batch with the seed, the progress of its training, and the number of graphs or nodes in it."""


@dataclass(frozen=True)
class SeedEpoch:
    """One epoch of one seed; collapse is measured (``tracked``) only every few epochs, and warned about once."""

    seed: int
    epoch: Epoch
    tracked: Mapping[str, Any]
    warning: str | None = None
    level: Literal["graph", "node"] = "graph"

    @property
    def effective_rank(self) -> float | None:
        """The effective rank; None if it was not measured after this epoch."""
        return self.tracked.get("effective_rank")

    def record(self) -> dict[str, Any]:
        """A line of ``metrics.jsonl``: everything that does not depend on the speed of the machine."""
        facts = {"epoch": self.epoch.number, "loss": self.epoch.loss, **self.tracked}
        return facts | ({"warning": self.warning} if self.warning else {})

    def timing(self) -> dict[str, Any]:
        """A line of ``timings.jsonl``."""
        facts = {
            "epoch": self.epoch.number,
            "seconds": self.epoch.seconds,
            f"{self.level}s_per_second": self.epoch.graphs_per_second,
        }
        return facts | ({"bytes_per_step": self.epoch.bytes_per_step} if self.epoch.bytes_per_step else {})


def pretrain_seeds(
    dataset: Dataset,
    settings: Settings,
    *,
    seeds: Sequence[int],
    out: Path | str,
    device: torch.device,
    track_every: int = 10,
    overwrite: bool = False,
    resume: ResumeMode = "no",
    cadence: Cadence | None = None,
    start: Model | None = None,
    data: str = "",
    watch: SeedWatch | None = None,
) -> Iterator[SeedEpoch]:
    """Pre-train one model per seed into ``out/seed-…`` and yield after each epoch; model folders appear complete.

    With several ranks, all of them call this with the same arguments; rank 0 alone reads and writes in ``out``.

    Args:
        dataset: the dataset to train on.
        settings: the settings, the same for all seeds.
        seeds: the seeds; each gives one model.
        out: the run folder; only one run at a time may write there.
        device: the device to train on.
        track_every: the number of epochs between measurements of collapse.
        overwrite: whether an earlier run in ``out`` may be removed.
        resume: "yes" continues the run in ``out``, which must be the same run; "auto" does so if there is one.
            Complete seeds are left alone, the others continue from their last checkpoint.
        cadence: when to write checkpoints; every five minutes if None. SIGINT and SIGTERM always cause one.
        start: an earlier model whose encoder and features every seed starts from.
        data: the name or path by which ``load`` found the dataset, if it did; the run records it.
        watch: called after every batch.
    """
    require_level(dataset, settings)
    with explained(settings):
        features = start.features if start else features_for(dataset, settings.data)
        graphs = training_source(dataset, features, settings, device)
        # Report impossible settings before anything is written.
        method = build_method(settings, features.width, features.edge_shape)
        current_ranks().require_possible(method, count_items(graphs, settings.level), settings.train)
    encoder = _encoder_of(start, settings) if start else None
    digest = weights_digest(encoder) if encoder else None
    source = data_source(data, dataset) if data else ""
    record = RunRecord(settings_of_run(settings), dataset.name, digest_of(graphs), digest, track_every, source)
    ranks = current_ranks()
    # On another machine, the same data may have another path.
    facts = asdict(replace(record, data_source="")) | {"device": device.type, "seeds": list(seeds)}
    ranks.require_same(versions() | dict(flatten(facts)))
    if not ranks.is_first:
        yield from _take_part(settings, seeds, features, graphs, device, encoder, dataset.counts[1])
        return
    folder = RunFolder(Path(out), record)
    # Before the lock, which creates the folder; `enter` checks again once nobody else can write there.
    folder.check(seeds, overwrite=overwrite, resume=resume)
    with (
        locked(folder.path),
        suitable_threads(settings, dataset.counts[1]),
        noted_signals() as signals,
        explained(settings),
        ExitStack() as ending,  # For the live file, which may be created only after `enter`.
    ):
        folder.enter(settings, seeds, overwrite=overwrite, resume=resume)
        live = ending.enter_context(told_live(folder.path))
        for seed in seeds:
            # Only rank 0 looks into the folder; the others go by its answer (_take_part).
            if not ranks.from_first(folder.is_complete(seed)):
                method = _build(settings, seed, features, device, encoder)
                model = Model(method, replace(settings, seed=seed), features, dataset.name, record.data_sha256)
                told = partial(watch, seed) if watch else None
                yield from _pretrain_one(
                    model, graphs, device, folder, track_every, cadence or Cadence(), signals, told, live
                )
            # A process that was killed right after writing the model left them behind.
            remove_checkpoints(folder.checkpoints(seed), folder.token)
            signals.obey()
        folder.require_there(seeds)


def _take_part(
    settings: Settings,
    seeds: Sequence[int],
    features: FeatureSpec,
    graphs: Source,
    device: torch.device,
    encoder: torch.nn.Module | None,
    nodes: int,
) -> Iterator[SeedEpoch]:
    """What ranks other than the first do: train with it, and neither measure nor write anything."""
    ranks = current_ranks()
    with suitable_threads(settings, nodes), noted_signals() as signals, explained(settings):
        memory = SharedMemory(ranks, None, signals)
        for seed in seeds:
            # The argument is ignored here: rank 0 says whether the seed is complete.
            if not ranks.from_first(False):
                method = _build(settings, seed, features, device, encoder)
                epochs = pretrain(method, graphs, settings.train, device=device, seed=seed, memory=memory)
                yield from (SeedEpoch(seed, epoch, {}) for epoch in epochs)
            signals.obey()


def _build(
    settings: Settings, seed: int, features: FeatureSpec, device: torch.device, encoder: torch.nn.Module | None
) -> Pretraining | Embedder:
    """The method of this seed as its training starts, with the weights of an earlier ``encoder`` if there is one."""
    method = build_method(replace(settings, seed=seed), features.width, features.edge_shape).to(device)
    if encoder is not None and isinstance(method, Pretraining):
        method.encoder.load_state_dict(encoder.state_dict())
    return method


def _encoder_of(start: Model, settings: Settings) -> torch.nn.Module:
    """The encoder of an earlier model, if a training with ``settings`` can start from it."""
    if start.settings.encoder != settings.encoder:
        raise SettingError(f"the earlier model has another encoder ({start.settings.encoder}); use its settings")
    if not isinstance(start.method, Pretraining) or not issubclass(find_method(settings.method), Pretraining):
        raise SettingError("--from: both methods must have an encoder, and one of them has none")
    return start.method.encoder


def _pretrain_one(
    model: Model,
    graphs: Source,
    device: torch.device,
    folder: RunFolder,
    track_every: int,
    cadence: Cadence,
    signals: Signals,
    watch: Callable[[Progress, int], None] | None,
    live: Live,
) -> Iterator[SeedEpoch]:
    options, seed = model.settings.train, model.settings.seed
    memory, ranks = _SeedMemory(folder, seed, cadence, signals), current_ranks()
    shared = SharedMemory(ranks, memory, signals) if ranks.several else memory
    try:
        for epoch in pretrain(model.method, graphs, options, device=device, seed=seed, memory=shared, watch=watch):
            due = epoch.number == 1 or epoch.last or epoch.number % track_every == 0
            z = to_unit_range(embed_some(model.method, graphs))[0] if due else None
            spectrum = None if z is None else singular_spectrum(z)
            tracked = {} if z is None else track(z, spectrum)
            warning = warn_of_collapse([*_tracked(memory), tracked]) if due else None
            step = SeedEpoch(seed, epoch, tracked, warning, model.settings.level)
            # Before the yield: the loop may write a checkpoint when it resumes, and the lines are part of it.
            memory.metrics.append(json.dumps(step.record()))
            memory.timings.append(json.dumps(step.timing()))
            live.tell(seed, memory.metrics, None if spectrum is None else spectrum.tolist())
            yield step
    except NonFiniteError as error:
        dump = folder.path / f"non-finite-seed-{seed}.json"
        values = {**error.where, "seed": seed, "settings": model.settings.to_dict()}
        atomic.write_text(dump, json.dumps(values) + "\n", folder.token)
        raise NonFiniteError(f"{error}; the batch is named in {dump}", **error.where) from None
    folder.require_there()
    with atomic.new_folder(folder.model(seed), MODEL, folder.token) as filling:
        (filling / "metrics.jsonl").write_text("".join(f"{line}\n" for line in memory.metrics), encoding="utf-8")
        scaled = replace(model, columns=column_scale(model.method, graphs))
        save_model(filling, scaled, training=json.loads(memory.metrics[-1]) if memory.metrics else None)
        # Written after the checksums: timings differ between runs that are otherwise identical to the byte.
        (filling / "timings.jsonl").write_text("".join(f"{line}\n" for line in memory.timings), encoding="utf-8")


def _tracked(memory: RunMemory) -> list[dict[str, Any]]:
    """Earlier measurements of this training, including those from before it was resumed."""
    return [found for line in memory.metrics if "effective_rank" in (found := json.loads(line))]


class _SeedMemory(RunMemory):
    """Refuses to write a checkpoint if the folder no longer belongs to the run."""

    def __init__(self, folder: RunFolder, seed: int, cadence: Cadence, signals: Signals) -> None:
        super().__init__(folder.checkpoints(seed), cadence, signals, folder.token)
        self.run = folder

    def keep(self, step: int, checkpoint: Checkpoint) -> None:
        self.run.require_there()
        super().keep(step, checkpoint)


@dataclass(frozen=True)
class Cost:
    """Estimated seconds for all seeds, and peak memory, both measured over ``STEPS`` steps after a first one."""

    parameters: int
    steps: int
    seconds: float
    memory_bytes: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def estimate_cost(dataset: Dataset, settings: Settings, *, seeds: int, device: torch.device) -> Cost:
    """Train for a few steps and discard the result; nothing is written."""
    features = features_for(dataset, settings.data)
    graphs = training_source(dataset, features, settings, device)
    method = build_method(settings, features.width, features.edge_shape).to(device).train()
    parameters = sum(p.numel() for p in method.parameters())
    if not isinstance(method, Trainable):  # It fits all graphs at once, so timing a part says nothing about the whole.
        return Cost(parameters, 0, 0.0, _peak_memory(device))
    seconds = []
    devices = [device] if device.type == "cuda" else []
    feed = open_feed(graphs, device, settings.train, settings.level, settings.train.chunk_graphs or None)
    with closing(feed), suitable_threads(settings, dataset.counts[1]), torch.random.fork_rng(devices=devices):
        feed.begin(feed.cut(), 0)
        per_epoch = len(feed.parts)
        steps = (settings.train.steps or per_epoch * settings.train.epochs) * seeds
        step = GuardedStep(method, method.optimisers(settings.train), TrainingState().to(device))
        for number in range(min(STEPS + 1, per_epoch)):
            began = time.perf_counter()
            step(feed.take(*feed.batch(number)))
            if device.type == "cuda":
                torch.cuda.synchronize()
            if number or per_epoch == 1:  # The first step also allocates memory.
                seconds.append(time.perf_counter() - began)
    typical = statistics.median(seconds) if seconds and steps else 0.0
    return Cost(parameters, steps, typical * steps, _peak_memory(device))


def _peak_memory(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated()
    # In bytes on macOS, in KiB on Linux.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
