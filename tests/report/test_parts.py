"""What goes into the page, by hand."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from nmrgcl.checksums import checksum_of
from nmrgcl.data.dataset import Dataset, dataset_of
from nmrgcl.data.features import choose_features
from nmrgcl.data.motifs import motifs
from nmrgcl.diagnose.spectrum import numerical_rank
from nmrgcl.errors import ModelError
from nmrgcl.graphs import Graphs
from nmrgcl.model_folder import load_model
from nmrgcl.report.accuracy import read_stored
from nmrgcl.report.collect import read_curve
from nmrgcl.report.drawing import MOST_NODES, choose_examples, cut_graph, layout, nearest, path_lengths, rank_labels
from nmrgcl.report.figures import plot_projection, plot_spectra, project, used_spectrum
from nmrgcl.report.svg import Picture
from nmrgcl.run.evaluate import evaluate_run
from nmrgcl.run.evaluation import EVALUATION, Evaluation, keep_evaluation, subject_of
from nmrgcl.run.model_folders import find_models
from tests.examples import undirected
from tests.report.test_page import pretrained

CPU = torch.device("cpu")


def test_a_path_is_laid_out_straight_and_evenly() -> None:
    x = layout(np.array([[0, 1, 2], [1, 2, 3]]), 4)
    apart = np.linalg.norm(x[:, None] - x[None], axis=2)
    np.testing.assert_allclose(apart, np.abs(np.subtract.outer(np.arange(4), np.arange(4))), atol=0.02)


def test_small_and_edgeless_graphs_are_laid_out_apart() -> None:
    none = np.zeros((2, 0), dtype=int)
    assert layout(none, 1).tolist() == [[0, 0]]
    assert layout(none, 0).shape == (0, 2)
    x = layout(none, 3)
    assert min(np.linalg.norm(x[a] - x[b]) for a, b in ((0, 1), (0, 2), (1, 2))) > 0.5


def test_parts_that_are_not_joined_are_one_further_than_any_path() -> None:
    assert path_lengths(np.array([[0, 1], [1, 2]]), 4).tolist() == [
        [0, 1, 2, 3],
        [1, 0, 1, 3],
        [2, 1, 0, 3],
        [3, 3, 3, 0],
    ]


def test_of_a_large_graph_the_hub_s_neighbourhood_is_drawn() -> None:
    tail = [(i, i + 1) for i in range(300)]
    star = [(300, 301 + i) for i in range(50)]
    graphs = Graphs.build(torch.cat([undirected((0, 1)), undirected(*tail, *star) + 2], 1), torch.tensor([0, 2, 353]))
    nodes, edges = cut_graph(Dataset("tail", graphs), 1)
    assert len(nodes) == MOST_NODES
    assert nodes[0] == 302
    assert set(range(303, 353)) <= set(nodes.tolist())
    assert edges.shape == (2, MOST_NODES - 1)  # a tree's connected part is a tree
    nodes, edges = cut_graph(Dataset("tail", graphs), 0)
    assert (nodes.tolist(), edges.tolist()) == ([0, 1], [[0], [1]])


def test_nearest_leaves_the_graph_itself_out() -> None:
    rows, distances = nearest(np.array([[0.0], [3.0], [1.0], [0.0]]), 0, 2)
    assert (rows.tolist(), distances.tolist()) == ([3, 2], [0, 1])
    assert nearest(np.zeros((2, 1)), 0, 5)[0].tolist() == [1]


def test_examples_come_from_every_class() -> None:
    assert choose_examples(np.array([1, 0, 1, 0]), 4, 2) == [3, 2]
    assert choose_examples(None, 2, 4) == [0, 1]


def test_projection_is_pca() -> None:
    places, shares = project(np.array([[0.0, 5.0], [2.0, 5.0], [4.0, 5.0]]))
    np.testing.assert_allclose(np.abs(places[:, 0]), [2, 0, 2], atol=1e-12)
    np.testing.assert_allclose(shares, [1, 0], atol=1e-12)
    assert project(np.ones((3, 1)))[1].tolist() == [0, 0]


def test_a_class_without_marks_leaves_the_names_of_the_others_as_they_are() -> None:
    figure = plot_projection(np.eye(3), np.array([0, 2, 2]), ["a", "b", "c"])
    names = {"points-0": [(0, "<one>")], "points-1": [], "points-2": [(1, "two"), (2, "three")]}
    svg = ElementTree.fromstring(Picture("map", "Map", "Three marks.", "", figure, names).svg)
    marks = [mark for mark in svg.iter() if "data-row" in mark.attrib]
    assert [(mark.attrib["data-row"], mark[0].text) for mark in marks] == [("0", "<one>"), ("1", "two"), ("2", "three")]


def test_labels_are_ranked_by_frequency_and_those_beyond_the_count_have_no_rank() -> None:
    graphs = Graphs.build(torch.zeros(2, 0, dtype=torch.long), torch.tensor([0, 6]))
    labels = np.array([[7, 0], [5, 0], [7, 0], [9, 0], [5, 0], [7, 0]])
    assert rank_labels(replace(dataset_of(graphs), node_labels=labels), np.array([0, 1, 3]), 2) == [0, 1, -1]
    assert rank_labels(dataset_of(graphs), np.array([0, 1, 3]), 2) == [1, 1, 1]


def test_a_spectrum_without_spread_is_empty_and_can_be_drawn() -> None:
    assert used_spectrum(np.array([2.0, 1.0, 1e-9])).tolist() == [1, 0.5]
    assert used_spectrum(np.zeros(3)).tolist() == []
    assert plot_spectra({"before": np.zeros(3), "after": np.zeros(3)}).axes


def test_a_page_counts_as_many_directions_as_the_verdict_on_it() -> None:
    values = np.array([2.0, 1.0, 2.2e-6, 1.8e-6, 2.2e-7])
    assert len(used_spectrum(values)) == numerical_rank(torch.from_numpy(values)) == 3


def test_damaged_lines_of_a_record_are_passed_over(tmp_path: Path) -> None:
    assert read_curve(tmp_path, "loss") == {}
    lines = [
        '{"epoch": 1, "loss": 2.5}',
        '{"epoch": 2}',
        "[]",
        "{",
        '{"epoch": 3, "loss": "x"}',
        '{"epoch": 4, "loss": 1}',
    ]
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines))
    assert read_curve(tmp_path, "loss") == {1: 2.5, 4: 1.0}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Dataset, dict[str, Any]]:
    run, data = pretrained(tmp_path_factory.mktemp("judged") / "run"), motifs(60)
    found = evaluate_run(run, data, device=CPU, jobs=1)
    assert keep_evaluation(run, found, data)
    return run, data, found.to_dict()


def kept_with(run: Path, values: dict[str, Any], **changes: Any) -> None:
    """Write ``values`` with ``changes`` as the run's evaluation, with a checksum that is right."""
    sealed = {"format": "nmrgcl-evaluation", "version": 2, **values, **changes}
    (run / EVALUATION).write_text(json.dumps(sealed | {"checksum": checksum_of(sealed)}))


