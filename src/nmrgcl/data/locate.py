"""Where the files of a dataset are: the cache, the mirror, this package, or the public address.

The mirror, ``NMRGCL_MIRROR``, is a folder or an https address with the same layout: ``FORMAT/NAME.zip``.
"""

import os
from collections.abc import Callable
from pathlib import Path

from nmrgcl.data.catalog import CatalogEntry, find
from nmrgcl.data.files.fetch import NotThereError, fetch, is_safe
from nmrgcl.errors import DataError, printable
from nmrgcl.home import home

ADDRESSES = {
    "tu": "https://www.chrsmrrs.com/graphkerneldatasets",
    "planetoid": "https://raw.githubusercontent.com/kimiyoung/planetoid/master/data",
    "npz": "https://raw.githubusercontent.com/shchur/gnn-benchmark/master/data/npz",
    "moleculenet": "https://deepchemdata.s3-us-west-1.amazonaws.com/datasets",
}
_SUFFIXES = {
    "tu": (".zip", ".tar.xz", ".tar.gz"),
    "planetoid": (".tar.xz", ".tar.gz", ".zip"),
    "npz": (".npz",),
    "moleculenet": (".csv", ".csv.gz", ".molecules"),
    "zinc": (".smi.xz", ".smi.gz", ".smi", ".molecules"),
}
INCLUDED = Path(__file__).with_name("included")
"""What the package carries, laid out like a mirror; where it comes from is in the README there."""
FileProgress = Callable[[str, int, int | None], None]
"""Called with a file's name, the bytes that are there, and how many there will be, if known."""


def mirror() -> Path | str | None:
    """The folder or the address that ``NMRGCL_MIRROR`` names; None where it is not set."""
    given = os.environ.get("NMRGCL_MIRROR", "")
    if "://" in given and not is_safe(given):
        raise DataError(printable(f"NMRGCL_MIRROR={given}: give a folder or an https address"))
    return given.rstrip("/") if "://" in given else Path(given) if given else None


def locate(entry: CatalogEntry) -> Path | None:
    """The archive, file or folder at hand, or None; of a dataset made of others that of the first, if all are there."""
    for place in (home(), mirror(), INCLUDED):
        if isinstance(place, Path) and (found := _within(place / entry.format, entry)):
            return found
    if entry.parts:
        there = [locate(part) for part in parts_of(entry)]
        return None if None in there else there[0]
    return None


def parts_of(entry: CatalogEntry) -> list[CatalogEntry]:
    """The datasets that it is made of."""
    return [part for name in entry.parts if (part := find(name)) is not None]


def download(entry: CatalogEntry, progress: FileProgress | None = None) -> Path:
    """Fetch what is missing into the cache: from the mirror if it is an address, else from where it is published."""
    for part in parts_of(entry):
        if locate(part) is None:
            download(part, progress)
    if (found := locate(entry) or _from_mirror(entry, progress)) is not None:
        return found
    folder = home() / entry.format
    if entry.format not in ADDRESSES:
        raise DataError(
            f"{entry.name}: is not published as one file of SMILES; place one, a SMILES per line, as "
            f"{folder / (entry.stem or entry.name)}.smi"
        )
    for file in entry.files:
        name = Path(file).name
        digest = _official(entry, name)
        fetch(f"{ADDRESSES[entry.format]}/{name}", folder / file, sha256=digest, progress=_named(progress, name))
    return folder / (entry.name if entry.format == "planetoid" else entry.files[0])


def _from_mirror(entry: CatalogEntry, progress: FileProgress | None) -> Path | None:
    """Ask a mirror on the network for each packing; None where it has none of them, or there is no such mirror."""
    address, folder = mirror(), home() / entry.format
    if not isinstance(address, str):
        return None
    packings = [(f"{entry.stem or entry.name}{suffix}",) for suffix in _SUFFIXES[entry.format]]
    packings.sort(key=lambda files: files[0] not in entry.sha256)
    for files in [*packings, entry.files] if entry.format == "planetoid" else packings:
        try:
            for file in files:
                fetch(f"{address}/{entry.format}/{file}", folder / file, progress=_named(progress, Path(file).name))
        except NotThereError:
            continue
        return _within(folder, entry)
    return None


def _within(folder: Path, entry: CatalogEntry) -> Path | None:
    stem = entry.stem or entry.name
    for suffix in _SUFFIXES[entry.format]:
        if (archive := folder / f"{stem}{suffix}").is_file():
            return archive
    unpacked = entry.format == "planetoid" and all((folder / file).is_file() for file in entry.files)
    return folder / entry.name if unpacked else None


def _official(entry: CatalogEntry, file: str) -> str | None:
    """Planetoid's files are known as they are published; of the others only repacked copies are."""
    return entry.sha256.get(file) if entry.format == "planetoid" else None


def _named(progress: FileProgress | None, name: str) -> Callable[[int, int | None], None] | None:
    return None if progress is None else lambda done, total: progress(name, done, total)
