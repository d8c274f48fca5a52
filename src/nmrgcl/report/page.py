"""Build self-contained HTML pages from a title, a summary and sections.

Pages with maps include a short script that shows the name of a marker at once; without it, browsers show the name after
a moment. Every function here returns markup in which all text from outside is escaped.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from markupsafe import Markup

from nmrgcl import atomic
from nmrgcl.errors import SettingError
from nmrgcl.report.svg import Picture

_PAGE = Markup(
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
{summary}
</header>
<main>
{sections}
</main>
{script}</body>
</html>
"""
)


POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
"""A content security policy under which a page cannot load anything from elsewhere."""

Tone = Literal["good", "bad", "open"]


class Bold(str):
    """The text of a table cell to be set in bold."""


def build_page(title: str, summary: Iterable[Markup], sections: Iterable[Markup], *, script: str = "") -> str:
    """The whole page with the common style; ``script`` is the name of a file in this package."""
    texts = {"title": title, "summary": _lines(summary), "sections": _lines(sections)}
    code = Markup("<script>\n{}</script>\n").format(_resource(script)) if script else ""
    made = _PAGE.format(**texts, style=_resource("style.css"), policy=Markup(POLICY), script=code)
    return made.encode(errors="backslashreplace").decode()  # File names need not be valid UTF-8.


def section(key: str, heading: str, *blocks: Markup) -> Markup:
    """Blocks under a heading; ``key`` is the anchor for links."""
    head = Markup('<section aria-labelledby="{0}">\n<h2 id="{0}">{1}</h2>').format(key, heading)
    return _lines([head, *blocks, Markup("</section>")])


def paragraph(words: object, kind: str = "") -> Markup:
    """A paragraph; ``kind`` is a CSS class such as faint, or card for a frame."""
    return Markup("<p{}>{}</p>").format(_class(kind), words)


def emphasised(words: str) -> Markup:
    """Emphasised text."""
    return Markup("<strong>{}</strong>").format(words)


def verdict(words: str, tone: Tone) -> Markup:
    """A verdict in the colour of its tone; the words alone are sufficient to understand it."""
    return Markup('<span class="verdict {}">{}</span>').format(tone, words)


def shaded(words: object, share: float) -> Markup:
    """The text of a table cell on a background that is darker for a larger share (0 … 1)."""
    return Markup('<span class="shaded" style="--share: {:.0f}%">{}</span>').format(100 * share, words)


def folded(heading: str, *blocks: Markup) -> Markup:
    """Blocks that are shown when their heading is clicked."""
    return Markup("<details><summary>{}</summary>{}</details>").format(heading, _lines(blocks))


def card(*blocks: Markup) -> Markup:
    """Blocks in a frame."""
    return Markup('<div class="card scroll">{}</div>').format(_lines(blocks))


def side_by_side(blocks: Iterable[Markup], kind: str = "grid") -> Markup:
    """Blocks in as many columns as there is room for."""
    return Markup("<div{}>\n{}\n</div>").format(_class(kind), _lines(blocks))


def number(name: str, value: str, note: str = "") -> Markup:
    """A number in large type."""
    words = Markup('<div class="faint">{}</div>').format(note) if note else ""
    return Markup('<div class="card"><div>{}</div><div class="number">{}</div>{}</div>').format(name, value, words)


def table(rows: Iterable[Sequence[object]], head: Sequence[str] = (), *, caption: str = "", kind: str = "") -> Markup:
    """A table; the first text of a row is its name, and a row with a single text is a heading for the next rows."""
    parts = [Markup("<caption>{}</caption>").format(caption)] if caption else []
    if head:
        names = Markup().join(Markup('<th scope="col">{}</th>').format(word) for word in head)
        parts.append(Markup("<thead><tr>{}</tr></thead>").format(names))
    body = _lines(_row(list(row), len(head)) for row in rows)
    return Markup("<table{}>\n{}\n<tbody>\n{}\n</tbody></table>").format(_class(kind), _lines(parts), body)


def facts(values: Mapping[str, object] | Iterable[tuple[str, object]], caption: str) -> Markup:
    """Names and values as a table in a frame."""
    return card(table(values.items() if isinstance(values, Mapping) else values, caption=caption))


def figure(picture: Picture, *, wide: bool = False) -> Markup:
    """A picture with its title and caption; a wide one keeps its original size."""
    sizes = f' style="--least: {5.6 * picture.width:.0f}rem; --most: {7 * picture.width:.0f}rem"' if wide else ""
    head = Markup('<figure class="{}"{}>').format("card scroll wide" if wide else "card", Markup(sizes))
    words = Markup("<h3>{}</h3>{}<figcaption>{}</figcaption></figure>")
    return head + words.format(picture.title, picture.svg, picture.caption)


def code(lines: Iterable[str]) -> Markup:
    """Commands or settings as preformatted text."""
    return Markup('<pre tabindex="0"><code>{}</code></pre>').format("\n".join(lines))


def require_writable(out: Path, figures: Path | None = None) -> None:
    """Refuse places that cannot be written to before minutes of computation are spent."""
    if out.is_dir():
        raise SettingError(f"{out}: is a folder; choose another --out")
    for folder in filter(None, (out.parent, figures)):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingError(f"{folder}: cannot be created ({error.strerror})") from None
        if not os.access(folder, os.W_OK):
            raise SettingError(f"{folder}: cannot be written to; choose another place")


def write_texts(texts: Mapping[Path, str]) -> None:
    """Write files, each of them atomically."""
    for path, text in texts.items():
        try:
            atomic.write_text(path, text)
        except OSError as error:
            raise SettingError(f"{error.filename or path}: cannot be written ({error.strerror})") from None


def _row(cells: list[object], width: int) -> Markup:
    if len(cells) == 1:
        heading = Markup('<tr><th scope="rowgroup" colspan="{}" class="group">{}</th></tr>')
        return heading.format(width, cells[0])
    shown = [emphasised(str(cell)) if isinstance(cell, Bold) else cell for cell in cells]
    rest = Markup().join(Markup("<td>{}</td>").format(cell) for cell in shown[1:])
    return Markup('<tr><th scope="row">{}</th>{}</tr>').format(shown[0], rest)


def _resource(name: str) -> Markup:
    return Markup(resources.files("nmrgcl.report").joinpath(name).read_text(encoding="utf-8"))


def _class(kind: str) -> Markup:
    return Markup(' class="{}"').format(kind) if kind else Markup("")


def _lines(blocks: Iterable[Any]) -> Markup:
    return Markup("\n").join(blocks)
