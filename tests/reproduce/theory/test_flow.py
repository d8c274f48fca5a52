import json
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from nmrgcl.reproduce.theory import findings
from nmrgcl.reproduce.theory.findings import check_theory
from nmrgcl.reproduce.theory.flow import (
    balanced_factors,
    check_flow,
    check_singular_velocity,
    check_training,
    make_setting,
    measure_imbalance,
    predicted_velocity,
    start_weight,
    unbalance,
)
from tests.test_cli import run


@pytest.mark.parametrize("layers", [1, 2, 4])
def test_balanced_factors_are_balanced_and_multiply_to_the_weight(layers: int) -> None:
    weight = start_weight(5)
    factors = balanced_factors(weight, layers)
    torch.testing.assert_close(torch.linalg.multi_dot([torch.eye(5).double(), *factors]), weight)
    for one, two in pairwise(factors):
        torch.testing.assert_close(one.T @ one, two @ two.T)


def test_unbalanced_factors_have_the_same_product() -> None:
    weight = start_weight(5)
    one, two, three = unbalance(balanced_factors(weight, 3), 0.5)
    torch.testing.assert_close(one @ two @ three, weight)
    assert float((one.T @ one - two @ two.T).norm()) > 0.1


def test_one_layer_moves_its_singular_values_by_the_gradient_alone() -> None:
    setting, weight = make_setting(1), torch.diag(torch.linspace(1, 0.3, 8, dtype=torch.float64))
    gradient = setting.weight_gradient(weight)
    torch.testing.assert_close(predicted_velocity(weight, gradient, 1), -gradient.diagonal())


def test_lemma_2_and_theorem_2_hold_where_they_should() -> None:
    assert [claim.holds for claim in check_singular_velocity()] == [True, False]
    found = {claim.claim.partition(" (")[0]: claim for claim in check_flow((1, 2, 3))}
    assert found["Theorem 2: σ̇ = −K σ^{2(K−1)/K} uᵀC_z v"].holds
    powers = [claim for name, claim in found.items() if name.startswith("The flow of σ_m")]
    assert [claim.measured for claim in powers] == pytest.approx([0, 1, 4 / 3], abs=1e-9)
    assert [claim.holds for claim in powers] == [False, True, False]


def test_the_gap_of_theorem_2_grows_with_the_imbalance() -> None:
    gaps = [gap for _, gap in measure_imbalance(2)]
    assert gaps[0] < 1e-13
    assert gaps == sorted(gaps)
    assert gaps[-1] > 0.1


def test_training_claims_need_every_seed() -> None:
    curves = {1: [[7.0, 6.0], [7.0, 6.0]], 2: [[7.0, 5.0], [7.0, 6.5]]}
    (claim,) = check_training(curves)
    assert not claim.holds
    (claim,) = check_training({1: [[7.0, 6.0]], 2: [[7.0, 5.0]]})
    assert claim.holds


def test_the_command_prints_claims_and_draws(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    few = partial(findings.measure_similarity, nodes=[10, 30], features=[16], trials=20)
    monkeypatch.setattr(findings, "measure_similarity", few)
    monkeypatch.setattr(findings, "measure_training", partial(findings.measure_training, steps=3, seeds=(0,)))
    out, _ = run(capsys, "theory", "--json", "--plot", str(tmp_path / "t.svg"))
    claims = json.loads(out)["claims"]
    assert {frozenset(claim) for claim in claims} == {frozenset({"claim", "predicted", "measured", "holds", "where"})}
    assert len(claims) == len(check_theory().claims)
    assert "<svg" in (tmp_path / "t.svg").read_text()
    out, _ = run(capsys, "theory")
    assert out.startswith("holds  Lemma 1")


def test_a_plot_that_cannot_be_written_is_reported_before_anything_is_computed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    _, err = run(capsys, "theory", "--plot", "t.bmp", code=2)
    assert "must be one of .svg, .pdf, .png" in err
    _, err = run(capsys, "theory", "--plot", str(tmp_path / "none" / "t.svg"), code=2)
    assert "does not exist; create it first" in err
