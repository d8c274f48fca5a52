"""What became of one cell, as plain values that prove themselves."""

import json
import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

from nmrgcl.checksums import checksum_of
from nmrgcl.errors import DataError, UserError
from nmrgcl.run.cell import KEY, Run, content_key

FORMAT, VERSION = "nmrgcl-result", 2
MAX_BYTES = 2**24
"""Of one result; a thousand epochs of a hundred folds need less."""

_TABLES = ("scores", "training", "data", "versions", "hardware", "times")


class OldError(DataError):
    """A result of an earlier version, whose key means nothing today; ``nmrgcl results migrate`` gives it another."""


class DamagedError(DataError):
    """A result that is not what was written; computing it again replaces it."""


@dataclass(frozen=True)
class Result:
    """Scores of a finished cell, or the error of a failed one; everything is ready for JSON.

    Attributes:
        key: of the cell.
        cell: what the key names of the cell.
        settings: all of them, as they were when it was computed.
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
    settings: dict[str, Any]
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
        names = ("dataset", "protocol", "selection", "split")
        return Run.from_dict({name: self.cell[name] for name in names} | {"settings": self.settings})

    @property
    def mean(self) -> float:
        """Over the folds, in percent."""
        return float(self.scores["mean"])

    def to_dict(self) -> dict[str, Any]:
        """What the file holds."""
        values = asdict(self)
        values = {"format": FORMAT, "version": VERSION, **values}
        return values | {"checksum": checksum_of(values)}

    def to_json(self) -> str:
        """One line."""
        return json.dumps(self.to_dict(), allow_nan=False)


def parse_result(text: str | bytes, source: str) -> Result:
    """The result that ``to_json`` wrote; DamagedError, or DataError where it is of a newer version."""
    try:
        values = json.loads(text, parse_constant=_refuse, parse_float=_finite)
        if values["format"] != FORMAT or not isinstance(values["version"], int):
            raise ValueError("not a result")
        if values["version"] > VERSION:
            raise DataError(f"{source}: written by a newer version (format {values['version']}); upgrade nmrgcl")
        if values["version"] < VERSION:
            raise OldError(f"{source}: written by an earlier version; nmrgcl results migrate brings it up to date")
        if values.pop("checksum") != checksum_of(values):
            raise ValueError("its checksum does not match")
        if not KEY.fullmatch(values["key"]) or values["key"] != content_key(values["cell"]):
            raise ValueError("its key is not that of its cell")
        result = Result(**{k: v for k, v in values.items() if k not in ("format", "version")})
        _check(result)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) and not isinstance(error, json.JSONDecodeError) else ""
        reason = f" ({reason.splitlines()[0]})" if reason else ""
        raise DamagedError(f"{source}: damaged{reason}") from None
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
        _ = result.run
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


def _finite(digits: str) -> float:
    return number if math.isfinite(number := float(digits)) else _refuse(digits)


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not a number")
