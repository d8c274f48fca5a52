"""Results that nobody computed: scores planted so that the verdict is known."""

from collections.abc import Callable
from typing import Any

import numpy as np

from nmrgcl.reproduce.item import Item
from nmrgcl.reproduce.plan import Plan
from nmrgcl.reproduce.scores import Row, Scores


def rows_of(item: Item, plan: Plan, score: Callable[..., float], noise: float = 0.3) -> list[Row]:
    """A row for each cell of ``plan``, with ``score(dataset, *at)`` and noise."""
    chance = np.random.default_rng(0)
    facts = {"selection": "honest", "device": "cpu"}
    return [
        {
            "dataset": placed.cell.dataset,
            "protocol": placed.cell.protocol,
            **facts,
            **dict(zip(item.axes, placed.at, strict=True)),
            "seed": placed.cell.seed,
            "score": round(score(placed.cell.dataset, *placed.at) + noise * chance.normal(), 4),
            "key": f"{number:032x}",
            **{name: round(chance.normal(), 4) for name in item.measures},
        }
        for number, placed in enumerate(item.cells(plan))
    ]


def planted(item: Item, score: Callable[..., float], noise: float = 0.3, **asked: Any) -> Scores:
    """The scores of such rows."""
    plan = item.plan(**asked)
    return item.scores(plan, rows_of(item, plan, score, noise))
