"""The nested choice is what the definition says, and no fold's labels have a part in its own."""

import numpy as np

from nmrgcl.tune.choice import best_overall, choose_by_fold, choose_by_measure


def planted(candidates: int = 4, seeds: int = 3, folds: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Coarse scores, so that there are ties."""
    chance = np.random.default_rng(1)
    inner, outer = chance.integers(50, 54, (2, candidates, seeds, folds)).astype(float)
    return inner, outer


def test_every_fold_takes_the_first_candidate_that_is_best_inside_it() -> None:
    inner, outer = planted()
    found = choose_by_fold(inner, outer)
    for seed in range(3):
        for fold in range(5):
            best = 0
            for candidate in range(4):
                if inner[candidate, seed, fold] > inner[best, seed, fold]:
                    best = candidate
            assert found.chosen[seed, fold] == best
            assert found.scores[seed, fold] == outer[best, seed, fold]
    assert found.times(6) == [*(int((found.chosen == n).sum()) for n in range(4)), 0, 0]


def test_neither_outer_scores_nor_other_folds_change_a_choice() -> None:
    inner, outer = planted()
    expected = choose_by_fold(inner, outer).chosen[1, 2]
    others = np.random.default_rng(2).permutation(inner.ravel()).reshape(inner.shape)
    others[:, 1, 2] = inner[:, 1, 2]
    assert choose_by_fold(others, outer[::-1]).chosen[1, 2] == expected


def test_a_measure_chooses_one_candidate_per_seed_and_no_score_has_a_part_in_it() -> None:
    _, outer = planted()
    measure = np.array([[3.0, 1.0, 2.0], [4.0, 1.0, 5.0], [4.0, 0.0, 9.0], [-np.inf] * 3])
    found = choose_by_measure(measure, outer)
    assert found.chosen.tolist() == [[1] * 5, [0] * 5, [2] * 5]
    for seed, best in enumerate((1, 0, 2)):
        assert (found.scores[seed] == outer[best, seed]).all()
    others = np.random.default_rng(2).permutation(outer.ravel()).reshape(outer.shape)
    assert (choose_by_measure(measure, others).chosen == found.chosen).all()
    assert best_overall(measure) == 2  # means 2, 3.33 and 4.33


def test_equal_but_for_rounding_is_equal() -> None:
    inner = np.array([70.0, 70.0 + 1e-13]).reshape(2, 1, 1)
    assert choose_by_fold(inner, inner).chosen.tolist() == [[0]]
    assert best_overall(inner) == 0


def test_a_candidate_that_failed_is_never_chosen() -> None:
    inner, outer = planted()
    inner[2] = outer[2] = -np.inf
    assert 2 not in choose_by_fold(inner, outer).chosen
    assert 2 not in (best_overall(inner), best_overall(outer))


def test_noise_alone_gains_nothing_from_the_nested_choice_but_from_looking_it_does() -> None:
    chance = np.random.default_rng(3)
    inner, outer = 60 + chance.normal(size=(2, 50, 20, 10))
    assert abs(choose_by_fold(inner, outer).scores.mean() - 60) < 0.2
    assert outer[best_overall(outer)].mean() > 60.1
    assert outer.max(axis=0).mean() > 62
