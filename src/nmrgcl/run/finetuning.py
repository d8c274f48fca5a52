"""The protocol ``finetune``: encoder and head are trained with labels, separately for every fold.

Graphs are split into the same folds as for the SVM: one is the test fold, the next one validates, the others train. If
settings are chosen from a grid, each fold makes its own choice on its validation fold (Errica et al. 2020). Nodes have
a single split, and so have molecules, which are split by scaffold or at random and may have labels of several tasks.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from nmrgcl.data.molecules.splits import split_rows
from nmrgcl.data.splits import Split, split_nodes, stratified_folds
from nmrgcl.evaluate.finetune import Classifier, FinetuneScore, Task, finetune_scores
from nmrgcl.evaluate.goals import CLASSES, GOALS, goal_of
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Pretraining, build_pretraining
from nmrgcl.run.cases import FoldScores, Truth
from nmrgcl.settings import Settings
from nmrgcl.train.state import own_chance

GRIDS: dict[str, dict[str, Sequence[Any]]] = {
    "none": {},
    "small": {
        "encoder.layers": (3, 5),
        "finetune.lr": (1e-2, 1e-3),
    },
    "pooling": {
        "encoder.pool": ("sum", "mean"),
        "finetune.lr": (1e-2, 1e-3),
    },
}
"""The values to choose from for each setting; other settings stay as they are."""

SEEDS_APART = 1_000_003
"""The difference between the seeds of the initial weights in consecutive runs of a fold."""


def candidates(settings: Settings, *, fresh: bool) -> list[dict[str, Any]]:
    """Every combination of values in the grid that ``settings`` name; a pre-trained encoder is never changed."""
    whole = GRIDS[settings.finetune.grid]
    grid = {key: values for key, values in whole.items() if fresh or not key.startswith("encoder.")}
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def score_by_finetuning(
    method: Pretraining, graphs: Graphs, truth: Truth, split: str, settings: Settings, *, fresh: bool
) -> FoldScores:
    """Train encoder and head with labels on every fold; a fold's score is the mean over its runs.

    The encoder is that of ``method``, or a ``fresh`` one built from ``settings``.

    The first run is the training by which a fold's settings were chosen; ties go to the earlier candidate. Further
    runs use other validation folds and, unless the encoder is pre-trained, other initial weights.
    """
    choices, runs = candidates(settings, fresh=fresh), settings.finetune.runs
    teach = _Teacher(method, graphs, truth, settings, fresh=fresh)
    # Scores must not depend on random numbers that were drawn before.
    with own_chance(settings.seed, 0, graphs.device):
        parts = _parts(truth, split, settings)
        tried = teach([_Job(choice, part) for choice in choices for part in parts])
        table = [tried[first : first + len(parts)] for first in range(0, len(tried), len(parts))]
        best = [int(np.argmax([row[fold].valid for row in table])) for fold in range(len(parts))]
        found = [[table[choice][fold] for fold, choice in enumerate(best)]]
        again = teach(
            [
                _Job(choices[choice], part, run)
                for run in range(1, runs)
                for choice, part in zip(best, _parts(truth, split, settings, run), strict=True)
            ]
        )
        found += [again[first : first + len(parts)] for first in range(0, len(again), len(parts))]
    beside: dict[str, Any] = {
        "valid": [score.valid for score in found[0]],
        "epochs": [score.epoch for score in found[0]],
        **{name: [score.beside[name] for score in found[0]] for name in found[0][0].beside},
    }
    if len(choices) > 1:
        beside["chosen"] = [choices[choice] for choice in best]
    if runs > 1:
        beside["runs"] = [[score.test for score in run] for run in found]
    tests = np.mean([[score.test for score in run] for run in found], 0)
    return FoldScores(tests.tolist(), beside)


@dataclass(frozen=True)
class _Job:
    """One training on one split, with some settings changed."""

    changed: dict[str, Any]
    split: Split
    run: int = 0


class _Teacher:
    """Trains copies of one pre-trained encoder, or fresh encoders."""

    def __init__(self, method: Pretraining, graphs: Graphs, truth: Truth, settings: Settings, *, fresh: bool) -> None:
        self.method, self.graphs, self.truth, self.settings, self.fresh = method, graphs, truth, settings, fresh
        several = truth.molecules is not None
        self.goal = GOALS[goal_of(truth.y)] if several else CLASSES
        self.outputs = truth.y.shape[1] if several else int(truth.y.max()) + 1

    def __call__(self, jobs: Sequence[_Job]) -> list[FinetuneScore]:
        """Train all jobs side by side."""
        tasks = [Task(self.model(job), job.split, self.settings.updated(job.changed).finetune) for job in jobs]
        return finetune_scores(
            tasks,
            self.graphs,
            self.truth.y,
            level=self.settings.level,
            batch_size=self.settings.train.batch_size,
            goal=self.goal,
            capture=self.settings.train.capture and self.method.capturable,
        )

    def model(self, job: _Job) -> Classifier:
        """The encoder with a new head."""
        settings = self.settings.updated(job.changed)
        if self.fresh:
            seed = settings.seed + SEEDS_APART * job.run
            # Settings accept seeds of 32 bits only.
            encoder = build_pretraining(replace(settings, seed=seed % 2**32), *self.method.features)
        else:
            encoder = deepcopy(self.method)
        return build_classifier(settings, encoder, self.outputs).to(self.graphs.device)


def build_classifier(settings: Settings, encoder: Pretraining, outputs: int) -> Classifier:
    """The encoder with a new head, whose weights come from torch's global generator."""
    # The molecular GIN applies dropout to the output of each layer including the last; others to a layer's input.
    dropped = settings.encoder.name == "molecule"
    drop = settings.finetune.head_dropout or (0.0 if dropped else settings.encoder.dropout)
    return Classifier(encoder, encoder.embed, encoder.width, outputs, drop, normalise=settings.finetune.head_norm)


def _parts(truth: Truth, split: str, settings: Settings, run: int = 0) -> list[Split]:
    """The splits to train on; each fold of graphs is the test fold once, and each run validates on another fold."""
    if truth.molecules is not None:
        return [split_rows(truth.molecules, split, seed=settings.seed)]
    if settings.level == "node":
        return [split_nodes(split, truth.y, seed=settings.seed, public=truth.public)]
    folds = [test for _, test in stratified_folds(truth.y, settings.svm.folds, seed=settings.seed)]
    splits = []
    for number, test in enumerate(folds):
        # Between 1 and folds - 1 places after the test fold, so never the test fold itself.
        after = (number + 1 + run % (len(folds) - 1)) % len(folds)
        rest = [part for other, part in enumerate(folds) if other not in (number, after)]
        # Of two folds, one tests and the other has to serve for training and validation.
        splits.append(Split(np.sort(np.concatenate(rest)) if rest else folds[after], folds[after], test))
    return splits
