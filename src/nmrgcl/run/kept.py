"""What an evaluation leaves in the run's folder: its scores, and the folds they were measured on."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from nmrgcl import atomic
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.splits import split_nodes, stratified_folds
from nmrgcl.errors import DataError
from nmrgcl.owned import require_format
from nmrgcl.run.judge import Judgement

EVALUATION = "evaluation.json"
SPLITS = "splits.json"
FORMAT: dict[str, Any] = {"format": "nmrgcl-evaluation", "version": 1}
"""How EVALUATION begins."""
FORMATS = {EVALUATION: FORMAT["format"], SPLITS: "nmrgcl-splits"}


def require_place(run: Path) -> None:
    """Refuse to replace files of these names that are not ours."""
    for name, format_ in FORMATS.items():
        require_format(run / name, format_)


def keep_judgement(run: Path, found: Judgement, dataset: Dataset) -> bool:
    """Write both files; False where the folder cannot be written."""
    assert dataset.y is not None
    splits: dict[str, Any] = {"format": "nmrgcl-splits", "version": 1, "dataset": dataset.name, "kind": found.split}
    if found.linear is None:
        splits["folds"] = found.svm.folds
        folds = {seed: fold_of(dataset.y, found.svm.folds, seed) for seed in found.seeds}
        splits["tested_in"] = {str(seed): fold.tolist() for seed, fold in folds.items()}
    else:
        parts = {seed: part_of(dataset, found.split, seed) for seed in found.seeds}
        splits["part"] = {str(seed): part.tolist() for seed, part in parts.items()}
    require_place(run)
    try:
        atomic.write_text(run / SPLITS, json.dumps(splits) + "\n")
        atomic.write_text(run / EVALUATION, json.dumps(FORMAT | found.to_dict()) + "\n")
    except OSError:
        return False
    return True


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
    path = run / SPLITS
    try:
        values: Any = json.loads(path.read_text(encoding="utf-8"))
        if values["format"] != "nmrgcl-splits":
            raise ValueError
        if values["version"] > 1:
            raise DataError(f"{path}: written by a newer version; upgrade nmrgcl")
        found = values["tested_in"] if "tested_in" in values else values["part"]
        return {int(seed): np.array(fold, np.int64) for seed, fold in found.items()}
    except OSError:
        raise DataError(f"{path}: cannot be read; nmrgcl evaluate {run} DATA writes it") from None
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError):
        raise DataError(f"{path}: not a record of splits; nmrgcl evaluate {run} DATA writes it again") from None
