"""The ensemble: each member alone, what they make together, and where they start."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from nmrgcl.data.features import FeatureSpec
from nmrgcl.data.molecules import split_molecules
from nmrgcl.data.molecules.fingerprints import ecfp
from nmrgcl.encode.molecule import BONDS
from nmrgcl.errors import DataError, ModelError, SettingError
from nmrgcl.evaluate.goals import goal_of
from nmrgcl.methods import build_pretraining
from nmrgcl.model_folder import Model
from nmrgcl.predict.calibrate import fit_calibration
from nmrgcl.predict.finetune import finetune_settings
from nmrgcl.predict.fit import fit_ensemble, require_labels
from nmrgcl.predict.members import _in_processes, _one_member, _Start, _Training, fit_members
from nmrgcl.predict.predictor import outputs_of, summarise
from nmrgcl.run.embeddings import embed_all
from tests.predict.planted import OXYGEN, read, tiny, write

pytest.importorskip("rdkit", reason="RDKit reads SMILES")
CPU = torch.device("cpu")


def pretrained(units: int = 8) -> Model:
    """An encoder with weights that no seed of a fine-tuning gives."""
    settings = tiny(f"units={units}", "seed=77")
    return Model(build_pretraining(settings, 123, BONDS), settings, FeatureSpec("constant", 1), "zinc")


def test_a_member_does_not_depend_on_the_others_on_a_processor(tmp_path: Path) -> None:
    molecules = read(tmp_path / "a.csv", "oxygen")
    split = split_molecules(molecules, "random")
    both = list(fit_members(molecules, split, tiny(), [0, 1], goal="binary", device=CPU))
    (alone,) = fit_members(molecules, split, tiny(), [1], goal="binary", device=CPU)
    assert both[1].score == alone.score
    assert both[0].score != both[1].score
    for mine, other in zip(both[1].model.parameters(), alone.model.parameters(), strict=True):
        assert torch.equal(mine, other)


def test_members_in_processes_equal_those_trained_here(tmp_path: Path) -> None:
    """Wide encoders are trained in a process per core; here that is two, whatever this machine has."""
    molecules = read(tmp_path / "a.csv", "oxygen")
    split = split_molecules(molecules, "random")
    start = _Start.of(pretrained())
    training = _Training(molecules, split, tiny("epochs=3", "dropout=0.5"), "binary", start, False, CPU)
    told: list[int] = []
    there = list(_in_processes(training, [0, 1], lambda done, most: told.append(done), 2))
    here = [member for seed in (0, 1) for member in training.members([seed], None)]
    assert [member.score for member in there] == [member.score for member in here]
    for mine, other in zip(there, here, strict=True):
        assert mine.seed == other.seed
        for name, value in mine.model.state_dict().items():
            assert torch.equal(value, other.model.state_dict()[name])
    assert sorted(told) == told
    assert max(told, default=0) <= 6


def test_a_member_ends_when_nobody_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    molecules = read(tmp_path / "a.csv", "oxygen")
    split = split_molecules(molecules, "random")
    monkeypatch.setattr("nmrgcl.predict.members.orphaned", lambda: True)
    monkeypatch.setattr("nmrgcl.predict.members.os._exit", sys.exit)
    (tmp_path / "epochs").mkdir()
    with pytest.raises(SystemExit):
        _one_member(_Training(molecules, split, tiny(), "binary", None, False, CPU), tmp_path / "epochs", 0)
    assert (tmp_path / "epochs" / "0").stat().st_size == 0


def test_a_processor_that_multiplies_bfloat16_fast_does_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for fast, found in ((True, "bf16"), (False, "float32")):
        monkeypatch.setattr("nmrgcl.predict.finetune.cpu_multiplies_bfloat16", lambda fast=fast: fast)
        assert finetune_settings(device=CPU).finetune.precision == found
        assert finetune_settings(["precision=float32"], device=CPU).finetune.precision == "float32"
        assert finetune_settings(device=torch.device("cuda")).finetune.precision == "float32"


def test_mean_spread_and_probability_are_those_of_the_members(tmp_path: Path) -> None:
    molecules = read(tmp_path / "a.csv", "oxygen")
    split = split_molecules(molecules, "random")
    members = list(fit_members(molecules, split, tiny("dropout=0.5"), [0, 1, 2], goal="binary", device=CPU))
    bits = ecfp(molecules.smiles)
    predictor = fit_ensemble(members, molecules, split, tiny(), goal="binary", bits=bits)
    found = predictor.predict(molecules.graphs)
    with torch.no_grad():
        logits = np.stack([member.model.eval()(molecules.graphs).double().numpy() for member in members])
    np.testing.assert_allclose(found.mean, expit(logits).mean(0), atol=1e-6)
    np.testing.assert_allclose(found.spread, expit(logits).std(0, ddof=1), atol=1e-6)
    mean = logits.mean(0)
    expected = fit_calibration(mean[split.valid], molecules.labels[split.valid])(mean)
    assert found.probability is not None
    np.testing.assert_allclose(found.probability, expected, atol=1e-5)
    assert predictor.known.smiles == [molecules.smiles[i] for i in split.train]


def test_one_member_has_no_spread() -> None:
    found = summarise(np.array([[[2.0]]]), "numbers", None)
    assert (found.mean.item(), np.isnan(found.spread.item()), found.probability) == (2.0, True, None)


def test_numbers_are_predicted_in_their_own_unit(tmp_path: Path) -> None:
    molecules = read(tmp_path / "a.csv", "length")
    split = split_molecules(molecules, "random")
    settings = tiny("epochs=60")
    (member,) = fit_members(molecules, split, settings, [0], goal="numbers", device=CPU)
    made = outputs_of([member.model], molecules.graphs)[0, split.test, 0]
    truth = molecules.labels[split.test, 0]
    assert member.score.test == pytest.approx(float(np.sqrt(np.mean((made - truth) ** 2))), rel=1e-4)
    assert member.score.test < 0.7 * float(truth.std())


def test_members_start_from_the_pretrained_encoder(tmp_path: Path) -> None:
    molecules, start = read(tmp_path / "a.csv", "oxygen"), pretrained()
    split = split_molecules(molecules, "random")
    settings = finetune_settings(["finetune.epochs=1", "finetune.lr=1e-12"], start)
    assert (settings.encoder.units, settings.encoder.layers, settings.encoder.dropout) == (8, 2, 0.5)
    (member,) = fit_members(molecules, split, settings, [0], goal="binary", start=start, device=CPU)
    own = dict(start.method.named_parameters())
    for name, value in member.model.encoder.named_parameters():
        torch.testing.assert_close(value, own[name], atol=1e-9, rtol=0)


def test_an_encoder_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    molecules = read(tmp_path / "a.csv", "oxygen")
    split, start = split_molecules(molecules, "random"), pretrained()
    changed = finetune_settings(["units=16"], start)
    with pytest.raises(SettingError, match="leave that setting out"):
        list(fit_members(molecules, split, changed, [0], goal="binary", start=start, device=CPU))
    settings = tiny("encoder.name=gin", "data.edges=none")
    other = Model(build_pretraining(settings, 5), settings, FeatureSpec("constant", 1), "MUTAG")
    with pytest.raises(ModelError, match="MUTAG was not pre-trained on molecules"):
        list(fit_members(molecules, split, tiny(), [0], goal="binary", start=other, device=CPU))


def test_a_probe_is_logistic_regression_on_frozen_embeddings(tmp_path: Path) -> None:
    molecules, start = read(tmp_path / "a.csv", "oxygen"), pretrained()
    split = split_molecules(molecules, "random")
    (member,) = fit_members(molecules, split, tiny(), [0], goal="binary", start=start, probe=True, device=CPU)
    z = embed_all(start.method, molecules.graphs).double().numpy()
    x = (z - z[split.train].mean(0)) / z[split.train].std(0)
    y = molecules.labels[:, 0]
    made = outputs_of([member.model], molecules.graphs)[0, :, 0]
    gaps = []
    for c in (0.01, 0.1, 1.0, 10.0):
        theirs = LogisticRegression(C=c, max_iter=5000, tol=1e-10).fit(x[split.train], y[split.train])
        gaps.append(np.abs(theirs.decision_function(x) - made).max())
    assert min(gaps) < 1e-3
    assert max(gaps) > 0.1


def test_labels_of_zeros_and_ones_are_yes_or_no() -> None:
    assert goal_of(np.array([[0.0, 1.0], [np.nan, 1.0]])) == "binary"
    assert goal_of(np.array([[0.0, 1.0], [0.5, 1.0]])) == "numbers"


@pytest.mark.parametrize(
    ("columns", "goal", "message"),
    [
        ({"a": [1] * len(OXYGEN)}, "binary", "column 'a' has only one class \\(1\\); leave it out"),
        ({"a": [2.5] * len(OXYGEN)}, "numbers", "is the same for all molecules"),
        ({"a": [None] * len(OXYGEN)}, "binary", "column 'a' is empty"),
        ({"a": [0, 1, 2, *OXYGEN[3:]]}, "binary", "column 'a' contains 2; binary labels must be 0 or 1"),
        ({}, "binary", "there is no numeric column to learn"),
    ],
)
def test_labels_that_teach_nothing_are_named(tmp_path: Path, columns: dict, goal: str, message: str) -> None:
    from nmrgcl.data.molecules import read_molecules

    molecules = read_molecules(write(tmp_path / "a.csv", **columns), labels=list(columns))
    with pytest.raises(DataError, match=message):
        require_labels(molecules, goal)
