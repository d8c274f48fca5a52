"""Every setting of a run as frozen dataclasses."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from nmrgcl.errors import SettingError
from nmrgcl.settings.check import ViewChoices, build, find_key, flatten


@dataclass(frozen=True)
class DataSettings:
    """Which node features are used; ``scale = "rows"`` makes the attributes of each node sum to one."""

    features: Literal["auto", "labels", "attributes", "constant", "degree"] = "auto"
    max_degree: int = field(default=32, metadata={"min": 1})
    scale: Literal["none", "rows"] = "none"


@dataclass(frozen=True)
class ViewSettings:
    """The two views; several choices mean that each graph draws one of them."""

    first: ViewChoices = ({"name": "DropNodes", "p": 0.2},)
    second: ViewChoices = ({"name": "DropNodes", "p": 0.2},)


@dataclass(frozen=True)
class EncoderSettings:
    """The network that is kept; ``activation``, ``activate_last`` and ``dropout`` are for gcn and gat."""

    name: str = "gin"
    layers: int = field(default=3, metadata={"min": 1, "max": 1000})
    units: int = field(default=32, metadata={"min": 1})
    pool: Literal["sum", "mean", "max"] = "sum"
    activation: Literal["relu", "prelu", "rrelu", "elu"] = "relu"
    activate_last: bool = True
    dropout: float = field(default=0.0, metadata={"min": 0, "below": 1})


@dataclass(frozen=True)
class HeadSettings:
    """The projection head; 0 units: as wide as the representation."""

    units: int = field(default=0, metadata={"min": 0})


@dataclass(frozen=True)
class RemovalSettings:
    """What is removed from the positive pair (Eq. 13)."""

    kind: Literal["none", "non_maximum", "both", "random", "non_minimum", "learned"] = "non_maximum"
    delta: float = field(default=0.7, metadata={"min": 0})
    where: Literal["projection", "representation"] = "projection"


@dataclass(frozen=True)
class LossSettings:
    """The objective; ``decorrelate`` is CCA-SSG's weight, ``beta`` and ``momentum`` are MERIT's."""

    name: Literal["infonce", "graphcl", "jsd", "cca", "merit"] = "infonce"
    tau: float = field(default=0.2, metadata={"above": 0})
    decorrelate: float = field(default=1e-3, metadata={"min": 0})
    beta: float = field(default=0.6, metadata={"min": 0, "max": 1})
    momentum: float = field(default=0.8, metadata={"min": 0, "below": 1})


@dataclass(frozen=True)
class DiffusionSettings:
    """The second graph of MVGRL and MERIT: the ``keep`` largest entries a row of PageRank or heat."""

    name: Literal["ppr", "heat"] = "ppr"
    alpha: float = field(default=0.2, metadata={"above": 0, "below": 1})
    time: float = field(default=5.0, metadata={"above": 0})
    keep: int = field(default=32, metadata={"min": 1})


@dataclass(frozen=True)
class TrainSettings:
    """The loop; ``patience`` epochs without a lower loss end it (0: never); ``capture`` records steps on a GPU.

    A loss counts as lower if it is so by more than ``least_gain``, a share of the lowest one.
    ``chunk_graphs`` of a dataset are on the device at a time (0: all of them or, if they do not fit, as many as suit).
    At node level a step sees the whole graph, or what is sampled around ``batch_size`` nodes: a walk of ``hops`` steps
    from each, or ``fanout`` neighbours of each and of those, ``hops`` times.
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

    normalise: Literal["none", "l2", "standardise"] = "l2"


@dataclass(frozen=True)
class FinetuneSettings:
    """Training encoder and linear head with labels; ``tune_patience`` epochs without a better validation end it."""

    tune_epochs: int = field(default=200, metadata={"min": 1})
    tune_lr: float = field(default=1e-2, metadata={"above": 0})
    weight_decay: float = field(default=5e-4, metadata={"min": 0})
    tune_patience: int = field(default=50, metadata={"min": 0})


@dataclass(frozen=True)
class Settings:
    """All of a run."""

    method: str = "nmrgcl"
    seed: int = field(default=0, metadata={"min": 0, "max": 2**32 - 1})  # scikit-learn takes no larger one
    level: Literal["graph", "node"] = "graph"
    data: DataSettings = DataSettings()
    views: ViewSettings = ViewSettings()
    encoder: EncoderSettings = EncoderSettings()
    head: HeadSettings = HeadSettings()
    removal: RemovalSettings = RemovalSettings()
    loss: LossSettings = LossSettings()
    diffusion: DiffusionSettings = DiffusionSettings()
    train: TrainSettings = TrainSettings()
    svm: SVMSettings = SVMSettings()
    linear: LinearSettings = LinearSettings()
    finetune: FinetuneSettings = FinetuneSettings()

    def to_dict(self) -> dict[str, Any]:
        """Nested plain values, ready for JSON."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

    @staticmethod
    def from_dict(values: Mapping[str, Any], *, source: str = "settings") -> "Settings":
        """Settings from nested or dotted keys; what is not named keeps its default."""
        return Settings().updated(values, source=source)

    def updated(self, values: Mapping[str, Any], *, source: str = "settings") -> "Settings":
        """These settings with some replaced; an unknown key or impossible value is an error."""
        if not isinstance(values, Mapping):
            raise SettingError(f"{source}: expected a table of settings")
        plain = self.to_dict()
        for key, value in flatten(values):
            *groups, leaf = find_key(key, setting_keys(), source).split(".")
            target = plain
            for group in groups:
                target = target[group]
            target[leaf] = value
        built: Settings = build(Settings, plain, source)
        return built


def setting_keys() -> list[str]:
    """All dotted keys."""
    return [key for key, _ in flatten(asdict(Settings()))]
