"""A space is data: what is wrong in it is one line, and what is drawn from it is repeatable."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmrgcl.data.loading import load
from nmrgcl.errors import SettingError
from nmrgcl.settings import resolve
from nmrgcl.tune.search import plan
from nmrgcl.tune.space import Space, read_space

START = resolve("strong")


def space_of(folder: Path, text: str) -> Space:
    path = folder / "mine.toml"
    path.write_text(text)
    return read_space(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("options.tua = [0.1]", "unknown setting 'options.tua'; did you mean options.tau"),
        ("name = [3]", "must be a word"),
        ("options.tau = 0.1", "options.tau = 0.1 must be a list of values to try"),
        ("options.tau = []", "must be a list of values to try"),
        ("options.tau = [0.1, -1]", "tau = -1 must be above 0"),
        ('encoder.layers = ["three"]', "must be a whole number"),
        ("seed = [0, 1]", "seed must be the same for every candidate"),
        ('method = ["graphcl"]', "method must be the same"),
        ("svm.folds = [5, 10]", "svm.folds must be the same"),
        ('[[svm]]\nc = "default"', "svm.c must be the same"),
        ("views = [1]", r"views is a group of settings; list tables, for example \[\[views\]\]"),
        ('[[views]]\nfirst = [{ name = "DropNode" }]', "unknown view 'DropNode'; did you mean"),
        ('[[views]]\nthird = [{ name = "DropNodes" }]', "unknown setting 'views.third'"),
        ("strength = [2.0]", "must be probabilities"),
        ("", "an empty space"),
        ("options.tau = [", "not valid TOML"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_file_and_key(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=words) as caught:
        space_of(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'mine.toml'}: ")
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    known = "name a TOML file or one of collapse, equal, graphs, pairs, small, wide"
    with pytest.raises(SettingError, match=f"nowhere.toml: cannot be read .*; {known}"):
        read_space(tmp_path / "nowhere.toml")


def test_the_spaces_of_the_package_have_names() -> None:
    graphs, small = read_space("graphs"), read_space("small")
    assert set(small.options) < set(graphs.options)
    assert read_space().options == graphs.options
    assert {"views", "data", "strength"} <= set(read_space("pairs").options)
    assert {"views", "strength"} <= set(read_space("wide").options)


def test_settings_groups_and_strength_are_drawn_together(tmp_path: Path) -> None:
    text = """
    tau = [0.5]
    strength = [0.25]
    [[views]]
    first = [{ name = "Compose", views = [{ name = "DropEdges" }, { name = "MaskFeatures", p = 0.9 }] }]
    second = [{ name = "Identity" }, { name = "Subgraph", p = 0.1 }, { name = "DropNodes" }]
    """
    space = space_of(tmp_path, text)
    found = space.apply(space.draw(np.random.default_rng(0)), START)
    assert found.options.tau == 0.5
    (composed,) = found.views.first
    assert composed["views"] == [{"name": "DropEdges", "p": 0.25}, {"name": "MaskFeatures", "p": 0.25}]
    assert found.views.second == (
        {"name": "Identity"},
        {"name": "Subgraph", "p": 0.1},
        {"name": "DropNodes", "p": 0.25},
    )
    assert found.encoder == START.encoder


def test_what_is_held_is_not_tried() -> None:
    graphs = set(read_space("graphs").options)
    assert graphs - set(read_space("graphs").without(["options.tau", "seed"]).options) == {"options.tau"}
    assert graphs - set(read_space("graphs").without(["views.first"]).options) == {"views", "strength"}


def test_a_larger_budget_begins_with_the_candidates_of_a_smaller_one() -> None:
    options = {"seeds": 2, "protocol": "lssvm", "chance": 4, "name": "motifs"}
    few, many = (plan(load("motifs"), START, read_space(), budget=n, **options) for n in (3, 9))  # type: ignore[arg-type]
    assert [c.settings for c in many.candidates[:3]] == [c.settings for c in few.candidates]
    assert few.candidates[0].settings == START
    assert few.candidates[0].drawn == {}
    cells = many.cells()
    assert len({cell.key for cell in cells}) == len(cells) == 18
    assert [cell.seed for cell in cells[:4]] == [0, 1, 0, 1]


def test_every_scaling_is_tried_with_each_candidate_from_one_training() -> None:
    options: dict[str, Any] = {"seeds": 1, "protocol": "svm", "chance": 4, "name": "motifs"}
    alone = plan(load("motifs"), START, read_space(), budget=3, **options).candidates
    few, many = (plan(load("motifs"), START, read_space(), budget=n, every_scaling=True, **options) for n in (3, 5))
    assert many.candidates[:9] == few.candidates
    assert few.candidates[0] == alone[0]
    trainings = [cell.training for cell in few.cells()]
    assert trainings == [cell.training for cell in (few.cell(c, 0) for c in alone) for _ in range(3)]
    for first in (0, 3, 6):
        ways = [c.settings.svm.standardise for c in few.candidates[first : first + 3]]
        assert sorted(map(str, ways)) == ["False", "True", "squashed"]


def test_a_small_space_ends_when_it_is_exhausted(tmp_path: Path) -> None:
    space = space_of(tmp_path, "tau = [0.1, 0.2]\nstandardise = [true, false]")
    found = plan(load("motifs"), START, space, budget=8, seeds=1, protocol="lssvm", chance=0, name="motifs")
    assert len(found.candidates) == 4  # one of them is the preset


def test_features_that_a_dataset_lacks_are_not_tried() -> None:
    options = {"seeds": 1, "protocol": "lssvm", "chance": 0, "budget": 40}
    drawn = [c.drawn for c in plan(load("motifs"), START, read_space(), name="motifs", **options).candidates]  # type: ignore[arg-type]
    found = {values["data.features"] for values in drawn if values}
    assert found == {"auto", "degree", "constant"}  # "auto" stands for labels there
