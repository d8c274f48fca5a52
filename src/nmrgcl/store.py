"""Graphs on disk: flat memory-mapped arrays of small integers, and a manifest with their checksums.

Ends of edges and pairs are counted from the start of their graph, so a molecule needs one byte for each; destinations,
row pointers and the graph of each node follow from the degrees. Opening reads the manifest only, whatever the size.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from nmrgcl.atomic import new_folder
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs

FORMAT, VERSION = "nmrgcl-store", 1
MANIFEST = "manifest.json"
CHUNK = 65_536
"""Graphs that are checked at a time, to bound memory."""

_STRUCTURE = ("node_ptr", "edge_ptr", "degree", "source", "pair")
_OPTIONAL = ("y", "edge_attr", "edge_weight")
_EXTRA = "extra."
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


@dataclass(frozen=True, eq=False)
class Store:
    """Graphs that stay on disk until they are taken.

    Attributes:
        folder: where they are.
        num_features: of ``Graphs``, as are ``symmetric`` and ``y_level``.
        extra: further arrays, memory-mapped read-only; integers have the smallest type that holds them.
        meta: what the writer noted.
        arrays: the flat arrays, memory-mapped read-only.
        types: the type each of ``arrays`` had in memory.
    """

    folder: Path
    num_features: int
    symmetric: bool
    y_level: Literal["graph", "node"]
    extra: dict[str, np.ndarray]
    meta: dict[str, Any]
    arrays: dict[str, np.ndarray]
    types: dict[str, np.dtype]

    def __len__(self) -> int:
        return len(self.arrays["node_ptr"]) - 1

    def graphs(self) -> Graphs:
        """All of them, in memory."""
        return self.take(torch.arange(len(self)))

    def take(self, index: Tensor) -> Graphs:
        """The graphs named by ``index``, in that order: what ``graphs().take(index)`` is, read from disk alone."""
        graph = index.cpu().numpy().astype(np.int64, copy=False)
        if graph.size and not 0 <= graph.min() <= graph.max() < len(self):
            raise IndexError(f"graph index out of range: the store holds {len(self)} graphs")
        nodes = self._ranges("node_ptr", graph, len(self.arrays["degree"]))
        edges = self._ranges("edge_ptr", graph, len(self.arrays["source"]))
        degree = self._gather("degree", nodes)
        row_ptr = pad(degree.cumsum(0), (1, 0))
        self._check(np.array_equal(row_ptr.numpy()[nodes.ptr], edges.ptr), "degree")
        x = self._gather("x", nodes)
        if not x.is_floating_point() and x.numel():
            low, high = x.aminmax()
            self._check(int(low) >= -1 and int(high) < self.num_features, "x")
        edge_index = torch.empty(2, edges.total, dtype=torch.long)
        self._shift("source", edges, nodes, edge_index[0])
        # An edge's destination is the number of rows that end before it; counting them has no branch to mispredict.
        row_ends = np.bincount(row_ptr.numpy()[1:], minlength=edges.total)
        np.cumsum(row_ends[: edges.total], out=edge_index[1].numpy())
        pair = torch.empty(edges.total, dtype=torch.long)
        self._shift("pair", edges, edges, pair)
        given = [name for name in _OPTIONAL if name in self.arrays and name != "y"]
        optional = {name: self._gather(name, edges) for name in given}
        if "y" in self.arrays:
            optional["y"] = self._gather("y", nodes) if self.y_level == "node" else self._convert("y", graph)
        return Graphs(
            x=x,
            num_features=self.num_features,
            edge_index=edge_index,
            row_ptr=row_ptr,
            node_ptr=torch.from_numpy(nodes.ptr),
            batch=torch.from_numpy(nodes.spread(np.arange(len(graph)))),
            pair=pair,
            symmetric=self.symmetric,
            y_level=self.y_level,
            **optional,
        )

    def _ranges(self, name: str, index: np.ndarray, limit: int) -> "_Ranges":
        pointers = self.arrays[name]
        start, end = pointers[index].astype(np.int64), pointers[index + 1].astype(np.int64)
        self._check(bool(((start <= end) & (end <= limit)).all()), name)
        return _Ranges(start, end)

    def _gather(self, name: str, of: "_Ranges") -> Tensor:
        of.touch(self.arrays[name])
        return self._convert(name, of.items)

    def _convert(self, name: str, items: np.ndarray) -> Tensor:
        # What is taken is fresh memory, so torch may have it although the file is read-only.
        return torch.from_numpy(self.arrays[name].take(items, axis=0).astype(self.types[name], copy=False))

    def _shift(self, name: str, edges: "_Ranges", counted: "_Ranges", out: Tensor) -> None:
        """Numbers counted from the start of each graph → numbers in the batch, written to ``out``."""
        edges.touch(self.arrays[name])
        local = self.arrays[name].take(edges.items)
        # Compared in the small type, which reads an eighth of the memory.
        last = np.minimum(counted.count - 1, np.iinfo(local.dtype).max).astype(local.dtype)
        self._check(bool((local <= edges.spread(last)).all()), name)
        np.add(local, edges.spread(counted.ptr[:-1]), out=out.numpy(), casting="unsafe")

    def _check(self, fine: bool, name: str) -> None:
        if not fine:
            raise _damaged(_file(self.folder, name), "impossible values")


def write_store(
    folder: Path,
    graphs: Graphs,
    *,
    extra: Mapping[str, np.ndarray] | None = None,
    meta: Mapping[str, Any] | None = None,
) -> None:
    """Write the graphs (a view: what it leaves) to ``folder``, which appears when complete or not at all.

    A store that is there already is replaced, any other folder is refused. ``meta`` is kept as JSON.
    """
    if folder.exists() and not (folder / MANIFEST).is_file():
        raise DataError(f"{folder}: exists and is not a store; choose another place")
    graphs = graphs.compact()
    arrays = _flat(graphs, str(folder))
    for name, values in (extra or {}).items():
        if not _NAME.fullmatch(name):
            raise DataError(f"{folder}: an array cannot be called {name!r}; use letters, digits, _ and -")
        arrays[_EXTRA + name] = np.asarray(values)
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "graphs": graphs.num_graphs,
        "nodes": graphs.num_nodes,
        "edges": graphs.num_edges,
        "num_features": graphs.num_features,
        "symmetric": graphs.symmetric,
        "y_level": graphs.y_level,
        "meta": dict(meta or {}),
    }
    manifest = json.loads(json.dumps(manifest))  # as it will be read; fails before anything is written
    try:
        with new_folder(folder) as filling:
            manifest["arrays"] = {name: _write(_file(filling, name), values) for name, values in arrays.items()}
            manifest["checksum"] = _checksum(manifest)
            (filling / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise DataError(f"{folder}: cannot be written ({error.strerror}); choose another place or make room") from None


def open_store(folder: Path, *, verify: bool = False) -> Store:
    """The store in ``folder``: its manifest is checked, and every file must have the recorded size.

    Args:
        folder: what ``write_store`` wrote.
        verify: read everything and compare it with the SHA-256 of the manifest, then check that pointers increase and
            every index is in range. Without it, ``take`` and ``graphs`` still refuse indices that are out of range, but
            a damaged feature or label passes.
    """
    path = folder / MANIFEST
    manifest = _read_manifest(path)
    # Freeing one large block makes the C library keep what is freed later: batches then reuse memory instead of
    # faulting in 400 new pages each, which doubles the rate. The block itself is never touched.
    np.empty(16 << 20, np.uint8)
    try:
        recorded = {name: _Recorded(**entry) for name, entry in manifest["arrays"].items()}
        if not all(map(_NAME.fullmatch, recorded)):
            raise ValueError
        arrays = {name: _map(_file(folder, name), entry, verify=verify) for name, entry in recorded.items()}
        store = Store(
            folder=folder,
            num_features=int(manifest["num_features"]),
            symmetric=bool(manifest["symmetric"]),
            y_level=manifest["y_level"],
            extra={n.removeprefix(_EXTRA): a for n, a in arrays.items() if n.startswith(_EXTRA)},
            meta=dict(manifest["meta"]),
            arrays={n: a for n, a in arrays.items() if not n.startswith(_EXTRA)},
            types={n: np.dtype(entry.memory) for n, entry in recorded.items()},
        )
        consistent = _consistent(store, *(manifest[key] for key in ("graphs", "nodes", "edges")))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
        consistent = False
    if not consistent:
        raise _damaged(path, "its entries do not fit together")
    if verify:
        for part in torch.arange(len(store)).split(CHUNK):
            store.take(part)
    return store


@dataclass(frozen=True)
class _Recorded:
    """What the manifest says about one file: type on disk and in memory, shape, size and checksum."""

    dtype: str
    memory: str
    shape: list[int]
    bytes: int
    sha256: str


class _Ranges:
    """The items of the ranges ``start[i]:end[i]``, one range after another."""

    def __init__(self, start: np.ndarray, end: np.ndarray) -> None:
        self.count = end - start
        self.ptr = np.concatenate([[0], self.count.cumsum()])
        self.total = int(self.ptr[-1])
        self.items = self.spread(start - self.ptr[:-1])
        self.items += np.arange(self.total)
        self.ends = np.concatenate([start, end - 1])

    def touch(self, values: np.ndarray) -> None:
        """Ask for both ends of every range at once, so that the processor need not wait for one after another.

        For the 51,000 edges of 1,024 molecules in a store that no cache holds, 184 → 66 µs.
        """
        if self.total:
            values.take(self.ends, axis=0, mode="clip")

    def spread(self, values: np.ndarray) -> np.ndarray:
        """One value a range → one value an item."""
        return np.repeat(values, self.count)


def _flat(graphs: Graphs, place: str) -> dict[str, np.ndarray]:
    graphs = graphs.to("cpu")
    source, destination = graphs.edge_index
    degree, edge_ptr = graphs.row_ptr.diff(), graphs.edge_ptr
    if not torch.equal(destination, torch.repeat_interleave(degree)):
        raise DataError(f"{place}: the edges are not sorted by destination; make the graphs with Graphs.build")
    owner = graphs.batch[destination]
    tensors = {
        "node_ptr": graphs.node_ptr,
        "edge_ptr": edge_ptr,
        "degree": degree,
        "source": source - graphs.node_ptr[owner],
        "pair": graphs.pair - edge_ptr[owner],
        "x": graphs.x,
        **{name: getattr(graphs, name) for name in _OPTIONAL},
    }
    try:
        return {name: tensor.detach().numpy() for name, tensor in tensors.items() if tensor is not None}
    except TypeError:  # bfloat16
        raise DataError(f"{place}: a tensor has a type that numpy lacks; convert it to float32") from None


def _write(path: Path, values: np.ndarray) -> dict[str, Any]:
    if values.dtype.kind not in "biuf" or values.dtype.itemsize > 8:
        raise DataError(f"{path.name}: values of type {values.dtype} cannot be stored; convert them to numbers")
    small = np.ascontiguousarray(values, dtype=_smallest(values).newbyteorder("<"))
    small.tofile(path)
    return {
        "dtype": small.dtype.str,
        "memory": values.dtype.newbyteorder("<").str,
        "shape": list(values.shape),
        "bytes": small.nbytes,
        "sha256": hashlib.sha256(small.reshape(-1).data).hexdigest(),
    }


def _smallest(values: np.ndarray) -> np.dtype:
    """The smallest integer type for these values; unsigned where none is negative."""
    if values.dtype.kind not in "iu":
        return values.dtype
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    kind = "i" if low < 0 else "u"
    sizes = (np.dtype(f"{kind}{size}") for size in (1, 2, 4, 8))
    return next(t for t in sizes if np.iinfo(t).min <= low and high <= np.iinfo(t).max)


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        text = path.read_bytes()
    except (OSError, ValueError):
        raise DataError(f"{path}: missing or unreadable, so {path.parent} is not a store; check the path") from None
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError):
        raise _damaged(path, "not JSON") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise DataError(f"{path}: not the manifest of a store of graphs; check the path")
    version = manifest.get("version")
    if isinstance(version, int) and version > VERSION:
        raise DataError(f"{path}: written by a newer version (format {version}, this reads {VERSION}); upgrade nmrgcl")
    if version != VERSION or manifest.get("checksum") != _checksum(manifest):
        raise _damaged(path, "its checksum does not match")
    return manifest


def _checksum(manifest: Mapping[str, Any]) -> str:
    """SHA-256 of everything the manifest says but the checksum itself."""
    rest = {key: value for key, value in manifest.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _map(path: Path, recorded: _Recorded, *, verify: bool) -> np.ndarray:
    """The file as a read-only array; ValueError where the record itself is impossible."""
    dtype = np.dtype(recorded.dtype)
    numbers = all(t.kind in "biuf" for t in (dtype, np.dtype(recorded.memory)))
    count = int(np.prod([int(n) for n in recorded.shape], dtype=object))
    if not numbers or count * dtype.itemsize != recorded.bytes:
        raise ValueError
    try:
        size = path.stat().st_size
        if size != recorded.bytes:
            raise _damaged(path, f"{size} bytes instead of {recorded.bytes}")
        if verify:
            with path.open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != recorded.sha256:
                    raise _damaged(path, "its SHA-256 does not match the manifest")
        # An empty file cannot be mapped.
        flat = np.asarray(np.memmap(path, dtype, "r")) if size else np.empty(0, dtype)
    except OSError as error:
        raise _damaged(path, f"unreadable: {error.strerror}") from None
    return flat.reshape(recorded.shape)


def _consistent(store: Store, graphs: int, nodes: int, edges: int) -> bool:
    """Whether the arrays have the lengths they need, and the pointers the right ends."""
    arrays = store.arrays
    lengths = {"node_ptr": graphs + 1, "edge_ptr": graphs + 1, "degree": nodes, "source": edges, "pair": edges}
    lengths |= {"x": nodes, "y": {"graph": graphs, "node": nodes}[store.y_level]}
    lengths |= {"edge_attr": edges, "edge_weight": edges}
    ends = [(int(arrays[name][0]), int(arrays[name][-1])) for name in ("node_ptr", "edge_ptr")]
    return (
        set(lengths) - set(_OPTIONAL) <= set(arrays) <= set(lengths)
        and all(len(values) == lengths[name] for name, values in arrays.items())
        and all(arrays[n].ndim == 1 and arrays[n].dtype.kind == "u" for n in _STRUCTURE)
        and all(store.types[n] == np.int64 for n in _STRUCTURE)
        and ends == [(0, nodes), (0, edges)]
    )


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.bin"


def _damaged(path: Path, why: str) -> DataError:
    return DataError(f"{path}: {why}; the store is damaged, write or copy it again")
