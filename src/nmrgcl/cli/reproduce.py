"""``nmrgcl reproduce``."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from nmrgcl.cli.items import Way, cost_of, nested_of, rows_of, tell
from nmrgcl.cli.options import AsJson, Assignments, Device, KeepTrained
from nmrgcl.cli.results import HOME, Folder
from nmrgcl.errors import SettingError


def reproduce(
    item: Annotated[
        str | None, typer.Argument(metavar="[ITEM]", help="For example table1, or all. (default: list them)")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version, marked as such; minutes on a laptop.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option(metavar="DATASET", help="These datasets instead of the item's.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=0, max=10_000, help="Trials of each cell; 0: the item's.")] = 0,
    protocol: Annotated[
        str, typer.Option(metavar="svm|lssvm", help="How embeddings are judged. (default: the item's)")
    ] = "",
    preset: Annotated[
        str,
        typer.Option(metavar="NAME", help="A table's recipe where a row has none of its own. (default: the table's)"),
    ] = "",
    row: Annotated[list[str] | None, typer.Option(metavar="NAME", help="These rows of a table alone.")] = None,
    selection: Annotated[
        str, typer.Option(metavar="honest|paper", help="One selection of a table alone. (default: both)")
    ] = "",
    most_epochs: Annotated[int, typer.Option(min=0, help="At most so many for each row of a table; 0: its own.")] = 0,
    assignments: Assignments = None,
    results: Folder = HOME,
    jobs: Annotated[int, typer.Option(min=0, help="Cells at a time; 0: as many as suit the machine.")] = 0,
    device: Device = "auto",
    limit: Annotated[
        float, typer.Option(min=0, help="End after so many seconds with what is finished; the same command goes on.")
    ] = 0,
    keep_trained: KeepTrained = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would cost; compute nothing.")] = False,
    render_only: Annotated[bool, typer.Option("--render-only", help="Draw what is there; compute nothing.")] = False,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="The item's .json of another run: what it has is there; for all a folder of them.",
        ),
    ] = None,
    searches: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of what nmrgcl tune found: nested scores of a table's tuned row."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for page, figures and rows.")] = Path(
        "runs/reproduce"
    ),
    as_json: AsJson = False,
) -> None:
    """Compute a table or figure of the paper again: its cells, what it shows, and a verdict for each of its claims.

    Says what it costs before it starts; what is finished is never computed again, and what is missing is drawn as
    missing. Writes ITEM.html, ITEM.svg and ITEM.json into --out, and of a table also ITEM.md, ITEM.tex and
    ITEM.csv; all makes every item and index.html. Exits with 1 if cells are missing at the end.

    Examples:

      nmrgcl reproduce

      nmrgcl reproduce table1 --quick

      nmrgcl reproduce table1 --row nmrGCL --row GraphCL --only NCI1 --dry-run

      nmrgcl reproduce all --render-only --from results --out site

      nmrgcl reproduce figure8 --only NCI1 --seeds 2 --dry-run

      nmrgcl reproduce figure8 --render-only --from results/figure8.json --out figures --json
    """
    if item is None:
        _list(as_json)
        return
    way = Way(results, device, jobs, render_only, limit, keep_trained)
    of_tables = {"preset": preset, "rows": row or (), "selection": selection, "most_epochs": most_epochs}
    options: dict[str, Any] = {"only": only or (), "protocol": protocol, "assignments": assignments or (), **of_tables}
    if item == "all":
        if source is not None and not render_only:
            raise SettingError("--from: of all items draws what is in files; add --render-only")
        _all(way, options, quick=quick, seeds=seeds, source=source, out=out, dry_run=dry_run, as_json=as_json,
             searches=searches)  # fmt: skip
        return
    from nmrgcl.reproduce import find_item
    from nmrgcl.reproduce.page import require_place, write_item

    found = find_item(item)
    if source is not None:
        from nmrgcl.reproduce.compact import read_compact

        plan, rows = read_compact(source, found)
        way = replace(way, known=tuple(rows))
    if source is None or not render_only:
        plan = found.plan(quick=quick, seeds=seeds, **options)
    nested = (
        nested_of(found, plan, searches) if searches is not None else None
    )  # Report a wrong folder before the work begins.
    if source is None or not render_only:
        if dry_run:
            cost = cost_of(found, plan, way)
            print(json.dumps(cost) if as_json else f"{plan.label}: {cost['cost']}")
            return
        require_place(plan, out)
        rows = rows_of(found, plan, way)
    if nested is not None:
        rows = [*(row for row in rows if row["key"]), *nested]
    made = write_item(found, plan, rows, out)
    tell(found, plan, made, as_json)
    if made.scores.missing and not render_only:
        raise typer.Exit(1)


def _all(way: Way, options: dict[str, Any], *, dry_run: bool, **rest: Any) -> None:
    from nmrgcl.cli.all_items import cost_of_all, reproduce_all

    named = [name for name, value in options.items() if value] + (["limit"] if way.limit else [])
    named += ["searches"] if rest.pop("searches") else []
    if named:
        option = {"rows": "row", "assignments": "set"}.get(named[0], named[0].replace("_", "-"))
        raise SettingError(f"--{option}: is about one item; name it instead of all")
    if dry_run:
        cost_of_all(way, quick=rest["quick"], seeds=rest["seeds"], as_json=rest["as_json"])
    else:
        reproduce_all(way, **rest)


def _list(as_json: bool) -> None:
    from nmrgcl.reproduce import NAMES, find_item

    items = [find_item(name) for name in NAMES]
    if as_json:
        facts = [{"item": i.name, "title": i.title, "cost": i.cost, "claims": list(i.claims)} for i in items]
        print(json.dumps({"items": facts}))
        return
    for one in items:
        print(f"{one.name:<9} {one.title}\n{'':<9} {one.cost}")
