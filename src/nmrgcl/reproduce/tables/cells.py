"""The cells of a table: every row whose method exists here, for every dataset, seed and evaluation."""

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from typing import Any

from nmrgcl.errors import SettingError, nearest
from nmrgcl.methods import Level, MoleculePretraining, find_method, method_names
from nmrgcl.own_code import is_reference, label
from nmrgcl.reproduce.plan import Placed, Plan
from nmrgcl.reproduce.tables.sheet import Sheet, TableRow
from nmrgcl.run.cell import BY_FOLDS, SELECTIONS, Cell, Start
from nmrgcl.run.recipe import free_assignments, recipe
from nmrgcl.settings import Settings
from nmrgcl.settings.check import flatten

COMMON = "strong"
"""The preset of methods without one of their own."""
MOLECULES, FINETUNED = "molecules", "supervised_molecules"
"""The preset of methods without one for molecules, and the preset for fine-tuning pre-trained encoders."""
QUICK_GRAPHS = 2000
"""The number of molecules to pre-train on in a quick version."""


def table_rows(sheet: Sheet, level: Level) -> list[TableRow]:
    """The rows of the paper, followed by one for every other method at this level."""
    named = {row.method for row in sheet.rows}
    others = [name for name in method_names() if name not in named and _embeds(name, level)]
    return [*sheet.rows, *(TableRow(name, "others", name) for name in others)]


def _embeds(name: str, level: Level) -> bool:
    """True if the method works at this level in general, not only for molecules."""
    kind = find_method(name)
    return level in kind.PRESETS and not issubclass(kind, MoleculePretraining)


def chosen_rows(sheet: Sheet, level: Level, names: Sequence[str]) -> list[TableRow]:
    """The named rows, ignoring case, or all rows if none are named; references are to methods of the user."""
    own = [TableRow(label(name), "others", name) for name in names if is_reference(name)]
    rows = [*table_rows(sheet, level), *own]
    names = [label(name) for name in names]
    known = {row.name.lower(): row for row in rows}
    for name in names:
        if name.lower() not in known:
            raise SettingError(f"--row {name}: no such row; {nearest(name, [row.name for row in rows])}")
    wanted = {name.lower() for name in names}
    return [row for row in rows if not wanted or row.name.lower() in wanted]


def computable(row: TableRow, level: Level) -> bool:
    """True if the method of the row exists here and works at this level."""
    return (row.method in method_names() or is_reference(row.method)) and level in find_method(row.method).PRESETS


def row_settings(row: TableRow, dataset: str, plan: Plan, level: Level, *, by_folds: bool = False) -> Settings | None:
    """The settings of ``row`` on ``dataset``; None for a tuned row without a search on this dataset."""
    tuned = tuned_values(dataset) if row.tuned else {}
    if tuned is None:
        return None
    own = find_method(row.method).PRESETS[level]
    preset = row.preset or (plan.preset if own == COMMON and plan.preset else own)
    settings = Settings().updated(tuned) if row.tuned else recipe(row.method, preset=preset, dataset=dataset)
    if by_folds and settings.svm.c == "default":  # Both selections must choose C from the same values.
        settings = settings.updated({"svm.c": "grid"})
    settings = settings.updated(row.settings)
    settings = settings.updated(free_assignments(row.method, plan.assignments), source="--set")
    return _capped(settings, plan.most_epochs)


def tuned_values(dataset: str) -> dict[str, Any] | None:
    """The settings of ``dataset`` in ``presets/tuned.toml``; None if it was not searched."""
    shared = resources.files("nmrgcl") / "presets" / "tuned.toml"
    if not shared.is_file():
        return None
    values = tomllib.loads(shared.read_text(encoding="utf-8"))
    special = values.pop("dataset", {})
    return dict(flatten(values)) | dict(flatten(special[dataset])) if dataset in special else None


