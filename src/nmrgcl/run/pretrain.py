"""A dataset → one model a seed, in a folder; what was begun there can be continued."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch

from nmrgcl import atomic
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import choose_features
from nmrgcl.diagnose.track import track, warn_of_collapse
from nmrgcl.errors import NonFiniteError, SettingError
from nmrgcl.feed import Source
from nmrgcl.methods import build_method
from nmrgcl.model_folder import Model, save_model, weights_digest
from nmrgcl.run.device import suitable_threads
from nmrgcl.run.embed import embed_some
from nmrgcl.run.interrupt import Signals, noted_signals
from nmrgcl.run.level import require_level
from nmrgcl.run.lock import NAME as LOCK
from nmrgcl.run.lock import locked
from nmrgcl.run.memory import Cadence, RunMemory
from nmrgcl.run.out_of_memory import explained
from nmrgcl.run.record import RunRecord, digest_of, read_record, settings_of_run, write_record
from nmrgcl.run.source import training_source
from nmrgcl.settings import Settings
from nmrgcl.train import Epoch, pretrain

Resume = Literal["no", "yes", "auto"]


@dataclass(frozen=True)
class Progress:
    """One epoch of one seed; collapse is measured (``tracked``) every few epochs only, and warned of once."""

    seed: int
    epoch: Epoch
    tracked: Mapping[str, Any]
    warning: str | None = None
    level: Literal["graph", "node"] = "graph"

    @property
    def effective_rank(self) -> float | None:
        """None after an epoch at which it was not measured."""
        return self.tracked.get("effective_rank")

    def record(self) -> dict[str, Any]:
        """A line of ``metrics.jsonl``: what does not depend on the machine's speed."""
        facts = {"epoch": self.epoch.number, "loss": self.epoch.loss, **self.tracked}
        return facts | ({"warning": self.warning} if self.warning else {})

    def timing(self) -> dict[str, Any]:
        """A line of ``timings.jsonl``."""
        return {
            "epoch": self.epoch.number,
            "seconds": self.epoch.seconds,
            f"{self.level}s_per_second": self.epoch.graphs_per_second,
        }


def pretrain_seeds(
    dataset: Dataset,
    settings: Settings,
    *,
    seeds: Sequence[int],
    out: Path | str,
    device: torch.device,
    track_every: int = 10,
    overwrite: bool = False,
    resume: Resume = "no",
    cadence: Cadence | None = None,
    start: Model | None = None,
) -> Iterator[Progress]:
    """Pre-train one model a seed into ``out/seed-…``, yielding after each epoch; each folder appears complete.

    Args:
        dataset: what to train on.
        settings: for all seeds alike.
        seeds: one model each.
        out: the run's folder; one run at a time may write there.
        device: where to compute.
        track_every: epochs between measurements of collapse.
        overwrite: an earlier run in ``out`` may go.
        resume: "yes" goes on with the run in ``out``, which must be this one; "auto" does if there is one. Seeds that
            are complete are left alone, one that is not goes on from its last checkpoint.
        cadence: when checkpoints are kept, every five minutes if None; a signal that asks the process to end always
            makes it keep one.
        start: gives every seed the encoder of an earlier model, with the features that it knows.
    """
    out = Path(out)
    require_level(dataset, settings)
    with explained(settings):
        options = settings.data
        features = (
            start.features if start else choose_features(dataset, options.features, options.max_degree, options.scale)
        )
        graphs = training_source(dataset, features, settings, device)
    if start and start.settings.encoder != settings.encoder:
        raise SettingError(f"the earlier model has another encoder ({start.settings.encoder}); use its settings")
    with explained(settings):
        build_method(settings, features.width)  # what is impossible is told before anything is written
    digest = weights_digest(start.method.encoder) if start else None
    record = RunRecord(settings_of_run(settings), dataset.name, digest_of(graphs), digest, track_every)
    check_folder(out, overwrite=overwrite, resume=resume)
    with locked(out), suitable_threads(settings), noted_signals() as signals, explained(settings):
        _enter(out, record, settings, overwrite=overwrite, resume=resume)
        for seed in seeds:
            target = out / f"seed-{seed}"
            if not (target / "config.json").is_file():
                method = build_method(replace(settings, seed=seed), features.width).to(device)
                if start:
                    method.encoder.load_state_dict(start.method.encoder.state_dict())
                model = Model(method, replace(settings, seed=seed), features, dataset.name)
                yield from _pretrain_one(model, graphs, device, target, track_every, cadence or Cadence(), signals)
            shutil.rmtree(_partial(target), ignore_errors=True)
            signals.obey()


