"""Import a file of SMILES as a library: each shard is a range of its lines, written by one task.

Merging the shards gives the store that importing the whole file gives. The same command again writes only the shards
that are missing.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from nmrgcl import atomic
from nmrgcl.data.cache import READER
from nmrgcl.data.formats.text import stem
from nmrgcl.data.molecules.dataset import write_listing
from nmrgcl.data.molecules.lines import LineRange, cut_lines, list_range
from nmrgcl.data.shards import MOST, SHARD, Shard, shard_folders, store_facts
from nmrgcl.errors import DataError, UserError, printable
from nmrgcl.lock import locked
from nmrgcl.run.tasks import compute_tasks

ENDING = ".smi"


@dataclass(frozen=True)
class ImportTask:
    """One shard to write.

    Attributes:
        source: the file of SMILES.
        out: the folder of the shard.
        lines: the lines that it contains.
        named: whether any molecule of the file has a name.
        name: the name of the dataset.
        strict: whether an invalid row is an error.
        shard: which part of the file it is; identifies the content of the file and these options.
    """

    source: Path
    out: Path
    lines: LineRange
    named: bool
    name: str
    strict: bool
    shard: Shard

    @property
    def token(self) -> str:
        """Identifies the unfinished shards of workers that died."""
        return self.shard.whole[:16]


class ImportOutcome(NamedTuple):
    """The folder of a shard, and why it was not written."""

    out: Path
    error: str = ""


def plan_import(source: Path, out: Path, shards: int, *, name: str | None, strict: bool) -> list[ImportTask]:
    """One task per shard, in the order of the file, which is read once."""
    if not source.name.lower().endswith(ENDING):
        told = f"{source}: only {ENDING} files can be imported in shards"
        raise DataError(printable(f"{told}; import it as one store, and split that with nmrgcl store shard"))
    if shards > MOST:
        raise DataError(f"--shards {shards}: at most {MOST} are possible")
    folders, name = shard_folders(out.absolute(), shards), name or printable(stem(source))
    file = cut_lines(source, shards)
    whole = hashlib.sha256(json.dumps([READER, file.digest, name, strict, shards]).encode()).hexdigest()
    return [
        ImportTask(source.absolute(), folder, lines, file.named, name, strict, Shard(number, shards, whole))
        for number, (folder, lines) in enumerate(zip(folders, file.ranges, strict=True))
    ]


def missing_shards(tasks: list[ImportTask]) -> list[ImportTask]:
    """The tasks whose shards are not there; raises DataError about a store of another origin."""
    missing = []
    for task in tasks:
        if not task.out.exists():
            missing.append(task)
        elif store_facts(task.out).shard != task.shard:
            told = f"{task.out}: is not this part of {task.source.name} with these options"
            raise DataError(printable(f"{told}; choose an empty folder for the shards"))
    return missing


def import_library(tasks: list[ImportTask], out: Path, **options: Any) -> Iterator[ImportOutcome]:
    """Write the shards of ``tasks``; one command at a time may write to ``out``.

    ``options`` are passed to ``compute_tasks``.
    """
    if not tasks:  # Connecting to Ray takes seconds.
        return
    tokens = {task.token for task in tasks}
    with locked(out):
        for token in tokens:
            atomic.remove_strays(out, token)
        yield from compute_tasks(
            import_shard,
            tasks,
            name=lambda task: f"import {task.out.name}",
            lost=lambda task, why: ImportOutcome(task.out, f"the worker died again ({why})"),
            folder=out.absolute(),
            packages=("rdkit",),  # Another version may read some SMILES differently.
            device="cpu",
            **options,
        )
        for token in tokens:  # A worker may have died, and its shard have been written by another one.
            atomic.remove_strays(out, token)


def import_shard(task: ImportTask) -> ImportOutcome:
    """Write one shard, which appears complete or not at all."""
    try:
        listing = list_range(task.source, task.lines, named=task.named)
        notes = {SHARD: asdict(task.shard)}
        # One job, because the shards themselves are computed in parallel.
        write_listing(task.out, listing, name=task.name, strict=task.strict, jobs=1, notes=notes, token=task.token)
    except UserError as error:
        return ImportOutcome(task.out, str(error))
    return ImportOutcome(task.out)
