"""The commands as a user types them, in a process of their own where it matters."""

import json
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from nmrgcl.cli import main
from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.data.loading import load
from nmrgcl.store import write_store

FAST = ["--set", "epochs=1", "--set", "encoder.units=4", "--seeds", "2", "--device", "cpu"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    """Standard output and error of ``nmrgcl arguments``, which must exit with ``code``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["nmrgcl", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
    assert stopped.value.code == code
    output = capsys.readouterr()
    return output.out, output.err


def test_embeddings_are_written_on_the_scale_that_is_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made, out = str(tmp_path / "r"), str(tmp_path / "z.npz")
    run(capsys, "pretrain", "motifs", *FAST, "--quiet", "--out", made)
    found = {}
    for scale in (None, "l2", "squash"):
        given = [] if scale is None else ["--normalise", scale]
        text, _ = run(capsys, "embed", f"{made}/seed-0", "motifs", "--out", out, *given)
        assert (f"normalise={scale}" in text) == (scale is not None)
        with np.load(out) as stored:
            found[scale] = stored["z"]
    raw = found[None].astype(np.float64)
    np.testing.assert_allclose(found["l2"], raw / np.linalg.norm(raw, axis=1, keepdims=True), atol=1e-5)
    np.testing.assert_allclose(found["squash"], np.arcsinh((raw - raw.mean(0)) / raw.std(0)), atol=1e-3)
    _, err = run(capsys, "embed", f"{made}/seed-0", "motifs", "--normalise", "squashed", code=2)
    assert err == "nmrgcl: --normalise = 'squashed'; did you mean squash?\n"


def write_tu(folder: Path, graphs: int = 30, /, **replaced: str) -> Path:
    """A TU folder of three-node paths in two classes; ``replaced`` files have other contents."""
    folder.mkdir()
    files = {
        "A": "".join(f"{3 * g + a}, {3 * g + b}\n" for g in range(graphs) for a, b in ((1, 2), (2, 1), (2, 3), (3, 2))),
        "graph_indicator": "".join(f"{g + 1}\n" * 3 for g in range(graphs)),
        "graph_labels": "".join(f"{g % 2}\n" for g in range(graphs)),
        "node_labels": "".join(f"{g % 2}\n1\n0\n" for g in range(graphs)),
        **replaced,
    }
    for name, text in files.items():
        (folder / f"{folder.name}_{name}.txt").write_text(text)
    return folder


def test_pretrain_then_evaluate_prints_one_json_object_each(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out, err = run(capsys, "pretrain", "MUTAG", "--preset", "graphcl", *FAST, "--out", str(tmp_path / "r"), "--json")
    made = json.loads(out)
    assert [Path(m["folder"]).name for m in made["models"]] == ["seed-0", "seed-1"]
    assert "epoch 1" in err
    out, _ = run(capsys, "evaluate", str(tmp_path / "r"), "mutag", "--json", "--jobs", "1")
    found = json.loads(out)
    assert {"dataset", "protocol", "selection", "mean", "std", "scores", "folds", "untrained", "varied"} <= set(found)
    assert (found["dataset"], found["protocol"], found["selection"], found["varied"]) == (
        "MUTAG",
        "svm",
        "honest",
        "model",
    )
    assert [len(row) for row in found["folds"]] == [10, 10]
    assert found["mean"] == pytest.approx(sum(found["scores"]) / 2)
    assert found["std"] == pytest.approx(abs(found["scores"][0] - found["scores"][1]) / 2**0.5)
    assert set(found["untrained"]) == {"mean", "std", "scores", "folds", "penalties"}
    out, _ = run(capsys, "evaluate", str(tmp_path / "r"), "MUTAG", "--jobs", "1")
    assert f"{found['mean']:.2f} ± {found['std']:.2f}" in out
    assert "untrained" in out


def test_least_squares_judge_on_the_same_folds(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    made = str(tmp_path / "r")
    run(capsys, "pretrain", "motifs", "--set", "epochs=1", "--seeds", "2", "--out", made, "--device", "cpu")
    command = ["evaluate", made, "motifs", "--set", "folds=3", "--device", "cpu"]
    found = json.loads(run(capsys, *command, "--protocol", "lssvm", "--json")[0])
    assert (found["protocol"], found["selection"], found["svm"]["folds"]) == ("lssvm", "honest", 3)
    splits = (tmp_path / "r/splits.json").read_text()
    run(capsys, *command, "--json", "--jobs", "1")
    assert (tmp_path / "r/splits.json").read_text() == splits
    assert "RBF least-squares SVM" in run(capsys, *command, "--protocol", "lssvm")[0]
    run(capsys, "embed", f"{made}/seed-0", "motifs", "--out", str(tmp_path / "z.npz"), "--device", "cpu")
    out, _ = run(capsys, "evaluate", str(tmp_path / "z.npz"), "--protocol", "lssvm", "--seeds", "1", "--json")
    assert json.loads(out)["protocol"] == "lssvm"
    _, err = run(capsys, *command, "--protocol", "linear", code=2)
    assert "--protocol linear: graphs are evaluated by svm or lssvm" in err


def test_judging_tells_progress_and_time_left(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random, y = np.random.default_rng(0), np.arange(30) % 2
    np.savez(tmp_path / "z.npz", z=random.normal(size=(30, 3)) + y[:, None], y=y)
    command = ["evaluate", str(tmp_path / "z.npz"), "--seeds", "1", "--set", "folds=3", "--json", "--device", "cpu"]
    out, err = run(capsys, *command)
    assert err == ""  # short work tells nothing
    monkeypatch.setattr("nmrgcl.cli.counted.EVERY", 0.0)
    again, err = run(capsys, *command)
    assert again == out
    assert len(err.splitlines()) == 17  # five inner folds and the outer one, three times; the first starts the clock
    assert re.fullmatch(r"18 of 18 folds, [\d,.]+ per second, 0 s left", err.splitlines()[-1])


def test_the_untrained_encoder_is_a_method_like_any_other(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ["pretrain", "motifs", "--method", "untrained", "--seeds", "1", "--out", str(tmp_path / "r"), "--json"]
    out, _ = run(capsys, *command)
    assert [m["seed"] for m in json.loads(out)["models"]] == [0]
    out, _ = run(capsys, "evaluate", str(tmp_path / "r"), "motifs", "--seeds", "2", "--json", "--jobs", "1")
    found = json.loads(out)
    assert found["scores"] == found["untrained"]["scores"]
    assert found["varied"] == "folds"


def test_a_tu_zip_of_ones_own_works_like_a_dataset(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = write_tu(tmp_path / "MINE")
    with zipfile.ZipFile(tmp_path / "MINE.zip", "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"MINE/{file.name}")
    run(capsys, "pretrain", str(tmp_path / "MINE.zip"), *FAST, "--out", str(tmp_path / "r"))
    out, _ = run(capsys, "evaluate", str(tmp_path / "r"), str(folder), "--json", "--jobs", "1")
    assert json.loads(out)["mean"] == 100.0  # the first node's label gives the class away


def test_a_written_config_repeats_the_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run(capsys, "pretrain", "motifs", "--preset", "paper", *FAST, "--out", str(tmp_path / "a"))
    again = ["--config", str(tmp_path / "a/settings.json"), "--seeds", "1", "--device", "cpu"]
    run(capsys, "pretrain", "motifs", *again, "--out", str(tmp_path / "b"))
    model = "seed-0/model.safetensors"
    assert (tmp_path / "a" / model).read_bytes() == (tmp_path / "b" / model).read_bytes()


BAD_INPUT = {
    "unknown dataset": (["pretrain", "MUTAGG"], "MUTAG"),
    "missing path": (["pretrain", "./nowhere/X"], "no such"),
    "unknown method": (["pretrain", "MUTAG", "--method", "nmrgl"], "nmrgcl"),
    "unknown preset": (["pretrain", "MUTAG", "--preset", "strongest"], "strong"),
    "unknown setting": (["pretrain", "MUTAG", "--set", "epoch=3"], "epochs"),
    "unknown view": (["pretrain", "MUTAG", "--set", 'views.first=[{name="DropNode"}]'], "DropNodes"),
    "batch of one": (["pretrain", "MUTAG", "--set", "batch_size=1"], "at least 2"),
    "no such features": (["pretrain", "MUTAG", "--set", "features=attributes"], "labels"),
    "unknown device": (["pretrain", "MUTAG", "--device", "tpu"], "auto, cpu, cuda"),
    "unknown encoder": (["pretrain", "MUTAG", "--set", "encoder.name=gine"], "gin"),
    "node level": (["pretrain", "MUTAG", "--set", "level=node"], "level"),
    "no run": (["evaluate", "nowhere", "MUTAG"], "no such run"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_one_line_and_exit_code_2(case: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments, word = BAD_INPUT[case]
    extra = ["--out", str(tmp_path / "r")] if arguments[0] == "pretrain" else []
    out, err = run(capsys, *arguments, *extra, code=2)
    assert out == ""
    assert err.startswith("nmrgcl: ")
    assert err.count("\n") == 1
    assert word in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["pretrain", "sweep"])
def test_a_kernel_does_not_run_on_a_gpu_that_is_not_there(
    command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.chdir(tmp_path)
    assert run(capsys, command, "MUTAG", "--method", "wl", "--device", "cuda", code=2) == (
        "",
        "nmrgcl: no CUDA device is available; set device to cpu or auto\n",
    )


@pytest.mark.parametrize("method", ["wl", "dgk", "graph2vec"])
def test_methods_of_labels_say_that_numbers_are_none(
    method: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = write_tu(tmp_path / "MINE", node_attributes="0.5, 1.5\n" * 90)
    arguments = ["pretrain", str(folder), "--method", method, "--set", "features=attributes", "--device", "cpu"]
    assert run(capsys, *arguments, "--out", str(tmp_path / "r"), code=2) == (
        "",
        f"nmrgcl: method {method} needs node labels, but these nodes have numeric features (2); "
        "set data.features to degree or constant, or to labels if the nodes have any\n",
    )


BAD_FILES = {
    "truncated": ({"graph_indicator": "1\n1\n1\n"}, "MINE_graph_labels.txt, line 2"),
    "edge outside": ({"A": "1, 2\n2, 1\n1, 91\n"}, "MINE_A.txt, line 3"),
    "joins two graphs": ({"A": "1, 2\n3, 4\n"}, "MINE_A.txt, line 2"),
    "not an integer": ({"node_labels": "0\nx\n" + "1\n" * 88}, "MINE_node_labels.txt, line 2"),
    "must be a number": ({"node_attributes": "0.5\nnan\n" + "1\n" * 88}, "MINE_node_attributes.txt, line 2"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_broken_file_is_named_with_its_line(case: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    replaced, word = BAD_FILES[case]
    folder = write_tu(tmp_path / "MINE", **replaced)
    _, err = run(capsys, "pretrain", str(folder), "--out", str(tmp_path / "r"), code=2)
    assert word in err
    assert err.count("\n") == 1
    assert not (tmp_path / "r").exists()


def test_one_graph_and_small_classes_are_explained(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lonely = write_tu(tmp_path / "LONELY", 1)
    _, err = run(capsys, "pretrain", str(lonely), "--out", str(tmp_path / "r"), code=2)
    assert "needs at least two graphs, this dataset has 1" in err
    rare = write_tu(tmp_path / "RARE", graph_labels="1\n" * 3 + "0\n" * 27)
    run(capsys, "pretrain", str(rare), *FAST, "--out", str(tmp_path / "r"))
    _, err = run(capsys, "evaluate", str(tmp_path / "r"), str(rare), code=2)
    assert "class" in err
    assert "fold" in err
    assert err.count("\n") == 1


def test_graphs_that_do_not_fit_the_model_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run(capsys, "pretrain", "MUTAG", *FAST, "--out", str(tmp_path / "r"))
    other = write_tu(tmp_path / "OTHER", node_labels="77\n" * 90)
    _, err = run(capsys, "evaluate", str(tmp_path / "r"), str(other), code=2)
    assert "77" in err
    assert err.count("\n") == 1


def test_a_full_disk_is_one_line_and_leaves_nothing_half_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device", "model.safetensors")

    monkeypatch.setattr("nmrgcl.model_folder.packed", full)
    _, err = run(capsys, "pretrain", "motifs", *FAST, "--quiet", "--out", str(tmp_path / "r"), code=2)
    assert err == "nmrgcl: model.safetensors: No space left on device; make room or choose another place\n"
    assert sorted(p.name for p in (tmp_path / "r").iterdir()) == [".lock", "run.json", "settings.json"]


def test_a_store_is_a_dataset(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data = load("motifs")
    write_store(tmp_path / "store", apply_features(data, choose_features(data)))
    out, _ = run(capsys, "datasets", "info", str(tmp_path / "store"), "--json")
    facts = json.loads(out)
    assert facts["measured"]["graphs"] == 300
    assert facts["node_labels"] == [3]
    run(capsys, "pretrain", str(tmp_path / "store"), *FAST, "--out", str(tmp_path / "r"))
    (tmp_path / "store" / "source.bin").write_bytes(b"")
    _, err = run(capsys, "datasets", "info", str(tmp_path / "store"), code=2)
    assert "source.bin" in err


def test_a_second_run_in_the_same_folder_needs_permission(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ["pretrain", "motifs", *FAST, "--out", str(tmp_path / "r")]
    run(capsys, *command)
    _, err = run(capsys, *command, code=2)
    assert "--overwrite" in err
    run(capsys, *command, "--overwrite")


def test_help_does_not_load_torch() -> None:
    code = "import sys, nmrgcl.cli; assert 'torch' not in sys.modules and 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


COMMANDS = ["pretrain", "evaluate", "embed", "report", "compare", "methods", "doctor", "sweep", "diagnose", "theory"]
COMMANDS += ["reproduce", "tune", "neighbours", "finetune", "predict", "presets", "settings", "export", "view"]
COMMANDS += [f"bench {name}" for name in ("step", "views", "loss", "store", "svm")]
COMMANDS += [f"datasets {name}" for name in ("list", "info", "fetch", "verify", "import", "export", "pack")]
COMMANDS += [f"results {name}" for name in ("list", "show", "pack", "unpack", "merge")]


@pytest.mark.parametrize("command", [[], *(c.split() for c in COMMANDS)])
def test_every_command_explains_itself_with_an_example(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, *command, "--help")
    assert "Usage" in out
    assert not command or (f"nmrgcl {' '.join(command)}" in out and "--json" in out)


def test_a_dry_run_writes_nothing_and_says_what_it_would_cost(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out, _ = run(capsys, "pretrain", "MUTAG", "--preset", "graphcl", "--dry-run", "--out", str(tmp_path / "r"))
    found = json.loads(out)
    assert found["settings"]["train"]["epochs"] == 20
    assert found["estimate"]["steps"] == 2 * 20 * 5  # two batches of up to 128 of 188 graphs
    assert 0 < found["estimate"]["seconds"] < 600
    assert found["estimate"]["memory_bytes"] > 10**7
    assert not (tmp_path / "r").exists()


def test_a_warm_start_continues_from_the_encoder_of_another_model(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from safetensors.torch import load_file

    small = ["--set", "encoder.units=4", "--seeds", "1", "--quiet"]
    run(capsys, "pretrain", "motifs", "--preset", "graphcl", *small, "--set", "epochs=2", "--out", str(tmp_path / "a"))
    start = ["--from", str(tmp_path / "a/seed-0")]
    _, err = run(
        capsys, "pretrain", "motifs", "--method", "untrained", "--preset", "graphcl", *small, *start,
        "--out", str(tmp_path / "b"),
    )  # fmt: skip
    assert err == ""
    a, b = (load_file(tmp_path / name / "seed-0/model.safetensors") for name in "ab")
    assert all(a[key].equal(b[key]) for key in b)
    _, err = run(
        capsys, "pretrain", "motifs", "--preset", "graphcl", "--set", "encoder.units=5", *start,
        "--out", str(tmp_path / "c"), code=2,
    )  # fmt: skip
    assert "another encoder" in err


def test_runs_are_compared_on_the_same_folds(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for method in ("nmrgcl", "graphcl"):
        run(capsys, "pretrain", "motifs", "--method", method, *FAST, "--out", str(tmp_path / method))
    both = [str(tmp_path / "graphcl"), str(tmp_path / "nmrgcl")]
    out, _ = run(capsys, "compare", *both, "--data", "motifs", "--set", "c=default", "--jobs", "1", "--json")
    found = json.loads(out)
    assert found["reference"] == both[0]
    gap = found["runs"][1]["mean"] - found["runs"][0]["mean"]
    assert found["differences"][0]["mean"] == pytest.approx(gap)
    out, _ = run(capsys, "compare", *both, "--data", "motifs", "--set", "c=default", "--jobs", "1")
    assert "95 % CI" in out
    out, _ = run(capsys, "compare", *both, "--data", "motifs", "--protocol", "lssvm", "--device", "cpu", "--json")
    by_least_squares = json.loads(run(capsys, "evaluate", both[1], "motifs", "--protocol", "lssvm", "--json")[0])
    assert json.loads(out)["runs"][1]["scores"] == by_least_squares["scores"]
    _, err = run(capsys, "compare", both[0], both[1] + "/seed-0", "--data", "motifs", code=2)
    assert "other seeds" in err


def test_methods_and_datasets_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "methods", "--json")
    assert {"nmrgcl", "graphcl", "untrained"} <= {m["name"] for m in json.loads(out)["methods"]}
    out, _ = run(capsys, "methods")
    assert "Contrast two views" in out
    out, _ = run(capsys, "datasets", "list", "--json")
    assert "PTC_MR" in {d["name"] for d in json.loads(out)["datasets"]}
    out, _ = run(capsys, "datasets", "list")
    assert "RDT-B" in out


def test_info_measures_what_is_published(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "datasets", "info", "MUTAG", "--json")
    facts = json.loads(out)
    assert facts["measured"] == facts["published"]
    assert facts["class_sizes"] == {"-1": 63, "1": 125}
    assert facts["node_labels"] == [7]
    assert sum(facts["degrees_from"].values()) == 3371
    out, _ = run(capsys, "datasets", "info", "MUTAG")
    assert "17.93" in out


@pytest.mark.parametrize(("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_asked_to_end_keeps_a_checkpoint_and_continues(tmp_path: Path, signum: int, code: int) -> None:
    command = [sys.executable, "-m", "nmrgcl", "pretrain", "motifs", "--preset", "graphcl", "--seeds", "1"]
    command += ["--set", "epochs=2000", "--out", str(tmp_path / "r"), "--device", "cpu"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stderr is not None
    process.stderr.readline()  # the first epoch is over
    process.send_signal(signum)
    _, err = process.communicate(timeout=20)
    assert process.returncode == code
    assert err.splitlines()[-1] == f"nmrgcl: interrupted by {signal.Signals(signum).name}; continue with --resume"
    assert list((tmp_path / "r" / ".seed-0.checkpoints").glob("*.ckpt"))
    again = subprocess.run(
        [*command[:-6], "--set", "epochs=1", *command[-4:], "--resume"], capture_output=True, text=True
    )
    assert again.returncode == 2
    assert "its run has other settings" in again.stderr


def test_resume_takes_auto_or_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = str(tmp_path / "r")
    _, err = run(capsys, "pretrain", "motifs", *FAST, "--quiet", "--out", out, "--resume", code=2)
    assert "there is no run to resume" in err
    for _ in range(2):
        run(capsys, "pretrain", "motifs", *FAST, "--quiet", "--resume", "auto", "--out", out)
    run(capsys, "pretrain", "--resume", "motifs", *FAST, "--quiet", "--out", out)
    _, err = run(capsys, "pretrain", "motifs", *FAST, "--quiet", "--out", out, "--resume=perhaps", code=2)
    assert "--resume perhaps: unknown" in err


def test_without_labels_the_next_step_is_not_to_judge(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data, made = tmp_path / "plain.jsonl", str(tmp_path / "r")
    data.write_text('{"edges": [[0, 1], [1, 2]]}\n{"edges": [[0, 1]]}\n' * 10)
    out, _ = run(capsys, "pretrain", str(data), *FAST, "--quiet", "--out", made)
    assert out.endswith(f"use them: nmrgcl embed {made}/seed-0 {data}, or look at them: nmrgcl report {made}\n")
    page, _ = run(capsys, "report", made, str(data), "--device", "cpu")
    assert "No accuracy: plain: has no graph labels" in Path(page.strip()).read_text()


def test_a_class_under_another_name_is_answered_with_y(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data = tmp_path / "mine.jsonl"
    data.write_text('{"edges": [[0, 1]], "label": 1}\n')
    _, err = run(capsys, "datasets", "info", str(data), code=2)
    assert err == f"nmrgcl: {data}, line 1: unknown key 'label'; use y for the class of a graph\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    {
        "pretrian MUTAG": "no such command 'pretrian'; did you mean 'pretrain'?",
        "pretrain": "missing argument 'DATA'; see nmrgcl pretrain --help",
        "pretrain MUTAG --epochs abc": "--epochs: ",
        "embed nosuch MUTAG": "nosuch: no such run or model folder",
        "view nosuch": "nosuch: no such run or model folder",
        "finetune nosuch.csv": "nosuch.csv: no such file or folder",
        "results list --results nosuch": "--results nosuch: no such folder",
        "sweep MUTAG --selection zzz": "known: both, honest, paper",
        "sweep MUTAG --method gmi": "MUTAG: is many graphs, but method gmi would embed nodes here; use method nmrgcl",
        "sweep PubMed --method wl": "PubMed: is one graph whose nodes are labelled, but method wl would embed graphs",
        "methods joaov2": "it is a preset of method joao: use --preset joaov2",
        "methods gin": "it is an encoder; to train it with labels, use --preset supervised_graph_gin",
    }.items(),
)
def test_what_cannot_be_meant_is_said_in_one_line(
    arguments: str, told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out, err = run(capsys, *arguments.split(), code=2)
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("nmrgcl: ")
    assert told in err
    assert list(tmp_path.iterdir()) == []


def test_a_sweep_refuses_graphs_without_labels_before_it_begins(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    graphs = tmp_path / "noy.jsonl"
    graphs.write_text('{"edges": [[0, 1]]}\n' * 3)
    _, err = run(capsys, "sweep", str(graphs), "--results", str(tmp_path / "cells"), code=2)
    assert "has no labels, which a sweep judges by" in err
    assert not (tmp_path / "cells").exists()


def test_a_refused_run_is_not_in_the_way_of_the_corrected_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    command = ["pretrain", "MUTAG", "--method", "gcc", "--seeds", "1", "--epochs", "1", "--batch-size", "64"]
    command += ["--set", "contrast=moco", "--set", "steps=8", "--device", "cpu", "--out", str(tmp_path / "r")]
    _, err = run(capsys, *command, "--set", "queue=1000", code=2)
    assert "set queue to 128 or less" in err
    run(capsys, *command, "--set", "queue=128")
    _, err = run(capsys, *command, "--set", "queue=64", code=2)
    assert "already holds a run" in err


def test_a_method_with_kernels_is_said_to_be_judged_by_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    made = str(tmp_path / "r")
    run(capsys, "pretrain", "MUTAG", "--method", "wl", "--set", "iterations=1", "--seeds", "1", "--out", made)
    out, _ = run(capsys, "evaluate", made, "--seeds", "1", "--set", "folds=3", "--jobs", "1")
    assert "SVM on the method's own kernels, kernel and C (grid) by the training folds; 3 folds, once" in out
    out, _ = run(capsys, "evaluate", made, "--seeds", "1", "--set", "folds=3", "--protocol", "lssvm")
    assert "RBF least-squares SVM on" in out


def test_ctrl_c_is_said_in_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def press(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nmrgcl.cli.methods_text.one_method", press)
    assert run(capsys, "methods", "gmi", code=130)[1].endswith("nmrgcl: interrupted\n")
