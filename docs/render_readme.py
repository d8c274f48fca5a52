"""Write the tables of results in README.md and docs/, and their pictures, from ``results/``: ``make readme``.

python -m docs.render_readme           # write them
python -m docs.render_readme --check   # say whether they would differ

A block is what stands between ``<!-- make readme: NAME -->`` and ``<!-- end of NAME -->``; of a table of the paper
``NAME LINE`` shows another way to judge than the table's own, without verdicts; else ``LINE`` is a folder of results.
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
from docs.draw_spectrum import spectrum_picture

from nmrgcl.errors import DataError
from nmrgcl.report.grid import MISSING, Grid, markdown_table
from nmrgcl.reproduce import find_item
from nmrgcl.reproduce.claims import claims_as_markdown
from nmrgcl.reproduce.compute import Computing
from nmrgcl.reproduce.item import Item
from nmrgcl.reproduce.item_file import read_item_file
from nmrgcl.reproduce.plan import Plan
from nmrgcl.reproduce.rank import draw
from nmrgcl.reproduce.request import Request, judge_all
from nmrgcl.reproduce.scores import Scores
from nmrgcl.reproduce.statistics import compare
from nmrgcl.reproduce.tables.table import TableItem
from nmrgcl.tune.found import CRITERIA

ROOT = Path(__file__).parent.parent
PAGES = (
    "README.md",
    "docs/accuracy.md",
    "docs/nodes.md",
    "docs/collapse.md",
    "docs/figures.md",
    "docs/tuning.md",
    "docs/molecules.md",
    "docs/claims.md",
)
BLOCK = re.compile(r"(<!-- make readme: ([\w -]+) -->\n)(.*?)(<!-- end of \2 -->)", re.DOTALL)
HEADLINE = (
    "untrained",
    "WL",
    "GraphCL",
    "GraphMAE",
    "nmrGCL, w/o RO",
    "nmrGCL",
    "untrained + colours",
    "nmrGCL + colours",
)
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
            "criteria": criteria_table,
            "rank": item_tables,
            "tuning": item_tables,
            "claims": claims,
        }
        files = {"rank": results / "rank.json", "tuning": results / "tuning.json"}
        folder = results if name in ("figures", "headline", "claims") else files.get(name, results / name / line)
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
        item, _, scores = _read(file)
        extent = f"{scores.extent}; " if item.axes else ""
        parts.append(f"**{item.title}** ({extent}computed on {', '.join(scores.devices)})\n")
        parts += [*_verdicts(item, scores), ""]
    return "\n".join(parts)


def item_tables(file: Path) -> str:
    """The verdicts and tables of an item that is not in the paper; nothing where it is not computed."""
    if not file.exists():
        return ""
    item, plan, scores = _read(file)
    grids = [f"{markdown_table(grid)}\n\n{grid.caption}\n" for grid in item.grids(plan, scores)]
    devices = ", ".join(scores.devices)
    return "\n".join([f"{scores.extent}; computed on {devices}.\n", *_verdicts(item, scores), "", *grids])


def _read(file: Path) -> tuple[Item, Plan, Scores]:
    item = find_item(file.stem)
    plan, rows = read_item_file(file, item)
    return item, plan, item.scores(plan, rows)


def claims(folder: Path) -> str:
    """Every claim with its verdict."""
    return claims_as_markdown(judge_all(Request(Computing(folder / "no-cells"), folder, source=folder)))


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


def criteria_table(folder: Path) -> str:
    """What each criterion of ``tune`` chooses, on each dataset, and its mean gain over the preset and inner folds."""
    files = sorted(folder.glob("*.json"))
    found = {one["dataset"]: one for one in (json.loads(path.read_text(encoding="utf-8")) for path in files)}
    if not found:
        return ""
    rows = {"preset as it is": {name: one["preset"] for name, one in found.items()}}
    rows |= {name: {data: one["criteria"][name] for data, one in found.items()} for name in CRITERIA}
    usual, inner = rows["preset as it is"], rows[CRITERIA[0]]
    lines = [("chosen by", *found, "minus the preset", "minus inner folds"), ["---"] * (len(found) + 3)]
    for name, scores in rows.items():
        gains = [_gain(scores, other) for other in (usual, inner)]
        shown = {"inner": "inner folds (labels)"}.get(name, name.replace("_", " "))
        lines.append([shown, *map(_spread, scores.values()), *gains])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _spread(scores: dict[str, Any]) -> str:
    return f"{scores['mean']:.2f} ± {scores['std']:.2f}"


def _gain(scores: dict[str, Any], other: dict[str, Any]) -> str:
    """The mean difference over datasets, paired by seed, with its 95 % interval."""
    found = compare([np.subtract(one["scores"], other[name]["scores"]) for name, one in scores.items()])
    assert found is not None
    return MISSING if scores is other else _interval(found.to_dict())


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
        ranks = draw(_read(ROOT / "results" / "rank.json")[2])
        removal = removal_picture(ROOT / "results" / "collapse")
        for picture in (removal, how_it_works_picture(), spectrum_picture(), *ranks):
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
