"""MoleculeEmbedder as scikit-learn's tools use it."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

pytest.importorskip("rdkit", reason="RDKit is not installed (extra chem)")

from nmrgcl import MoleculeEmbedder, UserError
from nmrgcl.data.molecules import featurise
from nmrgcl.methods import Pretraining
from nmrgcl.run.embeddings import embed_all
from tests.tiny_molecules import CHAINS, SMALL, SMILES, save_other_model

Y = np.repeat([0, 1], 12)


def embedder(**options: Any) -> MoleculeEmbedder:
    return MoleculeEmbedder(**{"settings": SMALL, "device": "cpu", "normalise": "none"} | options)


@pytest.fixture(scope="module")
def fitted() -> MoleculeEmbedder:
    return embedder().fit(SMILES)


@pytest.fixture(scope="module")
def folder(fitted: MoleculeEmbedder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("models") / "model"
    fitted.save(place)
    return place


def test_the_recipe_is_that_for_molecules() -> None:
    settings = MoleculeEmbedder()._resolved(SMILES, "molecule")
    encoder = settings.encoder
    assert (encoder.name, encoder.layers, encoder.units, encoder.pool) == ("molecule", 5, 300, "mean")
    assert (settings.method, settings.options.tau) == ("nmrgcl", 0.1)
    assert (settings.train.batch_size, settings.train.lr) == (256, 1e-3)
    assert [[view["name"] for view in side] for side in (settings.views.first, settings.views.second)] == [
        ["DropNodes", "Subgraph"],
        ["DropNodes", "Subgraph"],
    ]


def test_rows_are_the_mean_over_atoms_by_the_encoder(fitted: MoleculeEmbedder) -> None:
    method = fitted.model_.method.eval()
    assert isinstance(method, Pretraining)
    for text, row in zip(SMILES[::5], fitted.transform(SMILES)[::5], strict=True):
        alone, _ = featurise([text])
        np.testing.assert_allclose(row, method.encoder(alone).mean(0).detach(), rtol=1e-4, atol=1e-5)


def test_bonds_and_chirality_count(fitted: MoleculeEmbedder) -> None:
    z = fitted.transform(["CCO", "C=CO", "N[C@@H](C)O", "N[C@H](C)O", "OCC"])
    np.testing.assert_allclose(z[0], z[4], rtol=1e-4, atol=1e-5)
    assert np.abs(z[0] - z[1]).max() > 1e-2
    assert np.abs(z[2] - z[3]).max() > 1e-3


def test_atoms_that_training_never_saw_are_embedded(fitted: MoleculeEmbedder) -> None:
    assert np.isfinite(fitted.transform(["[Na+].[Cl-]", "C#N"])).all()


def test_lists_arrays_and_tables_of_one_column_are_alike(fitted: MoleculeEmbedder) -> None:
    z = fitted.transform(SMILES)
    for given in (tuple(SMILES), np.array(SMILES), np.array(SMILES, object)[:, None], [[text] for text in SMILES]):
        np.testing.assert_array_equal(fitted.transform(given), z)


def test_pandas_in_and_out(fitted: MoleculeEmbedder) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    z, frame = fitted.transform(SMILES), pandas.DataFrame({"smiles": SMILES}, index=range(100, 124))
    for given in (frame, frame["smiles"]):
        np.testing.assert_array_equal(fitted.transform(given), z)
    out = clone(fitted).set_output(transform="pandas").fit(frame).transform(frame)
    assert list(out.columns) == [f"z{i}" for i in range(8)]
    assert list(out.index) == list(frame.index)


def test_a_series_is_read_by_its_values(fitted: MoleculeEmbedder) -> None:
    class Series:
        """What a table library offers: a length, and ``to_numpy``, whatever the index is."""

        def __len__(self) -> int:
            return len(SMILES)

        def to_numpy(self) -> np.ndarray:
            return np.array(SMILES, object)

    np.testing.assert_array_equal(fitted.transform(Series()), fitted.transform(SMILES))


def test_a_pipeline_tells_rings_from_chains() -> None:
    model = make_pipeline(embedder(), StandardScaler(), LogisticRegression(max_iter=1000))
    assert model.fit(SMILES[::2], Y[::2]).score(SMILES[1::2], Y[1::2]) == 1.0


def test_grid_search_chooses_among_methods() -> None:
    model = make_pipeline(embedder(), StandardScaler(), LogisticRegression(max_iter=1000))
    search = GridSearchCV(model, {"moleculeembedder__method": ["nmrgcl", "graphcl"]}, cv=2, error_score="raise")
    assert search.fit(np.array(SMILES), Y).best_score_ > 0.5


def test_it_clones_pickles_and_repeats(fitted: MoleculeEmbedder) -> None:
    z = fitted.transform(SMILES)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert set(copy.get_params(deep=False)) == {
        *("method", "model", "encoder", "preset", "random_state", "settings", "normalise"),
        *("invalid", "device", "verbose", "warm_start"),
    }
    with pytest.raises(NotFittedError):
        copy.transform(SMILES)
    np.testing.assert_array_equal(copy.fit(SMILES).transform(SMILES), z)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(SMILES), z)
    assert fitted.get_feature_names_out().tolist() == [f"z{i}" for i in range(8)]


def test_a_model_folder_needs_no_fit(fitted: MoleculeEmbedder, folder: Path) -> None:
    z = fitted.transform(SMILES)
    ready = MoleculeEmbedder(model=folder, device="cpu")
    check_is_fitted(ready)
    np.testing.assert_array_equal(ready.transform(SMILES), z)
    assert len(ready.get_feature_names_out()) == 8
    assert not hasattr(ready, "model_")  # to transform changes nothing
    np.testing.assert_array_equal(ready.fit(CHAINS).transform(SMILES), z)
    assert ready.history_ == []
    np.testing.assert_array_equal(MoleculeEmbedder.load(folder, device="cpu").transform(SMILES), z)
    with pytest.raises(UserError, match="row 1 "):
        ready.fit(["C", "nonsense"])


def test_a_model_is_not_trained_so_settings_are_refused(folder: Path) -> None:
    for given, named in (
        ({"settings": {"epochs": 3}}, "settings"),
        ({"method": "graphcl", "preset": "molecules"}, "method, preset"),
        ({"encoder": "gin"}, "encoder"),
    ):
        with pytest.raises(UserError, match=f"^{named}: only for training, but a model is given"):
            MoleculeEmbedder(model=folder, **given).fit(SMILES)


def test_molecules_of_rdkit_are_refused_with_the_remedy(fitted: MoleculeEmbedder) -> None:
    from rdkit import Chem

    molecules = [Chem.MolFromSmiles(text) for text in SMILES]
    for use in (fitted.transform, embedder(invalid="nan").fit):
        with pytest.raises(UserError, match=r"pass Chem.MolToSmiles\(mol\)"):
            use(molecules)


def test_the_scale_is_squashed_or_that_of_the_model(tmp_path: Path) -> None:
    fitted = embedder(normalise=None).fit(SMILES)
    raw = clone(fitted).set_params(normalise="none").fit(SMILES).transform(SMILES)
    z = fitted.transform(SMILES)
    spread = raw.std(0)
    np.testing.assert_allclose(z, np.arcsinh((raw - raw.mean(0)) / np.where(spread > 0, spread, 1)), atol=1e-4)
    fitted.save(tmp_path / "model")
    np.testing.assert_array_equal(MoleculeEmbedder(model=tmp_path / "model", device="cpu").transform(SMILES), z)


def test_a_model_of_other_graphs_is_refused(tmp_path: Path) -> None:
    save_other_model(tmp_path / "model")
    with pytest.raises(UserError, match="was trained on motifs, not on molecules"):
        MoleculeEmbedder(model=tmp_path / "model").transform(SMILES)


def test_invalid_smiles_are_named_or_rows_of_nan(fitted: MoleculeEmbedder) -> None:
    given = ["CCO", "C1CC", None, "CCN", float("nan"), 3.5]
    with pytest.raises(UserError, match=r"^row 1 \(counted from 0\), 'C1CC': .*; correct it, or use invalid='nan'"):
        fitted.transform(given)
    with pytest.raises(UserError, match="row 1 "):
        embedder().fit(given)
    lenient = embedder(invalid="nan").fit([*SMILES, *given[1:3]])
    z = lenient.transform(given)
    assert np.isnan(z).all(1).tolist() == [False, True, True, False, True, True]
    np.testing.assert_allclose(z[[0, 3]], lenient.transform(["CCO", "CCN"]), rtol=1e-4, atol=1e-5)
    with pytest.raises(UserError, match="none of the 2 rows is a valid molecule; row 0 .*not a SMILES"):
        embedder(invalid="nan").fit(["nonsense", "more"])
    assert np.isnan(lenient.transform(["nonsense"])).all()


def test_training_leaves_invalid_rows_out(fitted: MoleculeEmbedder) -> None:
    with_bad = embedder(invalid="nan").fit([*SMILES[:5], "nonsense", *SMILES[5:]])
    np.testing.assert_array_equal(with_bad.transform(SMILES), fitted.transform(SMILES))


@pytest.mark.parametrize("wrong", ["CCO", 3, [], np.zeros((2, 3)), [["CCO", "C"]], object()])
def test_what_is_no_column_of_smiles_is_refused(fitted: MoleculeEmbedder, wrong: Any) -> None:
    for use in (fitted.transform, embedder().fit):
        with pytest.raises(UserError, match="SMILES"):
            use(wrong)


def test_an_unknown_way_with_invalid_rows_is_refused() -> None:
    with pytest.raises(UserError, match="invalid is 'drop'; it must be error or nan"):
        embedder(invalid="drop").fit(SMILES)


def test_many_molecules_in_parts_are_as_one_by_one(fitted: MoleculeEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    from nmrgcl.data.molecules import smiles
    from nmrgcl.run import molecules

    z = embed_all(fitted.model_.method, featurise(SMILES)[0]).numpy()
    monkeypatch.setattr(smiles, "AT_A_TIME", 5)
    monkeypatch.setattr(molecules, "AT_ONCE", 12)
    lenient = embedder(invalid="nan")
    lenient.model_ = fitted.model_
    given = [*SMILES[:13], "nonsense", *SMILES[13:]]
    found = lenient.transform(given)
    assert np.flatnonzero(np.isnan(found[:, 0])).tolist() == [13]
    np.testing.assert_allclose(np.delete(found, 13, 0), z, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "check",
    [
        *("check_estimator_cloneable", "check_valid_tag_types", "check_estimator_repr", "check_mixin_order"),
        *("check_no_attributes_set_in_init", "check_do_not_raise_errors_in_init_or_set_params"),
        *("check_parameters_default_constructible", "check_get_params_invariance", "check_set_params"),
        *("check_estimators_unfitted", "check_transformers_unfitted"),
    ],
)
def test_scikit_learns_own_checks_that_feed_no_matrix_pass(check: str) -> None:
    """The others fit on a matrix of numbers, which holds no SMILES; their facts are tested above."""
    from sklearn.utils import estimator_checks

    getattr(estimator_checks, check)("MoleculeEmbedder", embedder())
