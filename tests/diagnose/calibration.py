"""How often the verdict of ``nmrgcl diagnose`` is right on planted cases.

python -m tests.diagnose.calibration [--cases 1000] [--json]      # 52 s on one core
"""

import argparse
import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from nmrgcl.diagnose.verdict import judge_collapse
from tests.diagnose.planted import PLANTED, plant


@dataclass(frozen=True)
class Calibrated:
    """Cases of one kind, and how often each verdict was given."""

    kind: str
    case: str
    planted: int
    complete: int
    dimensional: int
    none: int

    @property
    def right(self) -> int:
        """The number of right verdicts."""
        return int(getattr(self, self.kind))

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "right": self.right}


def calibrate(cases: int = 100, seed: int = 0) -> list[Calibrated]:
    """Judge ``cases`` cases of each kind in ``PLANTED``, with random shape, rank, noise and scale."""
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
    """The share of right verdicts for each kind, and the share of false alarms."""
    shares = {}
    for kind in PLANTED:
        rows = [row for row in table if row.kind == kind]
        shares[kind] = sum(row.right for row in rows) / sum(row.planted for row in rows)
    return {**shares, "false_alarms": 1 - shares["none"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000, help="planted cases of each make")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    table = calibrate(options.cases)
    shares = sum_up(table)
    if options.json:
        print(json.dumps({"cases": [row.to_dict() for row in table], "right": shares}))
        return
    print(f"{'planted':<12} {'case':<32} {'cases':>6} {'complete':>9} {'dimensional':>12} {'none':>6}")
    for row in table:
        print(f"{row.kind:<12} {row.case:<32} {row.planted:>6} {row.complete:>9} {row.dimensional:>12} {row.none:>6}")
    kinds = ", ".join(f"{kind} {100 * shares[kind]:.2f} %" for kind in ("complete", "dimensional", "none"))
    print(f"called right: {kinds}; false alarms: {100 * shares['false_alarms']:.2f} %")


if __name__ == "__main__":
    main()
