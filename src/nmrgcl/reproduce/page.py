"""An item as one page, its pictures as SVG, its tables as text and its rows as one small file."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from nmrgcl import atomic
from nmrgcl.errors import SettingError
from nmrgcl.owned import require_group
from nmrgcl.report.grid import Grid
from nmrgcl.report.render import prepare, render
from nmrgcl.report.svg import Picture
from nmrgcl.reproduce.compact import ITEM, write_compact
from nmrgcl.reproduce.item import Item
from nmrgcl.reproduce.plan import Plan
from nmrgcl.reproduce.scores import Row, Scores
from nmrgcl.reproduce.texts import csv_report, extent_of, latex_report, markdown_report
from nmrgcl.reproduce.verdict import Verdict
from nmrgcl.run import versions


@dataclass(frozen=True)
class Written:
    """Where the item is now, and what was found."""

    page: Path
    pictures: list[Path]
    rows: Path
    scores: Scores
    verdicts: list[Verdict]
    texts: tuple[Path, ...] = ()


def require_place(plan: Plan, out: Path) -> None:
    """Refuse to replace files of the item's names that are not ours; the item's .json says that they are."""
    name = re.compile(rf"{re.escape(plan.label)}(\.(html|svg|md|tex|csv)|-(?!quick\b)[\w-]+\.svg)")
    found = [path for path in out.iterdir() if name.fullmatch(path.name)] if out.is_dir() else []
    require_group(out / f"{plan.label}.json", ITEM.name, found)


def write_item(item: Item, plan: Plan, rows: list[Row], out: Path) -> Written:
    """Judge, draw and write into the folder ``out``; names begin with the item's, and a quick one's say so."""
    page, compact = out / f"{plan.label}.html", out / f"{plan.label}.json"
    prepare(page, None)
    require_place(plan, out)
    scores = item.scores(plan, rows)
    verdicts, pictures = item.judge(scores), item.draw(scores)
    grids = item.grids(plan, scores) if item.grids else []
    texts = _texts(item, plan, scores, grids, verdicts)
    files = [_name(out, plan, picture, len(pictures)) for picture in pictures]
    written = {page: _page(item, plan, scores, verdicts, pictures, grids)}
    written |= {file: picture.file for file, picture in zip(files, pictures, strict=True)}
    written |= {out / f"{plan.label}.{suffix}": text for suffix, text in texts.items()}
    write_compact(compact, plan, rows, verdicts)
    try:
        for file, text in written.items():
            atomic.write_text(file, text)
    except OSError as error:
        raise SettingError(f"{error.filename or out}: cannot be written ({error.strerror})") from None
    named = tuple(out / f"{plan.label}.{suffix}" for suffix in texts)
    return Written(page, files, compact, scores, verdicts, named)


def _texts(item: Item, plan: Plan, scores: Scores, grids: list[Grid], verdicts: list[Verdict]) -> dict[str, str]:
    """By suffix; none where the item is no table."""
    if item.lists is None:
        return {}
    commands = commands_of(item, plan)
    return {
        "md": markdown_report(item, plan, scores, grids, verdicts, commands),
        "tex": latex_report(item, plan, scores, grids, commands),
        "csv": csv_report(item.lists(plan, scores)),
    }


def commands_of(item: Item, plan: Plan) -> list[str]:
    """What computes the same again, and for a table what says the cost before and draws it elsewhere."""
    again = repeat_command(item, plan)
    if item.table is None:
        return [again]
    return [again, f"{again} --dry-run", f"{item.command} --render-only --from {plan.label}.json"]


def repeat_command(item: Item, plan: Plan) -> str:
    """What computes the same again."""
    given = item.plan(quick=plan.quick)
    parts = [item.command]
    parts += ["--quick"] if plan.quick else []
    parts += [f"--only {name}" for name in plan.datasets] if plan.datasets != given.datasets else []
    parts += [f"--seeds {plan.seeds}"] if plan.seeds != given.seeds else []
    parts += [f"--protocol {plan.protocol}"] if plan.protocol != given.protocol else []
    parts += [f"--preset {plan.preset}"] if plan.preset else []
    parts += [f"--row {shlex.quote(name)}" for name in plan.rows]
    parts += [f"--selection {plan.selection}"] if plan.selection else []
    parts += [f"--most-epochs {plan.most_epochs}"] if plan.most_epochs != given.most_epochs else []
    parts += [f"--set {text}" for text in plan.assignments[len(given.assignments) :]]
    return " ".join(parts)


def _page(
    item: Item, plan: Plan, scores: Scores, verdicts: list[Verdict], pictures: list[Picture], grids: list[Grid]
) -> str:
    return render(
        "item.html.j2",
        item=item,
        plan=plan,
        scores=scores,
        extent=extent_of(plan, scores),
        verdicts=verdicts,
        pictures=pictures,
        grids=grids,
        commands=commands_of(item, plan),
        versions=versions(),
    )


def _name(out: Path, plan: Plan, picture: Picture, count: int) -> Path:
    return out / (f"{plan.label}.svg" if count == 1 else f"{plan.label}-{picture.key}.svg")
