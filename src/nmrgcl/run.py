"""From a dataset to models, and from models to scores: what the commands do, without the printing."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nmrgcl import atomic
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.diagnose.collapse import effective_rank
from nmrgcl.errors import DataError, ModelError, SettingError
from nmrgcl.evaluate.svm import svm_scores_many
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Method, build_method
from nmrgcl.model_folder import Model, load_model, save_model
from nmrgcl.settings import Settings, SVMSettings, parse_assignments
from nmrgcl.train import Epoch, pretrain

RANK_GRAPHS = 1024
"""Effective rank is tracked on this many graphs at most: an SVD of more would cost as much as an epoch."""

WIDE_UNITS = 64
"""From this width on a matrix product is worth a second thread."""


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


@dataclass(frozen=True)
class Scores:
    """Accuracies in percent: ``[seeds, folds]``."""

    folds: np.ndarray

    def to_dict(self) -> dict[str, Any]:
        """Mean and sample standard deviation over seeds, and the seeds themselves."""
        seeds = self.folds.mean(1)
        spread = float(seeds.std(ddof=1)) if len(seeds) > 1 else 0.0
        return {"mean": float(seeds.mean()), "std": spread, "scores": seeds.tolist()}


@dataclass(frozen=True)
class Judgement:
    """What ``evaluate`` found."""

    dataset: str
    trained: Scores
    untrained: Scores
    varied: str
    method: str
    features: str
    svm: SVMSettings

    def to_dict(self) -> dict[str, Any]:
        """The object that ``evaluate --json`` prints."""
        return {
            "dataset": self.dataset,
            "method": self.method,
            "features": self.features,
            "protocol": "svm",
            "selection": "honest",
            "svm": asdict(self.svm),
            **self.trained.to_dict(),
            "folds": self.trained.folds.tolist(),
            "untrained": self.untrained.to_dict(),
            "varied": self.varied,
        }


def choose_device(name: str) -> torch.device:
    """``auto``, ``cpu`` or ``cuda`` as a device that is there."""
    if name not in ("auto", "cpu", "cuda"):
        raise SettingError(f"unknown device {name!r}; known: auto, cpu, cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise SettingError("no CUDA device is available; use --device cpu or --device auto")
    cuda = name == "cuda" or (name == "auto" and torch.cuda.is_available())
    return torch.device("cuda" if cuda else "cpu")


def limit_threads(settings: Settings) -> None:
    """Keep narrow encoders on one thread: a second one gains nothing there and, on a busy machine, waits.

    NCI1, seconds an epoch on one and two threads: 3 × 32 units 0.52 and 0.57, 5 × 128 units 4.3 and 2.9.
    """
    if settings.encoder.units < WIDE_UNITS:
        torch.set_num_threads(1)


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
) -> Iterator[Progress]:
    """Pre-train one model a seed into ``out/seed-…``, yielding after each epoch; each folder appears complete."""
    out = Path(out)
    features = choose_features(dataset, settings.data.features, settings.data.max_degree)
    graphs = apply_features(dataset, features).to(device)
    if graphs.num_graphs < 2:
        raise DataError(f"{dataset.name}: contrast needs at least two graphs, this dataset has {graphs.num_graphs}")
    methods = [build_method(replace(settings, seed=seed), features.width).to(device) for seed in seeds]
    prepare_folder(out, overwrite=overwrite)
    with atomic.new_folder(out) as fresh:
        (fresh / "settings.json").write_text(json.dumps(settings.to_dict(), indent=2) + "\n", encoding="utf-8")
    for seed, method in zip(seeds, methods, strict=True):
        with atomic.new_folder(out / f"seed-{seed}") as folder, (folder / "metrics.jsonl").open("w") as metrics:
            last = None
            for epoch in pretrain(method, graphs, settings.train, seed=seed):
                due = epoch.number == 1 or epoch.number % track_every == 0 or epoch.number == settings.train.epochs
                last = Progress(seed, epoch, effective_rank(embed_some(method, graphs)) if due else None)
                metrics.write(json.dumps(last.record()) + "\n")
                metrics.flush()
                yield last
            model = Model(method, replace(settings, seed=seed), features, dataset.name)
            save_model(folder, model, training=last.record() if last else None)


def evaluate_run(
    run: Path | str,
    dataset: Dataset,
    *,
    device: torch.device,
    fold_seeds: int = 5,
    overrides: Sequence[str] = (),
    jobs: int = 0,
) -> Judgement:
    """Judge every model of a run beside the encoder it started from, each on its own seed's folds.

    A run of one model is judged on the folds of ``fold_seeds`` seeds instead.
    """
    models = [load_model(folder) for folder in find_models(Path(run))]
    seeds = [model.settings.seed for model in models]
    varied = "model" if len(models) > 1 else "folds"
    if varied == "folds":
        seeds = list(range(fold_seeds))
        models = models * fold_seeds
    svm = _judge_settings(models[0].settings, overrides).svm
    if dataset.graphs.y is None:
        raise DataError(f"{dataset.name}: has no graph labels, so there is nothing to judge against")
    y = dataset.graphs.y.numpy()
    embedded: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    for model in models:
        if id(model) not in embedded:
            graphs = apply_features(dataset, model.features).to(device)
            fresh = build_method(replace(model.settings, method="untrained"), model.features.width)
            embedded[id(model)] = (
                embed_all(model.method.to(device), graphs).cpu().numpy(),
                embed_all(fresh.to(device), graphs).cpu().numpy(),
            )
    cells = [(embedded[id(m)][kind], y, seed) for kind in (0, 1) for m, seed in zip(models, seeds, strict=True)]
    scores = svm_scores_many(cells, **asdict(svm), jobs=jobs or -1)
    half = len(seeds)
    first = models[0]
    return Judgement(
        dataset.name,
        Scores(scores[:half]),
        Scores(scores[half:]),
        varied,
        first.settings.method,
        first.features.kind,
        svm,
    )


def find_models(run: Path) -> list[Path]:
    """The model folders of a run, by seed; a model folder is a run of one."""
    if (run / "config.json").exists():
        return [run]
    if not run.is_dir():
        raise ModelError(f"{run}: no such run or model folder; make one with nmrgcl pretrain")
    numbers = sorted(int(m[1]) for p in run.iterdir() if (m := re.fullmatch(r"seed-(\d+)", p.name)))
    if not numbers:
        raise ModelError(f"{run}: holds no models (seed-0, seed-1, …); make a run with nmrgcl pretrain")
    return [run / f"seed-{number}" for number in numbers]


@torch.no_grad()
def embed_all(method: Method, graphs: Graphs, batch_size: int = 512) -> Tensor:
    """``[B, D]`` embeddings of all graphs in their order, in evaluation mode."""
    method.eval()
    parts = [method.embed(graphs.take(part)) for part in torch.arange(graphs.num_graphs).split(batch_size)]
    return torch.cat(parts)


def embed_some(method: Method, graphs: Graphs) -> Tensor:
    """Embeddings of an even sample of the graphs, enough to measure their rank."""
    step = -(-graphs.num_graphs // RANK_GRAPHS)
    return embed_all(method, graphs.take(torch.arange(0, graphs.num_graphs, step)))


def _judge_settings(settings: Settings, overrides: Sequence[str]) -> Settings:
    values = parse_assignments(overrides)
    for key in values:
        if not key.startswith("svm.") and key not in asdict(settings.svm):
            raise SettingError(f"--set {key}: evaluate takes svm.* settings only; the model's own are fixed")
    return settings.updated(values, source="--set")


def _is_run(folder: Path) -> bool:
    return (folder / "settings.json").is_file() or any(folder.glob("seed-*/config.json"))
