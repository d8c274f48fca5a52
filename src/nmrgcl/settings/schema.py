"""Every setting of a run as frozen dataclasses."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, Literal

from nmrgcl import own_code
from nmrgcl.errors import SettingError, nearest
from nmrgcl.method_files import method_names, options_class
from nmrgcl.settings.check import ViewChoices, build, find_key, flatten, setting
from nmrgcl.settings.renamed import OPTIONS, RENAMED


class ForeignOptionError(SettingError):
    """An option that only other methods have."""


@dataclass(frozen=True)
class DataSettings:
    """Which features are used.

    The default of ``edges`` is ``none``, so that settings from before there were any mean what they did, and cells
    keep their keys.
    """

    features: Literal["auto", "labels", "attributes", "constant", "degree", "molecules"] = setting(
        "auto", "of nodes; auto: atoms of molecules, else labels, else attributes, else degrees"
    )
    max_degree: int = setting(32, "degrees above it count as this one, for features = degree", min=1)
    scale: Literal["none", "rows"] = setting("none", "rows: the attributes of each node are scaled to sum to one")
    edges: Literal["auto", "labels", "attributes", "none"] = setting(
        "none", "features of edges; auto: labels, else attributes, else none"
    )


@dataclass(frozen=True)
class ViewSettings:
    """The two views; several choices mean that each graph draws one of them."""

    first: ViewChoices = setting(  # noqa: RUF009 - it is a field
        ({"name": "DropNodes", "p": 0.2},), "augmentations of the first view; of several, each graph draws one"
    )
    second: ViewChoices = setting(({"name": "DropNodes", "p": 0.2},), "the same for the second view")  # noqa: RUF009


@dataclass(frozen=True)
class EncoderSettings:
    """The network that is kept."""

    name: str = setting("gin", "gin, gcn, gat or molecule; for a network of your own use --encoder FILE:CLASS")
    layers: int = setting(3, "message-passing layers", min=1, max=1000)
    units: int = setting(32, "width of each layer", min=1)
    pool: Literal["sum", "mean", "max"] = setting("sum", "how embeddings of nodes become that of their graph")
    activation: Literal["relu", "prelu", "rrelu", "elu"] = setting("relu", "activation function, for gcn and gat")
    activate_last: bool = setting(True, "whether the last layer has an activation, too, for gcn and gat")
    dropout: float = setting(0.0, "share of units dropped in training; not for networks of your own", min=0, below=1)
    norm: Literal["none", "batch"] = setting("none", "normalisation between layers, for gcn")
    jk: Literal["auto", "cat", "last"] = setting(
        "auto",
        "embedding of a node: all layers concatenated (gin, molecule) or the last one; auto: cat for gin, else last",
    )


@dataclass(frozen=True)
class TrainSettings:
    """The training loop."""

    epochs: int = setting(20, "passes over the data", min=0)
    batch_size: int = setting(128, "graphs per step; at node level, nodes that are sampled around", min=2)
    lr: float = setting(1e-3, "learning rate", above=0)
    patience: int = setting(0, "epochs without a lower loss after which training ends; 0: never", min=0)
    least_gain: float = setting(
        0.0, "by which share of the lowest loss a loss must be lower to count, for patience", min=0, below=1
    )
    precision: Literal["float32", "tf32", "bf16"] = setting("float32", "of matrix products on a GPU")
    deterministic: bool = setting(False, "use only operations that repeat exactly on a GPU")
    capture: bool = setting(True, "record steps as CUDA graphs on a GPU")
    chunk_graphs: int = setting(0, "graphs on the device at a time; 0: all, or as many as fit", min=0)
    sampling: Literal["none", "walk", "neighbours"] = setting(
        "none", "what a step sees at node level: the whole graph, random walks from each node, or sampled neighbours"
    )
    hops: int = setting(2, "steps of a walk, or rounds of sampling neighbours", min=1)
    fanout: int = setting(10, "neighbours sampled per node and round", min=1)
    schedule: Literal["constant", "linear", "cosine"] = setting(
        "constant", "how the learning rate falls to zero after the warm-up; constant: not at all"
    )
    warmup: float = setting(0.0, "share of the steps over which the learning rate rises to lr", min=0, below=1)
    weight_decay: float = setting(
        0.0, "times the learning rate, the share by which weights shrink per step (AdamW)", min=0
    )
    steps: int = setting(0, "batches after which training ends, whatever epochs says; 0: whole epochs", min=0)
    max_graphs: int = setting(
        0, "graphs to train on, a random sample that is the same for all seeds; 0: all of them", min=0
    )


@dataclass(frozen=True)
class SVMSettings:
    """The judge of graphs: an SVM on frozen embeddings."""

    c: Literal["grid", "fine", "default"] = setting(
        "grid", "penalty C: chosen from a grid inside the training folds, or from a finer one (fine), or 1 (default)"
    )
    inner: Literal["shuffled", "in_order"] = setting("shuffled", "how the inner folds that choose C are cut")
    standardise: Literal[True, False, "squashed"] = setting(
        True, "scale each column by the training rows; squashed: also draw long tails in, by asinh"
    )
    folds: int = setting(10, "folds of the cross-validation", min=2)


@dataclass(frozen=True)
class LinearSettings:
    """The judge of nodes: logistic regression on frozen embeddings."""

    normalise: Literal["none", "l2", "standardise", "squash"] = setting(
        "l2", "how embeddings are scaled before logistic regression"
    )


@dataclass(frozen=True)
class FinetuneSettings:
    """Training an encoder and a linear head with labels."""

    epochs: int = setting(200, "passes over the training part", min=1)
    lr: float = setting(1e-2, "learning rate", above=0)
    halve_every: int = setting(0, "epochs after which the learning rate is halved, again and again; 0: never", min=0)
    weight_decay: float = setting(5e-4, "of weights, per step", min=0)
    patience: int = setting(50, "epochs without a better validation score after which it ends; 0: never", min=0)
    head_norm: bool = setting(False, "apply batch norm to embeddings before the head")
    head_dropout: float = setting(0.0, "dropout before the head; 0: as in the encoder", min=0, below=1)
    grid: Literal["none", "small"] = setting("none", "settings among which each fold chooses by its validation part")
    runs: int = setting(1, "trainings per fold, whose scores are averaged", min=1)
    head_lr_scale: float = setting(1.0, "times lr: the learning rate of the head", above=0)
    batches: Literal["random", "by_size"] = setting(
        "random", "random graphs, or one of each size, for which a GPU needs less memory"
    )


@dataclass(frozen=True)
class Settings:
    """All of a run: what every method shares, and the options of its own method."""

    method: str = setting("nmrgcl", "how it is pre-trained; nmrgcl methods lists them")
    # scikit-learn takes no larger seed.
    seed: int = setting(0, "of initialisation, training and folds; --seeds counts from it", min=0, max=2**32 - 1)
    level: Literal["graph", "node"] = setting("graph", "what is embedded: graphs, or the nodes of one graph")
    data: DataSettings = DataSettings()
    views: ViewSettings = ViewSettings()
    encoder: EncoderSettings = EncoderSettings()
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
        """Workers find a method by its name: the class of its options may be in a file of the user's."""
        return Settings.from_dict, (self.to_dict(),)

    @property
    def label(self) -> str:
        """The method's name, to show."""
        return own_code.label(self.method)

    def to_dict(self) -> dict[str, Any]:
        """Nested plain values, ready for JSON."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

    def differences(self) -> dict[str, Any]:
        """Plain values by dotted key of what differs from its default; the method itself is not among them."""
        return {key: value for key, value in flatten(self.to_dict()) if value != _defaults(self.method)[key]}

    @staticmethod
    def from_dict(values: Mapping[str, Any], *, source: str = "settings") -> "Settings":
        """Settings from nested or dotted keys; what is not named keeps its default."""
        return Settings().updated(values, source=source)

    def updated(self, values: Mapping[str, Any], *, source: str = "settings") -> "Settings":
        """These settings with some replaced; an unknown key or impossible value is an error.

        The options of another method start from its defaults.
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
        plain["options"] = build(options_class(method), plain["options"], source)
        built: Settings = build(Settings, plain, source)
        return built


def setting_keys(method: str) -> list[str]:
    """All dotted keys that this method has."""
    return list(_defaults(method))


def full_key(key: str, method: str, source: str) -> str:
    """The dotted key that ``key`` names for this method; SettingError with the nearest one if it names none."""
    known = setting_keys(method)
    found = find_key(key, known)
    if found is not None:
        return found
    leaf = key.rpartition(".")[2]
    new = RENAMED.get(key) or OPTIONS.get(key)
    if new is not None and find_key(new, known):
        raise SettingError(f"{source}: {key} is now called {new}")
    name = new or leaf
    if others := [other for other in method_names() if name in options_class(other).__dataclass_fields__]:
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
    """Plain values by dotted key."""
    return dict(flatten(Settings(method=method).to_dict()))
