"""``nmrgcl embed``."""

import json
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from nmrgcl.cli.options import AsJson, Data, Device
from nmrgcl.errors import SettingError


def embed(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model folder, or a run of one.", show_default=False)],
    data: Data,
    out: Annotated[Path, typer.Option(help="File to write: .npz, .csv or .parquet.")] = Path("embeddings.npz"),
    unknown: Annotated[
        str, typer.Option(metavar="error|zero", help="Labels of nodes or edges that the model has never seen.")
    ] = "error",
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Embed graphs or nodes, also ones never seen in training: one row each, in the dataset's order.

    Examples:

      nmrgcl embed runs/mutag/seed-0 MUTAG --out z.npz

      nmrgcl embed runs/mutag/seed-0 path/to/MORE_GRAPHS.zip --unknown zero --out z.csv
    """
    from nmrgcl.data import load
    from nmrgcl.model_folder import load_model
    from nmrgcl.run import choose_device, embed_dataset, find_model, write_embeddings

    if unknown not in ("error", "zero"):
        raise SettingError(f"--unknown {unknown}: known: error, zero")
    where = choose_device(device)
    loaded = load_model(find_model(model))
    found = embed_dataset(loaded, load(data), where, unknown=cast(Literal["error", "zero"], unknown))
    write_embeddings(found, out)
    (rows, width), what = found.z.shape, f"{loaded.settings.level}s"
    if as_json:
        print(json.dumps({"out": str(out), what: rows, "dimensions": width, "labelled": found.y is not None}))
    else:
        print(f"{rows} {what}, {width} dimensions, in {out}")
