"""Results of cells, and the folder that holds them as one small file per cell, written atomically."""

import math
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from nmrgcl import atomic
from nmrgcl.errors import DataError, SettingError, UserError
from nmrgcl.owned import remove_empty, require_no_link
from nmrgcl.record import RecordError, RecordFormat
from nmrgcl.run.cell import KEY, Cell, content_key
from nmrgcl.train.checkpoint import remove_checkpoints

RESULT = RecordFormat("nmrgcl-result", 2, "a result", oldest=2, limit=2**24)
"""The limit leaves room for a thousand epochs of a hundred folds. Version 1 had other keys and was never released."""
_TABLES = ("scores", "training", "data", "versions", "hardware", "times")
_DONE = re.compile(rf"({KEY.pattern})\.json")
_FAILED = re.compile(rf"({KEY.pattern})\.failed\.json")


class DamagedError(DataError):
    """A damaged result; computing the cell again replaces it."""


@dataclass(frozen=True)
class Result:
    """The scores of a finished cell, or the error of a failed one, as values that can be written as JSON.

    Attributes:
        key: the key of the cell.
        named: the values that the key is computed from.
        settings: all settings at the time of computation.
        status: failed cells have an ``error`` (type, message) instead of scores.
        scores: accuracies or ROC-AUCs of the folds in percent and their mean; for numeric labels RMSEs, beside them
            ``mae``. If C was chosen inside the training folds, ``inner`` holds the accuracy on which each choice was
            based; results of earlier versions lack it.
        chosen: the epoch and the C that selection "paper" reports; None if nothing was chosen on test folds.
        training: number of epochs, final loss, and measures of the final embeddings (``measure_training``); results of
            earlier versions have the effective rank only.
        data: name, graphs, nodes, edges and SHA-256 of the data; ``start`` holds name, graphs and SHA-256 of the
            pre-training data, if it is another dataset.
        versions: software versions.
        hardware: the machine that computed it.
        times: seconds to load, train and evaluate, their total, and when it started; ``trained_by`` is the key of the
            cell that trained, if it was another one.
    """

    key: str
    named: dict[str, Any]
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
    def cell(self) -> Cell:
        """The cell that this is the result of."""
        names = ("dataset", "protocol", "selection", "split")
        # `named` has only what differed from the defaults of its time; `settings` is complete.
        given = {name: self.named[name] for name in (*names, "start") if name in names or name in self.named}
        return Cell.from_dict(given | {"settings": self.settings})

    @property
    def measure(self) -> str:
        """What the scores are; the goals of fine-tuning name the other metric that stands beside each."""
        beside = {"mae": "RMSE", "pr_auc": "ROC-AUC in %"}
        return next((words for name, words in beside.items() if name in self.scores), "accuracy in %")

    @property
    def mean(self) -> float:
        """The mean score over the folds."""
        return float(self.scores["mean"])

    def to_dict(self) -> dict[str, Any]:
        """The content of the file."""
        return RESULT.seal(asdict(self))

    def to_json(self) -> str:
        """One line of JSON."""
        return RESULT.to_text(asdict(self))


def parse_result(text: str | bytes, source: str) -> Result:
    """The result that ``to_json`` wrote; raises DamagedError, or DataError if it is of another version."""
    try:
        return _result(RESULT.parse(text))
    except RecordError as error:
        raise _refusal(error, source) from None


def read_result(path: Path) -> Result | None:
    """The result in a file; None if there is no file, DamagedError if it was changed."""
    try:
        values = RESULT.read(path)
        return None if values is None else _result(values)
    except RecordError as error:
        raise _refusal(error, path) from None


def _refusal(error: RecordError, source: Path | str) -> UserError:
    """A result that is unreadable or of another version is not damaged, so it must not be overwritten."""
    if error.problem in ("newer", "older", "unreadable"):
        return error.told(DataError, source, "remove it, or make it readable")
    return DamagedError(f"{source}: damaged, {error}")


def _result(values: dict[str, Any]) -> Result:
    try:
        # A checksum proves nothing about who wrote it, so the key must follow from the cell.
        if not KEY.fullmatch(values["key"]) or values["key"] != content_key(values["named"]):
            raise ValueError("its key is not that of its cell")
        result = Result(**values)
        _check(result)
    except (KeyError, TypeError, AttributeError, RecursionError):
        raise RESULT.mismatch from None
    except ValueError as error:
        raise RecordError("foreign", str(error).partition("\n")[0]) from None
    return result


def _check(result: Result) -> None:
    """Check the types that readers of a result rely on; raises ValueError."""
    for name in _TABLES:
        if not isinstance(getattr(result, name), dict):
            raise ValueError(f"{name} is not a table")
    for name in ("chosen", "error"):
        if not isinstance(getattr(result, name), dict | None):
            raise ValueError(f"{name} is not a table")
    if result.status not in ("done", "failed") or (result.status == "failed") != (result.error is not None):
        raise ValueError("its status is unknown")
    try:
        _ = result.cell
    except UserError as error:
        raise ValueError(str(error)) from None
    if result.status == "done":
        folds, mean = result.scores["folds"], result.scores["mean"]
        # Only scores of numeric labels, which are RMSEs in their unit, have the mean absolute error beside them.
        most, what = (sys.float_info.max, "errors") if result.measure == "RMSE" else (100, "percentages")
        for part in (folds, result.scores.get("inner", folds)):
            possible = all(isinstance(score, float) and 0 <= score <= most for score in part)
            if not folds or len(part) != len(folds) or not possible:
                raise ValueError(f"scores are not {what}, one per fold")
        if not isinstance(mean, float) or not math.isclose(mean, sum(folds) / len(folds), abs_tol=1e-9):
            raise ValueError("the mean is not the mean of the folds")
    elif not all(isinstance(part, str) for part in (result.error or {}).values()):
        raise ValueError("its error is not text")


