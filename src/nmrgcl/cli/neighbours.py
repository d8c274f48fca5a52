"""``nmrgcl neighbours``."""

import csv
import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmrgcl.cli.molecules import OnInvalid, Smiles, load_with, molecules_made, tell_skipped
from nmrgcl.cli.options import AsJson, Device
from nmrgcl.errors import DataError, SettingError

if TYPE_CHECKING:
    from nmrgcl.run.compared import Compared
    from nmrgcl.run.neighbours import Neighbour

SHOWN = 40
"""Characters of a SMILES in the table."""


def neighbours(
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="Molecules: a file, or a dataset's name.", show_default=False)
    ],
    library: Annotated[
        str, typer.Argument(metavar="LIBRARY", help="Molecules: a file, or a dataset's name.", show_default=False)
    ],
    model: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Model folder, a run of one, or bundled. (default: compare fingerprints)"),
    ] = None,
    k: Annotated[int, typer.Option("--k", help="Neighbours of each query.")] = 5,
    by: Annotated[
        str | None, typer.Option(metavar="cosine|ecfp", help="What is compared. (default: cosine with a model)")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="File to write. (default: print)")] = None,
    smiles: Smiles = None,
    invalid: OnInvalid = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """For every query molecule the nearest ones of a library, by cosine of embeddings or by fingerprints.

    Files written by nmrgcl embed may stand for QUERY and LIBRARY, so that a large library is embedded only once.

    Examples:

      nmrgcl neighbours query.csv library.csv --model bundled

      nmrgcl neighbours query.csv library.csv --model runs/zinc/seed-0 --k 3

      nmrgcl neighbours query.csv library.smi --out neighbours.csv
    """
    if out is not None and out.suffix != ".csv":
        raise SettingError(f"{out}: the ending must be .csv")
    from nmrgcl import atomic
    from nmrgcl.run import choose_device
    from nmrgcl.run.molecules import load_molecule_model
    from nmrgcl.run.neighbours import find_neighbours

    where = choose_device(device)
    loaded = None if model is None else load_molecule_model(model)
    asked, among = (_read(data, smiles, invalid) for data in (query, library))
    with molecules_made() as watch:
        found = find_neighbours(asked, among, k=k, model=loaded, by=by, device=where, watch=watch)
    for side in (asked, among):
        tell_skipped(side.source, side.rows.skipped, side.rows.rows, side.rows.invalid)
    rows = [asdict(one) for one in found]
    if out is not None:
        atomic.write_text(out, _csv(rows))
    if as_json:
        facts = {"queries": len(asked.rows), "library": len(among.rows), "k": k}
        skipped = [side.rows.skipped for side in (asked, among)]
        where_to = {"neighbours": rows} if out is None else {"out": str(out)}
        print(json.dumps({**facts, "skipped": skipped, **where_to}))
    elif out is not None:
        print(f"{k} neighbours of {len(asked.rows)} molecules among {len(among.rows)}, in {out}")
    else:
        _print(found)


def _read(data: str, smiles: str | None, invalid: str | None) -> "Compared":
    from nmrgcl.run.compared import Compared, read_embedded

    if (found := read_embedded(Path(data).expanduser())) is not None:
        return found
    dataset = load_with(data, smiles, invalid)
    if dataset.molecules is None:
        raise DataError(f"{data}: holds graphs that are not molecules; pass a file of SMILES")
    return Compared(data, dataset.molecules, dataset)


def _csv(rows: list[dict[str, Any]]) -> str:
    columns = [name for name in rows[0] if rows[0][name] is not None]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([f"{row[name]:.6f}" if isinstance(row[name], float) else row[name] for name in columns])
    return text.getvalue()


def _print(found: "list[Neighbour]") -> None:
    for one in found:
        if one.rank == 1:
            print(f"{one.query}  {_short(one.query_smiles)}")
        cosine = "" if one.cosine is None else f"cosine {one.cosine:.3f}  "
        print(f"  {cosine}Tanimoto {one.tanimoto:.3f}  {one.neighbour}  {_short(one.neighbour_smiles)}")


def _short(smiles: str) -> str:
    return smiles if len(smiles) <= SHOWN else smiles[: SHOWN - 1] + "…"
