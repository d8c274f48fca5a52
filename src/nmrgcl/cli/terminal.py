"""Standard output and error for commands: always open, safe in any encoding, and free of control characters."""

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

from nmrgcl.errors import UserError, printable

if TYPE_CHECKING:
    from rich.console import Console

LONGEST = 2000
"""Largest number of characters of an error message, which may quote a key or number of a million."""

WIDEST = 120
"""Largest number of columns; longer lines are hard to read."""
TOGETHER = "\xa0"
"""A non-breaking space."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_PLAIN = str.maketrans({"±": "+/-", "×": "x", "…": "...", "–": "-", "−": "-"})


class Printable:
    """A stream that escapes control characters, and replaces by ASCII what its encoding lacks.

    File and dataset names are untrusted, and a terminal would interpret escape sequences in them. Rich writes to the
    underlying stream, because its colours and bars are such sequences.
    """

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        """Write ``text`` without control characters."""
        text = printable(text, keep="\n\t")
        try:
            text.encode(self.rich_proxied_file.encoding or "utf-8")
        except UnicodeEncodeError:
            text = text.translate(_PLAIN)
        return self.rich_proxied_file.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each line as ``write`` does."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


@contextmanager
def safe_streams() -> Iterator[None]:
    """Make standard output and error ``Printable`` inside the block; a closed one discards its output."""
    before = sys.stdout, sys.stderr
    if None in before:
        _occupy_descriptors()
    sys.stdout, sys.stderr = (_safe(stream) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def bar_console() -> "Console":
    """Return a Rich console for standard error, which Rich would otherwise replace while it draws."""
    from rich.console import Console

    return Console(file=sys.stderr)


def hanging(start: str, text: str) -> str:
    """Append ``text`` to ``start``, wrapped to the terminal, with continuation lines indented below its first word."""
    lines = textwrap.wrap(text, _room(start), break_long_words=False, break_on_hyphens=False) or [""]
    return f"\n{' ' * len(start)}".join([start + lines[0], *lines[1:]]).replace(TOGETHER, " ").rstrip()


def on_one_line(start: str, text: str) -> str:
    """Append ``text`` to ``start``, shortened to the width of the terminal."""
    return (start + textwrap.shorten(text, _room(start), placeholder=" …")).rstrip()


def _room(start: str) -> int:
    return max(min(shutil.get_terminal_size((100, 24)).columns, WIDEST) - len(start), 30)


def tell(text: str) -> None:
    """Print one line to standard error; if even that fails, only the exit code tells of the error."""
    line = printable(text)
    with suppress(OSError):
        print(line if len(line) <= LONGEST else f"{line[:LONGEST]} …", file=sys.stderr, flush=True)
        return
    silence(sys.stderr)


def note(line: str) -> None:
    """Print a line about the progress of a command to standard error, at once."""
    print(line, file=sys.stderr, flush=True)


def silence(stream: TextIO) -> None:
    """Discard buffered output, so that Python does not fail again when it flushes at exit."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def require_plain(arguments: Iterable[str]) -> None:
    """Refuse arguments with control characters, which libraries would print unescaped."""
    for argument in arguments:
        if _CONTROL.search(argument):
            raise UserError(f"{argument}: contains control characters; rename the file, or remove them")


def _safe(stream: TextIO | None) -> TextIO:
    if stream is None:
        stream = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    with suppress(AttributeError, OSError, ValueError):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]
    return cast(TextIO, Printable(stream))


def _occupy_descriptors() -> None:
    """Open descriptors 0 to 2, so that no later file gets one of them and receives messages of libraries."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
