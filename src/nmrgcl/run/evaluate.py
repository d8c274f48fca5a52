"""Evaluate the models of a run next to their untrained encoders, or embeddings from any source."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import apply_features
from nmrgcl.data.splits import is_seeded, split_nodes
from nmrgcl.errors import DataError, SettingError
from nmrgcl.evaluate.cross_validation import FewMembersError, Watch
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Pretraining, build_untrained
from nmrgcl.model_folder import Model, load_model
from nmrgcl.run.cases import Case, Truth
from nmrgcl.run.cell import CUTS, PROTOCOLS
from nmrgcl.run.cell_data import class_labels
from nmrgcl.run.embeddings import Embeddings, embed_all, kernels_of
from nmrgcl.run.evaluation import Evaluation, SeedScores, subject_of
from nmrgcl.run.model_folders import find_models
from nmrgcl.run.protocols import SCORE_BY
from nmrgcl.run.recipe import require_level
from nmrgcl.settings import Settings, read_assignments, require_protocol_keys


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
    watch: Watch | None = None,
) -> Evaluation:
    """Score every model of a run, and the untrained encoder it started from, on the folds or split of its seed.

    A run of one model is scored on the folds or splits of ``fold_seeds`` seeds instead, or once if the split is the
    public one, which does not depend on a seed. ``split`` is for nodes only; ``protocol`` is "svm" or "lssvm" for
    graphs and "linear" for nodes. ``watch`` is called after each fold of an SVM on a processor.
    """
    folders = find_models(Path(run))
    models = [load_model(folder) for folder in folders]
    first, level = models[0], models[0].settings.level
    require_level(dataset, first.settings)
    settings = _with_overrides(first.settings, overrides)
    truth = Truth(class_labels(dataset, level), dataset.public_split)
    protocol = _require_protocol(protocol, level)
    subject = subject_of(folders, dataset, first.features)
    if level == "graph" and split not in (None, CUTS["graph"][0]):
        raise SettingError(f"--split {split}: graphs are evaluated on stratified folds; leave it out")
    split = split or CUTS[level][0]
    several, count = len(models) > 1, fold_seeds if is_seeded(split) else 1
    seeds = [model.settings.seed for model in models] if several else list(range(count))
    parts = None
    if level == "node":  # Report an impossible split before anything is embedded.
        parts = split_nodes(split, truth.y, seed=seeds[0], public=truth.public)
    cases: list[Case] = []
    starts = (False, True) if isinstance(first.method, Pretraining) else (False,)
    for found in _embed(models, dataset, device, starts):
        # A single model is embedded once; its cases share the arrays, which then go to the workers only once.
        repeated = found if several else found * count
        cases += [Case(z, truth, seed, split, kernels) for (z, kernels), seed in zip(repeated, seeds, strict=True)]
    try:
        scores = SCORE_BY[protocol](cases, settings, device, jobs or -1, watch)
    except FewMembersError as error:
        raise error.named(dataset.name, dataset.classes) from None
    return Evaluation(
        dataset=dataset.name,
        trained=SeedScores.of(scores[: len(seeds)]),
        untrained=SeedScores.of(scores[len(seeds) :]) if len(starts) > 1 else None,
        varied="model" if several else "folds",
        method=first.settings.label,
        features=first.features.kind,
        settings=settings,
        seeds=tuple(seeds),
        protocol=protocol,
        split=split,
        test_to_train=len(parts.test) / len(parts.train) if parts else None,
        subject=subject,
        by_kernels=protocol == "svm" and cases[0].kernels is not None,
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
    watch: Watch | None = None,
) -> Evaluation:
    """Score embeddings from any source on the folds of ``fold_seeds`` seeds; ``split`` means that they are of nodes."""
    level = "node" if split is not None else "graph"
    protocol = _require_protocol(protocol, level)
    if embeddings.y is None:
        raise DataError(f"{name}: has no labels y to evaluate against; save z and y together")
    labelled = embeddings.labelled
    z = embeddings.z[labelled]
    classes, codes = np.unique(embeddings.y[labelled], return_inverse=True)
    settings, seeds = _with_overrides(Settings(), overrides), tuple(range(fold_seeds))
    split = split or CUTS[level][0]
    cases = [Case(z, Truth(codes), seed, split) for seed in seeds]
    try:
        scores = SCORE_BY[protocol](cases, settings, device or torch.device("cpu"), jobs or -1, watch)
    except FewMembersError as error:
        raise error.named(name, classes) from None
    return Evaluation(
        dataset=name,
        trained=SeedScores.of(scores),
        untrained=None,
        varied="folds",
        method=None,
        features=None,
        settings=settings,
        seeds=seeds,
        protocol=protocol,
        split=split,
    )


def _embed(
    models: Sequence[Model], dataset: Dataset, device: torch.device, starts: Sequence[bool]
) -> list[list[tuple[np.ndarray, np.ndarray | None]]]:
    """For each of ``starts``, the embeddings and kernels by every model or, if it is True, by its untrained encoder."""
    # The models of a run have the same features, so that they are applied once.
    graphs = {spec: apply_features(dataset, spec).to(device) for spec in {model.features for model in models}}
    return [[_embed_by(model, graphs[model.features], start=start) for model in models] for start in starts]


def _embed_by(model: Model, graphs: Graphs, *, start: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Embeddings and kernels by the model or, with ``start``, by its untrained encoder."""
    method = model.method
    if start:
        method = build_untrained(model.settings, model.features.width, model.features.edge_shape)
    return embed_all(method.to(graphs.device), graphs).cpu().numpy(), kernels_of(method, graphs)


def _require_protocol(name: str | None, level: str) -> str:
    """The named protocol, or the default for ``level``."""
    known = [protocol for protocol in PROTOCOLS[level] if protocol in SCORE_BY]
    if name not in (None, *known):
        raise SettingError(f"--protocol {name}: {level}s are evaluated by {' or '.join(known)}")
    return name or known[0]


def _with_overrides(settings: Settings, overrides: Sequence[str]) -> Settings:
    values = read_assignments(overrides)
    require_protocol_keys(values)
    return settings.updated(values, source="--set")
