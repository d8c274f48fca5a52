"""The result of a search: the honest score, the optimistic ones for comparison, and the settings to use."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nmrgcl.errors import DataError, SettingError, nearest
from nmrgcl.evaluate.spread import by_seed
from nmrgcl.record import RecordFormat
from nmrgcl.run.measures import BETTER
from nmrgcl.settings.check import flatten
from nmrgcl.tune.choice import Choice, best_overall, choose_by_fold, choose_by_measure
from nmrgcl.tune.search import Candidate, Search, SearchScores

INNER = "inner"
"""The criterion that uses labels: inner scores of the training rows of each fold."""
CRITERIA = (INNER, *BETTER)
TUNED = RecordFormat("nmrgcl-tuned", 1, "a search", sealed=False)


def require_criterion(name: str) -> None:
    """Refuse unknown criteria."""
    if name not in CRITERIA:
        raise SettingError(f"unknown criterion {name!r}; {nearest(name, CRITERIA)}")


@dataclass(frozen=True, eq=False)
class Found:
    """A finished search.

    Attributes:
        search: the search.
        scores: the scores of its candidates.
        command: the command that computed it.
        date: today's date as YYYY-MM-DD.
        criterion: ``INNER``, or the measure without labels by which candidates are chosen.
    """

    search: Search
    scores: SearchScores
    command: str
    date: str
    criterion: str = INNER

    @cached_property
    def choice(self) -> Choice:
        """The candidate chosen for every fold."""
        if self.criterion not in self.choices:
            raise DataError(
                f"{self.search.dataset}: not every training has {self.criterion}; choose by {', '.join(self.choices)}"
            )
        return self.choices[self.criterion]

    @cached_property
    def choices(self) -> dict[str, Choice]:
        """What every criterion chooses, for comparison."""
        inner, outer = self.scores.inner, self.scores.outer
        measured = {name: choose_by_measure(values, outer) for name, values in self.scores.measures.items()}
        return {INNER: choose_by_fold(inner, outer)} | measured

    @cached_property
    def winner(self) -> int:
        """The candidate that is best by the criterion in the mean: the one to use from now on."""
        return best_overall(self.scores.inner if self.criterion == INNER else self.scores.measures[self.criterion])

    @cached_property
    def seen(self) -> int:
        """The candidate with the best mean test score: what a careless search would report."""
        return best_overall(self.scores.outer)

    def outer(self, number: int) -> dict[str, Any]:
        """The test scores of one candidate."""
        return by_seed(self.scores.outer[number])

    def changed(self, candidate: Candidate) -> dict[str, Any]:
        """The settings in which a candidate differs from the preset."""
        start = dict(flatten(self.search.candidates[0].settings.to_dict()))
        return {k: v for k, v in flatten(candidate.settings.to_dict()) if v != start[k]}

    def effects(self) -> dict[str, list[list[Any]]]:
        """For each key of the space: its values, the mean inner score of the candidates with each, and their number."""
        means = self.scores.inner.mean(axis=(1, 2))
        drawn: dict[str, dict[str, list[tuple[Any, float]]]] = {}
        for number, candidate in enumerate(self.search.candidates):
            for key, value in candidate.drawn.items() if number not in self.scores.failed else ():
                # By repr, because values may be tables, which cannot be keys.
                drawn.setdefault(key, {}).setdefault(repr(value), []).append((value, float(means[number])))
        return {
            key: [
                [pairs[0][0], round(float(np.mean([m for _, m in pairs])), 2), len(pairs)] for pairs in table.values()
            ]
            for key, table in drawn.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """The content of the record."""
        search, times = self.search, self.choice.times(len(self.search.candidates))
        candidates = [
            {"changed": self.changed(c), "chosen": times[n], "failed": n in self.scores.failed}
            | ({} if n in self.scores.failed else self._scores_of(n))
            for n, c in enumerate(search.candidates)
        ]
        facts = {
            "dataset": search.dataset,
            "method": search.candidates[0].settings.method,
            "protocol": search.protocol,
            "seeds": search.seeds,
            "command": self.command,
            "date": self.date,
            "device": " and ".join(self.scores.devices),
            "preset": self.outer(0),
            "criterion": self.criterion,
            "nested": by_seed(self.choice.scores),
            "criteria": {name: by_seed(choice.scores) for name, choice in self.choices.items()},
            "seen": self.outer(self.seen) | {"candidate": self.seen},
            "winner": self.outer(self.winner) | {"candidate": self.winner},
            "settings": search.candidates[self.winner].settings.to_dict(),
            "effects": self.effects(),
            "candidates": candidates,
        }
        return TUNED.seal(facts)

    def _scores_of(self, number: int) -> dict[str, Any]:
        inner, outer = (np.round(part[number], 4).tolist() for part in (self.scores.inner, self.scores.outer))
        return {
            "inner_mean": float(np.mean(inner)),
            "outer_mean": float(np.mean(outer)),
            "inner": inner,
            "outer": outer,
            "measures": {name: _raw(name, values[number]) for name, values in self.scores.measures.items()},
        }


def _raw(name: str, values: np.ndarray) -> list[float]:
    """The measure as it was recorded, with six digits."""
    return [float(f"{BETTER[name] * value:.6g}") for value in values]
