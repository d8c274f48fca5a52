"""The figures of a run with their titles, descriptions and captions."""

import numpy as np

from nmrgcl.report.collect import Facts
from nmrgcl.report.drawing import MOST_NODES, choose_examples, draw_rows, nearest
from nmrgcl.report.figures import plot_curves, plot_projection, plot_spectra, plot_spread, shorten, used_spectrum
from nmrgcl.report.findings import largest_class
from nmrgcl.report.svg import Picture
from nmrgcl.run.embeddings import RANK_GRAPHS

MOST_POINTS = 2000
EXAMPLES = 4
NEIGHBOURS = 3
SHOWN = 14
"""Maximum length of an id above a drawing."""


def plots(facts: Facts) -> list[Picture]:
    """All plots of this run; an untrained one has no curves, and one without labels has no accuracies."""
    wanted = (_spread(facts), *_curves(facts), _spectrum(facts))
    return [picture for picture in wanted if picture is not None]


def maps(facts: Facts) -> list[Picture]:
    """Maps of the embeddings before and after training, in which every marker has a name."""
    return [_map(facts, name, z) for name, z in facts.embeddings.items()]


def examples(facts: Facts) -> list[Picture]:
    """Drawings of a few graphs, each next to those embedded nearest to it; there are none for nodes."""
    if facts.things == "nodes":
        return []
    return [_example(facts, row, n) for n, row in enumerate(example_rows(facts))]


def example_rows(facts: Facts) -> list[int]:
    """A few rows, spread over the classes."""
    return choose_examples(facts.y, len(facts.after), EXAMPLES)


def _spread(facts: Facts) -> Picture | None:
    found = facts.evaluation
    if found is None or facts.dataset.y is None:
        return None
    n, folds = found.trained.folds.shape
    rows = [] if found.untrained is None else [("untrained", found.untrained.folds)]
    rows.append((facts.models[0].settings.label, found.trained.folds))
    largest = largest_class(facts.dataset.y)
    part, many = ("fold", f"{n} × {folds}") if found.protocol != "linear" else ("seed", str(n))
    middle = " and ".join(f"{np.median(values):.1f} % for {name}" for name, values in rows)
    return Picture(
        key="folds",
        title=f"Accuracy by {part}",
        description=f"Box plots with one point per {part}. Median {middle}; the largest class {largest:.1f} %.",
        caption=f"{many} {part}s; the box holds the middle half, the thick line is the median.",
        figure=plot_spread(rows, largest=largest),
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
    "loss": "The training objective averaged over each epoch; the first epoch starts from the untrained encoder.",
    "rank": "How many dimensions the embeddings use: the exponential of the entropy of their singular values, "
    f"after an epoch, over {RANK_GRAPHS} {{things}} at most. Epoch 0 is the untrained encoder.",
}


def _spectrum(facts: Facts) -> Picture:
    before, after = facts.spectra
    label, ranks = facts.models[0].settings.label, facts.rank_ends
    counts = f"{len(used_spectrum(before))} untrained, {len(used_spectrum(after))} trained"
    ranked = f"effective rank {ranks[0]:.1f} untrained, {ranks[1]:.1f} trained"
    return Picture(
        key="spectrum",
        title=f"Singular spectrum, seed {facts.seeds[0]}",
        description=f"Two falling lines on a log axis. Dimensions used: {counts}; {ranked}.",
        caption=f"Centred embeddings of all {facts.things}; a line that falls later uses more dimensions: {ranked}.",
        figure=plot_spectra({"untrained": before, label: after}),
    )


def _map(facts: Facts, name: str, z: np.ndarray) -> Picture:
    y, step = facts.y, -(-len(z) // MOST_POINTS)
    rows = np.arange(0, len(z), step)
    groups = [rows] if y is None else [rows[y[rows] == code] for code in range(len(facts.class_names))]
    shown = f"All {facts.things}" if step == 1 else f"Every {step}th of the {facts.things}"
    by = f"coloured by {len(facts.class_names)} classes" if y is not None else "without labels, in one colour"
    return Picture(
        key="untrained-map" if name == "untrained" else "map",
        title=f"{'Untrained' if name == 'untrained' else name}, seed {facts.seeds[0]}",
        description=f"Scatter plot of {len(rows)} {facts.things} on two principal axes, {by}.",
        caption=f"{shown}, projected by PCA{'' if y is None else '; labels took no part in training'}.",
        figure=plot_projection(z[rows], None if y is None else y[rows], facts.class_names),
        points={f"points-{n}": [(row, _name(facts, row)) for row in group.tolist()] for n, group in enumerate(groups)},
    )


def _example(facts: Facts, row: int, number: int) -> Picture:
    lines, words, drawn = [], [], [row]
    for name, z in facts.embeddings.items():
        rows, distances = nearest(z, row, NEIGHBOURS)
        pairs = list(zip(rows.tolist(), distances, strict=True))
        lines.append([(row, f"{name}:"), *((each, _title(facts, each)) for each, _ in pairs)])
        listed = "; ".join(f"{_name(facts, each)}, distance {distance:.3g}" for each, distance in pairs)
        words.append(f"{name}: {listed}")
        drawn += rows.tolist()
    sizes = facts.dataset.graphs.node_ptr.diff()[drawn]
    part = f" Of larger graphs {MOST_NODES} nodes are shown." if int(sizes.max()) > MOST_NODES else ""
    return Picture(
        key=f"example-{number}",
        title=f"{_name(facts, row)} and its neighbours",
        description=f"Drawings of {_name(facts, row)} and of the graphs embedded nearest to it. {'. '.join(words)}.",
        caption=f"Nearest by Euclidean distance. {'. '.join(words)}.{part}",
        figure=draw_rows(facts.dataset, lines),
    )


def _name(facts: Facts, row: int) -> str:
    label = facts.class_of(row)
    return f"{facts.models[0].settings.level} {facts.id_of(row)}{f' ({label})' if label else ''}"


def _title(facts: Facts, row: int) -> str:
    """A short title above a drawing."""
    return f"#{facts.id_of(row)}" if facts.ids is None else shorten(facts.id_of(row), SHOWN)
