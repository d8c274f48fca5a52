"""Models of molecules, and SMILES through them."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from nmrgcl.data.molecules import Invalid, featurise_in_parts
from nmrgcl.errors import ModelError
from nmrgcl.model_folder import Model, load_model
from nmrgcl.run.embeddings import embed_all
from nmrgcl.run.evaluate import find_model

AT_ONCE = 65_536
"""SMILES that are handed out to processes before all of them are embedded, so that results never pile up."""


class Part(NamedTuple):
    """Some molecules: the ``[M]`` rows of valid ones, from 0, their ``[M, D]`` embeddings, and the invalid ones."""

    rows: np.ndarray
    z: np.ndarray
    invalid: list[Invalid]


def load_molecule_model(folder: Path | str) -> Model:
    """The model in a folder, in a run of one model, or "bundled"; it must have been trained on molecules."""
    model = load_model(find_model(folder))
    require_molecules(model, str(folder))
    return model


def require_molecules(model: Model, source: str) -> None:
    """Refuse a model of other graphs."""
    if model.features.kind != "molecules":
        raise ModelError(f"{source}: was trained on {model.dataset}, not on molecules; name a model of molecules")


def embed_smiles(model: Model, smiles: Iterable[str | None], device: torch.device, *, jobs: int) -> Iterator[Part]:
    """Parts in the order given, of which one is in memory at a time; ``jobs`` processes featurise."""
    method, texts, first = model.method.to(device), iter(smiles), 0
    while block := list(islice(texts, AT_ONCE)):
        start = first
        for graphs, refused in featurise_in_parts(block, jobs=jobs):
            invalid = [one._replace(row=one.row + start) for one in refused]
            until = first + len(graphs) + len(invalid)
            rows = np.setdiff1d(np.arange(first, until), [one.row for one in invalid])
            z = embed_all(method, graphs.to(device)).cpu().numpy() if len(rows) else np.zeros((0, method.width))
            yield Part(rows, z, invalid)
            first = until
