"""Write the files of an item (page, pictures, tables as text, rows), and an index page of all items."""

import csv
import io
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from markupsafe import Markup

from nmrgcl.owned import require_group, require_signed
from nmrgcl.report import page
from nmrgcl.report.grid import Grid, as_latex, as_markdown, escape_latex
from nmrgcl.reproduce.item import Item, MeasuredItem
from nmrgcl.reproduce.item_file import ITEM_FILE, as_text
from nmrgcl.reproduce.plan import Plan
from nmrgcl.reproduce.scores import Row, Scores
from nmrgcl.reproduce.tables.table import TableItem
from nmrgcl.reproduce.verdict import Verdict
from nmrgcl.run.machine import versions

QUICK = (
    "Quick version: fewer datasets and seeds, in tables also fewer epochs, than the paper has. It shows that the "
    "machinery works, not what the paper's extent would show."
)
INDEX_TITLE = "nmrGCL (arXiv 2203.12821), computed again"
CSV_COLUMNS = (
    *("table", "quick", "row", "group", "dataset", "line", "protocol"),
    *("mean", "std", "below", "n", "best", "low", "high"),
)


@dataclass(frozen=True)
class Made:
    """An item and its plan and, if it was written, its verdicts and files."""

    item: Item
    plan: Plan
    scores: Scores | None = None
    verdicts: tuple[Verdict, ...] = ()
    page: Path = Path()
    rows: Path = Path()
    pictures: tuple[Path, ...] = ()
    texts: tuple[Path, ...] = ()

    @property
    def missing(self) -> int:
        """The number of missing cells."""
        return self.scores.missing if self.scores else 0

    @property
    def state(self) -> str:
        """How much of it is computed, and the outcomes of its claims."""
        if self.scores is None:
            return "not computed"
        counts = Counter(verdict.outcome for verdict in self.verdicts)
        claims = "claims: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        return claims if isinstance(self.item, MeasuredItem) else f"{self.scores.extent}; {claims}"


def require_place(plan: Plan, out: Path) -> None:
    """Refuse to replace files with names of the item unless its .json file shows that they are ours."""
    name = re.compile(rf"{re.escape(plan.label)}(\.(html|svg|md|tex|csv)|-(?!quick\b)[\w-]+\.svg)")
    found = [path for path in out.iterdir() if name.fullmatch(path.name)] if out.is_dir() else []
    require_group(out / f"{plan.label}.json", ITEM_FILE.name, found)


def require_index_place(out: Path) -> None:
    """Refuse to replace an ``index.html`` that is not ours."""
    require_signed(out / "index.html", f"<title>{INDEX_TITLE}".encode())


def write_item(item: Item, plan: Plan, rows: list[Row], out: Path) -> Made:
    """Judge and draw the item and write it to ``out``; file names begin with that of the item, marked if quick."""
    html, json = (out / f"{plan.label}.{suffix}" for suffix in ("html", "json"))
    page.require_writable(html)
    require_place(plan, out)
    scores = item.scores(plan, rows)
    verdicts, pictures, grids = item.judge(scores), item.pictures(scores), item.grids(plan, scores)
    names = [plan.label if len(pictures) == 1 else f"{plan.label}-{picture.key}" for picture in pictures]
    drawn = {out / f"{name}.svg": picture for name, picture in zip(names, pictures, strict=True)}
    shown = [
        *(section_of(grid, plan) for grid in grids),
        *([_figures(pictures, plan)] if pictures else []),
    ]
    texts: dict[Path, str] = {}
    if isinstance(item, TableItem):
        texts = {
            html.with_suffix(".md"): _markdown(item, plan, scores, grids, verdicts),
            html.with_suffix(".tex"): _latex(item, plan, scores, grids),
            html.with_suffix(".csv"): _csv(item, plan, scores),
        }
    files = {json: as_text(plan, rows, verdicts), html: _page(item, plan, scores, verdicts, shown)}
    page.write_texts(files | {path: picture.file for path, picture in drawn.items()} | texts)
    return Made(item, plan, scores, tuple(verdicts), html, json, tuple(drawn), tuple(texts))


def write_index(made: Sequence[Made], out: Path) -> Path:
    """Write ``index.html`` to ``out``, next to the pages of the items."""
    path, quick = out / "index.html", any(one.plan.quick for one in made)
    page.require_writable(path)
    require_index_place(out)
    link = Markup('<a href="{}">{}</a>')
    items = []
    for one in made:
        name = link.format(one.page.name, one.item.title) if one.scores else one.item.title
        texts = Markup(", ").join(link.format(text.name, text.suffix[1:]) for text in one.texts)
        command = Markup("<code>{}</code>").format(repeat_command(one.item, one.plan))
        items.append([name, Markup("{}; {}").format(one.state, texts) if texts else one.state, command])
    claims = link.format("claims.html", "All claims on one page, with what would change each verdict")
    sections = [
        page.section("items", "Tables and figures", page.card(page.table(items, ("item", "what there is", "command")))),
        page.section("claims", "Claims of the paper", page.paragraph(claims)),
        page.section("again", "Drawn with", page.card(page.table(versions().items()))),
    ]
    summary = [page.paragraph(page.emphasised(QUICK))] if quick else []
    page.write_texts({path: page.build_page(_titled(INDEX_TITLE, quick), summary, sections)})
    return path


