"""All claims, and the measurements for the figure."""

from dataclasses import dataclass
from typing import Any

from nmrgcl.reproduce.theory.claim import Claim
from nmrgcl.reproduce.theory.flow import (
    check_flow,
    check_imbalance,
    check_singular_velocity,
    check_training,
    measure_imbalance,
    measure_training,
)
from nmrgcl.reproduce.theory.gradients import check_gradients
from nmrgcl.reproduce.theory.pooling import (
    MeasuredSimilarity,
    check_common_nodes,
    check_five_nodes,
    check_similarity,
    measure_similarity,
)


@dataclass(frozen=True)
class Findings:
    """The results of all tests.

    Attributes:
        claims: the claims in the order of the paper.
        similarity: measurements of Theorem 1 by N, F, q and p.
        imbalance: for each depth, pairs of the size of the imbalance and the relative error of Theorem 2.
        ranks: for each depth, the effective rank of the product of weights by step, one list per seed.
    """

    claims: list[Claim]
    similarity: list[MeasuredSimilarity]
    imbalance: dict[int, list[tuple[float, float]]]
    ranks: dict[int, list[list[float]]]

    def to_dict(self) -> dict[str, Any]:
        """Plain values; of each training only the first and the last rank."""
        return {
            "claims": [claim.to_dict() for claim in self.claims],
            "similarity": [cell.to_dict() for cell in self.similarity],
            "imbalance": {str(k): [{"size": s, "gap": g} for s, g in curve] for k, curve in self.imbalance.items()},
            "ranks": {str(k): [[row[0], row[-1]] for row in rows] for k, rows in self.ranks.items()},
        }


def check_theory() -> Findings:
    """Run all tests on the CPU; the numbers are the same each time."""
    cells = measure_similarity()
    imbalance = {layers: measure_imbalance(layers) for layers in (2, 3, 4)}
    ranks = measure_training()
    claims = [
        *check_common_nodes(),
        *check_similarity(cells),
        *check_five_nodes(),
        *check_gradients(),
        *check_singular_velocity(),
        *check_flow(),
        *check_imbalance(imbalance),
        *check_training(ranks),
    ]
    return Findings(claims, cells, imbalance, ranks)
