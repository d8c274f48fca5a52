"""Every method at every level it has, those that exist only in the tests among them, with small settings."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np

import nmrgcl.methods
from nmrgcl.data.dataset import Dataset, dataset_of
from nmrgcl.data.molecule_rows import MoleculeRows
from nmrgcl.data.texts import Texts
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Embedder, Level, MoleculePretraining, Pretraining, build_method, find_method, method_names
from nmrgcl.run.recipe import recipe
from nmrgcl.settings import Settings
from tests.examples import random_graphs, random_molecules

Kind = TypeVar("Kind", bound=Embedder)

ONLY_HERE = Path(__file__).parent / "only_here"
"""What a method may do and none that is published here does yet: two players, a queue, a curriculum, no training."""

GRAPHS = random_graphs([6, 1, 9, 4, 0, 7, 5, 8], density=0.4, categorical=True)
NETWORK = random_graphs([40], density=0.1, features=6)
DATA: dict[Level, Graphs] = {"graph": GRAPHS, "node": NETWORK}
MOLECULES = random_molecules([6, 1, 12, 4, 0, 9, 14, 8])


@contextmanager
def known_here() -> Iterator[None]:
    """Inside, the methods of the tests are methods like all others."""
    nmrgcl.methods.__path__.append(str(ONLY_HERE))
    try:
        yield
    finally:
        nmrgcl.methods.__path__.remove(str(ONLY_HERE))


with known_here():
    _KINDS = {(name, level): find_method(name) for name in method_names() for level in find_method(name).PRESETS}
MEMBERS = [member for member, kind in _KINDS.items() if issubclass(kind, Pretraining)]
"""Those with an encoder."""
EMBEDDERS = [member for member, kind in _KINDS.items() if issubclass(kind, Embedder)]
"""Those without."""


def learns_from_molecules(name: str) -> bool:
    """And from no other graphs."""
    return issubclass(find_method(name), MoleculePretraining)


def data_of(name: str, level: Level = "graph") -> Graphs:
    """What a method is tested with."""
    return MOLECULES if learns_from_molecules(name) else DATA[level]


def dataset_for(name: str, level: Level) -> Dataset:
    """Likewise, as if it had been read from a file."""
    if not learns_from_molecules(name):
        return dataset_of(DATA[level])
    count = len(MOLECULES)
    rows = MoleculeRows(Texts.of(["C"] * count), np.arange(count) + 1, np.zeros((count, 0), np.float32))
    return Dataset("molecules", MOLECULES, molecules=rows)


def settings_of(name: str, *assignments: str, level: Level = "graph") -> Settings:
    small = ["encoder.layers=2", "encoder.units=8", "batch_size=4", *assignments]
    if "train.epochs" not in find_method(name).FIXED:
        small.append("epochs=3")
    own = level == "node" or learns_from_molecules(name)
    preset = find_method(name).PRESETS[level] if own else "graphcl"
    return recipe(name, preset=preset, assignments=small)


def build(kind: type[Kind], *assignments: str) -> Kind:
    """A method of this class as its own preset describes it, but for ``assignments``."""
    method = build_method(recipe(kind.__module__.rpartition(".")[2], assignments=assignments), 1)
    assert isinstance(method, kind)
    return method