def commands_of(item: Item, plan: Plan) -> list[str]:
    """The command that repeats the item and, for tables, those that estimate its cost and render it elsewhere."""
    again = repeat_command(item, plan)
    more = [f"{again} --dry-run", f"{item.command} --render-only --from {plan.label}.json"]
    return [again, *(more if isinstance(item, TableItem) else [])]


def repeat_command(item: Item, plan: Plan) -> str:
    """The command that computes the same plan again."""
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


def _page(item: Item, plan: Plan, scores: Scores, verdicts: Sequence[Verdict], shown: Sequence[Markup]) -> str:
    extent = "" if isinstance(item, MeasuredItem) else f"{_extent(plan, scores)}. "
    devices = f"Computed on: {', '.join(scores.devices)}." if scores.devices else ""
    summary = [page.paragraph(page.emphasised(QUICK))] if plan.quick else []
    summary += [page.paragraph(words, "faint") for words in (item.note, f"{extent}{devices}") if words]
    claims = [_claim(verdict) for verdict in verdicts]
    table = page.table(claims, ("claim", "verdict", "statistics"), kind="verdicts")
    again = page.code(commands_of(item, plan)), page.facts(versions(), "Drawn with")
    sections = [
        page.section("claims", "Claims of the paper", page.card(table)),
        *shown,
        page.section("again", "Compute it again", *again),
    ]
    return page.build_page(_titled(item.title, plan.quick), summary, sections)


def section_of(grid: Grid, plan: Plan) -> Markup:
    """A table as a section of a page."""
    rows = [row for group, cells in grid.grouped() for row in ([[group]] if group else []) + [cells]]
    drawn = page.table(rows, grid.head, kind="figures words" if grid.names > 1 else "figures")
    return page.section(
        grid.key, _titled(grid.title, plan.quick), page.card(drawn, page.paragraph(grid.caption, "faint"))
    )


def _figures(pictures: Sequence[page.Picture], plan: Plan) -> Markup:
    heading = _titled("Figure" if len(pictures) == 1 else "Figures", plan.quick)
    return page.section("figures", heading, *(page.figure(picture, wide=True) for picture in pictures))


def _claim(found: Verdict) -> list[str]:
    tone = TONES.get(found.outcome, "open")
    return [found.claim, page.verdict(found.outcome, tone), found.sentence]


TONES: dict[str, page.Tone] = {"confirmed": "good", "not confirmed": "bad"}
"""The tones of outcomes; all others leave a claim open."""


def _markdown(item: Item, plan: Plan, scores: Scores, grids: Sequence[Grid], verdicts: Sequence[Verdict]) -> str:
    """Claims, tables and the commands that compute them as Markdown."""
    parts = [f"# {_titled(item.title, plan.quick)}\n"]
    parts += [f"**{QUICK}**\n"] if plan.quick else []
    parts += [f"{item.note}\n", f"{_extent(plan, scores)}.\n", "## Claims of the paper\n"]
    escaped = [(v.claim.replace("|", "\\|"), v.outcome, v.sentence.replace("|", "\\|")) for v in verdicts]
    claims = [f"| {claim} | **{outcome}** | {sentence} |" for claim, outcome, sentence in escaped]
    parts.append("\n".join(["| claim | verdict | statistics |", "|---|---|---|", *claims]) + "\n")
    parts += [as_markdown(grid) for grid in grids]
    parts.append("## Compute it again\n\n```\n" + "\n".join(commands_of(item, plan)) + "\n```\n")
    return "\n".join(parts)


def _latex(item: Item, plan: Plan, scores: Scores, grids: Sequence[Grid]) -> str:
    """The tables for ``\\input`` in a LaTeX document; in a quick version, every caption says so."""
    head = [f"% {_titled(item.title, plan.quick)}; {_extent(plan, scores)}", r"% needs \usepackage{booktabs}"]
    head += [f"% {command}" for command in commands_of(item, plan)]
    mark = escape_latex("QUICK VERSION, not the paper's extent. ") if plan.quick else ""
    tables = [as_latex(grid, label=plan.label).replace(r"\caption{", rf"\caption{{{mark}") for grid in grids]
    return "\n".join(["\n".join(head), *tables])


def _csv(item: TableItem, plan: Plan, scores: Scores) -> str:
    """One line per number; fields that do not apply are empty."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, CSV_COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for entry in item.entries(plan, scores):
        values = {"table": plan.item, "quick": plan.quick, **asdict(entry)}
        writer.writerow({key: _plain(value) for key, value in values.items()})
    return stream.getvalue()


def _plain(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return round(value, 4) if isinstance(value, float) else value


def _extent(plan: Plan, scores: Scores) -> str:
    """How much is computed, and how the plan differs from the default."""
    parts = [f"at most {plan.most_epochs} epochs"] if plan.most_epochs else []
    parts += [f"preset {plan.preset}"] if plan.preset else []
    return "; ".join([scores.extent, *parts, *plan.assignments])


def _titled(title: str, quick: bool) -> str:
    """The title, marked if this is a quick version."""
    return f"{title} (quick version)" if quick else title
