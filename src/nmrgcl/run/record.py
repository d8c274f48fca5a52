"""``run.json``: what a run folder is the run of, so that only the same run goes on in it."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nmrgcl import atomic
from nmrgcl.errors import ModelError
from nmrgcl.graphs import Graphs
from nmrgcl.settings import Settings
from nmrgcl.sparse_rows import is_sparse

NAME, FORMAT, VERSION = "run.json", "nmrgcl-run", 1


@dataclass(frozen=True)
class RunRecord:
    """Settings (without the seed), the data's name and digest, and the digest of the encoder it starts from."""

    settings: dict[str, Any]
    dataset: str
    data_sha256: str
    start_sha256: str | None
    track_every: int


def write_record(folder: Path, record: RunRecord) -> None:
    """Write ``folder/run.json``."""
    values = {"format": FORMAT, "version": VERSION, **asdict(record)}
    atomic.write_text(folder / NAME, json.dumps(values | {"checksum": _checksum(values)}, indent=1) + "\n")


def read_record(folder: Path) -> RunRecord | None:
    """What the folder is the run of; None where it is none yet."""
    path = folder / NAME
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        if values["format"] != FORMAT:
            raise ValueError
        if values["version"] > VERSION:
            raise ModelError(f"{path}: written by a newer version (format {values['version']}); upgrade nmrgcl")
        if values.pop("checksum") != _checksum(values):
            raise ValueError
        return RunRecord(**{k: v for k, v in values.items() if k not in ("format", "version")})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ModelError(f"{path}: damaged; start the run again with --overwrite") from None


def settings_of_run(settings: Settings) -> dict[str, Any]:
    """Plain values without the seed, which differs within a run."""
    return {key: value for key, value in settings.to_dict().items() if key != "seed"}


def digest_of(graphs: Graphs) -> str:
    """SHA-256 of everything that training sees of the graphs."""
    digest = hashlib.sha256()
    x = graphs.x
    features = (x.crow_indices(), x.col_indices(), x.values()) if is_sparse(x) else (x,)
    for tensor in (graphs.node_ptr, graphs.edge_index, *features, graphs.edge_weight, graphs.edge_attr):
        if tensor is not None:
            flat = tensor.detach().cpu().contiguous()
            digest.update(f"{flat.dtype}{tuple(flat.shape)}".encode())
            digest.update(flat.reshape(-1).numpy().data)
    return digest.hexdigest()


def _checksum(values: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
