"""Every setting of a run as frozen dataclasses."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any, Literal

from nmrgcl import own_code
from nmrgcl.errors import SettingError, nearest
from nmrgcl.method_files import method_names, options_class
from nmrgcl.settings.check import ViewChoices, build, find_key, flatten
from nmrgcl.settings.renamed import OPTIONS, RENAMED


class ForeignOptionError(SettingError):
    """An option that only other methods have."""


@dataclass(frozen=True)
class DataSettings:
    """Which features are used; ``scale = "rows"`` makes the attributes of each node sum to one.

    ``edges`` are the features of edges; ``auto`` takes labels, else attributes, else none. Its default is ``none``, so
    that settings from before there were any mean what they did, and cells keep their keys.
    """

    features: Literal["auto", "labels", "attributes", "constant", "degree", "molecules"] = "auto"
    max_degree: int = field(default=32, metadata={"min": 1})
    scale: Literal["none", "rows"] = "none"
    edges: Literal["auto", "labels", "attributes", "none"] = "none"


@dataclass(frozen=True)
class ViewSettings:
    """The two views; several choices mean that each graph draws one of them."""

    first: ViewChoices = ({"name": "DropNodes", "p": 0.2},)
    second: ViewChoices = ({"name": "DropNodes", "p": 0.2},)


@dataclass(frozen=True)
class EncoderSettings:
    """The network that is kept.

    ``activation`` and ``activate_last`` are for gcn and gat, ``dropout`` is for all but networks of the user's own,
    ``norm`` for gcn. ``jk`` says what the embedding of a node is: all layers concatenated, as gin's and molecule's can
    be and gin's is by default, or the last one.
    """

    name: str = "gin"
    layers: int = field(default=3, metadata={"min": 1, "max": 1000})
    units: int = field(default=32, metadata={"min": 1})
    pool: Literal["sum", "mean", "max"] = "sum"
    activation: Literal["relu", "prelu", "rrelu", "elu"] = "relu"
    activate_last: bool = True
    dropout: float = field(default=0.0, metadata={"min": 0, "below": 1})
    norm: Literal["none", "batch"] = "none"
    jk: Literal["auto", "cat", "last"] = "auto"


@dataclass(frozen=True)
class TrainSettings:
    """The loop; ``patience`` epochs without a lower loss end it (0: never); ``capture`` records steps on a GPU.

    ``steps`` batches end it, whatever ``epochs`` says, if need be in the middle of an epoch (0: whole epochs).
    ``max_graphs`` of the dataset are trained on, a random sample that is the same for all seeds (0: all of them).
    A loss counts as lower if it is so by more than ``least_gain``, a share of the lowest one.
    ``chunk_graphs`` of a dataset are on the device at a time (0: all of them or, if they do not fit, as many as suit).
    At node level a step sees the whole graph, or what is sampled around ``batch_size`` nodes: a walk of ``hops`` steps
    from each, or ``fanout`` neighbours of each and of those, ``hops`` times.
    The learning rate rises to ``lr`` over a share ``warmup`` of the steps, then falls to zero as ``schedule`` says.
    ``weight_decay``, times the rate, is the share by which weights shrink at each step (AdamW).
    """

    epochs: int = field(default=20, metadata={"min": 0})
    batch_size: int = field(default=128, metadata={"min": 2})
    lr: float = field(default=1e-3, metadata={"above": 0})
    patience: int = field(default=0, metadata={"min": 0})
    least_gain: float = field(default=0.0, metadata={"min": 0, "below": 1})
    precision: Literal["float32", "tf32", "bf16"] = "float32"
    deterministic: bool = False
    capture: bool = True
    chunk_graphs: int = field(default=0, metadata={"min": 0})
    sampling: Literal["none", "walk", "neighbours"] = "none"
    hops: int = field(default=2, metadata={"min": 1})
    fanout: int = field(default=10, metadata={"min": 1})
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup: float = field(default=0.0, metadata={"min": 0, "below": 1})
    weight_decay: float = field(default=0.0, metadata={"min": 0})
    steps: int = field(default=0, metadata={"min": 0})
    max_graphs: int = field(default=0, metadata={"min": 0})


@dataclass(frozen=True)
class SVMSettings:
    """The judge: ``c`` by a grid over ``inner`` folds, or 1; ``standardise`` fits a scaler on training rows.

    "fine": two more values of C between any two of the grid; "squashed": long tails are drawn in besides, by asinh.
    """

    c: Literal["grid", "fine", "default"] = "grid"
    inner: Literal["shuffled", "in_order"] = "shuffled"
    standardise: Literal[True, False, "squashed"] = True
    folds: int = field(default=10, metadata={"min": 2})


@dataclass(frozen=True)
class LinearSettings:
    """The judge of nodes: how embeddings are brought to one scale before logistic regression."""

    normalise: Literal["none", "l2", "standardise", "squash"] = "l2"


@dataclass(frozen=True)
class FinetuneSettings:
    """Training encoder and linear head with labels; ``patience`` epochs without a better validation end it.

    ``head_norm`` applies batch norm to embeddings before the head, ``head_dropout`` follows it (0: as in the encoder).
    With a ``grid`` each fold chooses among its settings by the validation part. Scores are means over ``runs``
    trainings per fold. ``head_lr_scale`` times ``lr`` is the learning rate of the head. ``batches`` are of random
    graphs, or have one of each size (``by_size``), for which a GPU needs less room.
    """

    epochs: int = field(default=200, metadata={"min": 1})
    lr: float = field(default=1e-2, metadata={"above": 0})
    weight_decay: float = field(default=5e-4, metadata={"min": 0})
    patience: int = field(default=50, metadata={"min": 0})
    head_norm: bool = False
    head_dropout: float = field(default=0.0, metadata={"min": 0, "below": 1})
    grid: Literal["none", "small"] = "none"
    runs: int = field(default=1, metadata={"min": 1})
    head_lr_scale: float = field(default=1.0, metadata={"above": 0})
    batches: Literal["random", "by_size"] = "random"


@dataclass(frozen=True)
class Settings:
    """All of a run: what every method shares, and the options of its own method."""

    method: str = "nmrgcl"
    seed: int = field(default=0, metadata={"min": 0, "max": 2**32 - 1})  # scikit-learn takes no larger one
    level: Literal["graph", "node"] = "graph"
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
