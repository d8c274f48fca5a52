"""Write the tables of results in README.md and docs/, and their pictures, from ``results/``: ``make readme``.

python -m docs.render_readme           # write them
python -m docs.render_readme --check   # say whether they would differ

A block is what stands between ``<!-- make readme: NAME -->`` and ``<!-- end of NAME -->``; of a table of the paper
``NAME LINE`` shows another way to judge than the table's own, without verdicts.
"""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from docs.draw_how_it_works import how_it_works_picture
from docs.draw_removal import removal_picture

from nmrgcl.errors import DataError
from nmrgcl.report.grid import MISSING, Grid, markdown_table
from nmrgcl.reproduce import find_item
from nmrgcl.reproduce.item import Item
from nmrgcl.reproduce.item_file import read_item_file
from nmrgcl.reproduce.scores import Scores
from nmrgcl.reproduce.statistics import compare
from nmrgcl.reproduce.tables.table import TableItem

ROOT = Path(__file__).parent.parent
PAGES = (
    "README.md",
    "docs/accuracy.md",
    "docs/nodes.md",
    "docs/collapse.md",
    "docs/figures.md",
    "docs/tuning.md",
    "docs/molecules.md",
)
BLOCK = re.compile(r"(<!-- make readme: ([\w -]+) -->\n)(.*?)(<!-- end of \2 -->)", re.DOTALL)
HEADLINE = ("untrained", "WL", "GraphCL", "GraphMAE", "nmrGCL, w/o RO", "nmrGCL")
"""Rows of Table 1 that README shows."""
PRESETS = ("graphcl", "strong")
DATASETS = ("PTC_MR", "PROTEINS", "NCI1", "DD", "COLLAB", "IMDB-BINARY", "IMDB-MULTI", "REDDIT-BINARY")
"""The order of rows; others follow."""


def rendered(text: str, results: Path) -> str:
    """``text`` with every block written anew."""

    def block(found: re.Match[str]) -> str:
        name, _, line = found[2].partition(" ")
        own = {
            "headline": headline_table,
            "core": core_table,
            "collapse": removal_table,
            "figures": figure_verdicts,
            "tuned": tuned_table,
        }
        folder = results if name in ("figures", "headline") else results / name
        body = own[name](folder) if name in own else paper_table(name, results / f"{name}.json", line)
        return f"{found[1]}{body}{found[4]}"

    return BLOCK.sub(block, text)


def headline_table(folder: Path) -> str:
    """The rows of Table 1 that a reader looks for first."""
    item = find_item("table1")
    assert isinstance(item, TableItem)
    plan, rows = read_item_file(folder / "table1.json", item)
    grid = item.short_grid(plan, item.scores(plan, rows), "")
    assert grid is not None
    shown = {cells[0]: [str(text) for text in cells] for cells in grid.rows}
    return markdown_table(replace(grid, rows=[shown[name] for name in HEADLINE], groups=())) + "\n"


