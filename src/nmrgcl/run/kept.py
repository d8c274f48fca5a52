"""What an evaluation leaves in the run's folder: its scores, and the folds they were measured on."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nmrgcl import atomic, reading
from nmrgcl.checksums import checksum_of
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.splits import split_nodes, stratified_folds
from nmrgcl.errors import ModelError
from nmrgcl.owned import require_format
from nmrgcl.run.judge import Judgement
from nmrgcl.run.subject import Subject

EVALUATION = "evaluation.json"
SPLITS = "splits.json"
MAX_BYTES = 1 << 28
VERSION = 2
"""The version of both files. Since 2 they have a checksum, and scores name their models and data."""
FORMATS = {EVALUATION: "nmrgcl-evaluation", SPLITS: "nmrgcl-splits"}


def require_place(run: Path) -> None:
    """Refuse to replace files of these names that are not ours."""
    for name, format_ in FORMATS.items():
        require_format(run / name, format_)


def keep_judgement(run: Path, found: Judgement, dataset: Dataset) -> bool:
    """Write both files; False where the folder cannot be written."""
    assert dataset.y is not None
    splits: dict[str, Any] = {"dataset": dataset.name, "kind": found.split}
    if found.linear is None:
        splits["folds"] = found.svm.folds
        folds = {seed: fold_of(dataset.y, found.svm.folds, seed) for seed in found.seeds}
        splits["tested_in"] = {str(seed): fold.tolist() for seed, fold in folds.items()}
    else:
        parts = {seed: part_of(dataset, found.split, seed) for seed in found.seeds}
        splits["part"] = {str(seed): part.tolist() for seed, part in parts.items()}
    require_place(run)
    try:
        _write(run / SPLITS, splits)
        _write(run / EVALUATION, found.to_dict())
    except OSError:
        return False
    return True


def read_evaluation(run: Path, subject: Subject, data: str) -> dict[str, Any] | None:
    """The scores that ``evaluate`` left in ``run`` for ``subject``; None where it left none for the dataset ``data``.

    ModelError where the file was changed after it was written, or is about other models or other graphs of that name.
    """
    values = _read(run / EVALUATION, f"run nmrgcl evaluate {run} DATA again")
    if values is None or values.get("dataset") != data:
        return None
    for key, what in {"models_sha256": "models", "data_sha256": "data"}.items():
        if values.get(key) != subject.to_dict()[key]:
            raise ModelError(
                f"{run / EVALUATION}: its scores are those of other {what}; run nmrgcl evaluate {run} DATA again"
            )
    return values


def fold_of(y: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """``[B]`` the fold that each graph is tested in, from 0; -1 for one without a label."""
    fold = np.full(len(y), -1)
    for number, (_, test) in enumerate(stratified_folds(y, folds, seed=seed)):
        fold[test] = number
    return fold


def part_of(dataset: Dataset, name: str, seed: int) -> np.ndarray:
    """``[N]`` whether a node is to train (1), validate (2) or test (3) on, or in none of them (0)."""
    assert dataset.y is not None
    split = split_nodes(name, dataset.y, seed=seed, public=dataset.public_split)
    part = np.zeros(len(dataset.y), np.int64)
    for code, nodes in enumerate((split.train, split.valid, split.test), 1):
        part[nodes] = code
    return part


def read_splits(run: Path) -> dict[int, np.ndarray]:
    """Seed → ``[B]`` the fold that each graph was tested in, or ``[N]`` the part that each node was in."""
    path, remedy = run / SPLITS, f"run nmrgcl evaluate {run} DATA again"
    values = _read(path, remedy)
    if values is None:
        raise ModelError(f"{path}: is not there; run nmrgcl evaluate {run} DATA")
    try:
        found = values["tested_in"] if "tested_in" in values else values["part"]
        return {int(seed): np.array(fold, np.int64) for seed, fold in found.items()}
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise ModelError(f"{path}: not a record of splits; {remedy}") from None


def _write(path: Path, facts: Mapping[str, Any]) -> None:
    values = {"format": FORMATS[path.name], "version": VERSION, **facts}
    atomic.write_text(path, json.dumps(values | {"checksum": checksum_of(values)}) + "\n")


def _read(path: Path, remedy: str) -> dict[str, Any] | None:
    """What ``_write`` wrote; None where there is no such file, ModelError where it holds anything else."""
    try:
        values = json.loads(reading.read_text(path, MAX_BYTES))
        version = values["version"]
        if values["format"] != FORMATS[path.name] or not isinstance(version, int):
            raise ValueError
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror}); {remedy}") from None
    except (KeyError, TypeError, ValueError, RecursionError):
        raise ModelError(f"{path}: not what nmrgcl evaluate writes; {remedy}") from None
    if version > VERSION:
        raise ModelError(f"{path}: written by a newer version (format {version}); upgrade nmrgcl")
    if version < VERSION:
        raise ModelError(f"{path}: written by an earlier version, without a checksum; {remedy}")
    if values.get("checksum") != checksum_of(values):
        raise ModelError(f"{path}: was changed after it was written (its checksum does not match); {remedy}")
    found: dict[str, Any] = values
    return found
