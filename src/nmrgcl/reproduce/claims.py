"""All claims of the paper on one page, from the results of all items, with the scores behind them as CSV.

nmrgcl reproduce claims --from results --out site   # seconds; computes no cell
"""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from nmrgcl.owned import require_signed
from nmrgcl.report import page
from nmrgcl.reproduce.item import MeasuredItem
from nmrgcl.reproduce.item_page import TONES, Made, repeat_command
from nmrgcl.reproduce.plan import Plan
from nmrgcl.reproduce.scores import Row

TITLE = "Claims of the paper (arXiv 2203.12821), and what became of them"
HEAD = ("claim", "verdict", "statistics", "what would change it")
SCORES = "claims.csv"
SCORES_HEAD = ("item", "dataset", "setting", "seed", "fold", "score", "protocol", "selection", "device", "key")
_SIGNATURES = {"claims.html": f"<title>{TITLE}", SCORES: ",".join(SCORES_HEAD)}


def require_claims_place(out: Path) -> None:
    """Refuse to replace files that are not ours."""
    page.require_writable(out / "claims.html")
    for name, signature in _SIGNATURES.items():
        require_signed(out / name, signature.encode())


def write_claims(made: Sequence[Made], out: Path) -> Path:
    """Write ``claims.html`` and ``claims.csv`` to ``out``; the page links to pages of items that exist there."""
    require_claims_place(out)
    path = out / "claims.html"
    summary = [
        page.paragraph(f"{tally(made)}. Each verdict follows from the scores by the rule in its last column."),
        page.paragraph(
            Markup('All scores, by fold where these were kept: <a href="{0}">{0}</a>.').format(SCORES), "faint"
        ),
    ]
    sections = [_section(one, out) for one in made]
    page.write_texts({path: page.build_page(TITLE, summary, sections), out / SCORES: scores_as_csv(made)})
    return path


def tally(made: Sequence[Made]) -> str:
    """How many claims have which outcome; statements of the theory are counted apart."""
    counted = []
    for words, measured in (("claims about experiments", False), ("statements of the theory", True)):
        own = [v for one in made if (one.item.name == "theory") == measured for v in one.verdicts]
        outcomes = ", ".join(f"{count} {outcome}" for outcome, count in Counter(v.outcome for v in own).most_common())
        counted += [f"{len(own)} {words}: {outcomes}"] if own else []
    return ". ".join(counted) or "Nothing is computed yet"


def claims_as_markdown(made: Sequence[Made]) -> str:
    """The same page as Markdown, with the command of each item."""
    parts = [f"{tally(made)}.\n"]
    for one in made:
        parts += [f"### {one.item.title}\n", f"`{repeat_command(one.item, one.plan)}`: {_extent(one)}\n"]
        rows = [[v.claim, f"**{v.outcome}**", v.sentence, v.would_change] for v in one.verdicts]
        lines = [HEAD, ["---"] * len(HEAD), *([text.replace("|", "\\|") for text in row] for row in rows)]
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n")
    return "\n".join(parts)


def scores_as_csv(made: Sequence[Made]) -> str:
    """One line per fold, or per cell if only the mean of its folds was kept."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(SCORES_HEAD)
    for one in made:
        if one.scores is not None and not isinstance(one.item, MeasuredItem):
            for row in one.scores.rows:
                writer.writerows(_lines(one.plan, one.item.axes, row))
    return stream.getvalue()


def _lines(plan: Plan, axes: Sequence[str], row: Row) -> Iterator[list[Any]]:
    setting = " ".join(f"{axis}={row[axis]}" for axis in axes)
    rest = [row["protocol"], row["selection"], row["device"], row["key"]]
    folds = row.get("folds")
    for number, score in enumerate(folds) if folds else [("", row["score"])]:
        yield [plan.label, row["dataset"], setting, row["seed"], number, score, *rest]


def _section(made: Made, out: Path) -> Markup:
    file = out / f"{made.plan.label}.html"
    more = [Markup('<a href="{0}">{0}</a>').format(file.name)] if file.exists() else []
    words = Markup(". ").join([Markup("{}").format(_extent(made)), *more])
    rows = [[v.claim, page.verdict(v.outcome, TONES.get(v.outcome, "open")), v.sentence, v.would_change]
            for v in made.verdicts]  # fmt: skip
    return page.section(
        made.plan.label,
        made.item.title,
        page.paragraph(words, "faint"),
        page.card(page.table(rows, HEAD, kind="verdicts")),
        page.code([repeat_command(made.item, made.plan)]),
    )


def _extent(made: Made) -> str:
    if made.scores is None:
        return "not measured yet"
    devices = f"computed on {', '.join(made.scores.devices)}" if made.scores.devices else ""
    if isinstance(made.item, MeasuredItem):
        return devices or "measured"
    return f"{made.scores.extent}; {devices or 'not computed yet'}"
