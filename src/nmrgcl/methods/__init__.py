"""Methods: views + encoder + objective. A file here that ends in ``METHOD = …`` is a method; its name is the file's."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from inspect import signature
from typing import Any, ClassVar, cast

import torch
from torch import Tensor, nn
from torch.func import functional_call

from nmrgcl.augment import View, build_view, on_halves
from nmrgcl.data.dataset import Level
from nmrgcl.data.molecules.vocabulary import ATOMS, BONDS, CHIRALITIES
from nmrgcl.encode import EdgeShape, Foreign, build_encoder, embed_graphs
from nmrgcl.encode.teacher import Teacher
from nmrgcl.errors import DataError, SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.method_files import load_method, method_names
from nmrgcl.ops import serve
from nmrgcl.settings import Settings
from nmrgcl.train import Fittable, Trainable


@dataclass(frozen=True)
class About:
    """What ``nmrgcl methods NAME`` says about a method beside its options.

    Attributes:
        family: how it learns, in a word or two that methods of one kind share: "contrastive", "graph kernel".
        paper: authors, year and title.
        trains: which parts have parameters, and what happens to those that embedding does not need.
        published: figures of its own paper, and how their epoch and settings were selected.
        checked: what tests compare with the paper or with another library.
    """

    family: str
    paper: str
    trains: str
    published: str = ""
    checked: str = ""


class Method(nn.Module, ABC):
    """Turns graphs into embeddings: a ``Pretraining`` of an encoder, or an ``Embedder`` without one."""

    options: Any
    """What only this method has: a frozen dataclass in its file, declared as ``options: Options``."""

    FIXED: ClassVar[dict[str, Any]] = {}
    """Settings that make the method what it is."""

    FORMAT: ClassVar[int] = 1
    """Part of the key of its cells; raise it when the same settings come to mean something else."""

    ABOUT: ClassVar[About | None] = None
    """Where it comes from; every method of this package says so."""

    PRESETS: ClassVar[dict[Level, str]] = {"graph": "strong"}
    """What it can embed, graphs or the nodes of one, and the recipe for each where none is named."""

    MOLECULES: ClassVar[str | None] = None
    """The recipe for graphs that are molecules; None: that for graphs."""

    def __init__(self, settings: Settings, num_features: int) -> None:
        super().__init__()
        if settings.level not in self.PRESETS:
            ((level, preset),) = self.PRESETS.items()
            raise SettingError(
                f"method {settings.label} embeds {level}s, not {settings.level}s; use level = {level} "
                f"(--preset {preset}) or another method"
            )
        self.level: Level = settings.level
        self.options = settings.options

    @abstractmethod
    def embed(self, graphs: Graphs) -> Tensor:
        """``[B, D]`` embeddings of graphs; at node level ``[N, D]`` of all nodes."""

    @property
    @abstractmethod
    def width(self) -> int:
        """D: the number of columns of embeddings."""


class Embedder(Method, Fittable):
    """Fits without an encoder: ``fit(graphs)``, then ``embed(graphs)``.

    What ``fit`` finds lives in buffers, which may have any shape, so that a model folder holds it.
    """

    def kernels(self, graphs: Graphs) -> Tensor | None:
        """``[K, B, B]`` similarities of graphs that an SVM uses instead of embeddings, or None if it is these it uses.

        Where there are several matrices, for example one per number of iterations, the protocol chooses among them
        inside the training folds.
        """
        return None

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Take over the buffers, whatever their shape; RuntimeError where there are others than ``__init__`` made."""
        if strict and set(state_dict) != set(self.state_dict()):
            raise RuntimeError(f"expected the buffers {sorted(self.state_dict())}, found {sorted(state_dict)}")
        for name, value in state_dict.items():
            *parents, leaf = name.split(".")
            self.get_submodule(".".join(parents))._buffers[leaf] = value


