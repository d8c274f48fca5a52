"""Any network that takes PyG's ``(x, edge_index, batch)``, and optionally ``edge_attr`` or ``edge_weight``."""

import inspect
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from nmrgcl.encode.named import encoder_label, told_in_one_line
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs

_KNOWN = ("x", "edge_index", "batch", "edge_attr", "edge_weight", "batch_size")


class Foreign(nn.Module):
    """A user's own network as an encoder.

    It is tried on two tiny graphs to find out how wide its output is, and whether it has one row per node or, already
    pooled, one per graph. Such a network knows nothing of masks, so removed nodes and edges are dropped before it is
    called.
    """

    def __init__(self, network: nn.Module, num_features: int, name: str) -> None:
        super().__init__()
        self.network, self.name = network, name
        self._required, self._arguments = self._read_signature()
        out = self._try(num_features)
        self.units = out.shape[1]
        self.pooled = out.shape[0] == 2
        """True if the network returns one row per graph."""

    def forward(self, graphs: Graphs) -> Tensor:
        """``[N, units]``, zero for removed nodes; ``[B, units]`` if the network pools."""
        there = graphs.compact()
        if there.num_nodes == 0:
            return there.dense_x().new_zeros(graphs.num_graphs if self.pooled else graphs.num_nodes, self.units)
        # PyG's pooling counts graphs by the largest entry of batch.
        rows = int(there.batch[-1]) + 1 if self.pooled else there.num_nodes
        out = self._call(there)
        if out.shape != (rows, self.units):
            raise SettingError(f"{self._named} returned {list(out.shape)} where {[rows, self.units]} was expected")
        if self.pooled:
            return pad(out, (0, 0, 0, graphs.num_graphs - rows))  # graphs without nodes at the end of the batch
        if graphs.node_keep is None:
            return out
        kept = graphs.node_keep.nonzero().squeeze(1)
        return out.new_zeros(graphs.num_nodes, self.units).index_copy(0, kept, out)

    @property
    def _named(self) -> str:
        return f"encoder {encoder_label(self.name)}"

    def _call(self, graphs: Graphs) -> Tensor:
        given: dict[str, Any] = {
            "x": graphs.dense_x().float(),
            "edge_index": graphs.edge_index,
            "batch": graphs.batch,
            "edge_attr": graphs.edge_attr,
            "edge_weight": graphs.edge_weight,
            "batch_size": graphs.num_graphs,
        }
        if "edge_weight" in self._required and graphs.edge_weight is None:
            given["edge_weight"] = given["x"].new_ones(graphs.num_edges)
        if "edge_attr" in self._required and graphs.edge_attr is None:
            raise SettingError(f"{self._named} needs edge_attr, which these graphs do not have")
        with told_in_one_line(self.name):
            out = self.network(**{key: given[key] for key in self._arguments if given[key] is not None})
        if not isinstance(out, Tensor):
            raise SettingError(f"{self._named} returned a {type(out).__name__}; it must return a tensor")
        if not out.is_floating_point():
            raise SettingError(f"{self._named} returned {out.dtype}; embeddings must be floating point")
        return out

    def _read_signature(self) -> tuple[set[str], list[str]]:
        """The arguments without a default, and all arguments that are in ``_KNOWN``."""
        asked = inspect.signature(self.network.forward)
        single = {key: p for key, p in asked.parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
        gathered = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        required = {key for key, p in asked.parameters.items() if p.default is p.empty and p.kind not in gathered}
        if not {"x", "edge_index"} <= set(single) or not required <= set(_KNOWN):
            raise SettingError(
                f"{self._named}: its forward{asked} must take x and edge_index by these names; batch, edge_attr and "
                "edge_weight are passed if it has them, and others need a default"
            )
        return required, [key for key in _KNOWN if key in single]

    @torch.no_grad()
    def _try(self, num_features: int) -> Tensor:
        """Its output for a path of three nodes and a single edge. Lazy layers get their widths from this call."""
        ends = torch.tensor([[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]])
        x = torch.zeros(5, num_features)
        x[:, :1] = 1.0
        graphs = Graphs.build(ends, torch.tensor([0, 3, 5]), x=x)
        was_training = self.network.training
        # In evaluation mode the trial changes no running statistics.
        self.network.eval()
        failed: SettingError | None = None
        for edge_attr in self._possible_edge_attr(graphs.num_edges):
            try:
                out = self._call(replace(graphs, edge_attr=edge_attr))
            except SettingError as error:
                failed = failed or error
            else:
                break
        else:
            assert failed is not None
            raise failed
        self.network.train(was_training)
        if out.dim() != 2 or out.shape[0] not in (5, 2) or out.shape[1] == 0:
            raise SettingError(
                f"{self._named} returned {list(out.shape)} for 5 nodes in 2 graphs; expected a row per node, [5, D], "
                "or per graph, [2, D]"
            )
        return out

    def _possible_edge_attr(self, edges: int) -> Iterator[Tensor | None]:
        """Candidates to try: None if allowed, then numbers as wide as the network's matrices, then categories."""
        if "edge_attr" not in self._required:
            yield None
        if "edge_attr" not in self._arguments:
            return
        # A lazy layer has no shape before its first call.
        known = (p for p in self.network.parameters() if not isinstance(p, nn.UninitializedParameter))
        yield from (torch.zeros(edges, width) for width in sorted({1, *(p.shape[-1] for p in known if p.dim() == 2)}))
        yield from (torch.zeros(edges, columns, dtype=torch.long) for columns in (1, 2, 3))
