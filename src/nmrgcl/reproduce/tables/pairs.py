"""Is a row better than the one it is compared with, on the same folds or splits?"""

from dataclasses import replace

from nmrgcl.evaluate.paired import Pair, correct_pairs, pair_rows
from nmrgcl.reproduce.scores import Scores

RATIOS = {"paper-80-10-10": 0.1 / 0.8, "random-10-10-80": 0.8 / 0.1, "public": 1000 / 60, "scaffold": 0.1 / 0.8}
"""Test nodes or molecules for each one in training; the public split is PubMed's."""


def pairs_against(scores: Scores, reference: str, line: str) -> list[Pair]:
    """Every other row on every dataset, by the corrected resampled t-test, p-values by Holm over all of them."""
    name, way = scores.axes
    folds = {(row[name], row["dataset"], row["seed"]): row["folds"] for row in scores.rows if row[way] == line}
    found = []
    for row in dict.fromkeys(at[0] for at in scores.wanted if at[0] != reference and at[1] == line):
        mixed = scores.mixed((row, line), (reference, line))
        for dataset in scores.datasets:
            pair = pair_rows(folds, row, reference, dataset, test_to_train=RATIOS.get(line))
            found += [replace(pair, mixed=dataset in mixed)] if pair else []
    return correct_pairs(found)
