"""``nmrgcl finetune``."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from nmrgcl.cli.completion import complete_dataset
from nmrgcl.cli.counted import counted
from nmrgcl.cli.molecules import LISTED, choose_labels, load_unnamed, require_one_kind, tell_skipped
from nmrgcl.cli.options import AsJson, Assignments, BatchSize, Device, Epochs, LearningRate, training_options
from nmrgcl.cli.outputs import require_room
from nmrgcl.cli.terminal import note
from nmrgcl.errors import SettingError

if TYPE_CHECKING:
    from nmrgcl.data.molecules import Molecules
    from nmrgcl.model_folder import Model
    from nmrgcl.predict.finetune import Outcome, ScoreRow

FRESH = "none"
"""The value of --model for an encoder that is not pre-trained; a folder of that name is ./none."""

MoleculeData = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, Parquet, SMI or SDF file of molecules, or a dataset such as BBBP.",
        show_default=False,
        autocompletion=complete_dataset,
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(metavar="A,B", help="Columns to predict. (default: every numeric column)", show_default=False),
]
StartModel = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL|none",
        help="Pre-trained model to start from; none: a fresh encoder. (default: bundled, if there is one)",
    ),
]
MoleculeSplit = Annotated[
    str, typer.Option(metavar="scaffold|random|column:NAME", help="Split into training, validation and test part.")
]
Ensemble = Annotated[
    int | None,
    typer.Option(min=1, max=100, help="Models in the ensemble. (default: 5, or 10 if their scores vary much)"),
]
Out = Annotated[Path | None, typer.Option(help="Folder to create. (default: runs/NAME-finetuned)")]
SmilesColumn = Annotated[str | None, typer.Option(metavar="COLUMN", help="SMILES column. (default: smiles)")]
InvalidRows = Annotated[str, typer.Option(metavar="skip|error", help="How to treat rows that are not molecules.")]
Task = Annotated[
    str | None,
    typer.Option(metavar="binary|numbers", help="Kind of labels. (default: binary if all are 0 or 1)"),
]
Probe = Annotated[bool, typer.Option("--probe", help="Freeze the encoder and fit a linear model on its embeddings.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the model in --out.")]


def finetune(
    data: MoleculeData,
    labels: Labels = None,
    model: StartModel = None,
    split: MoleculeSplit = "scaffold",
    seeds: Ensemble = None,
    out: Out = None,
    smiles: SmilesColumn = None,
    invalid: InvalidRows = "skip",
    task: Task = None,
    probe: Probe = False,
    epochs: Epochs = None,
    lr: LearningRate = None,
    batch_size: BatchSize = None,
    assignments: Assignments = None,
    overwrite: Overwrite = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Fine-tune a molecular encoder to predict labels, and compare it with fingerprints on the same molecules.

    Scores are those on the test part, at the epoch with the best validation score. The folder contains the ensemble
    that nmrgcl predict uses, the split, and a page with the results.

    Examples:

      nmrgcl finetune BBBP.csv --labels p_np

      nmrgcl finetune BBBP.csv --labels p_np --model none

      nmrgcl finetune data.csv --labels a,b --model runs/zinc/seed-0 --split random --out models/ab

      nmrgcl finetune solubility.csv --labels logS --task numbers --epochs 50 --seeds 3
    """
    from nmrgcl.predict.finetune import finetune_molecules, finetune_settings
    from nmrgcl.run.machine import choose_device
    from nmrgcl.run.recipe import with_options
    from nmrgcl.settings import read_assignments

    where, start = choose_device(device), _start(model)
    options = training_options(epochs, lr, batch_size, group="finetune")
    settings = finetune_settings(with_options(read_assignments(assignments or ()), options), start, where)
    molecules, constant = _read(data, labels, smiles, invalid)
    if task is None:
        require_one_kind(molecules, named=labels is not None)
    folder = out or Path("runs") / f"{Path(molecules.name).name}-finetuned"
    _require_free(folder, overwrite)
    tell_skipped(data, len(molecules.invalid), len(molecules.invalid) + len(molecules), molecules.invalid)
    if constant:
        some = ", ".join(constant[:LISTED]) + (", …" if len(constant) > LISTED else "")
        note(f"left out, because all labels are the same: {some} ({len(constant)})")
    if settings.finetune.precision == "bf16" and not probe:
        note("matrix products in bfloat16; --set precision=float32 multiplies in float32")
    with counted("epochs") as watch:
        how: dict[str, Any] = {"split": split, "seeds": seeds, "task": task, "probe": probe}
        found = finetune_molecules(molecules, settings, start=start, device=where, tell=note, watch=watch, **how)
    _save(found, molecules, folder)
    print(json.dumps(_values(found, molecules, folder)) if as_json else _table(found, molecules, folder))


