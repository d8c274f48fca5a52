"""Figure 1: complete, dimensional and no collapse.

    nmrgcl reproduce figure1           # 3 datasets, 5 seeds, 4 objectives: 60 short trainings
    nmrgcl reproduce figure1 --quick   # PTC_MR, 2 seeds: 8 trainings, a minute

The untrained encoder is shown for comparison.

The paper sketches the three patterns and says that graph contrastive learning suffers from dimensional collapse, which
its removal counteracts. Here each pattern is shown twice: planted, and as the result of training one encoder on the
same graphs with three objectives.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.data.loading import load
from nmrgcl.diagnose.collapse import singular_spectrum
from nmrgcl.diagnose.verdict import judge_collapse
from nmrgcl.graphs import Graphs
from nmrgcl.report.svg import Picture
from nmrgcl.reproduce.figure1_drawing import LATE, plot_patterns
from nmrgcl.reproduce.item import MeasuredItem
from nmrgcl.reproduce.patterns import EPOCHS, OBJECTIVES, STAGES, UNITS, train_pattern
from nmrgcl.reproduce.plan import Extent, Plan
from nmrgcl.reproduce.planted import point_with_noise, subspace_of_the_sphere, whole_sphere
from nmrgcl.reproduce.scores import Row, Scores
from nmrgcl.reproduce.statistics import compare
from nmrgcl.reproduce.verdict import Verdict, beside_untrained, greater, mostly

POINTS = 300
PATTERNS = {
    "complete": point_with_noise,
    "dimensional": subspace_of_the_sphere,
    "none": whole_sphere,
}
"""Kinds of collapse, each with a function that generates an example."""
UNTRAINED = "untrained"
CLAIMS = (
    "graph contrastive learning suffers from dimensional collapse",
    "removal makes embeddings use more dimensions",
)


def measure(plan: Plan, device: torch.device) -> Iterator[Row]:
    """One row per planted case, then one per dataset, objective and seed; rows of seed 0 include the points to draw."""
    chance = np.random.default_rng(0)
    for kind, make in PATTERNS.items():
        z = torch.from_numpy(make(chance, 2 * POINTS, UNITS))
        yield {"source": "planted", "name": kind, **_facts(z), **_shown(z)}
    for dataset in plan.datasets:
        graphs = _graphs(dataset).to(device)
        for name in (*OBJECTIVES, UNTRAINED):
            for seed in range(plan.seeds):
                # Without stages nothing is trained, so any objective will do.
                objective, stages = ("contrastive", ()) if name == UNTRAINED else (name, STAGES)
                z, r = train_pattern(graphs, objective, seed, plan.assignments, stages=stages)
                embedding = judge_collapse(r)
                row = {"source": "trained", "name": name, "dataset": dataset, "seed": seed, "device": device.type}
                row |= {"embedding_kind": embedding.kind, "embedding_rank": round(embedding.effective_rank, 4)}
                yield row | _facts(z) | (_shown(z) if seed == 0 else {})


def judge(scores: Scores) -> list[Verdict]:
    """Verdicts about the embeddings before the projection head, because downstream tasks use these."""
    ranks = [_ranks(scores, "nmrGCL", data) - _ranks(scores, "contrastive", data) for data in scores.datasets]
    means = np.array([gains[np.isfinite(gains)].mean() for gains in ranks if np.isfinite(gains).any()])
    # The claim is about graph datasets in general, so each dataset is one observation, however many seeds it has.
    wider = compare(means[None], unit="dimensions of effective rank", things="datasets")
    return [
        beside_untrained(_collapsed(scores, "contrastive"), _collapsed(scores, UNTRAINED)),
        greater(CLAIMS[1], wider, "nmrGCL minus contrastive"),
    ]


def _collapsed(scores: Scores, name: str) -> Verdict:
    runs = [row for row in scores.rows if row["name"] == name]
    collapsed = sum(row["embedding_kind"] == "dimensional" for row in runs)
    return mostly(CLAIMS[0], collapsed, len(runs), f"{name} runs whose embeddings are called dimensionally collapsed")


def draw(scores: Scores) -> list[Picture]:
    """Planted cases above, trained encoders in the middle, spectra below."""
    planted = [row for row in scores.rows if row["source"] == "planted"]
    drawn = [row for row in scores.rows if row["source"] == "trained" and row.get("points")]
    if not drawn:
        return []
    dataset = drawn[0]["dataset"]
    trained = {row["name"]: row for row in drawn if row["dataset"] == dataset}
    found = "; ".join(f"{name}: {row['kind']}, effective rank {row['rank']:.1f}" for name, row in trained.items())
    return [
        Picture(
            key="patterns",
            title="Three patterns of collapse",
            description=f"Scatter plots and spectra. {found}.",
            caption=f"Projections on the unit sphere, {UNITS} dimensions: the first principal axis against the "
            f"{LATE}th. Above: planted; middle: one encoder on {dataset} under three objectives, seed 0; "
            "below: spectra.",
            figure=plot_patterns(scores, planted, trained, dataset),
        )
    ]


def _graphs(dataset: str) -> Graphs:
    loaded = load(dataset)
    return apply_features(loaded, choose_features(loaded))


def _facts(z: Tensor) -> Row:
    found = judge_collapse(z)
    return {"kind": found.kind, "rank": round(found.effective_rank, 4), "spread": round(found.spread, 5), "n": len(z)}


def _shown(z: Tensor) -> Row:
    """Coordinates on the first and on a late principal axis, and the spectrum relative to the length of embeddings."""
    z = normalize(z.double(), dim=1)
    centred = z - z.mean(0)
    axes = torch.linalg.svd(centred, full_matrices=False).Vh
    points = (centred @ axes[[0, LATE - 1]].T)[:: -(-len(z) // POINTS)]
    spectrum = singular_spectrum(z) / len(z) ** 0.5
    return {
        "points": [[round(v, 4) for v in point] for point in points.tolist()],
        "spectrum": [float(f"{v:.4g}") for v in spectrum.tolist()],
    }


def _ranks(scores: Scores, name: str, dataset: str) -> np.ndarray:
    """Effective ranks ``[seeds]`` of embeddings."""
    ranks = np.full(scores.seeds, np.nan)
    for row in scores.rows:
        if row["name"] == name and row.get("dataset") == dataset and row["seed"] < scores.seeds:
            ranks[row["seed"]] = row["embedding_rank"]
    return ranks


ITEM = MeasuredItem(
    name="figure1",
    title="Figure 1: three patterns of collapse",
    note=f"Preset graphcl with {UNITS} units in the head; {EPOCHS} epochs at each of three falling learning rates. "
    "Verdicts are about the embeddings, the pictures about the projections, on which the objectives act.",
    cost="measured, no cells: 60 short trainings; --quick: 8, a minute on one core",
    claims=CLAIMS,
    full=Extent(("PTC_MR", "PROTEINS", "IMDB-BINARY"), 5),
    small=Extent(("PTC_MR",), 2),
    judge=judge,
    draw=draw,
    measure=measure,
)
