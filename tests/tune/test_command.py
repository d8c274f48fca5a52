"""``nmrgcl tune`` as a user types it."""

import json
import shlex
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmrgcl.reproduce import find_item
from nmrgcl.reproduce.rank import UNTRAINED
from nmrgcl.run.pilot import CellSeconds
from nmrgcl.run.results import Results
from nmrgcl.settings import Settings, load_preset, resolve
from nmrgcl.tune.files import OTHERS, as_lines, gather_preset
from nmrgcl.tune.found import CRITERIA
from nmrgcl.tune.search import plan_search
from tests.run.test_execute import forbid
from tests.test_cli import run, write_tu

ROOT = Path(__file__).parents[2]
SMALL = ["epochs=1", "encoder.units=4", "layers=1", "svm.folds=3", "views.first=Identity", "views.second=DropNodes"]
SMALL += ["batch_size=150", "data.features=labels"]


@pytest.fixture(autouse=True)
def known_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmrgcl.run.outlook.estimate_cell", lambda cell, device: CellSeconds(train=50.0, judge=10.0))


def command(folder: Path, *more: str, data: str = "motifs") -> list[str]:
    space = folder / "space.toml"
    space.write_text('options.tau = [0.1, 0.5]\nencoder.pool = ["sum", "mean"]\nencoder.units = [64]\n')
    held = [part for text in SMALL for part in ("--set", text)]
    places = ["--results", str(folder / "results"), "--out", str(folder / "tuned"), "--space", str(space)]
    return ["tune", data, *held, *places, "--seeds", "2", "--device", "cpu", "--jobs", "1", *more]


def tuned(capsys: pytest.CaptureFixture[str], folder: Path, *more: str) -> dict[str, Any]:
    out, _ = run(capsys, *command(folder, "--json", *more))
    (found,) = json.loads(out)["searches"]
    assert isinstance(found, dict)
    return found


