"""A compact file of molecules that have been made graphs: two million in under 50 MB, read without RDKit.

After a line that names the format come blocks: what is inside is compressed with xz, and its size before and after and
the SHA-256 of what is stored stand in front. The first block holds notes, each further one the columns of up to 65,536
molecules: their graphs as ``tokens`` (the most frequent number is 0), SMILES, names, lines and labels.
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
from joblib import Parallel, delayed

from nmrgcl import atomic, reading
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.molecule_rows import class_codes
from nmrgcl.data.molecules.dataset import Watch
from nmrgcl.data.molecules.tokens import Tokens, from_tokens, to_tokens
from nmrgcl.data.stored_molecules import MOLECULES, molecule_arrays, molecule_notes
from nmrgcl.errors import DataError, SettingError, printable
from nmrgcl.graphs import Graphs
from nmrgcl.store import write_store

ENDING = ".molecules"
MAGIC = b"nmrgcl molecules 1\n"
AT_A_TIME = 65_536
"""Molecules of a block."""
MAX_BLOCK = 1 << 28
"""Bytes of a block, before and after it is compressed."""
_FRAME = struct.Struct("<II32s")
_TYPES = ("|u1", "<u2", "<u4", "<u8", "|i1", "<f4")
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 4, "lp": 0, "pb": 0}]
"""Bytes without alignment, of which the one before tells much about the next."""


def pack_molecules(dataset: Dataset, path: Path, *, watch: Watch | None = None) -> None:
    """Write the archive of a dataset of molecules; it appears complete or not at all."""
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
            # Compressing lets other threads run.
            packed = Parallel(n_jobs=-1, prefer="threads", return_as="generator")(delayed(_block)(b) for b in blocks)
            for block, part in zip(packed, numbers, strict=True):
                file.write(block)
                done += len(part)
                if watch is not None:
                    watch(done, len(rows))
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror})") from None


def expand_molecules(folder: Path, path: Path, *, name: str | None = None, watch: Watch | None = None) -> None:
    """Write the store of the dataset that was packed; of its graphs one block is in memory at a time."""
    try:
        with reading.open_file(path) as file:
            expanding = _Expanding(file, path, watch)
            meta = {"name": name or expanding.notes["name"], "level": "graph", "classes": expanding.notes["classes"]}
            meta |= dict.fromkeys(("self_loops", "duplicate_edges", "one_way_edges"), 0)
            write_store(folder, expanding.parts(), meta=meta, afterwards=expanding.rest)
    except OSError as error:
        raise DataError(printable(f"{path}: cannot be read ({error.strerror})")) from None


class _Expanding:
    """Reads one block after another, and keeps what is not graphs."""

    def __init__(self, file: IO[bytes], path: Path, watch: Watch | None) -> None:
        self.file, self.path, self.watch = file, path, watch
        if file.read(len(MAGIC)) != MAGIC:
            raise DataError(
                printable(f"{path}: is not an archive of molecules that this version reads; check the path")
            )
        self.notes = self._notes()
        self.arrays: dict[str, list[np.ndarray]] = {}

    def parts(self) -> Iterator[Graphs]:
        """The graphs of all blocks."""
        done, total = 0, self.notes["molecules"]
        while done < total:
            content = self._content()
            try:
                columns = _unpacked(content)
                graphs, rest = _graphs(columns), columns
                if len(graphs) != min(AT_A_TIME, total - done):
                    raise ValueError("a block is not of the size it must have")
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
            raise self._damaged("something follows its last block")

    def rest(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """What the store keeps beside the graphs."""
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
                raise ValueError("its notes are impossible")
        except (ValueError, KeyError, TypeError, RecursionError):
            raise self._damaged("its notes cannot be read") from None
        return notes

    def _content(self) -> bytes:
        """What the next block holds."""
        head = self.file.read(_FRAME.size)
        if len(head) < _FRAME.size:
            raise self._damaged("it ends early")
        packed, unpacked, digest = _FRAME.unpack(head)
        if max(packed, unpacked) > MAX_BLOCK:
            raise self._damaged("a block is impossibly large")
        content = self.file.read(packed)
        if len(content) < packed:
            raise self._damaged("it ends early")
        if hashlib.sha256(content).digest() != digest:
            raise self._damaged("the SHA-256 of a block does not match")
        try:
            decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_BLOCK)
            found = decompressor.decompress(content, unpacked + 1)
        except lzma.LZMAError as error:
            raise self._damaged(str(error)) from None
        if len(found) != unpacked or not decompressor.eof:
            raise self._damaged("a block has another size than it says")
        return found

    def _damaged(self, why: str) -> DataError:
        return DataError(printable(f"{self.path}: {why}; the archive is damaged, copy or pack it again"))


_NOTES = {"name", "classes", "molecules", "tasks", "rows", "invalid"}


def _rows(arrays: dict[str, np.ndarray], first: Any, end: Any) -> dict[str, np.ndarray]:
    """Those of some molecules, of arrays of all; bytes of texts go by their lengths."""
    found = {}
    for key, values in arrays.items():
        lengths = arrays.get(f"{key}_lengths")
        bounds = (int(first), int(end)) if lengths is None else (int(lengths[:first].sum()), int(lengths[:end].sum()))
        found[key] = values[slice(*bounds)]
    return found


def _columns(graphs: Graphs, rows: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Numbers by how frequent they are, so that the second byte of most is 0; it has a column of its own."""
    tokens = to_tokens(graphs)
    found, place, count = np.unique(tokens.numbers, return_inverse=True, return_counts=True)
    order = np.argsort(-count, kind="stable")
    rank = np.empty(len(order), np.uint16)
    rank[order] = np.arange(len(order))
    codes = rank[place]
    low, high = (codes & 255).astype(np.uint8), (codes >> 8).astype(np.uint8)
    return {"sizes": tokens.sizes, "meaning": found[order], "low": low, "high": high, **rows}


