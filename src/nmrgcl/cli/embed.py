"""``nmrgcl embed``."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from nmrgcl.cli.completion import complete_dataset
from nmrgcl.cli.counted import counted
from nmrgcl.cli.molecules import OnInvalid, Smiles, load_unnamed, load_with, tell_skipped
from nmrgcl.cli.options import AsJson, Device
from nmrgcl.errors import SettingError


def embed(
    first: Annotated[
        str,
        typer.Argument(
            metavar="MODEL|DATA",
            help="Model folder, run of one model, or bundled. With molecules as only argument: the bundled encoder.",
            show_default=False,
        ),
    ],
    second: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            help="Dataset name, or a file or folder.",
            show_default=False,
            autocompletion=complete_dataset,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="File to write: .npz, .csv or .parquet.")] = Path("embeddings.npz"),
    unknown: Annotated[
        str, typer.Option(metavar="error|zero", help="How to treat node or edge labels unknown to the model.")
    ] = "error",
    normalise: Annotated[
        str,
        typer.Option(metavar="none|l2|standardise|squash", help="How to scale the embeddings."),
    ] = "none",
    smiles: Smiles = None,
    invalid: OnInvalid = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Embed graphs or nodes, including new ones: one row per graph or node, in the order of the dataset.

    Rows of molecules also contain their identifiers and SMILES. evaluate, diagnose and neighbours expect unscaled
    embeddings (none); for clustering use l2, for most other purposes squash.

    Examples:

      nmrgcl embed runs/mutag/seed-0 MUTAG --out z.npz

      nmrgcl embed runs/mutag/seed-0 path/to/MORE_GRAPHS.zip --unknown zero --out z.csv

      nmrgcl embed runs/mutag/seed-0 MUTAG --normalise l2 --out z.npz

      nmrgcl embed molecules.csv --out z.parquet

      nmrgcl embed runs/zinc/seed-0 molecules.csv --out z.parquet
    """
    from dataclasses import replace

    from nmrgcl.evaluate.normalise import require_word
    from nmrgcl.model_folder import load_model
    from nmrgcl.run import choose_device, embed_dataset, embed_in_parts, find_model, with_scale, write_embeddings
    from nmrgcl.run.molecules import require_molecules

    if unknown not in ("error", "zero"):
        raise SettingError(f"--unknown {unknown}: known: error, zero")
    where = choose_device(device)
    scale = require_word(normalise, "--normalise")
    model, data = (None, first) if second is None else (first, second)
    if model is None and (Path(data) / "config.json").is_file():
        raise SettingError(f"embed: {data} is a model, but DATA is missing; pass a dataset or a file after it")
    loaded = replace(load_unnamed() if model is None else load_model(find_model(model)), normalise=scale)
    dataset = load_with(data, smiles, invalid)
    facts: dict[str, Any]
    if dataset.molecules is None:
        if model is None:
            raise SettingError(f"{data}: these graphs are not molecules; pass a MODEL of such graphs first")
        found = embed_dataset(loaded, dataset, where, unknown=cast(Literal["error", "zero"], unknown))
        write_embeddings(with_scale(found, loaded), out)
        (rows, width), what = found.z.shape, f"{loaded.settings.level}s"
        facts = {"labelled": found.y is not None}
    else:
        require_molecules(loaded, str(model))
        with counted("molecules") as watch:
            parts = embed_in_parts(loaded, dataset, where, watch)
            write_embeddings((with_scale(part, loaded) for part in parts), out)
        rows = dataset.molecules
        tell_skipped(data, rows.skipped, rows.rows, rows.invalid)
        rows, width, what = len(dataset.molecules), loaded.method.width, "molecules"
        facts = {"labelled": dataset.molecules.binary, "skipped": dataset.molecules.skipped}
    if as_json:
        print(json.dumps({"out": str(out), what: rows, "dimensions": width, "normalise": loaded.normalise, **facts}))
    else:
        how = "" if loaded.normalise == "none" else f", normalise={loaded.normalise}"
        print(f"{rows} {what}, {width} dimensions{how}, in {out}")
