"""A page with the history of every committed cost, from the versions of benchmarks/results in git.

python benchmarks/history.py [--out build/benchmarks.html]
"""

from collections import defaultdict
from pathlib import Path

from matplotlib.ticker import MaxNLocator

from bench.committed import history
from bench.script import script_parser
from nmrgcl.report.page import build_page, figure, paragraph, section, side_by_side, write_texts
from nmrgcl.report.svg import PALETTE, Picture, grid_lines, new_figure

Points = list[tuple[str, float, float]]
"""Commit and date, value, and spread."""


def page() -> str:
    """One picture for each cost, file by file."""
    files: dict[str, dict[str, Points]] = defaultdict(lambda: defaultdict(list))
    for file, commit, date, costs in history():
        for name, (value, spread) in costs.items():
            files[file][name].append((f"{date[5:]} {commit}", value, spread))
    sections = [
        section(
            file,
            file,
            side_by_side(
                figure(_picture(f"{file}-{n}", name, points)) for n, (name, points) in enumerate(named.items())
            ),
        )
        for file, named in sorted(files.items())
    ]
    words = "Each point is a committed measurement with its spread; the time or memory it took, so lower is better."
    return build_page("Benchmarks over time", [paragraph(words)], sections)


def _picture(key: str, name: str, points: Points) -> Picture:
    drawn, (axes,) = new_figure(3.4, 1.7)
    labels, values, spreads = zip(*points, strict=True)
    axes.errorbar(
        range(len(values)), values, [spread / 2 for spread in spreads], marker="o", color=PALETTE[1], capsize=2
    )
    axes.set_xticks(range(len(labels)), labels, rotation=20, ha="right", fontsize=6)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.set_ylim(bottom=0)
    grid_lines(axes)
    words = f"{values[-1]:.4g} now, {values[0]:.4g} in the first of {len(values)} versions"
    return Picture(key, name, f"{name}: {words}", words, drawn)


def main() -> None:
    """Write the page."""
    parser = script_parser(__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/benchmarks.html"))
    out = parser.parse_args().out
    out.parent.mkdir(parents=True, exist_ok=True)
    write_texts({out: page()})
    print(out)


if __name__ == "__main__":
    main()
