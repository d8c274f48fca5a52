"""``run.json``: what a run folder is the run of, so that only the same run goes on in it."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nmrgcl import atomic, reading
from nmrgcl.checksums import checksum_of
from nmrgcl.errors import ModelError
from nmrgcl.graphs import Graphs
from nmrgcl.owned import Kind
from nmrgcl.settings import Settings
from nmrgcl.settings.renamed import is_old, renamed
from nmrgcl.sparse_rows import is_sparse
from nmrgcl.train.feed import Source

NAME, FORMAT, VERSION = "run.json", "nmrgcl-run", 1
FILES = (NAME, "settings.json", "evaluation.json", "splits.json", "report.html")
RUN = Kind("run", NAME, lambda values: values.get("format") == FORMAT, lambda _: FILES)
AT_A_TIME = 65_536


@dataclass(frozen=True)
class RunRecord:
    """Settings (without the seed), the data's name and digest, and the digest of the encoder it starts from."""

    settings: dict[str, Any]
    dataset: str
    data_sha256: str
    start_sha256: str | None
    track_every: int

    def to_dict(self) -> dict[str, Any]:
        """The values of ``run.json``."""
        values = {"format": FORMAT, "version": VERSION, **asdict(self)}
        return values | {"checksum": checksum_of(values)}


def write_record(folder: Path, record: RunRecord) -> None:
    """Write ``folder/run.json``, which makes the folder ours: nothing else is written there before it."""
    values = record.to_dict()
    atomic.write_text(folder / NAME, json.dumps(values, indent=1) + "\n", token_of(values))


def token_of(values: Mapping[str, Any]) -> str:
    """What the names of unfinished files contain in the folder with this ``run.json``."""
    return str(values.get("checksum"))[:16]


def read_record(folder: Path) -> RunRecord | None:
    """What the folder is the run of; None where it is none yet."""
    path = folder / NAME
    try:
        values = json.loads(reading.read_text(path))
        if values["format"] != FORMAT:
            raise ValueError
        if values["version"] > VERSION:
            raise ModelError(f"{path}: written by a newer version (format {values['version']}); upgrade nmrgcl")
        if values.pop("checksum") != checksum_of(values):
            raise ValueError
        record = RunRecord(**{k: v for k, v in values.items() if k not in ("format", "version")})
        return replace(record, settings=_today(record.settings)) if is_old(record.settings) else record
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ModelError(f"{path}: damaged; choose another --out, or remove the folder to start again") from None


def _today(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of version 1 as this version writes them."""
    return settings_of_run(Settings.from_dict(renamed(settings)))


def settings_of_run(settings: Settings) -> dict[str, Any]:
    """Plain values without the seed, which differs within a run."""
    return {key: value for key, value in settings.to_dict().items() if key != "seed"}


def digest_of(graphs: Source) -> str:
    """SHA-256 of everything that training sees of the graphs; of those on disk some are in memory at a time."""
    digest = hashlib.sha256()
    nodes, edges = (int(sizes.sum()) for sizes in graphs.sizes())
    lengths = {"node_ptr": (len(graphs) + 1,), "edge_index": (2, edges), "x": (nodes,)}
    like = graphs.take(torch.arange(0))
    for name in ("node_ptr", "edge_index", "x", "edge_weight", "edge_attr"):
        if (value := getattr(like, name)) is not None:
            first = lengths.get(name, (edges,))
            digest.update(f"{value.dtype}{(*first, *value.shape[len(first) :])}".encode())
            for part in _flat_parts(graphs, name):
                digest.update(part.detach().cpu().contiguous().reshape(-1).numpy().data)
    return digest.hexdigest()


def _flat_parts(graphs: Source, name: str) -> Iterator[Tensor]:
    """What ``name`` holds for all graphs, one piece after another."""
    if isinstance(graphs, Graphs):
        values = getattr(graphs, name)
        yield from (values.crow_indices(), values.col_indices(), values.values()) if is_sparse(values) else (values,)
        return
    for row in (0, 1) if name == "edge_index" else (None,):  # all sources come before all destinations
        nodes = 0
        for index in torch.arange(len(graphs)).split(AT_A_TIME):
            part = graphs.take(index)
            if name == "node_ptr":
                yield part.node_ptr[min(1, int(index[0])) :] + nodes
            else:
                yield getattr(part, name) if row is None else part.edge_index[row] + nodes
            nodes += part.num_nodes
