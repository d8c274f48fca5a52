"""Verdicts on claims, each with a sentence that gives the statistics."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
from scipy.stats import binomtest, norm

from nmrgcl.reproduce.statistics import LEVEL, Comparison, best_level

ClaimOutcome = Literal["confirmed", "confirmed, also untrained", "not confirmed", "inconclusive", "no data"]

Test = Callable[[Comparison], bool]

MARGIN = 1.0
"""A negligible difference in points: a third of nmrGCL's mean lead over GraphCL (3.1) in the paper's Table 1."""


@dataclass(frozen=True)
class Rule:
    """What evidence confirms a claim, what refutes it and, if neither was found, how much more would decide it."""

    confirms: str
    refutes: str
    enough: str = ""


@dataclass(frozen=True)
class Verdict:
    """The outcome of testing one claim of the paper; ``rule`` says what would have led to another one."""

    claim: str
    outcome: ClaimOutcome
    sentence: str
    numbers: dict[str, Any] = field(default_factory=dict)
    rule: Rule | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, without the rule."""
        return {key: value for key, value in asdict(self).items() if key != "rule"}

    @property
    def would_change(self) -> str:
        """What evidence would change the outcome, in words."""
        if self.outcome == "no data" or self.rule is None:
            return "scores, of which there are none yet" if self.outcome == "no data" else "another measurement"
        if self.outcome == "not confirmed":
            return self.rule.confirms
        if self.outcome.startswith("confirmed"):
            return self.rule.refutes
        more = f"; {self.rule.enough}" if self.rule.enough else ""
        return f"confirmed by {self.rule.confirms}, refuted by {self.rule.refutes}{more}"


def no_data(claim: str, why: str) -> Verdict:
    """The verdict if there is no data for a test."""
    return Verdict(claim, "no data", why)


def beside_untrained(found: Verdict, untrained: Verdict) -> Verdict:
    """``found``, marked if the claim is also confirmed for the untrained encoder, so training is not the reason."""
    if found.outcome != "confirmed" or untrained.outcome != "confirmed":
        return found
    sentence = f"{found.sentence}; the untrained encoder passes, too: {untrained.sentence}"
    return replace(found, outcome="confirmed, also untrained", sentence=sentence)


def greater(claim: str, found: Comparison | None, what: str, *, margin: float = MARGIN) -> Verdict:
    """Confirmed if ``found`` is significantly positive; refuted if significantly negative or below ``margin``."""
    return _by_interval(
        claim,
        found,
        what,
        lambda one: one.p < LEVEL and one.mean > 0,
        lambda one: (one.p < LEVEL and one.mean < 0) or one.high < margin,
        Rule(
            f"a mean above 0 beyond chance ({_CHANCE})",
            f"a mean below 0 beyond chance, or one not above 0 beyond chance with an interval below {margin:g}",
        ),
    )


def not_greater(claim: str, found: Comparison | None, what: str) -> Verdict:
    """Refuted if ``found`` is significantly positive; otherwise confirmed if its interval is below ``MARGIN``."""
    beyond: Test = lambda one: one.p < LEVEL and one.mean > 0  # noqa: E731
    rule = Rule(
        f"a whole interval below {MARGIN:g}, with a mean not above 0 beyond chance",
        f"a mean above 0 beyond chance ({_CHANCE})",
    )
    return _by_interval(claim, found, what, lambda one: one.high < MARGIN and not beyond(one), beyond, rule)


def within(claim: str, found: Comparison | None, what: str, *, margin: float) -> Verdict:
    """Confirmed if the interval of ``found`` is below ``margin``; refuted if it is above."""
    limit = f"; the limit is {margin:g}"
    rule = Rule(f"a whole interval below {margin:g}", f"a whole interval above {margin:g}")
    return _by_interval(claim, found, what, lambda one: one.high < margin, lambda one: one.low > margin, rule, limit)


def similar(claim: str, found: Comparison | None, what: str) -> Verdict:
    """Confirmed if the interval of ``found`` is within ±``MARGIN``; refuted if ``found`` is significantly nonzero."""
    inside: Test = lambda one: one.low > -MARGIN and one.high < MARGIN  # noqa: E731
    limit = f"; similar is within ±{MARGIN:g}"
    rule = Rule(f"a whole interval within ±{MARGIN:g}", f"a mean that differs from 0 beyond chance ({_CHANCE})")
    return _by_interval(claim, found, what, inside, lambda one: one.p < LEVEL, rule, limit)


