"""Check the contents of a store beyond sizes and checksums."""

import numpy as np
import torch

from nmrgcl.graphs import Graphs
from nmrgcl.store.manifest import Recorded

TYPES = frozenset(["|b1", "|u1", "|i1", *(f"<{kind}{size}" for kind in "uif" for size in (2, 4, 8))])
"""The types that ``write_store`` writes; NumPy knows many more, including pickled objects."""

MAX_FEATURES = 1 << 31
_WITHOUT_ARITHMETIC = frozenset(["<u2", "<u4", "<u8"])  # torch has these types, but few operations for them


def possible_type(recorded: Recorded) -> bool:
    """Return True if values can be converted from the type on disk to that in memory without loss."""
    if not {recorded.dtype, recorded.memory} <= TYPES:
        return False
    disk, memory = np.dtype(recorded.dtype), np.dtype(recorded.memory)
    if disk.kind not in "iu" or memory.kind not in "iu":
        return disk == memory
    return disk.itemsize <= memory.itemsize and (disk.kind, memory.kind) != ("i", "u")


def possible_shape(name: str, values: np.ndarray, memory: np.dtype, num_features: int) -> bool:
    """Return True if an array has the dimensions and type that ``Graphs`` needs."""
    if memory.str in _WITHOUT_ARITHMETIC:
        return False
    if name == "x":
        columns = values.shape[1] == num_features if memory.kind == "f" else 0 <= num_features < MAX_FEATURES
        return values.ndim == 2 and memory.kind != "b" and columns
    if name == "degree":
        return values.itemsize < 8  # their sum must fit a signed 64-bit integer
    return name != "edge_weight" or values.ndim == 1


def wrong_array(graphs: Graphs) -> str | None:
    """Return the array at fault if edges are not sorted, not paired, or not positively weighted, else None."""
    source, destination = graphs.edge_index
    if not bool((torch.diff(destination * graphs.num_nodes + source) >= 0).all()):
        return "source"
    if not _paired(graphs):
        return "pair"
    return None if positive(graphs) else "edge_weight"


def _paired(graphs: Graphs) -> bool:
    """Return True if ``pair`` maps the second edge of each pair of reverses to the first."""
    source, destination = graphs.edge_index
    position = torch.arange(graphs.num_edges)
    second = (graphs.pair != position).nonzero().squeeze(1)
    first = graphs.pair[second]
    seconds = torch.bincount(first, minlength=graphs.num_edges)
    alone = seconds == 0
    alone[second] = False
    return bool(
        (first < second).all()
        and (graphs.pair[first] == first).all()
        and (seconds <= 1).all()
        and torch.equal(source[first], destination[second])
        and torch.equal(destination[first], source[second])
        # A self-loop is its own reverse.
        and not (graphs.symmetric and (source[alone] != destination[alone]).any())
    )


def positive(graphs: Graphs) -> bool:
    """Return True if all edge weights are positive and finite."""
    weight = graphs.edge_weight
    return weight is None or bool((weight > 0).all() and weight.isfinite().all())
