"""Apply all measures to an embedding and collect the results in one record."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from nmrgcl.diagnose.alignment import alignment, prominent_overlap, uniformity
from nmrgcl.diagnose.collapse import relative_spread, singular_spectrum
from nmrgcl.diagnose.dimensions import correlation, dead_dimensions, duplicate_dimensions, mean_correlation
from nmrgcl.diagnose.separability import centroid_margins, sliced_wasserstein, wasserstein_by_dimension
from nmrgcl.diagnose.spectrum import (
    directions_for,
    numerical_rank,
    participation_ratio,
    stable_rank,
    variance_share,
)
from nmrgcl.diagnose.units import to_unit_range
from nmrgcl.diagnose.verdict import CollapseVerdict, judge_collapse, judge_spectrum

TOP = (1, 2, 5, 10)
"""The numbers of leading directions whose share of the variance is reported."""
APART = 2.0
"""Classes count as separated if their distance is this many times that of shuffled labels."""
PAIRED_ROWS = 4096
"""Measures over pairs of rows use an evenly spaced sample of at most this many rows."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """The results of all measures.

    Attributes:
        rows: the number of embeddings.
        verdict: the verdict on collapse, with the effective rank.
        singular_values: ``[K]`` singular values of the centred embeddings.
        correlation: ``[D, D]`` correlations between dimensions.
        numbers: ranks, shares of variance, dead and duplicate dimensions, uniformity.
        classes: how well classes are separated; None without labels of at least two classes.
        by_dimension: ``[D]`` the separation of classes in each dimension.
        views: alignment and prominent overlap of two views; None if there are no views.
        layers: the verdict on each layer of the encoder, first layer first.
        layer_spectra: the singular values of each layer.
    """

    rows: int
    verdict: CollapseVerdict
    singular_values: Tensor
    correlation: Tensor
    numbers: dict[str, Any]
    classes: dict[str, Any] | None
    by_dimension: Tensor | None
    views: dict[str, float] | None
    layers: list[CollapseVerdict]
    layer_spectra: list[Tensor]

    @property
    def meaning(self) -> str | None:
        """What dimensional collapse means if classes are separated nevertheless; None otherwise."""
        found = self.classes
        if self.verdict.kind != "dimensional" or found is None:
            return None
        if not found["sliced_wasserstein"] > APART * found["sliced_wasserstein_shuffled"]:
            return None
        return (
            "Classes are separated nevertheless: the directions in use hold what a classifier needs, so good accuracy "
            "is no contradiction. This collapse is unused width; compare it with that of the untrained encoder."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values without the correlations, which ``arrays`` returns."""
        verdict = self.verdict
        return {
            "rows": self.rows,
            "dimensions": verdict.width,
            "verdict": verdict.kind,
            "sentence": verdict.sentence,
            "meaning": self.meaning,
            "relative_spread": verdict.spread,
            "effective_rank": verdict.effective_rank,
            "used": verdict.used,
            "filled": verdict.filled,
            "empty_directions": verdict.empty,
            "long_rows": verdict.long_rows,
            "clipped": None if verdict.clipped is None else verdict.clipped.to_dict(),
            **self.numbers,
            "classes": self.classes,
            "views": self.views,
            "layers": [
                {"layer": number, "verdict": layer.kind, "dimensions": layer.width, "used": layer.used}
                | {"effective_rank": layer.effective_rank, "singular_values": values.tolist()}
                for number, (layer, values) in enumerate(zip(self.layers, self.layer_spectra, strict=True), 1)
            ],
            "singular_values": self.singular_values.tolist(),
        }

    def arrays(self) -> dict[str, Any]:
        """Results that are too long to print, as named NumPy arrays."""
        found = {"singular_values": self.singular_values, "correlation": self.correlation}
        if self.by_dimension is not None:
            found["wasserstein"] = self.by_dimension
        found |= {f"layer_{number}": values for number, values in enumerate(self.layer_spectra, 1)}
        return {name: values.cpu().numpy() for name, values in found.items()}


