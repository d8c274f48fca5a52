"""Models that travel: to a Hub of models and back, or to and from a folder that plays the Hub."""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nmrgcl import atomic, reading
from nmrgcl.checksums import write_checksums
from nmrgcl.errors import ModelError, SettingError
from nmrgcl.model_card import model_card
from nmrgcl.model_folder import EMBEDDER, FILES, MAX_CONFIG, MODEL, folder_digest, load_model
from nmrgcl.run.bundled import model_path
from nmrgcl.run.evaluation import EVALUATION, FORMATS

TRAVELS = (*FILES, EMBEDDER, "metrics.jsonl")
"""The files of a model folder that leave the machine; evaluation and report stay."""
_REPOSITORY = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


def push_model(
    folder: Path | str,
    to: Path | str,
    *,
    metrics: Mapping[str, float] | None = None,
    private: bool = False,
    token: str | None = None,
) -> str:
    """Copy a model folder to the repository ``to`` ("owner/name") of the Hub; returns its address.

    A path that begins with ``.``, ``/`` or ``~``, or is a ``Path``, is a folder on this machine. The card that travels
    has the data, the settings, limits and metrics: those given, or what ``nmrgcl evaluate`` has found of the model.
    """
    folder = Path(folder)
    load_model(folder)  # checks every byte of it
    place = _local(to)
    if place is not None:
        with atomic.new_folder(place, MODEL) as fresh:
            _fill(fresh, folder, metrics)
        return str(place)
    name = _require_repository(str(to))
    hub = _library()
    with tempfile.TemporaryDirectory() as made:
        _fill(Path(made), folder, metrics)
        with _told(f"{name}: was not pushed"):
            api = hub.HfApi(token=token)
            api.create_repo(name, private=private, exist_ok=True)
            # A file that only an earlier model had must not stay beside this one.
            found = api.upload_folder(
                repo_id=name, folder_path=made, commit_message="Model of nmrgcl", delete_patterns=list(TRAVELS)
            )
    return str(getattr(found, "repo_url", None) or name)


def fetch_model(name: Path | str, *, revision: str | None = None, token: str | None = None) -> Path:
    """The folder of a model: ``name`` itself if it is one, else what the Hub's repository of that name holds.

    Only the files of a model are fetched, and nothing in them is executed; ``load_model`` checks them.
    """
    place = _local(name) or Path(name)
    if name == "bundled" or place.is_dir() or _local(name) is not None:
        return model_path(name if name == "bundled" else place)
    repository = _require_repository(str(name))
    hub = _library()
    with _told(f"{name}: no such folder here, and not found on the Hub"):
        return Path(hub.snapshot_download(repository, revision=revision, token=token, allow_patterns=list(TRAVELS)))


@contextmanager
def _told(words: str) -> Iterator[None]:
    """Errors of the Hub's library, of its connection and of the system become one line."""
    try:
        yield
    except Exception as error:
        lines = str(error).strip().splitlines()
        raise ModelError(f"{words} ({lines[0] if lines else type(error).__name__})") from None


def _fill(fresh: Path, folder: Path, metrics: Mapping[str, float] | None) -> None:
    for name in TRAVELS:
        if (folder / name).is_file() and name not in ("README.md", "SHA256SUMS"):
            shutil.copyfile(folder / name, fresh / name)
    model = load_model(folder)
    config = json.loads(reading.read_text(folder / "config.json", MAX_CONFIG))
    pooled = bool(getattr(getattr(model.method, "encoder", None), "pooled", False))
    known = dict(metrics) if metrics is not None else evaluated(folder)
    trained_on = model.dataset, model.data_sha256
    card = model_card(model.settings, model.features, *trained_on, config.get("training"), pooled=pooled, metrics=known)
    (fresh / "README.md").write_text(card, encoding="utf-8")
    write_checksums(fresh)


def evaluated(folder: Path) -> dict[str, float]:
    """What ``nmrgcl evaluate`` has found of this very model, alone or among those of its run; else nothing."""
    for place in (folder, folder.absolute().parent):
        try:
            found = FORMATS[EVALUATION].read(place / EVALUATION)
        except Exception:  # a file of others, or one that was changed: its numbers are not told to anybody
            continue
        if found and folder_digest(folder) in found.get("models_sha256", ()):
            models = len(found["models_sha256"])
            of = f", mean of {models} models" if models > 1 else ""
            how = f"{found['protocol']}, split {found['split']}{of}"
            start = found.get("untrained")
            known = {f"Accuracy in % on {found['dataset']} ({how})": float(found["mean"])}
            return known | ({"The same, untrained": float(start["mean"])} if start else {})
    return {}


def _local(name: Path | str) -> Path | None:
    """The folder that ``name`` stands for wherever it is; None: it may be a repository."""
    if isinstance(name, Path) or name.startswith((".", "~", os.sep)):
        return Path(name).expanduser()
    return None


def _require_repository(name: str) -> str:
    if not _REPOSITORY.fullmatch(name):
        raise SettingError(f"{name}: no such folder, and not the name of a repository such as owner/name")
    return name


def _library() -> Any:
    try:
        import huggingface_hub
    except ImportError:
        raise SettingError("the Hub needs huggingface_hub, which is not installed; pip install 'nmrgcl[hub]'") from None
    return huggingface_hub
