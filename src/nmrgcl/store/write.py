"""Write graphs to a store."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nmrgcl.atomic import new_folder
from nmrgcl.checksums import checksum_of
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs
from nmrgcl.store.check import positive
from nmrgcl.store.growing import GrowingArray
from nmrgcl.store.manifest import EXTRA, FORMAT, MANIFEST, NAME, OPTIONAL, STORE, VERSION, array_file


def write_store(
    folder: Path,
    graphs: Graphs | Iterable[Graphs],
    *,
    extra: Mapping[str, np.ndarray | Iterator[np.ndarray]] | None = None,
    meta: Mapping[str, Any] | None = None,
    afterwards: Callable[[], tuple[Mapping[str, np.ndarray], Mapping[str, Any]]] | None = None,
    token: str = "",
) -> None:
    """Write graphs to ``folder``, which appears complete or not at all; parts removed by a view are left out.

    The graphs may come in parts, of which only one is in memory at a time. An existing store is replaced; any other
    folder, or a store that contains foreign files, is refused. An ``extra`` array may come in parts too. ``meta`` is
    stored as JSON. ``afterwards`` is called when all graphs are written and returns further ``extra`` and ``meta``.
    ``token`` identifies the unfinished folder of a process that was killed, as in ``atomic.remove_strays``.
    """
    notes = json.loads(json.dumps(dict(meta or {})))  # raises before anything is written
    _check_names(extra or {}, folder)
    try:
        with new_folder(folder, STORE, token) as filling:
            files, facts = _write_parts(filling, [graphs] if isinstance(graphs, Graphs) else graphs, str(folder))
            later, more = afterwards() if afterwards else ({}, {})
            _check_names(later, folder)
            notes |= json.loads(json.dumps(dict(more)))
            for name, values in {**(extra or {}), **later}.items():
                parts = values if isinstance(values, Iterator) else iter([np.asarray(values)])
                first = next(parts)
                files[EXTRA + name] = GrowingArray(array_file(filling, EXTRA + name), first)
                for part in chain([first], parts):
                    files[EXTRA + name].add(part)
            arrays = {name: file.entry() for name, file in files.items()}
            manifest = {"format": FORMAT, "version": VERSION, **facts, "meta": notes, "arrays": arrays}
            manifest["checksum"] = checksum_of(manifest)
            (filling / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise DataError(f"{folder}: cannot be written ({error.strerror}); choose another place or make room") from None


def _check_names(extra: Mapping[str, Any], folder: Path) -> None:
    for name in extra:
        if not NAME.fullmatch(name):
            raise DataError(f"{folder}: {name!r} is not a valid name for an array; use letters, digits, _ and -")


def _write_parts(filling: Path, parts: Iterable[Graphs], place: str) -> tuple[dict[str, GrowingArray], dict[str, Any]]:
    """Write the flat arrays; return their files and the manifest's entries about all graphs."""
    files: dict[str, GrowingArray] = {}
    facts: dict[str, Any] = {"graphs": 0, "nodes": 0, "edges": 0}
    for part in parts:
        graphs = part.compact().to("cpu")
        arrays = _flat(graphs, place)
        kind = {"num_features": graphs.num_features, "y_level": graphs.y_level}
        if not files:
            files = {name: GrowingArray(array_file(filling, name), values) for name, values in arrays.items()}
            facts |= kind | {"symmetric": True}
        if set(arrays) != set(files) or facts != facts | kind:
            raise DataError(f"{place}: the parts have different features or labels; they must be of the same kind")
        for name, values in arrays.items():
            if name in ("node_ptr", "edge_ptr"):  # a part starts where the previous one ended
                values = values[min(1, files[name].length) :] + facts["nodes" if name == "node_ptr" else "edges"]
            files[name].add(values)
        facts["symmetric"] = facts["symmetric"] and graphs.symmetric
        more = {"graphs": len(graphs), "nodes": graphs.num_nodes, "edges": graphs.num_edges}
        facts |= {count: facts[count] + number for count, number in more.items()}
    if not files:
        raise DataError(f"{place}: there are no graphs to write; pass at least one part, which may be empty")
    return files, facts


def _flat(graphs: Graphs, place: str) -> dict[str, np.ndarray]:
    source, destination = graphs.edge_index
    degree, edge_ptr = graphs.row_ptr.diff(), graphs.edge_ptr
    if not torch.equal(destination, torch.repeat_interleave(degree)):
        raise DataError(f"{place}: the edges are not sorted by destination; create the graphs with Graphs.build")
    if not positive(graphs):
        raise DataError(f"{place}: an edge weight is not positive; leave such edges out")
    owner = graphs.batch[destination]
    tensors = {
        "node_ptr": graphs.node_ptr,
        "edge_ptr": edge_ptr,
        "degree": degree,
        "source": source - graphs.node_ptr[owner],
        "pair": graphs.pair - edge_ptr[owner],
        "x": graphs.x,
        **{name: getattr(graphs, name) for name in OPTIONAL},
    }
    try:
        return {name: tensor.detach().numpy() for name, tensor in tensors.items() if tensor is not None}
    except TypeError:  # bfloat16
        raise DataError(f"{place}: a tensor has a type that NumPy does not support; convert it to float32") from None
