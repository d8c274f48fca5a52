"""Models → scores, beside the encoders they started from."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import apply_features
from nmrgcl.data.splits import is_seeded, split_nodes
from nmrgcl.errors import DataError, ModelError, SettingError
from nmrgcl.evaluate.linear import linear_score
from nmrgcl.evaluate.lssvm import lssvm_scores
from nmrgcl.evaluate.spread import by_seed, with_spread
from nmrgcl.evaluate.svm import svm_scores_many
from nmrgcl.methods import build_untrained
from nmrgcl.model_folder import Model, load_model
from nmrgcl.run.cell import CUTS, PROTOCOLS
from nmrgcl.run.embed import embed_all
from nmrgcl.run.export import Embeddings
from nmrgcl.run.level import class_labels, require_level
from nmrgcl.run.selection import lssvm_options
from nmrgcl.run.subject import Subject, subject_of
from nmrgcl.settings import LinearSettings, Settings, SVMSettings, read_assignments

Machine = Literal["svm", "lssvm"]


@dataclass(frozen=True)
class Scores:
    """Accuracies in percent: ``[seeds, folds]``."""

    folds: np.ndarray

    def to_dict(self) -> dict[str, Any]:
        """Mean and sample standard deviation over seeds (None for one), and the seeds themselves."""
        return by_seed(self.folds)

    def __str__(self) -> str:
        """The mean, and the deviation where there are several seeds."""
        facts = self.to_dict()
        return with_spread(facts["mean"], facts["std"])


@dataclass(frozen=True)
class Judgement:
    """What ``evaluate`` found."""

    dataset: str
    trained: Scores
    untrained: Scores | None
    varied: str
    method: str | None
    features: str | None
    svm: SVMSettings
    seeds: tuple[int, ...] = ()
    linear: LinearSettings | None = None
    split: str = "stratified"
    test_to_train: float | None = None
    machine: Machine = "svm"
    subject: Subject | None = None

    @property
    def protocol(self) -> str:
        """How graphs (by an SVM, or one of least squares) or nodes (by logistic regression) were judged."""
        return "linear" if self.linear else self.machine

    @property
    def sentence(self) -> str:
        """How it was judged, on what and how often, in words."""
        n, folds = self.trained.folds.shape
        if self.linear:
            scaled = {"none": "raw", "l2": "l2-normalised", "standardise": "standardised"}[self.linear.normalise]
            cut = f"logistic regression on {scaled} embeddings, C by validation; split {self.split}"
        else:
            words = {"true": "standardised", "false": "raw", "squashed": "standardised and squashed"}
            scaled = words[str(self.svm.standardise).lower()]
            name = "SVM" if self.machine == "svm" else "least-squares SVM"
            cut = f"RBF {name} on {scaled} embeddings, C: {self.svm.c}; {folds} folds"
        often = f" × {n} {self.spread_over}" if n > 1 else ", once"
        return f"{cut}{often}; honest selection"

    @property
    def spread_over(self) -> str:
        """What the seeds are of."""
        if self.varied == "model":
            return "models"
        return "seeds of the split" if self.linear else "fold seeds"

    def to_dict(self) -> dict[str, Any]:
        """The object that ``evaluate --json`` prints."""
        return {
            "dataset": self.dataset,
            "method": self.method,
            "features": self.features,
            "protocol": self.protocol,
            "split": self.split,
            "selection": "honest",
            "linear" if self.linear else "svm": asdict(self.linear or self.svm),
            **self.trained.to_dict(),
            "folds": self.trained.folds.tolist(),
            "untrained": self.untrained.to_dict() if self.untrained else None,
            "varied": self.varied,
            "seeds": list(self.seeds),
            **(self.subject.to_dict() if self.subject else {}),
        }


def evaluate_run(
    run: Path | str,
    dataset: Dataset,
    *,
    device: torch.device,
    fold_seeds: int = 5,
    overrides: Sequence[str] = (),
    jobs: int = 0,
    split: str | None = None,
    protocol: str | None = None,
) -> Judgement:
    """Judge every model of a run beside the encoder it started from, each on its own seed's folds or split.

    A run of one model is judged on the folds or splits of ``fold_seeds`` seeds instead, or once if the split is the
    public one, which no seed changes. ``split`` names that of nodes, ``protocol`` the judge, "svm" or "lssvm" of graphs
    and "linear" of nodes.
    """
    folders = find_models(Path(run))
    models = [load_model(folder) for folder in folders]
    first = models[0]
    require_level(dataset, first.settings)
    chosen = _judge_settings(first.settings, overrides)
    y = class_labels(dataset, first.settings.level)
    machine = _machine(protocol, first.settings.level)
    subject = subject_of(folders, dataset, first.features)
    if first.settings.level == "node":
        split = split or CUTS["node"][0]
        seeds = _seeds(models, fold_seeds if is_seeded(split) else 1)
        return replace(_judge_nodes(models, seeds, dataset, chosen, split, device), subject=subject)
    seeds = _seeds(models, fold_seeds)
    if split not in (None, "stratified"):
        raise SettingError(f"--split {split}: graphs are judged on stratified folds; leave it out")
    svm, labelled = chosen.svm, y >= 0
    cells = []
    for start in (False, True):
        embeddings = [_embed(model, dataset, device, start=start)[labelled] for model in models]
        shared = embeddings if len(models) > 1 else embeddings * fold_seeds
        cells += [(z, y[labelled], seed) for z, seed in zip(shared, seeds, strict=True)]
    scores = _fold_scores(cells, svm, machine, device, jobs)
    return Judgement(
        dataset=dataset.name,
        trained=Scores(scores[: len(seeds)]),
        untrained=Scores(scores[len(seeds) :]),
        varied="model" if len(models) > 1 else "folds",
        method=first.settings.method,
        features=first.features.kind,
        svm=svm,
        seeds=tuple(seeds),
        machine=machine,
        subject=subject,
    )


def _seeds(models: list[Model], own: int) -> list[int]:
    """The seed of each model; for a single model ``own`` seeds, from 0."""
    return [model.settings.seed for model in models] if len(models) > 1 else list(range(own))


def _fold_scores(
    cases: list[tuple[np.ndarray, np.ndarray, int]], svm: SVMSettings, machine: Machine, device: torch.device, jobs: int
) -> np.ndarray:
    """``[cases, folds]``, on the device; the SVM on the processor's cores where that is no GPU."""
    if machine == "svm":
        return svm_scores_many(cases, **asdict(svm), jobs=jobs or -1, device=device)
    options = lssvm_options(svm)
    return np.array([lssvm_scores(z, y, seed=seed, **options, device=device) for z, y, seed in cases])


