import json
import time
from pathlib import Path

import pytest

from nmrgcl.data.catalog import find
from nmrgcl.errors import SettingError, UserError
from nmrgcl.methods import build_method
from nmrgcl.settings import Settings, datasets_of_preset, preset_names, read_config, resolve, setting_keys
from nmrgcl.settings.check import flatten


@pytest.mark.parametrize("preset", preset_names())
def test_resolved_settings_are_valid_input(preset: str, tmp_path: Path) -> None:
    settings = resolve(preset, assignments=["epochs=12", 'views.first=[{name="EdgeDrop", p=0.5}]'])
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(settings.to_dict()))
    assert resolve(config=file) == settings


def test_the_keys_are_those_that_are_documented() -> None:
    assert setting_keys("merit") == [
        *("method", "seed", "level", "data.features", "data.max_degree", "data.scale", "data.edges"),
        *("views.first", "views.second"),
        *("encoder.name", "encoder.layers", "encoder.units", "encoder.pool"),
        *("encoder.activation", "encoder.activate_last", "encoder.dropout", "encoder.norm", "encoder.jk"),
        *("colours.width", "colours.rounds"),
        *("options.diffusion", "options.alpha", "options.time", "options.keep"),
        *("options.tau", "options.beta", "options.momentum", "options.head_units"),
        *("train.epochs", "train.batch_size", "train.lr", "train.patience", "train.least_gain"),
        *("train.precision", "train.deterministic", "train.capture", "train.chunk_graphs"),
        *("train.sampling", "train.hops", "train.fanout", "train.schedule", "train.warmup", "train.weight_decay"),
        *("train.steps", "train.max_graphs"),
        *("svm.c", "svm.inner", "svm.standardise", "svm.folds", "linear.normalise"),
        *("finetune.epochs", "finetune.lr", "finetune.halve_every", "finetune.weight_decay", "finetune.patience"),
        *("finetune.head_norm", "finetune.head_dropout", "finetune.grid", "finetune.runs", "finetune.head_lr_scale"),
        *("finetune.precision", "finetune.batches"),
    ]


def test_a_unique_leaf_may_be_named_alone() -> None:
    settings = resolve(assignments=["epochs=12", "data.features=degree", "tau=1", "deterministic=true"])
    assert settings.train.epochs == 12
    assert settings.data.features == "degree"
    assert settings.options.tau == 1.0
    assert isinstance(settings.options.tau, float)
    assert settings.train.deterministic


def test_a_preset_may_have_values_of_their_own_for_some_datasets() -> None:
    assert resolve("gca").encoder.units == 256
    computers = resolve("gca", dataset="Amazon-Computers")
    assert (computers.encoder.units, computers.encoder.activation, computers.options.tau) == (128, "rrelu", 0.2)
    assert computers.encoder.layers == resolve("gca").encoder.layers
    assert resolve("gca", assignments=["encoder.units=7"], dataset="Amazon-Computers").encoder.units == 7
    assert resolve("gca", dataset="my/graph.npz") == resolve("gca")


@pytest.mark.parametrize("preset", preset_names())
def test_every_dataset_of_a_preset_exists_and_its_values_are_possible(preset: str) -> None:
    for name in datasets_of_preset(preset):
        entry = find(name)
        assert entry is not None
        assert entry.name == name
        own = resolve(preset, dataset=name)
        assert own != resolve(preset) or preset == "tuned"  # a search may find nothing better than it began with


@pytest.mark.parametrize(
    ("preset", "dataset", "published"),
    [
        ("grace", "Cora", {"options.tau": 0.4, "encoder.units": 128, "train.lr": 5e-4, "train.epochs": 200}),
        ("grace", "CiteSeer", {"options.tau": 0.9, "encoder.units": 256, "train.lr": 1e-3, "train.epochs": 200}),
        ("cca_ssg", "Cora", {"options.decorrelate": 1e-3, "encoder.layers": 2, "train.epochs": 50}),
        ("cca_ssg", "CiteSeer", {"options.decorrelate": 5e-4, "encoder.layers": 1, "train.epochs": 20}),
        ("gmi", "Cora", {"encoder.layers": 2, "train.epochs": 550, "options.own_weight": 0.8}),
        ("gmi", "CiteSeer", {"encoder.layers": 1, "train.epochs": 550, "options.own_weight": 0.8}),
        ("graphmae_node", "Cora", {"options.exponent": 3, "options.replace": 0.05, "train.epochs": 1500}),
        ("graphmae_node", "CiteSeer", {"options.exponent": 1, "options.replace": 0.1, "train.epochs": 300}),
        ("bgrl", "Coauthor-Physics", {"train.lr": 1e-5, "train.epochs": 10000, "train.weight_decay": 1e-5}),
    ],
)
def test_presets_of_node_methods_have_what_their_code_has(
    preset: str, dataset: str, published: dict[str, float]
) -> None:
    values = dict(flatten(resolve(preset, dataset=dataset).to_dict()))
    assert {key: values[key] for key in published} == published


