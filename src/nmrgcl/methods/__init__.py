"""Methods: views + encoder + objective. A file here that ends in ``METHOD = …`` is a method; its name is the file's."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from nmrgcl.augment import View, on_halves
from nmrgcl.encode import build_encoder, embed_graphs
from nmrgcl.errors import SettingError, nearest
from nmrgcl.graphs import Graphs
from nmrgcl.kernels import serve
from nmrgcl.settings import Settings


class Method(nn.Module, ABC):
    """An encoder and the way it is pre-trained."""

    FIXED: ClassVar[dict[str, Any]] = {}
    """Settings that make the method what it is."""

    def __init__(self, settings: Settings, num_features: int) -> None:
        super().__init__()
        if settings.level != "graph":
            raise SettingError(f"method {settings.method} embeds graphs; level = {settings.level} is not available")
        options = settings.encoder
        self.encoder = build_encoder(options.name, num_features, layers=options.layers, units=options.units)
        self.readout = options.pool

    @abstractmethod
    def losses(self, graphs: Graphs) -> Iterator[Tensor]:
        """Yield the losses of one batch; the optimiser steps after each of them."""

    def embed_views(self, graphs: Graphs, first: View, second: View) -> Tensor:
        """``[2B, D]``: all graphs as the first view shows them, then as the second one does."""
        if not serve(graphs.x):
            return torch.cat([self.embed(view(graphs)) for view in (first, second)])
        return self.embed(on_halves(graphs.twice(), first, second))

    def embed(self, graphs: Graphs) -> Tensor:
        """``[B, D]`` graph embeddings, honouring the masks of a view."""
        if graphs.device.type == "cpu":
            graphs = graphs.compact_nodes()  # a host that waits for nobody saves work with smaller tensors
        return embed_graphs(self.encoder, graphs, self.readout)


def method_names() -> list[str]:
    """Every method there is."""
    files = Path(__file__).parent.glob("*.py")
    return sorted(path.stem for path in files if not path.stem.startswith("_"))


def find_method(name: str) -> type[Method]:
    """The class of the method called ``name``."""
    if name not in method_names():
        raise SettingError(f"unknown method {name!r}; {nearest(name, method_names())}")
    found: type[Method] = import_module(f"nmrgcl.methods.{name}").METHOD
    return found


def build_method(settings: Settings, num_features: int) -> Method:
    """The method that ``settings`` describe, initialised by its seed; the encoder's weights come first, so that
    methods with equal encoders start from equal ones.
    """
    kind = find_method(settings.method)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        return kind(settings, num_features)