class Pretraining(Method, Trainable):
    """An encoder and the way it is pre-trained.

    ``edges`` says what features edges have. A method with an ``__init__`` of its own passes it on, or has no such
    parameter and is refused such data.
    """

    def __init__(self, settings: Settings, num_features: int, edges: EdgeShape | None = None) -> None:
        super().__init__(settings, num_features)
        self.features = num_features, edges
        options = asdict(settings.encoder)
        self.readout = options.pop("pool")
        self.encoder = build_encoder(options.pop("name"), num_features, **options, edges=edges)
        self._foreign = isinstance(self.encoder, Foreign)
        self._normed = settings.encoder.norm != "none"
        if isinstance(self.encoder, Foreign) and self.encoder.pooled and self.level == "node":
            raise SettingError(
                "level = node needs an encoder that returns a row per node; this one returns one per graph"
            )

    @property
    def capturable(self) -> bool:
        """Not with a network of the user's, for which views are compacted: that waits for the host."""
        return self.CAPTURABLE and not self._foreign

    @property
    def width(self) -> int:
        """As wide as the encoder."""
        return self.encoder.units

    def embed_views(self, graphs: Graphs, first: View, second: View) -> Tensor:
        """``[2B, D]``: all graphs as the first view shows them, then as the second one does."""
        return torch.cat([self.embed(seen) for seen in self.see(graphs, first, second)])

    def see(self, graphs: Graphs, first: View, second: View) -> list[Graphs]:
        """All graphs in two views, in one batch with kernels and in two without, which networks can then embed."""
        if self._foreign or not serve(graphs.x):
            return [self._trimmed(view(graphs)) for view in (first, second)]
        return [on_halves(graphs.twice(), first, second)]

    def taught(self, teachers: nn.ModuleDict, graphs: Graphs) -> Tensor:
        """``forward`` without a gradient, with the weights and statistics of ``teachers`` of the parts they name."""
        own = {
            f"{part}.{name}": value
            for part, teacher in teachers.items()
            for name, value in cast("Teacher", teacher).own(self.get_submodule(part)).items()
        }
        with torch.no_grad():
            result: Tensor = functional_call(self, own, (graphs,))
        return result

    def forward(self, graphs: Graphs) -> Tensor:
        """What is trained of what it sees: ``embed``, unless a method says otherwise."""
        return self.embed(graphs)

    def embed(self, graphs: Graphs) -> Tensor:
        """``[B, D]`` embeddings of graphs, honouring the masks of a view; at node level ``[N, D]`` of all nodes."""
        if self.level == "node":
            nodes: Tensor = self.encoder(self._trimmed(graphs))
            return nodes
        return embed_graphs(self.encoder, self._trimmed(graphs), self.readout)

    def _trimmed(self, graphs: Graphs) -> Graphs:
        """A processor waits for nobody, and saves work with smaller tensors; a user's network gets them anyway."""
        if graphs.device.type != "cpu" or self._foreign:
            return graphs
        if self.level == "graph":
            return graphs.compact_nodes()
        # The statistics of a batch norm must not see removed nodes, which this would keep.
        return graphs if self._normed and graphs.node_keep is not None else drop_dead_edges(graphs)

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


class MoleculePretraining(Pretraining):
    """Learns from molecules, whose atoms and bonds are numbered as in Hu et al. 2020, and from no other graphs."""

    FIXED: ClassVar[dict[str, Any]] = {"encoder.name": "molecule"}

    def require_molecules(self, graphs: Graphs) -> None:
        """By what is known without asking the device: the shapes of the features."""
        columns = ATOMS + CHIRALITIES, len(BONDS)
        bonds = 0 if graphs.edge_attr is None else graphs.edge_attr.shape[-1]
        if not graphs.categorical or graphs.x.shape[1] != 2 or (graphs.num_features, bonds) != columns:
            name = type(self).__module__.rpartition(".")[2]
            raise DataError(
                f"method {name} learns from molecules only, and these graphs are not; read them from SMILES with "
                "data.edges=labels, or use another method"
            )


def drop_dead_edges(graphs: Graphs) -> Graphs:
    """All nodes, without the edges that a view has removed or whose ends it has."""
    graphs = graphs.merge_added()
    return replace(graphs, node_keep=None, edge_keep=graphs.live_edges).compact() if graphs.masked else graphs


def find_method(name: str) -> type[Pretraining] | type[Embedder]:
    """The class of the method called ``name``."""
    return load_method(name)


def build_method(settings: Settings, num_features: int, edges: EdgeShape | None = None) -> Pretraining | Embedder:
    """The method that ``settings`` describe, initialised by its seed; the encoder's weights come first, so that
    methods with equal encoders start from equal ones.
    """
    kind = find_method(settings.method)
    if edges is not None and "edges" not in signature(kind).parameters:
        raise SettingError(f"method {settings.method} reads no edge features; set data.edges=none")
    for choices in (settings.views.first, settings.views.second):
        build_view(choices)  # also of a method that has no views: a name that nothing answers to is a mistake
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        return kind(settings, num_features, **({} if edges is None else {"edges": edges}))


def require_possible(settings: Settings) -> None:
    """Refuse, without looking at any data, what no data can make possible."""
    shapes: dict[str, EdgeShape] = {"labels": (1,), "attributes": 1}
    build_method(settings, 1, shapes.get(settings.data.edges))


def build_pretraining(settings: Settings, num_features: int, edges: EdgeShape | None = None) -> Pretraining:
    """Likewise for a method that must have an encoder."""
    method = build_method(settings, num_features, edges)
    if not isinstance(method, Pretraining):
        raise SettingError(f"method {settings.label} has no encoder, which is needed here; choose another method")
    return method


def build_untrained(settings: Settings, num_features: int, edges: EdgeShape | None = None) -> Pretraining:
    """What the training that ``settings`` describe starts from: the method itself, as its seed initialises it.

    A method without an encoder has no start; it is compared with the encoder that its settings name.
    """
    if issubclass(find_method(settings.method), Embedder):
        settings = settings.updated({"method": "untrained"})
    return build_pretraining(settings, num_features, edges)


__all__ = [
    "About",
    "Embedder",
    "Level",
    "Method",
    "MoleculePretraining",
    "Pretraining",
    "build_method",
    "build_pretraining",
    "build_untrained",
    "drop_dead_edges",
    "find_method",
    "method_names",
    "require_possible",
]
