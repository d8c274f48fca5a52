"""Table 1: unsupervised graph classification.

    nmrgcl reproduce table1           # 8 datasets × 28 rows × 5 seeds, both selections; meant for a GPU
    nmrgcl reproduce table1 --quick   # PTC_MR and MUTAG, 2 seeds, 10 epochs: minutes on two cores

The paper says that contrast-based methods generally exceed kernels and traditional unsupervised methods, that nmrGCL
outperforms the other unsupervised methods on eight of nine datasets, for example GraphCL on DD by 1.99 and on IMDB-B by
2.69 points, and that this is due to the removal.
"""

from dataclasses import replace

import numpy as np

from nmrgcl.reproduce.plan import Extent
from nmrgcl.reproduce.scores import Scores
from nmrgcl.reproduce.statistics import Comparison, compare, corrected
from nmrgcl.reproduce.tables.cells import graph_cells
from nmrgcl.reproduce.tables.claims import leads_on_most, reaches_printed
from nmrgcl.reproduce.tables.sheet import load_sheet
from nmrgcl.reproduce.tables.table import TableItem, unlabelled_rows
from nmrgcl.reproduce.verdict import Verdict, beside_untrained, greater

SHEET = load_sheet("table1")
OURS, TUNED, RIVAL, WITHOUT = "nmrGCL", "nmrGCL, tuned", "GraphCL", "nmrGCL, w/o RO"
CONTRASTIVE = ("InfoGraph", RIVAL, "CuCo", "AD-GCL", OURS)
TRADITIONAL = ("WL", "DGK", "Sub2Vec", "Graph2Vec")
UNTRAINED = "untrained"
COLOURED, COLOURS, KERNEL = "nmrGCL + colours", "untrained + colours", "WL"
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
    "counts of colours beside nmrGCL exceed the WL kernel (not in the paper)",
    "training adds to counts of colours (not in the paper)",
)


def judge(scores: Scores) -> list[Verdict]:
    """Verdicts by honest selection except for the last one: differences paired by seed, and printed means."""
    rest = [(name, "honest") for name in (*CONTRASTIVE, *TRADITIONAL)]
    (contrastive, ours), (traditional, theirs) = (_mean_of(scores, names) for names in (CONTRASTIVE, TRADITIONAL))
    found = corrected(
        [
            _lead(scores, RIVAL),
            _lead(scores, RIVAL, "DD"),
            _lead(scores, RIVAL, "IMDB-BINARY"),
            _lead(scores, WITHOUT),
            compare(contrastive - traditional, mixed=scores.mixed(*rest)),
        ]
    )
    # Corrected by themselves, so that claims of our own do not weaken those of the paper.
    beyond = corrected([_beyond(scores, KERNEL), _beyond(scores, COLOURS)])
    rivals = [
        row.name
        for row in unlabelled_rows(SHEET, "graph", scores)
        if row.group in ("graph kernels", "unsupervised", "others")
    ]
    return [
        leads_on_most(CLAIMS[0], scores, OURS, rivals, share=8 / 9),
        greater(CLAIMS[1], found[0], "nmrGCL minus GraphCL"),
        greater(CLAIMS[2], found[1], "nmrGCL minus GraphCL on DD"),
        greater(CLAIMS[3], found[2], "nmrGCL minus GraphCL on IMDB-B"),
        greater(CLAIMS[4], found[3], "nmrGCL minus w/o RO"),
        _beside_others(scores, found[4], f"mean of {', '.join(ours)}", f"mean of {', '.join(theirs)}", traditional),
        reaches_printed(CLAIMS[6], SHEET, scores, OURS, OURS),
        reaches_printed(CLAIMS[7], SHEET, scores, TUNED, OURS),
        reaches_printed(CLAIMS[8], SHEET, scores, OURS, OURS, line="paper"),
        greater(CLAIMS[9], beyond[0], f"{COLOURED} minus {KERNEL}"),
        greater(CLAIMS[10], beyond[1], f"{COLOURED} minus {COLOURS}"),
    ]


