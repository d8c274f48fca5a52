"""A table of texts, and the same in Markdown and LaTeX."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from nmrgcl.report.page import Bold

MISSING = "–"
"""Stands where there is no figure."""
_LATEX = {
    "\\": r"\textbackslash{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "−": "$-$",
    "–": "--",
    "…": r"\ldots{}",
    "<": "$<$",
    ">": "$>$",
    "×": r"$\times$",
    "δ": r"$\delta$",
    "†": r"$\dagger$",
    "‡": r"$\ddagger$",
    "§": r"\S{}",
    "¶": r"\P{}",
}


@dataclass(frozen=True, eq=False)
class Grid:
    """A table: ``frame`` holds texts, ``Bold`` ones among them, and its index the group of each row.

    The first ``names`` columns say what a row is; the others hold figures.
    """

    key: str
    title: str
    caption: str
    frame: pd.DataFrame
    names: int = 1

    @property
    def head(self) -> list[str]:
        """What stands over the columns."""
        return list(self.frame.columns)

    def grouped(self) -> Iterator[tuple[str, list[str]]]:
        """Rows with the heading that comes before each, or nothing."""
        last = ""
        for group, *cells in self.frame.itertuples(name=None):
            yield (group if group != last else ""), cells
            last = group


def make_grid(
    key: str, title: str, caption: str, head: Sequence[str], rows: Sequence[Sequence[str]], groups: Sequence[str] = ()
) -> Grid:
    """The table of ``rows``, each under its group."""
    frame = pd.DataFrame(
        list(rows), groups or [""] * len(rows), head, dtype=object
    )  # texts would lose that they are bold
    return Grid(key, title, caption, frame)


def as_markdown(grid: Grid) -> str:
    """A heading, the table, and its caption below."""
    return f"## {grid.title}\n\n{markdown_table(grid)}\n\n{grid.caption}\n"


def markdown_table(grid: Grid) -> str:
    """The table alone."""
    rules = ["---"] * grid.names + ["---:"] * (len(grid.head) - grid.names)
    rows = [_pipes(map(_plain, grid.head)), _pipes(rules)]
    for group, cells in grid.grouped():
        if group:
            rows.append(_pipes([f"*{_plain(group)}*", *[""] * (len(cells) - 1)]))
        rows.append(_pipes(f"**{_plain(text)}**" if isinstance(text, Bold) else _plain(text) for text in cells))
    return "\n".join(rows)


def as_latex(grid: Grid, *, label: str) -> str:
    """A ``table`` with rules of booktabs."""
    body: list[str] = []
    for group, cells in grid.grouped():
        if group:
            rule = [r"\midrule"] if body else []
            body += [*rule, rf"\multicolumn{{{len(cells)}}}{{l}}{{\emph{{{escape_latex(group)}}}}} \\"]
        shown = (escape_latex(text) for text in cells)
        bold = (rf"\textbf{{{text}}}" if isinstance(c, Bold) else text for text, c in zip(shown, cells, strict=True))
        body.append(" & ".join(bold) + r" \\")
    lines = [
        *(r"\begin{table}", r"\centering"),
        rf"\caption{{{escape_latex(f'{grid.title}. {grid.caption}')}}}",
        rf"\label{{tab:{label}-{grid.key}}}",
        rf"\begin{{tabular}}{{{'l' * grid.names + 'r' * (len(grid.head) - grid.names)}}}",
        r"\toprule",
        " & ".join(map(escape_latex, grid.head)) + r" \\",
        r"\midrule",
        *body,
        *(r"\bottomrule", r"\end{tabular}", r"\end{table}"),
    ]
    return "\n".join(lines) + "\n"


def escape_latex(text: str) -> str:
    """``text`` as LaTeX prints it."""
    return re.sub("|".join(map(re.escape, _LATEX)), lambda found: _LATEX[found[0]], text)


def _plain(text: str) -> str:
    return text.replace("|", "\\|")


def _pipes(cells: Sequence[str] | Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |"
