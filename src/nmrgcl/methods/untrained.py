"""The encoder as it is initialised: what every pre-training has to beat."""

from collections.abc import Iterator
from typing import Any, ClassVar

from torch import Tensor

from nmrgcl.graphs import Graphs
from nmrgcl.methods import Level, Pretraining
from nmrgcl.train import Progress


class Untrained(Pretraining):
    """No objective, no epochs."""

    FIXED: ClassVar[dict[str, Any]] = {"train.epochs": 0}
    PRESETS: ClassVar[dict[Level, str]] = {"graph": "strong", "node": "node"}

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """Nothing to minimise."""
        return iter(())


METHOD = Untrained
