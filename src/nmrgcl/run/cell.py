"""One cell of a results table as a value: the method, the dataset, and how the method is evaluated on it."""

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
"""Part of every key. Since format 2, a key covers only the settings that differ from their defaults."""
KEY = re.compile(r"[0-9a-f]{32}")
PROTOCOLS: dict[str, tuple[str, ...]] = {
    "graph": ("svm", "lssvm", "finetune", "ecfp_forest", "ecfp_linear"),
    "node": ("linear", "finetune"),
}
"""The evaluation protocols for graphs and for nodes; the first one is the default."""
JUDGES = ("svm", "linear", "finetune")
"""The groups of settings that affect only evaluation, not training."""
SELECTIONS = ("honest", "paper")
BY_FOLDS = ("svm", "lssvm")
"""The protocols that evaluate graph embeddings by cross-validation."""
CUTS: dict[str, tuple[str, ...]] = {
    "graph": ("stratified", "scaffold", "random"),
    "node": ("random-10-10-80", "paper-80-10-10", "public"),
}
"""The splits of graphs and of nodes; the first one is the default."""
FINGERPRINTS: dict[str, Literal["forest", "linear"]] = {"ecfp_forest": "forest", "ecfp_linear": "linear"}
"""The protocols that use molecular fingerprints instead of embeddings, and the model that each fits to them."""
OF_MOLECULES = ("scaffold", "random")
"""The train/validation/test splits of molecules, which allow labels of several tasks."""


@dataclass(frozen=True)
class Start:
    """The pre-training that provides the encoder of a cell; its seed is independent of the cell's seed.

    Attributes:
        dataset: the dataset to pre-train on, named as in a cell.
        settings: the settings of the pre-training; evaluation settings have no effect and are reset to their defaults.
    """

    dataset: str
    settings: Settings

    def __post_init__(self) -> None:
        object.__setattr__(self, "dataset", canonical(self.dataset))
        plain = {name: getattr(Settings, name) for name in JUDGES}
        object.__setattr__(self, "settings", replace(self.settings, **plain))
        if issubclass(find_method(self.settings.method), Embedder) or not self.settings.train.epochs:
            raise SettingError(f"method {self.settings.label} does not pre-train an encoder; start from another method")

    def named(self) -> dict[str, Any]:
        """The values that its key is computed from."""
        return _named_training(self.dataset, self.settings)

    @staticmethod
    def from_dict(values: Any, *, source: str = "start") -> "Start":
        """The inverse of ``named``; any formats it names are taken to be those of this version."""
        if not isinstance(values, Mapping) or not {"dataset", "method"} <= values.keys():
            raise SettingError(f"{source}: expected dataset, method and settings")
        settings = values.get("settings", {})
        if not isinstance(settings, Mapping):
            raise SettingError(f"{source}: expected a table of settings")
        return Start(values["dataset"], Settings.from_dict({**settings, "method": values["method"]}, source=source))


