"""What users call their graphs and nodes: ids travel with them as text, and take no part in training."""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from nmrgcl.data.texts import Texts
from nmrgcl.errors import printable

LONGEST = 1000
"""Characters of an id; longer ones are cut, because an array of texts is as wide as its longest."""
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")


def as_ids(values: Iterable[object]) -> Texts:
    """The ids as text in one line each."""
    return Texts.of(_text(value) for value in values)


def distinct_ids(values: Sequence[object]) -> Texts | None:
    """Names that were not given to tell things apart: ids if each has one and no two are the same, else None."""
    texts = ["" if value is None else _text(value) for value in values]
    return Texts.of(texts) if "" not in texts and len(set(texts)) == len(texts) else None


def id_array(ids: Sequence[str] | None, count: int) -> np.ndarray:
    """``[count]`` ids as files of embeddings hold them: whole numbers if all are, else text; 0, 1, … without any."""
    if ids is None:
        return np.arange(count)
    texts = list(ids)
    if texts and all(map(_WHOLE.fullmatch, texts)):
        return np.array(texts).astype(np.int64)
    return np.array(texts, dtype=np.str_)


def _text(value: object) -> str:
    text = printable(str(value))
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
