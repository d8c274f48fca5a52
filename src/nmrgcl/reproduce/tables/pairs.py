"""Paired tests of rows against a reference row, on the same folds or splits."""

from dataclasses import replace

from nmrgcl.evaluate.paired import Pair, correct_pairs, pair_rows
from nmrgcl.reproduce.scores import Scores

SPLITS = {"paper-80-10-10": 0.1 / 0.8, "random-10-10-80": 0.8 / 0.1, "public": 1000 / 60, "scaffold": 0.1 / 0.8}
"""The ratio of test to training size of each split; the public one is that of PubMed."""
VALIDATED = "finetune"
"""The protocol that holds out one fold for validation and so trains on one fold fewer than the others."""


def size_ratio(line: str, folds: int, protocols: set[str]) -> float:
    """The ratio of test to training size; if the two rows differ in it, the larger one."""
    return SPLITS.get(line) or 1 / max(folds - 1 - (VALIDATED in protocols), 1)


def pairs_against(scores: Scores, reference: str, line: str) -> list[Pair]:
    """The corrected resampled t-test for every other row on every dataset, with Holm's correction over all of them."""
    name, way = scores.axes
    own = [row for row in scores.rows if row[way] == line]
    folds = {(row[name], row["dataset"], row["seed"]): row["folds"] for row in own}
    found = []
    for row in dict.fromkeys(at[0] for at in scores.wanted if at[0] != reference and at[1] == line):
        mixed = scores.mixed((row, line), (reference, line))
        for dataset in scores.datasets:
            both = [one for one in own if one[name] in (row, reference) and one["dataset"] == dataset]
            count = max((len(one["folds"]) for one in both), default=0)
            # The corrected test of Nadeau & Bengio needs it, because training sets of different folds overlap.
            ratio = size_ratio(line, count, {one["protocol"] for one in both})
            pair = pair_rows(folds, row, reference, dataset, test_to_train=ratio)
            found += [replace(pair, mixed=dataset in mixed)] if pair else []
    return correct_pairs(found)
