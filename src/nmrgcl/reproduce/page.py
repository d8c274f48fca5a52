"""An item as one page, its pictures as SVG and its rows as one small file."""

from dataclasses import dataclass
from pathlib import Path

from nmrgcl import atomic
from nmrgcl.errors import SettingError
from nmrgcl.report.render import prepare, render
from nmrgcl.report.svg import Picture
from nmrgcl.reproduce.compact import write_compact
from nmrgcl.reproduce.item import Item, Plan
from nmrgcl.reproduce.scores import Row, Scores
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


def write_item(item: Item, plan: Plan, rows: list[Row], out: Path) -> Written:
    """Judge, draw and write into the folder ``out``; names begin with the item's, and a quick one's say so."""
    page, compact = out / f"{plan.label}.html", out / f"{plan.label}.json"
    prepare(page, None)
    scores = item.scores(plan, rows)
    verdicts, pictures = item.judge(scores), item.draw(scores)
    text = _page(item, plan, scores, verdicts, pictures)
    files = [_name(out, plan, picture, len(pictures)) for picture in pictures]
    try:
        atomic.write_text(page, text)
        for picture, file in zip(pictures, files, strict=True):
            atomic.write_text(file, picture.file)
    except OSError as error:
        raise SettingError(f"{error.filename or out}: cannot be written ({error.strerror})") from None
    write_compact(compact, plan, rows, verdicts)
    return Written(page, files, compact, scores, verdicts)


def repeat_command(item: Item, plan: Plan) -> str:
    """What computes the same again."""
    given = item.plan(quick=plan.quick)
    parts = [item.command]
    parts += ["--quick"] if plan.quick else []
    parts += [f"--only {name}" for name in plan.datasets] if plan.datasets != given.datasets else []
    parts += [f"--seeds {plan.seeds}"] if plan.seeds != given.seeds else []
    parts += [f"--protocol {plan.protocol}"] if plan.protocol != given.protocol else []
    parts += [f"--set {text}" for text in plan.assignments]
    return " ".join(parts)


def _page(item: Item, plan: Plan, scores: Scores, verdicts: list[Verdict], pictures: list[Picture]) -> str:
    return render(
        "item.html.j2",
        item=item,
        plan=plan,
        scores=scores,
        verdicts=verdicts,
        pictures=pictures,
        command=repeat_command(item, plan),
        versions=versions(),
    )


def _name(out: Path, plan: Plan, picture: Picture, count: int) -> Path:
    return out / (f"{plan.label}.svg" if count == 1 else f"{plan.label}-{picture.key}.svg")