def _start(model: str | None) -> "Model | None":
    """Load the model to start from; None for a fresh encoder."""
    from nmrgcl.model_folder import load_model
    from nmrgcl.run.bundled import is_there
    from nmrgcl.run.model_folders import find_model

    if model is None and not is_there():
        note("no model given, and none is bundled: starting from a fresh encoder")
        model = FRESH
    if model is None:
        return load_unnamed()
    return None if model == FRESH else load_model(find_model(model))


def _read(data: str, labels: str | None, smiles: str | None, invalid: str) -> "tuple[Molecules, list[str]]":
    """Read the molecules; unless ``labels`` are given, tasks with constant labels are left out and returned."""
    from nmrgcl.data.loading import molecule_file
    from nmrgcl.data.molecules import read_molecules

    rows = cast(Literal["skip", "error"], invalid)
    molecules = read_molecules(molecule_file(data), smiles=smiles, labels=labels, invalid=rows)
    return choose_labels(molecules, smiles) if labels is None else (molecules, [])


def _require_free(folder: Path, overwrite: bool) -> None:
    from nmrgcl.owned import read_marker, require_replaceable
    from nmrgcl.predict.folder import PREDICTOR

    require_replaceable(folder, PREDICTOR)
    if not overwrite and read_marker(folder, PREDICTOR) is not None:
        raise SettingError(f"{folder}: already contains a fine-tuned model; use --overwrite or another --out")
    # Missing parents are created only after the training.
    require_room(folder, next(place for place in folder.absolute().parents if place.exists()))


def _save(found: "Outcome", molecules: "Molecules", folder: Path) -> None:
    from nmrgcl.atomic import new_folder
    from nmrgcl.predict.folder import PREDICTOR, save_predictor
    from nmrgcl.report import write_predictor_page

    with new_folder(folder, PREDICTOR) as filling:
        save_predictor(filling, found.predictor, found.origin)
        write_predictor_page(filling / "report.html", found, molecules)


def _values(found: "Outcome", molecules: "Molecules", folder: Path) -> dict[str, Any]:
    origin = found.origin
    return {
        "dataset": origin.dataset,
        "model": str(folder),
        "report": str(folder / "report.html"),
        "tasks": list(found.predictor.tasks),
        "goal": found.predictor.goal,
        "molecules": len(molecules),
        "invalid": len(molecules.invalid),
        "split": {
            "name": origin.split["name"],
            **{part: len(origin.split[part]) for part in ("train", "valid", "test")},
        },
        "seeds": origin.seeds,
        "rows": origin.scores,
        "task_rows": origin.task_scores,
        "notes": found.notes,
    }


def _table(found: "Outcome", molecules: "Molecules", folder: Path) -> str:
    from nmrgcl.predict.predictor import METRICS

    origin, tasks = found.origin, found.predictor.tasks
    kind = "yes-or-no task" if found.predictor.goal == "binary" else "number"
    what = f"{kind} {tasks[0]}" if len(tasks) == 1 else f"{len(tasks)} {kind}s"
    parts = " / ".join(str(len(origin.split[part])) for part in ("train", "valid", "test"))
    metrics = list(found.rows[0].scores)
    unit = " in %, mean over tasks" if found.predictor.goal == "binary" and len(tasks) > 1 else ""
    lines = [
        f"{origin.dataset}: {what}, {len(molecules)} molecules, split {origin.split['name']} {parts}",
        f"  {'test part' + unit:<28}" + "".join(f"{METRICS[metric]:>14}" for metric in metrics),
        *(f"  {row.name:<28}{_cells(row)}" for row in found.rows),
        *found.notes,
        f"model and report.html in {folder}; use it: nmrgcl predict {shlex.quote(str(folder))} new.csv",
    ]
    return "\n".join(lines)


def _cells(row: "ScoreRow") -> str:
    texts = (f"{mean:.3g}" + ("" if std is None else f" ± {std:.2g}") for mean, std in row.scores.values())
    return "".join(f"{text:>14}" for text in texts)
