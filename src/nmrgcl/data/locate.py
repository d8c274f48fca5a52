"""Find the files of a named dataset: in the cache, the mirror or this package, or download them.

The mirror, ``NMRGCL_MIRROR``, is a folder or an https address laid out like the cache: ``FORMAT/NAME.zip``.
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
"""Datasets shipped with the package, laid out like a mirror; the README there states their origin."""
FileProgress = Callable[[str, int, int | None], None]
"""Called with the name of a file, the number of bytes received and, if known, the total."""


def mirror() -> Path | str | None:
    """Return the folder or address in ``NMRGCL_MIRROR``; None if it is not set."""
    given = os.environ.get("NMRGCL_MIRROR", "")
    if "://" in given and not is_safe(given):
        raise DataError(printable(f"NMRGCL_MIRROR={given}: must be a folder or an https address"))
    return given.rstrip("/") if "://" in given else Path(given) if given else None


def locate(entry: CatalogEntry) -> Path | None:
    """Return the local archive, file or folder of a dataset, or None.

    For a dataset composed of others, this is the file of the first part, if all parts are there.
    """
    for place in (home(), mirror(), INCLUDED):
        if isinstance(place, Path) and (found := _within(place / entry.format, entry)):
            return found
    if entry.parts:
        there = [locate(part) for part in parts_of(entry)]
        return None if None in there else there[0]
    return None


def parts_of(entry: CatalogEntry) -> list[CatalogEntry]:
    """Return the datasets that this one is composed of."""
    return [part for name in entry.parts if (part := find(name)) is not None]


def download(entry: CatalogEntry, progress: FileProgress | None = None) -> Path:
    """Download missing files into the cache: from the mirror if it is an address, else from the publisher."""
    for part in parts_of(entry):
        if locate(part) is None:
            download(part, progress)
    if (found := locate(entry) or _from_mirror(entry, progress)) is not None:
        return found
    folder = home() / entry.format
    if entry.format not in ADDRESSES:
        raise DataError(
            f"{entry.name}: cannot be downloaded as a single file of SMILES; place one, with one SMILES per line, at "
            f"{folder / (entry.stem or entry.name)}.smi"
        )
    for file in entry.files:
        name = Path(file).name
        # Planetoid's published files are known by digest; for the other formats only repacked copies are.
        digest = entry.sha256.get(name) if entry.format == "planetoid" else None
        fetch(f"{ADDRESSES[entry.format]}/{name}", folder / file, sha256=digest, progress=_named(progress, name))
    return folder / (entry.name if entry.format == "planetoid" else entry.files[0])


def _from_mirror(entry: CatalogEntry, progress: FileProgress | None) -> Path | None:
    """Try to download each kind of archive from a remote mirror; None if it has none, or if there is no mirror."""
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


def _named(progress: FileProgress | None, name: str) -> Callable[[int, int | None], None] | None:
    return None if progress is None else lambda done, total: progress(name, done, total)
