"""A dataset → one model a seed, in a folder."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from nmrgcl import atomic
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.diagnose.collapse import effective_rank
from nmrgcl.errors import DataError, SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_method
from nmrgcl.model_folder import Model, save_model
from nmrgcl.run.device import suitable_threads
from nmrgcl.run.embed import embed_some
from nmrgcl.settings import Settings
from nmrgcl.train import Epoch, pretrain


@dataclass(frozen=True)
class Progress:
    """One epoch of one seed; the effective rank is measured every few epochs only."""

    seed: int
    epoch: Epoch
    effective_rank: float | None

    def record(self) -> dict[str, Any]:
        """A line of ``metrics.jsonl``."""
        facts = {"epoch": self.epoch.number, **asdict(self.epoch), "effective_rank": self.effective_rank}
        return {k: v for k, v in facts.items() if k != "number" and v is not None}


def prepare_folder(out: Path, *, overwrite: bool) -> None:
    """Refuse a folder that would lose something; with ``overwrite`` an earlier run may go."""
    if out.exists() and not out.is_dir():
        raise SettingError(f"{out}: is a file; choose another --out")
    contents = list(out.iterdir()) if out.exists() else []
    if not contents:
        return
    if not _is_run(out):
        raise SettingError(f"{out}: is not empty and holds no run; choose another --out")
    if not overwrite:
        raise SettingError(f"{out}: already holds a run; use --overwrite or another --out")


def pretrain_seeds(
    dataset: Dataset,
    settings: Settings,
    *,
    seeds: Sequence[int],
    out: Path | str,
    device: torch.device,
    track_every: int = 10,
    overwrite: bool = False,
    start: Model | None = None,
) -> Iterator[Progress]:
    """Pre-train one model a seed into ``out/seed-…``, yielding after each epoch; each folder appears complete.

    ``start`` gives every seed the encoder of an earlier model, with the features that it knows.
    """
    out = Path(out)
    features = start.features if start else choose_features(dataset, settings.data.features, settings.data.max_degree)
    graphs = apply_features(dataset, features).to(device)
    if graphs.num_graphs < 2:
        raise DataError(f"{dataset.name}: contrast needs at least two graphs, this dataset has {graphs.num_graphs}")
    methods = [build_method(replace(settings, seed=seed), features.width).to(device) for seed in seeds]
    if start:
        if start.settings.encoder != settings.encoder:
            raise SettingError(f"the earlier model has another encoder ({start.settings.encoder}); use its settings")
        for method in methods:
            method.encoder.load_state_dict(start.method.encoder.state_dict())
    prepare_folder(out, overwrite=overwrite)
    with atomic.new_folder(out) as fresh:
        (fresh / "settings.json").write_text(json.dumps(settings.to_dict(), indent=2) + "\n", encoding="utf-8")
    with suitable_threads(settings):
        for seed, method in zip(seeds, methods, strict=True):
            model = Model(method, replace(settings, seed=seed), features, dataset.name)
            yield from _pretrain_one(model, graphs, out / f"seed-{seed}", track_every)


def _pretrain_one(model: Model, graphs: Graphs, target: Path, track_every: int) -> Iterator[Progress]:
    options, seed = model.settings.train, model.settings.seed
    with atomic.new_folder(target) as folder, (folder / "metrics.jsonl").open("w", encoding="utf-8") as metrics:
        last = None
        for epoch in pretrain(model.method, graphs, options, seed=seed):
            due = epoch.number in (1, options.epochs) or epoch.number % track_every == 0
            last = Progress(seed, epoch, effective_rank(embed_some(model.method, graphs)) if due else None)
            metrics.write(json.dumps(last.record()) + "\n")
            metrics.flush()
            yield last
        save_model(folder, model, training=last.record() if last else None)


def _is_run(folder: Path) -> bool:
    return (folder / "settings.json").is_file() or any(folder.glob("seed-*/config.json"))
