"""GraphEmbedder as scikit-learn's tools use it, from every kind of graphs."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import joblib
import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nmrgcl
from nmrgcl import GraphEmbedder, UserError, as_dataset, from_networkx, load, to_networkx, to_pyg
from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.run.cell_data import digest_of

SMALL = {"train.epochs": 2, "encoder.layers": 2, "encoder.units": 8, "train.batch_size": 16}


def embedder(**options: Any) -> GraphEmbedder:
    return GraphEmbedder(preset="graphcl", settings=SMALL, device="cpu", **options)


def cycles_and_stars() -> tuple[list[nx.Graph], np.ndarray]:
    graphs = [nx.cycle_graph(n) for n in range(5, 25)] + [nx.star_graph(n) for n in range(5, 25)]
    return graphs, np.repeat([0, 1], 20)


def test_every_public_name_can_be_imported() -> None:
    assert set(nmrgcl.__all__) == set(nmrgcl._HOMES)
    assert all(getattr(nmrgcl, name) is not None for name in nmrgcl.__all__)
    with pytest.raises(AttributeError):
        _ = nmrgcl.nothing


def test_importing_the_package_loads_neither_torch_nor_scikit_learn() -> None:
    code = "import sys, nmrgcl; assert not {'torch', 'sklearn', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_networkx_graphs_to_classes_in_a_pipeline() -> None:
    graphs, y = cycles_and_stars()
    model = make_pipeline(embedder(), StandardScaler(), LogisticRegression(max_iter=1000))
    assert model.fit(graphs[::2], y[::2]).score(graphs[1::2], y[1::2]) == 1.0


def test_grid_search_chooses_among_methods_and_parameters() -> None:
    graphs, y = cycles_and_stars()
    model = make_pipeline(embedder(), StandardScaler(), LogisticRegression(max_iter=1000))
    search = GridSearchCV(model, {"graphembedder__method": ["nmrgcl", "graphcl"], "logisticregression__C": [1.0]}, cv=2)
    search.fit(graphs, y)
    assert search.best_score_ > 0.5


def test_single_settings_are_searched_and_named() -> None:
    graphs, y = cycles_and_stars()
    model = make_pipeline(embedder(), LogisticRegression(max_iter=1000))
    grid = {"graphembedder__settings__epochs": [1, 3], "graphembedder__settings__encoder__units": [4]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(graphs, y)
    best = search.best_estimator_[0]
    assert best.model_.settings.train.epochs in (1, 3)
    assert best.n_features_out_ == 8
    assert len(best.history_) == best.model_.settings.train.epochs


def test_a_setting_is_replaced_by_whichever_name_it_has_and_the_users_dictionary_stays() -> None:
    model = embedder().set_params(settings__epochs=7, settings__encoder__units=4, random_state=2)
    assert model.settings == {"encoder.layers": 2, "train.batch_size": 16, "epochs": 7, "encoder.units": 4}
    assert (SMALL["train.epochs"], model.random_state) == (2, 2)
    assert model.get_params()["settings__encoder__units"] == 4
    assert model.set_params(settings__train__epochs=5).settings == {
        "encoder.layers": 2,
        "train.batch_size": 16,
        "encoder.units": 4,
        "train.epochs": 5,
    }
    with pytest.raises(UserError, match="epoch"):
        embedder().set_params(settings__epoch=7).fit("motifs")


def test_without_a_seed_numpys_generator_decides() -> None:
    graphs, _ = cycles_and_stars()
    np.random.seed(5)  # noqa: NPY002
    first, second = (embedder(random_state=None).fit(graphs).transform(graphs) for _ in range(2))
    assert np.abs(first - second).max() > 1e-2
    third = embedder(random_state=np.random.RandomState(5)).fit(graphs).transform(graphs)
    np.testing.assert_array_equal(third, first)
    np.testing.assert_array_equal(
        embedder(random_state=np.int64(3)).fit(graphs).transform(graphs),
        embedder(random_state=3).fit(graphs).transform(graphs),
    )


def test_a_warm_start_continues_as_if_training_had_never_stopped(tmp_path: Path) -> None:
    graphs, _ = cycles_and_stars()
    whole = embedder().set_params(settings__train__epochs=5).fit(graphs)
    parts = embedder(warm_start=True).fit(graphs)
    parts = joblib.load(joblib.dump(parts, tmp_path / "parts.joblib")[0])
    parts.set_params(settings__train__epochs=3).fit(graphs)
    np.testing.assert_array_equal(parts.transform(graphs), whole.transform(graphs))
    assert [epoch.number for epoch in parts.history_] == [1, 2, 3, 4, 5]
    assert parts.model_.settings == whole.model_.settings
    with pytest.raises(UserError, match="does not fit this model"):
        parts.set_params(settings__encoder__units=16).fit(graphs)


def test_a_loaded_model_is_trained_further(tmp_path: Path) -> None:
    graphs, _ = cycles_and_stars()
    fitted = embedder().fit(graphs)
    fitted.save(tmp_path / "model")
    loaded = GraphEmbedder.load(tmp_path / "model", device="cpu", warm_start=True)
    loaded.set_params(settings__epochs=1, settings__lr=1e-9).fit(graphs)
    before = dict(fitted.model_.method.named_parameters())
    for name, weights in loaded.model_.method.named_parameters():
        np.testing.assert_allclose(weights.detach(), before[name].detach(), atol=1e-6)
    assert loaded.model_.settings.train.epochs == 3


def test_embeddings_on_each_scale(tmp_path: Path) -> None:
    graphs, _ = cycles_and_stars()
    fitted = embedder(normalise="none").fit(graphs)
    raw = fitted.transform(graphs)
    assert np.abs(np.linalg.norm(raw, axis=1) - 1).max() > 0.1
    lengths = np.linalg.norm(fitted.set_params(normalise="l2").transform(graphs), axis=1)
    np.testing.assert_allclose(lengths, 1, rtol=1e-5)
    z = fitted.set_params(normalise="standardise").transform(graphs)
    np.testing.assert_allclose(z, StandardScaler().fit_transform(raw), atol=1e-3)
    # by what the training graphs are like, however few are embedded now
    np.testing.assert_allclose(fitted.transform(graphs[3:4]), z[3:4], atol=1e-3)
    squashed = fitted.set_params(normalise="squash").transform(graphs)
    np.testing.assert_allclose(squashed, np.arcsinh(z), atol=1e-5)
    fitted.save(tmp_path / "model")
    loaded = GraphEmbedder.load(tmp_path / "model", device="cpu")
    assert loaded.normalise == "squash"
    np.testing.assert_array_equal(loaded.transform(graphs), squashed)
    with pytest.raises(UserError, match="normalise = .l1.; known: l2, none"):
        embedder(normalise="l1").fit(graphs)


def test_tables_have_the_columns_names() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    graphs, _ = cycles_and_stars()
    frame = embedder().set_output(transform="pandas").fit_transform(graphs)
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == [f"z{i}" for i in range(16)]


def test_clone_and_parameters_round_trip() -> None:
    original = embedder(random_state=3)
    copy = clone(original)
    assert copy.get_params() == original.get_params()
    assert copy.set_params(random_state=4).random_state == 4
    for use in (lambda: copy.transform("motifs"), lambda: copy.save("nowhere"), copy.get_feature_names_out):
        with pytest.raises(NotFittedError, match="GraphEmbedder instance is not fitted yet"):
            use()
    assert not hasattr(copy, "n_features_out_")
    assert repr(GraphEmbedder(random_state=3)) == "GraphEmbedder(random_state=3)"


def test_a_seed_repeats_and_order_is_kept() -> None:
    graphs, _ = cycles_and_stars()
    first, second = (embedder(random_state=1).fit(graphs) for _ in range(2))
    np.testing.assert_array_equal(first.transform(graphs), second.transform(graphs))
    np.testing.assert_allclose(first.transform(graphs[::-1]), first.transform(graphs)[::-1], rtol=1e-4, atol=1e-4)
    assert first.get_feature_names_out().tolist() == [f"z{i}" for i in range(16)]
    assert [epoch.number for epoch in first.history_] == [1, 2]


def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    fitted = embedder().fit("motifs")
    fitted.save(tmp_path / "model")
    loaded = GraphEmbedder.load(tmp_path / "model", device="cpu")
    np.testing.assert_array_equal(loaded.transform("motifs"), fitted.transform("motifs"))
    graphs, features = load("motifs"), fitted.model_.features
    assert loaded.model_.data_sha256 == fitted.model_.data_sha256 == digest_of(apply_features(graphs, features))
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(UserError, match="contains no model"):
        fitted.save(tmp_path)


def test_every_kind_of_graphs_gives_the_same_embeddings() -> None:
    data = load("motifs")
    graphs = apply_features(data, choose_features(data))
    dense = to_pyg(graphs)
    from_graphs = embedder().fit(dense)
    z = from_graphs.transform(dense)
    np.testing.assert_allclose(from_graphs.transform(dense.to_data_list()), z, rtol=1e-5, atol=1e-5)
    by_name = GraphEmbedder(preset="graphcl", settings=SMALL, device="cpu", node_feature="x").fit(to_networkx(graphs))
    np.testing.assert_allclose(by_name.transform(to_networkx(graphs)), z, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("wrong", [3, [], ["MUTAG", 3], [nx.path_graph(3), 5], object()])
def test_what_is_not_a_graph_is_refused(wrong: object) -> None:
    with pytest.raises(UserError):
        as_dataset(wrong)


NEEDS_NO_MATRIX = {
    *("check_estimator_cloneable", "check_estimator_tags_renamed", "check_valid_tag_types", "check_estimator_repr"),
    *(
        "check_no_attributes_set_in_init",
        "check_estimators_unfitted",
        "check_do_not_raise_errors_in_init_or_set_params",
    ),
    *("check_mixin_order", "check_transformers_unfitted", "check_transformer_n_iter"),
    *("check_parameters_default_constructible", "check_get_params_invariance", "check_set_params"),
}


def test_scikit_learns_own_checks_pass_where_they_do_not_feed_a_matrix() -> None:
    """The others fit on a matrix of numbers, which holds no graphs; their facts are tested above on graphs."""
    import warnings

    from sklearn.utils.estimator_checks import check_estimator

    class Asked(GraphEmbedder):
        def __sklearn_tags__(self) -> Any:
            tags = super().__sklearn_tags__()
            tags.input_tags.two_d_array = True
            return tags

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(Asked(**embedder().get_params(deep=False)), on_fail=None, on_skip=None)
    assert {r["check_name"] for r in results if r["status"] == "passed"} >= NEEDS_NO_MATRIX
    with pytest.warns(SkipTestWarning, match="Can't test estimator GraphEmbedder which requires input"):
        check_estimator(embedder())  # its tags say that it takes no matrix: the others are not asked


def test_fitting_again_forgets_and_parameters_stay(tmp_path: Path) -> None:
    graphs, _ = cycles_and_stars()
    model = embedder()
    before = model.get_params()
    assert model.fit(graphs) is model
    first = model.transform(graphs)
    np.testing.assert_array_equal(model.fit(graphs).transform(graphs), first)
    assert model.get_params() == before
    np.testing.assert_allclose(model.transform(graphs[3:5]), first[3:5], rtol=1e-4, atol=1e-4)
    import pickle

    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(graphs), first)


def test_edge_attributes_of_pyg_and_networkx_change_the_embeddings_where_they_are_asked_for() -> None:
    graphs, _ = cycles_and_stars()
    for number, graph in enumerate(graphs):
        nx.set_edge_attributes(graph, {edge: float(number % 3) for edge in graph.edges}, "length")
    plain = [graph.copy() for graph in graphs]
    for graph in plain:
        nx.set_edge_attributes(graph, 0.0, "length")
    options: dict[str, Any] = {"preset": "graphcl", "device": "cpu", "edge_feature": "length"}
    asked = GraphEmbedder(settings=SMALL | {"data.edges": "attributes"}, **options).fit(graphs)
    assert not np.allclose(asked.transform(graphs), asked.transform(plain), atol=1e-2)
    ignored = GraphEmbedder(settings=SMALL, **options).fit(graphs)
    np.testing.assert_array_equal(ignored.transform(graphs), ignored.transform(plain))
    # The same graphs from PyG, whose nodes have no features either.
    as_pyg = to_pyg(from_networkx(graphs, edge_feature="length")).to_data_list()
    for item in as_pyg:
        del item.x
        item.num_nodes = int(item.edge_index.max()) + 1
        item.length = item.edge_attr
    np.testing.assert_allclose(asked.transform(as_pyg), asked.transform(graphs), rtol=1e-5, atol=1e-5)


def test_a_file_of_smiles_is_embedded_by_the_network_for_molecules(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("smiles\nCCO\nCCN\nc1ccccc1\nCCCl\n")
    (tmp_path / "b.smi").write_text("[Na+].[Cl-]\nC/C=C/C\n")
    small = {"train.epochs": 1, "encoder.layers": 2, "encoder.units": 8}
    fitted = GraphEmbedder(settings=small, device="cpu").fit(str(tmp_path / "a.csv"))
    assert fitted.model_.settings.encoder.name == "molecule"
    assert fitted.transform(tmp_path / "b.smi").shape == (2, 8)
