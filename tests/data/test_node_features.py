import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmrgcl.data.dataset import Dataset, dataset_of
from nmrgcl.data.features import FeatureSpec, apply_features, choose_features
from nmrgcl.data.formats.tu import read_tu
from nmrgcl.errors import DataError
from nmrgcl.sparse_rows import is_sparse
from tests.data.formats.tu_text import write_tu


@pytest.fixture
def tiny(tmp_path: Path) -> Dataset:
    """Node labels 0 3 3 0 5, two attributes, degrees 1 2 1 1 1."""
    return read_tu(write_tu(tmp_path))


def test_labels_become_one_hot_columns_in_sorted_order(tiny: Dataset) -> None:
    spec = choose_features(tiny)
    assert spec == FeatureSpec("labels", 3, labels=((0, 3, 5),))
    graphs = apply_features(tiny, spec)
    assert graphs.categorical
    assert graphs.x.tolist() == [[0], [1], [1], [0], [2]]
    assert graphs.dense_x().tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1]]


def test_each_label_column_has_columns_of_its_own(tmp_path: Path) -> None:
    data = read_tu(write_tu(tmp_path, node_labels="4,-1\n4,9\n2,9\n4,9\n4,-1\n"))
    spec = choose_features(data)
    assert spec.labels == ((2, 4), (-1, 9))
    graphs = apply_features(data, spec)
    assert graphs.x.tolist() == [[1, 2], [1, 3], [0, 3], [1, 3], [1, 2]]
    assert graphs.dense_x().sum(1).tolist() == [2] * 5


def test_attributes_are_dense_degrees_are_capped_and_the_constant_is_one(tiny: Dataset) -> None:
    attributes = apply_features(tiny, choose_features(tiny, "attributes"))
    assert not attributes.categorical
    assert np.array_equal(attributes.x.numpy(), tiny.node_attributes)  # type: ignore[arg-type]
    degree = apply_features(tiny, choose_features(tiny, "degree", max_degree=4))
    assert (degree.num_features, degree.x[:, 0].tolist()) == (5, [1, 2, 1, 1, 1])
    capped = apply_features(tiny, choose_features(tiny, "degree", max_degree=1))
    assert (capped.num_features, capped.x[:, 0].tolist()) == (2, [1] * 5)
    constant = apply_features(tiny, choose_features(tiny, "constant"))
    assert constant.dense_x().tolist() == [[1.0]] * 5


def test_auto_takes_labels_then_attributes_then_degrees(tmp_path: Path) -> None:
    data = read_tu(write_tu(tmp_path / "a", node_labels=None))
    assert choose_features(data).kind == "attributes"
    data = read_tu(write_tu(tmp_path / "b", node_labels=None, node_attributes=None))
    assert choose_features(data) == FeatureSpec("degree", 33, max_degree=32)
    with pytest.raises(DataError, match="T: there are no node labels; available features: constant, degree"):
        choose_features(data, "labels")


def test_impossible_wishes_are_refused(tiny: Dataset) -> None:
    with pytest.raises(DataError, match="unknown kind 'colour'; known: auto, labels"):
        choose_features(tiny, "colour")
    with pytest.raises(DataError, match="max_degree is 0"):
        choose_features(tiny, "degree", max_degree=0)


def test_features_that_do_not_fit_say_what_differs(tiny: Dataset, tmp_path: Path) -> None:
    other = read_tu(write_tu(tmp_path / "b", node_labels="0\n3\n4\n0\n5\n", node_attributes="1\n2\n3\n4\n5\n"))
    with pytest.raises(DataError, match="node 3 has the label 4, which is not among the 3"):
        apply_features(other, choose_features(tiny, "labels"))
    with pytest.raises(DataError, match="there are 1 attributes per node, but these features need 2"):
        apply_features(other, choose_features(tiny, "attributes"))
    with pytest.raises(DataError, match="there are 1 labels per node; these features need 2"):
        apply_features(other, FeatureSpec("labels", 3, labels=((0, 1), (0,))))
    bare = read_tu(write_tu(tmp_path / "c", node_labels=None, node_attributes=None))
    for kind in ("labels", "attributes"):
        with pytest.raises(DataError, match=f"T: these features need node {kind}; available: constant, degree"):
            apply_features(bare, choose_features(tiny, kind))
    # Fewer values than known are fine: the columns stay where they were.
    fewer = read_tu(write_tu(tmp_path / "d", node_labels="5\n5\n5\n5\n5\n"))
    assert apply_features(fewer, choose_features(tiny)).x[:, 0].tolist() == [2] * 5


