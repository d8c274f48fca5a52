"""Table 1: unsupervised graph classification.

    nmrgcl reproduce table1           # 8 datasets × 11 rows × 5 seeds, both selections; meant for a GPU
    nmrgcl reproduce table1 --quick   # PTC_MR and MUTAG, 2 seeds, 10 epochs: minutes on two cores

The paper says that contrast-based methods generally exceed kernels and traditional unsupervised methods, that nmrGCL
outperforms the other unsupervised methods on eight of nine datasets, for example GraphCL on DD by 1.99 and on IMDB-B by
2.69 points, and that this is owed to the removal.
"""

import numpy as np

from nmrgcl.reproduce.item import Item
from nmrgcl.reproduce.plan import Extent
from nmrgcl.reproduce.scores import Scores
from nmrgcl.reproduce.statistics import Comparison, compare, corrected
from nmrgcl.reproduce.tables.cells import graph_cells
from nmrgcl.reproduce.tables.claims import leads_on_most, reaches_printed
from nmrgcl.reproduce.tables.design import Design
from nmrgcl.reproduce.tables.nested import nested_rows
from nmrgcl.reproduce.tables.sheet import load_sheet
from nmrgcl.reproduce.verdict import Verdict, greater

SHEET = load_sheet("table1")
DESIGN = Design(SHEET, "graph", "honest", graph_cells, preset="paper")
OURS, TUNED, RIVAL, WITHOUT = "nmrGCL", "nmrGCL, tuned", "GraphCL", "nmrGCL, w/o RO"
CONTRASTIVE = ("InfoGraph", RIVAL, "CuCo", "AD-GCL", OURS)
TRADITIONAL = ("WL", "DGK", "Sub2Vec", "Graph2Vec")
CLAIMS = (
    "nmrGCL outperforms the other unsupervised methods on eight of nine datasets",
    "nmrGCL outperforms GraphCL (3.1 points in the mean)",
    "DD: nmrGCL surpasses GraphCL (by 1.99)",
    "IMDB-B: nmrGCL exceeds GraphCL (by 2.69)",
    "the improvement is owed to the removal",
    "contrast-based methods exceed kernels and traditional unsupervised methods",
    "nmrGCL reaches the printed accuracies",
    "nmrGCL reaches the printed accuracies with tuned settings (nested)",
    "nmrGCL reaches the printed accuracies where epoch and C are chosen by the evaluated folds",
)


def judge(scores: Scores) -> list[Verdict]:
    """By honest selection, but for the last: paired differences by seed, over datasets; printed means one by one."""
    rest = [(name, "honest") for name in (*CONTRASTIVE, *TRADITIONAL)]
    found = corrected(
        [
            _lead(scores, RIVAL),
            _lead(scores, RIVAL, "DD"),
            _lead(scores, RIVAL, "IMDB-BINARY"),
            _lead(scores, WITHOUT),
            compare(_mean_of(scores, CONTRASTIVE) - _mean_of(scores, TRADITIONAL), mixed=scores.mixed(*rest)),
        ]
    )
    rivals = [row.name for row in DESIGN.unlabelled(scores) if row.group in ("graph kernels", "unsupervised", "others")]
    return [
        leads_on_most(CLAIMS[0], scores, OURS, rivals, share=8 / 9),
        greater(CLAIMS[1], found[0], "nmrGCL minus GraphCL"),
        greater(CLAIMS[2], found[1], "nmrGCL minus GraphCL on DD"),
        greater(CLAIMS[3], found[2], "nmrGCL minus GraphCL on IMDB-B"),
        greater(CLAIMS[4], found[3], "nmrGCL minus w/o RO"),
        greater(CLAIMS[5], found[4], "mean of contrast-based rows minus mean of the others"),
        reaches_printed(CLAIMS[6], SHEET, scores, OURS, OURS),
        reaches_printed(CLAIMS[7], SHEET, scores, TUNED, OURS),
        reaches_printed(CLAIMS[8], SHEET, scores, OURS, OURS, line="paper"),
    ]


def _lead(scores: Scores, other: str, *datasets: str) -> Comparison | None:
    """Our row minus ``other``, by seed, on ``datasets`` or on all."""
    lead = scores.of(OURS, "honest") - scores.of(other, "honest")
    mixed = scores.mixed((OURS, "honest"), (other, "honest"), on=datasets)
    return compare(lead[scores.on(*datasets)] if datasets else lead, mixed=mixed)


def _mean_of(scores: Scores, names: tuple[str, ...]) -> np.ndarray:
    """``[datasets, seeds]`` mean of those rows that are computed; NaN where none is."""
    there = [scores.of(name, "honest") for name in names if (name, "honest") in scores.wanted]
    shape = (len(scores.datasets), scores.seeds)
    return np.mean(there, 0) if there else np.full(shape, np.nan)


ITEM = Item(
    name="table1",
    title="Table 1: unsupervised graph classification",
    note="Preset paper (App. E.3) for every row that brings no recipe of its own; C from GraphCL's grid. Honest: the "
    "last epoch, C chosen inside the training folds. By evaluated folds: the best of every fifth epoch, twenty at "
    "most, and of all C on the folds that are reported, as published code does. Supervised rows: the epoch by the fold "
    "after the one tested. Features: labels of nodes, else one-hot degree. GraphCL is trained by preset paper, too, "
    "not by its own recipe. The tuned row is the nested estimate of nmrgcl tune: each evaluated fold has settings that "
    "were chosen inside its training folds; no other row was tuned. Its second line is one setting for all folds, "
    "chosen with the labels of all graphs, and too high by what that choice adds. What to search on DD and COLLAB was "
    "decided with some judged scores in view (docs/tuning.md).",
    cost="800 cells, meant for a GPU; --quick: 76 cells, minutes on two cores",
    claims=CLAIMS,
    full=Extent(tuple(SHEET.columns), 5),
    small=Extent(("PTC_MR", "MUTAG"), 2, most_epochs=10),
    judge=judge,
    draw=DESIGN.draw,
    axes=("row", "selection"),
    table=DESIGN.cells,
    grids=DESIGN.grids,
    lists=DESIGN.lists,
    searches=lambda plan, folder: nested_rows(next(row for row in SHEET.rows if row.tuned), plan, folder),
)
