"""A table of texts, and its output as Markdown and LaTeX."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nmrgcl.report.page import Bold

MISSING = "–"
"""The text of a cell without a value."""
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


@dataclass(frozen=True)
class Grid:
    """A table of texts, some of them ``Bold``; the first ``names`` columns hold the names of rows.

    Whenever the group of a row differs from that of the row before, it is shown as a heading.
    """

    key: str
    title: str
    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    groups: Sequence[str] = ()
    names: int = 1

    def grouped(self) -> Iterator[tuple[str, Sequence[str]]]:
        """Each row with the heading before it, or an empty text."""
        last = ""
        for group, cells in zip(self.groups or [""] * len(self.rows), self.rows, strict=True):
            yield (group if group != last else ""), cells
            last = group


def as_markdown(grid: Grid) -> str:
    """A heading, the table, and its caption below."""
    return f"## {grid.title}\n\n{markdown_table(grid)}\n\n{grid.caption}\n"


def markdown_table(grid: Grid) -> str:
    """The table without heading and caption."""
    rules = ["---"] * grid.names + ["---:"] * (len(grid.head) - grid.names)
    rows = [_pipes(map(_plain, grid.head)), _pipes(rules)]
    for group, cells in grid.grouped():
        if group:
            rows.append(_pipes([f"*{_plain(group)}*", *[""] * (len(cells) - 1)]))
        rows.append(_pipes(f"**{_plain(text)}**" if isinstance(text, Bold) else _plain(text) for text in cells))
    return "\n".join(rows)


def as_latex(grid: Grid, *, label: str) -> str:
    """A LaTeX ``table`` with booktabs rules."""
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
    """``text`` with LaTeX's special characters escaped."""
    # In one pass, because replacements contain characters that are replaced themselves.
    return re.sub("|".join(map(re.escape, _LATEX)), lambda found: _LATEX[found[0]], text)


def _plain(text: str) -> str:
    return text.replace("|", "\\|")


def _pipes(cells: Sequence[str] | Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |"
