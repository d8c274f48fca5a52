"""``nmrgcl pretrain`` in several processes: rank 0 writes and speaks, and if one ends early, all of them do."""

import re
from pathlib import Path

import pytest

from nmrgcl.errors import SettingError
from nmrgcl.methods import build_method, find_method, method_names
from nmrgcl.train.checkpoint import newest_checkpoint
from nmrgcl.train.distributed import Ranks
from tests.distributed.commands import Ended, run_ranks
from tests.distributed.test_equal import CASES
from tests.methods.members import EMBEDDERS, MEMBERS, Level, data_of, settings_of

COMMAND = ["pretrain", "motifs", "--preset", "graphcl", "--method", "graphcl", "--seeds", "1", "--epochs", "2"]
SMALL = ["--set", "encoder.units=8", "--set", "layers=1", "--checkpoint-steps", "1", "--quiet"]


def run(folder: Path, *last: list[str], fault: str = "", batch: int = 64) -> Ended:
    """As many ranks as there are endings of their commands; they write to ``folder/run``."""
    start = [*COMMAND, *SMALL, "--batch-size", str(batch), "--out", str(folder / "run")]
    return run_ranks(folder, *([*start, *one] for one in last), fault=fault)


@pytest.mark.parametrize(("name", "level"), [*MEMBERS, *EMBEDDERS])
def test_every_method_is_compared_with_one_process_or_refused_in_one_line(name: str, level: Level) -> None:
    settings = settings_of(name, level=level) if name in dict(MEMBERS) else settings_of(name)
    method = build_method(settings, data_of(name, level).num_features)
    if (name, level, []) in CASES:
        assert find_method(name).ACROSS_RANKS  # type: ignore[union-attr]
    elif name != "untrained":
        with pytest.raises(SettingError, match="start one") as refused:
            Ranks(0, 2).require_possible(method, 100, settings.train)
        assert "\n" not in str(refused.value)


def test_the_documentation_lists_the_methods_that_several_ranks_can_train() -> None:
    page = (Path(__file__).parents[2] / "docs" / "scaling.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[a-z].*?`) \| (\w+)", page.partition("| methods |")[2].partition("\n\n")[0], re.MULTILINE)
    listed = {kind: set(re.findall(r"`(\w+)`", names)) for names, kind in rows if kind != "refused"}
    refused = {name for names, kind in rows if kind == "refused" for name in re.findall(r"`(\w+)`", names)}
    divided = {level: {name for name, of, _ in CASES if of == level} for level in ("graph", "node")}
    assert listed == {"graphs": divided["graph"], "nodes": divided["node"], "there": {"untrained"}}
    assert refused == set(method_names()) - divided["graph"] - divided["node"] - {"untrained"}


def test_all_ranks_train_and_the_first_writes_one_model(tmp_path: Path) -> None:
    ended = run(tmp_path, [], [])
    assert ended.codes == [0, 0]
    assert ended.said[0].startswith("1 model in ")
    assert not ended.said[1]
    assert (tmp_path / "run" / "seed-0" / "model.safetensors").exists()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the names of threads are read from /proc")
def test_no_thread_of_the_group_outlives_it(tmp_path: Path) -> None:
    ended = run(tmp_path, [], [], fault="count_threads")
    assert ended.codes == [0, 0]
    assert [said.count("left:\n") for said in ended.said] == [1, 1], ended.said


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("nan_on_one", "the loss or a gradient is not finite in epoch 1, batch 3"),
        ("killed", "another rank was killed"),
        ("slow", "another rank has not answered for 0.05 minutes"),
        ("out_of_memory", "rank 1: out of memory"),
        ("full_disk", "No space left on device"),
    ],
)
def test_a_fault_on_one_rank_ends_all_and_leaves_the_last_checkpoint(fault: str, says: str, tmp_path: Path) -> None:
    ended = run(tmp_path, [], [], fault=fault)
    assert ended.codes == [2, -9 if fault == "killed" else 2]
    assert says in ended.said[0]
    assert ended.said[0].count("\n") == 1
    assert not ended.said[1]
    found, problems = newest_checkpoint(tmp_path / "run" / ".seed-0.checkpoints")
    assert found is not None
    assert (found.values["step"], problems) == (2, [])


@pytest.mark.parametrize(
    ("last", "batch", "fault", "says"),
    [
        ([[], ["--lr", "0.5"]], 64, "", "rank 1 has settings.train.lr = 0.5, rank 0 has 0.01"),
        ([[], ["--set", "nothing=1"]], 64, "", "rank 1: --set: unknown setting 'nothing'"),
        ([[], []], 64, "other_version", "rank 1 has nmrgcl = '0.0.1'"),
        ([[], [], []], 2, "", "there are 3 ranks, but only 2 graphs in a batch"),
        ([[], ["--device", "cuda"]], 64, "", "rank 1: no CUDA device"),
    ],
    ids=["settings", "mistake", "version", "ranks", "device"],
)
def test_ranks_that_cannot_train_together_end_before_anything_is_written(
    last: list[list[str]], batch: int, fault: str, says: str, tmp_path: Path
) -> None:
    ended = run(tmp_path, *last, fault=fault, batch=batch)
    assert ended.codes == [2] * len(last)
    assert says in ended.said[0]
    assert ended.said[0].count("\n") == 1
    assert not any(ended.said[1:])
    assert not (tmp_path / "run").exists()


def test_ranks_that_would_have_no_graph_of_the_last_batch_are_refused() -> None:
    settings = settings_of("graphcl", "batch_size=8")
    method = build_method(settings, 4)
    for graphs, ranks in ((16, 8), (17, 8), (20, 4)):
        Ranks(0, ranks).require_possible(method, graphs, settings.train)
    with pytest.raises(SettingError, match="only 3 graphs in the last batch of an epoch"):
        Ranks(0, 4).require_possible(method, 19, settings.train)
    with pytest.raises(SettingError, match="only 3 graphs in the dataset"):
        Ranks(0, 4).require_possible(method, 3, settings.train)
