"""A diagnosis of collapse as table rows, figures and an HTML page."""

from pathlib import Path

import numpy as np
from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.figure import Figure

from nmrgcl.diagnose import verdict as thresholds
from nmrgcl.diagnose.measure import Measurement
from nmrgcl.diagnose.spectrum import ROUNDING, noise_rank
from nmrgcl.report import page
from nmrgcl.report.figures import plot_spectra, used_spectrum
from nmrgcl.report.svg import PALETTE, STYLE, Picture, grid_lines, new_figure
from nmrgcl.run.diagnosis import Diagnosis
from nmrgcl.run.machine import versions

COLLAPSE: dict[str, tuple[str, page.Tone]] = {
    "none": ("no collapse", "good"),
    "dimensional": ("dimensional collapse", "open"),
    "complete": ("complete collapse", "bad"),
}
"""Kinds of collapse in words, and the tone in which to show them."""


def write_diagnosis(found: list[Diagnosis], out: Path) -> Path:
    """Write an HTML page about the first diagnosis, with the verdicts on all of them."""
    page.require_writable(out)
    first = found[0]
    limits = [
        ("complete", f"distance from the mean below {thresholds.SPREAD:g} of the length"),
        ("dimensional", f"effective rank below {thresholds.USED:.0%} of that of noise of the same shape"),
        ("dimensional", f"fewer than {thresholds.FILLED:.0%} of the directions that noise would fill are filled"),
        ("dimensional", f"fewer directions than possible above {ROUNDING:g} of the largest: a proper subspace"),
        ("empty", f"a direction with at most {thresholds.EMPTY:g} of the root mean square spread of all"),
    ]
    verdict = first.found.verdict
    note = (
        "The verdict is invariant to scaling and rotation; python -m tests.diagnose.calibration measures how often it "
        "is right on planted cases."
    )
    shown, meaning = pictures(first), first.found.meaning
    said = f"{verdict.sentence} {meaning}" if meaning else verdict.sentence
    tables = page.table(limits, caption="The verdict's limits"), page.table(versions().items(), caption="Made with")
    numbers = [
        page.facts(rows_of(first.found), "Measured"),
        page.card(tables[0], page.paragraph(note, "faint"), tables[1]),
    ]
    sections = [
        page.section("verdict", "Verdict", page.card(_verdict(verdict.kind), page.paragraph(said))),
        *([page.section("models", "Every model", _models(found))] if len(found) > 1 else []),
        *([page.section("figures", "Figures", page.side_by_side(map(page.figure, shown)))] if shown else []),
        page.section("numbers", "Numbers and limits", page.side_by_side(numbers)),
    ]
    of = f" of {first.dataset}" if first.dataset else ""
    by = f"; method {first.method}, seed {first.seed}" if first.method else ""
    summary = f"{first.found.rows} {first.things}{of}, {verdict.width} dimensions{by}."
    title = f"Collapse of {first.source}"
    page.write_texts({out: page.build_page(title, [page.paragraph(summary, "faint")], sections)})
    return out


def _verdict(kind: str) -> Markup:
    return page.verdict(*COLLAPSE[kind])


def _models(found: list[Diagnosis]) -> Markup:
    verdicts = {one.source: one.found.verdict for one in found}
    rows = [
        (name, _verdict(one.kind), f"{one.effective_rank:.2f}", f"{100 * one.used:.0f} %")
        for name, one in verdicts.items()
    ]
    return page.card(page.table(rows, ("model", "verdict", "effective rank", "share used")))


