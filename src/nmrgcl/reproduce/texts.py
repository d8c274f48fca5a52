"""A table's report as Markdown, LaTeX and CSV."""

import csv
import io
from collections.abc import Sequence

from nmrgcl.report.grid import Grid, as_latex, as_markdown, escape_latex
from nmrgcl.reproduce.item import Item
from nmrgcl.reproduce.plan import Plan
from nmrgcl.reproduce.scores import Row, Scores
from nmrgcl.reproduce.verdict import Verdict

QUICK = (
    "Quick version: fewer datasets, seeds and epochs than the paper has. It shows that the machinery works, not what "
    "the paper's extent would show."
)
COLUMNS = (
    *("table", "quick", "row", "group", "dataset", "line", "protocol"),
    *("mean", "std", "below", "n", "best", "low", "high"),
)


def extent_of(plan: Plan, scores: Scores) -> str:
    """How much is there, and what was asked for other than the item's own."""
    parts = [f"at most {plan.most_epochs} epochs"] if plan.most_epochs else []
    parts += [f"preset {plan.preset}"] if plan.preset else []
    return "; ".join([scores.extent, *parts, *plan.assignments])


def title_of(item: Item, plan: Plan) -> str:
    """A quick version says so."""
    return f"{item.title}{' (quick version)' if plan.quick else ''}"


def markdown_report(
    item: Item, plan: Plan, scores: Scores, grids: Sequence[Grid], verdicts: Sequence[Verdict], commands: Sequence[str]
) -> str:
    """Claims, tables and the commands that make them."""
    parts = [f"# {title_of(item, plan)}\n"]
    parts += [f"**{QUICK}**\n"] if plan.quick else []
    parts += [f"{item.note}\n", f"{extent_of(plan, scores)}.\n", "## Claims of the paper\n"]
    claims = [f"| {_cell(v.claim)} | **{v.outcome}** | {_cell(v.sentence)} |" for v in verdicts]
    parts.append("\n".join(["| claim | verdict | statistics |", "|---|---|---|", *claims]) + "\n")
    parts += [as_markdown(grid) for grid in grids]
    parts.append("## Compute it again\n\n```\n" + "\n".join(commands) + "\n```\n")
    return "\n".join(parts)


def latex_report(item: Item, plan: Plan, scores: Scores, grids: Sequence[Grid], commands: Sequence[str]) -> str:
    """The tables, to be taken into a document with ``\\input``; every caption of a quick version says so."""
    mark = "QUICK VERSION, not the paper's extent. " if plan.quick else ""
    head = [f"% {title_of(item, plan)}; {extent_of(plan, scores)}", r"% needs \usepackage{booktabs}"]
    head += [f"% {command}" for command in commands]
    tables = [as_latex(grid, label=plan.label) for grid in grids]
    if mark:
        tables = [table.replace(r"\caption{", rf"\caption{{{escape_latex(mark)}") for table in tables]
    return "\n".join(["\n".join(head), *tables])


def csv_report(listed: Sequence[Row]) -> str:
    """A line a figure; what does not apply is empty."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _plain(row[key]) for key in COLUMNS} for row in listed)
    return stream.getvalue()


def _plain(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else round(value, 4) if isinstance(value, float) else value


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
