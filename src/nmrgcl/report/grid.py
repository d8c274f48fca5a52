"""A table of texts, and the same in Markdown and LaTeX."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Text:
    """What stands in a place of a grid."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class Line:
    """A row; where ``group`` is another than in the row before, it becomes a heading."""

    cells: tuple[Text, ...]
    group: str = ""


@dataclass(frozen=True)
class Grid:
    """A table; the first ``names`` columns say what a row is, the others hold figures."""

    key: str
    title: str
    caption: str
    head: tuple[str, ...]
    lines: tuple[Line, ...]
    names: int = 1

    def grouped(self) -> Iterator[tuple[str, Line]]:
        """Lines with the heading that comes before each, or nothing."""
        last = ""
        for line in self.lines:
            yield (line.group if line.group != last else ""), line
            last = line.group


def as_markdown(grid: Grid) -> str:
    """A heading, the table, and its caption below."""
    return f"## {grid.title}\n\n{markdown_table(grid)}\n\n{grid.caption}\n"


def markdown_table(grid: Grid) -> str:
    """The table alone."""
    rules = ["---"] * grid.names + ["---:"] * (len(grid.head) - grid.names)
    rows = [_pipes([_plain(word) for word in grid.head]), _pipes(rules)]
    for group, line in grid.grouped():
        if group:
            rows.append(_pipes([f"*{_plain(group)}*", *[""] * (len(grid.head) - 1)]))
        rows.append(_pipes([f"**{_plain(c.text)}**" if c.bold else _plain(c.text) for c in line.cells]))
    return "\n".join(rows)


def as_latex(grid: Grid, *, label: str) -> str:
    """A ``table`` with rules of booktabs."""
    columns = "l" * grid.names + "r" * (len(grid.head) - grid.names)
    body: list[str] = []
    for group, line in grid.grouped():
        if group:
            rule = [r"\midrule"] if body else []
            body += [*rule, rf"\multicolumn{{{len(grid.head)}}}{{l}}{{\emph{{{escape_latex(group)}}}}} \\"]
        cells = [escape_latex(c.text) for c in line.cells]
        bold = [rf"\textbf{{{text}}}" if c.bold else text for text, c in zip(cells, line.cells, strict=True)]
        body.append(" & ".join(bold) + r" \\")
    lines = [
        *(r"\begin{table}", r"\centering"),
        rf"\caption{{{escape_latex(f'{grid.title}. {grid.caption}')}}}",
        rf"\label{{tab:{label}-{grid.key}}}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        " & ".join(escape_latex(word) for word in grid.head) + r" \\",
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


def _pipes(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
