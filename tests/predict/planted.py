"""A few dozen molecules whose labels a small encoder can learn."""

from pathlib import Path

from nmrgcl.data.molecules import Molecules, read_molecules
from nmrgcl.predict.finetune import finetune_settings
from nmrgcl.settings import Settings

RINGS = ("c1ccccc1", "C1CCCCC1", "c1ccncc1", "C1CCCC1", "c1ccsc1", "C1CCNCC1", "c1ccoc1", "C1CC1", "c1cc2ccccc2cc1", "")
TAILS = ("C", "CC", "CCC", "O", "CO", "CCO", "N", "CN", "F", "CCl")
SMILES = [ring + tail for ring in RINGS for tail in TAILS]
OXYGEN = [float(tail.endswith("O")) for _ in RINGS for tail in TAILS]
LENGTH = [float(len(tail)) + 0.1 * len(ring) for ring in RINGS for tail in TAILS]
TINY = ("units=8", "layers=2", "epochs=4", "lr=0.01", "dropout=0.0")


def rows(**columns: list[object]) -> str:
    """A CSV file with a name and a SMILES per molecule and further columns; None is an empty cell."""
    named: dict[str, list[object]] = {"name": [f"m{i}" for i in range(len(SMILES))], "smiles": [*SMILES], **columns}
    lines = [
        ",".join("" if value is None else str(value) for value in row) for row in zip(*named.values(), strict=True)
    ]
    return "\n".join([",".join(named), *lines]) + "\n"


def write(path: Path, **columns: list[object]) -> Path:
    """That CSV file; with labels ``oxygen`` and ``length`` unless others are given."""
    path.write_text(rows(**(columns or {"oxygen": [*map(int, OXYGEN)], "length": [*LENGTH]})))
    return path


def read(path: Path, *labels: str) -> Molecules:
    """The molecules with these labels."""
    return read_molecules(write(path), labels=labels)


def tiny(*assignments: str) -> Settings:
    """The published protocol with an encoder that learns in a moment."""
    return finetune_settings([*TINY, *assignments])