def test_two_candidates_then_a_third_and_nothing_is_computed_twice(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tuned(capsys, tmp_path, "--budget", "2", "--protocol", "lssvm")
    assert len(Results(tmp_path / "results").keys()) == 4
    inner, outer = (np.array([c[part] for c in found["candidates"]]) for part in ("inner", "outer"))
    assert inner.shape == outer.shape == (2, 2, 3)
    chosen = np.where(inner[1] > inner[0], outer[1], outer[0])
    assert found["nested"]["scores"] == pytest.approx(chosen.mean(1))
    assert found["preset"]["scores"] == pytest.approx(outer[0].mean(1))
    assert found["seen"]["mean"] == pytest.approx(outer.mean((1, 2)).max())
    assert found["winner"]["candidate"] == int(inner.mean((1, 2)).argmax())
    assert sum(c["chosen"] for c in found["candidates"]) == 6
    assert found["device"] == "cpu"
    assert set(found["candidates"][1]["changed"]) <= {"options.tau", "encoder.pool"}  # --set holds encoder.units

    third = tuned(capsys, tmp_path, "--budget", "3", "--protocol", "lssvm")
    assert len(Results(tmp_path / "results").keys()) == 6
    means = [c["inner_mean"] for c in third["candidates"]]
    assert sum(count for _, _, count in third["effects"]["options.tau"]) == 2  # the preset drew nothing
    spread = {round(mean, 2) for _, mean, _ in third["effects"]["options.tau"]}
    assert spread <= {round(m, 2) for m in [*means[1:], sum(means[1:]) / 2]}
    assert third["candidates"][1]["inner"] == found["candidates"][1]["inner"]
    monkeypatch.setattr("nmrgcl.run.execute._compute", forbid)
    assert tuned(capsys, tmp_path, "--budget", "3", "--protocol", "lssvm")["nested"] == third["nested"]
    out, _ = run(capsys, *command(tmp_path, "--budget", "3", "--protocol", "lssvm"))
    assert f"{third['nested']['mean']:.2f} ± {third['nested']['std']:.2f}   honest" in out
    assert "not a valid result" in out


def test_a_criterion_without_labels_chooses_by_what_trainings_recorded(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    by_labels = tuned(capsys, tmp_path, "--budget", "3", "--protocol", "lssvm")
    asked = ("--budget", "3", "--protocol", "lssvm", "--criterion", "mean_correlation")
    found = tuned(capsys, tmp_path, *asked)
    kept = [result.training["mean_correlation"] for result in Results(tmp_path / "results").all()[0]]
    shares = np.array([one["measures"]["mean_correlation"] for one in found["candidates"]])
    assert sorted(shares.ravel()) == pytest.approx(sorted(kept), rel=1e-5)
    chosen = shares.argmin(axis=0)  # lower is better
    outer = np.array([one["outer"] for one in found["candidates"]])
    assert found["nested"]["scores"] == pytest.approx([outer[best, seed].mean() for seed, best in enumerate(chosen)])
    assert found["nested"] == found["criteria"]["mean_correlation"] == by_labels["criteria"]["mean_correlation"]
    assert found["criteria"]["inner"] == by_labels["nested"]
    assert found["winner"]["candidate"] == shares.mean(axis=1).argmin()
    assert set(found["criteria"]) == set(CRITERIA)
    out, _ = run(capsys, *command(tmp_path, *asked))
    assert "chosen by mean_correlation" in out
    assert "tuned over 3 candidates" in out
    assert "best by mean_correlation, without labels" in (tmp_path / "tuned" / "motifs.toml").read_text()


@pytest.mark.parametrize(
    ("method", "searched"),
    [
        (
            "infograph",
            {"encoder.layers", "encoder.units", "encoder.pool", "train.epochs", "train.lr", "svm.standardise"},
        ),
        ("wl", {"options.iterations"}),
        ("graph2vec", {"options.iterations", "svm.standardise"}),
    ],
)
def test_the_same_space_serves_every_method_by_what_it_uses(method: str, searched: set[str]) -> None:
    options: dict[str, Any] = {"budget": 4, "seeds": 2, "protocol": "svm", "chance": 0}
    search = plan_search("MUTAG", method, assignments={}, space="equal", **options)
    assert len(search.candidates) == 4
    assert {key for candidate in search.candidates[1:] for key in candidate.drawn} == searched


@pytest.mark.parametrize("method", ["wl", "infograph"])
def test_the_settings_found_for_another_method_are_input_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, method: str
) -> None:
    given = ["--set", "svm.folds=3", *(["--set", "epochs=1", "--set", "units=4"] if method == "infograph" else [])]
    places = ["--results", str(tmp_path / "results"), "--out", str(tmp_path / "tuned")]
    few = ["--space", "equal", "--budget", "2", "--seeds", "1", "--protocol", "svm", "--device", "cpu", "--jobs", "1"]
    out, _ = run(capsys, "tune", "motifs", "--method", method, *given, *few, *places, "--json")
    (found,) = json.loads(out)["searches"]
    again = resolve(config=tmp_path / "tuned" / "motifs.toml")
    assert replace(again, seed=0) == replace(Settings.from_dict(found["settings"]), seed=0)
    assert again.method == method


def test_the_space_collapse_has_the_settings_of_the_item_rank() -> None:
    item = find_item("rank")
    wanted = {placed.cell.key for placed in item.cells(item.plan(only=["motifs"])) if placed.at[1] != UNTRAINED}
    options: dict[str, Any] = {"budget": 24, "seeds": 5, "protocol": "lssvm", "chance": 0}
    search = plan_search("motifs", "nmrgcl", preset="graphcl", assignments={}, space="collapse", **options)
    assert {cell.key for cell in search.cells()} == wanted


def test_the_settings_found_are_input_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = tuned(capsys, tmp_path, "--budget", "2", "--gather", str(tmp_path / "preset.toml"))
    record, preset = map(Path, found["files"])
    assert json.loads(record.read_text())["nested"] == found["nested"]
    expected = Settings.from_dict(found["settings"])
    assert resolve(config=preset) == resolve(config=record) == expected
    assert found["command"].startswith("nmrgcl tune motifs")
    space = str(tmp_path / "space.toml")
    assert shlex.split(found["command"])[-6:] == ["--space", space, "--seeds", "2", "--budget", "2"]
    assert preset.read_text().startswith(f"# motifs, {found['date']}: nmrgcl tune motifs")
    tables = tomllib.loads((tmp_path / "preset.toml").read_text())
    base = resolve(OTHERS)
    assert base.updated(tables.pop("dataset")["motifs"]) == expected
    assert Settings().updated(tables) == base


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--protocol", "linear"], "--protocol linear: candidates are evaluated by svm or lssvm"),
        (["--preset", "paper"], "svm.c = default leaves no inner scores to choose by; add --set svm.c=grid"),
        (["--set", "tau=0.3", "--set", "pool=sum"], "nothing is left to try"),
        (["--every-scaling", "--set", "standardise=false"], "--every-scaling: --set fixes svm.standardise"),
        (["--criterion", "rank"], "unknown criterion 'rank'; "),
        (["--space", "nowhere.toml"], "nowhere.toml: cannot be read"),
        (["--method", "nmrgl"], "nmrgcl"),
    ],
)
def test_bad_input_is_one_line(more: list[str], words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out, err = run(capsys, *command(tmp_path, *more), code=2)
    assert (out, err.count("\n")) == ("", 1)
    assert words in err
    assert not (tmp_path / "results").exists()


def test_results_without_inner_scores_are_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from dataclasses import replace

    tuned(capsys, tmp_path, "--budget", "1", "--protocol", "lssvm")
    results = Results(tmp_path / "results")
    first = results.get(results.keys()[0])
    assert first is not None
    results.put(replace(first, scores={k: v for k, v in first.scores.items() if k != "inner"}))
    _, err = run(capsys, *command(tmp_path, "--budget", "1", "--protocol", "lssvm"), code=2)
    assert "from an earlier version, without inner scores; use another --results" in err


def test_a_candidate_that_fails_is_left_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nmrgcl.run import execute

    compute = execute._compute

    def fragile(cell: Any, *arguments: Any) -> Any:
        if cell.seed == 1 and cell.settings.options.tau == 0.5:
            raise RuntimeError("too hot")
        return compute(cell, *arguments)

    monkeypatch.setattr("nmrgcl.run.execute._compute", fragile)
    found = tuned(capsys, tmp_path, "--budget", "4", "--protocol", "lssvm")
    failed = [c["failed"] for c in found["candidates"]]
    assert failed == [c["changed"].get("options.tau") == 0.5 for c in found["candidates"]]
    assert 0 < sum(failed) < len(failed)
    assert all(not c["chosen"] for c in found["candidates"] if c["failed"])


def test_a_dry_run_lists_candidates_of_several_datasets(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    mine = write_tu(tmp_path / "MINE")
    out, _ = run(capsys, *command(tmp_path, "MUTAG", str(mine), "--budget", "3", "--dry-run", "--json"))
    found = json.loads(out)["searches"]
    assert [(s["dataset"], s["cells"]) for s in found] == [("motifs", 6), ("MUTAG", 6), (str(mine), 6)]
    assert not (tmp_path / "results").exists()
    out, _ = run(capsys, *command(tmp_path, "--budget", "2", "--dry-run", "--backend", "ray", "--jobs", "40"))
    assert "the preset as it is" in out
    assert "4 cells, 0 finished, 4 missing; about " in out
    assert out.endswith(f" on 40 workers as fast as this machine, in {tmp_path / 'results'}\n")


def test_drawn_views_are_listed_with_their_probabilities(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    space = tmp_path / "views.toml"
    composed = '{ name = "Compose", weight = 2, views = [{ name = "DropEdges", p = 0.3 }, { name = "DropFeatures" }] }'
    first = f'first = [{{ name = "DropNodes", p = 0.1, weight = 3 }}, {composed}]'
    space.write_text(f'[[views]]\n{first}\nsecond = []\n[[data]]\nfeatures = "degree"\nmax_degree = 9\n')
    out, _ = run(capsys, "tune", "motifs", "--space", str(space), "--budget", "2", "--dry-run")
    shown = "views=DropNodes(p=0.1,weight=3)|[DropEdges(p=0.3)+DropFeatures](weight=2)/Identity"
    assert out.splitlines()[2] == f'    1  {shown} data={{"features": "degree", "max_degree": 9}}'


def test_removal_is_not_tuned_where_nothing_is_removed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    listed = {}
    for method in ("nmrgcl", "graphcl"):
        more = ["--budget", "2", "--dry-run", "--json", "--space", "small", "--method", method]
        (found,) = json.loads(run(capsys, *command(tmp_path, *more))[0])["searches"]
        listed[method] = set(found["candidates"][1])
    assert listed["nmrgcl"] - listed["graphcl"] == {"options.delta", "options.where"}


def test_datasets_of_nodes_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, err = run(capsys, *command(tmp_path, "--preset", "node"), code=2)
    assert "datasets of graphs, not of nodes" in err


def test_the_packaged_presets_are_those_that_searches_found(tmp_path: Path) -> None:
    gather_preset(ROOT / "results" / "tuned", tmp_path / "tuned.toml")
    packaged = ROOT / "src" / "nmrgcl" / "presets" / "tuned.toml"
    assert packaged.read_text(encoding="utf-8") == (tmp_path / "tuned.toml").read_text(encoding="utf-8")
    for path in (ROOT / "results" / "tuned").glob("*.json"):
        found = json.loads(path.read_text())
        assert resolve("tuned", dataset=found["dataset"]) == Settings.from_dict(found["settings"])


def test_a_dataset_with_any_letters_in_its_name_is_gathered(tmp_path: Path) -> None:
    (tmp_path / "𝔾raphs.toml").write_text("train.lr = 0.5\n[options]\ntau = 0.25\n", encoding="utf-8")
    gather_preset(tmp_path, tmp_path / "tuned" / "all.toml")
    read = tomllib.loads((tmp_path / "tuned" / "all.toml").read_text(encoding="utf-8"))
    assert read["dataset"]["𝔾raphs"] == {"train": {"lr": 0.5}, "options": {"tau": 0.25}}


def test_values_survive_toml() -> None:
    text = 'quoted "word", \\ Größe 图 𝔾 \x7f \n'
    values = load_preset(OTHERS) | {"a.b": text, "c": 1e-05, "d": True}
    read = tomllib.loads(as_lines(values))
    assert read["a"]["b"] == text
    assert (read["c"], read["d"]) == (1e-05, True)
    assert read["views"]["first"] == values["views.first"]
