"""Write README's tables of results from ``results/``: ``make readme``.

python docs/render_readme.py           # write README.md
python docs/render_readme.py --check   # say whether it would differ

A block is what stands between ``<!-- make readme: NAME -->`` and ``<!-- end of NAME -->``.
"""

import json
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from nmrgcl.errors import DataError
from nmrgcl.report.grid import Grid, Line, Text, markdown_table
from nmrgcl.reproduce import find_item
from nmrgcl.reproduce.compact import read_compact

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"(<!-- make readme: (\w+) -->\n)(.*?)(<!-- end of \2 -->)", re.DOTALL)
PRESETS, DATASETS = ("graphcl", "strong"), ("NCI1", "PROTEINS", "IMDB-BINARY")
"""The order of rows; others follow."""


def rendered(text: str, results: Path) -> str:
    """``text`` with every block written anew."""

    def block(found: re.Match[str]) -> str:
        name = found[2]
        body = core_table(results / "core") if name == "core" else paper_table(name, results / f"{name}.json")
        return f"{found[1]}{body}{found[4]}"

    return BLOCK.sub(block, text)


def core_table(folder: Path) -> str:
    """A row for each file that ``evaluate --json`` printed."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    head = ("dataset", "features", "preset", "hardware", "nmrGCL", "untrained")
    lines = [Line(tuple(map(Text, _core_cells(one)))) for one in sorted(found, key=_core_order)]
    grid = Grid("core", "", "", head, tuple(lines), names=len(head))
    return markdown_table(grid).replace("| --- " * len(head) + "|", "|---" * len(head) + "|") + "\n"


def paper_table(name: str, file: Path) -> str:
    """A table of the paper beside what it prints, and the verdicts on its claims; nothing where it is not computed."""
    if not file.exists():
        return ""
    item = find_item(name)
    plan, rows = read_compact(file, item)
    if plan.quick:
        raise DataError(f"{file}: a quick version; README shows the whole table")
    scores = item.scores(plan, rows)
    grid: Grid | None = import_module(f"nmrgcl.reproduce.{name}").DESIGN.short(plan, scores)
    if grid is None:
        return ""
    verdicts = [f"- **{one.outcome}**: {one.claim} ({one.sentence})" for one in item.judge(scores)]
    words = f"{item.title}; {grid.caption} {scores.extent}; computed on {', '.join(scores.devices)}."
    return f"{words}\n\n{markdown_table(grid)}\n\n" + "\n".join(verdicts) + "\n"


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
    """Write README.md, or say whether it would differ."""
    path = ROOT / "README.md"
    old = path.read_text(encoding="utf-8")
    new = rendered(old, ROOT / "results")
    if "--check" in sys.argv[1:]:
        sys.exit(0 if new == old else "README.md differs from results/; run make readme")
    path.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
