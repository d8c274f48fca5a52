"""The texts of table cells: scores, differences and tests."""

from collections import Counter
from collections.abc import Sequence

from nmrgcl.evaluate.paired import Pair
from nmrgcl.evaluate.spread import signed, with_p
from nmrgcl.report.grid import MISSING
from nmrgcl.report.page import Bold
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
"""The sign for each combination of devices."""


def device_marks(found: Sequence[Entry]) -> Marks:
    """No sign for the devices of most scores, and a sign for each other combination."""
    counts = Counter(entry.devices for entry in found if entry.devices)
    return {devices: ("", *MARKS)[min(n, len(MARKS))] for n, (devices, _) in enumerate(counts.most_common())}


def marks_text(marks: Marks) -> str:
    """The meaning of the signs."""
    usual, *others = [(" and ".join(devices), sign) for devices, sign in marks.items()] or [("", "")]
    if not others:
        return f"Computed on {usual[0]}." if usual[0] else ""
    return f"Computed on {usual[0]}; {'; '.join(f'{sign}: on {where}' for where, sign in others)}."


def figure_text(entry: Entry | None, seeds: int, marks: Marks | None = None) -> str:
    """Mean ± standard deviation (none for a single seed), and the number of seeds if it is not ``seeds``."""
    if entry is None:
        return MISSING
    if entry.mean is None:
        return f"< {entry.below:.1f}"
    spread = "" if entry.std is None or entry.n == 1 else f" ± {entry.std:.2f}"
    trials = f", n = {entry.n}" if entry.n not in (None, seeds) else ""
    sign = (marks or {}).get(entry.devices, "")
    return _marked(f"{entry.mean:.2f}{spread}{trials}{sign and f' {sign}'}", entry.best)


def line_text(entry: Entry) -> str:
    """A short text on whose score it is and how it was evaluated."""
    line = LINES.get(entry.line, entry.line)
    return line if entry.n is None else f"ours: {entry.protocol.split(',')[0]}, {line}"


def interval_text(found: Comparison | None) -> str:
    """A difference with its 95 % interval; bold if the interval excludes zero."""
    if found is None:
        return MISSING
    if found.n < 2 or found.high == float("inf"):
        return signed(found.mean)
    mixed = ", devices differ" if found.mixed else ""
    interval = f"{signed(found.low)} … {signed(found.high)}"
    return _marked(f"{signed(found.mean)} ({interval}{mixed})", found.low > 0 or found.high < 0)


def pair_text(pair: Pair | None) -> str:
    """A difference with its corrected p-value; bold below 5 %."""
    if pair is None:
        return MISSING
    mixed = ", devices differ" if pair.mixed else ""
    return _marked(f"{signed(pair.difference.mean)} ({with_p(pair.p)}{mixed})", pair.p < LEVEL)


def _marked(text: str, bold: bool) -> str:
    return Bold(text) if bold else text
