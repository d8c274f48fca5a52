from typing import Any

import numpy as np
import pytest
import torch

from nmrgcl.diagnose.collapse import effective_rank
from nmrgcl.diagnose.measure import measure


def test_a_record_of_everything_that_is_known() -> None:
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(60, 6, generator=generator)
    z[:, 5] = z[:, 0]
    y = torch.arange(60) % 2
    z[:, 1] += 4 * y
    found = measure(z, y=y, views=(z, z), layers=[z[:, :3], z])
    facts = found.to_dict()
    assert (facts["rows"], facts["dimensions"], facts["verdict"]) == (60, 6, "dimensional")  # One is a duplicate.
    assert (facts["numerical_rank"], facts["duplicate_dimensions"], facts["dead_dimensions"]) == (5, 1, 0)
    assert facts["effective_rank"] == pytest.approx(effective_rank(z))
    assert facts["variance_share"].keys() == {"1", "2", "5"}
    assert facts["views"]["alignment"] == 0
    assert facts["views"]["prominent_overlap"] == 1 > facts["views"]["prominent_overlap_of_others"]
    assert [layer["dimensions"] for layer in facts["layers"]] == [3, 6]
    assert facts["classes"]["sliced_wasserstein"] > 2 * facts["classes"]["sliced_wasserstein_shuffled"]
    assert found.by_dimension is not None
    assert int(found.by_dimension.argmax()) == 1
    assert facts["classes"]["nearest_centroid_right"] > 0.9
    arrays = found.arrays()
    assert set(arrays) == {"singular_values", "correlation", "wasserstein", "layer_1", "layer_2"}
    np.testing.assert_allclose(arrays["singular_values"], facts["singular_values"])


def test_rows_without_a_class_are_left_out_and_one_class_is_none() -> None:
    z = torch.randn(8, 3, generator=torch.Generator().manual_seed(0))
    some = measure(z, y=torch.tensor([0, 0, 1, 1, 0, 1, -1, -1]))
    assert some.classes is not None
    assert some.classes["rows"] == 6
    assert measure(z, y=torch.zeros(8, dtype=torch.long)).classes is None
    assert measure(z).classes is None


def test_equal_rows_are_measured_without_a_fault() -> None:
    facts = measure(torch.ones(5, 4), y=torch.tensor([0, 0, 1, 1, 1]), views=(torch.ones(5, 4),) * 2).to_dict()
    assert (facts["verdict"], facts["effective_rank"], facts["dead_dimensions"]) == ("complete", 0, 4)
    assert facts["classes"]["sliced_wasserstein"] == 0


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
def test_numbers_are_those_of_rows_of_ordinary_size_whatever_their_units(scale: float) -> None:
    z = torch.randn(60, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = torch.arange(60) % 2
    one, other = (measure(k * z, y=y, views=(k * z, k * z.flip(1)), layers=[k * z]).to_dict() for k in (1.0, scale))
    values = [facts.pop("singular_values") for facts in (one, other)]
    layers = [facts.pop("layers")[0] for facts in (one, other)]
    spectra = [layer.pop("singular_values") for layer in layers]
    assert other == approx(one)
    assert layers[1] == approx(layers[0])
    assert values[1] == pytest.approx([scale * value for value in values[0]])
    assert spectra[1] == pytest.approx([scale * value for value in spectra[0]])


def approx(facts: dict[str, Any]) -> dict[str, Any]:
    """``pytest.approx`` for nested records."""
    kept = (str, type(None))
    return {
        key: approx(value) if isinstance(value, dict) else value if isinstance(value, kept) else pytest.approx(value)
        for key, value in facts.items()
    }
