"""``nmrgcl embed``."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from nmrgcl.cli.molecules import OnInvalid, Smiles, progress, tell_skipped
from nmrgcl.cli.options import AsJson, Data, Device
from nmrgcl.errors import SettingError

if TYPE_CHECKING:
    import torch

    from nmrgcl.data.molecules import Invalid
    from nmrgcl.model_folder import Model
    from nmrgcl.run.molecule_files import MoleculeFile


def embed(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model folder, or a run of one.", show_default=False)],
    data: Data,
    out: Annotated[Path, typer.Option(help="File to write: .npz, .csv or .parquet.")] = Path("embeddings.npz"),
    unknown: Annotated[
        str, typer.Option(metavar="error|zero", help="Labels of nodes or edges that the model has never seen.")
    ] = "error",
    smiles: Smiles = None,
    invalid: OnInvalid = "skip",
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Embed graphs or nodes, also ones never seen in training: one row each, in the dataset's order.

    Examples:

      nmrgcl embed runs/mutag/seed-0 MUTAG --out z.npz

      nmrgcl embed runs/mutag/seed-0 path/to/MORE_GRAPHS.zip --unknown zero --out z.csv

      nmrgcl embed runs/zinc/seed-0 molecules.csv --out z.parquet
    """
    from nmrgcl.data import load
    from nmrgcl.model_folder import load_model
    from nmrgcl.run import choose_device, embed_dataset, find_model, write_embeddings
    from nmrgcl.run.molecule_files import MoleculeFile, may_list_molecules, says_molecules
    from nmrgcl.run.molecules import is_of_molecules, require_molecules

    if unknown not in ("error", "zero"):
        raise SettingError(f"--unknown {unknown}: known: error, zero")
    where = choose_device(device)
    loaded = load_model(find_model(model))
    if is_of_molecules(loaded) and may_list_molecules(data):
        _embed_molecules(loaded, MoleculeFile.read(data, smiles=smiles, invalid=invalid), where, out, as_json)
        return
    if smiles is not None or says_molecules(data):
        require_molecules(loaded, str(model))
        raise SettingError(f"--smiles {smiles}: {data} is not a file of molecules")
    found = embed_dataset(loaded, load(data), where, unknown=cast(Literal["error", "zero"], unknown))
    write_embeddings(found, out)
    (rows, width), what = found.z.shape, f"{loaded.settings.level}s"
    if as_json:
        print(json.dumps({"out": str(out), what: rows, "dimensions": width, "labelled": found.y is not None}))
    else:
        print(f"{rows} {what}, {width} dimensions, in {out}")


def _embed_molecules(model: "Model", file: "MoleculeFile", device: "torch.device", out: Path, as_json: bool) -> None:
    """Part by part, so that memory does not grow with the file."""
    from nmrgcl.run import write_embeddings

    skipped: list[Invalid] = []
    with progress("embedding") as watch:
        write_embeddings(file.embed(model, device, skipped, watch), out)
    tell_skipped(skipped, str(file.path))
    rows, width = len(file) - len(skipped), model.method.width
    if as_json:
        print(json.dumps({"out": str(out), "molecules": rows, "dimensions": width, "skipped": len(skipped)}))
    else:
        print(f"{rows} molecules, {width} dimensions, in {out}")
