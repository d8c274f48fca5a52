"""Fine-tune a predictor on labelled molecules, and compare it with fingerprints on the same split."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from nmrgcl.data.molecules import Molecules, split_molecules
from nmrgcl.data.molecules.chemistry import rdkit
from nmrgcl.data.molecules.fingerprints import ecfp
from nmrgcl.data.splits import Split
from nmrgcl.errors import DataError, SettingError
from nmrgcl.evaluate.fingerprints import fingerprint_score
from nmrgcl.evaluate.goals import GOALS, goal_of
from nmrgcl.evaluate.metrics import average_precision, mae, rmse, roc_auc
from nmrgcl.model_folder import Model
from nmrgcl.predict.card import listed, uninformative
from nmrgcl.predict.fit import fit_ensemble, require_labels
from nmrgcl.predict.folder import Origin
from nmrgcl.predict.members import Member, fit_members
from nmrgcl.predict.predictor import METRICS, Predictions, Predictor, outputs_of, summarise
from nmrgcl.run.cell_data import digest_of
from nmrgcl.run.recipe import recipe
from nmrgcl.settings import FinetuneSettings, Settings, read_assignments
from nmrgcl.train.precision import cpu_multiplies_bfloat16

PRESET = "supervised_molecules"
FEW, MANY, WIDE = 5, 10, 2.0
"""Default number of seeds; the larger one is used if the standard deviation of test scores exceeds ``WIDE`` points."""
MANY_TASKS = 8
"""From this number on, fingerprint models are fitted on all cores; starting processes takes seconds."""

EACH_TASK = {"roc_auc": roc_auc, "pr_auc": average_precision, "rmse": rmse, "mae": mae}
"""The metrics before they are averaged over tasks."""


@dataclass(frozen=True, eq=False)
class ScoreRow:
    """A row of the table: mean and, over several seeds, standard deviation on the test part, by metric.

    A task that cannot be scored has a mean of NaN, which is null in JSON.
    """

    name: str
    scores: dict[str, tuple[float, float | None]]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        scores = {k: {"mean": None if np.isnan(m) else m, "std": s} for k, (m, s) in self.scores.items()}
        return {"name": self.name, "scores": scores}


@dataclass(frozen=True, eq=False)
class Outcome:
    """A fitted predictor, its origin, and its evaluation.

    Attributes:
        predictor: the ensemble.
        origin: data, seeds, split and scores.
        rows: rows of the table: single models, their ensemble if there are several, and fingerprints.
        task_rows: scores of the ensemble for each of several tasks; empty for one task.
        notes: remarks for the user, for example on additional seeds, repeated molecules or a better baseline.
        split: the split of the molecules.
        bits: ``[M, BITS]`` fingerprints of all molecules.
        tested: predictions of the ensemble for the test part.
        logits: ``[len(test), T]`` mean outputs of the members there, before calibration.
    """

    predictor: Predictor
    origin: Origin
    rows: list[ScoreRow]
    task_rows: list[ScoreRow]
    notes: list[str]
    split: Split
    bits: np.ndarray
    tested: Predictions
    logits: np.ndarray


def finetune_settings(
    assignments: Sequence[str] | Mapping[str, Any] = (),
    start: Model | None = None,
    device: torch.device | None = None,
) -> Settings:
    """Return the settings of the published protocol, with the encoder of ``start`` and the given assignments.

    The group ``finetune`` may be omitted: ``epochs=20`` is ``finetune.epochs``. If ``device`` is a CPU that multiplies
    bfloat16 faster than float32, that is the precision unless another one is assigned.
    """
    given = read_assignments(assignments)
    own = FinetuneSettings.__dataclass_fields__
    given = {f"finetune.{key}" if key in own else key: value for key, value in given.items()}
    if device is not None and device.type == "cpu" and cpu_multiplies_bfloat16():
        given = {"finetune.precision": "bf16"} | given
    if start is not None:
        # Dropout has no weights, so that the preset's rate for fine-tuning applies.
        encoder = {f"encoder.{key}": value for key, value in asdict(start.settings.encoder).items() if key != "dropout"}
        given = encoder | given
    settings = recipe(preset=PRESET, assignments=given)
    if settings.level != "graph":
        raise SettingError(f"level = {settings.level}: molecules are graphs; leave it out")
    return settings


def finetune_molecules(
    molecules: Molecules,
    settings: Settings,
    *,
    split: str = "scaffold",
    seeds: int | None = None,
    task: str | None = None,
    start: Model | None = None,
    probe: bool = False,
    device: torch.device,
    tell: Callable[[str], None] = lambda _: None,
    watch: Callable[[int, int], None] | None = None,
) -> Outcome:
    """Fit an ensemble and compare it with fingerprints.

    Args:
        molecules: labelled molecules.
        settings: as returned by ``finetune_settings``, with the first seed.
        split: scaffold, random, or column:NAME.
        seeds: number of members; None: five, or ten if their test scores vary much.
        task: "binary" or "numbers"; None: inferred from the labels.
        start: pre-trained encoder to start from; None: a fresh encoder.
        probe: freeze the encoder.
        device: where to compute.
        tell: called with a line of text after each member.
        watch: called after each epoch with the number of epochs done and its maximum.
    """
    if task not in (None, "binary", "numbers"):
        raise SettingError(f"--task {task}: known: binary, numbers")
    goal = task or goal_of(molecules.labels)
    require_labels(molecules, goal)
    parts = _split(molecules, split, goal, settings.seed)
    if left := len(molecules) - sum(len(part) for part in (parts.train, parts.valid, parts.test)):
        tell(f"split {split}: left out {left} of {len(molecules)} molecules, whose cell is empty")
    notes = _shared(molecules, parts)
    options: dict[str, Any] = {"goal": goal, "start": start, "probe": probe, "device": device, "watch": watch}

    def fit(first: int, end: int) -> list[Member]:
        found = []
        numbers = range(settings.seed + first, settings.seed + end)
        for member in fit_members(molecules, parts, settings, numbers, **options):
            tell(_progress(member, goal))
            found.append(member)
        return found

    few = seeds or (1 if probe and start is not None else FEW)  # a probe of a given encoder does not depend on a seed
    members = fit(0, few)
    if seeds is None and goal == "binary" and few == FEW and _spread([one.score.test for one in members]) > WIDE:
        notes.append(
            f"{MANY} seeds instead of {FEW}: the test scores of the first {FEW} have a standard deviation of more than "
            f"{WIDE:g} points."
        )
        members += fit(FEW, MANY)
    bits = ecfp(molecules.smiles)
    predictor = fit_ensemble(members, molecules, parts, settings, goal=goal, bits=bits)
    outputs = outputs_of(predictor.members, molecules.graphs.take(torch.from_numpy(parts.test)))
    tested = summarise(outputs, goal, predictor.calibration)
    ours = [
        _members_row(members, goal, probe=probe),
        *_ensemble_row(tested, molecules.labels[parts.test], goal, len(members)),
    ]
    others = _fingerprint_rows(bits, molecules.labels, parts, goal, settings.seed)
    notes += _verdict(ours[-1], others, goal)
    each = _task_rows(tested.mean, molecules.labels[parts.test], molecules.tasks, goal)
    notes += _without_score(each, goal)
    if predictor.calibration is not None:
        notes += uninformative([molecules.tasks[task] for task in np.flatnonzero(predictor.calibration.constant)])
    origin = Origin(
        dataset=molecules.name,
        seeds=[member.seed for member in members],
        split={"name": split, **{part: getattr(parts, part).tolist() for part in ("train", "valid", "test")}},
        scores=[row.to_dict() for row in (*ours, *others)],
        task_scores=[row.to_dict() for row in each],
        start=None if start is None else start.dataset,
        probe=probe,
        data_sha256=hashlib.sha256(digest_of(molecules.graphs).encode() + molecules.labels.tobytes()).hexdigest(),
    )
    return Outcome(predictor, origin, [*ours, *others], each, notes, parts, bits, tested, outputs.mean(0))


def _split(molecules: Molecules, by: str, goal: str, seed: int) -> Split:
    """Split the molecules; an error about a part that cannot be used names the option that may help."""
    remedy = {"scaffold": "use --split random", "random": f"use --set seed={seed + 1}"}.get(by, "correct that column")
    try:
        split = split_molecules(molecules, by, seed=seed)
        GOALS[goal].require(molecules.labels, split)
    except DataError as error:
        said, found, _ = str(error).partition(": choose another split")
        if found or (by == "scaffold" and "there are none to" in said):
            raise DataError(f"{said}; {remedy}") from None
        raise
    return split


def count_shared(smiles: Sequence[str], split: Split) -> int:
    """Count the validation and test molecules that also occur in an earlier part, by canonical SMILES."""
    with rdkit() as chem:
        names = np.array([chem.MolToSmiles(chem.MolFromSmiles(text)) for text in smiles])
    train, valid, test = (names[part] for part in (split.train, split.valid, split.test))
    return int(np.isin(valid, train).sum() + np.isin(test, np.concatenate([train, valid])).sum())


def _shared(molecules: Molecules, split: Split) -> list[str]:
    count = count_shared(molecules.smiles, split)
    if not count:
        return []
    many = "molecule is" if count == 1 else "molecules are"
    return [f"warning: {count} {many} in two parts (same canonical SMILES), which makes scores too optimistic."]


def _progress(member: Member, goal: str) -> str:
    metric = METRICS[next(iter(GOALS[goal].merits))]
    epoch = f" at epoch {member.score.epoch}" if member.score.epoch else ""
    return f"seed {member.seed}: {metric} {member.score.valid:.3g} on the validation part{epoch}"


def _spread(scores: Sequence[float]) -> float:
    return float(np.std(scores, ddof=1)) if len(scores) > 1 else 0.0


def _members_row(members: Sequence[Member], goal: str, *, probe: bool) -> ScoreRow:
    first = next(iter(GOALS[goal].merits))
    each = [{first: one.score.test, **one.score.beside} for one in members]
    several = len(members) > 1
    found = {name: [scores[name] for scores in each] for name in each[0]}
    what = "linear probe" if probe else "fine-tuned"
    return ScoreRow(
        f"{what}, {len(members)} seeds" if several else what,
        {name: (float(np.mean(values)), _spread(values) if several else None) for name, values in found.items()},
    )


def _ensemble_row(tested: Predictions, labels: np.ndarray, goal: str, members: int) -> list[ScoreRow]:
    """Return the row of the ensemble, unless it has a single member."""
    if members == 1:
        return []
    aim, made, truth = GOALS[goal], torch.from_numpy(tested.mean), torch.from_numpy(labels)
    return [
        ScoreRow("their ensemble", {name: (aim.unit * float(f(made, truth)), None) for name, f in aim.merits.items()})
    ]


def _task_rows(made: np.ndarray, labels: np.ndarray, tasks: Sequence[str], goal: str) -> list[ScoreRow]:
    """Return the scores of each of several tasks, from predictions and labels ``[M, T]`` of the test part."""
    if len(tasks) == 1:
        return []
    unit = abs(GOALS[goal].unit)  # negative for errors, which are not negated here
    found = {
        name: unit * EACH_TASK[name](torch.from_numpy(made), torch.from_numpy(labels)) for name in GOALS[goal].merits
    }
    return [
        ScoreRow(task, {name: (float(scores[number]), None) for name, scores in found.items()})
        for number, task in enumerate(tasks)
    ]


def _without_score(rows: Sequence[ScoreRow], goal: str) -> list[str]:
    """Return a sentence about the tasks that cannot be scored, if there are any."""
    names = [row.name for row in rows if np.isnan(next(iter(row.scores.values()))[0])]
    if not names:
        return []
    why = "one class only" if goal == "binary" else "no labels"
    return [f"{listed(names)} {'has' if len(names) == 1 else 'have'} no score: the test part has {why}."]


def _fingerprint_rows(bits: np.ndarray, labels: np.ndarray, split: Split, goal: str, seed: int) -> list[ScoreRow]:
    linear = "logistic regression" if goal == "binary" else "ridge regression"
    rows = []
    first = next(iter(GOALS[goal].merits))
    for name, model in (("random forest", "forest"), (linear, "linear")):
        found = fingerprint_score(
            bits,
            labels,
            split,
            model=model,  # type: ignore[arg-type]
            goal=goal,  # type: ignore[arg-type]
            seed=seed,
            jobs=1 if labels.shape[1] < MANY_TASKS else -1,
        )
        scores = {first: found.test, **found.beside}
        rows.append(ScoreRow(f"ECFP + {name}", {metric: (score, None) for metric, score in scores.items()}))
    return rows


def _verdict(ours: ScoreRow, others: Sequence[ScoreRow], goal: str) -> list[str]:
    """Return a sentence if a baseline is better in the first metric."""
    metric, unit = next(iter(GOALS[goal].merits)), GOALS[goal].unit
    # Divided by the unit, which is negative for errors, a higher score is always better.
    best = max(others, key=lambda row: row.scores[metric][0] / unit)
    score, own = best.scores[metric][0], ours.scores[metric][0]
    if score / unit <= own / unit:
        return []
    return [f"{best.name} is better than this model on the test part: {METRICS[metric]} {score:.3g} against {own:.3g}."]
