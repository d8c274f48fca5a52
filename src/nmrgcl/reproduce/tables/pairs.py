"""Is a row better than the one it is compared with, on the same folds or splits?"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nmrgcl.evaluate.paired import Difference, holm, paired_difference
from nmrgcl.reproduce.scores import Row, Scores

RATIOS = {"paper-80-10-10": 0.1 / 0.8, "random-10-10-80": 0.8 / 0.1, "public": 1000 / 60}
"""Test nodes for each training node; the public split is PubMed's."""


FEWEST = 3
"""Differences below which there is no test: two that happen to be equal would look certain."""


@dataclass(frozen=True)
class Pair:
    """``row`` minus the reference on ``dataset``; the p-value is corrected for all ``compared``.

    ``mixed``: the two were computed on different devices for a seed.
    """

    row: str
    dataset: str
    difference: Difference
    seeds: int
    compared: int = 1
    mixed: bool = False


def pairs_against(scores: Scores, reference: str, line: str) -> list[Pair]:
    """Every other row on every dataset, by the corrected resampled t-test, p-values by Holm over all of them."""
    folds = _folds(scores.rows, scores.axes, line)
    found = []
    for row in dict.fromkeys(at[0] for at in scores.wanted if at[0] != reference and at[1] == line):
        for dataset in scores.datasets:
            pair = _pair(folds, row, reference, dataset, RATIOS.get(line))
            found += [pair] if pair else []
    adjusted = holm([pair.difference.p for pair in found])
    return [
        replace(
            pair,
            difference=replace(pair.difference, p=p),
            compared=len(found),
            mixed=pair.dataset in scores.mixed((pair.row, line), (reference, line)),
        )
        for pair, p in zip(found, adjusted, strict=True)
    ]


Folds = dict[tuple[str, str, int], list[float]]


def _folds(rows: Sequence[Row], axes: Sequence[str], line: str) -> Folds:
    return {(row[axes[0]], row["dataset"], row["seed"]): row["folds"] for row in rows if row[axes[1]] == line}


def _pair(folds: Folds, row: str, reference: str, dataset: str, ratio: float | None) -> Pair | None:
    """Of the seeds that both have; None where they are not enough for a test."""
    seeds = sorted(seed for name, where, seed in folds if (name, where) == (row, dataset))
    seeds = [seed for seed in seeds if (reference, dataset, seed) in folds]
    first, second = ([folds[name, dataset, seed] for seed in seeds] for name in (row, reference))
    counts = {len(scores) for scores in [*first, *second]}
    if len(counts) != 1 or len(seeds) * max(counts) < FEWEST:
        return None
    return Pair(row, dataset, paired_difference(np.array(first), np.array(second), test_to_train=ratio), len(seeds))
