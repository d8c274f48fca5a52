"""Embeddings as files, and files as embeddings."""

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from nmrgcl import atomic
from nmrgcl.data.formats.arrays import read_arrays
from nmrgcl.errors import DataError, SettingError


@dataclass(frozen=True, eq=False)
class Embeddings:
    """One row a graph or node, in the dataset's order: ``z`` ``[B, D]``, ``y`` ``[B]`` or None, ``id`` ``[B]`` from 0.

    A missing label is NaN among numbers, and empty among texts.
    """

    z: np.ndarray
    y: np.ndarray | None
    id: np.ndarray

    @property
    def labelled(self) -> np.ndarray:
        """``[B]`` which rows have a label."""
        if self.y is None:
            return np.zeros(len(self.z), bool)
        if self.y.dtype.kind == "f":
            return ~np.isnan(self.y)
        return self.y != "" if self.y.dtype.kind == "U" else np.ones(len(self.y), bool)


def write_embeddings(embeddings: Embeddings, out: Path) -> None:
    """Write ``.npz``, ``.csv`` or ``.parquet``, by the ending; the file appears complete or not at all."""
    if out.suffix not in WRITERS:
        raise SettingError(f"{out}: the ending must be one of {', '.join(WRITERS)}")
    try:
        with atomic.new_file(out) as file:
            WRITERS[out.suffix](embeddings, file)
    except OSError as error:
        raise SettingError(f"{out}: cannot be written ({error.strerror})") from None


def read_embeddings(path: Path) -> Embeddings:
    """``z`` and, where present, ``y`` and ``id`` from an ``.npz`` of any system; nothing in it is executed."""
    arrays = read_arrays(path, str(path), lambda name: name in ("z", "y", "id"))
    z, y = arrays.get("z"), arrays.get("y")
    if z is None or z.ndim != 2 or z.dtype.kind not in "fiu":
        raise DataError(f"{path}: needs an array z with one row of numbers a graph; save it with numpy.savez(z=…, y=…)")
    if y is not None and (y.shape != (len(z),) or not _is_classes(y)):
        raise DataError(f"{path}: y must hold one class a row of z ({len(z)}); it has shape {list(y.shape)}")
    return Embeddings(z, y, arrays.get("id", np.arange(len(z))))


def _is_classes(y: np.ndarray) -> bool:
    """Whole numbers or text; NaN stands for a missing label."""
    known = y[~np.isnan(y)] if y.dtype.kind == "f" else y
    return y.dtype.kind in "iubU" or (y.dtype.kind == "f" and bool((known == np.round(known)).all()))


def _write_npz(embeddings: Embeddings, file: IO[bytes]) -> None:
    labels: dict[str, Any] = {} if embeddings.y is None else {"y": embeddings.y}
    np.savez(file, z=embeddings.z, id=embeddings.id, **labels)


def _columns(embeddings: Embeddings) -> dict[str, np.ndarray]:
    labels = {} if embeddings.y is None else {"y": embeddings.y}
    return {"id": embeddings.id, **labels, **{f"z{i}": column for i, column in enumerate(embeddings.z.T)}}


class _Lines:
    """What ``csv`` writes to: its lines end with ``\\r\\n``, because only then does it quote a label with ``\\r``."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def write(self, line: str) -> None:
        self.file.write((line.removesuffix("\r\n") + "\n").encode(errors="backslashreplace"))


def _write_csv(embeddings: Embeddings, file: IO[bytes]) -> None:
    columns = _columns(embeddings)
    writer = csv.writer(_Lines(file))
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def _write_parquet(embeddings: Embeddings, file: IO[bytes]) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise SettingError("Parquet files need pyarrow: pip install 'nmrgcl[parquet]', or write .npz or .csv") from None
    pyarrow.parquet.write_table(pyarrow.table(_columns(embeddings)), file)


WRITERS: dict[str, Callable[[Embeddings, IO[bytes]], None]] = {
    ".npz": _write_npz,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
}
