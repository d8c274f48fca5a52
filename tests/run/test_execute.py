"""A cell is computed once, and interruptions do not change its result."""

import json
import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmrgcl.data.loading import load
from nmrgcl.errors import DataError, SettingError
from nmrgcl.evaluate.cross_validation import GRID
from nmrgcl.evaluate.lssvm import lssvm_table
from nmrgcl.evaluate.svm import svm_scores
from nmrgcl.lock import BusyError, locked
from nmrgcl.model_folder import load_model
from nmrgcl.run.cell import Cell
from nmrgcl.run.checkpoints import Cadence
from nmrgcl.run.diagnosis import diagnose_model
from nmrgcl.run.embeddings import embed_dataset
from nmrgcl.run.execute import execute
from nmrgcl.run.interrupt import Interrupted
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.run.protocols import is_judged
from nmrgcl.run.results import Results
from nmrgcl.settings import Settings
from nmrgcl.train import pretrain
from tests.run.cells import CPU, quick
from tests.test_cli import write_tu


def forbid(*arguments: Any, **options: Any) -> None:
    raise AssertionError("nothing may be computed here")


def in_a_child_that_is_killed(run: Cell, results: Results, *, at_write: int) -> None:
    """Execute ``run`` in a fork of this process that is killed right after its ``at_write``-th checkpoint."""
    pid = os.fork()
    if pid == 0:
        from nmrgcl.run import checkpoints

        write, left = checkpoints.write_checkpoint, [at_write]

        def write_then_die(*arguments: Any) -> Path:
            path = write(*arguments)
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return path

        checkpoints.write_checkpoint = write_then_die  # type: ignore[assignment]
        try:
            execute(run, results, device=CPU, cadence=Cadence(steps=1))
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL


