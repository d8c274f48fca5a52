"""``nmrgcl finetune`` and ``nmrgcl predict`` as a chemist types them, with good files and bad ones."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from nmrgcl.data.loading import molecule_file
from nmrgcl.data.molecules import read_molecules, split_molecules
from nmrgcl.data.molecules.fingerprints import ecfp
from nmrgcl.evaluate.fingerprints import fingerprint_score
from nmrgcl.predict import finetune, fit, members
from nmrgcl.predict.calibrate import Calibration
from nmrgcl.predict.finetune import count_shared, finetune_molecules
from nmrgcl.predict.folder import load_predictor
from tests.predict.planted import OXYGEN, SMILES, TINY, read, rows, tiny, write
from tests.test_cli import run

pytest.importorskip("rdkit", reason="RDKit reads SMILES")
FAST = [part for assignment in TINY for part in ("--set", assignment)] + ["--model", "none", "--device", "cpu"]
CPU = torch.device("cpu")
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "planted.csv")


def test_two_commands_from_a_file_to_predictions(capsys: Capture, tmp_path: Path, data: Path) -> None:
    model = str(tmp_path / "model")
    out, err = run(capsys, "finetune", str(data), "--labels", "oxygen", "--seeds", "2", "--out", model, *FAST, "--json")
    made = json.loads(out)
    assert (made["goal"], made["tasks"], made["molecules"], made["seeds"]) == ("binary", ["oxygen"], 100, [0, 1])
    assert [row["name"] for row in made["rows"]] == [
        "fine-tuned, 2 seeds",
        "their ensemble",
        "ECFP + random forest",
        "ECFP + logistic regression",
    ]
    assert "seed 1: ROC-AUC" in err
    page = Path(made["report"]).read_text(encoding="utf-8")
    assert "ECFP + random forest" in page
    assert "<svg" in page
    assert not re.search(r'(src|href)="(?!#)', page.replace("xlink:", ""))  # it needs nothing else

    new = tmp_path / "new.csv"
    new.write_text("name,smiles\na,CCO\nb,nonsense(\nc,\nd,c1ccccc1\n")
    predicted = tmp_path / "predictions.csv"
    out, err = run(capsys, "predict", model, str(new), "--out", str(predicted), "--device", "cpu")
    assert "2 molecules, 1 task" in out
    assert "2 invalid rows are empty" in out
    assert "line 3, 'nonsense('" in err
    with predicted.open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["id"] for row in table] == ["a", "b", "c", "d"]
    assert [row["smiles"] for row in table] == ["CCO", "nonsense(", "", "c1ccccc1"]
    columns = ["oxygen_mean", "oxygen_spread", "oxygen_probability", "similarity", "nearest"]
    assert list(table[0]) == ["id", "smiles", *columns]
    assert all(table[row][name] == "" for row in (1, 2) for name in columns)

    predictor, _ = load_predictor(Path(model))
    expected = predictor.predict(read_molecules(new, labels=()).graphs)
    assert expected.probability is not None
    for name, values in zip(columns, (expected.mean, expected.spread, expected.probability), strict=False):
        np.testing.assert_allclose([float(table[row][name]) for row in (0, 3)], values[:, 0], rtol=1e-9)
    nearest = read_molecules(tmp_path / "planted.csv", labels=()).smiles
    assert table[0]["nearest"] in nearest
    assert float(table[3]["similarity"]) > 0


def test_parquet_holds_the_same_and_null_where_a_row_is_invalid(capsys: Capture, tmp_path: Path, data: Path) -> None:
    import pyarrow.parquet

    model = str(tmp_path / "model")
    arguments = ["--labels", "oxygen,length", "--task", "numbers", "--seeds", "1", "--split", "random", "--out", model]
    out, _ = run(capsys, "finetune", str(data), *arguments, *FAST)
    assert "2 numbers, 100 molecules, split random 80 / 10 / 10" in out
    assert "ECFP + ridge regression" in out
    assert "RMSE" in out
    (tmp_path / "new.smi").write_text("CCO ethanol\nbad( one\n")
    run(capsys, "predict", model, str(tmp_path / "new.smi"), "--out", str(tmp_path / "p.parquet"), "--device", "cpu")
    table = pyarrow.parquet.read_table(tmp_path / "p.parquet")
    assert table.column_names[2:4] == ["oxygen_mean", "oxygen_spread"]
    assert "length_probability" not in table.column_names
    assert table["length_mean"].is_null().to_pylist() == [False, True]
    assert table["length_spread"].is_null().to_pylist() == [True, True]  # one member has no spread


def test_the_table_has_the_scores_of_fingerprints_on_the_same_parts(tmp_path: Path, data: Path) -> None:
    molecules = read(data, "oxygen")
    found = finetune_molecules(molecules, tiny(), seeds=2, device=CPU)
    split = split_molecules(molecules)
    assert found.origin.split["test"] == split.test.tolist()
    for row, model in zip(found.rows[2:], ("forest", "linear"), strict=True):
        bits = ecfp(molecules.smiles)
        expected = fingerprint_score(bits, molecules.labels, split, model=model)  # type: ignore[arg-type]
        assert row.scores == {"roc_auc": (expected.test, None), "pr_auc": (expected.beside["pr_auc"], None)}
    better = max(row.scores["roc_auc"][0] for row in found.rows[2:]) > found.rows[1].scores["roc_auc"][0]
    assert any("is better than this model" in note for note in found.notes) == better


def test_a_better_fingerprint_is_said_plainly() -> None:
    ours, forest = (
        finetune.ScoreRow(name, {"roc_auc": (score, None)}) for name, score in (("ours", 60), ("forest", 71.2))
    )
    assert finetune._verdict(ours, [forest], "binary") == [
        "forest is better than this model on the test part: ROC-AUC 71.2 against 60."
    ]
    assert finetune._verdict(forest, [ours], "binary") == []
    small, large = (
        finetune.ScoreRow(name, {"rmse": (score, None)}) for name, score in (("small", 0.5), ("large", 0.8))
    )
    assert "small is better" in finetune._verdict(large, [small], "numbers")[0]
    assert finetune._verdict(small, [large], "numbers") == []


def test_ten_seeds_where_scores_differ_much_unless_their_number_is_given(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    molecules, settings = read(data, "oxygen"), tiny("finetune.epochs=1")
    monkeypatch.setattr(finetune, "WIDE", -1.0)
    found = finetune_molecules(molecules, settings, split="random", device=CPU)
    assert found.origin.seeds == list(range(10))
    assert "10 seeds instead of 5" in found.notes[0]
    assert found.rows[0].name == "fine-tuned, 10 seeds"
    assert finetune_molecules(molecules, settings, split="random", seeds=2, device=CPU).origin.seeds == [0, 1]
    monkeypatch.setattr(finetune, "WIDE", 1000.0)
    assert finetune_molecules(molecules, settings, split="random", device=CPU).origin.seeds == list(range(5))


def test_a_probe_of_fresh_encoders(capsys: Capture, tmp_path: Path, data: Path) -> None:
    arguments = ["--labels", "oxygen", "--probe", "--seeds", "2", "--out", str(tmp_path / "m")]
    out, _ = run(capsys, "finetune", str(data), *arguments, *FAST)
    assert "linear probe, 2 seeds" in out


def test_a_probe_of_numbers_predicts(capsys: Capture, tmp_path: Path, data: Path) -> None:
    how = ("--labels", "length", "--split", "random", "--probe", "--seeds", "1")
    run(capsys, "finetune", str(data), *how, "--out", str(tmp_path / "probe"), *FAST)
    out = tmp_path / "y.csv"
    run(capsys, "predict", str(tmp_path / "probe"), str(data), "--out", str(out), "--device", "cpu")
    with out.open(newline="") as file:
        made = [float(row["length_mean"]) for row in csv.DictReader(file)]
    assert np.corrcoef(made, read(data, "length").labels[:, 0])[0, 1] > 0.5


OWN_ENCODER = """
from torch import nn

