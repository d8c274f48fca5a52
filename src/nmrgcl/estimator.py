"""Graph embeddings for people who live in scikit-learn."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from nmrgcl import atomic
from nmrgcl.data.accept import as_dataset
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import choose_features
from nmrgcl.encode.named import Named, encoder_reference
from nmrgcl.errors import SettingError
from nmrgcl.method_files import method_reference
from nmrgcl.methods import Method, build_method
from nmrgcl.model_folder import MODEL, Model, load_model, save_model
from nmrgcl.run import choose_device, embed_dataset, require_level
from nmrgcl.run.cell import canonical
from nmrgcl.run.cell_data import digest_of, training_source
from nmrgcl.run.machine import suitable_threads
from nmrgcl.run.recipe import recipe, with_encoder
from nmrgcl.settings import Settings
from nmrgcl.settings.check import flatten
from nmrgcl.train import pretrain


class GraphEmbedder(TransformerMixin, BaseEstimator):
    """Pre-train an encoder on graphs without labels; then graphs in, one row of numbers a graph out.

    Graphs are a dataset's name or path, graphs of PyG, NetworkX or igraph, adjacency matrices, or ``Graphs``;
    ``docs/your-data.md`` says how they are read. With ``level="node"`` it is one graph, and one row a node comes out.

    Args:
        method: its name, a file of one's own such as ``mine.py``, or a class.
        encoder: the recipe's if None; its name, a file such as ``gcn.py:GCN3``, or any ``torch.nn.Module`` that takes
            PyG's ``(x, edge_index, batch)``: a class, a function of the number of features, or an instance, whose
            weights are what every seed starts from.
        level: ``graph``, or ``node`` for the nodes of one graph.
        preset: which recipe; the method's own for that level if None.
        random_state: the seed of everything.
        settings: single settings on top of the preset, for example ``{"train.epochs": 5}``.
        node_feature: the node attribute, or a list of them, to use as features; None: all that are numbers or text.
        edge_feature: likewise of edges, used where ``data.edges`` asks for attributes.
        edge_weight: the edge attribute that is the weight, if edges have it; None: edges have no weight.
        categorical: whole numbers in node features name kinds of nodes, so that each value is a column of its own.
        directed: edges lead where they are said to, instead of both ways.
        unknown: what to do with labels of nodes or edges that were not there in ``fit``: ``error`` or ``zero``.
        device: ``auto``, ``cpu`` or ``cuda``.
        verbose: print each epoch.

    Attributes:
        model_: the pre-trained model.
        history_: one ``Epoch`` for each pass over the graphs.
    """

    PRESET: ClassVar[str | None] = None
    """The recipe where none is named; None: the method's own."""

    def __init__(
        self,
        method: str | type[Method] | None = "nmrgcl",
        *,
        encoder: Named | None = None,
        level: Literal["graph", "node"] = "graph",
        preset: str | None = None,
        random_state: int = 0,
        settings: dict[str, Any] | None = None,
        node_feature: str | Sequence[str] | None = None,
        edge_feature: str | Sequence[str] | None = None,
        edge_weight: str | None = "weight",
        categorical: bool = False,
        directed: bool = False,
        unknown: Literal["error", "zero"] = "error",
        device: str = "auto",
        verbose: bool = False,
    ) -> None:
        self.method = method
        self.encoder = encoder
        self.level = level
        self.preset = preset
        self.random_state = random_state
        self.settings = settings
        self.node_feature = node_feature
        self.edge_feature = edge_feature
        self.edge_weight = edge_weight
        self.categorical = categorical
        self.directed = directed
        self.unknown = unknown
        self.device = device
        self.verbose = verbose

    def fit(self, graphs: Any, y: Any = None) -> Self:
        """Pre-train on ``graphs``; ``y`` is not looked at."""
        self._resolved(graphs, self.level)  # what is impossible is said before the data is loaded
        device = choose_device(self.device)
        dataset = self._dataset(graphs)
        settings = self._resolved(graphs, dataset.kind if dataset.kind == "molecule" else self.level)
        require_level(dataset, settings)
        options = settings.data
        features = choose_features(dataset, options.features, options.max_degree, options.scale, options.edges)
        source = training_source(dataset, features, settings, device)
        method = build_method(settings, features.width, features.edge_shape).to(device)
        self.history_ = []
        with suitable_threads(settings):
            for epoch in pretrain(method, source, settings.train, device=device, seed=settings.seed):
                self.history_.append(epoch)
                if self.verbose:
                    print(f"epoch {epoch.number}: loss {epoch.loss:.4f}")
        self.model_ = Model(method, settings, features, dataset.name, digest_of(source))
        return self

    def transform(self, graphs: Any) -> np.ndarray:
        """``[B, D]`` embeddings in the order of ``graphs``, or ``[N, D]`` in that of the nodes."""
        model = self._fitted()
        return embed_dataset(model, self._dataset(graphs), choose_device(self.device), unknown=self.unknown).z

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """``z0``, ``z1``, …: the names of the columns."""
        return np.array([f"z{i}" for i in range(self._fitted().method.width)], dtype=object)

    def save(self, folder: Path | str) -> None:
        """Write a model folder, as ``nmrgcl pretrain`` does; it replaces an earlier model, but no other folder."""
        model = self._fitted()
        with atomic.new_folder(Path(folder), MODEL) as fresh:
            save_model(fresh, model)

    @classmethod
    def load(
        cls,
        folder: Path | str,
        *,
        method: str | type[Method] | None = None,
        encoder: Named | None = None,
        **options: Any,
    ) -> Self:
        """A fitted embedder from a model folder.

        Args:
            folder: of the model.
            method: the file or the class of a method of one's own, which this user has not named before.
            encoder: likewise of an encoder of one's own.
            options: such as ``device``, for the constructor.
        """
        if method is not None:
            method_reference(method)
        if encoder is not None:
            encoder_reference(encoder)
        model = load_model(Path(folder))
        loaded = cls(
            model.settings.method,
            level=model.settings.level,
            random_state=model.settings.seed,
            settings=model.settings.to_dict(),
            **options,
        )
        loaded.model_, loaded.history_ = model, []
        return loaded

    def _fitted(self) -> Model:
        check_is_fitted(self, "model_")
        return self.model_

    def _dataset(self, graphs: Any) -> Dataset:
        return as_dataset(
            graphs,
            node_feature=self.node_feature,
            edge_feature=self.edge_feature,
            edge_weight=self.edge_weight,
            categorical=self.categorical,
            directed=self.directed,
        )

    def _resolved(self, graphs: Any, kind: str) -> Settings:
        """As the commands resolve them; a dataset by name may have values of its own in the preset."""
        if not isinstance(self.settings, Mapping | None):
            raise SettingError(
                f"settings is a dictionary such as {{'epochs': 5}}, not a {type(self.settings).__name__}"
            )
        name = canonical(str(graphs)) if isinstance(graphs, str | Path) else None
        wanted = dict(flatten(self.settings or {})) | {"seed": self.random_state, "level": self.level}
        wanted.pop("method", None)
        wanted = with_encoder(wanted, self.encoder)
        return recipe(
            self.method,
            preset=self.preset or self.PRESET,
            assignments=wanted,
            level=kind,
            dataset=name,
            source="settings",
        )