def token_of(key: str) -> str:
    """The token in the names of unfinished files of a cell or a training."""
    return key[:16]


class Results:
    """A results folder: ``KEY.json`` for finished cells and ``KEY.failed.json`` for failed ones, which are retried.

    Checkpoints of cells under way are in ``.work/KEY``, locks in ``.locks``, and shared trainings in ``.trained``.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise SettingError(f"{self.folder}: is a file; choose another folder for results")

    def path(self, key: str, status: str = "done") -> Path:
        """The path of the result with this key, whether it exists or not."""
        if not KEY.fullmatch(key):
            raise SettingError(f"{key!r}: not the key of a cell; nmrgcl results list shows them")
        return self.folder / f"{key}{'' if status == 'done' else '.failed'}.json"

    def work(self, key: str) -> Path:
        """The folder for the checkpoints of a cell under way."""
        return self._hidden(".work") / self.path(key).stem

    def trained(self, training: str) -> Path:
        """The folder of a training that several cells share."""
        return self._hidden(".trained") / training

    @property
    def locks(self) -> Path:
        """The folder for the locks of cells under way."""
        return self._hidden(".locks")

    def remove_work(self, key: str) -> None:
        """Remove the checkpoints of a cell."""
        _remove(self.work(key), key)

    def remove_trained(self, training: str) -> None:
        """Remove the weights of a shared training."""
        _remove(self.trained(training), training)

    @contextmanager
    def staying(self) -> Iterator[None]:
        """Raise SettingError at the end of the block if the folder was deleted or replaced during it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)  # While open, its inode cannot be reused.
        try:
            yield
            if not self.folder.is_dir() or not os.path.samestat(os.fstat(descriptor), self.folder.stat()):
                raise SettingError(
                    f"{self.folder}: was deleted during the run, together with results; run the command again"
                )
        finally:
            os.close(descriptor)

    def require_no_links(self) -> None:
        """Refuse to compute cells if one of the hidden folders is a symbolic link."""
        for name in (".work", ".locks", ".trained"):
            self._hidden(name)

    def _hidden(self, name: str) -> Path:
        require_no_link(self.folder / name)
        return self.folder / name

    def get(self, key: str) -> Result | None:
        """The result of a finished cell; None if there is none, DamagedError if its file is damaged."""
        return self._read(key, "done")

    def finished(self, key: str) -> Result | None:
        """Like ``get``, but a damaged result is reported on standard error and counts as missing."""
        try:
            return self.get(key)
        except DamagedError as error:
            print(f"nmrgcl: {error}; computing it again", file=sys.stderr, flush=True)
            return None

    def put(self, result: Result) -> None:
        """Write the result of a finished or failed cell; a finished one replaces a failed one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.remove_strays(result.key)
        atomic.write_text(self.path(result.key, result.status), result.to_json() + "\n", token_of(result.key))
        if result.status == "done":
            self.path(result.key, "failed").unlink(missing_ok=True)

    def remove_strays(self, key: str) -> None:
        """Remove files that a killed process left unfinished; the caller must hold the lock of the cell."""
        atomic.remove_strays(self.folder, token_of(key))

    def keys(self) -> list[str]:
        """The keys of the finished cells."""
        return self.named("done")

    def all(self) -> tuple[list[Result], list[str]]:
        """The results of finished cells, and one line about each file that cannot be used."""
        return self._read_all(self.keys(), "done")

    def failed(self) -> list[Result]:
        """The results of cells that failed and have not been finished since."""
        finished = set(self.keys())
        return self._read_all([key for key in self.named("failed") if key not in finished], "failed")[0]

    def find(self, beginning: str) -> Result:
        """The result of the only cell, finished or failed, whose key begins with ``beginning``."""
        keys = {key for key in [*self.keys(), *self.named("failed")] if key.startswith(beginning)}
        if len(keys) != 1 or not beginning:
            found = f"{len(keys)} keys begin with this" if keys else "no key begins with this"
            raise SettingError(f"{self.folder}: {beginning!r}: {found}; nmrgcl results list shows them")
        key = keys.pop()
        result = self.get(key) or self._read(key, "failed")
        if result is None:
            raise SettingError(f"{self.folder}: {key} has just been removed")
        return result

    def named(self, status: str) -> list[str]:
        """The keys of all results with this status."""
        pattern = _DONE if status == "done" else _FAILED
        if not self.folder.is_dir():
            return []
        return sorted(match[1] for path in self.folder.iterdir() if (match := pattern.fullmatch(path.name)))

    def _read(self, key: str, status: str) -> Result | None:
        path = self.path(key, status)
        result = read_result(path)
        if result is not None and (result.key, result.status) != (key, status):
            raise DamagedError(f"{path}: damaged, it holds the result of another cell")
        return result

    def _read_all(self, keys: list[str], status: str) -> tuple[list[Result], list[str]]:
        found, problems = [], []
        for key in keys:
            try:
                result = self._read(key, status)
            except DataError as error:
                problems.append(str(error))
            else:
                found += [result] if result else []
        return found, problems


def _remove(folder: Path, key: str) -> None:
    """Remove the checkpoints below ``folder``, which has a folder for each version of the data, and empty folders."""
    for part in folder.iterdir() if folder.is_dir() and not folder.is_symlink() else ():
        remove_checkpoints(part, token_of(key))
    remove_empty(folder)
