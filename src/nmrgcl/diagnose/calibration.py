"""How often the verdict is right on planted cases."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from nmrgcl.diagnose.planted import PLANTED, plant
from nmrgcl.diagnose.verdict import judge_collapse


@dataclass(frozen=True)
class Calibrated:
    """Cases of one make: how many there were, and how many were called what."""

    kind: str
    case: str
    planted: int
    complete: int
    dimensional: int
    none: int

    @property
    def right(self) -> int:
        """Cases that were called what they are."""
        return int(getattr(self, self.kind))

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {**asdict(self), "right": self.right}


def calibrate(cases: int = 100, seed: int = 0) -> list[Calibrated]:
    """``cases`` of each make in ``PLANTED``, of random shape, rank, noise and scale, judged."""
    table = []
    for kind, makes in PLANTED.items():
        for number, (name, make) in enumerate(makes.items()):
            calls = {"complete": 0, "dimensional": 0, "none": 0}
            for case in range(cases):
                chance = np.random.default_rng([seed, list(PLANTED).index(kind), number, case])
                calls[judge_collapse(torch.from_numpy(plant(make, chance))).kind] += 1
            table.append(Calibrated(kind, name, cases, **calls))
    return table


def sum_up(table: list[Calibrated]) -> dict[str, float]:
    """Share of each kind that was called right, and of cases without collapse in which there was an alarm."""
    shares = {}
    for kind in PLANTED:
        rows = [row for row in table if row.kind == kind]
        shares[kind] = sum(row.right for row in rows) / sum(row.planted for row in rows)
    return {**shares, "false_alarms": 1 - shares["none"]}
