"""``nmrgcl bench``: its tables say what they claim to say; how fast things are is not tested."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bench import geometric, geometric_transforms
from bench.loss import loss_rows, plain_infonce
from bench.memory import peak_bytes, watched
from bench.molecules import bonded_molecules, drawn, molecules
from bench.scale import Point, exponent, sizes_up_to
from bench.step import step_rows
from bench.table import Row, to_text
from bench.timing import in_turn, row
from nmrgcl.cli import main
from nmrgcl.contrast import infonce
from nmrgcl.data.conversions import from_pyg, to_pyg
from tests.examples import edge_set

CPU = torch.device("cpu")
COMMANDS = {
    "step": ["--data", "MUTAG", "--device", "cpu"],
    "views": ["--data", "MUTAG", "--device", "cpu"],
    "loss": ["--pairs", "8", "--pairs", "100", "--units", "4", "--device", "cpu"],
    "store": ["--graphs", "2000"],
    "scale": ["--graphs", "1000", "--device", "cpu"],
    "svm": ["--rows", "120"],
}
WITHOUT_PEER = {"MUTAG: floor", "2,000 graphs: open", "2,000 graphs: on disk"}
SCALE_ROWS = """\
2 × 32 molecular GIN, batch 128, float32: step, to floor
2 × 32 molecular GIN, batch 128, float32: a molecule
1,000 graphs, resident: epoch
1,000 graphs, resident: a graph
1,000 graphs, resident: memory of the host
1,000 graphs, chunks: epoch, to resident
1,000 graphs, chunks: a graph
1,000 graphs, chunks: memory of the host
2,500 graphs, resident: epoch
2,500 graphs, resident: a graph
2,500 graphs, resident: memory of the host
2,500 graphs, chunks: epoch, to resident
2,500 graphs, chunks: a graph
2,500 graphs, chunks: memory of the host
resident: time grows with this power of the graphs
chunks: time grows with this power of the graphs
""".splitlines()


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["nmrgcl", "bench", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
    assert stopped.value.code == code
    output = capsys.readouterr()
    return output.out, output.err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_row_has_a_positive_value_and_the_ratio_of_its_peer(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = run(capsys, command, *COMMANDS[command], "--repeats", "1", "--json")
    found: dict[str, Any] = json.loads(out)
    assert set(found) == {"rows", "machine"}
    assert {"processor", "cores", "device", "threads", "versions"} <= set(found["machine"])
    assert {"torch", "scikit-learn", "torch-geometric"} <= set(found["machine"]["versions"])
    assert found["rows"]
    for entry in found["rows"]:
        assert set(entry) == {"name", "value", "unit", "peer", "ratio", "spread"}
        assert entry["value"] > 0
        assert entry["spread"] == 0  # of one measurement
        if entry["peer"] is None:
            assert entry["ratio"] is None
            assert entry["name"] in WITHOUT_PEER or ", to " not in entry["name"]
        else:
            assert entry["ratio"] == pytest.approx(entry["peer"] / entry["value"])
    assert err == ""
    assert torch.get_num_threads() == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_every_benchmark_explains_itself_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, command, "--help")
    assert f"nmrgcl bench {command}" in out
    assert "--json" in out


@pytest.mark.parametrize("arguments", [[], ["--help"], ["step", "--data", "MUTAG"]])
def test_outside_a_checkout_one_line_says_where_it_works(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.modules["nmrgcl.cli.bench"], "BENCHMARKS", tmp_path)
    out, err = run(capsys, *arguments, code=2)
    assert out == ""
    assert err.startswith("nmrgcl: bench works only in a checkout")
    assert err.count("\n") == 1


def test_a_table_shows_every_column(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "loss", "--pairs", "16", "--device", "cpu", "--repeats", "2")
    head, *lines = out.splitlines()
    assert head.split() == ["name", "value", "unit", "peer", "ratio", "spread"]
    assert len(lines) == 2
    empty = to_text([Row("a", 2.0, "s", 0.5)]).splitlines()[1].split()
    assert empty == ["a", "2", "s", "0.5"]


def test_the_median_of_repeats_taken_in_turn_after_a_warm_up() -> None:
    order: list[str] = []
    costs = {"a": iter([9.0, 1.0, 5.0, 2.0]), "b": iter([9.0, 6.0, 4.0, 8.0])}

    def measure(name: str) -> float:
        order.append(name)
        return next(costs[name])

    found = in_turn({"a": lambda: measure("a"), "b": lambda: measure("b")}, 3)
    assert order == ["a", "b"] * 4
    line = row("x", "ms", found["a"], found["b"], scale=1e3)
    assert (line.value, line.peer, line.spread, line.ratio) == (2000, 6000, 4000, 3)


def test_without_pyg_its_column_is_empty_and_a_note_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(geometric, "installed", lambda: False)
    rows = step_rows(["MUTAG"], device=CPU, repeats=1)
    assert {r.name: r.peer is None for r in rows if "PyG" in r.name} == {
        f"MUTAG: {views} views, to PyG by {way}": True for views in ("three", "four") for way in ("graph", "batch")
    }
    out, err = run(capsys, "views", "--data", "MUTAG", "--device", "cpu", "--repeats", "1", "--json")
    assert all(entry["peer"] is None for entry in json.loads(out)["rows"])
    assert err == "note: PyG is not installed, so its columns are empty; pip install torch-geometric\n"


def test_a_matrix_that_does_not_fit_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bench.loss.available_bytes", lambda device: 10**6)
    rows = loss_rows([8, 512], units=4, device=CPU, repeats=1)
    assert [r.peer is None for r in rows] == [False, False, True, True]
    assert capsys.readouterr().err == "note: N = 512: the plain matrix form would not fit in memory\n"


def test_the_plain_loss_is_the_same_loss() -> None:
    torch.manual_seed(0)
    z1, z2 = torch.randn(2, 9, 5, dtype=torch.float64).requires_grad_().unbind()
    torch.testing.assert_close(plain_infonce(z1, z2), infonce(z1, z2))


def test_peak_memory_counts_what_is_held_at_a_time() -> None:
    def work() -> None:
        first = torch.ones(1000)  # 4,000 bytes
        second = first + 1  # 8,000
        del first
        second.double()  # 4,000 + 8,000

    assert peak_bytes(work, CPU) == 12_000


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_watched_memory_is_what_was_held_at_the_peak() -> None:
    with watched() as watch:
        np.ones(60_000_000, np.uint8)
        held = np.ones(100_000_000, np.uint8)
        time.sleep(0.1)
        del held
    assert 95e6 < watch.peak < 180e6


def test_the_peers_views_are_views_of_each_graph() -> None:
    """Every graph of the peer's view is an induced, thinned or featureless part of the graph it came from."""
    torch.manual_seed(0)
    graphs = molecules(30)
    data = to_pyg(graphs)
    for _ in range(5):
        x, edge_index, batch = geometric.augment(data, 4)
        assert x.shape[0] == batch.shape[0] < data.num_nodes
        assert edge_index.shape[1] < graphs.num_edges
        assert {(b, a) for a, b in edge_index.T.tolist()} == {(a, b) for a, b in edge_index.T.tolist()}
        assert torch.equal(batch[edge_index[0]], batch[edge_index[1]])
    seen = geometric.walk(data)
    counts = torch.bincount(data.batch[seen], minlength=30)
    assert bool((counts >= 1).all() and (counts <= (0.8 * graphs.node_counts()).ceil()).all())


