"""A compact file of molecules and their graphs: two million take less than 50 MB and are read without RDKit.

After a line that names the format come blocks, each compressed with xz and preceded by its compressed and uncompressed
size and the SHA-256 of the compressed bytes. The first block contains metadata; each further one contains columns for
up to 65,536 molecules: their graphs as ``tokens``, renumbered by frequency, SMILES, names, line numbers and labels.
"""

import hashlib
import json
import lzma
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch

from nmrgcl import atomic, reading
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.molecule_rows import class_codes
from nmrgcl.data.molecules.dataset import Watch
from nmrgcl.data.molecules.tokens import Tokens, from_tokens, to_tokens
from nmrgcl.data.stored_molecules import MOLECULES, dataset_meta, molecule_arrays, molecule_notes
from nmrgcl.errors import DataError, SettingError, printable
from nmrgcl.graphs import Graphs
from nmrgcl.store import write_store

ENDING = ".molecules"
MAGIC = b"nmrgcl molecules 1\n"
AT_A_TIME = 65_536
"""Number of molecules per block."""
MAX_BLOCK = 1 << 28
"""Largest size of a block in bytes, compressed or not."""
_FRAME = struct.Struct("<II32s")
_TYPES = ("|u1", "<u2", "<u4", "<u8", "|i1", "<f4")
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 4, "lp": 0, "pb": 0}]
"""Tuned for unaligned bytes, each of which depends strongly on the previous one."""


def pack_molecules(dataset: Dataset, path: Path, *, watch: Watch | None = None) -> None:
    """Write a dataset of molecules as an archive; it appears complete or not at all."""
    from joblib import Parallel, delayed

    rows = dataset.molecules
    if rows is None:
        raise DataError(f"{dataset.name}: is not a dataset of molecules; pass a file of SMILES")
    if path.suffix != ENDING:
        raise SettingError(f"{path}: the ending must be {ENDING}")
    source = dataset.graphs if dataset.store is None else dataset.store.check_bytes()
    numbers = torch.arange(len(rows)).split(AT_A_TIME)
    notes = {"name": dataset.name, "classes": list(dataset.classes), "molecules": len(rows), **molecule_notes(rows)}
    arrays, done = molecule_arrays(rows), 0
    try:
        with atomic.new_file(path) as file:
            file.write(MAGIC + _framed(json.dumps(notes).encode()))
            blocks = (_columns(source.take(part), _rows(arrays, part[0], part[-1] + 1)) for part in numbers)
            # Threads suffice, because compression releases the GIL.
            packed = Parallel(n_jobs=-1, prefer="threads", return_as="generator")(delayed(_block)(b) for b in blocks)
            for block, part in zip(packed, numbers, strict=True):
                file.write(block)
                done += len(part)
                if watch is not None:
                    watch(done, len(rows))
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror})") from None


def expand_molecules(folder: Path, path: Path, *, name: str | None = None, watch: Watch | None = None) -> None:
    """Expand an archive to a store, with one block of graphs in memory at a time."""
    try:
        with reading.open_file(path) as file:
            expanding = _Expanding(file, path, watch)
            meta = dataset_meta(name or expanding.notes["name"], expanding.notes["classes"])
            write_store(folder, expanding.parts(), meta=meta, afterwards=expanding.rest)
    except OSError as error:
        raise DataError(printable(f"{path}: cannot be read ({error.strerror})")) from None


