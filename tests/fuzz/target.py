"""What a fuzzer needs to know about one parser, and what every dataset it accepts must be."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from nmrgcl.data.dataset import Dataset

Files = Mapping[str, bytes]


@dataclass(frozen=True)
class Target:
    """A parser under test.

    Attributes:
        name: what the table of results calls it.
        examples: valid inputs; each is one file or several that belong together.
        tokens: byte strings that mean something in this format, for token mutation.
        read: the parser; it returns a dataset, or raises ``DataError`` with one line.
        agree: asserts that an accepted dataset is what the (mutated) files say, by an independent slow reading.
    """

    name: str
    examples: tuple[Files, ...]
    tokens: tuple[bytes, ...]
    read: Callable[[Files], Dataset]
    agree: Callable[[Files, Dataset], None]


def check_sound(data: Dataset) -> None:
    """Whatever was read, its parts must fit together."""
    graphs = data.graphs
    n, e = graphs.num_nodes, graphs.num_edges
    source, destination = graphs.edge_index
    assert int(graphs.node_ptr[0]) == 0
    assert int(graphs.node_ptr[-1]) == n
    assert (graphs.node_ptr.diff() >= 0).all()
    assert (source != destination).all()
    assert torch.equal(graphs.batch[source], graphs.batch[destination])
    assert (torch.diff(destination * n + source) > 0).all()
    if graphs.y is not None:
        assert len(graphs.y) == (n if data.level == "node" else graphs.num_graphs)
        assert sorted(set(graphs.y.tolist()) - {-1}) == list(range(len(data.classes)))
    for values, count in [
        (data.node_labels, n),
        (data.node_attributes, n),
        (data.public_split, n),
        (data.edge_labels, e),
        (data.edge_attributes, e),
        (graphs.edge_weight, e),
    ]:
        assert values is None or values.shape[0] == count
    for attributes in (data.node_attributes, data.edge_attributes):
        if attributes is not None:
            assert np.isfinite(attributes if isinstance(attributes, np.ndarray) else attributes.data).all()
    assert graphs.edge_weight is None or bool((graphs.edge_weight > 0).all() and graphs.edge_weight.isfinite().all())
