"""All settings of a run, as frozen dataclasses."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any, Literal

from nmrgcl import own_code
from nmrgcl.errors import SettingError, nearest
from nmrgcl.method_files import method_names, options_class, options_of
from nmrgcl.settings.check import ViewChoices, build, find_key, flatten, setting
from nmrgcl.settings.renamed import OPTIONS, RENAMED


class ForeignOptionError(SettingError):
    """An option that only other methods have."""


@dataclass(frozen=True)
class DataSettings:
    """The features to use.

    The default of ``edges`` is ``none``, so that older settings keep their meaning and cells keep their keys.
    """

    features: Literal["auto", "labels", "attributes", "constant", "degree", "molecules"] = setting(
        "auto", "node features; auto: atoms of molecules, else labels, else attributes, else degrees"
    )
    max_degree: int = setting(32, "higher degrees are treated as this one, for features = degree", min=1)
    scale: Literal["none", "rows"] = setting("none", "rows: scale the attributes of each node to sum to one")
    edges: Literal["auto", "labels", "attributes", "none"] = setting(
        "none", "edge features; auto: labels, else attributes, else none"
    )


@dataclass(frozen=True)
class ViewSettings:
    """The two views; if a view has several choices, each graph draws one of them."""

    first: ViewChoices = setting(  # noqa: RUF009 - it is a field
        ({"name": "DropNodes", "p": 0.2},), "augmentations of the first view; each graph draws one of several"
    )
    second: ViewChoices = setting(({"name": "DropNodes", "p": 0.2},), "the same for the second view")  # noqa: RUF009


@dataclass(frozen=True)
class EncoderSettings:
    """The encoder, which remains after pre-training."""

    name: str = setting("gin", "gin, gcn, gat or molecule; for a network of your own use --encoder FILE:CLASS")
    layers: int = setting(3, "message-passing layers", min=1, max=1000)
    units: int = setting(32, "width of each layer", min=1)
    pool: Literal["sum", "mean", "max"] = setting("sum", "how node embeddings are pooled to a graph embedding")
    activation: Literal["relu", "prelu", "rrelu", "elu"] = setting("relu", "activation function, for gcn and gat")
    activate_last: bool = setting(True, "apply the activation after the last layer too, for gcn and gat")
    dropout: float = setting(0.0, "dropout rate; not for networks of your own", min=0, below=1)
    norm: Literal["none", "batch"] = setting("none", "normalisation between layers, for gcn")
    jk: Literal["auto", "cat", "last"] = setting(
        "auto",
        "node embedding: all layers concatenated (gin, molecule) or the last one; auto: cat for gin, else last",
    )


@dataclass(frozen=True)
class ColourSettings:
    """Counts of Weisfeiler–Lehman colours, which complete the embeddings of graphs beside the trained dimensions."""

    width: int = setting(0, "dimensions that count colours; 0: none", min=0, max=2**20)
    rounds: int = setting(3, "rounds of refinement; a colour describes a node up to so many steps", min=0, max=100)


@dataclass(frozen=True)
class TrainSettings:
    """The training loop."""

    epochs: int = setting(20, "passes over the data", min=0)
    batch_size: int = setting(128, "graphs per step; at node level, seed nodes per step", min=2)
    lr: float = setting(1e-3, "learning rate", above=0)
    patience: int = setting(0, "epochs without a lower loss after which training stops; 0: never", min=0)
    least_gain: float = setting(
        0.0, "relative improvement over the lowest loss that counts as progress, for patience", min=0, below=1
    )
    precision: Literal["float32", "tf32", "bf16"] = setting(
        "float32", "precision of matrix products: tf32 rounds their factors, bf16 their results, too"
    )
    deterministic: bool = setting(False, "use only deterministic operations on a GPU")
    capture: bool = setting(True, "record steps as CUDA graphs on a GPU")
    chunk_graphs: int = setting(0, "graphs on the device at a time; 0: all, or as many as fit", min=0)
    sampling: Literal["none", "walk", "neighbours"] = setting(
        "none", "input of a step at node level: the whole graph, random walks from each node, or sampled neighbours"
    )
    hops: int = setting(2, "length of a random walk, or rounds of neighbour sampling", min=1)
    fanout: int = setting(10, "neighbours sampled per node and round", min=1)
    schedule: Literal["constant", "linear", "cosine"] = setting(
        "constant", "how the learning rate decays to zero after the warm-up; constant: no decay"
    )
    warmup: float = setting(0.0, "share of the steps over which the learning rate rises to lr", min=0, below=1)
    weight_decay: float = setting(0.0, "weight decay of AdamW", min=0)
    steps: int = setting(0, "batches after which training stops, regardless of epochs; 0: whole epochs", min=0)
    max_graphs: int = setting(
        0, "number of graphs to train on, a random sample that is the same for all seeds; 0: all", min=0
    )


@dataclass(frozen=True)
class SVMSettings:
    """The evaluation of graph embeddings by an SVM."""

    c: Literal["grid", "fine", "default"] = setting(
        "grid", "penalty C: chosen from a grid inside the training folds, from a finer grid (fine), or 1 (default)"
    )
    inner: Literal["shuffled", "in_order"] = setting("shuffled", "how the inner folds that choose C are split")
    standardise: Literal[True, False, "squashed"] = setting(
        True, "standardise columns by the training rows; squashed: also compress long tails by asinh"
    )
    folds: int = setting(10, "folds of the cross-validation", min=2)


@dataclass(frozen=True)
class LinearSettings:
    """The evaluation of node embeddings by logistic regression."""

    normalise: Literal["none", "l2", "standardise", "squash"] = setting(
        "l2", "how embeddings are scaled before logistic regression"
    )


@dataclass(frozen=True)
class FinetuneSettings:
    """Training an encoder and a linear head with labels."""

    epochs: int = setting(200, "passes over the training part", min=1)
    lr: float = setting(1e-2, "learning rate", above=0)
    halve_every: int = setting(0, "epochs after which the learning rate is halved repeatedly; 0: never", min=0)
    weight_decay: float = setting(5e-4, "weight decay", min=0)
    patience: int = setting(50, "epochs without a better validation score after which training stops; 0: never", min=0)
    head_norm: bool = setting(False, "apply batch norm to embeddings before the head")
    head_dropout: float = setting(0.0, "dropout before the head; 0: as in the encoder", min=0, below=1)
    grid: Literal["none", "small", "pooling"] = setting(
        "none", "grid of settings from which each fold chooses by validation score"
    )
    runs: int = setting(1, "trainings per fold, whose scores are averaged", min=1)
    head_lr_scale: float = setting(1.0, "learning rate of the head, relative to lr", above=0)
    precision: Literal["float32", "tf32", "bf16"] = setting(
        "float32", "precision of matrix products: tf32 rounds their factors, bf16 their results, too"
    )
    batches: Literal["random", "by_size"] = setting(
        "random", "random graphs, or one of each size, which needs less GPU memory"
    )


@dataclass(frozen=True)
class Settings:
    """All settings of a run: those that methods share, and the options of its method.

    Example:
        >>> from nmrgcl import Settings, resolve
        >>> Settings().method, resolve("graphcl", preset="graphcl").train.epochs
        ('nmrgcl', 20)
    """

    method: str = setting("nmrgcl", "the pre-training method; nmrgcl methods lists them")
    # scikit-learn accepts no larger seed.
    seed: int = setting(0, "first seed of initialisation, training and folds", min=0, max=2**32 - 1)
    level: Literal["graph", "node"] = setting("graph", "what to embed: graphs, or the nodes of one graph")
    data: DataSettings = DataSettings()
    views: ViewSettings = ViewSettings()
    encoder: EncoderSettings = EncoderSettings()
    colours: ColourSettings = ColourSettings()
    options: Any = None
    train: TrainSettings = TrainSettings()
    svm: SVMSettings = SVMSettings()
    linear: LinearSettings = LinearSettings()
    finetune: FinetuneSettings = FinetuneSettings()

    def __post_init__(self) -> None:
        kind = options_class(self.method)
        if self.options is None:
            object.__setattr__(self, "options", kind())
        elif not isinstance(self.options, kind):
            raise TypeError(f"{self.options!r} are not options of method {self.method}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name, because the options class may be defined in a user's file."""
        return Settings.from_dict, (self.to_dict(),)

    @property
    def label(self) -> str:
        """The name of the method for display."""
        return own_code.label(self.method)

    def to_dict(self) -> dict[str, Any]:
        """Return nested plain values, ready for JSON."""
        # Through JSON, so that tuples become lists, as in settings that were read from a file.
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

    def differences(self) -> dict[str, Any]:
        """Return the values that differ from their defaults, by dotted key; the method is not included."""
        return {key: value for key, value in flatten(self.to_dict()) if value != _defaults(self.method)[key]}

    @staticmethod
    def from_dict(values: Mapping[str, Any], *, source: str = "settings") -> "Settings":
        """Create settings from values by nested or dotted key; the others keep their defaults."""
        return Settings().updated(values, source=source)

    def updated(self, values: Mapping[str, Any], *, source: str = "settings") -> "Settings":
        """Return these settings with some replaced; an unknown key or invalid value is an error.

        If the method changes, its options start from their defaults.
        """
        if not isinstance(values, Mapping):
            raise SettingError(f"{source}: expected a table of settings")
        named = dict(flatten(values))
        method = named.pop("method", self.method)
        if not isinstance(method, str):
            raise SettingError(f"{source}: method = {method!r} must be a word")
        plain = (self if method == self.method else replace(self, method=method, options=None)).to_dict()
        for key, value in named.items():
            *groups, leaf = full_key(key, method, source).split(".")
            target = plain
            for group in groups:
                target = target[group]
            target[leaf] = value
        # Built first, because only the method knows their type; the second build keeps them as they are.
        plain["options"] = build(options_class(method), plain["options"], source)
        built: Settings = build(Settings, plain, source)
        return built


