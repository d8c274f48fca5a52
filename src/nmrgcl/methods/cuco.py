"""CuCo (Chu et al. 2021): contrastive learning with a curriculum from easy to hard negatives."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from nmrgcl.contrast import ranked_loss, ranked_negatives
from nmrgcl.encode import EdgeShape, Head
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, Pretraining
from nmrgcl.ops import across_ranks
from nmrgcl.settings import Settings, setting
from nmrgcl.train import Progress


@dataclass(frozen=True)
class Options:
    """The loss, its projection head, and the number of negatives."""

    tau: float = setting(0.2, "temperature of the loss (τ)", above=0)
    negatives: int = setting(16, "number of negatives per graph", min=1)
    head_units: int = setting(0, "width of the projection head; 0: as wide as the representation", min=0)


class CuCo(Pretraining):
    """Contrast two views of a graph with negatives from the whole dataset that become harder over time."""

    options: Options
    PRESETS: ClassVar[dict[Level, str]] = {"graph": "cuco"}
    ABOUT = About(
        family="contrastive, curriculum",
        paper="Chu, Wang, Shi, Jiang 2021: CuCo: Graph Representation with Curriculum Contrastive Learning",
        trains="the encoder and its projection head; a memory bank with the projections of all graphs, renewed every "
        "epoch, is saved with them but not needed to embed",
        published="MUTAG 90.55 (not verified)",
        checked="the loss against slow loops; ranks rise with the epochs and never include the graph itself; "
        "tests/methods/test_cuco.py",
    )
    ACROSS_RANKS = True
    bank: Tensor
    reach: Tensor
    done: Tensor

    def __init__(self, settings: Settings, num_features: int, edges: EdgeShape | None = None) -> None:
        super().__init__(settings, num_features, edges)
        self.head = Head(self.encoder.units, self.options.head_units)
        width = self.options.head_units or self.encoder.units
        self.register_buffer("bank", torch.zeros(0, width))
        self.register_buffer("reach", torch.zeros(()))
        self.register_buffer("done", torch.zeros((), dtype=torch.long))

    def survey(self, batches: Iterator[Graphs], progress: Progress) -> None:
        """Fill the bank in the order of the epoch's batches, and let the curriculum reach further into it.

        Batch norm is in training mode, so that graphs and their rows in the bank are normalised alike.
        """
        bank = torch.cat([across_ranks.gather(self.head(self.embed(graphs))) for graphs in batches]).to(self.bank.dtype)
        if self.bank.shape == bank.shape:
            self.bank.copy_(bank)  # In place, because recorded steps read from this address.
        else:
            self.bank = bank
        self.reach.fill_(reach(len(bank) - 1, progress.epoch, progress.epochs))
        self.done.zero_()

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """The contrastive loss with negatives of random ranks, which are the same for all graphs of the batch."""
        if len(self.bank) < 2:
            raise SettingError("method cuco needs a bank of at least two graphs; call survey first, which fills it")
        z1, z2 = self.head(self.embed_views(graphs, *self.views)).chunk(2)
        # Ranks are shared by the batch (Chu et al. 2021), and so by all processes that hold parts of it.
        drawn = across_ranks.from_first(torch.rand(self.options.negatives, device=graphs.device, dtype=torch.float64))
        # The warm-up of a recorded step runs before the first epoch and may count past the last graph.
        first = self.done + across_ranks.first_row()
        # The bank is in the order of the epoch's batches, so that counting finds a graph's own row.
        own = (first + torch.arange(graphs.num_graphs, device=graphs.device)).clamp_(max=len(self.bank) - 1)
        # The own row takes no part in the ranking, so the last rank is the bank's size minus 2.
        ranks = (drawn * self.reach).long().clamp_(max=len(self.bank) - 2)
        yield ranked_loss(z1, z2, ranked_negatives(z1, self.bank, own, ranks), tau=self.options.tau)
        self.done.add_(across_ranks.count_rows(graphs.num_graphs))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *arguments: Any) -> None:
        """Accept a bank with any number of rows, as it has one per training graph."""
        if (bank := state_dict.get(f"{prefix}bank")) is not None and bank.shape[1:] == self.bank.shape[1:]:
            # PyTorch copies into existing buffers and refuses other shapes.
            self.bank = self.bank.new_zeros(bank.shape)
        super()._load_from_state_dict(state_dict, prefix, *arguments)


def reach(others: int, epoch: int, epochs: int) -> float:
    """The number of ranks to draw from: ``others`` times the square root of the fraction of epochs begun."""
    # Published as √(epoch / 20) for 20 epochs; the easiest negative is always within reach.
    return max(1.0, others * float(epoch / epochs) ** 0.5)


METHOD = CuCo
