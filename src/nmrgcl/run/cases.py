"""What protocols score, and the scores they return."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nmrgcl.data.molecule_rows import MoleculeRows
from nmrgcl.data.splits import Split, split_nodes


@dataclass(frozen=True, eq=False)
class Truth:
    """The labels of graphs or nodes.

    Attributes:
        y: class codes ``[B]``, -1 for rows without a label; for molecules split by scaffold or at random, the labels
            ``[B, T]`` of all tasks, NaN where one is missing.
        public: the split that came with the data, if any.
        molecules: SMILES and tasks, if the graphs are molecules split by scaffold or at random.
    """

    y: np.ndarray
    public: np.ndarray | None = None
    molecules: MoleculeRows | None = None


@dataclass(frozen=True, eq=False)
class Case:
    """What a protocol scores: embeddings ``[B, D]`` or ``[N, D]``, their labels, and how they are split.

    If a method has ``kernels`` ``[K, B, B]``, the SVM uses them instead of the embeddings.
    """

    z: np.ndarray
    truth: Truth
    seed: int
    split: str = "stratified"
    kernels: np.ndarray | None = None

    @property
    def labelled(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Embeddings and class codes of the labelled rows, and the seed of the folds."""
        known = self.truth.y >= 0
        # Avoid a copy if all rows are labelled: an array that several cases share is sent to the workers only once.
        return (self.z, self.truth.y, self.seed) if known.all() else (self.z[known], self.truth.y[known], self.seed)

    @property
    def labelled_kernels(self) -> tuple[np.ndarray, np.ndarray, int] | None:
        """Kernels between the labelled rows, their class codes, and the seed of the folds."""
        if self.kernels is None:
            return None
        known = self.truth.y >= 0
        if known.all():
            return self.kernels, self.truth.y, self.seed
        return self.kernels[:, known][:, :, known], self.truth.y[known], self.seed

    @property
    def parts(self) -> Split:
        """The training, validation and test nodes."""
        return split_nodes(self.split, self.truth.y, seed=self.seed, public=self.truth.public)


@dataclass(frozen=True)
class FoldScores:
    """Accuracies in percent on the test data, and ``beside`` them the scores that choices were based on.

    ``penalties`` holds the C of each fold if the protocol chooses one; results of cells do not record it.
    """

    folds: list[float]
    beside: dict[str, Any] = field(default_factory=dict)
    penalties: list[float] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The scores as the result of a cell records them."""
        return {"folds": self.folds, "mean": float(np.mean(self.folds)), **self.beside}
