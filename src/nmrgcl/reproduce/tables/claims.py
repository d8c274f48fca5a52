"""Tests of claims about a whole table."""

from collections.abc import Sequence
from math import ceil

import numpy as np

from nmrgcl.evaluate.paired import correct_pairs
from nmrgcl.reproduce.drawing import mean_and_deviation
from nmrgcl.reproduce.scores import Scores
from nmrgcl.reproduce.statistics import LEVEL, Comparison, compare, corrected
from nmrgcl.reproduce.tables.pairs import pairs_against
from nmrgcl.reproduce.tables.sheet import Sheet
from nmrgcl.reproduce.verdict import MARGIN, ClaimOutcome, Rule, Verdict, no_data


def leads_on_most(
    claim: str, scores: Scores, ours: str, rivals: Sequence[str], *, share: float, line: str = "honest"
) -> Verdict:
    """Confirmed if ``ours`` is significantly better than every rival on this share of the datasets.

    Refuted if its mean is the highest on fewer datasets than that.
    """
    means = mean_and_deviation(scores.of(ours, line))[0]
    others = {name: mean_and_deviation(scores.of(name, line))[0] for name in rivals}
    others = {name: values for name, values in others.items() if np.isfinite(values - means).any()}
    if not others:
        return no_data(claim, f"{ours} beside other methods: no pairs of scores")
    table = np.stack(list(others.values()), 1)
    there = np.isfinite(means) & np.isfinite(table).any(1)
    ahead = there & (means > np.nanmax(np.where(np.isfinite(table), table, -np.inf), 1))
    # Holm's correction anew: the claim does not compare the rows that are no rivals.
    tested = correct_pairs([pair for pair in pairs_against(scores, ours, line) if pair.row in others])
    beyond = []
    for number, dataset in enumerate(scores.datasets):
        here = [pair for pair in tested if pair.dataset == dataset]
        # A pair is a row minus ours, so ours is better where the mean is negative.
        beyond.append(bool(ahead[number] and here and all(one.difference.mean < 0 and one.p < LEVEL for one in here)))
    # 8/9 of nine datasets must be eight, whatever the rounding.
    needed = ceil(share * int(there.sum()) - 1e-9)
    outcome: ClaimOutcome = "inconclusive"
    if sum(beyond) >= needed:
        outcome = "confirmed"
    elif ahead.sum() < needed:
        outcome = "not confirmed"
    sentence = (
        f"highest mean on {int(ahead.sum())} of {int(there.sum())} datasets, beyond chance (corrected resampled "
        f"t-test, Holm) on {sum(beyond)}; {needed} would do; beside {', '.join(others)}"
    )
    numbers = {"highest": int(ahead.sum()), "beyond": int(sum(beyond)), "n": int(there.sum()), "needed": needed}
    rule = Rule(
        f"the highest mean on {needed} datasets, each beyond chance",
        f"the highest mean on fewer than {needed} datasets",
    )
    return Verdict(claim, outcome, sentence, numbers, rule)


def reaches_printed(
    claim: str, sheet: Sheet, scores: Scores, row: str, printed_in: str, *, line: str = "honest"
) -> Verdict:
    """Confirmed if no printed mean can be ``MARGIN`` above that of ``row``.

    Refuted if some printed mean is significantly above it: gains on one dataset do not make up for another.
    """
    printed = next(one.printed for one in sheet.rows if one.name == printed_in)
    behind: dict[str, Comparison] = {}
    for dataset, own in zip(scores.datasets, scores.of(row, line), strict=True):
        figure = printed.get(dataset)
        if figure and figure.mean is not None and (found := compare(figure.mean - own[None])):
            behind[sheet.columns.get(dataset, dataset)] = found
    if not behind:
        return no_data(claim, "printed minus ours: no pairs of scores")
    tested = zip(behind, corrected(list(behind.values())), strict=True)
    below = {name: one.mean for name, one in tested if one and one.mean > 0 and one.p < LEVEL}
    outcome: ClaimOutcome = "inconclusive"
    if below:
        outcome = "not confirmed"
    # Uncorrected, since all of the intervals have to hold (an intersection–union test).
    elif all(one.high < MARGIN for one in behind.values()):
        outcome = "confirmed"
    reached = sum(one.mean <= 0 for one in behind.values())
    where = ", ".join(f"{name} by {points:.2f}" for name, points in below.items()) or "nowhere"
    sentence = (
        f"mean reached on {reached} of {len(behind)} datasets; below it beyond chance (n = "
        f"{sum(one.n for one in behind.values())} scores, Holm over {len(behind)}): {where}"
    )
    rule = Rule(
        f"scores whose intervals leave no dataset {MARGIN:g} below the printed mean",
        "a score below the printed mean beyond chance on some dataset",
    )
    return Verdict(claim, outcome, sentence, {"reached": reached, "n": len(behind), "below": below}, rule)


def best_rival(scores: Scores, names: Sequence[str], line: str) -> np.ndarray:
    """Scores ``[datasets, seeds]`` of the row with the highest mean on each dataset; NaN if there is none."""
    table = np.full((len(scores.datasets), scores.seeds), np.nan)
    for number in range(len(scores.datasets)):
        rows = [scores.of(name, line)[number] for name in names]
        rows = [row for row in rows if np.isfinite(row).any()]
        if rows:
            table[number] = max(rows, key=lambda row: float(np.nanmean(row)))
    return table
