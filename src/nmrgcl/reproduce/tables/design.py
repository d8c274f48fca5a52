"""One of the paper's tables: which cells it has, and what its report is made of."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from nmrgcl.methods import Level
from nmrgcl.report.grid import Grid
from nmrgcl.report.svg import Picture
from nmrgcl.reproduce.plan import Placed, Plan
from nmrgcl.reproduce.scores import Row, Scores
from nmrgcl.reproduce.tables.cells import chosen_rows
from nmrgcl.reproduce.tables.entries import entries, optimism
from nmrgcl.reproduce.tables.grids import (
    distance_grid,
    mean_table,
    optimism_grid,
    pairs_grid,
    ranking_grid,
    results_grid,
    short_grid,
    times_grid,
)
from nmrgcl.reproduce.tables.ranking import Ranking, rank_rows
from nmrgcl.reproduce.tables.ranking_drawing import ranking_picture
from nmrgcl.reproduce.tables.sheet import Sheet, TableRow


@dataclass(frozen=True, eq=False)
class Design:
    """A table.

    Attributes:
        sheet: its rows and printed figures.
        level: of what it embeds.
        line: the way to judge that tests and ranks rest on.
        fill: the cells of a plan.
        preset: of rows that name none, where the plan names none.
    """

    sheet: Sheet
    level: Level
    line: str
    fill: Callable[[Sheet, Plan], list[Placed]]
    preset: str = ""

    def cells(self, plan: Plan) -> list[Placed]:
        """Every cell that ``plan`` asks for."""
        return self.fill(self.sheet, replace(plan, preset=plan.preset or self.preset))

    def grids(self, plan: Plan, scores: Scores) -> list[Grid]:
        """What is there to show, the figures first."""
        rows = chosen_rows(self.sheet, self.level, plan.rows)
        line = self.judged(scores)
        ranking = self.ranking(scores)
        made = [
            results_grid(self.sheet, entries(self.sheet, rows, scores), scores),
            distance_grid(self.sheet, rows, scores, line),
            optimism_grid(self.sheet, rows, scores),
            pairs_grid(self.sheet, rows, scores, line),
            ranking_grid(ranking) if ranking else None,
            times_grid(self.sheet, rows, scores),
        ]
        return [grid for grid in made if grid is not None]

    def short(self, plan: Plan, scores: Scores, line: str = "") -> Grid | None:
        """Ours on ``line``, or the table's own, beside others' means, in few lines; None where nothing is computed."""
        rows, own = chosen_rows(self.sheet, self.level, plan.rows), self.judged(scores)
        found = entries(self.sheet, rows, scores)
        return short_grid(self.sheet, rows, found, scores, line or own, own=line in ("", own))

    def lists(self, plan: Plan, scores: Scores) -> list[Row]:
        """Every figure as a row of plain values; what it takes from choosing by evaluated folds has a line, too."""
        rows = chosen_rows(self.sheet, self.level, plan.rows)
        listed = []
        for entry in entries(self.sheet, rows, scores):
            values = asdict(entry)
            figure = values.pop("figure")
            listed.append({"table": plan.item, "quick": plan.quick, **values, **figure, "low": None, "high": None})
        names = dict.fromkeys(at[0] for at in scores.wanted)
        for row, dataset in ((row, dataset) for row in rows if row.name in names for dataset in scores.datasets):
            if found := optimism(scores, row.name, dataset):
                ends = found.to_dict()
                facts = {"line": "optimism", "protocol": "paper minus honest", "n": found.n, "best": False}
                figure = {"mean": found.mean, "std": None, "below": None, "low": ends["low"], "high": ends["high"]}
                place = {"row": row.name, "group": row.group, "dataset": dataset}
                listed.append({"table": plan.item, "quick": plan.quick, **place, **facts, **figure})
        return listed

    def draw(self, scores: Scores) -> list[Picture]:
        """Average ranks, where there are enough rows and datasets."""
        ranking = self.ranking(scores)
        return [ranking_picture(scores, ranking, self.judged(scores))] if ranking else []

    def ranking(self, scores: Scores) -> Ranking | None:
        """Of the rows that see no labels."""
        rows, line = self.unlabelled(scores), self.judged(scores)
        return rank_rows([row.name for row in rows], scores.datasets, mean_table(scores, rows, line))

    def unlabelled(self, scores: Scores) -> list[TableRow]:
        """Computed rows whose encoders and settings see no labels."""
        names = {at[0] for at in scores.wanted}
        return [row for row in chosen_rows(self.sheet, self.level, ()) if row.name in names and not row.sees_labels]

    def judged(self, scores: Scores) -> str:
        """The table's way to judge, or the one there is."""
        lines = [at[1] for at in scores.wanted]
        return self.line if self.line in lines or not lines else str(lines[0])
