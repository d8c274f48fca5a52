"""Options that are settings, ``nmrgcl presets``, ``nmrgcl settings`` and what the shell completes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nmrgcl.cli.command import explain
from nmrgcl.method_files import method_names, option_names, options_class
from nmrgcl.settings import Settings, load_preset, preset_names, shared_settings
from nmrgcl.settings.schema import setting_keys
from tests.flags import FILE, flags
from tests.test_cli import run

HEAVY = ("torch", "numpy", "sklearn", "scipy", "pandas", "matplotlib", "pyarrow")


def test_the_options_of_commands_change_only_on_purpose() -> None:
    assert flags() == json.loads(FILE.read_text()), "if this is meant: python -m tests.flags"


def test_no_setting_that_is_shared_lacks_a_meaning() -> None:
    shared = shared_settings()
    own = len(Settings().options.__dataclass_fields__)
    assert len(shared) == len(setting_keys("nmrgcl")) - own
    assert [one.key for one in shared if not one.meaning] == []
    (lr,) = (one for one in shared if one.key == "train.lr")
    assert (lr.values, lr.default) == ("number above 0", 1e-3)


def test_options_of_methods_are_known_without_importing_them() -> None:
    assert option_names() >= {name for method in method_names() for name in options_class(method).__dataclass_fields__}


@pytest.mark.parametrize(
    ("arguments", "told"),
    {
        "pretrain MUTAG --tau 0.1": "--tau: use --set tau=0.1",
        "pretrain MUTAG --encoder-units=64": "--encoder-units: use --set encoder.units=64",
        "pretrain MUTAG --weight-decay": "--weight-decay: use --set weight_decay=VALUE",
        "evaluate r MUTAG --folds 5": "--folds: use --set folds=5",
        "evaluate r MUTAG --tau 1": "--tau: tau is a training setting, which nmrgcl evaluate cannot change",
        "embed r MUTAG --epochs 3": "--epochs: epochs is a training setting, which nmrgcl embed cannot change",
        "pretrain MUTAG --epoch 3": "--epoch: nmrgcl pretrain has no such option; did you mean --epochs?",
        "evaluate r --seed 3": "--seed: nmrgcl evaluate has no such option; did you mean --seeds?",
        "datasets info MUTAG --frob": "--frob: nmrgcl datasets info has no such option; "
        "nmrgcl datasets info --help lists them",
        "pretrain MUTAG --lr 0": "--lr: train.lr = 0.0 must be above 0",
        "finetune BBBP --model none --epochs 0": "--epochs: finetune.epochs = 0 must be at least 1",
        "presets strongg": "unknown preset 'strongg'; did you mean strong?",
        "settings epoch": "unknown setting 'epoch'; did you mean epochs",
    }.items(),
)
def test_an_option_that_does_not_exist_is_explained(
    arguments: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = run(capsys, *arguments.split(), code=2)
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"nmrgcl: {told}")


def test_advice_names_only_options_that_the_command_has() -> None:
    assert explain("nmrgcl embed", "--tau", "1", ["--out"]).startswith("--tau: tau is a training setting")
    assert explain("nmrgcl sweep", "--tau", "1", ["--out", "--set"]) == "--tau: use --set tau=1"


def test_plain_options_are_settings(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ["pretrain", "motifs", "--epochs", "3", "--lr", "0.02", "--batch-size", "50", "--dry-run"]
    train = json.loads(run(capsys, *command)[0])["settings"]["train"]
    assert (train["epochs"], train["lr"], train["batch_size"]) == (3, 0.02, 50)
    _, err = run(capsys, *command, "--set", "lr=0.1", code=2)
    assert err == "nmrgcl: --set lr=0.1: --lr says 0.02; leave one of the two out\n"
    cells = ["sweep", "motifs", "--epochs", "3", "--seeds", "1", "--dry-run", "--json", "--results", str(tmp_path)]
    (cell,) = json.loads(run(capsys, *cells, "--set", "svm.folds=2")[0])["cells"]
    assert cell["settings"]["train"]["epochs"] == 3


def test_presets_show_what_they_set(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(run(capsys, "presets", "--json")[0])["presets"]
    assert [row["name"] for row in rows] == preset_names()
    assert all(row["about"] for row in rows)
    assert len(run(capsys, "presets")[0].splitlines()) == len(rows)
    one = json.loads(run(capsys, "presets", "cca_ssg", "--json")[0])
    assert one["values"] == load_preset("cca_ssg")
    for dataset, own in one["datasets"].items():
        assert load_preset("cca_ssg") | own == load_preset("cca_ssg", dataset)
    assert "encoder.units" in run(capsys, "presets", "strong")[0]


def test_settings_are_found_by_key_group_or_last_part(capsys: pytest.CaptureFixture[str]) -> None:
    def keys(*arguments: str) -> list[str]:
        return [one["key"] for one in json.loads(run(capsys, "settings", *arguments, "--json")[0])["settings"]]

    assert keys() == [one.key for one in shared_settings()]
    assert keys("lr") == ["train.lr", "finetune.lr"]
    assert keys("svm") == ["svm.c", "svm.inner", "svm.standardise", "svm.folds"]
    assert keys("linear.normalise") == ["linear.normalise"]
    taus = json.loads(run(capsys, "settings", "options.tau", "--json")[0])["settings"]
    assert {one["default"]: "gcc" in one["methods"] for one in taus}[0.07]
    assert "temperature" in run(capsys, "settings", "tau")[0]


def test_help_shows_flags_without_a_type(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ([], ["pretrain"], ["datasets", "list"]):
        out, _ = run(capsys, *command, "--help")
        assert "<bool>" not in out
        assert "BOOLEAN" not in out


def without_torch(words: str, **variables: str) -> str:
    """Standard output of ``nmrgcl words`` in a process that must load nothing heavy."""
    code = (
        f"import os, sys\nos.environ.update({variables})\nsys.argv = ['nmrgcl', *{words.split()}]\n"
        "from nmrgcl.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"loaded = [name for name in {HEAVY} if name in sys.modules]\nassert not loaded, loaded"
    )
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("line", "found"),
    {
        "nmrgcl pretrain PTC": {"PTC_MR", "PTC_FM"},
        "nmrgcl evaluate run PTC": {"PTC_MR", "PTC_FM"},
        "nmrgcl report run PTC": {"PTC_MR", "PTC_FM"},
        "nmrgcl diagnose run PTC": {"PTC_MR", "PTC_FM"},
        "nmrgcl compare one two --data PTC": {"PTC_MR", "PTC_FM"},
        "nmrgcl pretrain MUTAG --preset gra": {"grace", "graph2vec", "graphcl"},
        "nmrgcl sweep MUTAG --method graphc": {"graphcl"},
        "nmrgcl pretrain MUTAG --set encoder.u": {"encoder.units="},
        "nmrgcl pretrain MUTAG --set ta": {"tau="},
        "nmrgcl settings train.l": {"train.lr", "train.least_gain"},
        "nmrgcl presets str": {"strong"},
        "nmrgcl methods wl": {"wl"},
        "nmrgcl reproduce tab": {"table1", "table2", "table3"},
    }.items(),
)
def test_names_are_completed_without_torch(line: str, found: set[str]) -> None:
    shell = {"_NMRGCL_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    assert found <= set(without_torch("", **shell).split())
