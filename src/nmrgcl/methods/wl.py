"""The Weisfeiler–Lehman subtree kernel (Shervashidze et al. 2011)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from nmrgcl.graphs import Graphs
from nmrgcl.memory import require_bytes
from nmrgcl.methods import About, Embedder, Level
from nmrgcl.settings import setting
from nmrgcl.words.colours import colour_counts
from nmrgcl.words.products import add_products
from nmrgcl.words.wl import node_labels, numbered_labels

ENTRIES_AT_ONCE = 2**16
"""How many entries of a matrix are normalised at a time, so that they stay in the processor's cache."""


@dataclass(frozen=True)
class Options:
    """The number of refinements, and the width of embeddings."""

    iterations: int = setting(
        5, "maximum number of refinement rounds (h); the SVM chooses among 0 to h", min=0, max=100
    )
    columns: int = setting(1024, "dimension of the embeddings, into which labels are hashed", min=1)


class WL(Embedder):
    """Graphs are similar if they have many rooted subtrees in common, up to a depth.

    The kernels are exact. Embeddings approximate the deepest one by feature hashing: each label counts as +1 or -1 in
    the column given by its hash, so that the expected inner product of two embeddings is their similarity (Weinberger
    et al. 2009). Nothing is learned, so new graphs are embedded in the same way.
    """

    options: Options
    ABOUT: ClassVar[About | None] = About(
        family="graph kernel",
        paper="Shervashidze, Schweitzer, van Leeuwen, Mehlhorn, Borgwardt 2011: Weisfeiler-Lehman Graph Kernels",
        trains="nothing; embeddings hash the counts of labels",
        published="NCI1 82.19, DD 79.78 (ten folds; the number of refinements and C chosen on training folds)",
        checked="kernels against GraKeL, and by hand for a hexagon, two triangles and a path; tests/methods/test_wl.py",
    )
    PRESETS: ClassVar[dict[Level, str]] = {"graph": "wl"}

    @property
    def width(self) -> int:
        """The option ``columns``."""
        return self.options.columns

    def fit(self, graphs: Graphs) -> None:
        """Only check that the graphs have labels; there is nothing to fit."""
        node_labels(graphs, "wl")

    def embed(self, graphs: Graphs) -> Tensor:
        """Unit vectors ``[B, D]``; zeros for graphs without nodes."""
        return colour_counts(graphs, self.options.iterations, width=self.width, entries=1)

    def kernels(self, graphs: Graphs) -> Tensor:
        """``[h + 1, B, B]`` normalised kernels K_ij / √(K_ii K_jj), one per number of refinements."""
        rounds, count = self.options.iterations + 1, len(graphs)
        require_bytes(
            (4 * rounds + 8) * count**2,  # The kernels in float32, and the running sum.
            f"method wl: {rounds} kernels of {count:,} graphs",
            "use fewer graphs or fewer iterations",
        )
        found = torch.empty(rounds, count, count)
        for kernel, total in zip(found, self.products(graphs), strict=True):
            normalised(total, out=kernel)
        return found

    def products(self, graphs: Graphs) -> Iterator[Tensor]:
        """For each round, the number ``[B, B]`` of pairs of equal labels so far; always the same tensor."""
        graphs = graphs.compact()
        batch, most = graphs.batch.cpu().numpy(), int(graphs.node_ptr.diff().max()) if len(graphs) else 0
        # The smallest type that represents all counts exactly.
        real = torch.float32 if most**2 * (self.options.iterations + 1) < 2**24 else torch.float64
        total = torch.zeros(len(graphs), len(graphs), dtype=real)
        for _, number in numbered_labels(graphs, self.options.iterations, method="wl"):
            add_products(total, number.cpu().numpy(), batch)
            yield total


def normalised(total: Tensor, out: Tensor | None = None) -> Tensor:
    """``[B, B]`` K_ij / √(K_ii K_jj) in float32, computed in float64, some rows at a time."""
    out = torch.empty_like(total, dtype=torch.float32) if out is None else out
    length = total.diagonal().double().clamp(min=1).sqrt()  # The diagonal is zero only for graphs without nodes.
    at_once = max(1, ENTRIES_AT_ONCE // max(len(total), 1))
    for kernel, rows, own in zip(out.split(at_once), total.split(at_once), length.split(at_once), strict=True):
        kernel.copy_(rows.double().div_(own[:, None]).div_(length))
    return out


METHOD = WL
