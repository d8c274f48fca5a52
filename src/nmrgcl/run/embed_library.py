"""Embed a library: each of its stores becomes one Parquet file, written by one task.

A file states the model and the store that it was made of. The same command again computes only the files that are
missing. The column ``key`` is the position of a graph in the library, by which the order can be restored.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from nmrgcl import atomic
from nmrgcl.data.formats.csv_file import arrow
from nmrgcl.data.shards import require_belonging, store_facts
from nmrgcl.data.stored import open_dataset
from nmrgcl.errors import DataError, SettingError, UserError
from nmrgcl.lock import locked
from nmrgcl.model_folder import Model, folder_digest, load_model
from nmrgcl.run.embedding_tables import KEY
from nmrgcl.run.embeddings import Embeddings, columns_of, embed_dataset, embed_in_parts, with_scale
from nmrgcl.run.machine import choose_device
from nmrgcl.run.tasks import compute_tasks
from nmrgcl.store import MANIFEST
from nmrgcl.store.manifest import read_manifest

MARK = b"nmrgcl"
"""The entry in the metadata of a Parquet file that identifies the model and the store."""


@dataclass(frozen=True)
class ShardTask:
    """One store to embed.

    Attributes:
        store: the folder of the store.
        out: the Parquet file to write.
        first: the position of its first graph in the library.
        model: the model folder.
        device: "auto", "cpu" or "cuda", resolved by the worker.
        unknown: as in ``embed_dataset``.
        normalise: how to scale the embeddings.
        mark: identifies the model, the store and these options.
    """

    store: Path
    out: Path
    first: int
    model: Path
    device: str
    unknown: Literal["error", "zero"]
    normalise: Any
    mark: str

    @property
    def token(self) -> str:
        """Identifies the unfinished file of a worker that died."""
        return self.mark[:16]


class ShardOutcome(NamedTuple):
    """The store, its file, the number of rows written, and why there are none."""

    store: Path
    out: Path
    rows: int = 0
    error: str = ""


def plan_library(
    model: Path, stores: Iterable[Path], out: Path, *, device: str, unknown: Literal["error", "zero"], normalise: str
) -> list[ShardTask]:
    """One task per store, in their order; raises DataError unless the stores belong together."""
    digest, first, tasks = folder_digest(model), 0, []
    facts = [store_facts(folder) for folder in stores]
    require_belonging(facts, str(facts[0].folder.parent))
    for one in facts:
        checksum = read_manifest(one.folder / MANIFEST)["checksum"]
        # The column `key` counts from `first`, so a store that has moved within the library needs a new file.
        mark = hashlib.sha256(json.dumps([digest, checksum, first, unknown, normalise]).encode()).hexdigest()
        file = out.absolute() / f"{one.folder.name}.parquet"
        tasks.append(ShardTask(one.folder.absolute(), file, first, model.absolute(), device, unknown, normalise, mark))
        first += one.graphs
    return tasks


def missing_tasks(tasks: Iterable[ShardTask]) -> list[ShardTask]:
    """The tasks whose files are not there; raises SettingError about a file of another model or library."""
    arrow()
    missing = []
    for task in tasks:
        if not task.out.exists():
            missing.append(task)
        elif _mark_of(task.out) != task.mark:
            told = f"{task.out}: does not contain the embeddings of {task.store.name} by this model"
            raise SettingError(f"{told}; remove it or choose another --out")
    return missing


def embed_library(tasks: list[ShardTask], out: Path, **options: Any) -> Iterator[ShardOutcome]:
    """Embed the stores of ``tasks``; one command at a time may write to ``out``.

    ``options`` are passed to ``compute_tasks``.
    """
    if not tasks:  # Connecting to Ray takes seconds.
        return
    with locked(out):
        for task in tasks:
            atomic.remove_strays(out, task.token)
        yield from compute_tasks(
            embed_shard,
            tasks,
            name=lambda task: f"embed {task.store.name}",
            lost=lambda task, why: ShardOutcome(task.store, task.out, error=f"the worker died again ({why})"),
            folder=out.absolute(),
            **options,
        )
        for task in tasks:  # A worker may have died, and its file have been written by another one.
            atomic.remove_strays(out, task.token)


def embed_shard(task: ShardTask) -> ShardOutcome:
    """Embed one store and write its file, which appears complete or not at all."""
    try:
        model = replace(_model(task.model), normalise=task.normalise)
        rows = _write(task, _parts(task, model))
    except UserError as error:
        return ShardOutcome(task.store, task.out, error=str(error))
    except OSError as error:
        return ShardOutcome(task.store, task.out, error=f"{task.out}: {error.strerror or error}")
    return ShardOutcome(task.store, task.out, rows)


@cache
def _model(folder: Path) -> Model:
    """The model, which a worker loads once."""
    return load_model(folder)


def _parts(task: ShardTask, model: Model) -> Iterator[Embeddings]:
    dataset, device = open_dataset(task.store), choose_device(task.device)
    if model.method.level == "node":
        raise SettingError(f"{task.model}: embeds nodes, but a library is embedded graph by graph")
    if dataset.molecules is not None:
        if model.features.kind != "molecules":
            raise DataError(f"{task.store}: these graphs are molecules, but the model was trained on {model.dataset}")
        found: Iterable[Embeddings] = embed_in_parts(model, dataset, device)
    else:
        whole = embed_dataset(model, dataset, device, unknown=task.unknown)
        named = dataset.ids("graph")
        ids = np.arange(len(whole.z)) + task.first if named is None else np.array(list(named), dtype=np.str_)
        found = [replace(whole, id=ids)]
    return (with_scale(part, model) for part in found)


def _write(task: ShardTask, parts: Iterator[Embeddings]) -> int:
    """Write the rows and return their number; every file of a library has the same columns of the same types."""
    lib, done, writer = arrow(), 0, None
    with atomic.new_file(task.out, task.token) as file:
        for part in parts:
            columns = {KEY: np.arange(len(part.z)) + task.first + done, **columns_of(part)}
            if (y := columns.get("y")) is not None and y.dtype.kind in "iub":
                columns["y"] = y.astype(np.float64)  # A missing label in another store makes these NaN.
            table = lib.table(columns, metadata={MARK: task.mark.encode()})
            if writer is None:
                writer = lib.parquet.ParquetWriter(file, table.schema)
            writer.write_table(table)
            done += len(part.z)
        if writer is None:
            raise DataError(f"{task.store}: contains no graphs; leave it out")
        writer.close()
    return done


def _mark_of(path: Path) -> str:
    try:
        found = arrow().parquet.read_schema(path).metadata or {}
    except (OSError, ValueError):
        return ""
    return bytes(found.get(MARK, b"")).decode(errors="replace")
