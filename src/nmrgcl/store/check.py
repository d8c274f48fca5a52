"""What the files of a store may hold, beyond what their sizes and checksums say."""

import numpy as np
import torch

from nmrgcl.graphs import Graphs
from nmrgcl.store.manifest import Recorded

TYPES = frozenset(["|b1", "|u1", "|i1", *(f"<{kind}{size}" for kind in "uif" for size in (2, 4, 8))])
"""Those that ``write_store`` writes; NumPy knows many more names, and some of them are programs."""

MAX_FEATURES = 1 << 31
_WITHOUT_ARITHMETIC = frozenset(["<u2", "<u4", "<u8"])  # in torch


def possible_type(recorded: Recorded) -> bool:
    """Whether values of the type on disk become ones of the type in memory without loss: only integers shrink."""
    if not {recorded.dtype, recorded.memory} <= TYPES:
        return False
    disk, memory = np.dtype(recorded.dtype), np.dtype(recorded.memory)
    if disk.kind not in "iu" or memory.kind not in "iu":
        return disk == memory
    return disk.itemsize <= memory.itemsize and (disk.kind, memory.kind) != ("i", "u")


def possible_shape(name: str, values: np.ndarray, memory: np.dtype, num_features: int) -> bool:
    """Whether an array of graphs has the dimensions and the kind of type that ``Graphs`` says."""
    if memory.str in _WITHOUT_ARITHMETIC:
        return False
    if name == "x":
        columns = values.shape[1] == num_features if memory.kind == "f" else 0 <= num_features < MAX_FEATURES
        return values.ndim == 2 and memory.kind != "b" and columns
    if name == "degree":
        return values.itemsize < 8  # they are added up in 64 bits with a sign
    return name != "edge_weight" or values.ndim == 1


def wrong_array(graphs: Graphs) -> str | None:
    """The array to blame where edges are not sorted, not paired as they must be, or weigh nothing."""
    source, destination = graphs.edge_index
    if not bool((torch.diff(destination * graphs.num_nodes + source) >= 0).all()):
        return "source"
    if not _paired(graphs):
        return "pair"
    return None if positive(graphs) else "edge_weight"


def _paired(graphs: Graphs) -> bool:
    """Whether ``pair`` joins edges with their reverses, two at a time and the second to the first."""
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
        # A loop is its own reverse.
        and not (graphs.symmetric and (source[alone] != destination[alone]).any())
    )


def positive(graphs: Graphs) -> bool:
    """Whether every edge weighs something, and something finite."""
    weight = graphs.edge_weight
    return weight is None or bool((weight > 0).all() and weight.isfinite().all())