def epochs_trained(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that records each epoch trained by ``execute``."""
    numbers: list[int] = []

    def counted(*arguments: Any, **options: Any) -> Iterator[Any]:
        for epoch in pretrain(*arguments, **options):
            numbers.append(epoch.number)
            yield epoch

    monkeypatch.setattr("nmrgcl.run.execute.pretrain", counted)
    return numbers


def test_a_cell_has_the_scores_of_the_commands(tmp_path: Path) -> None:
    run = quick()
    result = execute(run, Results(tmp_path / "results"), device=CPU)
    data = load("motifs")
    list(pretrain_seeds(data, run.settings, seeds=[0], out=tmp_path / "run", device=CPU))
    found = embed_dataset(load_model(tmp_path / "run/seed-0"), data, CPU)
    expected = svm_scores(found.z, found.y, seed=0, folds=2, c="default", jobs=1)  # type: ignore[arg-type]
    assert result.scores == {"folds": expected.tolist(), "mean": float(expected.mean())}
    assert result.chosen is None
    metrics = json.loads((tmp_path / "run/seed-0/metrics.jsonl").read_text().splitlines()[-1])
    tracked = {name: value for name, value in metrics.items() if name != "epoch"}
    assert result.training["epochs"] == 2
    assert {name: result.training[name] for name in tracked} == tracked
    model = diagnose_model(load_model(tmp_path / "run/seed-0"), data, CPU, "").found
    assert model.views is not None  # The 300 graphs are all in the sample of both.
    assert result.training["alignment"] == pytest.approx(model.views["alignment"])
    assert 10 / 299 < result.training["neighbours"] < 1
    assert (result.data["name"], result.data["graphs"], result.data["edges"]) == ("motifs", 300, 7245)
    assert {"nmrgcl", "torch", "scikit-learn"} <= set(result.versions)
    assert result.times["total"] == pytest.approx(sum(result.times[part] for part in ("load", "train", "judge")))


def test_a_finished_cell_is_read_and_never_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = Results(tmp_path)
    first = execute(quick(), results, device=CPU)
    assert not results.work(first.key).exists()
    monkeypatch.setattr("nmrgcl.run.execute._compute", forbid)
    assert execute(quick("Motifs"), results, device=CPU) == first


@pytest.mark.parametrize(("selection", "at_write"), [("honest", 2), ("honest", 5), ("paper", 17)])
def test_a_killed_cell_continues_to_the_same_scores(
    selection: str, at_write: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = quick(selection=selection, epochs=7 if selection == "paper" else 2)
    expected = execute(run, Results(tmp_path / "whole"), device=CPU)
    results = Results(tmp_path / "killed")
    in_a_child_that_is_killed(run, results, at_write=at_write)
    trained = epochs_trained(monkeypatch)
    found = execute(run, results, device=CPU)
    assert (found.scores, found.chosen, found.training) == (expected.scores, expected.chosen, expected.training)
    assert trained == {2: [1, 2], 5: [2], 17: [6, 7]}[at_write]
    assert not list((tmp_path / "killed/.work").iterdir())


def test_a_signal_leaves_a_checkpoint_from_which_the_cell_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = execute(quick(), Results(tmp_path / "whole"), device=CPU)
    results = Results(tmp_path / "ended")
    with monkeypatch.context() as patch:

        def signalled(*arguments: Any, **options: Any) -> Iterator[Any]:
            for epoch in pretrain(*arguments, **options):
                os.kill(os.getpid(), signal.SIGTERM)
                yield epoch

        patch.setattr("nmrgcl.run.execute.pretrain", signalled)
        with pytest.raises(Interrupted) as caught:
            execute(quick(), results, device=CPU)
        assert caught.value.signum == signal.SIGTERM
    assert list(results.work(quick().key).glob("*/*.ckpt"))
    trained = epochs_trained(monkeypatch)
    assert execute(quick(), results, device=CPU).scores == expected.scores
    assert trained == [2]


def test_a_signal_while_judging_loses_no_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = Results(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("nmrgcl.run.execute.score_cell", lambda *arguments: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(Interrupted):
            execute(quick(), results, device=CPU)
    trained = epochs_trained(monkeypatch)
    assert execute(quick(), results, device=CPU).status == "done"
    assert trained == []


def test_paper_selection_reports_the_best_epoch_and_c_on_the_evaluated_folds(tmp_path: Path) -> None:
    run = quick(selection="paper", epochs=7, **{"svm.c": "grid"})
    result = execute(run, Results(tmp_path), device=CPU)
    tables = {}
    for epochs in (5, 7):
        out = tmp_path / f"run-{epochs}"
        settings = run.settings.updated({"epochs": epochs})
        list(pretrain_seeds(load("motifs"), settings, seeds=[0], out=out, device=CPU))
        found = embed_dataset(load_model(out / "seed-0"), load("motifs"), CPU)
        for c in GRID:
            tables[epochs, c] = svm_scores(found.z, found.y, seed=0, folds=2, c=c, jobs=1)  # type: ignore[arg-type]
    best = max(tables, key=lambda key: tables[key].mean())
    assert result.chosen == {"epoch": best[0], "c": best[1]}
    np.testing.assert_array_equal(result.scores["folds"], tables[best])
    assert result.to_dict()["named"]["selection"] == "paper"


@pytest.mark.parametrize(
    ("epochs", "looks"), [(4, []), (20, [5, 10, 15, 20]), (100, range(5, 101, 5)), (500, range(25, 501, 25))]
)
def test_paper_selection_looks_at_twenty_epochs_at_most(epochs: int, looks: Sequence[int]) -> None:
    assert [n for n in range(1, epochs + 1) if is_judged(n, epochs)] == list(looks)


@pytest.mark.parametrize("selection", ["honest", "paper"])
def test_a_cell_judged_by_least_squares_has_the_scores_of_that_judge(selection: str, tmp_path: Path) -> None:
    run = replace(quick(selection=selection, epochs=5, **{"svm.c": "grid"}), protocol="lssvm")
    result = execute(run, Results(tmp_path / "results"), device=CPU)
    list(pretrain_seeds(load("motifs"), run.settings, seeds=[0], out=tmp_path / "run", device=CPU))
    found = embed_dataset(load_model(tmp_path / "run/seed-0"), load("motifs"), CPU)
    assert found.y is not None
    left_out, tested = lssvm_table(found.z, found.y, seed=0, folds=2)
    if selection == "paper":
        best = int(tested.mean(1).argmax())
        assert result.chosen == {"epoch": 5, "c": GRID[best]}
        assert result.scores["folds"] == tested[best].tolist()
    else:
        assert result.scores["folds"] == tested[left_out.argmax(0), [0, 1]].tolist()
        assert result.scores["inner"] == left_out.max(0).tolist()
        assert result.to_dict()["named"]["protocol"] == "lssvm"


def test_the_untrained_encoder_is_a_cell_like_any_other(tmp_path: Path) -> None:
    result = execute(quick(method="untrained", epochs=0, selection="paper"), Results(tmp_path), device=CPU)
    assert result.chosen == {"epoch": 0, "c": 1.0}
    assert result.training["loss"] is None
    with pytest.raises(SettingError, match="train.epochs = 0"):
        execute(quick(method="untrained"), Results(tmp_path), device=CPU)


def test_a_damaged_result_is_named_and_computed_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = Results(tmp_path)
    first = execute(quick(), results, device=CPU)
    path = results.path(first.key)
    path.write_text(path.read_text().replace('"mean"', '"Mean"'))
    assert execute(quick(), results, device=CPU).scores == first.scores
    assert f"{path}: damaged" in capsys.readouterr().err


def test_a_cell_that_another_process_has_is_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmrgcl.run.execute._compute", forbid)
    with locked(tmp_path / ".locks", f"{quick().key}.lock"), pytest.raises(BusyError, match=f"process {os.getpid()}"):
        execute(quick(), Results(tmp_path), device=CPU)


def test_a_file_that_changed_does_not_continue_from_the_checkpoint_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_tu(tmp_path / "MINE")
    run, results = quick(str(folder), batch_size=10), Results(tmp_path / "results")
    in_a_child_that_is_killed(run, results, at_write=4)
    (folder / "MINE_node_labels.txt").write_text("0\n1\n1\n" * 30)
    trained = epochs_trained(monkeypatch)
    execute(run, results, device=CPU)
    assert trained == [1, 2]


def test_a_folder_that_is_called_like_a_dataset_does_not_pass_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_tu(tmp_path / "MUTAG")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="differs from the published MUTAG"):
        execute(quick("MUTAG"), Results(tmp_path / "results"), device=CPU)
    assert execute(quick("./MUTAG"), Results(tmp_path / "results"), device=CPU).data["graphs"] == 30


def test_graphs_without_labels_cannot_be_judged(tmp_path: Path) -> None:
    folder = write_tu(tmp_path / "MINE")
    (folder / "MINE_graph_labels.txt").unlink()
    with pytest.raises(DataError, match="no graph labels"):
        execute(Cell(str(folder), Settings()), Results(tmp_path / "results"), device=CPU)
