"""Every setting of a run as frozen dataclasses: strict on the way in, complete on the way out.

Resolved settings are valid input again: ``Settings.from_dict(settings.to_dict()) == settings``.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from nmrgcl.errors import SettingError, nearest

ViewChoices = tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class DataSettings:
    """Which node features are used."""

    features: Literal["auto", "labels", "attributes", "constant", "degree"] = "auto"
    max_degree: int = field(default=32, metadata={"min": 1})


@dataclass(frozen=True)
class ViewSettings:
    """The two views; several choices mean that each graph draws one of them."""

    first: ViewChoices = ({"name": "DropNodes", "p": 0.2},)
    second: ViewChoices = ({"name": "DropNodes", "p": 0.2},)


@dataclass(frozen=True)
class EncoderSettings:
    """The network that is kept."""

    name: str = "gin"
    layers: int = field(default=3, metadata={"min": 1})
    units: int = field(default=32, metadata={"min": 1})
    pool: Literal["sum", "mean", "max"] = "sum"


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
    """The objective."""

    name: Literal["infonce", "graphcl"] = "infonce"
    tau: float = field(default=0.2, metadata={"above": 0})


@dataclass(frozen=True)
class TrainSettings:
    """The loop; ``patience`` epochs without a lower loss end it (0: never)."""

    epochs: int = field(default=20, metadata={"min": 0})
    batch_size: int = field(default=128, metadata={"min": 2})
    lr: float = field(default=1e-3, metadata={"above": 0})
    patience: int = field(default=0, metadata={"min": 0})
    precision: Literal["float32", "tf32", "bf16"] = "float32"
    deterministic: bool = False


@dataclass(frozen=True)
class SVMSettings:
    """The judge: ``c`` by an inner grid or 1, over ``inner`` folds; ``standardise`` fits a scaler on training rows."""

    c: Literal["grid", "default"] = "grid"
    inner: Literal["shuffled", "in_order"] = "shuffled"
    standardise: bool = True
    folds: int = field(default=10, metadata={"min": 2})


@dataclass(frozen=True)
class Settings:
    """All of a run."""

    method: str = "nmrgcl"
    seed: int = field(default=0, metadata={"min": 0})
    level: Literal["graph", "node"] = "graph"
    data: DataSettings = DataSettings()
    views: ViewSettings = ViewSettings()
    encoder: EncoderSettings = EncoderSettings()
    head: HeadSettings = HeadSettings()
    removal: RemovalSettings = RemovalSettings()
    loss: LossSettings = LossSettings()
    train: TrainSettings = TrainSettings()
    svm: SVMSettings = SVMSettings()

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
        for key, value in _flatten(values):
            *groups, leaf = _find_key(key, source).split(".")
            target = plain
            for group in groups:
                target = target[group]
            target[leaf] = value
        built: Settings = _build(Settings, plain, source)
        return built


def resolve(
    preset: str | None = None,
    config: Path | None = None,
    assignments: Sequence[str] = (),
    *,
    method: str | None = None,
    fixed: Mapping[str, Any] | None = None,
) -> Settings:
    """Defaults, then ``preset``, then ``config``, then what the method ``fixed``, then ``key=value`` assignments."""
    settings = Settings()
    if preset is not None:
        settings = settings.updated(load_preset(preset), source=f"preset {preset}")
    if config is not None:
        settings = settings.updated(read_config(config), source=str(config))
    if method is not None:
        settings = settings.updated({"method": method})
    settings = settings.updated(fixed or {})
    settings = settings.updated(parse_assignments(assignments), source="--set")
    plain = dict(_flatten(settings.to_dict()))
    for key, value in (fixed or {}).items():
        if plain[key] != value:
            raise SettingError(
                f"method {settings.method} means {key} = {value!r}; leave {key} out or change the method"
            )
    return settings


def preset_names() -> list[str]:
    """The presets inside the package."""
    return sorted(p.name.removesuffix(".toml") for p in _presets().iterdir() if p.name.endswith(".toml"))


def load_preset(name: str) -> dict[str, Any]:
    """The values that a preset sets."""
    if name not in preset_names():
        raise SettingError(f"unknown preset {name!r}; {nearest(name, preset_names())}")
    return tomllib.loads(_presets().joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def read_config(path: Path) -> dict[str, Any]:
    """Settings from a TOML or JSON file, or from the ``config.json`` of a model folder."""
    try:
        text = path.read_text(encoding="utf-8")
        values = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise SettingError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise SettingError(f"{path}: not valid {'JSON' if path.suffix == '.json' else 'TOML'} ({error})") from None
    if isinstance(values, dict) and isinstance(values.get("settings"), dict):
        values = values["settings"]
    if not isinstance(values, dict):
        raise SettingError(f"{path}: expected a table of settings")
    return values


def setting_keys() -> list[str]:
    """All dotted keys."""
    return [key for key, _ in _flatten(asdict(Settings()))]


def _presets() -> Any:
    return resources.files("nmrgcl") / "presets"


def parse_assignments(texts: Sequence[str]) -> dict[str, Any]:
    """``key=value`` texts as values; a value is read as TOML, or else taken as a word."""
    return dict(_parse_assignment(text) for text in texts)


def _parse_assignment(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals:
        raise SettingError(f"--set {text}: expected key=value, for example --set epochs=12")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()  # a bare word: --set features=degree


def _flatten(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _find_key(key: str, source: str) -> str:
    """The full dotted key that ``key`` names, by itself if only one setting ends so."""
    known = setting_keys()
    if key in known:
        return key
    matches = [k for k in known if k.rpartition(".")[2] == key]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise SettingError(f"{source}: {key!r} could be {' or '.join(matches)}; write one of them in full")
    leaves = {k.rpartition(".")[2] for k in known}
    raise SettingError(f"{source}: unknown setting {key!r}; {nearest(key, known if '.' in key else {*known, *leaves})}")


def _build(kind: type, values: Mapping[str, Any], source: str, prefix: str = "") -> Any:
    hints = get_type_hints(kind)
    built: dict[str, Any] = {}
    for f in fields(kind):
        key, value = f"{prefix}{f.name}", values[f.name]
        if is_dataclass(hints[f.name]):
            built[f.name] = _build(hints[f.name], value, source, f"{key}.")
        else:
            built[f.name] = _check(key, value, hints[f.name], f.metadata, source)
    return kind(**built)


def _check(key: str, value: Any, hint: Any, limits: Mapping[str, Any], source: str) -> Any:
    """``value`` as the type that ``hint`` asks for, or one line saying what would be right."""
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        if value not in choices:
            raise SettingError(f"{source}: {key} = {value!r}; {nearest(str(value), choices)}")
        return value
    if hint == ViewChoices:
        return _check_views(key, value, source)
    if hint is bool or hint is str:
        if not isinstance(value, hint):
            raise SettingError(f"{source}: {key} = {value!r} must be {'true or false' if hint is bool else 'a word'}")
        return value
    accepted: Any = int if hint is int else int | float
    if isinstance(value, bool) or not isinstance(value, accepted):
        raise SettingError(f"{source}: {key} = {value!r} must be a {'whole ' if hint is int else ''}number")
    if not value == value or value in (float("inf"), float("-inf")):
        raise SettingError(f"{source}: {key} = {value!r} must be finite")
    if "min" in limits and value < limits["min"]:
        raise SettingError(f"{source}: {key} = {value!r} must be at least {limits['min']}")
    if "above" in limits and value <= limits["above"]:
        raise SettingError(f"{source}: {key} = {value!r} must be above {limits['above']}")
    return hint(value)


def _check_views(key: str, value: Any, source: str) -> ViewChoices:
    if isinstance(value, str):
        value = [{"name": value}]  # --set views.first=DropNodes
    if not isinstance(value, list | tuple) or not all(isinstance(v, dict) and "name" in v for v in value):
        raise SettingError(f'{source}: {key} must be a list of views such as [{{name = "DropNodes", p = 0.2}}]')
    return tuple(dict(v) for v in value)