def setting_keys(method: str) -> list[str]:
    """Return all dotted keys of a method, without loading torch if it is one of the package."""
    groups = {f.name: [part.name for part in fields(f.default)] for f in fields(Settings) if is_dataclass(f.default)}
    groups["options"] = list(options_of(method))
    names = (f.name for f in fields(Settings))
    return [key for name in names for key in ([f"{name}.{one}" for one in groups[name]] if name in groups else [name])]


def full_key(key: str, method: str, source: str) -> str:
    """Return the full dotted key of a method's setting; raise SettingError with the nearest one if there is none."""
    known = setting_keys(method)
    found = find_key(key, known)
    if found is not None:
        return found
    leaf = key.rpartition(".")[2]
    new = RENAMED.get(key) or OPTIONS.get(key)
    if new is not None and find_key(new, known):
        raise SettingError(f"{source}: {key} is now called {new}")
    name = new or leaf
    if others := [other for other in method_names() if name in options_of(other)]:
        raise ForeignOptionError(
            f"{source}: {name!r} is an option of {', '.join(others)}, not of {own_code.label(method)}; "
            f"nmrgcl methods {own_code.label(method)} lists its options"
        )
    matches = [one for one in known if one.rpartition(".")[2] == key]
    if matches:
        raise SettingError(f"{source}: {key!r} could be {' or '.join(matches)}; write one of them in full")
    leaves = {one.rpartition(".")[2] for one in known}
    raise SettingError(f"{source}: unknown setting {key!r}; {nearest(key, known if '.' in key else {*known, *leaves})}")


@cache
def _defaults(method: str) -> dict[str, Any]:
    """Return the default values by dotted key."""
    return dict(flatten(Settings(method=method).to_dict()))
