"""Figures as texts."""

from nmrgcl.report.grid import MISSING, Text
from nmrgcl.reproduce.statistics import LEVEL, Comparison
from nmrgcl.reproduce.tables.entries import PRINTED, Entry
from nmrgcl.reproduce.tables.pairs import Pair

LINES = {PRINTED: "printed", "honest": "honest", "paper": "by evaluated folds"}


def figure_text(entry: Entry | None, seeds: int) -> Text:
    """Mean ± standard deviation, which one trial has none of; how many trials, where they are not ``seeds``."""
    if entry is None:
        return Text(MISSING)
    figure = entry.figure
    if figure.mean is None:
        return Text(f"< {figure.below:.1f}")
    spread = "" if figure.std is None or entry.n == 1 else f" ± {figure.std:.2f}"
    trials = f", n = {entry.n}" if entry.n not in (None, seeds) else ""
    return Text(f"{figure.mean:.2f}{spread}{trials}", entry.best)


def line_text(entry: Entry) -> str:
    """Whose figure it is and how it was judged, in few words."""
    if entry.n is None:
        return LINES.get(entry.line, entry.line)
    return f"ours: {entry.protocol.split(',')[0]}, {LINES.get(entry.line, entry.line)}"


def interval_text(found: Comparison | None) -> Text:
    """A difference with its 95 % interval; bold where that does not hold zero."""
    if found is None:
        return Text(MISSING)
    if found.n < 2 or found.high == float("inf"):
        return Text(_signed(found.mean))
    beyond = found.low > 0 or found.high < 0
    return Text(f"{_signed(found.mean)} ({_signed(found.low)} … {_signed(found.high)})", beyond)


def pair_text(pair: Pair | None) -> Text:
    """A difference with its corrected p-value; bold below 5 %."""
    if pair is None:
        return Text(MISSING)
    p = pair.difference.p
    return Text(f"{_signed(pair.difference.mean)} ({'p < 0.001' if p < 0.001 else f'p = {p:.3f}'})", p < LEVEL)


def _signed(value: float) -> str:
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")  # what rounds to zero has no minus
