"""A trained method → the scores of its cell, by the protocol the cell names."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nmrgcl.data.splits import Split, split_nodes, stratified_folds
from nmrgcl.evaluate.finetune import Classifier, finetune_score
from nmrgcl.evaluate.linear import linear_score
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Method
from nmrgcl.run.cell import BY_FOLDS, Run
from nmrgcl.run.embed import embed_all
from nmrgcl.run.selection import judge_by_folds
from nmrgcl.train.state import own_chance


@dataclass(frozen=True, eq=False)
class Truth:
    """Class codes of graphs or nodes, -1 for one that is not judged, and the split that came with them, if any."""

    y: np.ndarray
    public: np.ndarray | None = None


def judge(
    run: Run, method: Method, graphs: Graphs, truth: Truth, epochs: Sequence[dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Scores (``folds`` and their ``mean``, and those of inner or validation parts), and what was chosen by them."""
    if run.protocol in BY_FOLDS:
        return judge_by_folds(run, embed_all(method, graphs), truth.y, epochs)
    if run.protocol == "linear":
        split = split_nodes(run.split, truth.y, seed=run.seed, public=truth.public)
        found = linear_score(embed_all(method, graphs), truth.y, split, scaling=run.settings.linear.normalise)
        return {"folds": [found.test], "mean": found.test, "valid": found.valid, "c": found.c}, None
    return _finetune(run, method, graphs, truth), None


def _finetune(run: Run, method: Method, graphs: Graphs, truth: Truth) -> dict[str, Any]:
    """Every split starts from the same encoder, with a head of its own."""
    settings, classes = run.settings, int(truth.y.max()) + 1
    start = {name: value.clone() for name, value in method.state_dict().items()}
    found = []
    with own_chance(run.seed, 0, graphs.device):
        for split in _splits(run, truth):
            method.load_state_dict(start)
            model = Classifier(method, method.embed, method.width, classes, settings.encoder.dropout)
            found.append(
                finetune_score(
                    model.to(graphs.device),
                    graphs,
                    truth.y,
                    split,
                    settings.finetune,
                    level=settings.level,
                    batch_size=settings.train.batch_size,
                    capture=settings.train.capture,
                )
            )
    method.load_state_dict(start)
    folds = [score.test for score in found]
    mean = float(np.mean(folds))
    return {"folds": folds, "mean": mean, "valid": [s.valid for s in found], "epochs": [s.epoch for s in found]}


def _splits(run: Run, truth: Truth) -> list[Split]:
    """Of graphs: each fold is tested, the next one validates, the others train."""
    if run.settings.level == "node":
        return [split_nodes(run.split, truth.y, seed=run.seed, public=truth.public)]
    folds = [test for _, test in stratified_folds(truth.y, run.settings.svm.folds, seed=run.seed)]
    splits = []
    for number, test in enumerate(folds):
        after = (number + 1) % len(folds)
        rest = [part for other, part in enumerate(folds) if other not in (number, after)]
        splits.append(Split(np.sort(np.concatenate(rest)) if rest else folds[after], folds[after], test))
    return splits
