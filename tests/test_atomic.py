"""Files and folders appear complete, with the umask's mode, and take the place of nothing foreign."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nmrgcl import atomic
from nmrgcl.errors import SettingError
from nmrgcl.owned import FolderKind

BOX = FolderKind("box", "box.json", lambda values: values.get("format") == "box", lambda _: ("box.json", "inside"))
TOKEN = "0123456789abcdef"


def fill(path: Path, text: str = "") -> None:
    with atomic.new_folder(path, BOX) as folder:
        (folder / "box.json").write_text('{"format": "box"}')
        (folder / "inside").write_text(text)


@pytest.fixture
def umask() -> Iterator[Callable[[int], Any]]:
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


@pytest.mark.parametrize(("mask", "file", "folder"), [(0o077, 0o600, 0o700), (0o022, 0o644, 0o755), (0, 0o666, 0o777)])
def test_modes_are_those_of_the_umask(
    tmp_path: Path, umask: Callable[[int], Any], mask: int, file: int, folder: int
) -> None:
    umask(mask)
    atomic.write_text(tmp_path / "file", "text")
    fill(tmp_path / "folder")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("file", "folder", "folder/inside")]
    assert modes == [file, folder, file]


def test_a_closed_folder_stays_closed_when_it_is_filled(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir(mode=0o700)
    for _ in range(2):
        fill(tmp_path / "folder")
        assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o700


def test_links_folders_and_pipes_are_not_replaced_by_files(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "precious")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    before = sorted(p.name for p in tmp_path.iterdir())
    for name in ("link", "dangling", "folder", "pipe"):
        with pytest.raises(FileExistsError, match="are not replaced"):
            atomic.write_text(tmp_path / name, "other")
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_folder_is_written_where_a_link_to_it_leads(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for text in ("one", "two"):
        fill(tmp_path / "link", text)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "real" / "inside").read_text() == text
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "real"]


def test_processes_that_write_one_folder_at_once_leave_one_folder(tmp_path: Path) -> None:
    """Each of eight replaces the folder thirty times; on the way it is whole or not there."""
    children = []
    for number in range(8):
        if not (child := os.fork()):
            try:
                for _ in range(30):
                    fill(tmp_path / "folder", str(number))
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 8
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]
    assert sorted(p.name for p in (tmp_path / "folder").iterdir()) == ["box.json", "inside"]


@pytest.mark.parametrize("failing", [2, 3])
def test_a_rename_that_fails_leaves_the_old_folder_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """The first rename finds the name taken, the second moves the old folder aside, the third puts the new one."""
    fill(tmp_path / "folder", "old")
    calls: list[Any] = []

    def rename(*names: Any, real: Callable[..., None] = os.rename) -> None:
        calls.append(names)
        if len(calls) == failing:
            raise OSError(errno.EIO, "bad disk")
        real(*names)

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(OSError, match="bad disk"):
        fill(tmp_path / "folder", "new")
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]
    assert (tmp_path / "folder" / "inside").read_text() == "old"


def test_a_file_that_arrives_while_its_folder_is_replaced_is_kept(tmp_path: Path) -> None:
    fill(tmp_path / "folder", "old")

    def replace() -> None:
        with atomic.new_folder(tmp_path / "folder", BOX):
            (tmp_path / "folder" / "notes.txt").write_text("mine")

    with pytest.raises(SettingError, match="'notes.txt' is not part of the box"):
        replace()
    assert (tmp_path / "folder" / "notes.txt").read_text() == "mine"
    assert (tmp_path / "folder" / "inside").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_unfinished_files_are_known_by_their_token(tmp_path: Path) -> None:
    ours = [f".a.json.{TOKEN}.01234567", f".seed-0.old.{TOKEN}.89abcdef"]
    others = [f".a.json.{TOKEN[::-1]}.01234567", f".a.json.{TOKEN}.orig", f"a.json.{TOKEN}.01234567", ".git", ".a.json"]
    (tmp_path / ours[0]).write_text("half")
    (tmp_path / ours[1]).mkdir()
    (tmp_path / ours[1] / "half").write_text("")
    for name in others:
        (tmp_path / name).write_text("mine")
    atomic.remove_strays(tmp_path, "")
    assert len(list(tmp_path.iterdir())) == 7
    atomic.remove_strays(tmp_path, TOKEN)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(others)


def test_the_token_is_in_the_name_while_a_file_or_folder_is_written(tmp_path: Path) -> None:
    with atomic.new_file(tmp_path / "file", TOKEN), atomic.new_folder(tmp_path / "folder", BOX, TOKEN) as folder:
        assert folder.name.startswith(f".folder.{TOKEN}.")
        names = sorted(p.name[: -len(".01234567")] for p in tmp_path.iterdir())
        assert names == [f".file.{TOKEN}", f".folder.{TOKEN}"]
