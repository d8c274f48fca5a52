"""GraphClassifier: the SVM of the protocol, on graphs."""

from typing import Any

import joblib
import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold, cross_val_score

from nmrgcl import GraphClassifier, GraphEmbedder, UserError, load, svm_scores
from tests.test_estimator import SMALL, cycles_and_stars


def classifier(**options: Any) -> GraphClassifier:
    return GraphClassifier(GraphEmbedder(preset="graphcl", settings=SMALL, device="cpu", normalise="none"), **options)


def test_classes_and_probabilities_of_new_graphs(tmp_path: Any) -> None:
    graphs, y = cycles_and_stars()
    names = np.where(y == 0, "cycle", "star")
    model = classifier().fit(graphs[::2], names[::2])
    assert model.score(graphs[1::2], names[1::2]) == 1.0
    assert model.classes_.tolist() == ["cycle", "star"]
    probability = model.predict_proba(graphs[1::2])
    np.testing.assert_allclose(probability.sum(1), 1)
    assert (model.classes_[probability.argmax(1)] == names[1::2]).all()
    again = joblib.load(joblib.dump(model, tmp_path / "model.joblib")[0])
    np.testing.assert_array_equal(again.predict_proba(graphs), model.predict_proba(graphs))


class Fixed(GraphEmbedder):
    """Embeddings that are known already: graphs are the numbers of rows."""

    def fit(self, graphs: Any, y: Any = None) -> "Fixed":
        return self

    def transform(self, graphs: Any) -> np.ndarray:
        return Z[np.asarray(graphs)]


Z = np.random.default_rng(0).normal(size=(90, 5))


def test_its_scores_are_those_of_the_protocol() -> None:
    y = np.arange(90) % 3
    Z[:, 0] += y
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    scores = cross_val_score(GraphClassifier(Fixed()), np.arange(90), y, cv=folds)
    np.testing.assert_allclose(100 * scores, svm_scores(Z, y, seed=0, inner="shuffled", jobs=1))


def test_a_dataset_has_labels_of_its_own_and_some_may_be_missing() -> None:
    data = load("motifs")
    model = classifier(c="default").fit("motifs")
    assert (model.classes_.tolist(), model.c_) == ([0, 1, 2], 1.0)
    assert model.score("motifs", data.y) > 0.5
    with pytest.raises(UserError, match="the graphs have no classes; pass them as y"):
        classifier().fit(cycles_and_stars()[0])


WRONG: dict[str, tuple[Any, dict[str, Any], str]] = {
    "one class": ([0] * 40, {}, "all 40 labels are the same class"),
    "few of a class": ([0] * 37 + [1] * 3, {}, "class 1 has 3 members.*c='default'"),
    "one of a class": ([0] * 39 + [1], {"c": "default"}, "class 1 has 1 members.*leave the class out"),
    "a table": (np.zeros((40, 2)), {}, "one class per graph"),
    "too few": ([0, 1] * 10, {}, "40 graphs but 20 labels"),
    "unknown C": ([0, 1] * 20, {"c": "best"}, "c is 'best'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_labels_that_cannot_be_learnt_are_one_line(case: str) -> None:
    y, options, message = WRONG[case]
    with pytest.raises(UserError, match=message):
        classifier(**options).fit(cycles_and_stars()[0], y)


def test_it_is_unfitted_before_fit_and_searches_reach_the_embedder() -> None:
    model = clone(classifier()).set_params(embedder__settings__epochs=1)
    assert model.embedder.settings["epochs"] == 1
    with pytest.raises(NotFittedError):
        model.predict([nx.path_graph(3)])
    with pytest.raises(UserError, match="level='node'"):
        GraphClassifier(GraphEmbedder(level="node")).fit([nx.path_graph(3)], [0])