def check_folder(out: Path, *, overwrite: bool, resume: Resume) -> None:
    """Refuse a folder that would lose something, or that there is nothing to go on from in."""
    if out.exists() and not out.is_dir():
        raise SettingError(f"{out}: is a file; choose another --out")
    contents = [p for p in out.iterdir() if not p.name.startswith(".")] if out.exists() else []
    if resume == "yes" and not contents:
        raise SettingError(f"{out}: there is no run to resume; start one without --resume, or use --resume auto")
    if contents and not _is_run(out):
        raise SettingError(f"{out}: is not empty and holds no run; choose another --out")
    if contents and not overwrite and resume == "no":
        raise SettingError(f"{out}: already holds a run; use --resume, --overwrite or another --out")


def _enter(out: Path, record: RunRecord, settings: Settings, *, overwrite: bool, resume: Resume) -> None:
    """Make ``out`` the folder of this run, or see that it is."""
    for stray in out.glob(".*"):  # what a process that was killed had not finished writing
        if stray.name != LOCK and not stray.name.endswith(".checkpoints"):
            shutil.rmtree(stray) if stray.is_dir() else stray.unlink()
    earlier = read_record(out) if resume != "no" and not overwrite else None
    if earlier is not None:
        _require_same(out, earlier, record)
        return
    if resume == "yes" and not overwrite:
        raise SettingError(f"{out}: its run left no run.json to resume from; use --overwrite")
    # The record goes first and comes last, so that a folder with one is never a mixture of two runs.
    (out / "run.json").unlink(missing_ok=True)
    for old in [*out.glob("seed-*"), *out.glob(".seed-*"), out / "evaluation.json", out / "splits.json"]:
        shutil.rmtree(old) if old.is_dir() else old.unlink(missing_ok=True)
    atomic.write_text(out / "settings.json", json.dumps(settings.to_dict(), indent=2) + "\n")
    write_record(out, record)


def _require_same(out: Path, earlier: RunRecord, record: RunRecord) -> None:
    one, two = asdict(earlier), asdict(record)
    for name, what in {
        "dataset": "another dataset",
        "data_sha256": "other data or features",
        "start_sha256": "another start (--from)",
        "track_every": "another --track-every",
        "settings": "other settings",
    }.items():
        if one[name] != two[name]:
            raise SettingError(f"{out}: its run has {what}; resume with the same, or choose another --out")


def _pretrain_one(
    model: Model,
    graphs: Source,
    device: torch.device,
    target: Path,
    track_every: int,
    cadence: Cadence,
    signals: Signals,
) -> Iterator[Progress]:
    options, seed = model.settings.train, model.settings.seed
    memory = RunMemory(_partial(target), cadence, signals)
    try:
        for epoch in pretrain(model.method, graphs, options, device=device, seed=seed, memory=memory):
            due = epoch.number in (1, options.epochs) or epoch.number % track_every == 0
            tracked = track(embed_some(model.method, graphs)) if due else {}
            warning = warn_of_collapse([*_tracked(memory), tracked]) if due else None
            step = Progress(seed, epoch, tracked, warning, model.settings.level)
            memory.metrics.append(json.dumps(step.record()))
            memory.timings.append(json.dumps(step.timing()))
            yield step
    except NonFiniteError as error:
        dump = target.parent / f"non-finite-{target.name}.json"
        atomic.write_text(dump, json.dumps({**error.where, "seed": seed, "settings": model.settings.to_dict()}) + "\n")
        raise NonFiniteError(f"{error}; the batch is named in {dump}", **error.where) from None
    with atomic.new_folder(target) as folder:
        (folder / "metrics.jsonl").write_text("".join(f"{line}\n" for line in memory.metrics), encoding="utf-8")
        save_model(folder, model, training=json.loads(memory.metrics[-1]) if memory.metrics else None)
        # After the checksums: times differ between two runs that are otherwise the same to the byte.
        (folder / "timings.jsonl").write_text("".join(f"{line}\n" for line in memory.timings), encoding="utf-8")


def _tracked(memory: RunMemory) -> list[dict[str, Any]]:
    """Earlier measurements of this training, also those from before it was resumed."""
    return [found for line in memory.metrics if "effective_rank" in (found := json.loads(line))]


def _partial(target: Path) -> Path:
    return target.with_name(f".{target.name}.checkpoints")


def _is_run(folder: Path) -> bool:
    return (folder / "settings.json").is_file() or any(folder.glob("seed-*/config.json"))