def _graphs(columns: dict[str, np.ndarray]) -> Graphs:
    """The inverse, which takes its columns out."""
    sizes, meaning, low, high = (columns.pop(name) for name in ("sizes", "meaning", "low", "high"))
    return from_tokens(Tokens(sizes, meaning[low.astype(np.int64) + 256 * high.astype(np.int64)]))


def _codes(targets: np.ndarray) -> np.ndarray:
    """Classes from labels as they are stored."""
    if targets.dtype == np.int8:
        targets = np.where(targets < 0, np.nan, targets)
    codes = class_codes(targets)
    if codes.size and codes.max() > 1:
        raise ValueError("a label is not a class")
    return codes


def _block(columns: dict[str, np.ndarray]) -> bytes:
    """Columns one after another, behind a line that lists them; integers have the smallest type that holds them."""
    small = {name: _smallest(values) for name, values in columns.items()}
    head = json.dumps([[name, values.dtype.str, list(values.shape)] for name, values in small.items()])
    return _framed(head.encode() + b"\n" + b"".join(values.tobytes() for values in small.values()))


def _unpacked(content: bytes) -> dict[str, np.ndarray]:
    head, _, data = content.partition(b"\n")
    columns, at = {}, 0
    for name, kind, shape in json.loads(head):
        if kind not in _TYPES or not all(type(extent) is int and 0 <= extent <= MAX_BLOCK for extent in shape):
            raise ValueError("a column is impossible")
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
        raise DataError("a number of the molecules is negative; write the store again")
    highest = int(values.max()) if values.size else 0
    return values.astype(next(kind for kind in _TYPES[:4] if highest <= np.iinfo(kind).max))


def _framed(content: bytes) -> bytes:
    packed = lzma.compress(content, lzma.FORMAT_XZ, filters=_FILTERS)
    return _FRAME.pack(len(packed), len(content), hashlib.sha256(packed).digest()) + packed
