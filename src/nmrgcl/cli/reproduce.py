"""``nmrgcl reproduce``."""

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmrgcl.cli.options import AsJson, Assignments, Device
from nmrgcl.cli.results import HOME, Folder
from nmrgcl.errors import SettingError

if TYPE_CHECKING:
    from nmrgcl.reproduce import Item
    from nmrgcl.reproduce.item import Plan
    from nmrgcl.reproduce.page import Written
    from nmrgcl.reproduce.scores import Row


def reproduce(
    item: Annotated[
        str | None, typer.Argument(metavar="[ITEM]", help="For example figure6. (default: list all)")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version, marked as such; minutes on a laptop.")
    ] = False,
    only: Annotated[
        list[str] | None, typer.Option(metavar="DATASET", help="These datasets instead of the item's.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=0, help="Trials of each cell; 0: the item's.")] = 0,
    protocol: Annotated[
        str, typer.Option(metavar="svm|lssvm", help="How embeddings are judged. (default: the item's)")
    ] = "",
    assignments: Assignments = None,
    results: Folder = HOME,
    jobs: Annotated[int, typer.Option(min=0, help="Cells at a time; 0: as many as suit the machine.")] = 0,
    device: Device = "auto",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would cost; compute nothing.")] = False,
    render_only: Annotated[bool, typer.Option("--render-only", help="Draw what is there; compute nothing.")] = False,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="FILE", help="The item's .json of another run: what it has is there."),
    ] = None,
    limit: Annotated[
        float, typer.Option(min=0, metavar="SECONDS", help="End then; what is there is drawn. (default: never)")
    ] = 0,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for page, figures and rows.")] = Path(
        "runs/reproduce"
    ),
    as_json: AsJson = False,
) -> None:
    """Compute a figure of the paper again: its cells, its picture, and a verdict for each of its claims.

    Says what it costs before it starts; what is finished is never computed again, and what is missing is drawn as
    missing. Writes ITEM.html, ITEM.svg and ITEM.json into --out. Exits with 1 if cells are missing at the end.

    Examples:

      nmrgcl reproduce

      nmrgcl reproduce figure6 --quick

      nmrgcl reproduce figure8 --only NCI1 --seeds 2 --dry-run

      nmrgcl reproduce figure8 --render-only --from results/figure8.json --out figures --json

      nmrgcl reproduce figure8 --from results/figure8.json --limit 600 --device cuda --out results
    """
    from nmrgcl.reproduce import find_item

    if item is None:
        _list(as_json)
        return
    found = find_item(item)
    known: list[Row] = []
    if source is not None:
        from nmrgcl.reproduce.compact import read_compact

        plan, known = read_compact(source, found)
        if render_only:
            _tell(found, plan, _write(found, plan, known, out), as_json, render_only=True)
            return
    options: dict[str, Any] = {"only": only or (), "seeds": seeds, "protocol": protocol}
    plan = found.plan(quick=quick, assignments=assignments or (), **options)
    if dry_run:
        _say_cost(found, plan, results, device, jobs, as_json, known)
        return
    rows = _rows(found, plan, results, device, jobs, render_only=render_only, known=known, limit=limit)
    _tell(found, plan, _write(found, plan, rows, out), as_json, render_only=render_only)


def _list(as_json: bool) -> None:
    from nmrgcl.reproduce import NAMES, find_item

    items = [find_item(name) for name in NAMES]
    if as_json:
        facts = [{"item": i.name, "title": i.title, "cost": i.cost, "claims": list(i.claims)} for i in items]
        print(json.dumps({"items": facts}))
        return
    for one in items:
        print(f"{one.name:<9} {one.title}\n{'':<9} {one.cost}")


def _rows(
    item: "Item",
    plan: "Plan",
    folder: Path,
    device: str,
    jobs: int,
    *,
    render_only: bool,
    known: "list[Row]",
    limit: float,
) -> "list[Row]":
    from nmrgcl.reproduce.fill import fill, gather, look_ahead
    from nmrgcl.run.device import choose_device

    where = choose_device(device)
    if item.measure is not None:
        if render_only:
            raise SettingError(f"--render-only: {item.name} is measured, not kept as cells; name its file with --from")
        print(f"{plan.label}: {item.cost}", file=sys.stderr)
        return item.measure(plan, where)
    if render_only:
        return gather(item, plan, folder)
    place: dict[str, Any] = {"device": where.type, "jobs": jobs, "known": known}
    outlook = look_ahead(item, plan, folder, **place)
    print(f"{plan.label}: {outlook.sentence}, in {folder}", file=sys.stderr, flush=True)
    if outlook.finished < outlook.cells:
        _fill(lambda on_done: fill(item, plan, folder, on_done=on_done, **place), outlook, limit)
    return gather(item, plan, folder, known)


def _fill(compute: Any, outlook: Any, limit: float) -> None:
    from nmrgcl.cli.cells import show_cells
    from nmrgcl.run.interrupt import Interrupted, ended_after

    began = time.monotonic()
    try:
        with ended_after(limit), show_cells(outlook.cells - outlook.finished) as on_done:
            compute(on_done)
    except Interrupted as ended:
        if limit and time.monotonic() - began >= limit:
            print(f"nmrgcl: {limit:g} s are over; the same command goes on", file=sys.stderr)
            return
        print(f"nmrgcl: {ended}; the same command goes on", file=sys.stderr)
        raise typer.Exit(128 + ended.signum) from None


def _say_cost(
    item: "Item", plan: "Plan", folder: Path, device: str, jobs: int, as_json: bool, known: "list[Row]"
) -> None:
    from nmrgcl.reproduce.fill import look_ahead
    from nmrgcl.run.device import choose_device

    outlook = look_ahead(item, plan, folder, device=choose_device(device).type, jobs=jobs, known=known)
    facts = {"cells": outlook.cells, "finished": outlook.finished, "seconds": outlook.seconds}
    words = outlook.sentence if item.measure is None else item.cost
    print(json.dumps({**plan.to_dict(), **facts, "cost": words}) if as_json else f"{plan.label}: {words}")


def _write(item: "Item", plan: "Plan", rows: "list[Row]", out: Path) -> "Written":
    from nmrgcl.reproduce.page import write_item

    return write_item(item, plan, rows, out)


def _tell(item: "Item", plan: "Plan", made: "Written", as_json: bool, *, render_only: bool) -> None:
    if as_json:
        files = {"page": str(made.page), "figures": [str(p) for p in made.pictures], "rows": str(made.rows)}
        verdicts = [verdict.to_dict() for verdict in made.verdicts]
        print(json.dumps({**plan.to_dict(), "missing": made.scores.missing, "verdicts": verdicts, **files}))
    else:
        quick = " (quick version)" if plan.quick else ""
        print(f"{item.title}{quick}: {made.scores.extent}" if item.axes else f"{item.title}{quick}")
        for verdict in made.verdicts:
            print(f"{verdict.outcome:<13}  {verdict.claim}\n{'':<13}  {verdict.sentence}")
        print(made.page)
    if made.scores.missing and not render_only:
        raise typer.Exit(1)