def reading(run: Path, data: Dataset) -> Evaluation | None:
    return read_stored(run, data, [load_model(folder) for folder in find_models(run)])


def test_a_stored_evaluation_of_this_run_is_used(judged: tuple[Path, Dataset, dict[str, Any]]) -> None:
    run, data, values = judged
    kept_with(run, values)
    found = reading(run, data)
    assert found is not None
    assert found.to_dict() == values
    (run / EVALUATION).unlink()
    assert reading(run, data) is None


@pytest.mark.parametrize(
    "changes",
    [{"dataset": "MUTAG"}, {"svm": {"c": "grid", "inner": "shuffled", "standardise": True, "folds": 3}}, {"svm": None}],
    ids=["another dataset", "another judge", "no judge"],
)
def test_a_stored_evaluation_of_another_kind_is_passed_over(
    changes: dict[str, Any], judged: tuple[Path, Dataset, dict[str, Any]]
) -> None:
    run, data, values = judged
    kept_with(run, values, **changes)
    assert reading(run, data) is None
    kept_with(run, values)
    assert reading(run, replace(data, name="other")) is None


def test_an_evaluation_without_the_folds_of_the_untrained_encoder_is_passed_over(
    judged: tuple[Path, Dataset, dict[str, Any]],
) -> None:
    run, data, values = judged
    earlier = {key: value for key, value in values.items() if key != "penalties"}
    kept_with(run, earlier)
    assert reading(run, data) is None


