"""A search as a value: its candidates, their cells, and the scores of these."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import choose_features
from nmrgcl.data.loading import load
from nmrgcl.errors import DataError, SettingError
from nmrgcl.method_files import method_reference
from nmrgcl.methods import Embedder, find_method, require_possible
from nmrgcl.run.cell import BY_FOLDS, Cell, canonical
from nmrgcl.run.cell_data import class_labels
from nmrgcl.run.measures import BETTER
from nmrgcl.run.recipe import recipe
from nmrgcl.run.results import Result, Results
from nmrgcl.settings import Settings, full_key
from nmrgcl.tune.space import Space, read_space

TRIES = 20
"""How often to draw per candidate before giving up: a small space may have no new candidates left."""
SCALINGS = (True, False, "squashed")
"""Ways to evaluate one training. Grids of C are not varied: a finer grid has a better maximum by chance alone."""


@dataclass(frozen=True)
class Candidate:
    """The settings of a candidate, and the values drawn for it; the unchanged preset has none."""

    settings: Settings
    drawn: dict[str, Any]


@dataclass(frozen=True)
class Search:
    """The candidates to try on one dataset; each of them is one cell per seed."""

    dataset: str
    candidates: tuple[Candidate, ...]
    seeds: int
    protocol: str

    def cells(self) -> list[Cell]:
        """All cells, ordered by candidate and then by seed."""
        return [self.cell(candidate, seed) for candidate in self.candidates for seed in range(self.seeds)]

    def cell(self, candidate: Candidate, seed: int) -> Cell:
        """The cell of one candidate and seed; a seed has the same folds for all candidates."""
        protocol: Any = self.protocol
        settings = candidate.settings
        return Cell(self.dataset, replace(settings, seed=settings.seed + seed), protocol)


@dataclass(frozen=True, eq=False)
class SearchScores:
    """The scores of the cells of a search.

    Attributes:
        inner: ``[candidates, seeds, folds]`` accuracies inside the training rows of each fold.
        outer: ``[candidates, seeds, folds]`` accuracies on the fold; both are minus infinity for failed candidates.
        failed: indices of candidates that lack a score for some seed.
        devices: the devices that computed the others.
        measures: what trainings recorded without labels, ``[candidates, seeds]`` each, higher being better; minus
            infinity for failed candidates. Measures that some training lacks are left out.
    """

    inner: np.ndarray
    outer: np.ndarray
    failed: tuple[int, ...]
    devices: tuple[str, ...] = ()
    measures: Mapping[str, np.ndarray] = field(default_factory=dict)


def plan_search(
    data: str,
    method: str,
    *,
    preset: str | None = None,
    assignments: Mapping[str, Any],
    space: str,
    every_scaling: bool = False,
    **options: Any,
) -> Search:
    """A search on one dataset; ``space`` is a name or a file, and ``options`` are passed to ``plan``.

    Settings given by ``assignments``, fixed by the method or without effect on it are not searched.
    """
    method, name = method_reference(method), canonical(data)
    start = recipe(method, preset=preset, assignments=assignments, dataset=name)
    given = {full_key(key, method, "--set") for key in assignments}
    if every_scaling and "svm.standardise" in given:
        raise SettingError("--every-scaling: --set fixes svm.standardise; leave one of the two out")
    left = free_space(space, start, given)
    dataset = load(data)
    found = plan(dataset, start, left, name=name, every_scaling=every_scaling, **options)
    class_labels(dataset, "graph")  # This refuses a dataset without classes.
    return found


def free_space(name: str, start: Settings, given: Iterable[str] = ()) -> Space:
    """The space called ``name`` without settings that are ``given``, fixed by the method, or without effect on it."""
    method = start.method
    left = read_space(name, method).without({*given, *find_method(method).FIXED})
    idle = _groups_without_effect(method)
    left = left.without([key for key in left.options if key.partition(".")[0] in idle])
    if method == "nmrgcl" and start.options.removal == "none" and "options.removal" not in left.options:
        left = left.without(["options.delta", "options.where"])  # They have no effect if nothing is removed.
    if not left.options:
        raise SettingError(f"{left.source}: nothing is left to try; --set or the method fixes all of it")
    return left


def _groups_without_effect(method: str) -> tuple[str, ...]:
    """Groups that a method does not use: of training if it trains nothing, of embeddings if it has kernels."""
    kind = find_method(method)
    if not issubclass(kind, Embedder):
        return ("train", "views") if kind.FIXED.get("train.epochs") == 0 else ()
    return "encoder", "colours", "train", "views", *(() if kind.kernels is Embedder.kernels else ("svm",))


def plan(dataset: Dataset, start: Settings, space: Space, *, budget: int, seeds: int, protocol: str, chance: int,
         name: str, every_scaling: bool = False) -> Search:  # fmt: skip
    """The preset and ``budget - 1`` random candidates; a larger budget starts with the candidates of a smaller one.

    With ``every_scaling``, each candidate is followed by variants with the other ``SCALINGS``.
    """
    if protocol not in BY_FOLDS:
        raise SettingError(f"--protocol {protocol}: candidates are evaluated by {' or '.join(BY_FOLDS)}")
    if dataset.level == "node" or start.level == "node":
        raise SettingError(f"{dataset.name}: tune searches settings for datasets of graphs, not of nodes")
    if protocol == "svm" and start.svm.c == "default":
        raise SettingError("svm.c = default leaves no inner scores to choose by; add --set svm.c=grid")
    found = draw_candidates(start, _at_hand(space, dataset, start), budget=budget, chance=chance, name=name)
    if every_scaling:
        found = _in_every_scaling(found.values(), name)
    for candidate in found.values():
        require_possible(candidate.settings)  # Report impossible settings before anything is computed.
    return Search(name, tuple(found.values()), seeds, protocol)


def draw_candidates(start: Settings, space: Space, *, budget: int, chance: int, name: str) -> dict[str, Candidate]:
    """``start`` and ``budget - 1`` random candidates, or as many as the space has, by the keys of their cells."""
    # By key, so that values which make no difference do not make another candidate.
    found = {Cell(name, start).key: Candidate(start, {})}
    generator = np.random.default_rng(chance)
    for _ in range(TRIES * budget):
        if len(found) >= budget:
            break
        drawn = space.draw(generator)
        settings = space.apply(drawn, start)
        found.setdefault(Cell(name, settings).key, Candidate(settings, drawn))
    return found


def _in_every_scaling(candidates: Iterable[Candidate], name: str) -> dict[str, Candidate]:
    """The candidates in every scaling, by key and without duplicates."""
    every: dict[str, Candidate] = {}
    for candidate in candidates:
        every.setdefault(Cell(name, candidate.settings).key, candidate)
        for scaling in SCALINGS:
            way = {"svm.standardise": scaling}
            settings = candidate.settings.updated(way)
            every.setdefault(Cell(name, settings).key, Candidate(settings, candidate.drawn | way))
    return every


def gather(search: Search, folder: Path) -> SearchScores:
    """The scores of the finished cells in ``folder``."""
    results = Results(folder)
    found = [[results.finished(search.cell(candidate, seed).key) for seed in range(search.seeds)]
             for candidate in search.candidates]  # fmt: skip
    failed = tuple(number for number, row in enumerate(found) if None in row)
    # Candidate 0 is the preset, with which all others are compared.
    if failed[:1] == (0,):
        raise DataError(f"{search.dataset}: the unchanged preset failed; see nmrgcl results list --results {folder}")
    shape = len(found), search.seeds, search.candidates[0].settings.svm.folds
    inner, outer = np.full(shape, -np.inf), np.full(shape, -np.inf)
    for number, row in enumerate(found):
        for seed, result in enumerate(row):
            if result is not None and number not in failed:
                outer[number, seed], inner[number, seed] = result.scores["folds"], _inner(result, results)
    devices = {str(result.hardware.get("device", "unknown")) for row in found for result in row if result}
    return SearchScores(inner, outer, failed, tuple(sorted(devices)), _measures(found, failed))


def _measures(found: Sequence[Sequence[Result | None]], failed: Sequence[int]) -> dict[str, np.ndarray]:
    measures = {}
    for name, sign in BETTER.items():
        values = np.full((len(found), len(found[0])), -np.inf)
        for number, row in enumerate(found):
            if number not in failed:
                kept = [result.training.get(name) for result in row if result]
                values[number] = [np.nan if value is None else sign * value for value in kept]
        if not np.isnan(values).any():
            measures[name] = values
    return measures


def _inner(result: Result, results: Results) -> list[float]:
    if "inner" not in result.scores:
        path = results.path(result.key)
        raise DataError(f"{path}: from an earlier version, without inner scores; use another --results or remove it")
    scores: list[float] = result.scores["inner"]
    return scores


def _at_hand(space: Space, dataset: Dataset, start: Settings) -> Space:
    """The space restricted to features that the dataset has, without duplicates."""
    key = "data.features"
    if key not in space.options:
        return space
    kinds: dict[str, str] = {}
    for name in space.options[key]:
        try:
            # "auto" stands for one of the other kinds, which would otherwise be tried twice.
            kinds.setdefault(choose_features(dataset, name, start.data.max_degree, start.data.scale).kind, name)
        except DataError:
            continue
    return Space(space.source, {**space.options, key: tuple(kinds.values()) or (start.data.features,)})
