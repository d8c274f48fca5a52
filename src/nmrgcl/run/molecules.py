"""SMILES → embeddings by a model, or fingerprints, part by part."""

from collections.abc import Callable, Iterable, Iterator, Sized
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
import torch

from nmrgcl.data.features import FeatureSpec
from nmrgcl.data.molecules import Invalid, featurise_in_parts
from nmrgcl.data.molecules.fingerprints import ecfp_in_parts
from nmrgcl.data.molecules.vocabulary import ATOMS, CHIRALITIES
from nmrgcl.encode.molecule import BONDS
from nmrgcl.errors import ModelError
from nmrgcl.graphs import Graphs
from nmrgcl.model_folder import Model, load_model
from nmrgcl.run.embeddings import embed_all
from nmrgcl.run.evaluate import find_model

Read = TypeVar("Read", bound=Sized)
AT_ONCE = 65_536
"""SMILES that are handed out to processes before all of them are embedded, so that results never pile up."""
MOLECULES = FeatureSpec(
    "labels", ATOMS + CHIRALITIES, labels=(tuple(range(ATOMS)), tuple(range(ATOMS, ATOMS + CHIRALITIES)))
)
"""The features of atoms are the whole vocabulary, whatever molecules are at hand; bonds stay as they are featurised."""


class Part(NamedTuple):
    """Some molecules: the ``[M]`` rows of valid ones, from 0, one ``[M, ·]`` row of numbers for each, the invalid."""

    rows: np.ndarray
    values: np.ndarray
    invalid: list[Invalid]


def load_molecule_model(folder: Path | str) -> Model:
    """The model in a folder, or in a run of one model, which must have been trained on molecules."""
    model = load_model(find_model(Path(folder)))
    require_molecules(model, str(folder))
    return model


def is_of_molecules(model: Model) -> bool:
    """Whether the model's features are those of molecules."""
    return model.features.labels == MOLECULES.labels and model.features.edge_shape in (None, BONDS)


def require_molecules(model: Model, source: str) -> None:
    """Refuse a model of other graphs."""
    if not is_of_molecules(model):
        raise ModelError(f"{source}: was trained on {model.dataset}, not on molecules; name a model of molecules")


def embed_smiles(model: Model, smiles: Iterable[str | None], device: torch.device, *, jobs: int) -> Iterator[Part]:
    """Embeddings, in parts in the order given, of which one is in memory at a time; ``jobs`` processes featurise."""
    method = model.method.to(device)

    def embedded(graphs: Graphs) -> np.ndarray:
        return embed_all(method, graphs.to(device)).cpu().numpy()

    return _parts(smiles, partial(featurise_in_parts, jobs=jobs), embedded)


def fingerprint_smiles(smiles: Iterable[str | None], *, jobs: int) -> Iterator[Part]:
    """Fingerprints (``ecfp``), likewise."""
    return _parts(smiles, partial(ecfp_in_parts, jobs=jobs), lambda bits: bits)


def _parts(
    smiles: Iterable[str | None],
    read: Callable[[list[str | None]], Iterator[tuple[Read, list[Invalid]]]],
    values: Callable[[Read], np.ndarray],
) -> Iterator[Part]:
    texts, first = iter(smiles), 0
    while block := list(islice(texts, AT_ONCE)):
        start = first
        for valid, refused in read(block):
            invalid = [Invalid(one.row + start, one.text, one.reason) for one in refused]
            until = first + len(valid) + len(invalid)
            rows = np.setdiff1d(np.arange(first, until), [one.row for one in invalid])
            yield Part(rows, values(valid) if len(rows) else np.zeros((0, 0), np.float32), invalid)
            first = until
