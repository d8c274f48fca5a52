"""Figure 3: two views of a graph through an untrained encoder.

    nmrgcl reproduce figure3           # COLLAB, 5 encoders, 500 graphs: a minute on one core
    nmrgcl reproduce figure3 --quick   # IMDB-BINARY, 3 encoders, 500 graphs: seconds

The paper shows the embeddings of one COLLAB graph, with 30 % of its nodes dropped and with 30 % of its feature columns
masked, by a random GCN with 3 layers, ReLU and 64 dimensions, and says that the two patterns strongly align and that
their larger entries share positions. Here many graphs and several encoders are measured, and also pairs of different
graphs: if these align as well, the pattern is due to the encoder and not to the graph.
"""

from collections.abc import Callable

import numpy as np
import torch
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from nmrgcl.augment import DropNodes, MaskFeatures
from nmrgcl.contrast import cosine
from nmrgcl.contrast.removal import scale_rows
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.data.loading import load
from nmrgcl.diagnose.alignment import prominent_overlap
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_method
from nmrgcl.report.svg import STYLE, Picture
from nmrgcl.reproduce.drawing import COLOURS, heading
from nmrgcl.reproduce.item import MeasuredItem
from nmrgcl.reproduce.plan import Extent, Plan
from nmrgcl.reproduce.scores import Row, Scores
from nmrgcl.reproduce.statistics import Comparison, compare, corrected
from nmrgcl.reproduce.verdict import Verdict, greater
from nmrgcl.settings import Settings
from nmrgcl.train.state import own_chance

SETTINGS = Settings().updated(
    {
        "method": "untrained",
        "train.epochs": 0,
        "encoder": {"name": "gcn", "layers": 3, "units": 64, "pool": "mean"},
        "data": {"features": "degree", "max_degree": 512},  # A constant feature would be masked for all nodes or none.
    }
)
P = 0.3
GRAPHS, DRAWN = 500, 24
STRONG, HALF = 0.8, 0.5
"""The cosine that counts as strong alignment, and the share of common entries that counts as shared positions.

The paper gives neither; with a cosine of 0.9, the first verdict on COLLAB would be reversed.
"""
CLAIMS = (
    "the patterns of the two views strongly align",
    "the larger entries of the two views share positions",
    "they do so more than those of unlike graphs (not in the paper)",
)
NUMBERS = ("cosine", "cosine_unlike", "overlap", "overlap_unlike")


@torch.no_grad()
def measure(plan: Plan, device: torch.device) -> list[Row]:
    """One row per dataset and encoder; that of the first encoder includes some embeddings."""
    rows = []
    for name in plan.datasets:
        graphs = _sample(load(name)).to(device)
        for seed in range(plan.seeds):
            encoder = build_method(SETTINGS.updated({"seed": seed}), graphs.num_features).to(device).eval()
            # Views are drawn by the seed of the encoder, so that encoders are independent observations.
            with own_chance(seed, 0, device):
                first, second = (encoder.embed(view(graphs)) for view in (DropNodes(P), MaskFeatures(P)))
            row = {"dataset": name, "seed": seed, "graphs": graphs.num_graphs, "device": device.type}
            rows.append(row | _alike(first, second) | (_drawn(first, second) if seed == 0 else {}))
    return rows


def judge(scores: Scores) -> list[Verdict]:
    """Each encoder is one observation, the mean over graphs."""
    tests = [
        _by_encoder(scores, lambda row: row["cosine"] - STRONG),
        _by_encoder(scores, lambda row: row["overlap"] - HALF),
        _by_encoder(scores, lambda row: row["overlap"] - row["overlap_unlike"]),
    ]
    strong, shared, own = corrected(tests)
    means = {name: np.mean([row[name] for row in scores.rows]) if scores.rows else np.nan for name in NUMBERS}
    cosines = f"mean cosine {means['cosine']:.2f} (of unlike graphs {means['cosine_unlike']:.2f}), beyond {STRONG:g}"
    overlap = f"share of prominent entries (Eq. 13, δ = 0.7) in common {means['overlap']:.2f}, beyond {HALF:g}"
    unlike = f"the same share, beyond that of unlike graphs, {means['overlap_unlike']:.2f}"
    return [
        greater(CLAIMS[0], strong, cosines, margin=0),
        greater(CLAIMS[1], shared, overlap, margin=0),
        greater(CLAIMS[2], own, unlike, margin=0),
    ]


