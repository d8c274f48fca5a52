"""What a page says first, for scores worked by hand."""

import numpy as np
import pytest

from nmrgcl.evaluate.paired import Difference
from nmrgcl.report.findings import compare_with_untrained, find_in_accuracy, find_in_rank, largest_class
from nmrgcl.run.evaluation import Evaluation, SeedScores
from nmrgcl.settings import Settings


def judged(trained: list[list[float]], untrained: list[list[float]] | None) -> Evaluation:
    start = None if untrained is None else SeedScores(np.array(untrained))
    facts = {"varied": "model", "method": "nmrgcl", "features": "labels", "settings": Settings()}
    return Evaluation("MINE", SeedScores(np.array(trained)), start, **facts)  # type: ignore[arg-type]


def test_a_difference_within_chance_is_reported_as_such() -> None:
    found = find_in_accuracy("nmrgcl", 87.23, 85.51, Difference(1.72, -3.2, 6.7, 0.49), 66.5)
    assert found.sentence == "Pre-training raised accuracy from 85.5 to 87.2 %; the difference is within chance."
    assert (found.verdict, found.tone) == ("within chance", "open")


@pytest.mark.parametrize(
    ("trained", "p", "sentence", "verdict"),
    [
        (90.0, 0.01, "Pre-training raised accuracy from 85.0 to 90.0 %; the difference is beyond chance.", "better"),
        (80.0, 0.01, "Pre-training lowered accuracy from 85.0 to 80.0 %; the difference is beyond chance.", "worse"),
        (85.01, 0.9, "Pre-training left accuracy at 85.0 %; any difference is within chance.", "within chance"),
        (90.0, 0.05, "Pre-training raised accuracy from 85.0 to 90.0 %; the difference is within chance.", "within"),
    ],
)
def test_raised_lowered_and_left(trained: float, p: float, sentence: str, verdict: str) -> None:
    found = find_in_accuracy("nmrgcl", trained, 85.0, Difference(trained - 85, 0, 0, p), 50.0)
    assert found.sentence == sentence
    assert found.verdict.startswith(verdict)


def test_one_score_is_no_test() -> None:
    alone = judged([[90.0]], [[80.0]])
    assert compare_with_untrained(alone) is None
    found = find_in_accuracy("nmrgcl", 90.0, 80.0, None, 50.0)
    assert "too few scores to say whether that is chance" in found.sentence


def test_the_pairs_are_of_the_same_folds() -> None:
    # Differences 1, 2, 3 on one seed's three folds: mean 2, variance 1 × (1/3 + 1/2), t = 2 / 0.9129 = 2.19 with 2 df.
    difference = compare_with_untrained(judged([[81.0, 92.0, 73.0]], [[80.0, 90.0, 70.0]]))
    assert difference is not None
    assert difference.mean == pytest.approx(2)
    assert difference.p == pytest.approx(0.1598, abs=1e-3)
    assert compare_with_untrained(judged([[81.0, 92.0, 73.0]], None)) is None


def test_without_an_untrained_encoder_the_largest_class_is_what_to_beat() -> None:
    assert largest_class(np.array([0, 1, 1, 1, -1])) == 75
    assert find_in_accuracy("wl", 70.0, None, None, 75.0).tone == "bad"
    assert find_in_accuracy("wl", 80.0, None, None, 75.0).sentence == (
        "wl reaches an accuracy of 80.0 %; always naming the largest class would reach 75.0 %."
    )


def test_without_labels_the_rank_is_what_there_is_to_say() -> None:
    assert find_in_rank("graphcl", 2.94, 13.71, 96) == (
        "Pre-training raised the effective rank of the embeddings from 2.9 to 13.7 of 96 dimensions; "
        "there are no labels to judge them by."
    )
    assert "left the effective rank of the embeddings at 3.0" in find_in_rank("graphcl", 3.01, 3.02, 8)
