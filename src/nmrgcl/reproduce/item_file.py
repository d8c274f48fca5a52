"""The .json file of an item: its plan, rows and verdicts, from which it can be rendered again anywhere."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nmrgcl.errors import DataError
from nmrgcl.record import RecordError, RecordFormat
from nmrgcl.reproduce.item import Item
from nmrgcl.reproduce.plan import Plan
from nmrgcl.reproduce.scores import CELL, Row
from nmrgcl.reproduce.verdict import Verdict

ITEM_FILE = RecordFormat("nmrgcl-item", 1, "the results of an item", sealed=False, limit=2**26)
_REMEDY = "write it again with nmrgcl reproduce"


def as_text(plan: Plan, rows: Sequence[Row], verdicts: Sequence[Verdict]) -> str:
    """JSON with one line per row; values that all rows share are written once."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    same = {name: rows[0][name] for name in names if len(rows) > 1 and _alike(rows, name)}
    columns = [name for name in names if name not in same]
    facts = {"plan": plan.to_dict(), "verdicts": [verdict.to_dict() for verdict in verdicts]}
    head = ITEM_FILE.seal(facts | {"same": same, "columns": columns})
    lines = ",\n".join("  " + _dump([row.get(name) for name in columns]) for row in rows)
    parts = [f" {_dump(name)}: {_dump(value)}" for name, value in head.items()]
    return "{\n" + ",\n".join(parts) + ',\n "rows": [\n' + lines + "\n ]\n}\n"


def read_item_file(path: Path, item: Item) -> tuple[Plan, list[Row]]:
    """The plan and rows in the file of ``item``; verdicts are not read, as they follow from the rows."""
    try:
        values = ITEM_FILE.read(path)
    except RecordError as error:
        raise error.told(DataError, path, _REMEDY) from None
    if values is None:
        raise DataError(f"{path}: no such file; compute it with {item.command} --out {path.parent}")
    try:
        plan, rows = _parse(values, item)
        scores = item.scores(plan, rows)  # Report malformed rows here rather than while a page is being drawn.
        item.judge(scores)
        item.grids(plan, scores)
        return plan, rows
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = str(error) if type(error) is ValueError else "not what nmrgcl reproduce writes"
        raise DataError(f"{path}: damaged, or not such a file ({reason}); {_REMEDY}") from None


def _parse(values: dict[str, Any], item: Item) -> tuple[Plan, list[Row]]:
    plan = Plan.from_dict(values["plan"])
    if plan.item != item.name:
        raise ValueError(f"it holds {plan.item}, not {item.name}")
    columns, same = values["columns"], values["same"]
    rows = [dict(same) | dict(zip(columns, row, strict=True)) for row in values["rows"]]
    for number, row in enumerate(rows, 1):
        if item.axes and not _is_cell(row, item.axes):
            raise ValueError(f"row {number} is not a cell")
    return plan, rows


def _is_cell(row: Row, axes: Sequence[str]) -> bool:
    score, seed = row["score"], row["seed"]
    numbers = isinstance(score, int | float) and math.isfinite(score) and 0 <= score <= 100 and type(seed) is int
    texts = all(isinstance(row[name], str) for name in CELL if name not in ("score", "seed"))
    return numbers and texts and all(isinstance(row[axis], str | int | float) for axis in axes)


def _alike(rows: Sequence[Row], name: str) -> bool:
    return all(name in row and row[name] == rows[0][name] for row in rows)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
