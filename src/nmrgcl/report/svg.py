"""Matplotlib figures as accessible SVG that takes its colours from the page."""

import io
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nmrgcl import atomic
from nmrgcl.owned import require_signed

INK = "#1b1f24"
"""A placeholder for the text colour of the page, light or dark."""

SIGNATURE = "written by nmrgcl"
"""Part of every picture that we save, so that we never replace a file by someone else."""

PALETTE = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""The colour-blind safe palette of Okabe & Ito; the style sheet has lighter variants for dark mode."""
TRAINED, UNTRAINED = PALETTE[:2]

STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "nmrgcl",  # Makes the output reproducible.
    "text.parse_math": False,  # A class name may contain dollar signs.
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
}


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure with its texts: ``description`` is for readers who cannot see it, ``caption`` is for everyone.

    ``points`` holds the index and the name of each marker of a scatter plot, by the gid of the plot.
    """

    key: str
    title: str
    description: str
    caption: str
    figure: Figure
    points: Mapping[str, Sequence[tuple[int, str]]] = field(default_factory=dict)

    @property
    def svg(self) -> Markup:
        """An ``<svg>`` element for a page; its ids start with the key, so that a page can contain several."""
        text = self._text
        text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
        for gid, points in self.points.items():
            text = _with_names(text, gid, points)
        # Matplotlib numbers ids alike in every figure, and a page has several.
        text = re.sub(r'\bid="', f'id="{self.key}-', text)
        text = text.replace("url(#", f"url(#{self.key}-").replace('href="#', f'href="#{self.key}-')
        # Colours follow the page, which may be dark.
        text = text.replace(INK, "currentColor")
        for number, colour in enumerate(PALETTE):
            text = text.replace(colour.lower(), f"var(--colour-{number})")
        head, _, body = text.partition(">")
        # Without a size of its own, a figure takes the width that the page gives it.
        head = re.sub(r' (width|height)="[^"]*"', "", head)
        words = (f"<title>{escape(self.title)}</title>", f"<desc>{escape(self.description)}</desc>")
        label = escape(f"{self.title}. {self.description}")
        return Markup(f'{head} role="img" aria-label="{label}">{"".join(words)}{body}')

    @property
    def width(self) -> float:
        """The width in inches."""
        return float(self.figure.get_figwidth())

    @property
    def file(self) -> str:
        """A standalone SVG file on a white background, with title and description."""
        words = f"<title>{escape(self.title)}</title><desc>{escape(self.description)}</desc>"
        start = self._text.index(">", self._text.index("<svg")) + 1
        ground = '<rect width="100%" height="100%" fill="#ffffff"/>'
        return f"{self._text[:start]}{words}{ground}{self._text[start:]}"

    @cached_property
    def _text(self) -> str:
        """The SVG text; cached, because drawing a figure again may change the last digits of its layout."""
        buffer = io.StringIO()
        with rc_context(STYLE), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing")  # text stays text, and the reader has other fonts
            self.figure.savefig(buffer, format="svg", metadata={"Date": None})
        return buffer.getvalue()

    def require_place(self, folder: Path) -> None:
        """Refuse to replace files of the same names that ``save`` did not write."""
        for suffix in ("svg", "pdf"):
            require_signed(folder / f"{self.key}.{suffix}", SIGNATURE.encode())

    def save(self, folder: Path) -> None:
        """Save the figure as standalone SVG and PDF files."""
        start = self._text.index("<svg")
        text = f"{self._text[:start]}<!-- {SIGNATURE} -->\n{self._text[start:]}"
        atomic.write_text(folder / f"{self.key}.svg", text)
        write_figure(self.figure, folder / f"{self.key}.pdf", metadata={"Creator": SIGNATURE, "CreationDate": None})


def _with_names(text: str, gid: str, points: Sequence[tuple[int, str]]) -> str:
    """Add a title, which browsers show on hover, and an index to each marker of a scatter plot."""
    start = text.find(f'<g id="{gid}">')
    if start < 0:  # The scatter plot has no markers.
        return text
    end = text.index("</g>", start)
    names = iter(points)

    def named(mark: re.Match[str]) -> str:
        number, words = next(names)
        return f'{mark[1]} data-row="{number}"><title>{escape(words)}</title></use>'

    return text[:start] + re.sub(r"(<use [^>]*?)/>", named, text[start:end]) + text[end:]


def write_figure(figure: Figure, path: Path, **options: Any) -> None:
    """Write a figure atomically, in the format given by the suffix."""
    with rc_context(STYLE), atomic.new_file(path) as file:
        figure.savefig(file, format=path.suffix[1:], **options)


def grid_lines(axes: Axes) -> None:
    """Add faint grid lines in the text colour of the page."""
    axes.grid(color=INK, alpha=0.15, linewidth=0.6)


def new_figure(width: float = 4.0, height: float = 2.7, columns: int = 1, rows: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure with a transparent background and its axes, row by row; use it inside ``rc_context(STYLE)``."""
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_alpha(0)
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes in grid:
        axes.patch.set_alpha(0)
    return figure, list(grid)