@pytest.mark.parametrize("kind", ["labels", "attributes", "constant", "degree"])
def test_a_spec_survives_json(tiny: Dataset, kind: str) -> None:
    spec = choose_features(tiny, kind)
    assert FeatureSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec


GOOD = {"kind": "labels", "width": 3, "max_degree": None, "labels": [[0, 3, 5]]}
DEGREE = {"kind": "degree", "width": 3, "max_degree": 2, "labels": None}


@pytest.mark.parametrize(
    "junk",
    [
        None,
        [],
        "labels",
        {},
        GOOD | {"more": 1},
        {k: v for k, v in GOOD.items() if k != "labels"},
        GOOD | {"kind": "colour"},
        GOOD | {"kind": ["labels"]},
        GOOD | {"width": 4},
        GOOD | {"width": "3"},
        GOOD | {"width": True},
        GOOD | {"labels": None},
        GOOD | {"labels": []},
        GOOD | {"labels": [[]]},
        GOOD | {"labels": [[], [0, 3, 5]]},
        GOOD | {"labels": [[0, 5, 3]]},
        GOOD | {"labels": [[0, 3, 3]]},
        GOOD | {"labels": [[0, 3, 2**70]]},
        GOOD | {"labels": [[0, 3, 5.5]]},
        GOOD | {"labels": {"0": 1}},
        GOOD | {"labels": "035"},
        GOOD | {"max_degree": 2},
        GOOD | {"kind": "constant", "width": 1},
        DEGREE | {"max_degree": None},
        DEGREE | {"max_degree": 0, "width": 1},
        DEGREE | {"max_degree": -5, "width": -4},
        DEGREE | {"max_degree": 2.0},
        DEGREE | {"kind": "constant", "width": 1, "max_degree": 0},
        {"kind": "attributes", "width": 0, "max_degree": None, "labels": None},
    ],
)
def test_junk_is_not_a_spec(junk: Any) -> None:
    with pytest.raises(DataError) as caught:
        FeatureSpec.from_dict(junk)
    assert "\n" not in str(caught.value)


def test_attributes_of_which_few_are_not_zero_stay_sparse() -> None:
    from scipy.sparse import csr_array

    from tests.examples import one_graph

    words = np.zeros((2, 40), np.float32)
    words[0, 3], words[1, 39] = 2, 5
    for filled, sparse in ((0, True), (4, False)):
        words[0, :filled] = 1
        data = Dataset("words", one_graph(2, (0, 1)), node_attributes=csr_array(words))
        graphs = apply_features(data, choose_features(data))
        assert is_sparse(graphs.x) == sparse
        assert np.array_equal(graphs.dense_x().numpy(), words)
        again = dataset_of(graphs)
        found = again.node_attributes
        assert found is not None
        assert np.array_equal(found if isinstance(found, np.ndarray) else found.toarray(), words)


def test_rows_of_attributes_can_sum_to_one() -> None:
    from scipy.sparse import csr_array

    from tests.examples import one_graph

    words = np.zeros((3, 60), np.float32)
    words[0, :2], words[2, 5] = (3, -1), 7
    expected = np.zeros((3, 60), np.float32)
    expected[0, :2], expected[2, 5] = (0.75, -0.25), 1
    for form in (words, csr_array(words)):
        data = Dataset("words", one_graph(3, (0, 1)), node_attributes=form)
        spec = choose_features(data, scale="rows")
        assert np.array_equal(apply_features(data, spec).dense_x().numpy(), expected)
        assert FeatureSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec
    # Degrees have no scale, and models of the first version name none.
    assert choose_features(data, "degree", scale="rows").scale == "none"
    assert "scale" not in choose_features(data).to_dict()
    for junk in ({"scale": "columns"}, {"scale": 3}, {"kind": "constant", "width": 1, "scale": "rows"}):
        with pytest.raises(DataError):
            FeatureSpec.from_dict(spec.to_dict() | junk)
