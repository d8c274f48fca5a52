"""Methods: views + encoder + objective. A file here that ends in ``METHOD = …`` is a method; its name is the file's."""

from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from nmrgcl.augment import View, on_halves
from nmrgcl.encode import build_encoder, embed_graphs
from nmrgcl.errors import SettingError, nearest
from nmrgcl.graphs import Graphs
from nmrgcl.kernels import serve
from nmrgcl.settings import Settings
from nmrgcl.train import Trainable

Level = Literal["graph", "node"]


class Method(Trainable):
    """An encoder and the way it is pre-trained."""

    FIXED: ClassVar[dict[str, Any]] = {}
    """Settings that make the method what it is."""

    PRESETS: ClassVar[dict[Level, str]] = {"graph": "strong"}
    """What it can embed, graphs or the nodes of one, and the recipe for each where none is named."""

    def __init__(self, settings: Settings, num_features: int) -> None:
        super().__init__()
        if settings.level not in self.PRESETS:
            ((level, preset),) = self.PRESETS.items()
            raise SettingError(
                f"method {settings.method} embeds {level}s, not {settings.level}s; use level = {level} "
                f"(--preset {preset}) or another method"
            )
        self.level: Level = settings.level
        options = asdict(settings.encoder)
        self.readout = options.pop("pool")
        self.encoder = build_encoder(options.pop("name"), num_features, **options)

    def embed_views(self, graphs: Graphs, first: View, second: View) -> Tensor:
        """``[2B, D]``: all graphs as the first view shows them, then as the second one does."""
        if not serve(graphs.x):
            return torch.cat([self.embed(view(graphs)) for view in (first, second)])
        return self.embed(on_halves(graphs.twice(), first, second))

    def embed(self, graphs: Graphs) -> Tensor:
        """``[B, D]`` embeddings of graphs, honouring the masks of a view; at node level ``[N, D]`` of all nodes."""
        on_host = graphs.device.type == "cpu"  # which waits for nobody, and saves work with smaller tensors
        if self.level == "node":
            nodes: Tensor = self.encoder(drop_dead_edges(graphs) if on_host else graphs)
            return nodes
        if on_host:
            graphs = graphs.compact_nodes()
        return embed_graphs(self.encoder, graphs, self.readout)

    def embed_pair(self, first: Graphs, second: Graphs) -> tuple[Tensor, Tensor]:
        """Embeddings of two views, row i of both being the same graph or node; nodes that one has lost are left out."""
        r1, r2 = self.matched(first, second, self.embed(first), self.embed(second))
        return r1, r2

    def matched(self, first: Graphs, second: Graphs, *rows: Tensor) -> tuple[Tensor, ...]:
        """The ``rows`` of both views that are in both: all graphs, or the nodes that both keep."""
        kept = [view.node_keep for view in (first, second) if view.node_keep is not None]
        if self.level == "graph" or not kept:
            return rows
        both = torch.stack(kept).all(0).nonzero().squeeze(1)
        return tuple(row.index_select(0, both) for row in rows)


def drop_dead_edges(graphs: Graphs) -> Graphs:
    """All nodes, without the edges that a view has removed or whose ends it has."""
    graphs = graphs.merge_added()
    return replace(graphs, node_keep=None, edge_keep=graphs.live_edges).compact() if graphs.masked else graphs


def method_names() -> list[str]:
    """Every method there is."""
    files = (path for folder in __path__ for path in Path(folder).glob("*.py"))
    return sorted(path.stem for path in files if not path.stem.startswith("_"))


def find_method(name: str) -> type[Method]:
    """The class of the method called ``name``."""
    if name not in method_names():
        raise SettingError(f"unknown method {name!r}; {nearest(name, method_names())}")
    module = import_module(f"nmrgcl.methods.{name}")
    found = getattr(module, "METHOD", None)
    if not (isinstance(found, type) and issubclass(found, Method)):
        raise SettingError(f"{module.__file__}: names no method; end it with METHOD = and a subclass of Method")
    return found


def build_method(settings: Settings, num_features: int) -> Method:
    """The method that ``settings`` describe, initialised by its seed; the encoder's weights come first, so that
    methods with equal encoders start from equal ones.
    """
    kind = find_method(settings.method)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        return kind(settings, num_features)
