"""Ids: the user's names for graphs and nodes, kept as text next to the data and never used in training."""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from nmrgcl.data.texts import Texts
from nmrgcl.errors import printable

LONGEST = 1000
"""Longer ids are truncated, because a NumPy array of text is as wide as its longest element."""
# Without leading zeros, which a number would lose, and short enough for 64 bits.
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")


def as_ids(values: Iterable[object]) -> Texts:
    """Return the ids as text without line breaks."""
    return Texts.of(_text(value) for value in values)


def distinct_ids(values: Sequence[object]) -> Texts | None:
    """Return names as ids if every item has one and they are distinct, else None."""
    texts = ["" if value is None else _text(value) for value in values]
    return Texts.of(texts) if "" not in texts and len(set(texts)) == len(texts) else None


def id_array(ids: Sequence[str] | None, count: int) -> np.ndarray:
    """Return ids for a file of embeddings: integers if all of them are, else text; without ids, 0, 1, …."""
    if ids is None:
        return np.arange(count)
    texts = list(ids)
    if texts and all(map(_WHOLE.fullmatch, texts)):
        return np.array(texts).astype(np.int64)
    return np.array(texts, dtype=np.str_)


def _text(value: object) -> str:
    text = printable(str(value))
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
