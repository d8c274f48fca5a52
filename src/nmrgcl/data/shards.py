"""Split a store into shards, merge and verify stores; only a few thousand graphs are in memory at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from nmrgcl.data.extra_rows import Piece, extra_parts
from nmrgcl.data.library import stores_in
from nmrgcl.data.molecule_rows import LISTED
from nmrgcl.data.molecules.dataset import Watch
from nmrgcl.data.stored import COUNTS, open_dataset
from nmrgcl.data.stored_molecules import MOLECULES, SCAFFOLDS
from nmrgcl.errors import DataError, printable
from nmrgcl.graphs import Graphs
from nmrgcl.store import MANIFEST, Store, open_store, write_store
from nmrgcl.store.manifest import EXTRA, read_manifest

AT_A_TIME = 16_384
"""Number of graphs in memory at a time."""
MOST = 100_000
"""The largest number of shards, whose names have five digits."""
SHARD = "shard"


@dataclass(frozen=True)
class Shard:
    """Which part of which dataset a shard is.

    ``whole`` is the same for all shards of it: the checksum of the store that was split, or of the import.
    """

    number: int
    of: int
    whole: str


@dataclass(frozen=True)
class StoreFacts:
    """What a store must have in common with others to be merged with them; ``kind`` describes each of its arrays."""

    folder: Path
    graphs: int
    nodes: int
    edges: int
    kind: dict[str, str]
    meta: dict[str, Any]
    shard: Shard | None


def store_facts(folder: Path, store: Store | None = None) -> StoreFacts:
    """Read the facts about the store in ``folder``, which is not kept open."""
    store = store or open_store(folder)
    facts = {"num_features": str(store.num_features), "y_level": store.y_level}
    arrays = {**store.arrays, **{EXTRA + name: values for name, values in store.extra.items()}}
    widths = {name: "".join(f" × {n}" for n in values.shape[1:]) for name, values in arrays.items()}
    kind = facts | {name: f"{store.types[name]}{width}" for name, width in widths.items()}
    meta = {key: value for key, value in store.meta.items() if key != SHARD}
    return StoreFacts(folder, *store.counts, kind, meta, _shard_of(store))


def _shard_of(store: Store) -> Shard | None:
    said = store.meta.get(SHARD)
    if not isinstance(said, dict) or set(said) != {"number", "of", "whole"}:
        return None
    shard = Shard(**said)
    fine = [type(value) for value in (shard.number, shard.of, shard.whole)] == [int, int, str]
    return shard if fine and 0 <= shard.number < shard.of <= MOST else None


def shard_store(folder: Path, out: Path, shards: int, *, watch: Watch | None = None) -> list[Path]:
    """Write the store in ``folder`` as ``shards`` stores of nearly equal size in ``out``, and return their folders.

    Merging them gives the same files again. Each shard appears complete or not at all.
    """
    facts = _intact(folder)
    graphs = facts.graphs
    if not 1 <= shards <= min(graphs, MOST):
        raise DataError(f"{folder}: has {graphs} graphs, so it can be split into at most {min(graphs, MOST)} shards")
    folders = shard_folders(out, shards)
    whole = read_manifest(folder / MANIFEST)["checksum"]
    for number, place in enumerate(folders):
        piece = Piece(folder, number * graphs // shards, (number + 1) * graphs // shards)
        notes = {**_shard_meta(facts, piece), SHARD: asdict(Shard(number, shards, whole))}
        _write(place, [piece], notes, graphs, watch)
    return folders


def shard_folders(out: Path, shards: int) -> list[Path]:
    """Return the folders of ``shards`` shards in ``out``; raise DataError if there are other stores."""
    folders = [out / f"{SHARD}-{number:05}" for number in range(shards)]
    if (out / MANIFEST).exists():
        raise DataError(f"{out}: is a store; choose an empty folder for the shards")
    for other in stores_in(out) if out.is_dir() else ():
        if other not in folders:
            raise DataError(f"{out}: contains another store, {other.name}; choose an empty folder for the shards")
    return folders


def merge_stores(folders: Sequence[Path], out: Path, *, watch: Watch | None = None) -> Store:
    """Write the graphs of all stores, in the given order, to one store, and return it.

    The shards of one store are put in their order, and none may be missing.
    """
    stores = [_intact(folder) for folder in folders]
    continued = require_belonging(stores, str(folders[0].parent), but=SCAFFOLDS)
    if continued:
        stores.sort(key=lambda facts: facts.shard.number if facts.shard else 0)
    pieces = [Piece(facts.folder, 0, facts.graphs) for facts in stores]
    _write(out, pieces, _merged_meta(stores, out), sum(facts.graphs for facts in stores), watch, continued=continued)
    return open_store(out)


def verify_store(folder: Path) -> StoreFacts:
    """Read everything in a store, and raise DataError about any damage."""
    store = open_store(folder, verify=True)
    if "classes" in store.meta:
        open_dataset(folder)
    return store_facts(folder, store)


def require_belonging(stores: Sequence[StoreFacts], place: str, but: str = "") -> bool:
    """Raise DataError unless the stores have the same format; return True if they are the shards of one store.

    Shards of one store must all be there, each of them once. Other stores may differ in the extra array ``but``.
    """
    shards = [facts.shard for facts in stores if facts.shard]
    of_one = len(shards) == len(stores) and len({(shard.of, shard.whole) for shard in shards}) == 1
    first = stores[0].kind
    for facts in stores[1:]:
        differing = [key for key in {**first, **facts.kind} if first.get(key) != facts.kind.get(key)]
        for key in differing:
            if of_one or key != EXTRA + but:
                told = f"{facts.folder}: {key} is {facts.kind.get(key, 'absent')}, but {first.get(key, 'absent')} in"
                raise DataError(f"{told} {stores[0].folder}; only stores of the same format belong together")
    if of_one:
        _require_complete(shards, place)
    return of_one


def _require_complete(shards: Sequence[Shard], place: str) -> None:
    """Raise DataError unless the shards of one store are all there, each of them once."""
    numbers = sorted(shard.number for shard in shards)
    missing = sorted(set(range(shards[0].of)) - set(numbers))
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        told = f"{place}: shard {missing[0]}{more} of {shards[0].of} (counted from 0) is missing"
        raise DataError(f"{told}; copy it, or split the store again")
    if len(numbers) > shards[0].of:
        twice = next(a for a, b in pairwise(numbers) if a == b)
        raise DataError(f"{place}: shard {twice} is given twice; leave one of them out")


def _intact(folder: Path) -> StoreFacts:
    """Verify the checksums of a store, so that damage is never written under new ones, and read the facts about it."""
    store = open_store(folder).check_bytes()
    if "classes" in store.meta:
        open_dataset(folder)  # raises if labels, attributes or metadata do not describe the graphs
    elif store.extra:
        raise DataError(f"{folder}: is not a dataset but has extra arrays, which cannot be split; write it without")
    return store_facts(folder, store)


def _shard_meta(whole: StoreFacts, piece: Piece) -> dict[str, Any]:
    """Return the metadata of a shard; the first one keeps what is known about all graphs together."""
    meta = whole.meta
    if "classes" not in meta:
        return meta
    _, first, last = piece
    counts = meta if first == 0 else dict.fromkeys(COUNTS, 0)
    found = {**meta, **{name: counts[name] for name in COUNTS}}
    if MOLECULES in meta:
        notes = meta[MOLECULES]
        skipped = notes["rows"] - whole.graphs if first == 0 else 0
        invalid = notes["invalid"] if first == 0 else []
        found[MOLECULES] = {**notes, "rows": last - first + skipped, "invalid": invalid}
    return found


def _merged_meta(stores: Sequence[StoreFacts], out: Path) -> dict[str, Any]:
    metas = [facts.meta for facts in stores]
    first = metas[0]
    for facts in stores[1:]:
        for key in {**facts.meta, **first}:
            one, other = (_common(meta.get(key)) for meta in (facts.meta, first))
            if key not in (*COUNTS, "name") and one != other:
                told = f"{facts.folder}: its {key} differ from those of {stores[0].folder}"
                raise DataError(f"{told}; only stores of the same format belong together")
    if "classes" not in first:
        return first
    merged = {**first, **{name: sum(meta[name] for meta in metas) for name in COUNTS}}
    if len({meta["name"] for meta in metas}) > 1:
        merged["name"] = printable(out.name)
    if MOLECULES in first:
        notes = [meta[MOLECULES] for meta in metas]
        invalid = [one for note in notes for one in note["invalid"]][:LISTED]
        merged[MOLECULES] = {**notes[0], "rows": sum(note["rows"] for note in notes), "invalid": invalid}
    return merged


def _common(value: Any) -> Any:
    """Return the part of a metadata entry that all stores must share; of molecules, only the names of their labels."""
    return value.get("tasks") if isinstance(value, dict) else value


def _write(
    folder: Path,
    pieces: Sequence[Piece],
    meta: dict[str, Any],
    total: int,
    watch: Watch | None,
    *,
    continued: bool = True,
) -> None:
    def graphs() -> Iterator[Graphs]:
        done = pieces[0].first
        for place, first, last in pieces:
            store = open_store(place)
            # Even an empty store gives one batch, from which write_store learns its arrays.
            for at in range(first, max(last, first + 1), AT_A_TIME):
                index = torch.arange(at, min(at + AT_A_TIME, last))
                yield store.take(index)
                done += len(index)
                if watch is not None:
                    watch(done, total)

    write_store(folder, graphs(), extra=extra_parts(pieces, continued=continued), meta=meta)
