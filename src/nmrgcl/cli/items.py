"""What ``nmrgcl reproduce`` does with an item: say its cost, compute what is missing, write and tell."""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nmrgcl.errors import SettingError

if TYPE_CHECKING:
    from nmrgcl.reproduce.fill import Outlook
    from nmrgcl.reproduce.item import Item
    from nmrgcl.reproduce.page import Written
    from nmrgcl.reproduce.plan import Plan
    from nmrgcl.reproduce.scores import Row


@dataclass(frozen=True)
class Way:
    """How cells are computed: where they are kept, on what, how many at a time, and for how long at most.

    ``keep_trained`` leaves weights in the folder; ``known`` are rows of another run, whose cells are finished.
    """

    folder: Path
    device: str
    jobs: int
    render_only: bool = False
    limit: float = 0
    keep_trained: bool = False
    known: "tuple[Row, ...]" = ()


def rows_of(item: "Item", plan: "Plan", way: Way) -> "list[Row]":
    """Rows of what is finished in the end; nothing is computed where ``way`` only renders."""
    from nmrgcl.reproduce.fill import count, gather, look_ahead
    from nmrgcl.run.machine import choose_device

    where = choose_device(way.device)
    if item.measure is not None:
        if way.render_only:
            raise SettingError(f"--render-only: {item.name} is measured, not kept as cells; name its file with --from")
        print(f"{plan.label}: {item.cost}", file=sys.stderr)
        return list(_followed(item.measure(plan, where)))
    if way.render_only:
        return gather(item, plan, way.folder)
    if way.limit:  # says itself how long it takes, and measuring would be part of that
        outlook = count(item, plan, way.folder, way.known)
    else:
        outlook = look_ahead(item, plan, way.folder, device=where.type, jobs=way.jobs, known=way.known)
    print(f"{plan.label}: {outlook.sentence}, in {way.folder}", file=sys.stderr, flush=True)
    if outlook.finished < outlook.cells:
        _fill(item, plan, way, outlook)
    return gather(item, plan, way.folder, way.known)


def nested_of(item: "Item", plan: "Plan", folder: Path) -> "list[Row]":
    """The nested scores of the searches in ``folder``, as rows of a table."""
    if item.searches is None:
        raise SettingError(f"--searches: {item.name} has no tuned row")
    return item.searches(plan, folder)


def _followed(rows: "Iterable[Row]") -> "Iterator[Row]":
    """The rows; of those that come one by one, each trained one is told as it comes."""
    slow = isinstance(rows, Iterator)
    for row in rows:
        if slow and "seed" in row:
            print(f"{row['name']} on {row['dataset']}, seed {row['seed']}", file=sys.stderr, flush=True)
        yield row


def _fill(item: "Item", plan: "Plan", way: Way, outlook: "Outlook") -> None:
    """A limit ends it like a signal, but what is finished is drawn."""
    from nmrgcl.cli.cells import show_cells
    from nmrgcl.reproduce.fill import fill
    from nmrgcl.run.interrupt import Interrupted, TimeLimit, end_at_once, handled
    from nmrgcl.run.machine import choose_device

    device = choose_device(way.device).type
    limit = TimeLimit(way.limit)
    try:
        # Before and after its cells are under way the engine does not listen.
        with handled(end_at_once), limit.running(), show_cells(outlook.cells - outlook.finished) as on_done:
            options: dict[str, Any] = {"jobs": way.jobs, "keep_trained": way.keep_trained}
            fill(item, plan, way.folder, device=device, on_done=on_done, known=way.known, **options)
    except Interrupted as ended:
        print(f"nmrgcl: {ended}; the same command goes on", file=sys.stderr)
        if not limit.passed:
            raise typer.Exit(128 + ended.signum) from None


def cost_of(item: "Item", plan: "Plan", way: Way) -> dict[str, Any]:
    """Cells, those that are finished, seconds for the others, and all of it in words."""
    from nmrgcl.reproduce.fill import look_ahead
    from nmrgcl.run.machine import choose_device

    device = choose_device(way.device).type
    outlook = look_ahead(item, plan, way.folder, device=device, jobs=way.jobs, known=way.known)
    facts = {"cells": outlook.cells, "finished": outlook.finished, "seconds": outlook.seconds}
    words = outlook.sentence if item.measure is None else item.cost
    return {**plan.to_dict(), **facts, "cost": words}


def facts_of(plan: "Plan", made: "Written") -> dict[str, Any]:
    """What ``--json`` says of an item that was written."""
    files = {"page": str(made.page), "figures": [str(p) for p in made.pictures], "rows": str(made.rows)}
    verdicts = [verdict.to_dict() for verdict in made.verdicts]
    texts = {"texts": [str(p) for p in made.texts]}
    return {**plan.to_dict(), "missing": made.scores.missing, "verdicts": verdicts, **files, **texts}


def tell(item: "Item", plan: "Plan", made: "Written", as_json: bool) -> None:
    """Verdicts and the page."""
    if as_json:
        print(json.dumps(facts_of(plan, made)))
        return
    quick = " (quick version)" if plan.quick else ""
    print(f"{item.title}{quick}: {made.scores.extent}" if item.axes else f"{item.title}{quick}")
    for verdict in made.verdicts:
        print(f"{verdict.outcome:<13}  {verdict.claim}\n{'':<13}  {verdict.sentence}")
    print(made.page)
