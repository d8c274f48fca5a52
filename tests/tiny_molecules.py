"""Few molecules, and a model of them that is trained in a second."""

from pathlib import Path

SMALL = {"train.epochs": 2, "encoder.layers": 2, "encoder.units": 8, "train.batch_size": 8}
CHAINS = ["C" * n for n in range(2, 14)]
RINGS = ["c1ccccc1" + "N" * n for n in range(12)]
SMILES = CHAINS + RINGS


def save_model(folder: Path) -> Path:
    """A model folder."""
    from nmrgcl import MoleculeEmbedder

    MoleculeEmbedder(settings=SMALL, device="cpu").fit(SMILES).save(folder)
    return folder


def save_other_model(folder: Path) -> Path:
    """A model folder of graphs that are not molecules."""
    from nmrgcl import GraphEmbedder

    GraphEmbedder(preset="graphcl", settings=SMALL | {"train.epochs": 1}, device="cpu").fit("motifs").save(folder)
    return folder