def core_table(folder: Path) -> str:
    """A row for each file that ``evaluate --json`` printed."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    head = ("dataset", "features", "preset", "hardware", "nmrGCL", "untrained")
    rows = [_core_cells(one) for one in sorted(found, key=_core_order)]
    grid = Grid("core", "", "", head, rows, names=len(head))
    return markdown_table(grid).replace("| --- " * len(head) + "|", "|---" * len(head) + "|") + "\n"


def figure_verdicts(folder: Path) -> str:
    """For each figure of which there is a file: how much of it was computed, and the verdicts on its claims."""
    parts = []
    for file in sorted(folder.glob("figure*.json")):
        item = find_item(file.stem)
        scores = item.scores(*read_item_file(file, item))
        extent = f"{scores.extent}; " if item.axes else ""
        parts.append(f"**{item.title}** ({extent}computed on {', '.join(scores.devices)})\n")
        parts += [*_verdicts(item, scores), ""]
    return "\n".join(parts)


def removal_table(folder: Path) -> str:
    """A row for each dataset of which ``diagnose A B`` printed a file (``compare A B`` another), and one for all."""
    rows, found = [], []
    for file in sorted(folder.glob("removal-*.json")):
        spectra = json.loads(file.read_text(encoding="utf-8"))
        spectrum = {one["measure"]: one | {"mean": one["difference"]} for one in spectra["differences"]}
        judged = folder / file.name.replace("removal", "accuracy")
        accuracy = json.loads(judged.read_text(encoding="utf-8"))["differences"][0] if judged.exists() else None
        gains = [spectrum["effective_rank"], spectrum["participation_ratio"], accuracy]
        means = [f"{gains[0][side]:.2f}" for side in ("first", "second")]
        rows.append([spectra["dataset"], *means, *map(_interval, gains)])
        found.append([gain["mean"] if gain else np.nan for gain in gains])
    overall = [compare(column[None]) for column in np.array(found).T]
    rows.append(["all, each once", "", "", *(_interval(one.to_dict() if one else None) for one in overall)])
    head = ("dataset", "effective rank without", "with", "difference", "participation ratio", "accuracy in points")
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows]) + "\n"


def tuned_table(folder: Path) -> str:
    """A row for each dataset of which ``tune`` wrote a file."""
    head = ("dataset", "candidates × seeds", "judge", "preset as it is", "tuned, nested", "its choice for all folds",
            "best on the judged folds")  # fmt: skip
    rows = []
    for file in sorted(folder.glob("*.json")):
        found = json.loads(file.read_text(encoding="utf-8"))
        preset = re.search(r"--preset (\w+)", found["command"])
        assert preset is not None, file
        scores = [
            f"{found[key]['mean']:.2f} ± {found[key]['std']:.2f}" for key in ("preset", "nested", "winner", "seen")
        ]
        tried = f"{len(found['candidates'])} × {found['seeds']}"
        rows.append([found["dataset"], tried, f"`{found['protocol']}`", f"`{preset[1]}` {scores[0]}", *scores[1:]])
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows]) + "\n"


def _interval(found: dict[str, Any] | None) -> str:
    if found is None:
        return MISSING
    return f"{found['mean']:+.2f} ({found['low']:+.2f} … {found['high']:+.2f})".replace("-", "−")


def paper_table(name: str, file: Path, line: str = "") -> str:
    """A table of the paper beside what it prints, and the verdicts on its claims; nothing where it is not computed.

    On another ``line`` than its own, beside what other papers print, and without verdicts.
    """
    if not file.exists():
        return ""
    item = find_item(name)
    assert isinstance(item, TableItem)
    plan, rows = read_item_file(file, item)
    if plan.quick:
        raise DataError(f"{file}: a quick version; README shows the whole table")
    scores = item.scores(plan, rows)
    grid = item.short_grid(plan, scores, line)
    if grid is None:
        return ""
    words = f"{item.title}; {grid.caption} {scores.extent}."
    if line:
        return f"{words}\n\n{markdown_table(grid)}\n"
    return f"{words}\n\n{markdown_table(grid)}\n\n" + "\n".join(_verdicts(item, scores)) + "\n"


def _verdicts(item: Item, scores: Scores) -> list[str]:
    return [f"- **{one.outcome}**: {one.claim} ({one.sentence})" for one in item.judge(scores)]


def _core_cells(found: dict[str, Any]) -> list[str]:
    scores = [f"{one['mean']:.2f} ± {one['std']:.2f}" for one in (found, found["untrained"])]
    return [found["dataset"], found["features"], f"`{found['preset']}`", found["hardware"], *scores]


def _core_order(found: dict[str, Any]) -> tuple[int, int, str]:
    preset = found["preset"].split()[0]
    places = [
        names.index(one) if one in names else len(names)
        for names, one in ((PRESETS, preset), (DATASETS, found["dataset"]))
    ]
    return places[0], places[1], found["preset"]


def main() -> None:
    """Write the pages, or say which would differ."""
    if "--check" not in sys.argv[1:]:
        for picture in (removal_picture(ROOT / "results" / "collapse"), how_it_works_picture()):
            (ROOT / "docs" / f"{picture.key}.svg").write_text(picture.file, encoding="utf-8")
    for path in (ROOT / page for page in PAGES):
        old = path.read_text(encoding="utf-8")
        new = rendered(old, ROOT / "results")
        if "--check" not in sys.argv[1:]:
            path.write_text(new, encoding="utf-8")
        elif new != old:
            sys.exit(f"{path.relative_to(ROOT)} differs from results/; run make readme")


if __name__ == "__main__":
    main()
