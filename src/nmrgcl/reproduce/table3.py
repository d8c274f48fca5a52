"""Table 3: transfer learning.

    nmrgcl reproduce table3           # 4 datasets, 10 seeds without pre-training, and fingerprints; meant for a GPU
    nmrgcl reproduce table3 --quick   # BBBP, 2 seeds, a small network, 3 epochs: a minute on two cores

The paper says that nmrGCL, pre-trained on ZINC-2M, is best on three of four molecular datasets. Its rows with
pre-training show printed figures only.
"""

from nmrgcl.reproduce.item import Item
from nmrgcl.reproduce.plan import Extent
from nmrgcl.reproduce.scores import Scores
from nmrgcl.reproduce.statistics import compare, corrected
from nmrgcl.reproduce.tables.cells import molecule_cells
from nmrgcl.reproduce.tables.claims import reaches_printed
from nmrgcl.reproduce.tables.design import Design
from nmrgcl.reproduce.tables.sheet import load_sheet
from nmrgcl.reproduce.verdict import Verdict, greater, no_data

SPLIT = "scaffold"
SHEET = load_sheet("table3")
DESIGN = Design(SHEET, "graph", SPLIT, molecule_cells)
FRESH, FOREST = "No-pre-train", "ECFP + random forest"
CLAIMS = (
    "nmrGCL is best on BBBP, SIDER and ClinTox",
    "an encoder without pre-training reaches the printed figures",
    "a random forest on fingerprints exceeds an encoder without pre-training (not in the paper)",
)


def judge(scores: Scores) -> list[Verdict]:
    """Paired differences by seed, over datasets."""
    lead = scores.of(FOREST, SPLIT) - scores.of(FRESH, SPLIT)
    (found,) = corrected([compare(lead, mixed=scores.mixed((FOREST, SPLIT), (FRESH, SPLIT)))])
    return [
        no_data(CLAIMS[0], "no row with pre-training is computed yet: printed figures only"),
        reaches_printed(CLAIMS[1], SHEET, scores, FRESH, FRESH, line=SPLIT),
        greater(CLAIMS[2], found, f"{FOREST} minus {FRESH}"),
    ]


ITEM = Item(
    name="table3",
    title="Table 3: transfer learning",
    note="ROC-AUC in %, the mean over tasks, on the scaffold split of Hu et al. 2020. Encoder and head are trained as "
    "there: 100 epochs, the test score at the epoch that is best on the validation part. Fingerprints "
    "(ECFP4, 2,048 bits) are judged on the same parts; a linear model of them has one solution, whatever the seed. "
    "Rows with pre-training show printed figures only.",
    cost="64 cells, meant for a GPU, but for forests, which take an hour a seed on ToxCast; --quick: 5 cells",
    claims=CLAIMS,
    full=Extent(tuple(SHEET.columns), 10),
    small=Extent(("BBBP",), 2, most_epochs=3, assignments=("encoder.units=32", "encoder.layers=2")),
    judge=judge,
    draw=DESIGN.draw,
    axes=("row", "split"),
    table=DESIGN.cells,
    grids=DESIGN.grids,
    lists=DESIGN.lists,
    protocols=("finetune",),
)