def draw(scores: Scores) -> list[Picture]:
    """One graph as in the paper, then many graphs; rows are graphs, and columns are dimensions."""
    shown = next((row for row in scores.rows if row.get("first")), None)
    if shown is None:
        return []
    name, graphs = shown["dataset"], shown["graphs"]
    return [
        Picture(
            key="heat",
            title=f"Embeddings of two views, {name}",
            description=f"Heat maps of 64 dimensions. Mean cosine of two views of {graphs} graphs "
            f"{shown['cosine']:.2f}, of unlike graphs {shown['cosine_unlike']:.2f}.",
            caption=f"Untrained GCN, 3 layers, ReLU, mean pooling, one-hot degree; seed 0. Above: one graph of {name}; "
            f"below: {len(shown['first'])} of {graphs} graphs. Each row is scaled to 0 … 1 as in Eq. 13.",
            figure=plot_views(scores, shown),
        )
    ]


@rc_context(STYLE)
def plot_views(scores: Scores, shown: Row) -> Figure:
    """The two views of one graph above, and both views of many graphs below."""
    first, second = (np.array(shown[name]) for name in ("first", "second"))
    figure = Figure(figsize=(11.5, 6), layout="constrained")
    figure.patch.set_alpha(0)
    axes = figure.subplot_mosaic([["one", "one"], ["first", "second"]], height_ratios=[1, 3.2])
    image = _map(axes["one"], np.stack([first[0], second[0]]), f"One graph of {shown['dataset']}")
    axes["one"].set_yticks([0, 1], [f"NodeDrop {P:g}", f"FeatureMasking {P:g}"])
    _map(axes["first"], first, f"NodeDrop {P:g}, n = {len(first)} graphs")
    _map(axes["second"], second, f"FeatureMasking {P:g}, the same graphs")
    for name in ("first", "second"):
        axes[name].set_ylabel("graph")
    figure.colorbar(image, ax=list(axes.values()), label="entry, scaled to 0 … 1 within its row", shrink=0.7)
    heading(figure, scores, "Embeddings of two views by an untrained GCN")
    return figure


def _map(axes: Axes, values: np.ndarray, title: str) -> AxesImage:
    image = axes.imshow(values, cmap=COLOURS, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    axes.set_title(title, fontsize=10)
    axes.set_xlabel("dimension")
    return image


def _sample(dataset: Dataset) -> Graphs:
    """A fixed random sample of up to ``GRAPHS`` graphs."""
    options = SETTINGS.data
    graphs = apply_features(dataset, choose_features(dataset, options.features, options.max_degree))
    chosen = np.random.default_rng(0).permutation(graphs.num_graphs)[:GRAPHS]
    return graphs.take(torch.from_numpy(chosen))


def _alike(first: torch.Tensor, second: torch.Tensor) -> Row:
    """Cosine and overlap of the two views of a graph, and of one graph's first view with the next one's second."""
    other = second.roll(1, 0)
    cosines = [float(cosine(first, z).mean()) for z in (second, other)]
    overlaps = [prominent_overlap(first, z) for z in (second, other)]
    return {name: round(value, 5) for name, value in zip(NUMBERS, cosines + overlaps, strict=True)}


def _drawn(first: torch.Tensor, second: torch.Tensor) -> Row:
    scaled = {"first": scale_rows(first[:DRAWN]), "second": scale_rows(second[:DRAWN])}
    # A constant row is scaled to -1, which would be off the colour scale.
    return {name: [[round(v, 3) for v in row] for row in z.clamp(min=0).tolist()] for name, z in scaled.items()}


def _by_encoder(scores: Scores, value: Callable[[Row], float]) -> Comparison | None:
    by_dataset = [[value(row) for row in scores.rows if row["dataset"] == name] for name in scores.datasets]
    return compare([np.array(values, float) for values in by_dataset], unit="", things="encoders")


ITEM = MeasuredItem(
    name="figure3",
    title="Figure 3: two views of a graph, untrained encoder",
    note="The paper shows one graph; verdicts here rest on up to 500 graphs and several random encoders. How strong is "
    f"strong the paper does not say: a mean cosine above {STRONG:g} here, and the verdict depends on that limit.",
    cost="measured, no cells: about a minute on one core; --quick: seconds",
    claims=CLAIMS,
    full=Extent(("COLLAB",), 5),
    small=Extent(("IMDB-BINARY",), 3),
    judge=judge,
    draw=draw,
    measure=measure,
)
