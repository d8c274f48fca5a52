"""``nmrgcl reproduce all``: every item, and one page that leads to them."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from nmrgcl.cli.items import Way, cost_of, facts_of, rows_of
from nmrgcl.errors import SettingError

if TYPE_CHECKING:
    from nmrgcl.reproduce.index import Made
    from nmrgcl.reproduce.item import Item


def reproduce_all(way: Way, *, quick: bool, seeds: int, source: Path | None, out: Path, as_json: bool) -> None:
    """Make every item in turn, from files in ``source`` where it has them, and write ``index.html`` into ``out``."""
    from nmrgcl.reproduce import NAMES, find_item
    from nmrgcl.reproduce.index import require_place, write_index

    if source is not None and not source.is_dir():
        raise SettingError(f"--from {source}: for all items name the folder that holds their .json files")
    require_place(out)
    made = [_make(find_item(name), way, quick=quick, seeds=seeds, source=source, out=out) for name in NAMES]
    index = write_index(made, out)
    if as_json:
        facts = [facts_of(one.plan, one.written) for one in made if one.written]
        print(json.dumps({"index": str(index), "items": facts}))
    else:
        for one in made:
            print(f"{one.plan.label:<15} {one.state}")
        print(index)
    if not way.render_only and any(one.written.scores.missing for one in made if one.written):
        raise typer.Exit(1)


def cost_of_all(way: Way, *, quick: bool, seeds: int, as_json: bool) -> None:
    """The cost of every item."""
    from nmrgcl.reproduce import NAMES, find_item

    items = [find_item(name) for name in NAMES]
    costs = [cost_of(item, item.plan(quick=quick, seeds=seeds), way) for item in items]
    if as_json:
        print(json.dumps({"items": costs}))
        return
    for item, cost in zip(items, costs, strict=True):
        print(f"{item.name}{'-quick' if quick else ''}: {cost['cost']}")


def _make(item: "Item", way: Way, *, quick: bool, seeds: int, source: Path | None, out: Path) -> "Made":
    from nmrgcl.reproduce.compact import read_compact
    from nmrgcl.reproduce.index import Made
    from nmrgcl.reproduce.page import require_place, write_item

    plan = item.plan(quick=quick, seeds=seeds)
    require_place(plan, out)
    file = source / f"{plan.label}.json" if source else None
    if file is not None and file.exists():
        plan, rows = read_compact(file, item)
    elif way.render_only and item.measure is not None:
        print(f"{plan.label}: not measured here; {item.command} does it", file=sys.stderr)
        return Made(item, plan)
    else:
        rows = rows_of(item, plan, way)
    return Made(item, plan, write_item(item, plan, rows, out))
