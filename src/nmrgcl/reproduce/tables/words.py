"""Figures as texts."""

from collections import Counter
from collections.abc import Sequence

from nmrgcl.evaluate.paired import Pair
from nmrgcl.evaluate.spread import signed, with_p
from nmrgcl.report.grid import MISSING, Text
from nmrgcl.reproduce.statistics import LEVEL, Comparison
from nmrgcl.reproduce.tables.entries import PRINTED, Entry

LINES = {
    PRINTED: "printed",
    "honest": "honest",
    "seen": "settings chosen with all labels",
    "paper": "by evaluated folds",
}
MARKS = "†‡§¶"
Marks = dict[tuple[str, ...], str]
"""Devices of a figure → the sign for them."""


def device_marks(found: Sequence[Entry]) -> Marks:
    """None for the devices of most figures, a sign for each other combination."""
    counts = Counter(entry.devices for entry in found if entry.devices)
    return {devices: ("", *MARKS)[min(n, len(MARKS))] for n, (devices, _) in enumerate(counts.most_common())}


def marks_text(marks: Marks) -> str:
    """What the signs mean."""
    usual, *others = [(" and ".join(devices), sign) for devices, sign in marks.items()] or [("", "")]
    if not others:
        return f"Computed on {usual[0]}." if usual[0] else ""
    return f"Computed on {usual[0]}; {'; '.join(f'{sign}: on {where}' for where, sign in others)}."


def figure_text(entry: Entry | None, seeds: int, marks: Marks | None = None) -> Text:
    """Mean ± standard deviation, which one trial has none of; how many trials, where they are not ``seeds``."""
    if entry is None:
        return Text(MISSING)
    figure = entry.figure
    if figure.mean is None:
        return Text(f"< {figure.below:.1f}")
    spread = "" if figure.std is None or entry.n == 1 else f" ± {figure.std:.2f}"
    trials = f", n = {entry.n}" if entry.n not in (None, seeds) else ""
    sign = (marks or {}).get(entry.devices, "")
    return Text(f"{figure.mean:.2f}{spread}{trials}{sign and f' {sign}'}", entry.best)


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
        return Text(signed(found.mean))
    beyond = found.low > 0 or found.high < 0
    mixed = ", devices differ" if found.mixed else ""
    return Text(f"{signed(found.mean)} ({signed(found.low)} … {signed(found.high)}{mixed})", beyond)


def pair_text(pair: Pair | None) -> Text:
    """A difference with its corrected p-value; bold below 5 %."""
    if pair is None:
        return Text(MISSING)
    mixed = ", devices differ" if pair.mixed else ""
    return Text(f"{signed(pair.difference.mean)} ({with_p(pair.p)}{mixed})", pair.p < LEVEL)