def _lead(scores: Scores, other: str, *datasets: str) -> Comparison | None:
    """Our row minus ``other``, paired by seed, on ``datasets`` or on all."""
    lead = scores.of(OURS, "honest") - scores.of(other, "honest")
    mixed = scores.mixed((OURS, "honest"), (other, "honest"), on=datasets)
    return compare(lead[scores.on(*datasets)] if datasets else lead, mixed=mixed)


def _beyond(scores: Scores, other: str) -> Comparison | None:
    """The row with colours minus ``other``, paired by seed."""
    lead = scores.of(COLOURED, "honest") - scores.of(other, "honest")
    return compare(lead, mixed=scores.mixed((COLOURED, "honest"), (other, "honest")))


def _beside_others(
    scores: Scores, found: Comparison | None, ours: str, theirs: str, traditional: np.ndarray
) -> Verdict:
    """The claim about kernels, also tested for the untrained encoder, and for the best row of each kind."""
    judged = greater(CLAIMS[5], found, f"{ours} minus {theirs}")
    untrained = compare(scores.of(UNTRAINED, "honest") - traditional)
    judged = beside_untrained(judged, greater(CLAIMS[5], untrained, f"{UNTRAINED} minus {theirs}"))
    ours_best, theirs_best = (_best_of(scores, names) for names in (CONTRASTIVE, TRADITIONAL))
    known = np.isfinite(ours_best) & np.isfinite(theirs_best)
    above = int((theirs_best > ours_best)[known].sum())
    plainly = f"the best of the others is above the best contrast-based row on {above} of {known.sum()} datasets"
    return replace(judged, sentence=f"{judged.sentence}; {plainly}") if known.any() else judged


def _best_of(scores: Scores, names: tuple[str, ...]) -> np.ndarray:
    """``[datasets]`` the highest mean over seeds among rows that have every seed; NaN if there is none."""
    best: np.ndarray = np.fmax.reduce([scores.of(name, "honest").mean(1) for name in names])
    return best


def _mean_of(scores: Scores, names: tuple[str, ...]) -> tuple[np.ndarray, list[str]]:
    """``[datasets, seeds]`` the mean of the rows that have every seed of a dataset, and the names of these rows.

    A row that is complete on some datasets counts there; NaN if there is no such row.
    """
    cube = np.array([scores.of(name, "honest") for name in names])
    complete = ~np.isnan(cube).any(2)
    # Incomplete rows weigh nothing: with them, the mean would be over other rows for each seed.
    share = complete / np.maximum(complete.sum(0), 1)
    means = (np.nan_to_num(cube) * share[:, :, None]).sum(0)
    means[~complete.any(0)] = np.nan
    return means, [name for name, there in zip(names, complete.any(1), strict=True) if there] or ["no row"]


ITEM = TableItem(
    name="table1",
    title="Table 1: unsupervised graph classification",
    note="Preset paper (App. E.3) for every row that brings no recipe of its own; C from GraphCL's grid. Honest: the "
    "last epoch, C chosen inside the training folds. By evaluated folds: the best of every fifth epoch, twenty at "
    "most, and of all C on the folds that are reported, as published code does. Supervised rows follow Errica et al. "
    "2020: depth, learning rate and epoch by the fold after the one tested, whose score is the mean of three "
    "trainings. Features: labels of nodes, else one-hot degree. GraphCL is trained by preset paper, too; its own "
    "recipe is a row among the others. The tuned row is the nested estimate of nmrgcl tune: each evaluated fold has "
    "settings that were chosen inside its training folds; no other row was tuned. Its second line is one setting for "
    "all folds, chosen with the labels of all graphs, and too high by what that choice adds. What to search on DD and "
    "COLLAB was decided with some judged scores in view (docs/tuning.md).",
    cost="1,920 cells, meant for a GPU; --quick: 188 cells, minutes on two cores",
    claims=CLAIMS,
    full=Extent(tuple(SHEET.columns), 5),
    small=Extent(("PTC_MR", "MUTAG"), 2, most_epochs=10),
    judge=judge,
    axes=("row", "selection"),
    sheet=SHEET,
    level="graph",
    line="honest",
    fill=graph_cells,
    preset="paper",
)
