"""What files of every format hold, as ``schema.json`` keeps it; ``python -m tests.formats.schema`` writes it anew."""

import csv
import gzip
import json
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np

from tests.formats.write import in_new_folder, write_files

FILE = Path(__file__).with_name("schema.json")
LEFT_OUT = re.compile(r"\.lock|README\.md|\.html$|\.bin$|timings|settings\.json|graphs\.jsonl|molecules\.csv|seed-1")
"""Locks, texts for people, arrays that a manifest describes, settings, and what the commands were given."""


def schema(folder: Path) -> dict[str, Any]:
    """The names and types in each file."""
    paths = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    kept = {name: path for name, path in paths.items() if not LEFT_OUT.search(name)}
    return {re.sub(r"[0-9a-f]{32}", "KEY", name): _of_file(path) for name, path in kept.items()}


def _of_file(path: Path) -> Any:
    match path.suffix:
        case ".json":
            return _of_value(json.loads(path.read_text(encoding="utf-8")))
        case ".jsonl":
            return _of_value(json.loads(path.read_text(encoding="utf-8").splitlines()[0]))
        case ".nmrgcl-results":
            return _of_value(json.loads(gzip.decompress(path.read_bytes()).partition(b"\n")[0]))
        case ".safetensors":
            content = path.read_bytes()
            head = json.loads(content[8 : 8 + struct.unpack("<Q", content[:8])[0]])
            return {name: entry["dtype"] for name, entry in head.items()}
        case ".npz":
            with np.load(path) as arrays:
                return {name: f"{array.dtype.kind}, {array.ndim} axes" for name, array in arrays.items()}
        case ".csv":
            with path.open(encoding="utf-8", newline="") as file:
                return next(csv.reader(file))
        case ".parquet":
            from pyarrow.parquet import read_schema

            return {field.name: str(field.type) for field in read_schema(path)}
        case ".molecules":
            return path.read_bytes().partition(b"\n")[0].decode()
        case _:
            return [line.split()[1] for line in path.read_text(encoding="utf-8").splitlines()]


def _of_value(value: Any) -> Any:
    """Types of JSON; settings have tests of their own, and may become more."""
    if isinstance(value, dict):
        return {key: "settings" if key in ("settings", "svm") else _of_value(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_of_value(value[0])] if value else []
    return type(value).__name__


if __name__ == "__main__":
    with in_new_folder() as new:
        write_files()
        FILE.write_text(json.dumps(schema(new), indent=1) + "\n", encoding="utf-8")
