"""``nmrgcl methods`` as a user types it."""

import json
from pathlib import Path

import pytest

from nmrgcl.cli.methods_text import several_methods
from nmrgcl.methods import find_method
from tests.methods.members import ONLY_HERE
from tests.test_cli import run

OWN = """
from dataclasses import dataclass
from nmrgcl import Pretraining, setting

@dataclass(frozen=True)
class Options:
    a: float = setting(1.0, "short", min=0)
    a_name_that_is_rather_long: int = setting(100000, "{about}", min=0)
    maybe: int | None = setting(None, "nothing")

class Mine(Pretraining):
    "Mine."
    options: Options
    {more}
    def losses(self, graphs, progress):
        return iter(())

METHOD = Mine
"""
LONG = " ".join(["word"] * 30)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NMRGCL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "100")


def own_file(folder: Path, more: str = "", about: str = LONG) -> str:
    path = folder / "mine.py"
    path.write_text(OWN.format(more=more, about=about))
    return str(path)


def test_methods_are_listed_by_family(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "methods")
    lines = out.splitlines()
    families = [line for line in lines if not line.startswith(" ")]
    assert families == sorted(families)
    place = {line.split()[0]: number for number, line in enumerate(lines) if line[:3].strip()}
    for family, names in {"contrastive": ["graphcl", "nmrgcl"], "mutual information": ["dgi"]}.items():
        first = lines.index(family)
        last = next((n for n in range(first + 1, len(lines)) if lines[n] in families), len(lines))
        assert all(first < place[name] < last for name in names)
    row = lines[place["nmrgcl"]]
    assert row.split()[:4] == ["nmrgcl", "graphs", "and", "nodes"]
    assert row.endswith("Contrast two views; the prominent dimensions of one are removed")
    assert lines[place["nmrgcl"] + 1].index("from the other") == row.index("Contrast")


def test_a_method_without_a_family_is_among_the_others() -> None:
    row = {"name": "mine", "family": None, "presets": {"graph": "strong"}, "summary": "Mine."}
    assert several_methods([row]) == "other\n  mine  graphs            Mine."
    assert several_methods([]) == ""


def test_one_method_with_its_published_figures(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "methods", "graphcl")
    words = " ".join(out.split())
    assert out.startswith(
        "graphcl: Contrast two views of a graph with the other graphs of the batch; nothing is removed.\n"
    )
    for part in (
        "family contrastive",
        "embeds graphs (preset strong)",
        "presets graphcl_molecules, graphcl_published, strong",
        "trains The encoder and a projection head",
        "recorded Yes",
        "paper You, Chen, Sui, Chen, Wang, Shen 2020",
        "published Its authors report the last of 20 epochs",
        "arXiv 2203.12821, Table 1: PTC_MR 63.62 ± 1.83, PROTEINS 74.39 ± 0.45",
        "checked The loss of its code against its definition (tests/contrast/test_infonce.py)",
        "options, set with --set NAME=VALUE: tau 0.2 temperature of the loss (τ); 0.1 in preset strong",
    ):
        assert part in words
    words = " ".join(run(capsys, "methods", "dgi")[0].split())
    assert "Veličković et al. 2019; split public: PubMed 76.80 ± 0.60" in words
    assert "as later papers report it; split random-10-10-80: PubMed 86.00 ± 0.14, Coauthor-CS 92.15 ± 0.63" in words
    assert words.endswith("no options of its own")
    words = " ".join(run(capsys, "methods", "nmrgcl")[0].split())
    assert "embeds graphs (preset strong), nodes (preset node)" in words
    assert "presets coloured, graphcl, molecules, node, paper, strong, tuned" in words
    words = " ".join(run(capsys, "methods", "untrained")[0].split())
    assert "presets node, strong, supervised_gat" in words
    assert "always train.epochs = 0" in words
    assert "±" not in words  # those of its supervised rows are no figures of an untrained encoder


def test_what_is_printed_fits_the_terminal_and_columns_align(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for columns in (60, 100):
        monkeypatch.setenv("COLUMNS", str(columns))
        for name in ("nmrgcl", "merit", "cca_ssg"):
            lines = run(capsys, "methods", name)[0].splitlines()
            assert max(map(len, lines)) <= columns
            assert not any(line.strip().startswith("±") for line in lines)
    out, _ = run(capsys, "methods", own_file(tmp_path))
    options = out.splitlines()[out.splitlines().index("options, set with --set NAME=VALUE:") + 1 :]
    assert options[:3] == [
        "  a                           1.0     short",
        "  a_name_that_is_rather_long  100000  word word word word word word word word word word word word",
        "                                      word word word word word word word word word word word word",
    ]
    assert options[4] == "  maybe                       None    nothing"


def test_all_facts_are_there_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(run(capsys, "methods", "merit", "--json")[0])
    about = find_method("merit").ABOUT
    assert about is not None
    assert [found[key] for key in ("family", "paper", "trains", "published", "checked")] == [
        *(about.family, about.paper, about.trains, about.published, about.checked)
    ]
    assert (found["presets"], found["presets_for_it"]) == ({"node": "merit"}, ["merit"])
    assert (found["recorded"], found["fixed"]) == (True, {"encoder.name": "gcn"})
    photo = {"dataset": "Amazon-Photo", "split": "30 a class", "source": "Jin et al. 2021, as Table 2 quotes it"}
    assert {**photo, "mean": 87.4, "std": 0.2, "below": None} in found["figures"]
    assert found["options"][0]["choices"] == ["ppr", "heat"]
    listed = {one["name"]: one for one in json.loads(run(capsys, "methods", "--json")[0])["methods"]}
    assert listed["merit"] == found
    assert listed["wl"]["recorded"] is None


def test_a_file_of_ones_own_shows_what_it_says(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out, _ = run(capsys, "methods", own_file(tmp_path))
    assert [line.split()[0] for line in out.splitlines()[:5]] == ["mine:", "embeds", "presets", "recorded", "options,"]
    about = 'from nmrgcl.methods import About; ABOUT = About("rare", "By me", "Nothing")'
    out, _ = run(capsys, "methods", own_file(tmp_path, about))
    assert "family     rare\n" in out
    assert "paper      By me\n" in out
    assert "published" not in out
    _, err = run(capsys, "methods", own_file(tmp_path, 'ABOUT = "rare"'), code=2)
    assert err == "nmrgcl: method mine: its ABOUT must be an nmrgcl.methods.About\n"


def test_steps_that_cannot_be_recorded_are_said_to_be_so(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "methods", str(ONLY_HERE / "curriculum.py"))
    assert "recorded   No: its steps wait for the host or depend on Python values" in out
    assert "recorded   No: it is fitted directly" in run(capsys, "methods", "wl")[0]


def test_what_learns_from_molecules_alone_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "methods", "edge_pred")
    assert "embeds     molecules (preset edge_pred)" in out
