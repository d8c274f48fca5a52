import math

import pytest
import torch

from nmrgcl.reproduce.theory.claim import Claim
from nmrgcl.reproduce.theory.cycle import drop_nodes, node_weights, node_weights_renormalised, view_similarity
from nmrgcl.reproduce.theory.pooling import (
    MeasuredSimilarity,
    check_common_nodes,
    check_five_nodes,
    check_similarity,
    common_nodes,
    measure_similarity,
    similarity_bound,
)


def slow_weights(keep: list[bool], *, renormalised: bool) -> torch.Tensor:
    """``1ᵀÃ / |kept|`` with the matrix written out."""
    n = len(keep)
    a = torch.zeros(n, n, dtype=torch.float64)
    for i in range(n):
        j = (i + 1) % n
        if keep[i] and keep[j]:
            a[i, j] = a[j, i] = 1
    own = torch.diag(torch.tensor(keep).double())
    degree = (a + own).sum(1) if renormalised else a.sum(1)
    root = torch.diag(degree.clamp(min=1) ** -0.5)
    return (root @ (a + own) @ root).sum(0) / sum(keep)


@pytest.mark.parametrize("renormalised", [False, True])
def test_weights_are_those_of_the_matrix_written_out(renormalised: bool) -> None:
    keep = drop_nodes(30, 7, 0.5, torch.Generator().manual_seed(0))
    found = (node_weights_renormalised if renormalised else node_weights)(keep)
    for row, weights in zip(keep.tolist(), found, strict=True):
        torch.testing.assert_close(weights, slow_weights(row, renormalised=renormalised), rtol=1e-12, atol=0)


def test_the_five_node_example_is_the_papers() -> None:
    keep = torch.tensor([[True, True, True, False, True], [True, True, True, True, False]])
    expected = (2 + math.sqrt(2)) / 8 * keep.double()
    torch.testing.assert_close(node_weights(keep), expected, rtol=0, atol=1e-15)
    assert all(claim.holds for claim in check_five_nodes())


def test_dropping_keeps_a_node() -> None:
    keep = drop_nodes(500, 3, 0.95, torch.Generator().manual_seed(0))
    assert bool(keep.any(1).all())


def test_lemma_1_holds_and_tiny_graphs_follow_their_own_rule() -> None:
    assert [claim.holds for claim in check_common_nodes(5000)] == [True, False, True, False]
    common, unique = common_nodes(5, 0.0, 10)
    assert (common.tolist(), unique.tolist()) == ([5.0] * 10, [0.0] * 10)


def test_the_bound_by_hand() -> None:
    assert similarity_bound(0.5) == pytest.approx(3 / 4)  # n = 1
    assert similarity_bound(0.2) == pytest.approx(6 / 9)  # n = 4
    assert similarity_bound(0.8) == pytest.approx(1)  # n = 1/4: nothing is above


def test_views_without_drops_are_the_same() -> None:
    found = view_similarity(10, 0.0, 6, 0.5, trials=8, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(found, torch.ones_like(found))


def test_theorem_1_holds_for_small_drops_and_never_from_four_fifths_on() -> None:
    cells = measure_similarity(nodes=[30, 100], features=[16], shares=[0.1, 0.5], drops=[0.1, 0.8], trials=60)
    assert {(c.p, c.verdict) for c in cells} == {(0.1, "holds"), (0.8, "fails")}
    whole, low, high, _ = check_similarity(cells)
    assert (whole.holds, whole.measured, low.holds, high.holds) == (False, 0.5, True, False)
    assert "everywhere for p in {0.1}, nowhere for p in {0.8}" in whole.where


def test_a_mean_near_the_bound_is_left_open() -> None:
    assert [MeasuredSimilarity(9, 1, 0.5, 0.5, 0.75, mean, 0.01).verdict for mean in (0.7, 0.77, 0.79)] == [
        "fails",
        "open",
        "holds",
    ]


def test_a_drop_rate_is_open_where_no_setting_fails_and_one_is_too_close_to_tell() -> None:
    bound = similarity_bound(0.3)
    above, close, below = (MeasuredSimilarity(9, 1, 0.5, 0.3, bound, bound + gap, 0.01) for gap in (0.1, 0.02, -0.1))

    def claim(*cells: MeasuredSimilarity) -> Claim:
        return next(c for c in check_similarity(list(cells)) if c.claim.startswith("Theorem 1 at p = 0.3"))

    assert [claim(above).verdict, claim(above, close).verdict, claim(above, close, below).verdict] == [
        *("holds", "open", "fails")
    ]


def test_theorem_1_says_how_many_trials_have_no_cosine() -> None:
    (cell,) = measure_similarity(nodes=[3], features=[1], shares=[0.1], drops=[0.5], trials=400)
    # One view keeps a node with a feature in about 15 % of trials, both in fewer.
    assert 0.8 < cell.left_out < 1
    where = check_similarity([cell])[0].where
    assert f"at most {cell.left_out:.0%} (N = 3, F = 1, q = 0.1, p = 0.5)" in where