def rows_of(found: Measurement) -> list[tuple[str, str]]:
    """All measures with their names; if the embeddings are a single point, only those that show this."""
    numbers, verdict = found.numbers, found.verdict
    if verdict.kind == "complete":
        return [
            ("distance from the mean / length", f"{verdict.spread:.3g} (limit: {thresholds.SPREAD:g})"),
            ("dead dimensions", str(numbers["dead_dimensions"])),
            *_layers(found),
        ]
    rows = [
        ("effective rank", f"{verdict.effective_rank:.2f} (noise: {noise_rank(found.rows, verdict.width):.2f})"),
        ("stable rank", f"{numbers['stable_rank']:.2f}"),
        ("participation ratio", f"{numbers['participation_ratio']:.2f}"),
        ("numerical rank", f"{numbers['numerical_rank']} of {verdict.possible}"),
        *((f"variance in the top {k}", f"{share:.1%}") for k, share in numbers["variance_share"].items()),
        ("directions for 99 % of variance", str(numbers["directions_for_99_percent"])),
        ("nearly empty directions", str(verdict.empty)),
        ("dead dimensions", str(numbers["dead_dimensions"])),
        ("repeated dimensions", str(numbers["duplicate_dimensions"])),
        ("mean |correlation|", f"{numbers['mean_correlation']:.3f}"),
        ("distance from the mean / length", f"{verdict.spread:.3g}"),
        ("uniformity", f"{numbers['uniformity']:.3f}"),
        (f"rows beyond {thresholds.LONG:g} median distances", str(verdict.long_rows)),
    ]
    if found.views:
        views = found.views
        rows += [
            ("alignment of two views", f"{views['alignment']:.4f}"),
            ("prominent overlap of two views", f"{views['prominent_overlap']:.3f}"),
            ("prominent overlap of unlike rows", f"{views['prominent_overlap_of_others']:.3f}"),
        ]
    if found.classes:
        classes = found.classes
        rows += [
            ("sliced Wasserstein of classes", f"{classes['sliced_wasserstein']:.3f} "
             f"(labels shuffled: {classes['sliced_wasserstein_shuffled']:.3f})"),
            ("Wasserstein, mean dimension", f"{classes['wasserstein_mean']:.3f}"),
            ("Wasserstein, best dimension", f"{classes['wasserstein_largest']:.3f}"),
        ]  # fmt: skip
        if classes["centroid_margin"] is not None:
            rows.append(("nearest-centroid margin", f"{classes['centroid_margin']:.3f}"))
            rows.append(("nearest centroid right", f"{classes['nearest_centroid_right']:.1%}"))
    return rows + _layers(found)


def _layers(found: Measurement) -> list[tuple[str, str]]:
    return [
        (f"layer {number}", f"effective rank {layer.effective_rank:.2f} of {layer.possible}, {layer.kind}")
        for number, layer in enumerate(found.layers, 1)
    ]


def pictures(first: Diagnosis) -> list[Picture]:
    """Spectrum, correlations and, with labels, class separation by dimension; none if there is a single point."""
    found = first.found
    if found.verdict.kind == "complete":
        return []
    values = found.singular_values.cpu().numpy()
    used = len(used_spectrum(values))
    limit = float(thresholds.EMPTY * np.sqrt(np.mean((values / values[0]) ** 2))) if used else 0.0
    n = f"{found.rows} {first.things}, {found.verdict.width} dimensions"
    shown = [
        Picture(
            key="spectrum",
            title="Singular spectrum",
            description=f"Falling lines on a log axis. {found.verdict.sentence}",
            caption=f"Centred embeddings, {n}; {used} singular values are more than rounding."
            + (" Broken lines: each layer of the encoder alone." if found.layers else ""),
            figure=plot_spectra(_spectra(found), height=3.2, limit=limit),
        ),
        Picture(
            key="correlation",
            title="Correlation of dimensions",
            description=f"Matrix of {found.verdict.width} by {found.verdict.width} correlations; the mean of their "
            f"absolute values is {found.numbers['mean_correlation']:.2f}.",
            caption="Blue is positive, red is negative correlation; white rows are dead dimensions. Large blocks mean "
            "that dimensions are redundant.",
            figure=plot_correlation(found.correlation.cpu().numpy()),
        ),
    ]
    if found.by_dimension is not None:
        distances = found.by_dimension.cpu().numpy()
        shown.append(
            Picture(
                key="classes",
                title="Distance of classes by dimension",
                description=f"Falling line from {distances.max():.2f} to {distances.min():.2f} standard deviations.",
                caption="1-Wasserstein distance between classes in standard deviations of each dimension, mean over "
                "pairs of classes, largest first.",
                figure=plot_distances(distances),
            )
        )
    return shown


def _spectra(found: Measurement) -> dict[str, np.ndarray]:
    """The spectra of the encoder's layers, followed by that of the embeddings."""
    layers = {f"layer {number}": layer for number, layer in enumerate(found.layer_spectra, 1)}
    return {name: values.cpu().numpy() for name, values in (layers | {"embeddings": found.singular_values}).items()}


@rc_context(STYLE)
def plot_correlation(correlations: np.ndarray) -> Figure:
    """The correlation matrix as colours from −1 to 1."""
    figure, (axes,) = new_figure(height=3.2)
    image = axes.imshow(correlations, cmap="RdBu", vmin=-1, vmax=1, interpolation="nearest")
    figure.colorbar(image, ax=axes, label="correlation")
    axes.set_xlabel("dimension")
    axes.set_ylabel("dimension")
    return figure


@rc_context(STYLE)
def plot_distances(distances: np.ndarray) -> Figure:
    """Distances between classes by dimension, largest first."""
    figure, (axes,) = new_figure(height=3.2)
    marker = "o" if len(distances) <= 40 else ""
    axes.plot(np.arange(1, len(distances) + 1), np.sort(distances)[::-1], marker=marker, color=PALETTE[0], lw=2)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("dimension, largest first")
    axes.set_ylabel("Wasserstein distance / std")
    grid_lines(axes)
    return figure
