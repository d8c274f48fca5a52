"""What became of one cell, as plain values that prove themselves."""

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from nmrgcl.errors import DataError, UserError
from nmrgcl.record import RecordError, RecordFormat
from nmrgcl.run.cell import KEY, Run, content_key

RESULT = RecordFormat("nmrgcl-result", 1, "a result", limit=2**24)
"""A thousand epochs of a hundred folds need less than its limit."""

_TABLES = ("scores", "training", "data", "versions", "hardware", "times")


class DamagedError(DataError):
    """A result that is not what was written; computing it again replaces it."""


@dataclass(frozen=True)
class Result:
    """Scores of a finished cell, or the error of a failed one; everything is ready for JSON.

    Attributes:
        key: of the cell.
        cell: the cell's plain values, as they were when it was computed.
        status: failed cells have an ``error`` (type, message) instead of scores.
        scores: folds (accuracies in percent) and their mean; ``inner``, where C was chosen inside the training folds:
            for each of them the accuracy by which it was chosen. Results of earlier versions do not have it.
        chosen: the epoch and the C that selection "paper" reports; None where nothing was chosen by evaluated folds.
        training: epochs, last loss, effective rank of the last embeddings.
        data: name, graphs, nodes, edges, and SHA-256 of what training saw.
        versions: of the software.
        hardware: that computed it.
        times: seconds to load, train and judge, in all, and when it began; ``trained_by`` is the key of the cell that
            spent the time to train, where it was another.
    """

    key: str
    cell: dict[str, Any]
    status: Literal["done", "failed"]
    scores: dict[str, Any]
    chosen: dict[str, Any] | None
    training: dict[str, Any]
    data: dict[str, Any]
    versions: dict[str, Any]
    hardware: dict[str, Any]
    times: dict[str, Any]
    error: dict[str, str] | None = None

    @property
    def run(self) -> Run:
        """The cell as a value of this version."""
        return Run.from_dict(self.cell)

    @property
    def mean(self) -> float:
        """Over the folds, in percent."""
        return float(self.scores["mean"])

    def to_dict(self) -> dict[str, Any]:
        """What the file holds."""
        return RESULT.seal(self._values())

    def to_json(self) -> str:
        """One line."""
        return RESULT.to_text(self._values())

    def _values(self) -> dict[str, Any]:
        values = asdict(self)
        return {"key": values.pop("key"), "run": values.pop("cell"), **values}


def parse_result(text: str | bytes, source: str) -> Result:
    """The result that ``to_json`` wrote; DamagedError, or DataError where it is of a newer version."""
    try:
        return _result(RESULT.parse(text))
    except RecordError as error:
        raise _refusal(error, source) from None


def read_result(path: Path) -> Result | None:
    """The result in a file; None where there is none, DamagedError where it is not what was written."""
    try:
        values = RESULT.read(path)
        return None if values is None else _result(values)
    except RecordError as error:
        raise _refusal(error, path) from None


def _refusal(error: RecordError, source: Path | str) -> UserError:
    """A result that cannot be read now, or only by a newer version, is not damaged: it must not be replaced."""
    if error.problem in ("newer", "unreadable"):
        return error.told(DataError, source, "remove it, or make it readable")
    return DamagedError(f"{source}: damaged, {error}")


def _result(values: dict[str, Any]) -> Result:
    try:
        if not KEY.fullmatch(values["key"]) or values["key"] != content_key(values["run"]):
            raise ValueError("its key is not that of its run")
        result = Result(cell=values.pop("run"), **values)
        _check(result)
    except (KeyError, TypeError, AttributeError, RecursionError):
        raise RESULT.mismatch from None
    except ValueError as error:
        raise RecordError("foreign", str(error).partition("\n")[0]) from None
    return result


def _check(result: Result) -> None:
    """Every part is of the kind that its readers expect."""
    for name in _TABLES:
        if not isinstance(getattr(result, name), dict):
            raise ValueError(f"{name} is not a table")
    for name in ("chosen", "error"):
        if not isinstance(getattr(result, name), dict | None):
            raise ValueError(f"{name} is not a table")
    if result.status not in ("done", "failed") or (result.status == "failed") != (result.error is not None):
        raise ValueError("its status is unknown")
    try:
        Run.from_dict(result.cell)
    except UserError as error:
        raise ValueError(str(error)) from None
    if result.status == "done":
        folds, mean = result.scores["folds"], result.scores["mean"]
        for part in (folds, result.scores.get("inner", folds)):
            percentages = all(isinstance(score, float) and 0 <= score <= 100 for score in part)
            if not folds or len(part) != len(folds) or not percentages:
                raise ValueError("scores are percentages, one a fold")
        if not isinstance(mean, float) or not math.isclose(mean, sum(folds) / len(folds), abs_tol=1e-9):
            raise ValueError("the mean is not that of the folds")
    elif not all(isinstance(part, str) for part in (result.error or {}).values()):
        raise ValueError("its error is no text")
