"""The untrained encoder, the baseline that every pre-training has to beat."""

from collections.abc import Iterator
from typing import Any, ClassVar

from torch import Tensor

from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, Pretraining
from nmrgcl.train import Progress


class Untrained(Pretraining):
    """The encoder with its initial weights; there is no objective and no training."""

    ABOUT: ClassVar[About | None] = About(
        family="baseline",
        paper="None: the encoder of the settings with its initial weights for the seed.",
        trains=(
            "Nothing. With --protocol finetune, the encoder is trained with labels: the supervised rows of the tables."
        ),
        published="The paper has no such row, and there is nothing to select.",
        checked=(
            "Every method starts from the same weights, to the bit (tests/methods/test_contract.py); GIN, GCN and GAT "
            "against PyG (tests/encode/test_gin.py, tests/encode/test_gcn_gat.py)."
        ),
    )
    FIXED: ClassVar[dict[str, Any]] = {"train.epochs": 0}
    PRESETS: ClassVar[dict[Level, str]] = {"graph": "strong", "node": "node"}
    MOLECULES = "molecules"

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """There is nothing to minimise."""
        return iter(())


METHOD = Untrained
