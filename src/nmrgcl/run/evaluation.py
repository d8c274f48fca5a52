"""The result of an evaluation, and the files it leaves in the run folder: the scores and the folds behind them."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import FeatureSpec, apply_features
from nmrgcl.data.splits import split_nodes, stratified_folds
from nmrgcl.errors import ModelError
from nmrgcl.evaluate.spread import by_seed, with_spread
from nmrgcl.model_folder import folder_digest
from nmrgcl.owned import require_format
from nmrgcl.record import RecordError, RecordFormat
from nmrgcl.run.cases import FoldScores
from nmrgcl.run.cell_data import digest_of
from nmrgcl.settings import Settings

EVALUATION = "evaluation.json"
SPLITS = "splits.json"
FORMATS = {
    name: RecordFormat(format_, 2, "what nmrgcl evaluate writes", oldest=2, limit=1 << 28)
    for name, format_ in {EVALUATION: "nmrgcl-evaluation", SPLITS: "nmrgcl-splits"}.items()
}
"""Since version 2, both have a checksum, and scores identify their models and data."""
SCALED = {"none": "raw", "l2": "l2-normalised", "standardise": "standardised", "squash": "standardised and squashed"}
"""How messages describe embeddings on each scale."""


@dataclass(frozen=True)
class Subject:
    """What was evaluated: the SHA-256 of each model folder, in order, and of the graphs with their labels."""

    models: tuple[str, ...]
    data: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"models_sha256": list(self.models), "data_sha256": self.data}


@dataclass(frozen=True)
class SeedScores:
    """Accuracies in percent and, if the protocol chooses a C, the C for each: ``[seeds, folds]``."""

    folds: np.ndarray
    penalties: np.ndarray | None = None

    @classmethod
    def of(cls, scores: Sequence[FoldScores]) -> "SeedScores":
        """Collect the scores of a protocol, one per seed."""
        chosen = [one.penalties for one in scores if one.penalties is not None]
        return cls(np.array([one.folds for one in scores]), np.array(chosen) if chosen else None)

    @property
    def parts(self) -> dict[str, Any]:
        """The values of every fold."""
        return {
            "folds": self.folds.tolist(),
            "penalties": None if self.penalties is None else self.penalties.tolist(),
        }

    def to_dict(self) -> dict[str, Any]:
        """Mean and sample standard deviation over seeds (None for one seed), and the mean of each seed."""
        return by_seed(self.folds)

    def __str__(self) -> str:
        """The mean and, if there are several seeds, the standard deviation."""
        facts = self.to_dict()
        return with_spread(facts["mean"], facts["std"])


@dataclass(frozen=True)
class Evaluation:
    """The result of ``evaluate``.

    Attributes:
        dataset: the name of the dataset.
        trained: the scores of the models, or of the given embeddings.
        untrained: the scores of the encoders before training; None if they are not known.
        varied: "model" if every seed has a model of its own, "folds" if all seeds share the same embeddings.
        method: the method that trained the models, if known.
        features: the features of the graphs, if known.
        settings: the settings of the protocol.
        seeds: the seeds of the folds or splits.
        protocol: "svm" or "lssvm" for graphs, "linear" for nodes.
        split: the split of graphs or nodes.
        test_to_train: the ratio of test to training nodes; None for folds, whose number determines it.
        subject: the models and the data, if known.
        by_kernels: True if the SVM used the method's own kernels instead of embeddings.
    """

    dataset: str
    trained: SeedScores
    untrained: SeedScores | None
    varied: str
    method: str | None
    features: str | None
    settings: Settings
    seeds: tuple[int, ...] = ()
    protocol: str = "svm"
    split: str = "stratified"
    test_to_train: float | None = None
    subject: Subject | None = None
    by_kernels: bool = False

    @property
    def sentence(self) -> str:
        """One sentence on how the embeddings were evaluated and how often."""
        n, folds = self.trained.folds.shape
        if self.protocol == "linear":
            scaled = SCALED[self.settings.linear.normalise]
            cut = f"logistic regression on {scaled} embeddings, C by validation; split {self.split}"
        else:
            scaled = SCALED[{True: "standardise", False: "none", "squashed": "squash"}[self.settings.svm.standardise]]
            name = "SVM" if self.protocol == "svm" else "least-squares SVM"
            what = f"RBF {name} on {scaled} embeddings, C: {self.settings.svm.c}"
            if self.by_kernels:
                what = f"SVM on the method's own kernels, kernel and C ({self.settings.svm.c}) by the training folds"
            cut = f"{what}; {folds} folds"
        often = f" × {n} {self.spread_over}" if n > 1 else ", once"
        return f"{cut}{often}; honest selection"

    @property
    def spread_over(self) -> str:
        """What differs between seeds."""
        if self.varied == "model":
            return "models"
        return "seeds of the split" if self.protocol == "linear" else "fold seeds"

    def to_dict(self) -> dict[str, Any]:
        """The object that ``evaluate --json`` prints."""
        options = self.settings.linear if self.protocol == "linear" else self.settings.svm
        return {
            "dataset": self.dataset,
            "method": self.method,
            "features": self.features,
            "protocol": self.protocol,
            "split": self.split,
            "selection": "honest",
            "linear" if self.protocol == "linear" else "svm": asdict(options),
            **self.trained.to_dict(),
            **self.trained.parts,
            "untrained": self.untrained.to_dict() | self.untrained.parts if self.untrained else None,
            "varied": self.varied,
            "seeds": list(self.seeds),
            **(self.subject.to_dict() if self.subject else {}),
        }


def subject_of(folders: Sequence[Path], dataset: Dataset, features: FeatureSpec) -> Subject:
    """The subject of an evaluation of the models in ``folders``, which use ``features``, on ``dataset``."""
    digest = hashlib.sha256(digest_of(apply_features(dataset, features)).encode())
    for labels in (dataset.y, dataset.public_split):
        # In one type, because a store may hold the same numbers in a smaller one.
        digest.update(b"none" if labels is None else labels.astype("<i8").tobytes())
    return Subject(tuple(folder_digest(folder) for folder in folders), digest.hexdigest())


def require_place(run: Path) -> None:
    """Refuse to replace files of the same names that are not ours."""
    for name, format_ in FORMATS.items():
        require_format(run / name, format_.name)


def keep_evaluation(run: Path, found: Evaluation, dataset: Dataset) -> bool:
    """Write both files; return False if the folder is not writable."""
    assert dataset.y is not None
    splits: dict[str, Any] = {"dataset": dataset.name, "kind": found.split}
    if found.protocol != "linear":
        splits["folds"] = count = found.settings.svm.folds
        folds = {seed: fold_of(dataset.y, count, seed) for seed in found.seeds}
        splits["tested_in"] = {str(seed): fold.tolist() for seed, fold in folds.items()}
    else:
        parts = {seed: part_of(dataset, found.split, seed) for seed in found.seeds}
        splits["part"] = {str(seed): part.tolist() for seed, part in parts.items()}
    require_place(run)
    try:
        FORMATS[SPLITS].write(run / SPLITS, splits)
        FORMATS[EVALUATION].write(run / EVALUATION, found.to_dict())
    except OSError:
        return False
    return True


def read_evaluation(run: Path, subject: Subject, data: str) -> dict[str, Any] | None:
    """The stored evaluation of ``subject`` in ``run``; None if there is none for the dataset named ``data``.

    Raises ModelError if the file was edited, or is about other models or about other graphs with the same name.
    """
    values = _read(run, EVALUATION)
    if values is None or values.get("dataset") != data:
        return None
    for key, what in {"models_sha256": "models", "data_sha256": "data"}.items():
        if values.get(key) != subject.to_dict()[key]:
            raise ModelError(f"{run / EVALUATION}: its scores belong to other {what}; {_remedy(run)}")
    return values


def fold_of(y: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """``[B]`` the fold, from 0, in which each graph is tested; -1 for graphs without a label."""
    fold = np.full(len(y), -1)
    for number, (_, test) in enumerate(stratified_folds(y, folds, seed=seed)):
        fold[test] = number
    return fold


def part_of(dataset: Dataset, name: str, seed: int) -> np.ndarray:
    """``[N]`` the part that each node belongs to: training (1), validation (2), test (3) or none (0)."""
    assert dataset.y is not None
    split = split_nodes(name, dataset.y, seed=seed, public=dataset.public_split)
    part = np.zeros(len(dataset.y), np.int64)
    for code, nodes in enumerate((split.train, split.valid, split.test), 1):
        part[nodes] = code
    return part


def read_splits(run: Path) -> dict[int, np.ndarray]:
    """For each seed, the fold in which each graph was tested (``[B]``), or the part of each node (``[N]``)."""
    values = _read(run, SPLITS)
    if values is None:
        raise ModelError(f"{run / SPLITS}: does not exist; run nmrgcl evaluate {run} DATA")
    try:
        found = values["tested_in"] if "tested_in" in values else values["part"]
        return {int(seed): np.array(fold, np.int64) for seed, fold in found.items()}
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise FORMATS[SPLITS].mismatch.told(ModelError, run / SPLITS, _remedy(run)) from None


def _read(run: Path, name: str) -> dict[str, Any] | None:
    """What ``keep_evaluation`` wrote; None if there is no such file, ModelError if it holds anything else."""
    try:
        return FORMATS[name].read(run / name)
    except RecordError as error:
        raise error.told(ModelError, run / name, _remedy(run)) from None


def _remedy(run: Path) -> str:
    return f"run nmrgcl evaluate {run} DATA again"
