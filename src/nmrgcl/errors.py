"""What users are told when their input cannot be used: one line that names the place and the remedy."""

import multiprocessing
import warnings
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class UserError(Exception):
    """Something the user can mend; its text is the whole message and the command exits with code 2."""


class DataError(UserError):
    """A dataset that is missing, malformed, or does not fit what it is used for."""


class SettingError(UserError):
    """A setting, method or view that does not exist or has an impossible value."""


class NonFiniteError(SettingError):
    """A loss or gradient that is not a number; the weights are as they were before it.

    Attributes:
        where: epoch, batch and the numbers of the batch's graphs.
    """

    def __init__(self, message: str, **where: Any) -> None:
        super().__init__(message)
        self.where = where


class ModelError(UserError):
    """A model or run folder that is missing, damaged, or does not fit the data."""


def printable(text: str, keep: str = "") -> str:
    """The text with escapes in place of line breaks, control characters and broken Unicode, but for those in ``keep``.

    File names and labels come from anywhere: a message that quotes them stays one line that no terminal obeys.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else ascii(c)[1:-1] for c in text)


def nearest(name: str, known: Iterable[str]) -> str:
    """End of a sentence about an unknown ``name``: the closest of ``known``, else all of them."""
    names = sorted(known)
    lowered = {n.lower(): n for n in names}
    close = [lowered[m] for m in get_close_matches(name.lower(), lowered, n=3, cutoff=0.55)]
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known: {', '.join(names)}"


class DataWarning(UserWarning):
    """What was changed in, or left out of, the graphs that a user has given; its text is one line."""


def say(text: str) -> None:
    """Warn once of what a user should know about the data; workers leave it to the process that started them."""
    if multiprocessing.current_process().name == "MainProcess":
        warnings.warn(text, DataWarning, stacklevel=3)
