"""The folder of a run: what it records about the run, who may write there, and what is removed with it."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from nmrgcl import atomic
from nmrgcl.errors import ModelError, SettingError
from nmrgcl.model_folder import MODEL
from nmrgcl.owned import FolderKind, read_marker, require_format, require_no_link, require_replaceable
from nmrgcl.record import RecordError, RecordFormat
from nmrgcl.run.evaluation import EVALUATION, FORMATS, SPLITS
from nmrgcl.settings import Settings
from nmrgcl.settings.renamed import is_old, renamed
from nmrgcl.train.checkpoint import remove_checkpoints

NAME, RECORD = "run.json", RecordFormat("nmrgcl-run", 2, "the record of a run")
"""Since version 2, it records where the data was loaded from."""
FILES = (NAME, "settings.json", "evaluation.json", "splits.json", "report.html", "live.jsonl")
RUN = FolderKind("run", NAME, lambda values: values.get("format") == RECORD.name, lambda _: FILES)
ResumeMode = Literal["no", "yes", "auto"]
_MODEL = re.compile(r"seed-\d+")
_CHECKPOINTS = re.compile(r"\.seed-\d+\.checkpoints")


@dataclass(frozen=True)
class RunRecord:
    """Settings without the seed, name and digest of the data, and digest of the encoder that training starts from.

    ``data_source`` is the name or absolute path of the data, or empty if there is none.
    """

    settings: dict[str, Any]
    dataset: str
    data_sha256: str
    start_sha256: str | None
    track_every: int
    data_source: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The values of ``run.json``."""
        return RECORD.seal(asdict(self))


def token_of(values: Mapping[str, Any]) -> str:
    """The token in the names of unfinished files in the folder with this ``run.json``."""
    return str(values.get("checksum"))[:16]


def read_record(folder: Path) -> RunRecord | None:
    """The record of the run in the folder; None if there is none yet."""
    try:
        values = RECORD.read(folder / NAME)
        return None if values is None else _run_record(values)
    except RecordError as error:
        remedy = "choose another --out, or remove the folder to start again"
        raise error.told(ModelError, folder / NAME, remedy) from None


def _run_record(values: dict[str, Any]) -> RunRecord:
    values = {"data_source": "", **values}
    if values.keys() != {field.name for field in fields(RunRecord)} or not isinstance(values["data_source"], str):
        raise RECORD.mismatch
    old = values["settings"]
    # Settings that did not exist when the run was made take their defaults.
    values["settings"] = settings_of_run(Settings.from_dict(renamed(old) if is_old(old) else old))
    return RunRecord(**values)


def settings_of_run(settings: Settings) -> dict[str, Any]:
    """The settings as plain values, without the seed, which differs between the models of a run."""
    return {key: value for key, value in settings.to_dict().items() if key != "seed"}


