"""Conversion of SMILES to graphs, compared with PyG's ``from_smiles``: molecules per CPU second, measured in turn.

    NMRGCL_MIRROR=... python benchmarks/featurise.py [--molecules 4000] [--repeats 5] [--json]      # 20 s

The molecules are the first ones of ZINC250k in the mirror. PyG computes more features per atom and creates one object
per molecule; it is what most people use.
"""

import lzma
import os
import statistics
from itertools import islice
from pathlib import Path

import torch
from torch_geometric.utils import from_smiles

from bench.script import print_facts, script_parser
from bench.timing import in_turn, one_thread, stopwatch
from nmrgcl.data.molecules import featurise


def main() -> None:
    parser = script_parser(__doc__)
    parser.add_argument("--molecules", type=int, default=4000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with lzma.open(Path(os.environ["NMRGCL_MIRROR"]) / "zinc" / "zinc250k.smi.xz", "rt") as file:
        smiles = [line.strip() for line in islice(file, options.molecules)]
    cpu = torch.device("cpu")
    with one_thread():
        costs = in_turn(
            {
                "ours": stopwatch(lambda: featurise(smiles), cpu),
                "PyG": stopwatch(lambda: [from_smiles(text) for text in smiles], cpu),
            },
            options.repeats,
        )
    rates = {name: len(smiles) / statistics.median(seconds) for name, seconds in costs.items()}
    ratio = round(rates["ours"] / rates["PyG"], 2)
    result = {"molecules": len(smiles), **{name: round(rate) for name, rate in rates.items()}, "ratio": ratio}
    print_facts(result, as_json=options.json)


if __name__ == "__main__":
    main()
