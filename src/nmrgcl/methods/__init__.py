"""Methods: views, encoder and objective. Each file here that ends in ``METHOD = …`` is a method, named by the file."""

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
from nmrgcl.ops import across_ranks, serve
from nmrgcl.settings import Settings
from nmrgcl.train import Fittable, Trainable


@dataclass(frozen=True)
class About:
    """What ``nmrgcl methods NAME`` says about a method in addition to its options.

    Attributes:
        family: the kind of method in a word or two, such as "contrastive" or "graph kernel".
        paper: authors, year and title.
        trains: which parts are trained, and which of them embedding needs.
        published: scores from the paper, and how their epoch and settings were selected.
        checked: what tests compare with the paper or with another library.
    """

    family: str
    paper: str
    trains: str
    published: str = ""
    checked: str = ""


class Method(nn.Module, ABC):
    """A way to embed graphs: a ``Pretraining`` of an encoder, or an ``Embedder`` without an encoder.

    Example:
        >>> from nmrgcl import Method, find_method
        >>> issubclass(find_method("nmrgcl"), Method), issubclass(find_method("wl"), Method)
        (True, True)
    """

    options: Any
    """The options of this method: a frozen dataclass in its file, declared as ``options: Options``."""

    FIXED: ClassVar[dict[str, Any]] = {}
    """Settings that define the method and cannot be changed."""

    FORMAT: ClassVar[int] = 1
    """Part of the key of its cells; bump it when the meaning of its settings changes."""

    ABOUT: ClassVar[About | None] = None
    """Where the method comes from; required for the methods of this package."""

    PRESETS: ClassVar[dict[Level, str]] = {"graph": "strong"}
    """The levels at which it can embed, and the default preset for each."""

    MOLECULES: ClassVar[str | None] = None
    """The default preset for molecules; None: that for graphs."""

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
        self.colours = settings.colours
        if self.colours.width and (self.level == "node" or isinstance(self, Embedder)):
            raise SettingError("colours.width: colours are counted beside an encoder of graphs only; leave it out")
        # Built even for methods that do not use them, because an unknown name is a mistake in any case.
        self.views = [build_view(settings.views.first), build_view(settings.views.second)]

    @abstractmethod
    def embed(self, graphs: Graphs) -> Tensor:
        """Embeddings ``[B, D]`` of graphs or, at node level, ``[N, D]`` of all nodes."""

    @property
    @abstractmethod
    def width(self) -> int:
        """The dimension D of what ``embed`` returns."""

    @property
    def full_width(self) -> int:
        """The dimension of finished embeddings: those of ``embed``, and the counts of colours beside them."""
        return self.width + self.colours.width


class Embedder(Method, Fittable):
    """A method without an encoder: ``fit(graphs)``, then ``embed(graphs)``.

    The results of ``fit`` must be stored in buffers, which may have any shape, so that model folders include them.

    Example:
        >>> import torch
        >>> from nmrgcl import Embedder, GraphEmbedder
        >>> class Size(Embedder):
        ...     width = 1
        ...     def fit(self, graphs):
        ...         pass
        ...     def embed(self, graphs):
        ...         return graphs.node_counts().unsqueeze(1).float()
        >>> GraphEmbedder(Size, normalise="none").fit_transform("MUTAG")[:3].tolist()
        [[17.0], [13.0], [13.0]]
    """

    def kernels(self, graphs: Graphs) -> Tensor | None:
        """Kernels ``[K, B, B]`` of graphs for an SVM, or None if the SVM should use the embeddings.

        If there are several matrices, for example one per number of iterations, the protocol chooses among them inside
        the training folds.
        """
        return None

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Load the buffers whatever their shapes; raises RuntimeError if their names are not those of this method."""
        if strict and set(state_dict) != set(self.state_dict()):
            raise RuntimeError(f"expected the buffers {sorted(self.state_dict())}, found {sorted(state_dict)}")
        for name, value in state_dict.items():
            *parents, leaf = name.split(".")
            self.get_submodule(".".join(parents))._buffers[leaf] = value


class Pretraining(Method, Trainable):
    """An encoder and how it is pre-trained.

    ``edges`` describes the features of edges. A method that overrides ``__init__`` either passes it on, or omits the
    parameter and then refuses data with edge features.

    Example:
        >>> from nmrgcl import GraphEmbedder, Pretraining
        >>> class Shrink(Pretraining):
        ...     def losses(self, graphs, progress):
        ...         yield self.embed(graphs).square().mean()
        >>> settings = {"epochs": 1, "encoder.layers": 1, "encoder.units": 8}
        >>> GraphEmbedder(Shrink, settings=settings).fit_transform("MUTAG").shape
        (188, 8)
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
        """False with a user's own network: its views are compacted, which synchronises with the host."""
        return self.CAPTURABLE and not self._foreign

    @property
    def width(self) -> int:
        """The width of the encoder."""
        return self.encoder.units

    def embed_views(self, graphs: Graphs, first: View, second: View) -> Tensor:
        """Embeddings ``[2B, D]`` of the first view of all graphs, followed by those of the second view."""
        return torch.cat([self.embed(seen) for seen in self.see(graphs, first, second)])

    def see(self, graphs: Graphs, first: View, second: View) -> list[Graphs]:
        """Two views of all graphs for the encoder: one joint batch if GPU kernels serve it, otherwise two batches."""
        if self._foreign or not serve(graphs.x):
            return [self._trimmed(view(graphs)) for view in (first, second)]
        return [on_halves(graphs.twice(), first, second)]

    def taught(self, teachers: nn.ModuleDict, graphs: Graphs) -> Tensor:
        """``forward`` without gradients, with the parts named in ``teachers`` replaced by their teachers."""
        own = {
            f"{part}.{name}": value
            for part, teacher in teachers.items()
            for name, value in cast("Teacher", teacher).own(self.get_submodule(part)).items()
        }
        with torch.no_grad():
            result: Tensor = functional_call(self, own, (graphs,))
        return result

    def forward(self, graphs: Graphs) -> Tensor:
        """The output that is trained; ``embed`` unless a method overrides it."""
        return self.embed(graphs)

    def embed(self, graphs: Graphs) -> Tensor:
        """Embeddings ``[B, D]`` of graphs, honouring the masks of a view; at node level ``[N, D]`` of all nodes."""
        if self.level == "node":
            nodes: Tensor = self.encoder(self._trimmed(graphs))
            return nodes
        return embed_graphs(self.encoder, self._trimmed(graphs), self.readout)

    def _trimmed(self, graphs: Graphs) -> Graphs:
        """On a CPU, compact the graphs: it needs no synchronisation there, and smaller tensors save work.

        A user's own network gets compacted graphs in any case, from its wrapper.
        """
        if graphs.device.type != "cpu" or self._foreign:
            return graphs
        if self.level == "graph":
            return graphs.compact_nodes()
        # drop_dead_edges keeps removed nodes, which must not enter the statistics of a batch norm.
        return graphs if self._normed and graphs.node_keep is not None else drop_dead_edges(graphs)

    def embed_pair(self, first: Graphs, second: Graphs) -> tuple[Tensor, Tensor]:
        """Embeddings of two views, with matching rows; nodes that either view has removed are left out."""
        r1, r2 = self.matched(first, second, self.embed(first), self.embed(second))
        return r1, r2

    def matched(self, first: Graphs, second: Graphs, *rows: Tensor) -> tuple[Tensor, ...]:
        """The rows that are present in both views: all graphs, or the nodes that both views keep."""
        if self.level == "graph":
            return rows
        kept = [view.node_keep for view in (first, second) if view.node_keep is not None]
        if kept:
            both = torch.stack(kept).all(0).nonzero().squeeze(1)
            rows = tuple(row.index_select(0, both) for row in rows)
        # Ranks exchange these numbers, so every rank must get here, even one whose views have removed nothing.
        across_ranks.tell_rows(rows[0].shape[0])
        return rows


