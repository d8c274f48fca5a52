"""``nmrgcl predict``."""

import json
from pathlib import Path
from typing import Annotated

import typer

from nmrgcl.cli.molecules import tell_skipped
from nmrgcl.cli.options import AsJson, Device
from nmrgcl.cli.outputs import require_out

UNLIKE = 0.3
"""Tanimoto similarity of ECFP4 below which two molecules are hardly more similar than by chance."""


def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Folder written by nmrgcl finetune.", show_default=False)
    ],
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="CSV, TSV, Parquet, SMI or SDF file of molecules.", show_default=False),
    ],
    out: Annotated[Path, typer.Option(help="File to write: .csv or .parquet.")] = Path("predictions.csv"),
    smiles: Annotated[str | None, typer.Option(metavar="COLUMN", help="SMILES column. (default: smiles)")] = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Predict the labels of new molecules, one row per row of the file.

    For each task, the columns are the mean of the ensemble, its spread (the standard deviation over the members) and,
    for binary tasks, the calibrated probability. similarity is that to the nearest training molecule, 1 for the same
    fingerprint; the lower it is, the less reliable the prediction. A row that is not a valid molecule keeps its
    identifier and has empty cells.

    Examples:

      nmrgcl predict runs/BBBP-finetuned new.csv

      nmrgcl predict models/ab library.parquet --out predicted.parquet
    """
    import numpy as np

    from nmrgcl.predict.folder import load_predictor
    from nmrgcl.predict.table import predict_file, require_ending, write_predictions
    from nmrgcl.run.machine import choose_device

    where = choose_device(device)
    require_ending(out)
    require_out(out, data)
    predictor, _ = load_predictor(model)
    for member in predictor.members:
        member.to(where)
    table = predict_file(predictor, data, smiles=smiles)
    tell_skipped(str(data), len(table.invalid), len(table), table.invalid)
    write_predictions(table, out)
    far = int((table.similarity < UNLIKE).sum())
    if as_json:
        values = {"out": str(out), "rows": len(table), "invalid": len(table.invalid), "unlike_training": far}
        print(json.dumps(values | {"median_similarity": float(np.median(table.similarity))}))
        return
    tasks = f"{len(predictor.tasks)} task{'s' if len(predictor.tasks) > 1 else ''}"
    empty = {0: "", 1: "; 1 invalid row is empty"}.get(bad := len(table.invalid), f"; {bad} invalid rows are empty")
    print(f"{len(table) - bad} molecules, {tasks}, in {out}{empty}")
    if far:
        print(f"{far} of them are unlike every training molecule (similarity below {UNLIKE}): rely less on those")
