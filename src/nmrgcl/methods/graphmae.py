"""GraphMAE (Hou et al. 2022): mask the features of some nodes and reconstruct them from the others."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor, nn

from nmrgcl.contrast import scaled_cosine_error
from nmrgcl.data.molecules.vocabulary import ATOMS, CHIRALITIES
from nmrgcl.encode import GAT, EdgeShape, Foreign, MoleculeGIN
from nmrgcl.encode.gat import GATLayer
from nmrgcl.errors import DataError, SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import About, Level, Pretraining
from nmrgcl.ops.neighbour_sum import neighbour_sum
from nmrgcl.settings import Settings, setting
from nmrgcl.train import Progress


@dataclass(frozen=True)
class Options:
    """The mask and the loss."""

    mask: float = setting(0.5, "probability that a node is masked", above=0, below=1)
    replace: float = setting(0.1, "share of masked nodes that get the features of another node", min=0, below=1)
    exponent: float = setting(2.0, "exponent of the error; larger values give easy nodes less weight (α)", min=1)


class GINDecoder(nn.Module):
    """One GIN layer without norm: ``MLP(h + Σ neighbours)``."""

    def __init__(self, units: int, num_features: int) -> None:
        super().__init__()
        self.perceptron = nn.Sequential(nn.Linear(units, units), nn.PReLU(), nn.Linear(units, num_features))

    def forward(self, h: Tensor, graphs: Graphs) -> Tensor:
        """Map ``[N, units]`` to ``[N, F]``."""
        found: Tensor = self.perceptron(neighbour_sum(h, graphs, self_weight=1.0))
        return found


class GraphMAE(Pretraining):
    """Reconstruct the features of masked nodes from the embeddings of the others; nothing is contrasted.

    Each node is masked independently, so that the shapes of a step are not random. For molecules, only the type of an
    atom, one of 119, is reconstructed.
    """

    options: Options
    PRESETS: ClassVar[dict[Level, str]] = {"graph": "graphmae", "node": "graphmae_node"}
    MOLECULES = "graphmae_molecules"
    ABOUT: ClassVar[About] = About(
        family="masked autoencoder",
        paper="Hou et al. 2022, GraphMAE: Self-Supervised Masked Graph Autoencoders",
        trains="the encoder, the features of masked nodes, and a decoder of one layer; only the encoder is kept",
        published="MUTAG 88.19, PROTEINS 75.30, NCI1 80.40, IMDB-BINARY 75.52, IMDB-MULTI 51.63, COLLAB 80.32, "
        "REDDIT-BINARY 88.01 (SVM, last epoch; how settings were selected is not said); Cora 84.2, CiteSeer 73.4, "
        "PubMed 81.1 (public split, not verified)",
        checked="the error against its definition; only masked nodes are targets, and the decoder does not see them; "
        "tests/methods/test_graphmae.py; for molecules, the targets are atom types; "
        "tests/methods/test_molecules.py",
    )
    ACROSS_RANKS = True

    def __init__(self, settings: Settings, num_features: int, edges: EdgeShape | None = None) -> None:
        super().__init__(settings, num_features, edges)
        if isinstance(self.encoder, Foreign) and self.encoder.pooled:
            raise SettingError("method graphmae needs an encoder that returns a row per node, not one per graph")
        units = settings.encoder.units
        molecules = isinstance(self.encoder, MoleculeGIN) and num_features == ATOMS + CHIRALITIES
        self.targets = ATOMS - 1 if molecules else num_features  # Columns: atom types, their mask, then chirality.
        self.token = nn.Parameter(torch.zeros(num_features))
        self.between = nn.Linear(self.encoder.units, units, bias=False)
        self.decoder: nn.Module = GINDecoder(units, self.targets)
        if isinstance(self.encoder, GAT):
            self.decoder = GATLayer(nn.Linear(units, num_features, bias=False), num_features, heads=1)

    def losses(self, graphs: Graphs, progress: Progress) -> Iterator[Tensor]:
        """The scaled cosine error; masked rows are hidden from the decoder too, so that it relies on neighbours."""
        if graphs.num_features < 2:
            raise DataError(
                "method graphmae reconstructs node features, but all nodes have the same ones; use features=degree"
            )
        # The token can be any vector, which categorical features cannot hold.
        x, draw = graphs.dense_x(), torch.rand(graphs.num_nodes, device=graphs.device)
        hidden = draw < self.options.mask
        if graphs.node_keep is not None:
            hidden = hidden & graphs.node_keep
        shown = torch.where(hidden[:, None], self._disguise(x, draw, graphs), x)
        h = self.between(self.encoder(replace(graphs, x=shown)))
        found = self.decoder(torch.where(hidden[:, None], 0.0, h), graphs)
        yield scaled_cosine_error(found, x[:, : self.targets], hidden, alpha=self.options.exponent)

    def _disguise(self, x: Tensor, draw: Tensor, graphs: Graphs) -> Tensor:
        """``[N, F]`` features for masked nodes: the token or, where ``draw`` is lowest, those of a random node."""
        if self.options.replace == 0:
            return self.token
        nodes = graphs.node_ptr[-1]  # Excludes the padding at the end, which belongs to no graph.
        # torch.randint would need the number of nodes on the host.
        other = (torch.rand_like(draw) * nodes).long().clamp_(max=graphs.num_nodes - 1)
        # The same draw decides both: of the nodes below `mask`, this share is below `mask` times it.
        replaced = draw < self.options.mask * self.options.replace
        return torch.where(replaced[:, None], x.index_select(0, other), self.token)


METHOD = GraphMAE
