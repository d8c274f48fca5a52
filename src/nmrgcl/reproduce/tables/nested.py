"""The honest line of a tuned row: nested estimates written by ``nmrgcl tune``.

They are not cells, because every test fold has its own settings, chosen inside its training folds.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nmrgcl.errors import DataError
from nmrgcl.record import RecordError
from nmrgcl.reproduce.plan import Plan
from nmrgcl.reproduce.scores import Row
from nmrgcl.reproduce.tables.sheet import TableRow
from nmrgcl.tune.found import TUNED

NO_CELL = ""
"""The key of a row that is not a cell."""


def nested_rows(row: TableRow, plan: Plan, folder: Path) -> list[Row]:
    """One row per dataset of ``plan`` and seed of its search in ``folder``, if the search used the plan's protocol."""
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; nmrgcl tune DATASET --out {folder} writes a search there")
    searches = [_read(path) for path in sorted(folder.glob("*.json"))]
    rows = []
    for dataset in plan.datasets:
        for found in searches:
            if (found["dataset"], found["method"], found["protocol"]) == (dataset, row.method, plan.protocol):
                rows += _rows(row.name, found)[: plan.seeds]
    return rows


def _rows(name: str, found: dict[str, Any]) -> list[Row]:
    facts = {
        "dataset": found["dataset"],
        "row": name,
        "selection": "honest",
        "protocol": found["protocol"],
        "device": found.get("device", ""),
        "key": NO_CELL,
        "candidates": len(found["candidates"]),
        "failed": sum(one["failed"] for one in found["candidates"]),
    }
    scores = [round(score, 4) for score in found["nested"]["scores"]]
    return [facts | {"seed": seed, "score": score, "folds": [score]} for seed, score in enumerate(scores)]


def searched(rows: Sequence[Row]) -> dict[str, str]:
    """For each dataset, the number of candidates of its search and, in brackets, how many of them failed."""
    facts = {row["dataset"]: (row["candidates"], row["failed"]) for row in rows if row["key"] == NO_CELL}
    return {name: f"{count} ({bad} failed)" if bad else str(count) for name, (count, bad) in facts.items()}


def _read(path: Path) -> dict[str, Any]:
    try:
        found = TUNED.read(path)
        if found is None or not all(isinstance(s, float) for s in found["nested"]["scores"]):
            raise TUNED.mismatch
        _ = [(found[key], one["failed"]) for one in found["candidates"] for key in ("dataset", "method", "protocol")]
    except (KeyError, TypeError):
        raise TUNED.mismatch.told(DataError, path, "nmrgcl tune writes such files") from None
    except RecordError as error:
        raise error.told(DataError, path, "nmrgcl tune writes such files") from None
    return found
