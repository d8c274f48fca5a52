"""Read graphs from a store: all of them, or a selection."""

import hashlib
import os
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from nmrgcl import reading
from nmrgcl.graphs import Graphs
from nmrgcl.store.check import possible_shape, possible_type, wrong_array
from nmrgcl.store.manifest import (
    EXTRA,
    MANIFEST,
    NAME,
    OPTIONAL,
    STRUCTURE,
    Recorded,
    array_file,
    damaged,
    read_manifest,
)
from nmrgcl.store.ranges import Ranges

CHUNK = 65_536
"""Number of graphs that are verified at a time, to bound memory."""


@dataclass(frozen=True, eq=False)
class Store:
    """Graphs that stay on disk until they are taken.

    Attributes:
        folder: the folder of the store.
        num_features: as in ``Graphs``; likewise ``symmetric`` and ``y_level``.
        extra: additional arrays, memory-mapped read-only; integers have the smallest sufficient type.
        meta: metadata of the writer.
        arrays: the flat arrays of the graphs, memory-mapped read-only.
        types: the type of each array in memory.
        digests: the SHA-256 of each file, by the name of its array.
    """

    folder: Path
    num_features: int
    symmetric: bool
    y_level: Literal["graph", "node"]
    extra: dict[str, np.ndarray]
    meta: dict[str, Any]
    arrays: dict[str, np.ndarray]
    types: dict[str, np.dtype]
    digests: dict[str, str]

    def __len__(self) -> int:
        return len(self.arrays["node_ptr"]) - 1

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of graphs, nodes and directed edges."""
        return len(self), len(self.arrays["degree"]), len(self.arrays["source"])

    def sizes(self) -> tuple[Tensor, Tensor]:
        """Return the number of nodes ``[B]`` and of directed edges ``[B]`` of each graph."""
        nodes, edges = (
            torch.from_numpy(self.arrays[name].astype(np.int64)).diff() for name in ("node_ptr", "edge_ptr")
        )
        for sizes, name in ((nodes, "node_ptr"), (edges, "edge_ptr")):
            self._check(not len(self) or int(sizes.min()) >= 0, name)
        return nodes, edges

    def check_bytes(self, *, extra_only: bool = False) -> "Store":
        """Verify the checksums of all files, or only of the ``extra`` arrays, and return the store."""
        for name, digest in self.digests.items():
            path = array_file(self.folder, name)
            if name.startswith(EXTRA) or not extra_only:
                try:
                    with reading.open_file(path) as file:
                        same = hashlib.file_digest(file, "sha256").hexdigest() == digest
                except OSError as error:
                    raise damaged(path, f"unreadable: {error.strerror}") from None
                if not same:
                    raise damaged(path, "its SHA-256 does not match the manifest")
        return self

    def graphs(self) -> Graphs:
        """Read all graphs into memory."""
        return self.take(torch.arange(len(self)))

    def take(self, index: Tensor) -> Graphs:
        """Read the graphs at ``index``, in that order; equal to ``graphs().take(index)``."""
        graph = index.cpu().numpy().astype(np.int64, copy=False)
        if graph.size and not 0 <= graph.min() <= graph.max() < len(self):
            raise IndexError(f"graph index out of range: the store holds {len(self)} graphs")
        nodes = self._ranges("node_ptr", graph, len(self.arrays["degree"]))
        edges = self._ranges("edge_ptr", graph, len(self.arrays["source"]))
        degree = self._gather("degree", nodes)
        row_ptr = pad(degree.cumsum(0), (1, 0))
        # If degrees did not add up to the edges of a graph, rows would reach into the next graph.
        self._check(np.array_equal(row_ptr.numpy()[nodes.ptr], edges.ptr), "degree")
        x = self._gather("x", nodes)
        if not x.is_floating_point() and x.numel():
            low, high = x.aminmax()
            self._check(int(low) >= -1 and int(high) < self.num_features, "x")
        edge_index = torch.empty(2, edges.total, dtype=torch.long)
        self._shift("source", edges, nodes, edge_index[0])
        # The destination of an edge is the number of rows that end before it, counted here without branches.
        row_ends = np.bincount(row_ptr.numpy()[1:], minlength=edges.total)
        np.cumsum(row_ends[: edges.total], out=edge_index[1].numpy())
        pair = torch.empty(edges.total, dtype=torch.long)
        self._shift("pair", edges, edges, pair)
        given = [name for name in OPTIONAL if name in self.arrays and name != "y"]
        optional: dict[str, Any] = {name: self._gather(name, edges) for name in given}
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

    def nodes_of(self, index: Tensor) -> np.ndarray:
        """Return the indices, among all nodes, of the nodes of ``take(index)``."""
        graph = index.cpu().numpy().astype(np.int64, copy=False)
        return self._ranges("node_ptr", graph, len(self.arrays["degree"])).items

    def edges_of(self, index: Tensor) -> np.ndarray:
        """Return the indices, among all directed edges, of the edges of ``take(index)``."""
        graph = index.cpu().numpy().astype(np.int64, copy=False)
        return self._ranges("edge_ptr", graph, len(self.arrays["source"])).items

    def _ranges(self, name: str, index: np.ndarray, limit: int) -> "Ranges":
        pointers = self.arrays[name]
        start, end = pointers[index].astype(np.int64), pointers[index + 1].astype(np.int64)
        self._check(bool(((start >= 0) & (start <= end) & (end <= limit)).all()), name)
        return Ranges(start, end)

    def _gather(self, name: str, of: "Ranges") -> Tensor:
        of.touch(self.arrays[name])
        return self._convert(name, of.items)

    def _convert(self, name: str, items: np.ndarray) -> Tensor:
        # take copies, so torch may own the memory although the file is read-only.
        return torch.from_numpy(self.arrays[name].take(items, axis=0).astype(self.types[name], copy=False))

    def _shift(self, name: str, edges: "Ranges", counted: "Ranges", out: Tensor) -> None:
        """Convert numbers within a graph to numbers within the batch, and write them to ``out``."""
        edges.touch(self.arrays[name])
        local = self.arrays[name].take(edges.items)
        # Comparing in the small type reads an eighth of the memory.
        last = np.minimum(counted.count - 1, np.iinfo(local.dtype).max).astype(local.dtype)
        self._check(bool((local <= edges.spread(last)).all()), name)
        np.add(local, edges.spread(counted.ptr[:-1]), out=out.numpy(), casting="unsafe")

    def _check(self, fine: bool, name: str) -> None:
        if not fine:
            raise damaged(array_file(self.folder, name), "impossible values")


def open_store(folder: Path, *, verify: bool = False) -> Store:
    """Open the store in ``folder``: check its manifest and the size of every file.

    Args:
        folder: a folder written by ``write_store``.
        verify: also read everything and check the SHA-256 of each file, that pointers increase, that indices are in
            range, that edges are sorted and paired, and that weights are positive. Without it, ``take`` and ``graphs``
            still refuse indices that are out of range, but do not notice damaged features or labels.
    """
    path = folder / MANIFEST
    manifest = read_manifest(path)
    # Freeing one large block raises glibc's mmap threshold: batches then reuse memory instead of faulting in 400 new
    # pages each, which doubles the throughput. The block itself is never touched.
    np.empty(16 << 20, np.uint8)
    try:
        recorded = {name: Recorded(**entry) for name, entry in manifest["arrays"].items()}
        if not all(NAME.fullmatch(name) and possible_type(entry) for name, entry in recorded.items()):
            raise ValueError
        arrays = {name: _map(array_file(folder, name), entry) for name, entry in recorded.items()}
        store = Store(
            folder=folder,
            num_features=manifest["num_features"],
            symmetric=manifest["symmetric"],
            y_level=manifest["y_level"],
            extra={n.removeprefix(EXTRA): a for n, a in arrays.items() if n.startswith(EXTRA)},
            meta=manifest["meta"],
            arrays={n: a for n, a in arrays.items() if not n.startswith(EXTRA)},
            types={n: np.dtype(entry.memory) for n, entry in recorded.items()},
            digests={n: entry.sha256 for n, entry in recorded.items()},
        )
        consistent = _consistent(store, *(manifest[key] for key in ("graphs", "nodes", "edges")))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
        consistent = False
    if not consistent:
        raise damaged(path, "its entries are inconsistent")
    if verify:
        store.check_bytes()
        for at in range(0, len(store), CHUNK):
            if wrong := wrong_array(store.take(torch.arange(at, min(at + CHUNK, len(store))))):
                raise damaged(array_file(folder, wrong), "impossible values")
    return store


def _map(path: Path, recorded: Recorded) -> np.ndarray:
    """Map the file as a read-only array; raise ValueError if the entry itself is inconsistent."""
    dtype = np.dtype(recorded.dtype)
    # Python's integers do not overflow, whatever shape the manifest claims.
    count = int(np.prod([int(n) for n in recorded.shape], dtype=object))
    if count * dtype.itemsize != recorded.bytes:
        raise ValueError
    try:
        with reading.open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size != recorded.bytes:
                raise damaged(path, f"{size} bytes instead of {recorded.bytes}")
            # An empty file cannot be mapped.
            flat = np.frombuffer(mmap(file.fileno(), size, access=ACCESS_READ) if size else b"", dtype)
    except OSError as error:
        raise damaged(path, f"unreadable: {error.strerror}") from None
    return flat.reshape(recorded.shape)


def _consistent(store: Store, graphs: int, nodes: int, edges: int) -> bool:
    """Return True if the arrays have the right types and lengths, and the pointers the right ends."""
    arrays = store.arrays
    lengths = {"node_ptr": graphs + 1, "edge_ptr": graphs + 1, "degree": nodes, "source": edges, "pair": edges}
    lengths |= {"x": nodes, "y": {"graph": graphs, "node": nodes}[store.y_level]}
    lengths |= {"edge_attr": edges, "edge_weight": edges}
    ends = [(int(arrays[name][0]), int(arrays[name][-1])) for name in ("node_ptr", "edge_ptr")]
    return (
        # Not isinstance, for which True would be an int.
        [type(value) for value in (store.num_features, store.symmetric, store.meta)] == [int, bool, dict]
        and set(lengths) - set(OPTIONAL) <= set(arrays) <= set(lengths)
        and all(len(values) == lengths[name] for name, values in arrays.items())
        and all(arrays[n].ndim == 1 and arrays[n].dtype.kind == "u" for n in STRUCTURE)
        and all(store.types[n] == np.int64 for n in STRUCTURE)
        and all(possible_shape(n, a, store.types[n], store.num_features) for n, a in arrays.items())
        and ends == [(0, nodes), (0, edges)]
    )
