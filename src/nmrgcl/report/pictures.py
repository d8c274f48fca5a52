"""The figures of a run with their words."""

import numpy as np

from nmrgcl.report.collect import Facts
from nmrgcl.report.drawing import MOST_NODES, choose_examples, draw_row, nearest
from nmrgcl.report.figures import plot_curves, plot_projection, plot_spectra, plot_spread, used_spectrum
from nmrgcl.report.svg import Picture
from nmrgcl.run.embeddings import RANK_GRAPHS

MOST_POINTS = 2000
EXAMPLES = 4
NEIGHBOURS = 3


def plots(facts: Facts) -> list[Picture]:
    """All that can be drawn of this run: an untrained one has no curves, one without labels no accuracies."""
    wanted = (_spread(facts), *_curves(facts), _spectrum(facts), _projection(facts))
    return [picture for picture in wanted if picture is not None]


def examples(facts: Facts) -> list[Picture]:
    """A few graphs, each beside those embedded nearest to it; nodes are not drawn."""
    if facts.things == "nodes":
        return []
    return [_example(facts, row, n) for n, row in enumerate(choose_examples(facts.y, len(facts.after), EXAMPLES))]


def _spread(facts: Facts) -> Picture | None:
    found = facts.evaluation
    if found is None:
        return None
    n, folds = found.trained.folds.shape
    rows = [(facts.models[0].settings.label, found.trained.folds)]
    if found.untrained is not None and found.untrained.folds.shape == (n, folds):  # a stored one has means only
        rows.append(("untrained", found.untrained.folds))
    part, many = ("fold", f"{n} × {folds}") if found.protocol != "linear" else ("seed", str(n))
    middle = " and ".join(f"{np.median(values):.1f} % for {name}" for name, values in rows)
    return Picture(
        key="folds",
        title=f"Accuracy by {part}",
        description=f"Box plots with one point per {part}. Median {middle}.",
        caption=f"{many} {part}s; the box holds the middle half, the thick line is the median.",
        figure=plot_spread(rows),
    )


def _curves(facts: Facts) -> list[Picture]:
    pictures = []
    for key, title, curves in (("loss", "Loss", facts.losses), ("rank", "Effective rank", facts.ranks)):
        drawn = [curve for curve in curves if curve]
        if not drawn:
            continue
        start, end = (np.mean([list(curve.values())[place] for curve in drawn]) for place in (0, -1))
        pictures.append(
            Picture(
                key=key,
                title=f"{title} over epochs",
                description=f"Lines for {len(drawn)} models; on average {start:.2f} at first, {end:.2f} at last.",
                caption=CAPTIONS[key].format(things=facts.things),
                figure=plot_curves(drawn, title.lower()),
            )
        )
    return pictures


CAPTIONS = {
    "loss": "The objective as it was trained, averaged over each epoch.",
    "rank": "How many dimensions the embeddings use: the exponential of the entropy of their singular values, "
    f"after an epoch, over {RANK_GRAPHS} {{things}} at most.",
}


def _spectrum(facts: Facts) -> Picture:
    before, after = facts.spectra
    counts = f"{len(used_spectrum(before))} before and {len(used_spectrum(after))} after training"
    ranks = f"effective rank {facts.rank_ends[0]:.1f} before and {facts.rank_ends[1]:.1f} after training"
    return Picture(
        key="spectrum",
        title=f"Singular spectrum, seed {facts.seeds[0]}",
        description=f"Two falling lines on a log axis. Dimensions used: {counts}. The {ranks}.",
        caption=f"Centred embeddings of all {facts.things}; a line that falls later uses more dimensions: {ranks}.",
        figure=plot_spectra({"before training": before, "after training": after}),
    )


def _projection(facts: Facts) -> Picture:
    z, y = facts.after, facts.y
    step = -(-len(z) // MOST_POINTS)
    shown = f"All {facts.things}" if step == 1 else f"Every {step}th of the {facts.things}"
    by = f"coloured by {len(facts.class_names)} classes" if y is not None else "without labels, in one colour"
    return Picture(
        key="projection",
        title=f"Embeddings, seed {facts.seeds[0]}",
        description=f"Scatter plot of {len(z[::step])} {facts.things} on two principal axes, {by}.",
        caption=f"{shown}, projected by PCA; labels colour the picture and took no part in training.",
        figure=plot_projection(z[::step], None if y is None else y[::step], facts.class_names),
    )


def _example(facts: Facts, row: int, number: int) -> Picture:
    rows, distances = nearest(facts.after, row, NEIGHBOURS)
    all_rows = [row, *rows.tolist()]
    names = [_name(facts, each) for each in all_rows]
    notes = ["", *(f"distance {distance:.3g}" for distance in distances)]
    listed = "; ".join(f"{name}, {note}" for name, note in zip(names[1:], notes[1:], strict=True))
    sizes = facts.dataset.graphs.node_ptr.diff()[all_rows]
    part = f" Of larger graphs {MOST_NODES} nodes are shown." if int(sizes.max()) > MOST_NODES else ""
    return Picture(
        key=f"example-{number}",
        title=f"{names[0]} and its neighbours",
        description=f"Drawings of {names[0]} and of the graphs embedded nearest to it: {listed}.",
        caption=f"Left: {names[0]}. Then the nearest by Euclidean distance: {listed}.{part}",
        figure=draw_row(facts.dataset, all_rows, [f"#{each + 1}" for each in all_rows]),
    )


def _name(facts: Facts, row: int) -> str:
    """Counted from one, as the files of a dataset do."""
    label = "" if facts.y is None else f" ({facts.class_names[int(facts.y[row])]})"
    return f"graph {row + 1}{label}"