class _Expanding:
    """Reads an archive block by block, and collects everything but the graphs."""

    def __init__(self, file: IO[bytes], path: Path, watch: Watch | None) -> None:
        self.file, self.path, self.watch = file, path, watch
        if file.read(len(MAGIC)) != MAGIC:
            raise DataError(printable(f"{path}: is not an archive of molecules of a supported version; check the path"))
        self.notes = self._notes()
        self.arrays: dict[str, list[np.ndarray]] = {}

    def parts(self) -> Iterator[Graphs]:
        """Yield the graphs of each block."""
        done, total = 0, self.notes["molecules"]
        while done < total:
            content = self._content()
            try:
                columns = _unpacked(content)
                graphs, rest = _graphs(columns), columns
                if len(graphs) != min(AT_A_TIME, total - done):
                    raise ValueError("a block has the wrong number of molecules")
                if self.notes["classes"]:
                    targets = rest[f"{MOLECULES}.targets"]
                    graphs = replace(graphs, y=torch.from_numpy(_codes(targets)))
            except (ValueError, KeyError, TypeError, IndexError, OverflowError) as error:
                raise self._damaged(str(error)) from None
            for key, values in rest.items():
                self.arrays.setdefault(key, []).append(values)
            done += len(graphs)
            yield graphs
            if self.watch is not None:
                self.watch(done, total)
        if self.file.read(1):
            raise self._damaged("there is data after the last block")

    def rest(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the arrays and metadata that the store keeps beside the graphs."""
        try:
            arrays = {key: np.concatenate(parts) for key, parts in self.arrays.items()}
        except ValueError as error:
            raise self._damaged(str(error)) from None
        return arrays, {MOLECULES: {key: self.notes[key] for key in ("tasks", "rows", "invalid")}}

    def _notes(self) -> dict[str, Any]:
        try:
            notes = json.loads(self._content())
            good = isinstance(notes["name"], str) and notes["classes"] in ([], [0, 1]) and notes.keys() >= _NOTES
            if not good or type(notes["molecules"]) is not int or not 0 < notes["molecules"] < 1 << 40:
                raise ValueError("its metadata is invalid")
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._damaged("its metadata cannot be read") from None
        return notes

    def _content(self) -> bytes:
        """Read and decompress the next block."""
        head = self.file.read(_FRAME.size)
        if len(head) < _FRAME.size:
            raise self._damaged("it is truncated")
        packed, unpacked, digest = _FRAME.unpack(head)
        if max(packed, unpacked) > MAX_BLOCK:
            raise self._damaged("a block is too large")
        content = self.file.read(packed)
        if len(content) < packed:
            raise self._damaged("it is truncated")
        if hashlib.sha256(content).digest() != digest:
            raise self._damaged("the SHA-256 of a block does not match")
        try:
            decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_BLOCK)
            # One byte more than declared reveals a block that is too long, without expanding the rest of it.
            found = decompressor.decompress(content, unpacked + 1)
        except lzma.LZMAError as error:
            raise self._damaged(str(error)) from None
        if len(found) != unpacked or not decompressor.eof:
            raise self._damaged("a block does not have its declared size")
        return found

    def _damaged(self, why: str) -> DataError:
        return DataError(printable(f"{self.path}: {why}; the archive is damaged, copy or pack it again"))


_NOTES = {"name", "classes", "molecules", "tasks", "rows", "invalid"}


def _rows(arrays: dict[str, np.ndarray], first: Any, end: Any) -> dict[str, np.ndarray]:
    """Return the part of each array that belongs to the molecules from ``first`` to ``end``."""
    found = {}
    for key, values in arrays.items():
        lengths = arrays.get(f"{key}_lengths")
        bounds = (int(first), int(end)) if lengths is None else (int(lengths[:first].sum()), int(lengths[:end].sum()))
        found[key] = values[slice(*bounds)]
    return found


def _columns(graphs: Graphs, rows: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Renumber tokens by frequency, so that most high bytes, which form a column of their own, are 0."""
    tokens = to_tokens(graphs)
    found, place, count = np.unique(tokens.numbers, return_inverse=True, return_counts=True)
    order = np.argsort(-count, kind="stable")
    rank = np.empty(len(order), np.uint16)
    rank[order] = np.arange(len(order))
    codes = rank[place]
    low, high = (codes & 255).astype(np.uint8), (codes >> 8).astype(np.uint8)
    return {"sizes": tokens.sizes, "meaning": found[order], "low": low, "high": high, **rows}


def _graphs(columns: dict[str, np.ndarray]) -> Graphs:
    """Invert ``_columns``; the columns of the graphs are removed from ``columns``."""
    sizes, meaning, low, high = (columns.pop(name) for name in ("sizes", "meaning", "low", "high"))
    return from_tokens(Tokens(sizes, meaning[low.astype(np.int64) + 256 * high.astype(np.int64)]))


def _codes(targets: np.ndarray) -> np.ndarray:
    """Return the classes for labels as they are stored."""
    if targets.dtype == np.int8:
        targets = np.where(targets < 0, np.nan, targets)
    codes = class_codes(targets)
    if codes.size and codes.max() > 1:
        raise ValueError("a label is not a class")
    return codes


def _block(columns: dict[str, np.ndarray]) -> bytes:
    """Concatenate the columns after a header line; integers are stored in the smallest sufficient type."""
    small = {name: _smallest(values) for name, values in columns.items()}
    head = json.dumps([[name, values.dtype.str, list(values.shape)] for name, values in small.items()])
    return _framed(head.encode() + b"\n" + b"".join(values.tobytes() for values in small.values()))


def _unpacked(content: bytes) -> dict[str, np.ndarray]:
    head, _, data = content.partition(b"\n")
    columns, at = {}, 0
    for name, kind, shape in json.loads(head):
        if kind not in _TYPES or not all(type(extent) is int and 0 <= extent <= MAX_BLOCK for extent in shape):
            raise ValueError("a column has an invalid type or shape")
        count = int(np.prod(shape, dtype=object))
        end = at + count * np.dtype(kind).itemsize
        if end > len(data):
            raise ValueError("a column is longer than its block")
        columns[name], at = np.frombuffer(data[at:end], kind).reshape(shape), end
    if at != len(data):
        raise ValueError("a block is longer than its columns")
    return columns


def _smallest(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind not in "iu" or values.dtype == np.int8:
        return np.ascontiguousarray(values)
    if values.size and values.min() < 0:
        raise DataError("the store contains a negative number; write it again")
    highest = int(values.max()) if values.size else 0
    return values.astype(next(kind for kind in _TYPES[:4] if highest <= np.iinfo(kind).max))


def _framed(content: bytes) -> bytes:
    packed = lzma.compress(content, lzma.FORMAT_XZ, filters=_FILTERS)
    return _FRAME.pack(len(packed), len(content), hashlib.sha256(packed).digest()) + packed