@pytest.mark.parametrize("key", ["train.lr", "train.epochs", "train.precision", "train.capture"])
@pytest.mark.parametrize("digits", [310, 5000])
def test_an_integer_beyond_all_floats_is_refused_in_a_sentence(key: str, digits: int) -> None:
    for value in (10**digits, -(10**digits)):
        with pytest.raises(SettingError, match=f"settings: {key} is an integer of more than 308 digits"):
            Settings.from_dict({key: value})
    assert Settings.from_dict({"train.lr": 10**308}).train.lr == 1e308


def test_later_sources_win(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("train = { epochs = 7, lr = 0.5 }\n")
    settings = resolve("graphcl", file, ["epochs=9"])
    assert (settings.train.epochs, settings.train.lr, settings.train.batch_size) == (9, 0.5, 128)


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("epoch=3", "train.epochs|epochs"),
        ("train.epoch=3", "train.epochs"),
        ("weight_decays=3", "finetune.weight_decay|weight_decay"),
        ("epochs", "key=value"),
        ("epochs=3.5", "whole number"),
        ("epochs=true", "whole number"),
        ("lr=fast", "number"),
        ("lr=0", "above 0"),
        ("lr=inf", "finite"),
        ("batch_size=1", "at least 2"),
        ("deterministic=1", "true or false"),
        ("standardise=1", "known: false, squashed, true"),
        ("standardise=squash", "did you mean squashed"),
        ("removal=non_max", "non_maximum"),
        ("tua=0.3", "did you mean tau"),
        ("options.tua=0.3", "did you mean options.tau"),
        ("removal.kind=both", "removal.kind is now called removal"),
        ("tune_lr=0.1", "tune_lr is now called finetune.lr"),
        ("finetune.tune_lr=0.1", "finetune.tune_lr is now called finetune.lr"),
        ("momentum=0.9", "'momentum' is an option of .*merit, not of nmrgcl; nmrgcl methods nmrgcl lists its options"),
        ("options.alpha=0.9", "'alpha' is an option of .*mvgrl, not of nmrgcl"),
        ("loss.decorrelate=1", "'decorrelate' is an option of cca_ssg, not of nmrgcl"),
        ("views.first=[3]", "list of views"),
        ("features=degrees", "degree"),
    ],
)
def test_a_wrong_setting_says_what_would_be_right(assignment: str, words: str) -> None:
    with pytest.raises(SettingError, match=words) as caught:
        resolve(assignments=[assignment])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["{", "[1]", '{"train": 3}', '{"train": {"epochs": {"a": 1}}}', "[" * 100_000])
def test_a_broken_config_file_is_one_line(text: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text)
    with pytest.raises(SettingError) as caught:
        resolve(config=file)
    assert "\n" not in str(caught.value)
    assert "bad.json" in str(caught.value)


def test_a_missing_config_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="cannot be read"):
        read_config(tmp_path / "none.toml")


def test_defaults_are_complete() -> None:
    assert Settings.from_dict({}) == Settings()


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("s.json", '{"train": {"epochs": 1, "epochs": 2}}', "'epochs' occurs twice"),
        ("s.json", '{"seed": 1, "seed": 1}', "'seed' occurs twice"),
        ("s.json", '{"a": ' * 900 + "1" + "}" * 900, "nested more than 32 levels"),
        ("s.toml", "a." * 2_000 + "a = 1", "nested more than 32 levels"),
        ("s.toml", "a." * 50_000 + "a = 1", "nested more than 32 levels"),
        ("s.toml", "[" + "a . " * 50_000 + "a]", "nested more than 32 levels"),
        ("s.toml", "[" + "'a'.\"b\"." * 25_000 + "a]", "nested more than 32 levels"),
        ("s.toml", "a = {" * 500 + "b = 1" + "}" * 500, "nested more than 32 levels"),
        ("s.toml", "train.epochs = 2020-01-01", "is a date or time"),
    ],
    ids=lambda text: text[:24],
)
def test_settings_that_repeat_a_key_or_nest_too_deeply_are_refused_at_once(
    name: str, text: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    began = time.process_time()
    with pytest.raises(SettingError, match=words):
        resolve(config=tmp_path / name)
    assert time.process_time() - began < 2  # tomllib takes a minute for 50,000 levels


def test_a_dotted_key_of_ordinary_depth_is_read(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("train . epochs = 3\n# " + "word " * 10_000 + '\n[encoder]\n"units" = 8\n')
    assert resolve(config=tmp_path / "s.toml") == Settings().updated({"epochs": 3, "encoder.units": 8})


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("seed=18446744073709551616", "seed = 18446744073709551616 must be at most 4294967295"),
        ("layers=10000000", "encoder.layers = 10000000 must be at most 1000"),
        ("batch_size=100000000000000000000", "must be at most 2147483647"),
        ("epochs=" + "[" * 5_000, "must be a whole number"),
        ("epochs=" + "9" * 5_000, "must be a whole number"),
        ('views.first=[{name="DropNodes", p=2020-01-01}]', "unknown view"),
    ],
    ids=lambda text: text[:30],
)
def test_absurd_values_are_refused_in_one_line(assignment: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        build_method(resolve(assignments=[assignment]), 4)
