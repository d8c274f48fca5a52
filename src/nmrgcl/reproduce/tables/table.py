"""A table of the paper: its cells, and the parts of its report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nmrgcl.errors import SettingError, nearest
from nmrgcl.methods import Level
from nmrgcl.report.grid import Grid
from nmrgcl.report.svg import Picture
from nmrgcl.reproduce.item import Item
from nmrgcl.reproduce.plan import Placed, Plan
from nmrgcl.reproduce.scores import Row, Scores
from nmrgcl.reproduce.tables import grids
from nmrgcl.reproduce.tables.cells import chosen_rows
from nmrgcl.reproduce.tables.entries import Entry, entries, optimism_entries
from nmrgcl.reproduce.tables.nested import nested_rows
from nmrgcl.reproduce.tables.ranking import Ranking, rank_rows
from nmrgcl.reproduce.tables.ranking_drawing import ranking_picture
from nmrgcl.reproduce.tables.sheet import Sheet, TableRow
from nmrgcl.settings import preset_names


@dataclass(frozen=True, eq=False, kw_only=True)
class TableItem(Item):
    """A table.

    Attributes:
        sheet: its rows and printed scores.
        level: what it embeds, graphs or nodes.
        line: the selection or split on which tests and ranks are based.
        fill: a function that lists the cells of a plan.
        preset: the preset of rows without one, unless the plan names one.
    """

    sheet: Sheet
    level: Level
    line: str
    fill: Callable[[Sheet, Plan], list[Placed]]
    preset: str = ""

    def cells(self, plan: Plan) -> list[Placed]:
        """All cells of ``plan``."""
        return self.fill(self.sheet, replace(plan, preset=plan.preset or self.preset))

    def scores(self, plan: Plan, rows: Sequence[Row]) -> Scores:
        """The scores of cells, and of rows that are not cells, such as nested estimates."""
        cells = self.cells(plan)
        others = [tuple(row[axis] for axis in self.axes) for row in rows if not row["key"]]
        wanted = tuple(dict.fromkeys([*others, *(placed.at for placed in cells)]))
        asked = np.zeros((len(plan.datasets), len(wanted), plan.seeds), bool)
        level = {at: number for number, at in enumerate(wanted)}
        for placed in cells:
            if placed.cell.seed < plan.seeds:
                asked[plan.datasets.index(placed.cell.dataset), level[placed.at], placed.cell.seed] = True
        return replace(super().scores(plan, rows), wanted=wanted, asked=asked)

    def pictures(self, scores: Scores) -> list[Picture]:
        """Average ranks, if there are enough rows and datasets."""
        ranking = self.ranking(scores)
        return [ranking_picture(scores, ranking, self.judged(scores))] if ranking else []

    def grids(self, plan: Plan, scores: Scores) -> list[Grid]:
        """All tables that are not empty, with the scores first."""
        rows, line, ranking = self.rows(plan), self.judged(scores), self.ranking(scores)
        made = [
            grids.results_grid(self.sheet, entries(self.sheet, rows, scores), scores),
            grids.distance_grid(self.sheet, rows, scores, line),
            grids.optimism_grid(self.sheet, rows, scores),
            grids.pairs_grid(self.sheet, rows, scores, line),
            grids.ranking_grid(ranking) if ranking else None,
            grids.times_grid(self.sheet, rows, scores),
        ]
        return [grid for grid in made if grid is not None]

    def short_grid(self, plan: Plan, scores: Scores, line: str = "") -> Grid | None:
        """A short table of our scores on ``line`` (default: the table's own) and published means; None if empty."""
        rows, own = self.rows(plan), self.judged(scores)
        found = entries(self.sheet, rows, scores)
        return grids.short_grid(self.sheet, rows, found, scores, line or own, own=line in ("", own))

    def entries(self, plan: Plan, scores: Scores) -> list[Entry]:
        """All printed and computed scores, and what choosing on the test folds adds to them."""
        rows = self.rows(plan)
        return [*entries(self.sheet, rows, scores), *optimism_entries(rows, scores)]

    def nested(self, plan: Plan, folder: Path) -> list[Row]:
        """The scores of the tuned row from searches that ``nmrgcl tune`` wrote to ``folder``."""
        tuned = [row for row in self.sheet.rows if row.tuned]
        if not tuned:
            raise SettingError(f"--searches: {self.name} has no tuned row")
        return nested_rows(tuned[0], plan, folder)

    def rows(self, plan: Plan) -> list[TableRow]:
        """The rows that ``plan`` names, or all."""
        return chosen_rows(self.sheet, self.level, plan.rows)

    def ranking(self, scores: Scores) -> Ranking | None:
        """Average ranks of the rows that see no labels."""
        rows, line = unlabelled_rows(self.sheet, self.level, scores), self.judged(scores)
        return rank_rows([row.name for row in rows], scores.datasets, grids.mean_table(scores, rows, line))

    def judged(self, scores: Scores) -> str:
        """The line that tests are based on: that of the table, or the first available one."""
        lines = [at[1] for at in scores.wanted]
        return self.line if self.line in lines or not lines else str(lines[0])

    def kind(self, placed: Placed) -> tuple[Any, ...]:
        """Cells of one row and line cost about the same."""
        return placed.at

    def _check_options(self, given: Mapping[str, Any]) -> None:
        if given.get("selection", "honest") not in ("honest", "paper"):
            raise SettingError(f"--selection {given['selection']}: use honest or paper, or leave it out for both")
        if "preset" in given and given["preset"] not in preset_names():
            raise SettingError(f"unknown preset {given['preset']!r}; {nearest(given['preset'], preset_names())}")


def unlabelled_rows(sheet: Sheet, level: Level, scores: Scores) -> list[TableRow]:
    """The computed rows whose encoders and settings do not depend on labels."""
    names = {at[0] for at in scores.wanted}
    return [row for row in chosen_rows(sheet, level, ()) if row.name in names and not row.sees_labels]
