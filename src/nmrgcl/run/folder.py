"""The folder of a run: what it is the run of, who may write there, and what is removed with it."""

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
"""Since version 2 it says where the data was."""
FILES = (NAME, "settings.json", "evaluation.json", "splits.json", "report.html", "live.jsonl")
RUN = FolderKind("run", NAME, lambda values: values.get("format") == RECORD.name, lambda _: FILES)
ResumeMode = Literal["no", "yes", "auto"]
_MODEL = re.compile(r"seed-\d+")
_CHECKPOINTS = re.compile(r"\.seed-\d+\.checkpoints")


@dataclass(frozen=True)
class RunRecord:
    """Settings (without the seed), the data's name and digest, and the digest of the encoder it starts from.

    ``data_source`` is the name or absolute path of the data, or empty where it has none.
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


def write_record(folder: Path, record: RunRecord) -> None:
    """Write ``folder/run.json``, which makes the folder ours: nothing else is written there before it."""
    RECORD.write(folder / NAME, asdict(record), token=token_of(record.to_dict()), indent=1)


def token_of(values: Mapping[str, Any]) -> str:
    """What the names of unfinished files contain in the folder with this ``run.json``."""
    return str(values.get("checksum"))[:16]


def read_record(folder: Path) -> RunRecord | None:
    """What the folder is the run of; None where it is none yet."""
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
    # Settings that are newer than the run had their default then.
    values["settings"] = settings_of_run(Settings.from_dict(renamed(old) if is_old(old) else old))
    return RunRecord(**values)


def settings_of_run(settings: Settings) -> dict[str, Any]:
    """Plain values without the seed, which differs within a run."""
    return {key: value for key, value in settings.to_dict().items() if key != "seed"}


@dataclass(frozen=True)
class RunFolder:
    """``path`` as the folder of the run that ``record`` describes."""

    path: Path
    record: RunRecord

    @property
    def token(self) -> str:
        """What the names of unfinished files contain."""
        return token_of(self.record.to_dict())

    def model(self, seed: int) -> Path:
        """Where the model of that seed is, once it is complete."""
        return self.path / f"seed-{seed}"

    def checkpoints(self, seed: int) -> Path:
        """Where the checkpoints of that seed are, until it is complete."""
        return self.path / f".seed-{seed}.checkpoints"

    def is_complete(self, seed: int) -> bool:
        """Whether the model of that seed is there."""
        return read_marker(self.model(seed), MODEL) is not None

    def check(self, seeds: Sequence[int], *, overwrite: bool, resume: ResumeMode) -> None:
        """Refuse a folder that holds something else, or no run to resume; nothing is written."""
        out = self.path
        if out.exists() and not out.is_dir():
            raise SettingError(f"{out}: is a file; choose another --out")
        if read_marker(out, RUN) is None:
            self._check_empty(resume)
            return
        if not overwrite and resume == "no":
            raise SettingError(f"{out}: already holds a run; use --resume, --overwrite or another --out")
        for seed in seeds:
            require_no_link(self.checkpoints(seed))
            if os.path.lexists(self.model(seed)):
                _require_model(self.model(seed))
        if overwrite:
            list(_parts(out))

    def _check_empty(self, resume: ResumeMode) -> None:
        """Hidden files of others, such as .git, may stay where they are, but not under a name that is needed."""
        out = self.path
        found = sorted(os.listdir(out)) if out.exists() else []
        if NAME in found:
            read_record(out)  # says what is wrong with it
        for name in found:
            if not name.startswith(".") or _CHECKPOINTS.fullmatch(name):
                raise SettingError(f"{out}: is not empty ({name!r}) and holds no run; choose another --out")
        if resume == "yes":
            raise SettingError(f"{out}: there is no run to resume; start one without --resume, or use --resume auto")

    def enter(self, settings: Settings, seeds: Sequence[int], *, overwrite: bool, resume: ResumeMode) -> None:
        """Make the folder that of this run, or see that it is; for the owner of its lock."""
        self.check(seeds, overwrite=overwrite, resume=resume)
        earlier = read_marker(self.path, RUN)
        if earlier is not None and not overwrite:
            self._require_same()
        elif earlier is not None:  # which stays until all of its run is gone
            for part in list(_parts(self.path)):
                _remove_part(part, token_of(earlier))
        for token in {self.token} if earlier is None else {self.token, token_of(earlier)}:
            atomic.remove_strays(self.path, token)
        # The same run may have been written down otherwise, before there was some setting.
        if earlier is None or overwrite or token_of(earlier) != self.token:
            write_record(self.path, self.record)
        if overwrite or not (self.path / "settings.json").exists():
            text = json.dumps(settings.to_dict(), indent=2) + "\n"
            atomic.write_text(self.path / "settings.json", text, self.token)

    def require_there(self, seeds: Sequence[int] = ()) -> None:
        """Refuse to go on, or to end well, if the folder or one of these models was deleted or replaced meanwhile."""
        values = read_marker(self.path, RUN)
        if values is None or token_of(values) != self.token or not all(map(self.is_complete, seeds)):
            raise SettingError(f"{self.path}: was deleted or changed during the run; start the run again")

    def _require_same(self) -> None:
        earlier = read_record(self.path)
        one, two = asdict(earlier) if earlier else {}, asdict(self.record)
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
    """What is removed with a run, its evaluation first; SettingError where something foreign has such a name."""
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
        raise SettingError(f"{path}: is no model of nmrgcl; move it away or choose another --out")


def _remove_part(part: Path, token: str) -> None:
    if _MODEL.fullmatch(part.name):
        atomic.remove_folder(part, MODEL, token)
    elif _CHECKPOINTS.fullmatch(part.name):
        remove_checkpoints(part, token)
    else:
        part.unlink(missing_ok=True)
