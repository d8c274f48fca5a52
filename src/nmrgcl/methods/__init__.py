"""Methods: views + encoder + objective. A file here that ends in ``METHOD = …`` is a method; its name is the file's."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from nmrgcl.encode import build_encoder, pool
from nmrgcl.errors import SettingError, nearest
from nmrgcl.graphs import Graphs
from nmrgcl.settings import Settings


class Method(nn.Module, ABC):
    """An encoder and the way it is pre-trained."""

    FIXED: ClassVar[dict[str, Any]] = {}
    """Settings that make the method what it is."""

    def __init__(self, settings: Settings, num_features: int) -> None:
        super().__init__()
        if settings.level != "graph":
            raise SettingError(f"method {settings.method} embeds graphs; level = {settings.level} is not available")
        options = asdict(settings.encoder)
        self.readout = options.pop("pool")
        self.encoder = build_encoder(options.pop("name"), num_features, **options)

    @abstractmethod
    def losses(self, graphs: Graphs) -> Iterator[Tensor]:
        """Yield the losses of one batch; the optimiser steps after each of them."""

    def embed(self, graphs: Graphs) -> Tensor:
        """``[B, D]`` graph embeddings, honouring the masks of a view."""
        if graphs.device.type == "cpu":
            graphs = graphs.compact()  # a host that waits for nobody saves work with smaller tensors
        return pool(self.encoder(graphs), graphs, self.readout)


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
