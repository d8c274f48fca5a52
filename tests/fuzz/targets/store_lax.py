"""Stores whose checksums are made right after the change, so that what they hold has to be judged."""

import hashlib
import json
from typing import Any

import numpy as np
import torch

from nmrgcl.checksums import checksum_of
from nmrgcl.data.dataset import Dataset, dataset_of
from nmrgcl.errors import DataError
from nmrgcl.store import MANIFEST, open_store
from tests.fuzz.target import Files, Target
from tests.fuzz.targets.store import EXAMPLES, TOKENS, write


def read(files: Files) -> Dataset:
    graphs = open_store(write(_repaired(files)), verify=True).graphs()
    source, destination = graphs.edge_index
    repeats = (torch.diff(destination * graphs.num_nodes + source) == 0).any()
    huge = graphs.y is not None and graphs.y.is_floating_point() and (graphs.y.abs() >= 2**63).any()
    # A store may hold such graphs, a dataset may not.
    if repeats or huge or (source == destination).any() or not graphs.x.float().isfinite().all():
        raise DataError("loops, repeated edges, or features and labels that are no numbers")
    return dataset_of(graphs)


def agree(files: Files, data: Dataset) -> None:
    """Edges, pairs, weights, features and classes one by one, from the bytes."""
    manifest = json.loads(files[MANIFEST])
    held = {name: _values(files[f"{name}.bin"], entry) for name, entry in manifest["arrays"].items()}
    graphs, edges, pairs = data.graphs, [], []
    for start, end, first, last in zip(
        held["node_ptr"], held["node_ptr"][1:], held["edge_ptr"], held["edge_ptr"][1:], strict=False
    ):
        ends = [node for node in range(start, end) for _ in range(held["degree"][node])]
        edges += [[start + source, node] for source, node in zip(held["source"][first:last], ends, strict=True)]
        pairs += [first + pair for pair in held["pair"][first:last]]
    assert graphs.edge_index.T.tolist() == edges
    assert graphs.pair.tolist() == pairs
    assert graphs.node_ptr.tolist() == held["node_ptr"]
    for edge, pair in enumerate(pairs):
        assert pair == edge or (pair < edge and pairs[pair] == pair and edges[pair] == edges[edge][::-1])
        assert pairs.count(pair) == 2 if manifest["symmetric"] else pairs.count(pair) in (1, 2)
    assert graphs.x.tolist() == held["x"]
    assert graphs.num_features == manifest["num_features"]
    if graphs.edge_weight is not None:
        assert graphs.edge_weight.tolist() == held["edge_weight"]
    if data.y is not None:
        given = [None if value != value else value for value in held["y"]]
        assert [None if code < 0 else data.classes[code] for code in data.y] == given


def _values(data: bytes, entry: dict[str, Any]) -> Any:
    return np.frombuffer(data, entry["dtype"]).reshape(entry["shape"]).tolist()


def _repaired(files: Files) -> Files:
    """The same store with the digests that its files have, and the checksum that its manifest then has."""
    try:
        manifest = json.loads(files.get(MANIFEST, b""))
        for name, entry in manifest["arrays"].items():
            entry["sha256"] = hashlib.sha256(files[f"{name}.bin"]).hexdigest()
    except (ValueError, KeyError, TypeError, AttributeError):
        return files
    manifest["checksum"] = checksum_of(manifest)
    return {**files, MANIFEST: json.dumps(manifest).encode()}


TARGET = Target(name="store_lax", examples=EXAMPLES, tokens=TOKENS, read=read, agree=agree)