def test_the_peers_views_by_graph_are_parts_of_their_graph() -> None:
    torch.manual_seed(0)
    data = to_pyg(molecules(1))
    number = torch.arange(data.num_nodes)
    data.x = (1.0 + number)[:, None]  # a node's number survives relabelling
    edges = set(map(tuple, data.edge_index.T.tolist()))
    kinds = set()
    for _ in range(60):
        seen = geometric_transforms.view(data, 4)
        source, destination = seen.edge_index
        assert {(b, a) for a, b in seen.edge_index.T.tolist()} == {(a, b) for a, b in seen.edge_index.T.tolist()}
        if bool((seen.x > 0).all()):
            old = seen.x.squeeze(1).long() - 1
            assert set(zip(old[source].tolist(), old[destination].tolist(), strict=True)) <= edges
        kinds.add((len(seen.x) < len(number), seen.edge_index.shape[1] < len(edges), bool((seen.x > 0).all())))
    assert {(True, True, True), (False, True, True), (False, False, False)} <= kinds


def test_made_up_molecules_are_simple_undirected_graphs() -> None:
    graphs = molecules(50)
    assert graphs.symmetric
    assert len(edge_set(graphs)) == graphs.num_edges
    assert not bool((graphs.edge_index[0] == graphs.edge_index[1]).any())
    assert torch.equal(from_pyg(to_pyg(graphs).to_data_list()).edge_index, graphs.edge_index)


def test_bonded_molecules_have_what_the_molecular_encoder_reads() -> None:
    graphs = bonded_molecules(50)
    assert graphs.edge_attr is not None
    assert torch.equal(graphs.edge_attr[graphs.pair], graphs.edge_attr)  # both directions alike
    assert [column.unique().tolist() for column in graphs.edge_attr.T] == [[1, 2, 3, 4], [0, 1, 2]]
    assert graphs.x.amin(0).tolist() >= [0, 120]
    assert graphs.x.amax(0).tolist() <= [119, 122]
    assert [len(part) for part in drawn(graphs, 100, 64)] == [64, 36]


def test_the_exponent_of_known_growth() -> None:
    def points(*pairs: tuple[int, float]) -> list[Point]:
        return [Point("resident", graphs, [seconds], 0, 0) for graphs, seconds in pairs]

    assert exponent(points((1000, 1), (10_000, 10), (100_000, 100)), 100) == pytest.approx(1)
    assert exponent(points((1000, 1), (10_000, 100)), 100) == pytest.approx(2)
    # What is less than four batches is left out.
    assert exponent(points((399, 1000), (1000, 1), (10_000, 10)), 100) == pytest.approx(1)
    assert exponent(points((399, 1), (1000, 1)), 100) is None
    assert sizes_up_to(1000) == [1000]
    assert sizes_up_to(2_000_000) == [1000, 10_000, 100_000, 2_000_000]


def test_scale_draws_what_it_measures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot = tmp_path / "scale.svg"
    out, _ = run(
        capsys, "scale", "--graphs", "2500", "--device", "cpu", "--repeats", "1", "--json", "--plot", str(plot)
    )
    names = [entry["name"] for entry in json.loads(out)["rows"]]
    assert names == SCALE_ROWS
    assert "seconds an epoch" in plot.read_text()


@pytest.mark.parametrize("place", ["scale.gif", "no/folder/scale.svg"])
def test_a_plot_that_cannot_be_written_is_refused_at_once(
    tmp_path: Path, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = run(capsys, "scale", "--plot", str(tmp_path / place), code=2)
    assert out == ""
    assert err.startswith(f"nmrgcl: {tmp_path / place}: ")
    assert err.count("\n") == 1


def test_svm_scores_that_differ_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bench.svm.by_grid_search", lambda *_: np.zeros(2))
    out, err = run(capsys, "svm", "--rows", "120", "--repeats", "1", code=2)
    assert out == ""
    assert err.startswith("nmrgcl: the SVM scores")
    assert err.count("\n") == 1
