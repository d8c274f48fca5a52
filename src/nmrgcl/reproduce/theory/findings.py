"""All claims, with the measurements that are drawn."""

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
    """What was found.

    Attributes:
        claims: in the paper's order.
        similarity: Theorem 1 by N, F, q and p.
        imbalance: depth → (size of the imbalance, relative gap of Theorem 2).
        ranks: depth → effective rank of the weights' product by step, one list per seed.
    """

    claims: list[Claim]
    similarity: list[MeasuredSimilarity]
    imbalance: dict[int, list[tuple[float, float]]]
    ranks: dict[int, list[list[float]]]

    def to_dict(self) -> dict[str, Any]:
        """As plain data; of the training only its ends."""
        return {
            "claims": [claim.to_dict() for claim in self.claims],
            "similarity": [cell.to_dict() for cell in self.similarity],
            "imbalance": {str(k): [{"size": s, "gap": g} for s, g in curve] for k, curve in self.imbalance.items()},
            "ranks": {str(k): [[row[0], row[-1]] for row in rows] for k, rows in self.ranks.items()},
        }


def check_theory() -> Findings:
    """Everything, on the CPU, the same numbers each time."""
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