def graph_cells(sheet: Sheet, plan: Plan) -> list[Placed]:
    """Cells of both selections; rows that are trained with labels or have no epochs to choose are honest only."""
    cells = []
    for dataset in _there(sheet, plan):
        for row in chosen_rows(sheet, "graph", plan.rows):
            protocol = row.protocol or plan.protocol
            known = SELECTIONS if row.by_folds and protocol in BY_FOLDS else ("honest",)
            both = [selection for selection in known if plan.selection in ("", selection)]
            for settings in _seeded(row, dataset, plan, "graph", by_folds=protocol in BY_FOLDS):
                options: list[Any] = [{"protocol": protocol, "selection": selection} for selection in both]
                cells += [
                    Placed((row.name, _line(row, own["selection"])), Cell(dataset, settings, **own)) for own in options
                ]
    return cells


def _line(row: TableRow, selection: str) -> str:
    """The line of a cell: settings chosen with the labels of all graphs do not count as honest."""
    return "seen" if row.tuned and selection == "honest" else selection


def node_cells(sheet: Sheet, plan: Plan) -> list[Placed]:
    """Cells for every split of the dataset; cells that differ only in their split share a training."""
    cells = []
    for dataset in _there(sheet, plan):
        splits = [*sheet.splits, *(["public"] if dataset in sheet.public else [])]
        for row in chosen_rows(sheet, "node", plan.rows):
            own: dict[str, Any] = {"protocol": row.protocol or plan.protocol}
            for settings in _seeded(row, dataset, plan, "node"):
                cells += [Placed((row.name, split), Cell(dataset, settings, split=split, **own)) for split in splits]
    return cells


def molecule_cells(sheet: Sheet, plan: Plan) -> list[Placed]:
    """The cells of all rows with a protocol, on the scaffold split.

    A quick version includes rows with pre-training only if they are named, because their molecules are not published
    as one file and may not be available.
    """
    cells = []
    for dataset in _there(sheet, plan):
        for row in (row for row in chosen_rows(sheet, "graph", plan.rows) if row.protocol):
            if row.pretrained_on and ((plan.quick and not plan.rows) or not computable(row, "graph")):
                continue
            own: dict[str, Any] = {"protocol": row.protocol, "split": "scaffold", "start": _start(row, plan)}
            # Fine-tuning starts from the given weights, so its own settings are those of a supervised row.
            judged = replace(row, method="untrained", preset=FINETUNED, settings={}) if row.pretrained_on else row
            seeded = _seeded(judged, dataset, plan, "graph")
            cells += [Placed((row.name, "scaffold"), Cell(dataset, settings, **own)) for settings in seeded]
    return cells


def _start(row: TableRow, plan: Plan) -> Start | None:
    """The pre-training of a row, the same for all datasets and seeds; None if it has none."""
    if not row.pretrained_on:
        return None
    preset = row.preset or find_method(row.method).MOLECULES or MOLECULES
    settings = recipe(row.method, preset=preset).updated(row.settings)
    if plan.quick:
        settings = settings.updated({"train.max_graphs": QUICK_GRAPHS})
    settings = settings.updated(free_assignments(row.method, plan.assignments), source="--set")
    return Start(row.pretrained_on, _capped(settings, plan.most_epochs))


def _seeded(row: TableRow, dataset: str, plan: Plan, level: Level, *, by_folds: bool = False) -> list[Settings]:
    """The settings of a row for each seed; empty if the row cannot be computed."""
    settings = row_settings(row, dataset, plan, level, by_folds=by_folds) if computable(row, level) else None
    if settings is None:
        return []
    return [replace(settings, seed=settings.seed + seed) for seed in range(min(row.seeds or plan.seeds, plan.seeds))]


def _there(sheet: Sheet, plan: Plan) -> list[str]:
    """The datasets to compute on; those that are not available offline are included only if named explicitly."""
    # A plan of all columns asks for none in particular.
    whole = set(plan.datasets) >= set(sheet.columns)
    return [dataset for dataset in plan.datasets if not (whole and dataset in sheet.absent)]


def _capped(settings: Settings, most: int) -> Settings:
    """``settings`` with at most ``most`` epochs of training and of fine-tuning; unchanged if ``most`` is 0."""
    if not most:
        return settings
    epochs, tune = min(settings.train.epochs, most), min(settings.finetune.epochs, most)
    return settings.updated({"train.epochs": epochs, "train.steps": 0, "finetune.epochs": tune})
