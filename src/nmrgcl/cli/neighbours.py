"""``nmrgcl neighbours``."""

import csv
import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmrgcl.cli.molecules import OnInvalid, Smiles, progress, tell_skipped
from nmrgcl.cli.options import AsJson, Device
from nmrgcl.errors import SettingError

if TYPE_CHECKING:
    from nmrgcl.run.neighbours import Found

SHOWN = 40
"""Characters of a SMILES in the table."""


def neighbours(
    query: Annotated[Path, typer.Argument(metavar="QUERY", help="File of molecules.", show_default=False)],
    library: Annotated[Path, typer.Argument(metavar="LIBRARY", help="File of molecules.", show_default=False)],
    model: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Model folder, or a run of one. (default: compare fingerprints)"),
    ] = None,
    k: Annotated[int, typer.Option("--k", help="Neighbours of each query.")] = 5,
    by: Annotated[
        str | None, typer.Option(metavar="cosine|ecfp", help="What is compared. (default: cosine with a model)")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="File to write. (default: print)")] = None,
    smiles: Smiles = None,
    invalid: OnInvalid = "skip",
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """For every query molecule the nearest ones of a library, by cosine of embeddings or by fingerprints.

    Files written by nmrgcl embed may stand for QUERY and LIBRARY, so that a large library is embedded only once.

    Examples:

      nmrgcl neighbours query.csv library.csv --model runs/zinc/seed-0 --k 3

      nmrgcl neighbours query.csv library.smi --out neighbours.csv
    """
    if out is not None and out.suffix != ".csv":
        raise SettingError(f"{out}: the ending must be .csv")
    from nmrgcl import atomic
    from nmrgcl.run import choose_device
    from nmrgcl.run.molecule_files import MoleculeFile
    from nmrgcl.run.molecules import load_molecule_model
    from nmrgcl.run.neighbours import find_neighbours

    where = choose_device(device)
    loaded = None if model is None else load_molecule_model(model)
    asked, among = (MoleculeFile.read(path, smiles=smiles, invalid=invalid) for path in (query, library))
    with progress("comparing") as watch:
        found = find_neighbours(asked, among, k=k, model=loaded, by=by, device=where, watch=watch)
    for skipped, file in zip(found.skipped, (asked, among), strict=True):
        tell_skipped(skipped, str(file.path))
    if out is not None:
        atomic.write_text(out, _csv(found))
    if as_json:
        rows = {} if out is not None else {"neighbours": [asdict(one) for one in found.neighbours]}
        counts = {"queries": found.sizes[0], "library": found.sizes[1], "k": k}
        skips = [len(skipped) for skipped in found.skipped]
        print(json.dumps({**counts, "skipped": skips, "out": None if out is None else str(out), **rows}))
    elif out is not None:
        print(f"{k} neighbours of {found.sizes[0]} molecules among {found.sizes[1]}, in {out}")
    else:
        _print(found)


def _csv(found: "Found") -> str:
    rows = [asdict(one) for one in found.neighbours]
    columns = [name for name in rows[0] if rows[0][name] is not None]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(
        [f"{row[name]:.6f}" if isinstance(row[name], float) else row[name] for name in columns] for row in rows
    )
    return text.getvalue()


def _print(found: "Found") -> None:
    for one in found.neighbours:
        if one.rank == 1:
            print(f"{one.query}  {_short(one.query_smiles)}")
        cosine = "" if one.cosine is None else f"cosine {one.cosine:.3f}  "
        print(f"  {cosine}Tanimoto {one.tanimoto:.3f}  {one.neighbour}  {_short(one.neighbour_smiles)}")


def _short(smiles: str) -> str:
    return smiles if len(smiles) <= SHOWN else smiles[: SHOWN - 1] + "…"