class MoleculePretraining(Pretraining):
    """A pre-training for molecules only, whose atoms and bonds are encoded as in Hu et al. 2020."""

    FIXED: ClassVar[dict[str, Any]] = {"encoder.name": "molecule"}

    def require_molecules(self, graphs: Graphs) -> None:
        """Refuse other graphs; the check uses only the shapes of features and so does not wait for the device."""
        columns = ATOMS + CHIRALITIES, len(BONDS)
        bonds = 0 if graphs.edge_attr is None else graphs.edge_attr.shape[-1]
        if not graphs.categorical or graphs.x.shape[1] != 2 or (graphs.num_features, bonds) != columns:
            name = type(self).__module__.rpartition(".")[2]
            raise DataError(
                f"method {name} learns from molecules only, and these graphs are not molecules; read them from SMILES "
                "with data.edges=labels, or use another method"
            )


def drop_dead_edges(graphs: Graphs) -> Graphs:
    """All nodes, without the edges that a view has removed directly or together with a node."""
    # Added edges may touch removed nodes, too, and live_edges covers only edges that are sorted in.
    graphs = graphs.merge_added()
    return replace(graphs, node_keep=None, edge_keep=graphs.live_edges).compact() if graphs.masked else graphs


def find_method(name: str) -> type[Pretraining] | type[Embedder]:
    """The class of the method called ``name``.

    Example:
        >>> from nmrgcl import find_method
        >>> find_method("grace").__name__
        'GRACE'
    """
    return load_method(name)


def build_method(settings: Settings, num_features: int, edges: EdgeShape | None = None) -> Pretraining | Embedder:
    """Build the method described by ``settings`` and initialise it by their seed.

    The encoder is initialised first, so that methods with the same encoder start from the same weights.

    Example:
        >>> from nmrgcl import build_method, resolve
        >>> settings = resolve("graphcl", assignments={"encoder.layers": 2, "encoder.units": 16})
        >>> build_method(settings, num_features=7).width
        32
    """
    kind = find_method(settings.method)
    if edges is not None and "edges" not in signature(kind).parameters:
        raise SettingError(f"method {settings.method} reads no edge features; set data.edges=none")
    # Weights are drawn on the CPU, whatever the device of the training, so no other generator has to be restored.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        return kind(settings, num_features, **({} if edges is None else {"edges": edges}))


def require_possible(settings: Settings) -> None:
    """Refuse settings that are impossible whatever the data."""
    shapes: dict[str, EdgeShape] = {"labels": (1,), "attributes": 1}
    build_method(settings, 1, shapes.get(settings.data.edges))


def build_pretraining(settings: Settings, num_features: int, edges: EdgeShape | None = None) -> Pretraining:
    """Like ``build_method``, for methods with an encoder; SettingError for others."""
    method = build_method(settings, num_features, edges)
    if not isinstance(method, Pretraining):
        raise SettingError(f"method {settings.label} has no encoder, but one is needed here; choose another method")
    return method


def build_untrained(settings: Settings, num_features: int, edges: EdgeShape | None = None) -> Pretraining:
    """The untrained method from which a training with ``settings`` starts.

    A method without an encoder is compared with the untrained encoder that its settings name.
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
