"""Load models of molecules and embed SMILES with them."""

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
from nmrgcl.run.model_folders import find_model

AT_ONCE = 65_536
"""How many SMILES are given to the worker processes at a time, so that featurised molecules never pile up."""


class Part(NamedTuple):
    """Some molecules: row numbers ``[M]`` of the valid ones, their embeddings ``[M, D]``, and the invalid ones."""

    rows: np.ndarray
    z: np.ndarray
    invalid: list[Invalid]


def load_molecule_model(folder: Path | str) -> Model:
    """Load a model of molecules from its folder, from a run with one model, or by the name "bundled"."""
    model = load_model(find_model(folder))
    require_molecules(model, str(folder))
    return model


def require_molecules(model: Model, source: str) -> None:
    """Refuse a model that was not trained on molecules."""
    if model.features.kind != "molecules":
        raise ModelError(f"{source}: was trained on {model.dataset}, not on molecules; use a model of molecules")


def embed_smiles(model: Model, smiles: Iterable[str | None], device: torch.device, *, jobs: int) -> Iterator[Part]:
    """Embed SMILES part by part in the given order; ``jobs`` processes featurise them."""
    method, texts, first = model.method.to(device), iter(smiles), 0
    while block := list(islice(texts, AT_ONCE)):
        start = first
        for graphs, refused in featurise_in_parts(block, jobs=jobs):
            invalid = [one._replace(row=one.row + start) for one in refused]
            until = first + len(graphs) + len(invalid)
            rows = np.setdiff1d(np.arange(first, until), [one.row for one in invalid])
            z = embed_all(method, graphs.to(device)).cpu().numpy() if len(rows) else np.zeros((0, method.full_width))
            yield Part(rows, z, invalid)
            first = until
