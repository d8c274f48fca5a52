"""A graph classifier: embeddings, and the SVM that ``nmrgcl evaluate`` uses."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from nmrgcl.data.accept import as_dataset
from nmrgcl.errors import DataError, SettingError
from nmrgcl.estimator import GraphEmbedder
from nmrgcl.evaluate.cross_validation import INNER_FOLDS, Penalty, penalties


class GraphClassifier(ClassifierMixin, BaseEstimator):
    """Pre-train an encoder on graphs without labels, then fit an RBF SVM on the embeddings with labels.

    Args:
        embedder: the embedder; None: ``GraphEmbedder()``. Wrap a fitted one in scikit-learn's ``FrozenEstimator`` to
            use it as it is.
        c: penalty of the SVM: a number, "default" (1), or "grid" to choose it by cross-validation.
        random_state: seed of the folds that choose C and calibrate probabilities.

    Attributes:
        embedder_: the fitted embedder.
        svm_: the fitted standardisation and SVM.
        classes_: the classes, in the order of the columns of ``predict_proba``.
        c_: the chosen C.

    Example:
        >>> import networkx as nx
        >>> from nmrgcl import GraphClassifier, GraphEmbedder
        >>> graphs = [nx.cycle_graph(n) for n in range(5, 15)] + [nx.star_graph(n) for n in range(5, 15)]
        >>> kind = ["cycle"] * 10 + ["star"] * 10
        >>> embedder = GraphEmbedder(preset="graphcl", settings={"epochs": 2})
        >>> classifier = GraphClassifier(embedder, c=1.0).fit(graphs, kind)
        >>> classifier.predict([nx.cycle_graph(20), nx.star_graph(20)]).tolist()
        ['cycle', 'star']
    """

    def __init__(self, embedder: Any = None, *, c: Penalty = "grid", random_state: int | None = 0) -> None:
        self.embedder = embedder
        self.c = c
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # graphs, not a matrix of features
        return tags

    def fit(self, graphs: Any, y: Any = None) -> Self:
        """Fit on ``graphs`` and their classes ``y``, by default those of the dataset."""
        embedder = GraphEmbedder(normalise="none") if self.embedder is None else clone(self.embedder)
        if getattr(embedder, "level", "graph") != "graph":
            raise SettingError("GraphClassifier: the embedder has level='node'; use nmrgcl evaluate to classify nodes")
        labels, known = self._labels(graphs, y)
        if isinstance(graphs, list | tuple) and len(graphs) != len(labels):
            raise DataError(f"{len(graphs)} graphs but {len(labels)} labels: pass one label per graph")
        values = penalties(self.c)
        folds = self._folds(labels[known], choosing=len(values) > 1)
        z = embedder.fit(graphs).transform(graphs)
        if len(z) != len(labels):
            raise DataError(f"{len(z)} graphs but {len(labels)} labels: pass one label per graph")
        search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": values}, cv=folds, error_score="raise")
        if len(values) > 1:
            search.fit(z[known], labels[known])
            self.c_, self.svm_ = search.best_params_["svc__C"], search.best_estimator_
        else:
            self.c_, self.svm_ = values[0], make_pipeline(StandardScaler(), SVC(C=values[0]))
            self.svm_.fit(z[known], labels[known])
        # predict uses the SVM itself, as an evaluation does; only probabilities need calibrated decision values.
        self._calibrated = CalibratedClassifierCV(clone(self.svm_), cv=folds, ensemble=False)
        self._calibrated.fit(z[known], labels[known])
        self.embedder_, self.classes_ = embedder, self.svm_.classes_
        return self

    def predict(self, graphs: Any) -> np.ndarray:
        """Return the ``[B]`` predicted classes."""
        check_is_fitted(self)
        return np.asarray(self.svm_.predict(self.embedder_.transform(graphs)))

    def predict_proba(self, graphs: Any) -> np.ndarray:
        """Return ``[B, C]`` probabilities of ``classes_``, calibrated on folds; they may contradict close decisions."""
        check_is_fitted(self)
        return np.asarray(self._calibrated.predict_proba(self.embedder_.transform(graphs)))

    def _labels(self, graphs: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the ``[B]`` classes, and a mask of the known ones."""
        if y is not None:
            labels = np.asarray(y)
            if labels.ndim != 1:
                raise DataError(f"labels have shape {list(labels.shape)}: pass one class per graph")
            return labels, np.ones(len(labels), bool)
        dataset = as_dataset(graphs)
        if dataset.y is None or dataset.level != "graph" or not dataset.classes:
            raise DataError(f"{dataset.name}: the graphs have no classes; pass them as y, or use GraphEmbedder")
        return np.asarray(dataset.classes)[dataset.y], dataset.y >= 0

    def _folds(self, labels: np.ndarray, *, choosing: bool) -> StratifiedKFold:
        classes, counts = np.unique(labels, return_counts=True)
        if len(classes) < 2:
            raise DataError(f"all {len(labels)} labels are the same class: a classifier needs at least two")
        name, fewest = classes[np.argmin(counts)], int(counts.min())
        least = INNER_FOLDS if choosing else 2
        if fewest < least:
            advice = "use c='default', or leave the class out" if choosing and fewest > 1 else "leave the class out"
            raise DataError(f"class {name} has {fewest} members, and cross-validation needs {least}: {advice}")
        return StratifiedKFold(min(INNER_FOLDS, fewest), shuffle=True, random_state=self.random_state)
