"""Pre-train on 20,000 molecules without labels, then teach BBBP: under ten minutes on two cores.

python molecules_to_bbbp.py
nmrgcl finetune BBBP --labels p_np --model pretrained --seeds 1 --set epochs=60 --out bbbp

The network is narrower than the usual one, 128 units instead of 300, and one model is taught
instead of five. For a test, --quick pre-trains on a few molecules of BBBP itself.
"""

import sys

import numpy as np

from nmrgcl import MoleculeEmbedder, load


def main(data: str = "ZINC250k", molecules: int = 20_000, epochs: int = 5) -> None:
    """Write the model folder ``pretrained``."""
    listed = load(data).molecules
    assert listed is not None
    rows = np.random.default_rng(0).choice(len(listed), molecules, replace=False)
    settings = {"encoder.units": 128, "train.epochs": epochs}
    embedder = MoleculeEmbedder(preset="molecules", settings=settings, verbose=True)
    embedder.fit([listed.smiles[row] for row in rows.tolist()]).save("pretrained")


if __name__ == "__main__":
    if "--quick" in sys.argv:
        main("BBBP", molecules=64, epochs=1)
    else:
        main()
