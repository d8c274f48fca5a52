"""The bundled encoder: its folder, the commands that use it by default, and the message if it is missing."""

import json
import pickle
import shlex
import shutil
import socket
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sklearn.base import clone

pytest.importorskip("rdkit", reason="RDKit is not installed (extra chem)")

from bundle import LARGEST, MOLECULES, bundle, command_of
from nmrgcl import MoleculeEmbedder
from nmrgcl.errors import DataError, ModelError
from nmrgcl.methods import Pretraining
from nmrgcl.model_folder import load_model, save_model
from nmrgcl.run import bundled
from nmrgcl.run.recipe import recipe
from tests.predict.planted import write
from tests.test_cli import run
from tests.tiny_molecules import SMALL, SMILES, save_other_model

THREE = ["CCO", "c1ccccc1C(=O)O", "CN1CCCC1c1cccnc1"]
AGAIN = ["OCC", "OC(=O)C1=CC=CC=C1", "c1cncc(C2CCCN2C)c1"]
"""The same molecules, with SMILES that start from other atoms."""
QUICK = ["--seeds", "1", "--set", "epochs=2", "--device", "cpu"]
WIDE = 0.1
"""A looser limit, because rounding errors average out less in embeddings with eight units."""
REAL = bundled.FOLDER
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A smaller version of what ``nmrgcl pretrain ZINC-2.2M`` would produce."""
    fitted = MoleculeEmbedder(settings=SMALL | {"options.tau": 0.3}, device="cpu").fit(SMILES)
    folder = tmp_path_factory.mktemp("models") / "model"
    folder.mkdir()
    save_model(folder, replace(fitted.model_, dataset="ZINC-2.2M"), training={"loss": 1.5})
    return folder


@pytest.fixture(scope="module")
def made(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundled") / "molecules"
    bundle(original, folder, hardware="two cores", farthest=WIDE)
    return folder


@pytest.fixture
def small(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small encoder in place of the bundled one."""
    monkeypatch.setattr(bundled, "FOLDER", made)
    return made


@pytest.fixture
def none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled, "FOLDER", tmp_path / "nothing")


@pytest.fixture(params=["small", "real"])
def either(request: pytest.FixtureRequest) -> Path:
    if request.param == "small":
        return request.getfixturevalue("small")
    if not (REAL / "config.json").is_file():
        pytest.skip("this copy of the package has no bundled encoder")
    return REAL


