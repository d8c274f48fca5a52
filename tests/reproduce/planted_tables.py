"""Results of tables that nobody computed."""

from collections.abc import Callable

import numpy as np

from nmrgcl.reproduce.item import Item
from nmrgcl.reproduce.plan import Plan
from nmrgcl.reproduce.scores import Row
from tests.reproduce.planted import rows_of

FOLDS = 10


def table_rows_of(item: Item, plan: Plan, score: Callable[..., float], noise: float = 0.3) -> list[Row]:
    """A row for each cell of ``plan`` with ``score(dataset, row, line)`` and noise, that of folds being larger."""
    chance = np.random.default_rng(1)
    rows = []
    for row in rows_of(item, plan, score, noise):
        spread = chance.normal(size=FOLDS if item.name == "table1" else 1)
        folds = row["score"] + noise * (spread - spread.mean())
        facts = {"folds": [round(float(fold), 4) for fold in folds], "train_seconds": 2.0, "judge_seconds": 1.0}
        rows.append(row | {"selection": row.get("selection", "honest"), "epochs": 20} | facts)
    return rows
