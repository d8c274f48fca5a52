"""Errors about user input: one line with the place and the remedy."""

import multiprocessing
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any


class UserError(Exception):
    """An error that the user can fix; commands print its text and exit with code 2.

    Example:
        >>> from nmrgcl import UserError, load
        >>> try:
        ...     load("graphs.jsonl")
        ... except UserError as error:
        ...     print(error)
        graphs.jsonl: no such file or folder
    """


class DataError(UserError):
    """A dataset is missing, malformed, or unsuitable."""


class SettingError(UserError):
    """A setting, method or view does not exist or has an invalid value."""


class NonFiniteError(SettingError):
    """A loss or gradient is not finite; the weights were not changed by it.

    Attributes:
        where: epoch, batch and the indices of its graphs.
    """

    def __init__(self, message: str, **where: Any) -> None:
        super().__init__(message)
        self.where = where


class ModelError(UserError):
    """A model or run folder is missing, damaged, or does not match the data."""


@contextmanager
def writing(place: object) -> Iterator[None]:
    """Refuse ``place`` by a SettingError if the block cannot write there."""
    try:
        yield
    except OSError as error:
        raise SettingError(f"{place}: cannot be written ({error.strerror})") from None


def printable(text: str, keep: str = "") -> str:
    """Escape line breaks, control characters and invalid Unicode, except for those in ``keep``.

    File names and labels are untrusted; a message that quotes them must stay on one line and be safe in a terminal.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else ascii(c)[1:-1] for c in text)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown ``name``: the closest of ``known``, else all of them."""
    names = sorted(known)
    lowered = {n.lower(): n for n in names}
    close = [lowered[m] for m in get_close_matches(name.lower(), lowered, n=3, cutoff=0.55)]
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known: {', '.join(names)}"


class DataWarning(UserWarning):
    """A warning, in one line, about what was changed in or left out of a user's graphs."""


def say(text: str) -> None:
    """Issue a DataWarning; worker processes leave it to the main process."""
    if multiprocessing.current_process().name == "MainProcess":
        warnings.warn(text, DataWarning, stacklevel=3)
