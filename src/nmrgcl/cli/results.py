"""``nmrgcl results``."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmrgcl.cli.command import Command, Group
from nmrgcl.cli.options import AsJson

if TYPE_CHECKING:
    from nmrgcl.run.results import Result

app = typer.Typer(help="Inspect, pack and merge the finished cells of tables.", no_args_is_help=True, cls=Group)

Folder = Annotated[Path, typer.Option("--results", metavar="DIR", help="Folder of results.")]
HOME = Path("runs/results")
_ORDER = ("dataset", "method", "protocol", "split", "selection", "seed")


@app.command("list", cls=Command)
def list_results(results: Folder = HOME, as_json: AsJson = False) -> None:
    """List the cells: finished ones with their scores, failed ones with their errors.

    Examples:

      nmrgcl results list --results runs/table1
    """
    from nmrgcl.errors import SettingError
    from nmrgcl.run.results import Results

    if results != HOME and not results.is_dir():
        raise SettingError(f"--results {results}: no such folder")
    folder = Results(results)
    done, problems = folder.all()
    rows = [_facts(result) for result in [*done, *folder.failed()]]
    if as_json:
        print(json.dumps({"folder": str(results), "results": rows, "problems": problems}))
        return
    for row in sorted(rows, key=lambda row: [row[name] for name in _ORDER]):
        judge = f"{row['protocol']:<8} {row['split']:<15} {row['selection']:<7}"
        cell = f"{row['dataset']:<16} {row['method']:<10} {judge} seed {row['seed']:<3}"
        print(f"{row['key'][:12]}  {cell} {row['error'] or format(row['mean'], '6.2f')}")
    for problem in problems:
        print(f"nmrgcl: {problem}", file=sys.stderr)
    print(f"{len(done)} finished, {len(rows) - len(done)} failed, {len(problems)} damaged, in {results}")


@app.command(cls=Command)
def show(
    key: Annotated[str, typer.Argument(metavar="KEY", help="Key of a cell, or a prefix of it.", show_default=False)],
    results: Folder = HOME,
    as_json: AsJson = False,
) -> None:
    """Show everything about one cell: settings, scores, times, versions, hardware.

    Examples:

      nmrgcl results show 3f2a --results runs/table1
    """
    from nmrgcl.run.results import Results

    values = Results(results).find(key).to_dict()
    print(json.dumps(values, indent=None if as_json else 2))


@app.command(cls=Command)
def pack(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="File to write.", show_default=False)],
    results: Folder = HOME,
    as_json: AsJson = False,
) -> None:
    """Pack all finished cells into one file, for example to copy results from another machine.

    Examples:

      nmrgcl results pack table1.nmrgcl-results --results runs/table1
    """
    from nmrgcl.errors import DataError
    from nmrgcl.run.pack import write_pack
    from nmrgcl.run.results import Results

    found, problems = Results(results).all()
    if problems:
        raise DataError(f"{problems[0]}; remove it or compute the cell again ({len(problems)} damaged in all)")
    if not found:
        raise DataError(f"{results}: contains no results; nmrgcl sweep computes them")
    count = write_pack(out, found)
    print(json.dumps({"out": str(out), "results": count}) if as_json else f"{count} results in {out}")


@app.command(cls=Command)
def unpack(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A pack of results.", show_default=False)],
    results: Folder = HOME,
    as_json: AsJson = False,
) -> None:
    """Add the cells of a pack to a folder of results, after checking each of them.

    Exits with 2 if a cell already exists with different scores; the existing one is kept.

    Examples:

      nmrgcl results unpack table1.nmrgcl-results --results runs/table1
    """
    _merge([source], results, as_json)


@app.command(cls=Command)
def merge(
    sources: Annotated[list[Path], typer.Argument(metavar="SOURCE…", help="Packs and folders.", show_default=False)],
    results: Folder = HOME,
    as_json: AsJson = False,
) -> None:
    """Add the cells of packs and folders to a folder of results.

    Exits with 2 if cells exist with different scores, or if a source contains damaged ones; all others are added.

    Examples:

      nmrgcl results merge other/results laptop.nmrgcl-results --results runs/table1
    """
    _merge(sources, results, as_json)


def _merge(sources: list[Path], folder: Path, as_json: bool) -> None:
    from nmrgcl.run.pack import merge
    from nmrgcl.run.results import Results

    merged = merge(Results(folder), sources)
    if as_json:
        print(json.dumps({"folder": str(folder), **asdict(merged)}))
    else:
        print(f"{len(merged.added)} added, {len(merged.same)} already there, in {folder}")
    for key in merged.conflicts:
        print(f"nmrgcl: {key}: has different scores in {folder}, which were kept", file=sys.stderr)
    for problem in merged.problems:
        print(f"nmrgcl: {problem}", file=sys.stderr)
    if merged.conflicts or merged.problems:
        raise typer.Exit(2)


def _facts(result: "Result") -> dict[str, Any]:
    cell = result.cell
    return {
        "key": result.key,
        "dataset": cell.dataset,
        "method": cell.method,
        "seed": cell.seed,
        "protocol": cell.protocol,
        "split": cell.split,
        "selection": cell.selection,
        "status": result.status,
        "mean": result.mean if result.status == "done" else None,
        "error": result.error["message"] if result.error else None,
    }