@dataclass(frozen=True)
class Cell:
    """A cell; equivalent cells compare equal and have the same ``key``.

    Attributes:
        dataset: a name (aliases are resolved) or a path, which is kept as given.
        settings: the settings of method, training and evaluation, including the seed.
        protocol: how embeddings become scores: "svm" or the cheaper "lssvm" for graphs, "linear" for nodes, "finetune"
            for both. For molecules also "ecfp_forest" and "ecfp_linear", which use fingerprints instead of embeddings.
        selection: "honest" chooses nothing on the test folds; "paper" reports the epoch and the C that score best on
            them, as published code does, and is available with "svm" and "lssvm" only.
        split: how graphs or nodes are split.
        start: a pre-training, usually on another dataset, whose encoder is evaluated. The method in ``settings`` must
            then be "untrained", and its encoder the same as the pre-trained one except for dropout.
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
            raise SettingError(f"split = {self.split!r}: protocol {self.protocol} uses stratified folds")
        if self.split not in OF_MOLECULES and self.protocol in FINGERPRINTS:
            raise SettingError(f"protocol = {self.protocol!r} is for molecules; use split scaffold or random")
        if self.selection not in SELECTIONS:
            raise SettingError(f"selection = {self.selection!r}; {nearest(str(self.selection), SELECTIONS)}")
        if self.protocol == "finetune" and issubclass(find_method(self.settings.method), Embedder):
            raise SettingError(f"method {self.method} has no encoder that protocol finetune could train")
        if self.protocol == "finetune" and self.settings.colours.width:
            raise SettingError(
                "colours.width: counts of colours cannot be fine-tuned; leave it out or use protocol svm"
            )
        if self.selection == "paper" and self.protocol not in BY_FOLDS:
            raise SettingError(
                f"selection = 'paper' is for protocol svm or lssvm; {self.protocol} selects on validation data"
            )
        if self.start is not None:
            self._check_start(self.start)

    def _check_start(self, start: Start) -> None:
        """Refuse a pre-training whose encoder this cell cannot use."""
        if self.selection == "paper":
            raise SettingError("selection = 'paper' evaluates during training, and a cell with a start does not train")
        if self.settings.method != "untrained":
            raise SettingError(f"method {self.settings.label} trains; a cell with a start needs method untrained")
        for name, ours, theirs in (
            ("level", self.settings.level, start.settings.level),
            ("data", self.settings.data, start.settings.data),
            # Dropout has no weights, so fine-tuning may use another rate.
            ("encoder", replace(self.settings.encoder, dropout=0.0), replace(start.settings.encoder, dropout=0.0)),
        ):
            if ours != theirs:
                raise SettingError(f"{name}: {ours}, but the pre-training has {theirs}; use the same settings")

    @property
    def method(self) -> str:
        """The name of the method, followed by the pre-training dataset if there is one."""
        return f"{self.start.settings.label} ({self.start.dataset})" if self.start else self.settings.label

    @property
    def seed(self) -> int:
        """The seed of initialisation, training and folds."""
        return self.settings.seed

    @property
    def key(self) -> str:
        """32 hexadecimal digits that identify the cell."""
        return content_key(self.named())

    @property
    def judge(self) -> str:
        """How the cell is evaluated, in words."""
        return f"{self.protocol}, {self.split}, {self.selection} selection"

    @property
    def training(self) -> str:
        """The key of its training, which is the same for cells that differ only in how they are evaluated.

        Cells that start from the same pre-training share it too, whatever their dataset and seed.
        """
        return content_key(self.start.named() if self.start else _named_training(self.dataset, self.settings))

    def named(self) -> dict[str, Any]:
        """The values that the key is computed from; a new setting changes no key as long as it has its default.

        Whoever changes a default or a meaning bumps the ``FORMAT`` of the settings group or the method, and every
        format other than 1 is part of the key.
        """
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "start"}
        formats = _changed_formats(self.settings)
        named = plain | {"method": self.settings.method, "settings": self.settings.differences()}
        # Left out where there is none, so that cells without a start have the keys they had before there were starts.
        named |= {"start": self.start.named()} if self.start else {}
        return named | ({"formats": formats} if formats else {})

    def to_dict(self) -> dict[str, Any]:
        """Nested plain values, ready for JSON."""
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "start"}
        start = {"start": self.start.named()} if self.start else {}
        return plain | {"settings": self.settings.to_dict()} | start

    @staticmethod
    def from_dict(values: Mapping[str, Any], *, source: str = "cell") -> "Cell":
        """The inverse of ``to_dict``; missing settings get their defaults, and unknown keys are errors."""
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
    """The key for the ``named`` values of a cell or a training."""
    # Sorted and without spaces: the text, and with it the key, is the same whatever the order of the values.
    text = json.dumps({"format": FORMAT, **values}, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _named_training(dataset: str, settings: Settings) -> dict[str, Any]:
    """The values that the key of a training is computed from: its non-default settings except those of evaluation."""
    trained: dict[str, Any] = {"dataset": dataset, "method": settings.method}
    for part, values in (("settings", settings.differences()), ("formats", _changed_formats(settings))):
        if own := {key: value for key, value in values.items() if key.partition(".")[0] not in JUDGES}:
            trained[part] = own
    return trained


def _changed_formats(settings: Settings) -> dict[str, int]:
    """The format numbers other than 1."""
    return {name: number for name, number in formats_of(settings).items() if number != 1}


def formats_of(settings: Settings) -> dict[str, int]:
    """The format number of each group of settings and of the method."""
    groups = {f.name: getattr(getattr(settings, f.name), "FORMAT", 1) for f in fields(settings)}
    return groups | {"method": find_method(settings.method).FORMAT}


def cross(datasets: Sequence[str], rows: Iterable[Settings], seeds: int, **protocol: Any) -> list[Cell]:
    """All combinations of datasets, rows and ``seeds`` consecutive seeds, starting with each row's own seed."""
    cells = [
        Cell(dataset, replace(settings, seed=settings.seed + number), **protocol)
        for settings in rows
        for dataset in datasets
        for number in range(seeds)
    ]
    # Two rows may be the same cell, and a dataset may be listed under several of its names.
    return list({cell.key: cell for cell in cells}.values())


def canonical(dataset: Any) -> str:
    """Resolve an alias to the dataset's name; a path is returned unchanged."""
    if not isinstance(dataset, str) or not dataset or not dataset.isprintable():
        raise DataError(f"dataset {dataset!r}: expected a name or a path of printable characters")
    if dataset.lower() == "motifs":
        return "motifs"
    entry = find(dataset)
    return entry.name if entry else find_tu(dataset) or dataset
