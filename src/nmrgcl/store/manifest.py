"""The manifest of a store, and its verification."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmrgcl import reading
from nmrgcl.checksums import checksum_of
from nmrgcl.errors import DataError
from nmrgcl.owned import FolderKind

FORMAT, VERSION = "nmrgcl-store", 1
MANIFEST = "manifest.json"
STRUCTURE = ("node_ptr", "edge_ptr", "degree", "source", "pair")
OPTIONAL = ("y", "edge_attr", "edge_weight")
EXTRA = "extra."
MAX_MANIFEST = 1 << 28
"""Largest size of ``manifest.json``, which may list a class for every node."""
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def _names(manifest: Mapping[str, Any]) -> set[str]:
    arrays = manifest.get("arrays")
    return {MANIFEST, *(f"{name}.bin" for name in (arrays if isinstance(arrays, dict) else ()))}


STORE = FolderKind("store", MANIFEST, lambda manifest: manifest.get("format") == FORMAT, _names)


@dataclass(frozen=True)
class Recorded:
    """The entry for one file: type on disk and in memory, shape, size and checksum."""

    dtype: str
    memory: str
    shape: list[int]
    bytes: int
    sha256: str


def read_manifest(path: Path) -> dict[str, Any]:
    """Read the manifest; raise DataError unless it is intact and of a supported version."""
    try:
        text = reading.read_bytes(path, MAX_MANIFEST)
    except (OSError, ValueError):
        raise DataError(f"{path}: is missing or unreadable, so {path.parent} is not a store; check the path") from None
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError):
        raise damaged(path, "is not JSON") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise DataError(f"{path}: is not the manifest of a store of graphs; check the path")
    version = manifest.get("version")
    if isinstance(version, int) and version > VERSION:
        raise DataError(
            f"{path}: was written by a newer version (format {version}, this version reads {VERSION}); upgrade nmrgcl"
        )
    if version != VERSION or manifest.get("checksum") != checksum_of(manifest):
        raise damaged(path, "its checksum does not match")
    return manifest


def array_file(folder: Path, name: str) -> Path:
    """Return the file of an array."""
    return folder / f"{name}.bin"


def damaged(path: Path, why: str) -> DataError:
    """Return the error about a damaged file."""
    return DataError(f"{path}: {why}; the store is damaged, write or copy it again")
