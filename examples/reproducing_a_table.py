"""Compute a part of the paper's Table 1, then read the files that it leaves.

nmrgcl reproduce table1 --quick --only MUTAG --row nmrGCL --row GraphCL --row untrained --selection honest --out table
python reproducing_a_table.py

Run the first command again: finished cells are read, not computed.
"""

import csv
import json
from collections import defaultdict
from pathlib import Path
from statistics import mean

FOLDER = Path("table")


def main() -> None:
    """Print the figures, paired differences of seeds, and verdicts on the paper's claims."""
    with (FOLDER / "table1-quick.csv").open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            score, spread = float(line["mean"]), float(line["std"])
            print(f"{line['row']:<10} {score:.1f} ± {spread:.1f} % ({line['n']} seeds)")

    found = json.loads((FOLDER / "table1-quick.json").read_text(encoding="utf-8"))
    scores: dict[str, dict[int, float]] = defaultdict(dict)
    for values in found["rows"]:  # what all cells share, such as the dataset, is in found["same"]
        cell = dict(zip(found["columns"], values, strict=True))
        scores[cell["row"]][cell["seed"]] = cell["score"]
    gains = [scores["nmrGCL"][seed] - untrained for seed, untrained in scores["untrained"].items()]
    print(f"nmrGCL minus untrained, seed by seed: {mean(gains):+.1f} points")

    for verdict in found["verdicts"]:
        if verdict["outcome"] != "no data":
            print(f"{verdict['outcome']}: {verdict['claim']}")


if __name__ == "__main__":
    main()
