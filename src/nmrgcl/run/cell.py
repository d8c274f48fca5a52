"""One cell of a table as a value: what to train, on what, and how it is judged."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from nmrgcl.data.catalog import find, find_tu
from nmrgcl.errors import DataError, SettingError, nearest
from nmrgcl.methods import Embedder, find_method
from nmrgcl.settings import Settings

FORMAT = 2
"""Part of every key. Since 2, a key names only what differs from its default."""
KEY = re.compile(r"[0-9a-f]{32}")
PROTOCOLS: dict[str, tuple[str, ...]] = {
    "graph": ("svm", "lssvm", "finetune", "ecfp_forest", "ecfp_linear"),
    "node": ("linear", "finetune"),
}
"""How graphs and nodes are judged; the first is meant where none is named."""
JUDGES = ("svm", "linear", "finetune")
"""Groups of settings that training does not look at."""
BY_FOLDS = ("svm", "lssvm")
"""Protocols that see embeddings of graphs and test each fold once."""
CUTS: dict[str, tuple[str, ...]] = {
    "graph": ("stratified", "scaffold", "random"),
    "node": ("random-10-10-80", "paper-80-10-10", "public"),
}
"""Likewise how they are split."""
FINGERPRINTS: dict[str, Literal["forest", "linear"]] = {"ecfp_forest": "forest", "ecfp_linear": "linear"}
"""Protocols that look at fingerprints of molecules, and the model that learns from them."""
OF_MOLECULES = ("scaffold", "random")
"""Splits of molecules into three parts, whose labels may be of several tasks."""


@dataclass(frozen=True)
class Start:
    """The pre-training that the encoder of a cell comes from; its seed is its own, whatever the cell's is.

    Attributes:
        dataset: what the encoder is trained on, as in a cell.
        settings: of method and training; those of judges, which it does not have, are their defaults.
    """

    dataset: str
    settings: Settings

    def __post_init__(self) -> None:
        object.__setattr__(self, "dataset", canonical(self.dataset))
        plain = {name: getattr(Settings, name) for name in JUDGES}
        object.__setattr__(self, "settings", replace(self.settings, **plain))
        if issubclass(find_method(self.settings.method), Embedder) or not self.settings.train.epochs:
            raise SettingError(f"method {self.settings.label} pre-trains no encoder; choose another to start from")

    def named(self) -> dict[str, Any]:
        """What its key is made of."""
        return _named_training(self.dataset, self.settings)

    @staticmethod
    def from_dict(values: Any, *, source: str = "start") -> "Start":
        """The inverse of ``named``; the formats that it may name are those of this version."""
        if not isinstance(values, Mapping) or not {"dataset", "method"} <= values.keys():
            raise SettingError(f"{source}: expected dataset, method and settings")
        settings = values.get("settings", {})
        if not isinstance(settings, Mapping):
            raise SettingError(f"{source}: expected a table of settings")
        return Start(values["dataset"], Settings.from_dict({**settings, "method": values["method"]}, source=source))


@dataclass(frozen=True)
class Cell:
    """A cell; two that mean the same are equal and have the same ``key``.

    Attributes:
        dataset: a name (aliases become the name they stand for) or a path, taken as it is.
        settings: of method, training and judge, with the seed.
        protocol: how embeddings become scores: "svm" or the cheaper "lssvm" for graphs, "linear" for nodes, "finetune"
            for both. For molecules also "ecfp_forest" and "ecfp_linear", which look at fingerprints, not at embeddings.
        selection: "honest" chooses nothing by the evaluated folds; "paper" reports the epoch and the C that are best
            on them, as published code does; with "svm" and "lssvm" alone.
        split: how graphs or nodes are cut into parts.
        start: a pre-training, mostly on another dataset, whose encoder is judged. The method of ``settings`` is
            "untrained" then, and its encoder the same but for dropout.
    """

    dataset: str
    settings: Settings
    protocol: Literal["svm", "lssvm", "linear", "finetune", "ecfp_forest", "ecfp_linear", ""] = ""
    selection: Literal["honest", "paper"] = "honest"
    split: str = ""
    start: Start | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "dataset", canonical(self.dataset))
        level = self.settings.level if isinstance(self.settings, Settings) else "graph"
        for name, known in (("protocol", PROTOCOLS[level]), ("split", CUTS[level])):
            if getattr(self, name) == "":
                object.__setattr__(self, name, known[0])
            if getattr(self, name) not in known:
                value, usual = getattr(self, name), [one for one in known if one not in FINGERPRINTS]
                raise SettingError(f"{name} = {value!r} with level = {level}; {nearest(str(value), usual)}")
        if self.split in OF_MOLECULES and self.protocol in BY_FOLDS:
            raise SettingError(f"split = {self.split!r}: protocol {self.protocol} judges on stratified folds")
        if self.split not in OF_MOLECULES and self.protocol in FINGERPRINTS:
            raise SettingError(f"protocol = {self.protocol!r} is for molecules; use split scaffold or random")
        if self.selection not in ("honest", "paper"):
            raise SettingError(f"selection = {self.selection!r}; {nearest(str(self.selection), ('honest', 'paper'))}")
        if self.protocol == "finetune" and issubclass(find_method(self.settings.method), Embedder):
            raise SettingError(f"method {self.method} has no encoder, which protocol finetune trains")
        if self.selection == "paper" and self.protocol not in BY_FOLDS:
            raise SettingError(
                f"selection = 'paper' is for protocol svm or lssvm; {self.protocol} chooses on a validation part"
            )
        if self.start is not None:
            self._check_start(self.start)

    def _check_start(self, start: Start) -> None:
        """Refuse a pre-training whose encoder this cell cannot take."""
        if self.selection == "paper":
            raise SettingError("selection = 'paper' judges during the training; a cell with a start has none")
        if self.settings.method != "untrained":
            raise SettingError(f"method {self.settings.label} trains; a cell with a start has method untrained")
        for name, ours, theirs in (
            ("level", self.settings.level, start.settings.level),
            ("data", self.settings.data, start.settings.data),
            ("encoder", replace(self.settings.encoder, dropout=0.0), replace(start.settings.encoder, dropout=0.0)),
        ):
            if ours != theirs:
                raise SettingError(f"{name}: {ours}, but that of the pre-training is {theirs}; use the same settings")

    @property
    def method(self) -> str:
        """The name of the method, with the dataset that it was pre-trained on if that is another."""
        return f"{self.start.settings.label} ({self.start.dataset})" if self.start else self.settings.label

    @property
    def seed(self) -> int:
        """Of initialisation, training and folds."""
        return self.settings.seed

    @property
    def key(self) -> str:
        """32 hexadecimal digits that stand for all of it."""
        return content_key(self.named())

    @property
    def judge(self) -> str:
        """How it is judged, in words."""
        return f"{self.protocol}, {self.split}, {self.selection} selection"

    @property
    def training(self) -> str:
        """The key of its training: cells that differ only in how they are judged have the same.

        So have cells of any dataset and seed that start from one pre-training.
        """
        return content_key(self.start.named() if self.start else _named_training(self.dataset, self.settings))

    def named(self) -> dict[str, Any]:
        """What the key is made of: a new setting or option changes no key as long as it has its default.

        A default that changes, or a meaning, raises the ``FORMAT`` of its settings or its method, which is named then.
        """
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "start"}
        formats = _changed_formats(self.settings)
        named = plain | {"method": self.settings.method, "settings": self.settings.differences()}
        named |= {"start": self.start.named()} if self.start else {}
        return named | ({"formats": formats} if formats else {})

    def to_dict(self) -> dict[str, Any]:
        """Nested plain values, ready for JSON."""
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "start"}
        start = {"start": self.start.named()} if self.start else {}
        return plain | {"settings": self.settings.to_dict()} | start

    @staticmethod
    def from_dict(values: Mapping[str, Any], *, source: str = "cell") -> "Cell":
        """The inverse; settings that are not named keep their default, anything unknown is an error."""
        if not isinstance(values, Mapping):
            raise SettingError(f"{source}: expected a cell, with dataset and settings")
        names = [f.name for f in fields(Cell)]
        for name in values:
            if name not in names:
                raise SettingError(f"{source}: unknown key {name!r}; {nearest(str(name), names)}")
        for name in names:
            if name not in values and name != "start":
                raise SettingError(f"{source}: {name} is missing")
        given = dict(values) | {"settings": Settings.from_dict(values["settings"], source=source)}
        if "start" in values:
            given["start"] = Start.from_dict(values["start"], source=f"{source}: start")
        return Cell(**given)


def content_key(values: Mapping[str, Any]) -> str:
    """The key of what a cell, or its training, names."""
    text = json.dumps({"format": FORMAT, **values}, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _named_training(dataset: str, settings: Settings) -> dict[str, Any]:
    """What the key of a training is made of: what of its settings differs from the default, but for those of judges."""
    trained: dict[str, Any] = {"dataset": dataset, "method": settings.method}
    for part, values in (("settings", settings.differences()), ("formats", _changed_formats(settings))):
        if own := {key: value for key, value in values.items() if key.partition(".")[0] not in JUDGES}:
            trained[part] = own
    return trained


def _changed_formats(settings: Settings) -> dict[str, int]:
    """Format numbers that are not the first."""
    return {name: number for name, number in formats_of(settings).items() if number != 1}


def formats_of(settings: Settings) -> dict[str, int]:
    """The format number of each group of settings and of the method."""
    groups = {f.name: getattr(getattr(settings, f.name), "FORMAT", 1) for f in fields(settings)}
    return groups | {"method": find_method(settings.method).FORMAT}


def cross(datasets: Sequence[str], rows: Iterable[Settings], seeds: int, **protocol: Any) -> list[Cell]:
    """Every dataset with every one of ``rows``, each with ``seeds`` seeds from its own on; none twice."""
    cells = [
        Cell(dataset, replace(settings, seed=settings.seed + number), **protocol)
        for settings in rows
        for dataset in datasets
        for number in range(seeds)
    ]
    return list({cell.key: cell for cell in cells}.values())


def canonical(dataset: Any) -> str:
    """The name that an alias stands for; a path as it is."""
    if not isinstance(dataset, str) or not dataset or not dataset.isprintable():
        raise DataError(f"dataset {dataset!r}: expected a name or a path of printable characters")
    if dataset.lower() == "motifs":
        return "motifs"
    entry = find(dataset)
    return entry.name if entry else find_tu(dataset) or dataset