def _machine(protocol: str | None, level: str) -> Machine:
    known = [name for name in PROTOCOLS[level] if name != "finetune"]
    if protocol not in (None, *known):
        raise SettingError(f"--protocol {protocol}: {level}s are judged by {' or '.join(known)}")
    return "lssvm" if protocol == "lssvm" else "svm"


def _judge_nodes(
    models: list[Model], seeds: list[int], dataset: Dataset, chosen: Settings, split: str, device: torch.device
) -> Judgement:
    """By logistic regression, trained and untrained, ``[seeds, 1]`` each."""
    y, first = class_labels(dataset, "node"), models[0]
    cuts = [split_nodes(split, y, seed=seed, public=dataset.public_split) for seed in seeds]
    tables = []
    for start in (False, True):
        embeddings = [torch.from_numpy(_embed(model, dataset, device, start=start)).to(device) for model in models]
        shared = embeddings if len(models) > 1 else embeddings * len(seeds)
        found = [linear_score(z, y, cut, scaling=chosen.linear.normalise) for z, cut in zip(shared, cuts, strict=True)]
        tables.append(Scores(np.array([[score.test] for score in found])))
    return Judgement(
        dataset=dataset.name,
        trained=tables[0],
        untrained=tables[1],
        varied="model" if len(models) > 1 else "folds",
        method=first.settings.method,
        features=first.features.kind,
        svm=chosen.svm,
        seeds=tuple(seeds),
        linear=chosen.linear,
        split=split,
        test_to_train=len(cuts[0].test) / len(cuts[0].train),
    )


def evaluate_embeddings(
    embeddings: Embeddings,
    name: str,
    *,
    fold_seeds: int = 5,
    overrides: Sequence[str] = (),
    jobs: int = 0,
    split: str | None = None,
    protocol: str | None = None,
    device: torch.device | None = None,
) -> Judgement:
    """Judge embeddings of any origin on the folds of ``fold_seeds`` seeds; with ``split`` as nodes."""
    machine = _machine(protocol, "node" if split is not None else "graph")
    if embeddings.y is None:
        raise DataError(f"{name}: has no y, so there is nothing to judge against; save z and y together")
    labelled = embeddings.labelled
    z, codes = embeddings.z[labelled], np.unique(embeddings.y[labelled], return_inverse=True)[1]
    chosen, seeds = _judge_settings(Settings(), overrides), tuple(range(fold_seeds))
    facts: dict[str, Any] = {"untrained": None, "varied": "folds", "method": None, "features": None, "seeds": seeds}
    if split is not None:
        cuts = [split_nodes(split, codes, seed=seed) for seed in seeds]
        found = [[linear_score(z, codes, cut, scaling=chosen.linear.normalise).test] for cut in cuts]
        return Judgement(name, Scores(np.array(found)), svm=chosen.svm, linear=chosen.linear, split=split, **facts)
    cells = [(z, codes, seed) for seed in seeds]
    scores = Scores(_fold_scores(cells, chosen.svm, machine, device or torch.device("cpu"), jobs))
    return Judgement(name, scores, svm=chosen.svm, machine=machine, **facts)


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


def _embed(model: Model, dataset: Dataset, device: torch.device, *, start: bool) -> np.ndarray:
    """Embeddings by the model, or by the encoder as it was at the start of its training."""
    method = model.method
    if start:
        method = build_untrained(model.settings, model.features.width)
    return embed_all(method.to(device), apply_features(dataset, model.features).to(device)).cpu().numpy()


def _judge_settings(settings: Settings, overrides: Sequence[str]) -> Settings:
    values = read_assignments(overrides)
    for key in values:
        known = asdict(settings.svm) | asdict(settings.linear)
        if not key.startswith(("svm.", "linear.")) and key not in known:
            raise SettingError(f"--set {key}: evaluate takes svm.* and linear.* only; the model's own are fixed")
    return settings.updated(values, source="--set")
