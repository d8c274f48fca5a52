"""``nmrgcl neighbours``."""

import csv
import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmrgcl.cli.completion import complete_dataset
from nmrgcl.cli.counted import counted
from nmrgcl.cli.molecules import OnInvalid, Smiles, load_with, tell_skipped
from nmrgcl.cli.options import AsJson, Device
from nmrgcl.cli.outputs import require_out
from nmrgcl.errors import DataError, SettingError

if TYPE_CHECKING:
    from nmrgcl.run.compared import Compared
    from nmrgcl.run.neighbours import Neighbour

SHOWN = 40
"""Number of characters of a SMILES in the table."""


def _molecules(metavar: str) -> Any:
    return typer.Argument(
        metavar=metavar,
        help="Molecules: a file, or the name of a dataset.",
        show_default=False,
        autocompletion=complete_dataset,
    )


def neighbours(
    query: Annotated[str, _molecules("QUERY")],
    library: Annotated[str, _molecules("LIBRARY")],
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="Model folder, run of one model, or bundled. (default: compare fingerprints)"
        ),
    ] = None,
    k: Annotated[int, typer.Option("--k", help="Neighbours per query.")] = 5,
    by: Annotated[
        str | None, typer.Option(metavar="cosine|ecfp", help="Similarity. (default: cosine with a model, else ecfp)")
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE.csv", help="File to write. (default: print)")] = None,
    smiles: Smiles = None,
    invalid: OnInvalid = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Find the nearest molecules of a library for every query, by cosine of embeddings or by fingerprints.

    QUERY and LIBRARY may also be files written by nmrgcl embed, so that a large library is embedded only once.

    Examples:

      nmrgcl neighbours query.csv library.csv --model bundled

      nmrgcl neighbours query.csv library.csv --model runs/zinc/seed-0 --k 3

      nmrgcl neighbours query.csv library.smi --out neighbours.csv
    """
    if out is not None:
        if out.suffix != ".csv":
            raise SettingError(f"{out}: the ending must be .csv")
        require_out(out, query, library)
    from nmrgcl import atomic
    from nmrgcl.run.machine import choose_device
    from nmrgcl.run.molecules import load_molecule_model
    from nmrgcl.run.neighbours import find_neighbours

    where = choose_device(device)
    loaded = None if model is None else load_molecule_model(model)
    asked, among = (_read(data, smiles, invalid) for data in (query, library))
    with counted("molecules") as watch:
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
        raise DataError(f"{data}: these graphs are not molecules; pass a file of SMILES")
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