class Sums(nn.Module):
    def __init__(self, num_features, units, layers):
        super().__init__()
        self.atoms = nn.Linear(num_features, units)

    def forward(self, x, edge_index, batch, edge_attr):
        return self.atoms(x)
"""


def test_a_model_with_an_encoder_of_the_users_is_tuned_in_processes_and_predicts(
    capsys: Capture, tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "worker_count", lambda jobs, device: 2)
    (tmp_path / "sums.py").write_text(OWN_ENCODER)
    (tmp_path / "few.smi").write_text("\n".join(SMILES[:40]) + "\n")
    start, model = str(tmp_path / "run"), str(tmp_path / "model")
    wide = ("--set", "encoder.units=64", "--seeds", "1", "--epochs", "1", "--device", "cpu", "--quiet")
    run(capsys, "pretrain", str(tmp_path / "few.smi"), "--encoder", str(tmp_path / "sums.py"), *wide, "--out", start)
    how = ("--labels", "oxygen", "--split", "random", "--seeds", "2", "--epochs", "1", "--device", "cpu")
    run(capsys, "finetune", str(data), "--model", f"{start}/seed-0", *how, "--out", model)
    out, _ = run(capsys, "predict", model, str(data), "--out", str(tmp_path / "y.csv"), "--device", "cpu")
    assert "100 molecules" in out


def test_molecules_are_graphs(capsys: Capture, tmp_path: Path, data: Path) -> None:
    _, err = run(capsys, "finetune", str(data), "--labels", "oxygen", *FAST, "--set", "level=node", code=2)
    assert err == "nmrgcl: level = node: molecules are graphs; leave it out\n"


def test_molecules_in_two_parts_are_counted(capsys: Capture, tmp_path: Path) -> None:
    """The second half repeats the first, in other words for the same molecules."""
    half = SMILES[::2]
    again = [text.replace("CO", "C(O)") if text.endswith("CO") else text for text in half]
    lines = [f"{text},{row % 2}" for row, text in enumerate(half + again)]
    (tmp_path / "twice.csv").write_text("\n".join(["smiles,y", *lines]) + "\n")
    molecules = read_molecules(tmp_path / "twice.csv", labels=["y"])
    split = split_molecules(molecules, "random")
    part = np.zeros(100, int)
    part[split.valid], part[split.test] = 1, 2
    twin = [(i + 50) % 100 for i in range(100)]
    count = sum(part[i] > part[twin[i]] for i in range(100))
    assert count_shared(molecules.smiles, split) == count > 0
    assert count_shared(molecules.smiles, split_molecules(molecules)) == 0
    arguments = ["--split", "random", "--seeds", "1", "--out", str(tmp_path / "m"), *FAST]
    out, _ = run(capsys, "finetune", str(tmp_path / "twice.csv"), *arguments)
    assert f"warning: {count} molecules are in two parts" in out


def test_a_model_is_replaced_only_when_asked(capsys: Capture, tmp_path: Path, data: Path) -> None:
    model = tmp_path / "model"
    arguments = ["finetune", str(data), "--labels", "oxygen", "--seeds", "1", "--out", str(model), *FAST]
    run(capsys, *arguments)
    assert "use --overwrite or another --out" in run(capsys, *arguments, code=2)[1]
    run(capsys, *arguments, "--overwrite")
    (model / "notes.txt").write_text("mine")
    assert "'notes.txt' is not part of the fine-tuned model" in run(capsys, *arguments, "--overwrite", code=2)[1]


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (rows(y=[*OXYGEN]).replace("smiles", "drug", 1), ["--labels", "y"], "'drug' looks like SMILES"),
        ("smiles,y\nbad(,1\nworse),0\n", ["--labels", "y"], "none of its 2 rows is a valid molecule"),
        (rows(y=[1] * 100), ["--labels", "y"], "column 'y' has only one class"),
        (rows(y=["yes"] * 100), ["--labels", "y"], "column 'y' contains 'yes'; labels must be numbers"),
        (rows(y=[*OXYGEN]), ["--labels", "z"], "there is no column 'z'"),
        (rows(y=[*OXYGEN]), ["--labels", "y", "--split", "column:fold"], "there is no column 'fold'"),
        (rows(y=[*OXYGEN]), ["--labels", "y", "--split", "time"], "unknown split 'time'"),
        (rows(y=[*OXYGEN]), ["--labels", "y", "--task", "classes"], "known: binary, numbers"),
        (rows(y=[*OXYGEN]), ["--labels", "y", "--invalid", "keep"], "it must be skip or error"),
        (rows(y=[*OXYGEN]), ["--labels", "y", "--set", "units=0"], "encoder.units = 0 must be at least 1"),
        (rows(y=[*OXYGEN]), ["--labels", "y", "--model", "nowhere"], "no such run"),
        ("smiles,y\nCCO,1\nCCC,0\nCCN,1\n", ["--labels", "y"], "there are none to train on; use --split random"),
        (rows(y=[0, *[1] * 99]), ["--labels", "y", "--split", "random"], "data; use --set seed=1"),
        (rows(y=[0, *[1] * 99]), ["--labels", "y"], "data; use --split random"),
        ("smiles,y\nCCO,1\nbad(,0\n", ["--labels", "y", "--invalid", "error"], "line 3, 'bad('"),
        (rows(name2=["x"] * 100), [], "there is no numeric column to learn; name one with --labels"),
    ],
)
def test_bad_input_is_one_clear_line(
    capsys: Capture, tmp_path: Path, text: str, arguments: list[str], message: str
) -> None:
    (tmp_path / "bad.csv").write_text(text)
    out = tmp_path / "model"
    _, err = run(capsys, "finetune", str(tmp_path / "bad.csv"), *FAST, *arguments, "--out", str(out), code=2)
    assert message in err.splitlines()[-1]
    assert err.splitlines()[-1].startswith("nmrgcl: ")
    assert not out.exists()


def test_predict_refuses_bad_input_in_one_line(capsys: Capture, tmp_path: Path, data: Path) -> None:
    model = str(tmp_path / "model")
    run(capsys, "finetune", str(data), "--labels", "oxygen", "--seeds", "1", "--out", model, *FAST)
    for arguments, message in (
        ((str(tmp_path / "nowhere"), str(data)), "nmrgcl finetune creates one"),
        ((str(tmp_path), str(data)), "is not a fine-tuned model; make one with nmrgcl finetune"),
        ((model, str(tmp_path / "none.csv")), "none.csv"),
        ((model, str(data), "--out", str(tmp_path / "p.xlsx")), "known endings: .csv, .parquet"),
        ((model, str(data), "--smiles", "smile"), "there is no column 'smile'"),
    ):
        _, err = run(capsys, "predict", *arguments, "--device", "cpu", code=2)
        assert message in err
        assert err.count("\n") == 1


def test_tasks_that_nobody_named_and_nothing_can_be_learnt_of_are_left_out(capsys: Capture, tmp_path: Path) -> None:
    labels: dict[str, list[object]] = {"y": [*map(int, OXYGEN)], "same": [1] * 100, "empty": [None] * 99 + [1]}
    data = write(tmp_path / "three.csv", **labels)
    model = ["--out", str(tmp_path / "model")]
    out, err = run(capsys, "finetune", str(data), "--seeds", "1", *model, *FAST, "--json")
    assert json.loads(out)["tasks"] == ["y"]
    assert "left out, because all labels are the same: same, empty (2)" in err


def test_a_dataset_of_the_catalog_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "moleculenet").mkdir()
    file = write(tmp_path / "moleculenet" / "BBBP.csv")
    monkeypatch.setenv("NMRGCL_MIRROR", str(tmp_path))
    monkeypatch.setenv("NMRGCL_HOME", str(tmp_path / "home"))
    assert molecule_file("bbbp") == file
    assert molecule_file("nowhere.csv") == Path("nowhere.csv")


@pytest.mark.parametrize("out", ["parent/x", "file/x", "/proc/nowhere/x"])
def test_a_place_that_cannot_be_written_is_refused_before_training(
    capsys: Capture, tmp_path: Path, data: Path, out: str
) -> None:
    (tmp_path / "file").touch()
    arguments = ["--labels", "oxygen", "--seeds", "1", "--out", str(tmp_path / out), *FAST]
    if out.startswith("parent"):
        run(capsys, "finetune", str(data), *arguments)  # missing folders are created
        assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "parent", "planted.csv"]
        return
    _, err = run(capsys, "finetune", str(data), *arguments, code=2)
    assert err.startswith(f"nmrgcl: --out {tmp_path / out}: cannot be written (")
    assert err.count("\n") == 1


def test_predictions_never_replace_the_molecules(
    capsys: Capture, tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = data.read_text()
    Path("predictions.csv").write_text(before)
    Path("file").touch()
    for arguments, message in (
        (["planted.csv", "--out", str(data)], f"--out {data}: is the input file; choose another name"),
        (["predictions.csv"], "--out predictions.csv: is the input file; choose another name"),
        (["planted.csv", "--out", "nowhere/p.csv"], "--out nowhere/p.csv: the folder nowhere does not exist"),
        (["planted.csv", "--out", "file/p.csv"], "--out file/p.csv: cannot be written (Not a directory)"),
    ):
        _, err = run(capsys, "predict", "no-model", *arguments, code=2)  # before the model is looked for
        assert err.startswith(f"nmrgcl: {message}")
    assert data.read_text() == Path("predictions.csv").read_text() == before


def test_each_of_several_tasks_has_a_score_unless_its_test_labels_are_of_one_class(
    capsys: Capture, tmp_path: Path
) -> None:
    molecules = read(tmp_path / "planted.csv", "oxygen")
    test = split_molecules(molecules, "random").test
    same = [1 if row in test else row % 2 for row in range(100)]
    nitrogen = [int("n" in text.lower()) for text in SMILES]
    data = write(tmp_path / "three.csv", oxygen=[*map(int, OXYGEN)], nitrogen=[*nitrogen], same=[*same])
    arguments = ["--split", "random", "--seeds", "2", "--out", str(tmp_path / "m"), *FAST]
    made = json.loads(run(capsys, "finetune", str(data), *arguments, "--json")[0])
    assert [row["name"] for row in made["task_rows"]] == ["oxygen", "nitrogen", "same"]
    each = [row["scores"]["roc_auc"]["mean"] for row in made["task_rows"]]
    assert each[2] is None
    assert made["rows"][1]["scores"]["roc_auc"]["mean"] == pytest.approx((each[0] + each[1]) / 2)
    assert "same has no score: the test part has one class only." in made["notes"]
    assert load_predictor(tmp_path / "m")[1].task_scores == made["task_rows"]
    assert "<caption>Each task, the ensemble</caption>" in Path(made["report"]).read_text(encoding="utf-8")


def test_errors_of_several_numbers_are_those_of_each(tmp_path: Path, data: Path) -> None:
    molecules = read(data, "oxygen", "length")
    found = finetune_molecules(molecules, tiny(), split="random", seeds=1, task="numbers", device=CPU)
    errors = np.abs(found.tested.mean - molecules.labels[found.split.test]).mean(0)
    assert [row.scores["mae"][0] for row in found.task_rows] == pytest.approx(errors)
    assert found.rows[0].scores["mae"][0] == pytest.approx(errors.mean(), rel=1e-4)


def test_a_calibration_without_information_is_said_in_all_places(
    capsys: Capture, tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fit, "fit_calibration", lambda *_: Calibration(np.zeros(1), np.zeros(1)))
    arguments = ["--labels", "oxygen", "--seeds", "1", "--out", str(tmp_path / "m"), *FAST]
    out, _ = run(capsys, "finetune", str(data), *arguments)
    page = (tmp_path / "m" / "report.html").read_text(encoding="utf-8")
    for text in (out, page, (tmp_path / "m" / "README.md").read_text(encoding="utf-8")):
        assert "task oxygen: on the validation part the model ranks no better than chance" in text
    assert not any(words in page for words in ("Most confident", "Distance to the training set", "No pictures"))


def test_molecules_in_no_part_are_counted(capsys: Capture, tmp_path: Path) -> None:
    parts = [None, None, None, *["train", "train", "test", "valid"] * 24, "train"]
    data = write(tmp_path / "parts.csv", y=[*map(int, OXYGEN)], part=[*parts])
    arguments = ["--labels", "y", "--split", "column:part", "--seeds", "1", "--out", str(tmp_path / "m"), *FAST]
    _, err = run(capsys, "finetune", str(data), *arguments)
    assert "split column:part: left out 3 of 100 molecules, whose cell is empty" in err


def test_a_command_that_is_printed_can_be_pasted(capsys: Capture, tmp_path: Path, data: Path) -> None:
    arguments = ["--labels", "oxygen", "--seeds", "1", "--out", str(tmp_path / "my model (1)"), *FAST]
    out, _ = run(capsys, "finetune", str(data), *arguments)
    assert f"nmrgcl predict '{tmp_path / 'my model (1)'}' new.csv" in out


def test_a_fine_tuned_model_is_no_encoder(capsys: Capture, tmp_path: Path, data: Path) -> None:
    model = str(tmp_path / "m")
    run(capsys, "finetune", str(data), "--labels", "oxygen", "--seeds", "1", "--out", model, *FAST)
    for arguments in (
        ["embed", model, str(data), "--out", str(tmp_path / "z.npz")],
        ["neighbours", str(data), str(data), "--model", model],
        ["finetune", str(data), "--labels", "oxygen", "--model", model, "--out", str(tmp_path / "n")],
    ):
        _, err = run(capsys, *arguments, "--device", "cpu", code=2)
        assert err == f"nmrgcl: {model} is a fine-tuned model: use it with nmrgcl predict\n"


def test_the_page_of_one_probe_of_one_task_speaks_of_no_epoch_task_or_ensemble(
    capsys: Capture, tmp_path: Path, data: Path
) -> None:
    arguments = ["--labels", "oxygen", "--probe", "--seeds", "1", "--out", str(tmp_path / "m")]
    run(capsys, "finetune", str(data), *arguments, *FAST)
    page = (tmp_path / "m" / "report.html").read_text(encoding="utf-8")
    assert "Scores are those of the test part, with the C that was best on the validation data." in page
    assert not any(words in page for words in ("at the epoch", "means over tasks", "ensemble", "over seeds"))


def test_a_probability_of_one_half_is_neither_right_nor_wrong(tmp_path: Path, data: Path) -> None:
    from nmrgcl.report.predictor import _errors

    found = finetune_molecules(read(data, "oxygen"), tiny(), split="random", seeds=1, device=CPU)
    tested = replace(found.tested, probability=np.array([[0.5], [0.75], [0.25]]))
    predictor = replace(found.predictor, calibration=Calibration(np.ones(1), np.zeros(1)))
    errors = _errors(replace(found, tested=tested, predictor=predictor), np.array([[1.0], [1.0], [np.nan]]))
    np.testing.assert_array_equal(errors, [[np.nan], [0.25], [np.nan]])
