"""The curves and spectra of a run as the page draws them, from finished models and from a training under way."""

import json
import math
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from nmrgcl import reading
from nmrgcl.run.live import NAME

LARGEST = 1 << 28
"""Bytes of a file of metrics."""
MOST = 1000
"""Points of a curve; of more, every so-manyth is sent."""


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects in a file of JSON lines; those that are damaged, or not yet complete, are passed over."""
    try:
        text = reading.read_bytes(path, LARGEST).decode(errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        # type() and not isinstance(), because True is an int, too.
        if isinstance(found, dict) and type(found.get("epoch")) is int:
            yield found


def curve(lines: Iterable[dict[str, Any]], key: str) -> list[list[float]]:
    """Epochs and values of a measurement; of very many, evenly chosen ones and the last."""
    found = [(line["epoch"], line[key]) for line in lines if type(line.get(key)) in (int, float)]
    found = [pair for pair in found if math.isfinite(pair[1])]
    step = -(-len(found) // MOST) or 1
    # The last point says where the training is.
    kept = found[::step] + ([found[-1]] if found and (len(found) - 1) % step else [])
    return [[float(epoch) for epoch, _ in kept], [float(value) for _, value in kept]]


def of_model(folder: Path) -> dict[str, Any]:
    """Loss and effective rank of a model that is complete."""
    lines = list(read_lines(folder / "metrics.jsonl"))
    return {"loss": curve(lines, "loss"), "rank": curve(lines, "effective_rank")}


def under_way(run: Path) -> tuple[dict[int, dict[str, Any]], float | None]:
    """By seed, what a training has told of itself so far; and how many seconds ago it last did."""
    try:
        silent = max(0.0, time.time() - (run / NAME).stat().st_mtime)
    except OSError:
        return {}, None
    by_seed: dict[int, list[dict[str, Any]]] = {}
    for line in read_lines(run / NAME):
        if type(line.get("seed")) is int:
            by_seed.setdefault(line["seed"], []).append(line)
    told = {}
    for seed, lines in by_seed.items():
        spectra = [line["spectrum"] for line in lines if _is_spectrum(line.get("spectrum"))]
        last = max(line["epoch"] for line in lines)
        told[seed] = {
            "loss": curve(lines, "loss"),
            "rank": curve(lines, "effective_rank"),
            "epoch": last,
            "spectra": [spectra[0], spectra[-1]] if len(spectra) > 1 else spectra,
        }
    return told, silent


def _is_spectrum(values: Any) -> bool:
    return isinstance(values, list) and all(type(one) in (int, float) and math.isfinite(one) for one in values)
