"""Table 3: transfer learning.

    nmrgcl reproduce table3           # seconds: it shows what the paper prints, since its pre-training is not built yet

The paper says that nmrGCL, pre-trained on ZINC-2M, is best on three of four molecular datasets.
"""

from nmrgcl.reproduce.item import Item
from nmrgcl.reproduce.plan import Extent, Placed, Plan
from nmrgcl.reproduce.scores import Scores
from nmrgcl.reproduce.tables.design import Design
from nmrgcl.reproduce.tables.sheet import Sheet, load_sheet
from nmrgcl.reproduce.verdict import Verdict, no_data

SHEET = load_sheet("table3")
CLAIMS = ("nmrGCL is best on BBBP, SIDER and ClinTox",)


def no_cells(sheet: Sheet, plan: Plan) -> list[Placed]:
    """Fine-tuning on scaffold splits is no protocol here yet."""
    return []


def judge(scores: Scores) -> list[Verdict]:
    """Nothing can be said."""
    return [no_data(claim, "nothing is computed: printed figures only") for claim in CLAIMS]


DESIGN = Design(SHEET, "graph", "honest", no_cells)
ITEM = Item(
    name="table3",
    title="Table 3: transfer learning",
    note="Printed figures only: ROC-AUC after pre-training on ZINC-2M.",
    cost="nothing to compute",
    claims=CLAIMS,
    full=Extent(tuple(SHEET.columns), 5),
    small=Extent(tuple(SHEET.columns), 2),
    judge=judge,
    draw=DESIGN.draw,
    axes=("row", "selection"),
    table=DESIGN.cells,
    grids=DESIGN.grids,
    lists=DESIGN.lists,
    protocols=("finetune",),
)
