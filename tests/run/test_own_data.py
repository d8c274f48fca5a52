"""A run finds its training data again and notices if it has changed."""

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from nmrgcl.record import RecordFormat
from nmrgcl.run.embeddings import read_embeddings
from nmrgcl.run.folder import read_record
from tests.test_cli import run

FAST = ("--set", "epochs=1", "--set", "encoder.units=4", "--set", "layers=2", "--seeds", "1", "--quiet")


def write_graphs(path: Path, *, longest: int = 9) -> None:
    """Cycles and stars with 4 or more nodes, called cycle-4, star-4 and so on."""
    lines = []
    for n in range(4, longest + 1):
        for kind, graph in (("cycle", nx.cycle_graph(n)), ("star", nx.star_graph(n - 1))):
            lines.append(json.dumps({"id": f"{kind}-{n}", "edges": list(graph.edges), "y": kind}))
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def trained(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run on graphs.jsonl, given by a relative path; the test then runs in another folder."""
    write_graphs(tmp_path / "graphs.jsonl")
    monkeypatch.chdir(tmp_path)
    run(capsys, "pretrain", "graphs.jsonl", *FAST, "--out", "run")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path / "run"


JUDGED = ("--set", "svm.folds=3", "--set", "c=default", "--jobs", "1", "--device", "cpu", "--json")


def test_judging_a_run_or_its_model_needs_no_dataset(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = json.loads(run(capsys, "evaluate", str(trained), str(trained.parent / "graphs.jsonl"), *JUDGED)[0])
    for folder in (trained, trained / "seed-0"):
        assert json.loads(run(capsys, "evaluate", str(folder), *JUDGED)[0])["folds"] == named["folds"]
    assert json.loads(run(capsys, "diagnose", str(trained), "--json")[0])["rows"] == 12
    text, _ = run(capsys, "compare", str(trained), str(trained), *JUDGED)
    assert json.loads(text)["differences"][0]["mean"] == 0


@pytest.mark.parametrize("command", ["evaluate", "report", "diagnose"])
def test_data_that_has_changed_is_refused_unless_it_is_named(
    command: str, trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = trained.parent / "graphs.jsonl"
    write_graphs(path, longest=10)
    _, err = run(capsys, command, str(trained), code=2)
    assert err == (
        f"nmrgcl: {path}: has changed since {trained} was trained on it; "
        f"to use it as it is now: nmrgcl {command} {trained} {path}\n"
    )
    if command == "diagnose":
        assert json.loads(run(capsys, command, str(trained), str(path), "--json")[0])["rows"] == 14


def test_labels_and_ids_may_change_since_training_sees_neither(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = trained.parent / "graphs.jsonl"
    graphs = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(graph | {"id": i, "y": i % 2}) + "\n" for i, graph in enumerate(graphs)))
    run(capsys, "evaluate", str(trained), *JUDGED)


def test_data_that_is_gone_is_asked_for(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (trained.parent / "graphs.jsonl").unlink()
    _, err = run(capsys, "evaluate", str(trained), code=2)
    assert (
        f"graphs.jsonl: no such file or folder; or say where the training data is: nmrgcl evaluate {trained} DATA"
        in err
    )


def test_a_run_of_an_earlier_version_has_no_path_and_is_resumed(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = trained / "run.json"
    now = RecordFormat("nmrgcl-run", 2, "").parse(path.read_text())
    del now["data_source"]
    RecordFormat("nmrgcl-run", 1, "").write(path, now, indent=1)
    record = read_record(trained)
    assert record is not None
    assert record.data_source == ""
    _, err = run(capsys, "evaluate", str(trained), code=2)
    assert f"or say where the training data is: nmrgcl evaluate {trained} DATA" in err
    data = trained.parent / "graphs.jsonl"
    before = (trained / "seed-0" / "SHA256SUMS").read_bytes()
    run(capsys, "pretrain", str(data), *FAST, "--out", str(trained), "--resume")
    assert (trained / "seed-0" / "SHA256SUMS").read_bytes() == before
    resumed = read_record(trained)
    assert resumed is not None
    assert resumed.data_source == str(data)


def test_files_of_embeddings_have_ids_and_are_judged_alike(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folds, ranks = [], []
    for ending in ("npz", "csv", "parquet"):
        out = trained.parent / f"z.{ending}"
        run(capsys, "embed", str(trained), str(trained.parent / "graphs.jsonl"), "--out", str(out))
        found = read_embeddings(out)
        assert found.id.tolist() == [f"{kind}-{n}" for n in range(4, 10) for kind in ("cycle", "star")]
        assert found.y is not None
        assert found.y.tolist() == ["cycle", "star"] * 6
        assert found.z.dtype == np.float32
        folds.append(json.loads(run(capsys, "evaluate", str(out), *JUDGED)[0])["folds"])
        ranks.append(json.loads(run(capsys, "diagnose", str(out), "--json")[0])["models"])
    assert folds[0] == folds[1] == folds[2]
    assert [one[0]["effective_rank"] for one in ranks] == [ranks[0][0]["effective_rank"]] * 3


def test_a_list_of_edges_is_data_to_diagnose_on_not_embeddings(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = trained.parent / "edges.csv"
    path.write_text("graph,source,target\n" + "".join(f"{g},{i},{i + 1}\n" for g in range(3) for i in range(g + 2)))
    assert json.loads(run(capsys, "diagnose", str(trained), str(path), "--json")[0])["rows"] == 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("id,x\na,1\n", "has no columns z0, z1, …; write it with nmrgcl embed"),
        ("z0,z0\n1,2\n", "two columns are named 'z0'; keep one of them"),
        ("z0,y\n1,a\nnone,b\n", "line 3: z0: "),
        ("z0,y\n1,0.5\n2,1\n", "y must hold one class per row of z"),
        ("", "has no columns z0"),
    ],
)
def test_a_table_that_holds_no_embeddings_is_refused(
    text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "z.csv").write_text(text)
    _, err = run(capsys, "evaluate", str(tmp_path / "z.csv"), code=2)
    assert told in err
    assert err.count("\n") == 1


def test_numbers_that_need_more_bits_keep_them(tmp_path: Path) -> None:
    (tmp_path / "z.csv").write_text("id,z0,y\n7,0.1,1\n8,0.25,\n")
    found = read_embeddings(tmp_path / "z.csv")
    assert found.z.tolist() == [[0.1], [0.25]]
    assert found.id.tolist() == [7, 8]
    assert found.labelled.tolist() == [True, False]
