"""Matplotlib figures as SVG that takes its ink from the page and tells a reader of the text what it shows."""

import io
import re
from dataclasses import dataclass
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
"""Stands for the colour of the text around a figure, light or dark."""

SIGNATURE = "written by nmrgcl"
"""In every picture that is saved under a name of ours, so that no other is ever replaced."""

PALETTE = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe & Ito's colours, told apart by the colour-blind, without the two that vanish on white or black."""

STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "nmrgcl",  # the same figure has the same text
    "text.parse_math": False,  # a dollar in a class name is a dollar
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
}


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure with its words: ``description`` is for those who cannot see it, ``caption`` for all."""

    key: str
    title: str
    description: str
    caption: str
    figure: Figure

    @property
    def svg(self) -> Markup:
        """An ``<svg>`` element to be put into a page; its ids start with the key, so that several fit into one page."""
        text = self._text
        text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
        text = re.sub(r'\bid="', f'id="{self.key}-', text)
        text = text.replace("url(#", f"url(#{self.key}-").replace('href="#', f'href="#{self.key}-')
        text = text.replace(INK, "currentColor")
        head, _, body = text.partition(">")
        head = re.sub(r' (width|height)="[^"]*"', "", head)
        words = (f"<title>{escape(self.title)}</title>", f"<desc>{escape(self.description)}</desc>")
        label = escape(f"{self.title}. {self.description}")
        return Markup(f'{head} role="img" aria-label="{label}">{"".join(words)}{body}')

    @property
    def width(self) -> float:
        """In inches."""
        return float(self.figure.get_figwidth())

    @property
    def file(self) -> str:
        """The text of an SVG file on its own, on white, with its words."""
        words = f"<title>{escape(self.title)}</title><desc>{escape(self.description)}</desc>"
        start = self._text.index(">", self._text.index("<svg")) + 1
        ground = '<rect width="100%" height="100%" fill="#ffffff"/>'
        return f"{self._text[:start]}{words}{ground}{self._text[start:]}"

    @cached_property
    def _text(self) -> str:
        """Drawn once: the layout of a figure that is drawn again may differ in its last digits."""
        buffer = io.StringIO()
        with rc_context(STYLE):
            self.figure.savefig(buffer, format="svg", metadata={"Date": None})
        return buffer.getvalue()

    def require_place(self, folder: Path) -> None:
        """Refuse to replace files of these names that ``save`` did not write."""
        for suffix in ("svg", "pdf"):
            require_signed(folder / f"{self.key}.{suffix}", SIGNATURE.encode())

    def save(self, folder: Path) -> None:
        """As SVG and PDF files on their own."""
        start = self._text.index("<svg")
        text = f"{self._text[:start]}<!-- {SIGNATURE} -->\n{self._text[start:]}"
        atomic.write_text(folder / f"{self.key}.svg", text)
        write_figure(self.figure, folder / f"{self.key}.pdf", metadata={"Creator": SIGNATURE, "CreationDate": None})


def write_figure(figure: Figure, path: Path, **options: Any) -> None:
    """Write a figure in the format of the ending; the file appears complete or not at all."""
    with rc_context(STYLE), atomic.new_file(path) as file:
        figure.savefig(file, format=path.suffix[1:], **options)


def grid_lines(axes: Axes) -> None:
    """Faint ones, in the ink of the page."""
    axes.grid(color=INK, alpha=0.15, linewidth=0.6)


def new_figure(width: float = 4.0, height: float = 2.7, columns: int = 1) -> tuple[Figure, list[Axes]]:
    """Axes side by side on a clear ground; to be called, and drawn on, inside ``rc_context(STYLE)``."""
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_alpha(0)
    grid = figure.subplots(1, columns, squeeze=False)[0]
    for axes in grid:
        axes.patch.set_alpha(0)
    return figure, list(grid)
