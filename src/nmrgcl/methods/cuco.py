"""CuCo (Chu et al. 2021): negatives come from easy to hard."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from nmrgcl.augment import build_view
from nmrgcl.contrast import ranked_loss, ranked_negatives
from nmrgcl.encode import EdgeShape, Head
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, Pretraining
from nmrgcl.settings import Settings, setting
from nmrgcl.train import Progress


@dataclass(frozen=True)
class Options:
    """The loss and its head, and how many negatives a graph has."""

    tau: float = setting(0.2, "temperature of the loss (τ)", above=0)
    negatives: int = setting(16, "negatives of each graph", min=1)
    head_units: int = setting(0, "width of the projection head; 0: as wide as the representation", min=0)


class CuCo(Pretraining):
    """Contrast two views of a graph with graphs that are more and more like it, out of all that there are."""

    options: Options
    PRESETS: ClassVar[dict[Level, str]] = {"graph": "cuco"}
    ABOUT = About(
        family="contrastive, curriculum",
        paper="Chu, Wang, Shi, Jiang 2021: CuCo: Graph Representation with Curriculum Contrastive Learning",
        trains="the encoder and its head; a bank of the projections of all graphs, made anew at each epoch, is kept "
        "with them but not needed to embed",
        published="MUTAG 90.55 (remembered, not verified)",
        checked="the loss against slow loops; ranks rise with the epochs, never to the graph itself or beyond the bank"
        "; tests/methods/test_cuco.py",
    )
    bank: Tensor
    reach: Tensor
    done: Tensor

    def __init__(self, settings: Settings, num_features: int, edges: EdgeShape | None = None) -> None:
        super().__init__(settings, num_features, edges)
        self.views = [build_view(settings.views.first), build_view(settings.views.second)]
        self.head = Head(self.encoder.units, self.options.head_units)
        width = self.options.head_units or self.encoder.units
        self.register_buffer("bank", torch.zeros(0, width))
        self.register_buffer("reach", torch.zeros(()))
        self.register_buffer("done", torch.zeros((), dtype=torch.long))

    def survey(self, batches: Iterator[Graphs], progress: Progress) -> None:
        """Fill the bank, in the order of the epoch's batches, and let the curriculum reach further into it.

        Batch norm is as in training, so that a graph and its row of the bank are normalised alike.
        """
        bank = torch.cat([self.head(self.embed(graphs)) for graphs in batches]).to(self.bank.dtype)
        if self.bank.shape == bank.shape:
            self.bank.copy_(bank)  # in place, where recorded steps find it
        else:
            self.bank = bank
        self.reach.fill_(reach(len(bank) - 1, progress.epoch, progress.epochs))
        self.done.zero_()

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """All graphs of the batch have negatives of the same ranks."""
        if len(self.bank) < 2:
            raise SettingError("method cuco needs a bank of at least two graphs, which survey fills; call it first")
        z1, z2 = self.head(self.embed_views(graphs, *self.views)).chunk(2)
        drawn = torch.rand(self.options.negatives, device=graphs.device, dtype=torch.float64) * self.reach
        # A recorded step is rehearsed before its first epoch, and so may run past the last graph.
        own = (self.done + torch.arange(graphs.num_graphs, device=graphs.device)).clamp_(max=len(self.bank) - 1)
        ranks = drawn.long().clamp_(max=len(self.bank) - 2)
        yield ranked_loss(z1, z2, ranked_negatives(z1, self.bank, own, ranks), tau=self.options.tau)
        self.done.add_(graphs.num_graphs)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *arguments: Any) -> None:
        """A bank has as many rows as there were graphs."""
        if (bank := state_dict.get(f"{prefix}bank")) is not None and bank.shape[1:] == self.bank.shape[1:]:
            self.bank = self.bank.new_zeros(bank.shape)
        super()._load_from_state_dict(state_dict, prefix, *arguments)


def reach(others: int, epoch: int, epochs: int) -> float:
    """Ranks below this many are drawn from: the root of the share of epochs that have begun, of all ``others``."""
    return max(1.0, others * float(epoch / epochs) ** 0.5)


METHOD = CuCo
