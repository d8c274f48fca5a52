"""Tests of the paper's lemmas, theorems and examples (Sec. 3).

    nmrgcl reproduce theory           # half a minute of one core; --quick is the same

For each statement: predicted and measured values, and where it holds. ``nmrgcl theory --plot`` draws the measurements.
"""

import torch

from nmrgcl.reproduce.item import MeasuredItem
from nmrgcl.reproduce.plan import Extent, Plan
from nmrgcl.reproduce.scores import Row, Scores
from nmrgcl.reproduce.theory.findings import check_theory
from nmrgcl.reproduce.verdict import ClaimOutcome, Rule, Verdict

CLAIMS = ("Lemmas 1 and 2, Theorems 1 and 2, Eqs. 6 and 11 and the five-node example hold as they are printed",)
_OUTCOMES: dict[bool | None, ClaimOutcome] = {True: "confirmed", False: "not confirmed", None: "inconclusive"}
_RULE = Rule(
    "a measurement that agrees with the prediction, or a proof", "a measurement that contradicts it: a counterexample"
)


def measure(plan: Plan, device: torch.device) -> list[Row]:
    """One row per statement, computed on the CPU because differences of 1e-15 matter."""
    return [statement.to_dict() for statement in check_theory().claims]


def judge(scores: Scores) -> list[Verdict]:
    """One verdict per statement."""
    return [
        Verdict(
            row["claim"],
            _OUTCOMES[row["holds"]],
            f"predicted {row['predicted']:.4g}, measured {row['measured']:.4g}; {row['where']}",
            {"predicted": row["predicted"], "measured": row["measured"]},
            _RULE,
        )
        for row in scores.rows
    ]


ITEM = MeasuredItem(
    name="theory",
    title="Theory: lemmas, theorems and examples",
    note="Statements as printed, and corrected where the print is wrong; measured on synthetic graphs and matrices.",
    cost="measured, no cells: half a minute on one core",
    claims=CLAIMS,
    full=Extent(("synthetic",), 1),
    small=Extent(("synthetic",), 1),
    judge=judge,
    measure=measure,
)
