"""Embeddings on one scale: values worked by hand, and what stays as it is."""

from math import asinh, sqrt

import numpy as np
import pytest
import torch

from nmrgcl.errors import UserError
from nmrgcl.evaluate.linear import scaled
from nmrgcl.evaluate.normalise import WORDS, ColumnScale, Normalise, normalised

Z = np.array([[3.0, 4.0], [0.0, 0.0], [-3.0, 8.0]], np.float32)
DEVIATION = sqrt(6), sqrt(32 / 3)
BY_HAND: dict[Normalise, list[list[float]]] = {
    "none": [[3, 4], [0, 0], [-3, 8]],
    "l2": [[0.6, 0.8], [0, 0], [-3 / sqrt(73), 8 / sqrt(73)]],
    "standardise": [[3 / DEVIATION[0], 0], [0, -4 / DEVIATION[1]], [-3 / DEVIATION[0], 4 / DEVIATION[1]]],
    "squash": [
        [asinh(3 / DEVIATION[0]), 0],
        [0, -asinh(4 / DEVIATION[1])],
        [-asinh(3 / DEVIATION[0]), asinh(4 / DEVIATION[1])],
    ],
}


@pytest.mark.parametrize("kind", WORDS)
def test_three_rows_by_hand(kind: Normalise) -> None:
    found = normalised(Z, kind, ColumnScale.of(Z))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, BY_HAND[kind], atol=1e-6)


@pytest.mark.parametrize("kind", WORDS)
def test_the_linear_protocol_means_the_same_by_each_word(kind: Normalise) -> None:
    rows = torch.from_numpy(Z).double()
    np.testing.assert_allclose(scaled(rows, torch.arange(3), kind), BY_HAND[kind], atol=1e-6)


def test_a_column_that_differs_by_rounding_alone_is_only_centred() -> None:
    chance = np.random.default_rng(0)
    z = chance.normal(size=(50, 3)).astype(np.float32)
    z[:, 1] = np.float32(100) * (1 + np.float32(1e-7) * chance.integers(0, 2, 50))
    z[:, 2] = 0
    found = normalised(z, "standardise", ColumnScale.of(z))
    np.testing.assert_allclose(found[:, 0].std(), 1, rtol=1e-5)
    assert np.abs(found[:, 1:]).max() < 1e-4


def test_a_scale_is_read_back_exactly_and_nothing_else_is() -> None:
    scale = ColumnScale.of(Z)
    again = ColumnScale.from_dict(scale.to_dict(), 2)
    np.testing.assert_array_equal([again.mean, again.scale], [scale.mean, scale.scale])
    for wrong in (
        {"mean": [0, 0], "scale": [1]},
        {"mean": [0, 0], "scale": [1, 0]},
        {"mean": [0, "x"], "scale": [1, 1]},
    ):
        with pytest.raises(ValueError):
            ColumnScale.from_dict(wrong, 2)


def test_other_words_and_models_without_a_scale_are_refused() -> None:
    with pytest.raises(UserError, match="normalise = 'squashed'; did you mean squash"):
        normalised(Z, "squashed", None)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="use none or l2"):
        normalised(Z, "standardise", None)