def measure(
    z: Tensor,
    *,
    y: Tensor | None = None,
    views: tuple[Tensor, Tensor] | None = None,
    layers: Sequence[Tensor] = (),
    delta: float = 0.7,
) -> Measurement:
    """Measure embeddings ``z`` ``[B, D]`` with B ≥ 2.

    Args:
        z: the embeddings; all entries must be finite.
        y: ``[B]`` class codes, negative for missing labels.
        views: embeddings ``[·, D]`` of two views; row i of both belongs to the same graph or node.
        layers: the output ``[B, ·]`` of each layer of the encoder.
        delta: the threshold above which a dimension is prominent (Eq. 13).

    Example:
        >>> import torch
        >>> from nmrgcl import measure
        >>> one_axis = torch.arange(20.0).unsqueeze(1) * torch.ones(1, 8)  # every dimension repeats the first
        >>> measure(one_axis).verdict.kind
        'dimensional'
    """
    z, unit = to_unit_range(z.detach())
    values, correlations = singular_spectrum(z), correlation(z.double())
    spectra = [singular_spectrum(layer) for layer in layers]
    classes, by_dimension = _classes(z, y)
    verdict, in_units = judge_collapse(z, values).without_noise(), values * unit
    if verdict.kind == "complete":
        values = torch.zeros_like(values)  # The noise around a single point would have healthy-looking ranks.
    return Measurement(
        rows=len(z),
        verdict=verdict,
        singular_values=in_units,
        correlation=correlations,
        numbers={
            "stable_rank": stable_rank(values),
            "participation_ratio": participation_ratio(values),
            "numerical_rank": numerical_rank(values),
            "variance_share": {str(k): variance_share(values, k) for k in TOP if k <= len(values)},
            "directions_for_99_percent": directions_for(values, 0.99),
            "dead_dimensions": dead_dimensions(z),
            "duplicate_dimensions": duplicate_dimensions(correlations),
            "mean_correlation": mean_correlation(correlations),
            "uniformity": uniformity(_sample(z)),
        },
        classes=classes,
        by_dimension=by_dimension,
        views=None if views is None else _views(*views, delta),
        layers=[
            judge_spectrum(spectrum, relative_spread(layer), rows=len(layer), width=layer.shape[1]).without_noise()
            for spectrum, layer in zip(spectra, layers, strict=True)
        ],
        layer_spectra=spectra,
    )


def _views(first: Tensor, second: Tensor, delta: float) -> dict[str, float]:
    """Alignment and overlap of two views, and for comparison the overlap of a row with the next one.

    If the latter is as large, the same dimensions are prominent in all rows.
    """
    first, second = (to_unit_range(view)[0] for view in (first, second))
    return {
        "alignment": alignment(first, second),
        "prominent_overlap": prominent_overlap(first, second, delta),
        "prominent_overlap_of_others": prominent_overlap(first, second.roll(1, 0), delta),
        "delta": delta,
    }


def _classes(z: Tensor, y: Tensor | None) -> tuple[dict[str, Any] | None, Tensor | None]:
    known = None if y is None else y >= 0
    if y is None or known is None or len(y[known].unique()) < 2:
        return None, None
    z, y = z[known], y[known]
    by_dimension, margins = wasserstein_by_dimension(z, y), centroid_margins(z, y)
    margins = margins[~margins.isnan()]
    # If rows are few, even random classes have a distance, so it is reported beside that of the real ones.
    shuffled = y[torch.randperm(len(y), generator=torch.Generator().manual_seed(0)).to(y.device)]
    return {
        "classes": len(y.unique()),
        "rows": len(y),
        "wasserstein_mean": float(by_dimension.mean()),
        "wasserstein_largest": float(by_dimension.max()),
        "sliced_wasserstein": sliced_wasserstein(z, y),
        "sliced_wasserstein_shuffled": sliced_wasserstein(z, shuffled),
        "centroid_margin": float(margins.mean()) if len(margins) else None,
        "nearest_centroid_right": float((margins > 0).double().mean()) if len(margins) else None,
    }, by_dimension


def _sample(z: Tensor) -> Tensor:
    return z[:: max(1, -(-len(z) // PAIRED_ROWS))]
