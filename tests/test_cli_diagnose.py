"""``nmrgcl diagnose`` as a user types it."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.test_cli import FAST, run


@pytest.fixture
def rows() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(80, 6)).astype(np.float32)


def test_a_run_is_diagnosed_in_numbers_words_and_on_a_page(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    made = str(tmp_path / "r")
    run(capsys, "pretrain", "motifs", "--preset", "graphcl", *FAST, "--quiet", "--out", made)
    page, arrays = tmp_path / "c.html", tmp_path / "a.npz"
    out, _ = run(capsys, "diagnose", made, "motifs", "--json", "--out", str(page), "--arrays", str(arrays))
    found = json.loads(out)
    assert {"verdict", "effective_rank", "stable_rank", "participation_ratio", "numerical_rank"} <= set(found)
    assert (found["dataset"], found["rows"], found["dimensions"]) == ("motifs", 300, 12)
    assert [layer["dimensions"] for layer in found["layers"]] == [4, 4, 4]
    assert len(found["models"]) == 2
    assert {"alignment", "prominent_overlap"} <= set(found["views"])
    text = page.read_text()
    assert found["sentence"] in text
    assert text.count("<svg") == 3
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert "<script" not in text
    with np.load(arrays) as stored:
        assert stored["correlation"].shape == (12, 12)
    out, _ = run(capsys, "diagnose", made)  # its own dataset
    assert found["sentence"] in out
    assert "seed 1" in out


@pytest.mark.parametrize("method", ["grace", "dgi", "mvgrl", "merit", "cca_ssg"])
def test_embeddings_of_nodes_are_diagnosed(method: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    ring = [[a, b] for a in range(24) for b in ((a + 1) % 24, (a + 5) % 24)]
    graph = {"edges": ring, "x": [[a % 5, a * a % 7, 1] for a in range(24)], "y": [a % 2 for a in range(24)]}
    network, made = tmp_path / "ring.jsonl", str(tmp_path / "r")
    network.write_text(json.dumps(graph) + "\n")
    small = ["--set", "epochs=1", "--set", "encoder.units=8", "--seeds", "1", "--quiet", "--device", "cpu"]
    run(capsys, "pretrain", str(network), "--method", method, *small, "--out", made)
    out, _ = run(capsys, "diagnose", made, str(network), "--json")
    found = json.loads(out)
    assert (found["rows"], found["classes"]["classes"]) == (24, 2)


def test_embeddings_of_any_system(capsys: pytest.CaptureFixture[str], tmp_path: Path, rows: np.ndarray) -> None:
    np.save(tmp_path / "z.npy", rows)
    np.save(tmp_path / "y.npy", np.arange(80) % 3)
    np.savez(tmp_path / "z.npz", z=rows, y=np.array(["a", "b"] * 40))
    out, _ = run(capsys, "diagnose", str(tmp_path / "z.npy"), "--json")
    plain = json.loads(out)
    assert (plain["verdict"], plain["classes"], plain["views"], plain["layers"]) == ("none", None, None, [])
    out, _ = run(capsys, "diagnose", str(tmp_path / "z.npy"), "--labels", str(tmp_path / "y.npy"), "--json")
    assert json.loads(out)["classes"]["classes"] == 3
    out, _ = run(capsys, "diagnose", str(tmp_path / "z.npz"))
    assert out.startswith("6 of 6 dimensions are used: no collapse.")
    assert "Wasserstein" in out


def test_a_single_point_shows_no_number_that_looks_healthy(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rows: np.ndarray
) -> None:
    np.savez(tmp_path / "z.npz", z=5 + 1e-4 * rows, y=np.arange(80) % 2)
    out, _ = run(capsys, "diagnose", str(tmp_path / "z.npz"), "--out", str(tmp_path / "c.html"))
    assert out.startswith("0 of 6 dimensions are used: complete collapse.")
    assert [line.split("  ")[1].strip() for line in out.splitlines()[2:]] == [
        "distance from the mean / length",
        "dead dimensions",
    ]
    assert "<svg" not in (tmp_path / "c.html").read_text()
    found = json.loads(run(capsys, "diagnose", str(tmp_path / "z.npz"), "--json")[0])
    ranks = ("effective_rank", "used", "filled", "stable_rank", "participation_ratio", "numerical_rank")
    assert [found[name] for name in ranks] == [0] * 6


def test_dimensional_collapse_with_classes_apart_is_explained(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rows: np.ndarray
) -> None:
    y = np.arange(80) % 2
    np.savez(tmp_path / "apart.npz", z=np.concatenate([rows[:, :1] + 6 * y[:, None], 0.01 * rows[:, 1:]], 1), y=y)
    np.savez(tmp_path / "mixed.npz", z=np.concatenate([rows[:, :1], 0.01 * rows[:, 1:]], 1), y=y)
    apart, mixed = (run(capsys, "diagnose", str(tmp_path / f"{name}.npz"))[0] for name in ("apart", "mixed"))
    assert "dimensional collapse" in apart
    assert "dimensional collapse" in mixed
    assert "good accuracy is no contradiction" in apart
    assert "classifier" not in mixed


FAILS = {
    ("none", "dimensional"): 0,
    ("dimensional", "dimensional"): 1,
    ("complete", "dimensional"): 1,
    ("dimensional", "complete"): 0,
    ("complete", "complete"): 1,
}


@pytest.mark.parametrize(("kind", "limit"), FAILS)
def test_a_collapse_can_fail_a_script(
    kind: str, limit: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, rows: np.ndarray
) -> None:
    z = {"none": rows, "dimensional": rows[:, :2] @ rows[:2], "complete": 5 + 1e-4 * rows}[kind]
    np.save(tmp_path / "z.npy", z)
    out, err = run(capsys, "diagnose", str(tmp_path / "z.npy"), "--fail-on", limit, "--json", code=FAILS[kind, limit])
    assert json.loads(out)["verdict"] == kind
    assert err == (f"nmrgcl: --fail-on {limit}: z.npy ({kind})\n" if FAILS[kind, limit] else "")


def test_two_runs_are_compared_seed_by_seed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for kind in ("none", "non_maximum"):
        options = ["--preset", "graphcl", *FAST, "--set", f"removal={kind}", "--quiet"]
        run(capsys, "pretrain", "motifs", *options, "--out", str(tmp_path / kind))
    both = [str(tmp_path / "none"), str(tmp_path / "non_maximum")]
    out, _ = run(capsys, "diagnose", *both, "--data", "motifs", "--json")
    found = json.loads(out)
    rank = next(one for one in found["differences"] if one["measure"] == "effective_rank")
    assert rank["pairs"] == 2
    assert rank["difference"] == pytest.approx(rank["second"] - rank["first"])
    assert rank["low"] < rank["difference"] < rank["high"]
    out, _ = run(capsys, "diagnose", *both)
    assert found["sentence"] in out
    _, err = run(capsys, "diagnose", both[0], both[1] + "/seed-0", code=2)
    assert "other seeds" in err


BAD = {
    "nothing": ([], "pass a model"),
    "no such run": (["nowhere"], "no such run"),
    "no such file": (["nowhere.npz"], "nowhere.npz"),
    "flat": (["flat.npy"], "[rows, dimensions]"),
    "not finite": (["nan.npy"], "row 3 of z is not finite"),
    "one row": (["one.npy"], "two rows"),
    "labels too short": (["z.npy", "--labels", "one.npy"], "one class per row"),
    "a dataset too many": (["z.npy", "MUTAG"], "leave out MUTAG"),
    "objects": (["objects.npy"], "objects.npy"),
    "an unknown kind": (["z.npy", "--fail-on", "total"], "known: dimensional, complete"),
    "arrays as text": (["z.npy", "--arrays", "a.txt"], "must be .npz"),
    "a folder as page": (["z.npy", "--out", "."], "is a folder"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(
    case: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rows: np.ndarray
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("z.npy", rows)
    np.save("flat.npy", rows[0])
    np.save("one.npy", rows[:1])
    np.save("objects.npy", np.array([{}, {}], dtype=object))
    rows[3, 1] = np.nan
    np.save("nan.npy", rows)
    arguments, word = BAD[case]
    out, err = run(capsys, "diagnose", *arguments, code=2)
    assert out == ""
    assert err.startswith("nmrgcl: ")
    assert err.count("\n") == 1
    assert word in err
