"""GraphEmbedder as scikit-learn's tools use it, from every kind of graphs."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
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


def test_the_public_names_are_these() -> None:
    assert sorted(nmrgcl.__all__) == [
        *("AddEdges", "Compose", "DropCentralEdgesLess", "DropEdges", "DropFeatures", "DropNodes"),
        *("Embedder", "Epoch", "GAT", "GCN", "GIN", "GraphEmbedder", "Graphs", "Head", "Identity"),
        *("MaskCentralFeaturesLess", "MaskFeatures", "Method", "MoleculeEmbedder", "MoleculeGIN", "OneOf"),
        *("Optimiser", "Pretraining", "Progress", "Settings", "ShuffleNodes", "Subgraph", "Teacher", "UserError"),
        *("View", "apply_features", "as_dataset", "build_encoder", "build_method", "build_view", "cca_loss"),
        *("choose_features", "cosine", "effective_rank", "find_method", "from_networkx", "from_pyg"),
        *("graphcl_loss", "infonce", "jensen_shannon", "kernel_nested", "linear_score", "load", "lssvm_scores"),
        *("measure", "merit_loss", "method_names", "non_maximum", "pool", "pretrain", "removal_masks"),
        *("remove", "resolve", "setting", "singular_spectrum", "split_nodes", "svm_scores", "to_networkx"),
        "to_pyg",
    ]
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


def test_clone_and_parameters_round_trip() -> None:
    original = embedder(random_state=3)
    copy = clone(original)
    assert copy.get_params() == original.get_params()
    assert copy.set_params(random_state=4).random_state == 4
    with pytest.raises(NotFittedError):
        copy.transform("motifs")


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
    with pytest.raises(UserError, match="holds no model"):
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
def test_what_is_no_graph_is_refused(wrong: object) -> None:
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

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(embedder(), on_fail=None, on_skip=None)
    assert {r["check_name"] for r in results if r["status"] == "passed"} == NEEDS_NO_MATRIX


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
