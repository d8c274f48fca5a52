"""What ``nmrgcl reproduce`` does: compute and write one item or all of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nmrgcl import reproduce
from nmrgcl.errors import SettingError
from nmrgcl.reproduce.claims import require_claims_place, write_claims
from nmrgcl.reproduce.compute import CellProgress, Computing, compute_rows, finished_rows, outlook_of
from nmrgcl.reproduce.item import Item, MeasuredItem
from nmrgcl.reproduce.item_file import read_item_file
from nmrgcl.reproduce.item_page import Made, require_index_place, require_place, write_index, write_item
from nmrgcl.reproduce.plan import Plan
from nmrgcl.reproduce.scores import Row
from nmrgcl.reproduce.tables.table import TableItem


@dataclass(frozen=True)
class Request:
    """The arguments of ``nmrgcl reproduce``.

    Attributes:
        how: how to compute.
        out: the folder for pages, figures and rows.
        quick: compute the small version.
        seeds: the number of seeds; 0: the item's default.
        options: other arguments of ``Item.plan``.
        source: the .json file of the item from another run, or a folder of such files.
        searches: the folder of results of ``nmrgcl tune``.
    """

    how: Computing
    out: Path
    quick: bool = False
    seeds: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    source: Path | None = None
    searches: Path | None = None

    @property
    def is_part(self) -> bool:
        """Whether options ask for a part of an item."""
        return bool(self.seeds or any(self.options.values()))

    def plan(self, item: Item) -> Plan:
        """The plan of ``item``."""
        return item.plan(quick=self.quick, seeds=self.seeds, **self.options)


def cost_of(item: Item, request: Request) -> dict[str, Any]:
    """The number of cells, how many are finished, the seconds for the others, and a sentence about this."""
    plan, _, how = _start(item, request)
    _nested(item, plan, request)
    outlook = outlook_of(item, plan, how)
    facts = {"cells": outlook.cells, "finished": outlook.finished, "seconds": outlook.seconds}
    return {**plan.to_dict(), **facts, "cost": item.cost if isinstance(item, MeasuredItem) else outlook.sentence}


def make(item: Item, request: Request, *, say: Callable[[str], None], progress: CellProgress) -> Made:
    """Compute the missing cells of ``item``, judge it, and write its files."""
    plan, rows, how = _start(item, request)
    nested = _nested(item, plan, request)  # This reports a wrong folder before any work begins.
    if request.source is None or not how.render_only:
        require_place(plan, request.out)
        rows = compute_rows(item, plan, how, say=say, progress=progress)
    if nested is not None:
        rows = [*(row for row in rows if row["key"]), *nested]
    return write_item(item, plan, rows, request.out)


def make_all(request: Request, *, say: Callable[[str], None], progress: CellProgress) -> tuple[Path, list[Made]]:
    """Make all items, from the files in ``request.source`` where these exist, and the pages of claims and items."""
    requests, made = list(_with_sources(request)), []
    require_index_place(request.out)
    require_claims_place(request.out)
    for item, own in requests:
        require_place(own.plan(item), request.out)
        if own.source is None and own.how.render_only and isinstance(item, MeasuredItem):
            say(f"{own.plan(item).label}: not measured yet; run {item.command}")
            made.append(Made(item, own.plan(item)))
        else:
            made.append(make(item, own, say=say, progress=progress))
    write_claims(made, request.out)
    return write_index(made, request.out), made


def make_claims(request: Request) -> tuple[Path, list[Made]]:
    """Judge all items and write the page of claims."""
    made = judge_all(request)
    return write_claims(made, request.out), made


def judge_all(request: Request) -> list[Made]:
    """Judge all items by the files in ``request.source`` and by finished cells; writes nothing."""
    made = []
    for item, own in _with_sources(replace(request, how=replace(request.how, render_only=True))):
        plan, rows, how = _start(item, own)
        if own.source is None and isinstance(item, MeasuredItem):
            made.append(Made(item, plan))
            continue
        scores = item.scores(plan, rows if own.source else finished_rows(item, plan, how))
        made.append(Made(item, plan, scores, tuple(item.judge(scores))))
    return made


def _with_sources(request: Request) -> Iterator[tuple[Item, Request]]:
    """Each item with the request for it alone: its file in the folder ``request.source``, if there is one."""
    folder = request.source
    if folder is not None and not folder.is_dir():
        raise SettingError(f"--from {folder}: for all items, name the folder that holds their .json files")
    for item in items():
        file = folder / f"{request.plan(item).label}.json" if folder else None
        yield item, replace(request, source=file if file is not None and file.exists() else None)


def items() -> list[Item]:
    """All items in the order of the paper."""
    return [reproduce.find_item(name) for name in reproduce.NAMES]


def require_for_all(request: Request, *, computing: bool = True) -> None:
    """Refuse options that apply to a single item only."""
    named = [name for name, value in request.options.items() if value]
    named += [name for name, value in (("limit", request.how.limit), ("searches", request.searches)) if value]
    if named:
        option = {"rows": "row", "assignments": "set"}.get(named[0], named[0].replace("_", "-"))
        raise SettingError(f"--{option}: applies to a single item; name it instead of all")
    if computing and request.source is not None and not request.how.render_only:
        raise SettingError("--from: for all items, this only renders files; add --render-only")


def _start(item: Item, request: Request) -> tuple[Plan, list[Row], Computing]:
    """The plan, the rows of the file to continue from, and how to compute the others."""
    how = request.how
    if request.source is None:
        return request.plan(item), [], how
    source = request.source
    name = f"{request.plan(item).label}.json"
    file = source / name if source.is_dir() else source
    plan, rows = read_item_file(file, item)
    if not request.is_part:
        return (plan if how.render_only else request.plan(item)), rows, replace(how, known=tuple(rows))
    plan = request.plan(item)
    asked = _part(item, plan, rows)
    if len(asked) < len(rows) and file.resolve() == (request.out / name).resolve():
        raise SettingError(f"--out {request.out}: a part of the item would replace all of it in {file}; use another")
    return plan, asked, replace(how, known=tuple(asked))


def _part(item: Item, plan: Plan, rows: list[Row]) -> list[Row]:
    """The rows that ``plan`` asks for."""
    if isinstance(item, MeasuredItem):
        return [row for row in rows if row["dataset"] in plan.datasets]
    keys = {placed.cell.key for placed in item.cells(plan)}
    return [row for row in rows if (row["key"] in keys if row["key"] else row["dataset"] in plan.datasets)]


def _nested(item: Item, plan: Plan, request: Request) -> Sequence[Row] | None:
    """The nested scores of searches as rows of a table; None if none are requested."""
    if request.searches is None:
        return None
    if not isinstance(item, TableItem):
        raise SettingError(f"--searches: {item.name} has no tuned row")
    return item.nested(plan, request.searches)