def test_an_evaluation_of_a_kernel_has_no_untrained_encoder(tmp_path: Path) -> None:
    run, data = pretrained(tmp_path / "run", method="wl"), motifs(60)
    found = evaluate_run(run, data, device=CPU, jobs=1)
    assert found.untrained is None
    assert keep_evaluation(run, found, data)
    kept = reading(run, data)
    assert kept is not None
    assert kept.to_dict() == found.to_dict()


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "fewer models": ({"folds": [[50.0, 50.0, 50.0]]}, "not one per fold"),
    "not numbers": ({"folds": "none"}, "not one per fold"),
    "not finite": ({"folds": [[1e999] * 3] * 2}, "not what nmrgcl evaluate writes"),
    "no untrained": ({"untrained": None}, "not one per fold"),
    "no C": ({"penalties": [[1.0, 1.0, 0.0]] * 2}, "not one per fold"),
    "a C too few": ({"penalties": [[1.0, 1.0]] * 2}, "not one per fold"),
    "other weights": ({"models_sha256": ["0" * 64, "1" * 64]}, "belong to other models"),
    "one model more": ({"models_sha256": []}, "belong to other models"),
    "other data": ({"data_sha256": "0" * 64}, "belong to other data"),
    "a newer version": ({"version": 3}, "newer version"),
    "an earlier version": ({"version": 1}, "earlier version"),
    "no version": ({"version": None}, "not what nmrgcl evaluate writes"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_stored_evaluation_of_anything_else_is_refused(
    case: str, judged: tuple[Path, Dataset, dict[str, Any]]
) -> None:
    run, data, values = judged
    changes, told = REFUSED[case]
    kept_with(run, values, **changes)
    with pytest.raises(ModelError, match=told) as refused:
        reading(run, data)
    assert str(refused.value).isprintable()
    assert "nmrgcl evaluate" in str(refused.value) or "upgrade" in str(refused.value)


def test_an_edited_score_is_noticed(judged: tuple[Path, Dataset, dict[str, Any]]) -> None:
    run, data, values = judged
    kept_with(run, values)
    text = json.loads((run / EVALUATION).read_text())
    text["folds"][0][0] = 99.0
    (run / EVALUATION).write_text(json.dumps(text))
    with pytest.raises(ModelError, match=r"was changed after it was written .* run nmrgcl evaluate .* again"):
        reading(run, data)


def test_labels_features_and_edges_are_part_of_the_data_an_evaluation_is_bound_to() -> None:
    data = motifs(6)
    assert data.graphs.y is not None
    flipped = data.graphs.y.clone()
    flipped[0] = 1 - flipped[0].clamp(max=1)
    others = [
        replace(data, held=replace(data.graphs, y=flipped)),
        replace(data, held=data.graphs.take(torch.arange(5))),
    ]
    spec = choose_features(data, "degree", 4)
    digests = [subject_of([], each, spec).data for each in (data, *others)]
    digests.append(subject_of([], data, choose_features(data, "degree", 5)).data)
    assert len(set(digests)) == 4
    assert subject_of([], motifs(6), spec).data == digests[0]
