from pathlib import Path

import pytest
import torch

from nmrgcl.errors import ModelError
from nmrgcl.train.checkpoint import (
    KEPT,
    Checkpoint,
    newest_checkpoint,
    read_checkpoint,
    remove_checkpoints,
    write_checkpoint,
)


def checkpoint(step: int) -> Checkpoint:
    return Checkpoint({"a": torch.arange(step), "b.c": torch.tensor(0.1 * step)}, {"epoch": step, "lines": ["{}"]})


def assert_equal(one: Checkpoint | None, two: Checkpoint) -> None:
    assert one is not None
    assert one.values == two.values
    assert one.tensors.keys() == two.tensors.keys()
    assert all(torch.equal(one.tensors[name], two.tensors[name]) for name in two.tensors)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "deep" / "er", 7, checkpoint(7))
    assert_equal(read_checkpoint(path), checkpoint(7))


def test_the_last_two_are_kept_and_the_newest_is_used(tmp_path: Path) -> None:
    for step in (1, 20, 3):
        write_checkpoint(tmp_path, step, checkpoint(step))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-0000000003.ckpt", "step-0000000020.ckpt"]
    assert KEPT == 2
    found, problems = newest_checkpoint(tmp_path)
    assert_equal(found, checkpoint(20))
    assert problems == []


def test_a_corrupt_one_is_named_and_the_previous_used(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, 1, checkpoint(1))
    newer = write_checkpoint(tmp_path, 2, checkpoint(2))
    content = bytearray(newer.read_bytes())
    content[-1] ^= 1
    newer.write_bytes(content)
    found, problems = newest_checkpoint(tmp_path)
    assert_equal(found, checkpoint(1))
    assert problems == [f"{newer}: its SHA-256 does not match; the checkpoint is damaged"]


def test_every_flipped_bit_and_every_truncation_is_noticed(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path, 1, checkpoint(1))
    whole = path.read_bytes()
    damaged = [whole[:i] + bytes([whole[i] ^ 1 << i % 8]) + whole[i + 1 :] for i in range(len(whole))]
    damaged += [whole[:i] for i in range(len(whole))] + [whole + b"\0"]
    for content in damaged:
        path.write_bytes(content)
        with pytest.raises(ModelError) as caught:
            read_checkpoint(path)
        assert str(caught.value).isprintable()


def test_a_newer_version_is_told_apart_from_damage(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path, 1, checkpoint(1))
    path.write_bytes(path.read_bytes().replace(b"nmrgcl-checkpoint 1", b"nmrgcl-checkpoint 2", 1))
    with pytest.raises(ModelError, match=r"written by a newer version \(format 2, this reads 1\); upgrade nmrgcl"):
        read_checkpoint(path)


def test_no_folder_is_no_checkpoint(tmp_path: Path) -> None:
    assert newest_checkpoint(tmp_path / "gone") == (None, [])
    (tmp_path / "step-1.ckpt").write_text("another name")
    assert newest_checkpoint(tmp_path) == (None, [])


def test_a_file_of_such_a_name_that_is_no_checkpoint_stays(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, 3, Checkpoint({}, {}))
    for number, content in enumerate((b"", b"mine", b"nmrgcl"), 4):
        (tmp_path / f"step-{number:010d}.ckpt").write_bytes(content)
    remove_checkpoints(tmp_path, "token")
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"step-{n:010d}.ckpt" for n in (4, 5, 6)]