def _by_interval(
    claim: str, found: Comparison | None, what: str, confirmed: Test, refuted: Test, rule: Rule, limit: str = ""
) -> Verdict:
    if found is None:
        return no_data(claim, f"{what}: no pairs of scores")
    outcome: ClaimOutcome = "confirmed" if confirmed(found) else "not confirmed" if refuted(found) else "inconclusive"
    if outcome == "inconclusive":
        rule = replace(rule, enough=_enough(found, lambda one: confirmed(one) or refuted(one)))
    return Verdict(claim, outcome, f"{what}: {found.sentence}{limit}", found.to_dict(), rule)


_CHANCE = f"p < {LEVEL:g} after Holm's correction"


def _enough(found: Comparison, decides: Test) -> str:
    """About how many observations would decide a claim at the same mean and spread."""
    error = (found.high - found.low) / 2 / norm.ppf(1 - LEVEL / 2)
    for more in 1.1 ** np.arange(1, 50) if np.isfinite(error) and error > 0 else ():
        # An interval shrinks with the root of the number of observations.
        margin = (found.high - found.low) / 2 / np.sqrt(more)
        # Bonferroni instead of Holm, which would need the other p-values; it is never smaller.
        p = min(1.0, found.compared * 2 * norm.sf(abs(found.mean) / error * np.sqrt(more)))
        if decides(replace(found, low=found.mean - margin, high=found.mean + margin, p=p)):
            return (
                f"at the same mean and spread, about {found.n * more:.0f} {found.things} instead of {found.n} would do"
            )
    return ""


def by_share(claim: str, share: float | None, what: str, *, enough: bool = True, **numbers: Any) -> Verdict:
    """Confirmed if a statement holds in 95 % of the resamples; refuted if it fails in 95 % of them.

    The verdict is inconclusive unless there is ``enough`` data.
    """
    if share is None:
        return no_data(claim, f"{what}: too few scores")
    outcome: ClaimOutcome = "inconclusive"
    if enough and share >= 1 - LEVEL:
        outcome = "confirmed"
    elif enough and share <= LEVEL:
        outcome = "not confirmed"
    few = "" if enough else ", too few scores to decide"
    draws = f"{1 - LEVEL:.0%} of the draws"
    rule = Rule(f"the statement in at least {draws}", f"its opposite in at least {draws}")
    return Verdict(claim, outcome, f"{what} in {share:.0%} of the draws{few}", {"share": share, **numbers}, rule)


def best_among(
    claim: str, curves: np.ndarray, names: Sequence[str], levels: Sequence[float], asked: Sequence[bool], words: str
) -> Verdict:
    """Whether the best level of most curves in ``[curves, levels, seeds]`` is one of those asked for, by resampling.

    ``words`` describes the curves, with placeholders ``{best}`` for their best levels, ``{n}`` and ``{count}``.
    """
    found = best_level(curves, asked)
    if found is None:
        return by_share(claim, None, "where the best lies")
    best = {names[curve]: levels[top] for curve, top in zip(found.curves, found.levels, strict=True)}
    listed = ", ".join(f"{name} {level:g}" for name, level in best.items())
    what = words.format(best=listed, n=found.n, count=len(best))
    return by_share(claim, found.most, what, enough=found.enough(len(curves)), best=best, n=found.n)


def mostly(claim: str, count: int, total: int, what: str, **numbers: Any) -> Verdict:
    """Confirmed if the Clopper–Pearson interval of a share is above one half; refuted if it is below."""
    if not total:
        return no_data(claim, f"{what}: nothing was measured")
    # Exact, because there may be few runs and a share of 0 or 1.
    low, high = binomtest(count, total).proportion_ci(1 - LEVEL)
    outcome: ClaimOutcome = "confirmed" if low > 0.5 else "not confirmed" if high < 0.5 else "inconclusive"
    sentence = f"{what}: {count} of n = {total} (95 % interval of the share {low:.2f} … {high:.2f})"
    rule = Rule("a share whose whole interval is above one half", "a share whose whole interval is below one half")
    return Verdict(claim, outcome, sentence, {"count": count, "n": total, "low": low, "high": high, **numbers}, rule)
