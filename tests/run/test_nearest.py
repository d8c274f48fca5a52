"""The k best candidates, found in blocks, against a slow definition."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmrgcl.data.molecules.fingerprints import tanimoto
from nmrgcl.run import nearest
from nmrgcl.run.nearest import Nearest
from nmrgcl.run.neighbours import _cosine


def slow(scores: np.ndarray, k: int) -> list[list[int]]:
    """Sort all candidates of a query, with ties in order of appearance."""
    return [sorted(range(len(row)), key=lambda i: (-row[i], i))[:k] for row in scores.tolist()]


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a @ b.T


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    queries=st.integers(1, 7),
    candidates=st.integers(1, 40),
    k=st.integers(1, 6),
    block=st.integers(1, 15),
)
def test_any_blocks_give_what_sorting_gives(seed: int, queries: int, candidates: int, k: int, block: int) -> None:
    """Small integers, so that there are many ties."""
    rng = np.random.default_rng(seed)
    a = rng.integers(-2, 3, (queries, 2)).astype(np.float32)
    b = rng.integers(-2, 3, (candidates, 2)).astype(np.float32)
    k, rows = min(k, candidates), 3 * np.arange(candidates) + 1
    best = Nearest(a, k, product)
    for first in range(0, candidates, block):
        best.add(b[first : first + block], rows[first : first + block])
    expected = slow(a @ b.T, k)
    assert best.row.tolist() == [[3 * i + 1 for i in row] for row in expected]
    assert best.value.tolist() == [(a @ b.T)[q, row].tolist() for q, row in enumerate(expected)]


def test_queries_in_blocks_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "QUERIES", 3)
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(10, 4)), rng.normal(size=(50, 4))
    best = Nearest(a, 5, product)
    best.add(b, np.arange(50))
    assert best.row.tolist() == slow((a @ b.T).astype(np.float32), 5)


def test_fewer_candidates_than_asked_for_leave_places_empty() -> None:
    best = Nearest(np.ones((1, 1)), 3, product)
    best.add(np.array([[2.0]]), np.array([7]))
    assert best.row.tolist() == [[7, -1, -1]]
    assert best.value.tolist() == [[2.0, -np.inf, -np.inf]]


@pytest.mark.parametrize("measure", [_cosine, tanimoto])
def test_copies_of_a_row_have_one_score_wherever_they_stand(
    measure: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 2, (5, 300)), rng.integers(0, 2, (101, 300))
    b[[50, 100]] = b[7]
    scores = measure(a.astype(np.float32), b.astype(np.float32))
    assert (scores[:, 50] == scores[:, 7]).all()
    assert (scores[:, 100] == scores[:, 7]).all()


def test_measures_by_hand() -> None:
    """Cosines of 45 degrees and of a zero vector; one common bit of three, two of two, and none."""
    z = np.array([[1, 0], [2, 2], [0, 0], [-3, 0]], np.float32)
    np.testing.assert_allclose(_cosine(z[:1], z), [[1, 0.707107, 0, -1]], atol=1e-7)
    bits = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]], np.uint8)
    np.testing.assert_allclose(tanimoto(bits[:1], bits), [[1, 1 / 3, 0, 0]], rtol=1e-6)
    assert tanimoto(bits[3:], bits[3:]).tolist() == [[0]]
