"""Graph embeddings as a scikit-learn transformer."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nmrgcl import atomic
from nmrgcl.data.accept import as_dataset
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import features_for
from nmrgcl.data.ids import id_array
from nmrgcl.encode.named import Named, encoder_reference
from nmrgcl.errors import SettingError
from nmrgcl.evaluate.normalise import Normalise, normalised, require_word
from nmrgcl.hub import fetch_model, push_model
from nmrgcl.method_files import method_reference
from nmrgcl.methods import Method, Pretraining, build_method
from nmrgcl.model_folder import MODEL, Model, load_model, read_embedder, save_model
from nmrgcl.run.cell import canonical
from nmrgcl.run.cell_data import digest_of, training_source
from nmrgcl.run.embeddings import column_scale, embed_dataset
from nmrgcl.run.machine import choose_device, suitable_threads
from nmrgcl.run.recipe import recipe, require_level, with_encoder
from nmrgcl.run.warm_start import Kept, weights_alone, with_more_epochs
from nmrgcl.settings import Settings
from nmrgcl.settings.check import flatten
from nmrgcl.train import pretrain

_SAVED_ELSEWHERE = {
    "method",
    "encoder",
    "level",
    "preset",
    "random_state",
    "settings",
    "model",
    "normalise",
    "device",
    "verbose",
}
"""Parameters that a model folder stores in its settings, or that depend on the machine."""


def ids_of(dataset: Dataset, level: Literal["graph", "node"]) -> np.ndarray:
    """Return the ids of graphs or nodes as in files of embeddings."""
    return id_array(dataset.ids(level), dataset.counts[level == "node"])


def saved_parameters(folder: Path | str, cls: type[BaseEstimator]) -> dict[str, Any]:
    """Return the parameters stored in a model folder that ``cls`` accepts."""
    known = set(cls._get_param_names()) - _SAVED_ELSEWHERE
    return {name: value for name, value in read_embedder(Path(folder))["parameters"].items() if name in known}


class GraphEmbedder(TransformerMixin, BaseEstimator):
    """Pre-train an encoder on graphs without labels; returns one embedding per graph.

    Graphs may be a dataset name or path, PyG, NetworkX or igraph graphs, adjacency matrices, or ``Graphs``;
    ``docs/your-data.md`` describes how they are read. With ``level="node"``, pass one graph to get one embedding per
    node.

    Args:
        method: name of the method, a file such as ``mine.py``, or a class.
        encoder: None: that of the preset. Otherwise a name, a file such as ``gcn.py:GCN3``, or a ``torch.nn.Module``
            with PyG's signature ``(x, edge_index, batch)``: a class, a function of the number of features, or an
            instance, from whose weights every seed starts.
        level: ``graph``, or ``node`` for the nodes of one graph.
        preset: name of the preset; None: the default of the method for this level.
        random_state: seed of everything; None or a ``RandomState`` draws one.
        settings: settings that override the preset, for example ``{"train.epochs": 5}``. They are also available as
            parameters, for example ``settings__epochs`` or ``settings__encoder__units``.
        normalise: scaling of embeddings: ``none``, ``l2``, ``standardise`` or ``squash`` (docs/using-embeddings.md).
        node_feature: the node attribute, or list of attributes, to use as features; None: all numbers and text.
        edge_feature: the same for edges, if ``data.edges`` selects attributes.
        edge_weight: the edge attribute that holds the weight, if there is one; None: edges are unweighted.
        categorical: treat integer node features as categories, one-hot encoded.
        directed: keep the direction of edges instead of making every edge undirected.
        unknown: how to treat node or edge labels that did not occur in ``fit``: ``error`` or ``zero``.
        device: ``auto``, ``cpu`` or ``cuda``.
        verbose: print each epoch.
        warm_start: let ``fit`` continue the previous training, for the same number of epochs again.

    Attributes:
        model_: the pre-trained model.
        history_: one ``Epoch`` per pass over the graphs.
        ids_: ids of the graphs or nodes of ``fit``, in order; numbers from 0 if they have none.

    Example:
        >>> import networkx as nx
        >>> from nmrgcl import GraphEmbedder
        >>> graphs = [nx.cycle_graph(n) for n in range(5, 15)] + [nx.star_graph(n) for n in range(5, 15)]
        >>> embedder = GraphEmbedder(preset="graphcl", settings={"epochs": 2})
        >>> embedder.fit(graphs).transform(graphs).shape
        (20, 96)
        >>> len(embedder.history_)
        2
        >>> nodes = GraphEmbedder("cca_ssg", level="node", node_feature=[], settings={"epochs": 1, "encoder.units": 16})
        >>> nodes.fit_transform(nx.karate_club_graph()).shape
        (34, 16)
    """

    PRESET: ClassVar[str | None] = None
    """The default preset; None: that of the method."""

    def __init__(
        self,
        method: str | type[Method] | None = "nmrgcl",
        *,
        encoder: Named | None = None,
        level: Literal["graph", "node"] = "graph",
        preset: str | None = None,
        random_state: int | np.random.RandomState | None = 0,
        settings: dict[str, Any] | None = None,
        normalise: Normalise = "squash",
        node_feature: str | Sequence[str] | None = None,
        edge_feature: str | Sequence[str] | None = None,
        edge_weight: str | None = "weight",
        categorical: bool = False,
        directed: bool = False,
        unknown: Literal["error", "zero"] = "error",
        device: str = "auto",
        verbose: bool = False,
        warm_start: bool = False,
    ) -> None:
        self.method = method
        self.encoder = encoder
        self.level = level
        self.preset = preset
        self.random_state = random_state
        self.settings = settings
        self.normalise = normalise
        self.node_feature = node_feature
        self.edge_feature = edge_feature
        self.edge_weight = edge_weight
        self.categorical = categorical
        self.directed = directed
        self.unknown = unknown
        self.device = device
        self.verbose = verbose
        self.warm_start = warm_start

    def fit(self, graphs: Any, y: Any = None) -> Self:
        """Pre-train on ``graphs``; ``y`` is ignored."""
        seed = _seed(self.random_state)
        self._resolved(graphs, self.level, seed)  # report invalid settings before the data is loaded
        # None, which MoleculeEmbedder allows, leaves the choice to the model.
        require_word(self.normalise or "none")
        device = choose_device(self.device)
        dataset = self._dataset(graphs)
        # Once more, because only now it is known whether the data are molecules, which have presets of their own.
        settings = self._resolved(graphs, dataset.kind if dataset.kind == "molecule" else self.level, seed)
        require_level(dataset, settings)
        before = self._before()
        features = features_for(dataset, settings.data) if before is None else before.features
        source = training_source(dataset, features, settings, device)
        method = build_method(settings, features.width, features.edge_shape).to(device)
        # Loaded, or fitted without warm_start, it has no checkpoint: its weights continue with a fresh optimiser.
        start = None if before is None else getattr(self, "_kept", None) or weights_alone(before)
        memory = Kept(start) if self.warm_start else None
        if start is None:
            self.history_ = []
        else:
            settings = with_more_epochs(settings, start)
        with suitable_threads(settings, dataset.counts[1]):
            for epoch in pretrain(method, source, settings.train, device=device, seed=settings.seed, memory=memory):
                self.history_.append(epoch)
                if self.verbose:
                    print(f"epoch {epoch.number}: loss {epoch.loss:.4f}")
        columns = column_scale(method, source)
        self.model_ = Model(method, settings, features, dataset.name, digest_of(source), columns=columns)
        self._kept = memory.checkpoint if memory else None
        self.ids_ = ids_of(dataset, settings.level)
        return self

    def transform(self, graphs: Any) -> np.ndarray:
        """Return ``[B, D]`` embeddings in the order of the graphs, or ``[N, D]`` in the order of the nodes."""
        model = self._fitted()
        z = embed_dataset(model, self._dataset(graphs), choose_device(self.device), unknown=self.unknown).z
        return normalised(z, self._scale(model), model.columns)

    @property
    def n_features_out_(self) -> int:
        """The dimension of the embeddings."""
        return self._fitted().method.full_width

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns: ``z0``, ``z1``, …."""
        return np.array([f"z{i}" for i in range(self.n_features_out_)], dtype=object)

    def save(self, folder: Path | str) -> None:
        """Write a model folder, as ``nmrgcl pretrain`` does; it may replace an earlier model, but no other folder."""
        model = self._fitted()
        with atomic.new_folder(Path(folder), MODEL) as fresh:
            ids = getattr(self, "ids_", np.empty(0)).tolist()
            scaled = replace(model, normalise=self._scale(model))
            save_model(fresh, scaled, embedder={"parameters": self._saved_parameters(), "ids": ids})

    @classmethod
    def load(
        cls,
        folder: Path | str,
        *,
        method: str | type[Method] | None = None,
        encoder: Named | None = None,
        **options: Any,
    ) -> Self:
        """Load a fitted embedder from a model folder, with its saved parameters.

        Args:
            folder: the model folder.
            method: file or class of a custom method that is not yet known on this machine.
            encoder: the same for a custom encoder.
            options: parameters of the constructor, such as ``device``, that override the saved ones.
        """
        if method is not None:
            method_reference(method)
        if encoder is not None:
            encoder_reference(encoder)
        model = load_model(Path(folder))
        options = {"normalise": model.normalise} | options
        loaded = cls(
            model.settings.method,
            level=model.settings.level,
            random_state=model.settings.seed,
            settings=model.settings.to_dict(),
            **(saved_parameters(folder, cls) | options),
        )
        loaded.model_, loaded.history_ = model, []
        ids = read_embedder(Path(folder))["ids"]
        loaded.ids_ = id_array(ids, len(ids))
        return loaded

    def push_to_hub(
        self,
        name: Path | str,
        *,
        metrics: Mapping[str, float] | None = None,
        private: bool = False,
        token: str | None = None,
    ) -> str:
        """Save the model to the repository ``name`` ("owner/name") of the Hub, or to a folder; returns its address.

        ``metrics`` go into its card. Needs huggingface_hub (extra hub), unless ``name`` is a folder: a ``Path``, or
        text that begins with ``.``, ``/`` or ``~``.
        """
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made) / "model"
            self.save(folder)
            return push_model(folder, name, metrics=metrics, private=private, token=token)

    @classmethod
    def from_pretrained(
        cls, name: Path | str, *, revision: str | None = None, token: str | None = None, **options: Any
    ) -> Self:
        """A fitted embedder by the name of its folder, or of its repository on the Hub; ``options`` as ``load`` has."""
        return cls.load(fetch_model(name, revision=revision, token=token), **options)

    def _saved_parameters(self) -> dict[str, Any]:
        """Return the plain parameters that neither are in the settings nor depend on the machine."""
        given = self.get_params(deep=False).items()
        plain = (str, int, float, list, tuple, type(None))
        return {name: value for name, value in given if name not in _SAVED_ELSEWHERE and isinstance(value, plain)}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # graphs, not a matrix of features
        return tags

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor and, if ``deep``, each setting as ``settings__…``."""
        params: dict[str, Any] = super().get_params(deep)
        if deep:
            given = dict(flatten(self.settings)) if isinstance(self.settings, Mapping) else {}
            params |= {f"settings__{key.replace('.', '__')}": value for key, value in given.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Change parameters of the constructor, or single settings: ``settings__epochs=5``."""
        single = {key: params.pop(key) for key in list(params) if key.startswith("settings__")}
        super().set_params(**params)
        if single:  # in a new dictionary, because a clone shares the old one
            given = dict(flatten(self.settings or {}))
            for key, value in single.items():
                name = key.removeprefix("settings__").replace("__", ".")
                # A setting may be given with or without its group, for example epochs and train.epochs.
                same = {one for one in given if f".{one}".endswith(f".{name}") or f".{name}".endswith(f".{one}")}
                given = {one: given[one] for one in given if one not in same} | {name: value}
            self.settings = given
        return self

    def _before(self) -> Model | None:
        """Return the model from which a warm start continues; methods that are fitted directly start anew."""
        model: Model | None = getattr(self, "model_", None) if self.warm_start else None
        return model if model is not None and isinstance(model.method, Pretraining) else None

    def _fitted(self) -> Model:
        check_is_fitted(self, "model_")
        return self.model_

    def _scale(self, model: Model) -> Normalise:
        return self.normalise

    def _dataset(self, graphs: Any) -> Dataset:
        return as_dataset(
            graphs,
            node_feature=self.node_feature,
            edge_feature=self.edge_feature,
            edge_weight=self.edge_weight,
            categorical=self.categorical,
            directed=self.directed,
        )

    def _resolved(self, graphs: Any, kind: str, seed: int = 0) -> Settings:
        """Resolve settings as commands do; a preset may have special values for a named dataset."""
        if not isinstance(self.settings, Mapping | None):
            raise SettingError(
                f"settings must be a dictionary such as {{'epochs': 5}}, not a {type(self.settings).__name__}"
            )
        name = canonical(str(graphs)) if isinstance(graphs, str | Path) else None
        wanted = dict(flatten(self.settings or {})) | {"seed": seed, "level": self.level}
        # A loaded embedder has complete settings, but its method is a parameter.
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


def _seed(random_state: Any) -> int:
    """Return an integer seed, drawn from a random state if necessary, as scikit-learn does."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