@dataclass(frozen=True)
class RunFolder:
    """``path`` as the folder of the run that ``record`` describes."""

    path: Path
    record: RunRecord

    @property
    def token(self) -> str:
        """The token in the names of unfinished files."""
        return token_of(self.record.to_dict())

    def model(self, seed: int) -> Path:
        """The folder of the model with this seed, which appears once it is complete."""
        return self.path / f"seed-{seed}"

    def checkpoints(self, seed: int) -> Path:
        """The folder of the checkpoints of this seed, which exists until the model is complete."""
        return self.path / f".seed-{seed}.checkpoints"

    def is_complete(self, seed: int) -> bool:
        """Whether the model with this seed exists."""
        return read_marker(self.model(seed), MODEL) is not None

    def check(self, seeds: Sequence[int], *, overwrite: bool, resume: ResumeMode) -> None:
        """Refuse a folder that holds something else, or has no run to resume; nothing is written."""
        out = self.path
        if out.exists() and not out.is_dir():
            raise SettingError(f"{out}: is a file; choose another --out")
        if read_marker(out, RUN) is None:
            self._check_empty(resume)
            return
        if not overwrite and resume == "no" and not self._is_bare():
            raise SettingError(f"{out}: already holds a run; use --resume, --overwrite or another --out")
        for seed in seeds:
            require_no_link(self.checkpoints(seed))
            if os.path.lexists(self.model(seed)):
                _require_model(self.model(seed))
        if overwrite:
            # Listing the parts is enough: it raises an error if one of them is not ours.
            list(_parts(out))

    def _is_bare(self) -> bool:
        """Whether the run in the folder ended before anything was computed, so that starting anew loses nothing."""
        return not any(map(os.path.lexists, _parts(self.path)))

    def _check_empty(self, resume: ResumeMode) -> None:
        """Refuse a folder that holds no run and is not empty; hidden files such as .git may stay."""
        out = self.path
        found = sorted(os.listdir(out)) if out.exists() else []
        if NAME in found:
            read_record(out)  # This raises an error that says what is wrong with it.
        for name in found:
            if not name.startswith(".") or _CHECKPOINTS.fullmatch(name):
                raise SettingError(f"{out}: is not empty ({name!r}) and holds no run; choose another --out")
        if resume == "yes":
            raise SettingError(f"{out}: there is no run to resume; start one without --resume, or use --resume auto")

    def enter(self, settings: Settings, seeds: Sequence[int], *, overwrite: bool, resume: ResumeMode) -> None:
        """Create or check the folder of this run; the caller must hold its lock."""
        self.check(seeds, overwrite=overwrite, resume=resume)
        earlier = read_marker(self.path, RUN)
        overwrite = overwrite or (earlier is not None and resume != "yes" and self._is_bare())
        if earlier is not None and not overwrite:
            self._require_same()
        elif earlier is not None:  # The record itself stays until everything else of the run is gone.
            # A list, so that all parts are checked before the first one is removed.
            for part in list(_parts(self.path)):
                _remove_part(part, token_of(earlier))
        for token in {self.token} if earlier is None else {self.token, token_of(earlier)}:
            atomic.remove_strays(self.path, token)
        # The record comes first, since it makes the folder ours. The same run may also have been recorded before some
        # setting existed; its record is then brought up to date.
        if earlier is None or overwrite or token_of(earlier) != self.token:
            RECORD.write(self.path / NAME, asdict(self.record), token=self.token, indent=1)
        if overwrite or not (self.path / "settings.json").exists():
            text = json.dumps(settings.to_dict(), indent=2) + "\n"
            atomic.write_text(self.path / "settings.json", text, self.token)

    def require_there(self, seeds: Sequence[int] = ()) -> None:
        """Raise SettingError if the folder or one of these models has been deleted or replaced during the run."""
        values = read_marker(self.path, RUN)
        if values is None or token_of(values) != self.token or not all(map(self.is_complete, seeds)):
            raise SettingError(f"{self.path}: was deleted or changed during the run; start the run again")

    def _require_same(self) -> None:
        earlier = read_record(self.path)
        one, two = asdict(earlier) if earlier else {}, asdict(self.record)
        # The source is not compared: earlier versions did not record it, and the digest identifies the data.
        for name, what in {
            "dataset": "another dataset",
            "data_sha256": "other data or features",
            "start_sha256": "another start (--from)",
            "track_every": "another --track-every",
            "settings": "other settings",
        }.items():
            if one.get(name) != two[name]:
                raise SettingError(f"{self.path}: its run has {what}; resume with the same, or choose another --out")


def _parts(out: Path) -> Iterator[Path]:
    """Everything that is removed with a run, its evaluation first; SettingError if such a name is not ours."""
    for name in (EVALUATION, SPLITS):
        require_format(out / name, FORMATS[name].name)
        yield out / name
    for name in sorted(os.listdir(out)):
        if _MODEL.fullmatch(name):
            _require_model(out / name)
            require_replaceable(out / name, MODEL)
        elif _CHECKPOINTS.fullmatch(name):
            require_no_link(out / name)
        else:
            continue
        yield out / name


def _require_model(path: Path) -> None:
    if read_marker(path, MODEL) is None:
        raise SettingError(f"{path}: is not a model written by nmrgcl; move it away or choose another --out")


def _remove_part(part: Path, token: str) -> None:
    if _MODEL.fullmatch(part.name):
        atomic.remove_folder(part, MODEL, token)
    elif _CHECKPOINTS.fullmatch(part.name):
        remove_checkpoints(part, token)
    else:
        part.unlink(missing_ok=True)
