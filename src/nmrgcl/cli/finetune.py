"""``nmrgcl finetune``."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from nmrgcl.cli.counted import counted
from nmrgcl.cli.molecules import LISTED, load_unnamed, tell_skipped
from nmrgcl.cli.options import AsJson, Assignments, BatchSize, Device, Epochs, LearningRate, training_options
from nmrgcl.errors import SettingError

if TYPE_CHECKING:
    from nmrgcl.data.molecules import Molecules
    from nmrgcl.predict.finetune import Outcome, ScoreRow

FRESH = "none"
"""What --model is where the encoder is not pre-trained; a folder of that name is ./none."""


def finetune(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA", help="CSV, TSV, Parquet, SMI or SDF file of molecules, or BBBP, …", show_default=False
        ),
    ],
    labels: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Columns to predict. (default: every column of numbers)", show_default=False),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL|none",
            help="Pre-trained model to start from; none: a fresh encoder. (default: bundled, if there is one)",
        ),
    ] = None,
    split: Annotated[
        str, typer.Option(metavar="scaffold|random|column:NAME", help="What is trained and tested on.")
    ] = "scaffold",
    seeds: Annotated[
        int | None,
        typer.Option(min=1, max=100, help="Models in the ensemble. (default: 5, or 10 where their scores differ much)"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to make. (default: runs/NAME-finetuned)")] = None,
    smiles: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of SMILES. (default: smiles)")] = None,
    invalid: Annotated[str, typer.Option(metavar="skip|error", help="Rows that are not molecules.")] = "skip",
    task: Annotated[
        str | None, typer.Option(metavar="binary|numbers", help="What labels are. (default: binary if all are 0 or 1)")
    ] = None,
    probe: Annotated[bool, typer.Option("--probe", help="Freeze the encoder and fit a linear model on it.")] = False,
    epochs: Epochs = None,
    lr: LearningRate = None,
    batch_size: BatchSize = None,
    assignments: Assignments = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the model in --out.")] = False,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Teach a molecular encoder to predict labels, and judge it beside fingerprints on the same molecules.

    Scores are those of the test part, at the epoch that was best on the validation part. The folder has the ensemble
    that nmrgcl predict uses, the split, and a page that shows the results.

    Examples:

      nmrgcl finetune BBBP.csv --labels p_np

      nmrgcl finetune BBBP.csv --labels p_np --model none

      nmrgcl finetune data.csv --labels a,b --model runs/zinc/seed-0 --split random --out models/ab

      nmrgcl finetune solubility.csv --labels logS --task numbers --epochs 50 --seeds 3
    """
    from nmrgcl.atomic import new_folder
    from nmrgcl.data.loading import molecule_file
    from nmrgcl.data.molecules import read_molecules
    from nmrgcl.model_folder import load_model
    from nmrgcl.owned import read_marker, require_replaceable
    from nmrgcl.predict import (
        PREDICTOR,
        finetune_molecules,
        finetune_settings,
        save_predictor,
        without_constant_tasks,
    )
    from nmrgcl.report import write_predictor_page
    from nmrgcl.run import choose_device, find_model
    from nmrgcl.run.bundled import is_there
    from nmrgcl.run.recipe import with_options
    from nmrgcl.settings import read_assignments

    where = choose_device(device)
    if model is None and not is_there():
        print("no model is named, and none is bundled: this starts from a fresh encoder", file=sys.stderr)
        model = FRESH
    start = load_unnamed() if model is None else None if model == FRESH else load_model(find_model(model))
    given = with_options(
        read_assignments(assignments or ()), training_options(epochs, lr, batch_size, group="finetune")
    )
    settings = finetune_settings(given, start)
    wanted = None if labels is None else [name.strip() for name in labels.split(",") if name.strip()]
    options: dict[str, Any] = {"smiles": smiles, "labels": wanted, "invalid": cast(Literal["skip", "error"], invalid)}
    molecules, left = read_molecules(molecule_file(data), **options), list[str]()
    if wanted is None:
        molecules, left = without_constant_tasks(molecules)
    folder = out or Path("runs") / f"{Path(molecules.name).name}-finetuned"
    require_replaceable(folder, PREDICTOR)
    if not overwrite and read_marker(folder, PREDICTOR) is not None:
        raise SettingError(f"{folder}: already holds a fine-tuned model; use --overwrite or another --out")
    bad = molecules.invalid
    tell_skipped(data, len(bad), len(bad) + len(molecules), bad)
    if left:
        some = ", ".join(left[:LISTED]) + (", …" if len(left) > LISTED else "")
        print(f"left out, since all labels are the same: {some} ({len(left)})", file=sys.stderr)
    with counted("epochs") as watch:
        found = finetune_molecules(
            molecules,
            settings,
            split=split,
            seeds=seeds,
            task=task,
            start=start,
            probe=probe,
            device=where,
            tell=lambda line: print(line, file=sys.stderr, flush=True),
            watch=watch,
        )
    with new_folder(folder, PREDICTOR) as filling:
        save_predictor(filling, found.predictor, found.origin)
        write_predictor_page(filling / "report.html", found, molecules)
    print(json.dumps(_values(found, molecules, folder)) if as_json else _table(found, molecules, folder))


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
        f"model and report.html in {folder}; use it: nmrgcl predict {folder} new.csv",
    ]
    return "\n".join(lines)


def _cells(row: "ScoreRow") -> str:
    texts = (f"{mean:.3g}" + ("" if std is None else f" ± {std:.2g}") for mean, std in row.scores.values())
    return "".join(f"{text:>14}" for text in texts)