def test_it_is_loaded_without_network_and_embeds_the_same_every_time(
    either: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("something asked for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    first, second = (MoleculeEmbedder(device="cpu").transform(THREE) for _ in range(2))
    assert first.dtype == np.float32
    assert np.isfinite(first).all()
    np.testing.assert_array_equal(first, second)
    assert np.linalg.norm(first[0] - first[1]) > 0.01 * np.linalg.norm(first[0])


def test_how_a_molecule_is_written_does_not_matter(either: Path) -> None:
    embedder = MoleculeEmbedder(device="cpu")
    z = embedder.transform(THREE)
    np.testing.assert_allclose(embedder.transform(AGAIN), z, rtol=1e-4, atol=1e-4 * float(np.abs(z).max()))


def test_its_folder_holds_an_encoder_in_bfloat16_and_a_card(either: Path) -> None:
    tensors = load_file(either / "model.safetensors")
    model = load_model(either)
    assert isinstance(model.method, Pretraining)
    assert tensors.keys() == model.method.encoder.state_dict().keys()
    assert {one.dtype for one in tensors.values() if one.is_floating_point()} == {torch.bfloat16}
    assert {one.dtype for one in model.method.parameters()} == {torch.float32}
    assert (either / "model.safetensors").stat().st_size <= LARGEST
    assert {path.name for path in either.iterdir()} == {"config.json", "model.safetensors", "README.md", "SHA256SUMS"}
    card = (either / "README.md").read_text()
    for said in ("2,186,417 molecules", "ZINC's terms", "the weights hold no molecule", "are not the sample of ZINC15"):
        assert said in " ".join(card.split())
    assert f"\n{command_of(model.settings)}\n" in card


def test_the_encoder_of_the_package_has_five_layers_of_300_units() -> None:
    if not (REAL / "config.json").is_file():
        pytest.skip("this copy of the package has no bundled encoder")
    model = load_model(REAL)
    encoder = model.settings.encoder
    assert (model.settings.method, model.dataset) == ("nmrgcl", "ZINC-2.2M")
    assert (encoder.name, encoder.layers, encoder.units, encoder.pool) == ("molecule", 5, 300, "mean")
    assert model.settings.train.max_graphs == 0


def test_a_damaged_one_is_refused(either: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(either, tmp_path / "copy")
    weights = bytearray((tmp_path / "copy/model.safetensors").read_bytes())
    weights[-1] ^= 1
    (tmp_path / "copy/model.safetensors").write_bytes(weights)
    monkeypatch.setattr(bundled, "FOLDER", tmp_path / "copy")
    with pytest.raises(ModelError, match="checksum does not match SHA256SUMS"):
        MoleculeEmbedder().transform(THREE)


def test_rounding_moves_embeddings_by_little(original: Path, made: Path) -> None:
    exact, rounded = (MoleculeEmbedder(model=one, device="cpu").transform(MOLECULES) for one in (original, made))
    off = np.linalg.norm(rounded - exact, axis=1) / np.linalg.norm(exact, axis=1)
    assert 0 < off.max() <= WIDE
    assert f"most {off.max():.2%} of their length" in (made / "README.md").read_text()
    kept = load_model(made).weights.state_dict()
    for name, weight in replace(load_model(original), encoder_only=True).weights.state_dict().items():
        assert torch.equal(weight.to(torch.bfloat16).to(weight.dtype), kept.pop(name)), name
    assert not kept
    training = [json.loads((one / "config.json").read_text())["training"] for one in (original, made)]
    assert training == [{"loss": 1.5}] * 2


def test_one_that_rounding_moves_too_far_is_refused(original: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="embeddings off by"):
        bundle(original, tmp_path / "out", hardware="", farthest=1e-6)
    assert not (tmp_path / "out").exists()


def test_an_encoder_alone_is_saved_alone(small: Path, tmp_path: Path) -> None:
    MoleculeEmbedder(device="cpu").save(tmp_path / "mine")
    assert load_file(tmp_path / "mine/model.safetensors").keys() == load_file(small / "model.safetensors").keys()
    z, again = (MoleculeEmbedder(model=one, device="cpu").transform(THREE) for one in (small, tmp_path / "mine"))
    np.testing.assert_array_equal(z, again)


def test_the_command_on_the_card_trains_by_the_same_settings() -> None:
    changed = ["tau=0.25", "train.steps=1000", "precision=bf16", 'views.second=[{ name = "DropEdges", p = 0.1 }]']
    settings = recipe(preset="molecules", assignments=changed)
    assert shlex.split(command_of(settings)) == [
        *("nmrgcl", "pretrain", "ZINC-2.2M", "--preset", "molecules"),
        *("--set", 'views.second=[{ name = "DropEdges", p = 0.1 }]', "--set", "options.tau=0.25"),
        *("--set", 'train.precision="bf16"', "--set", "train.steps=1000", "--seeds", "1", "--out", "runs/zinc"),
    ]


def test_only_what_the_card_describes_is_bundled(original: Path, tmp_path: Path) -> None:
    save_other_model(tmp_path / "other")
    with pytest.raises(ModelError, match="was trained on motifs, not on molecules"):
        bundle(tmp_path / "other", tmp_path / "out", hardware="")
    (tmp_path / "few").mkdir()
    save_model(tmp_path / "few", replace(load_model(original), dataset="ZINC250k"))
    with pytest.raises(ModelError, match="was trained on ZINC250k; the card describes ZINC-2.2M"):
        bundle(tmp_path / "few", tmp_path / "out", hardware="")
    assert not (tmp_path / "out").exists()


def test_an_embedder_without_arguments_uses_it_and_fit_only_checks(small: Path, capsys: Capture) -> None:
    expected = MoleculeEmbedder(model=small, device="cpu").transform(SMILES)
    ready = MoleculeEmbedder(device="cpu", invalid="nan", random_state=3)
    np.testing.assert_array_equal(ready.transform(SMILES), expected)
    np.testing.assert_array_equal(MoleculeEmbedder(model="bundled", device="cpu").transform(SMILES), expected)
    fitted = clone(ready).set_params(invalid="error", verbose=True).fit(SMILES[:3])
    assert capsys.readouterr().out == "model: bundled, nmrgcl on ZINC-2.2M\n"
    assert fitted.history_ == []
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(SMILES), expected)
    with pytest.raises(DataError, match="row 1 "):
        fitted.fit(["C", "nonsense"])


@pytest.mark.parametrize("named", [{"preset": "molecules"}, {"method": "graphcl"}, {}])
def test_an_embedder_that_names_a_training_trains(small: Path, named: dict[str, str]) -> None:
    embedder = MoleculeEmbedder(**named, settings=SMALL, device="cpu").fit(SMILES)  # type: ignore[arg-type]
    assert len(embedder.history_) == 2
    assert embedder.model_.settings.method == named.get("method", "nmrgcl")
    assert embedder.model_.settings.options.tau == 0.1


def test_molecules_are_embedded_without_a_model(small: Path, tmp_path: Path, capsys: Capture) -> None:
    data, out = write(tmp_path / "m.csv"), tmp_path / "z.npz"
    text, err = run(capsys, "embed", str(data), "--out", str(out), "--device", "cpu")
    assert text == f"100 molecules, 8 dimensions, in {out}\n"
    assert err == "no model given: using the bundled encoder (nmrgcl on ZINC-2.2M, 2 layers × 8 units)\n"
    unnamed = np.load(out)["z"]
    for name in ("bundled", str(small)):
        _, err = run(capsys, "embed", name, str(data), "--out", str(out), "--device", "cpu")
        assert err == ""
        np.testing.assert_array_equal(np.load(out)["z"], unnamed)


def test_what_it_cannot_embed_is_reported_in_one_line(small: Path, capsys: Capture) -> None:
    _, err = run(capsys, "embed", "MUTAG", "--device", "cpu", code=2)
    assert err.splitlines()[-1] == ("nmrgcl: MUTAG: these graphs are not molecules; pass a MODEL of such graphs first")
    _, err = run(capsys, "embed", str(small), "--device", "cpu", code=2)
    assert err == f"nmrgcl: embed: {small} is a model, but DATA is missing; pass a dataset or a file after it\n"


def test_finetune_starts_from_it_unless_told_otherwise(small: Path, tmp_path: Path, capsys: Capture) -> None:
    data = str(write(tmp_path / "m.csv"))
    starts = {}
    for number, model in enumerate(([], ["--model", "bundled"], ["--model", str(small)], ["--model", "none"])):
        out = tmp_path / f"out-{number}"
        size = ["--set", "layers=2", "--set", "units=8"] if "none" in model else []
        arguments = ["--labels", "oxygen", "--out", str(out), *QUICK, *size]
        _, err = run(capsys, "finetune", data, *arguments, *model)
        assert ("no model given: using the bundled encoder" in err) == (not model)
        starts[number] = json.loads((out / "predictor.json").read_text())["start"]
    assert starts == {0: "ZINC-2.2M", 1: "ZINC-2.2M", 2: "ZINC-2.2M", 3: None}
    weights = [load_file(tmp_path / f"out-{number}/model.safetensors") for number in range(4)]
    for name, tensor in weights[0].items():
        assert torch.equal(tensor, weights[1][name])
        assert torch.equal(tensor, weights[2][name])
    assert any(not torch.equal(tensor, weights[3][name]) for name, tensor in weights[0].items())
    _, err = run(capsys, "finetune", data, "--labels", "oxygen", *QUICK, "--set", "units=16", code=2)
    assert "--set changes the shape of the encoder of --model; leave that setting out, or use --model none" in err


def test_it_is_a_model_wherever_one_is_named(small: Path, tmp_path: Path, capsys: Capture) -> None:
    data = str(write(tmp_path / "m.csv"))
    found = []
    for name in ("bundled", str(small)):
        out, _ = run(capsys, "neighbours", data, data, "--model", name, "--device", "cpu", "--json")
        found.append(json.loads(out))
    assert found[0] == found[1]
    out, _ = run(capsys, "diagnose", "bundled", data, "--device", "cpu", "--json")
    assert json.loads(out)["method"] == "nmrgcl"
    size = ["--set", "layers=2", "--set", "units=8", "--set", "epochs=1", "--seeds", "1", "--device", "cpu", "--quiet"]
    run(capsys, "pretrain", data, "--from", "bundled", "--out", str(tmp_path / "r"), *size)
    run(capsys, "pretrain", data, "--from", str(small), "--out", str(tmp_path / "s"), *size)
    weights = [(tmp_path / name / "seed-0/model.safetensors").read_bytes() for name in "rs"]
    assert weights[0] == weights[1]


def test_a_folder_of_that_name_is_named_with_its_place(
    small: Path, original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(original, tmp_path / "bundled")
    monkeypatch.chdir(tmp_path)
    named, *placed = (
        MoleculeEmbedder(model=one, device="cpu").transform(THREE)
        for one in ("bundled", "./bundled", Path("bundled"), tmp_path / "bundled")
    )
    expected = [MoleculeEmbedder(model=one, device="cpu").transform(THREE) for one in (small, original)]
    np.testing.assert_array_equal(named, expected[0])
    for found in placed:
        np.testing.assert_array_equal(found, expected[1])


@pytest.mark.usefixtures("none")
def test_where_it_is_missing_every_use_of_it_says_so_in_one_line(tmp_path: Path, capsys: Capture) -> None:
    data = str(write(tmp_path / "m.csv"))
    for arguments in (
        ["embed", data],
        ["embed", "bundled", data],
        ["neighbours", data, data, "--model", "bundled"],
        ["pretrain", data, "--from", "bundled"],
        ["diagnose", "bundled", data],
    ):
        _, err = run(capsys, *arguments, "--device", "cpu", code=2)
        assert err.splitlines()[-1].startswith("nmrgcl: this version of nmrgcl has no bundled encoder; name a model")
    with pytest.raises(ModelError, match="no bundled encoder"):
        MoleculeEmbedder(model="bundled").fit(THREE)


@pytest.mark.usefixtures("none")
def test_where_it_is_missing_fine_tuning_starts_from_a_fresh_encoder_and_an_embedder_trains(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = str(write(tmp_path / "m.csv"))
    small = [f"--set={key}={value}" for key, value in SMALL.items() if key.startswith("encoder.")]
    _, err = run(capsys, "finetune", data, "--labels", "oxygen", *QUICK, *small)
    assert "no model given, and none is bundled: starting from a fresh encoder" in err
    assert not MoleculeEmbedder().__sklearn_is_fitted__()
