"""Archives are read in place, whole or not at all."""

import gzip
import io
import lzma
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from nmrgcl.data import archive
from nmrgcl.data.tu import read_tu
from nmrgcl.errors import DataError
from tests.data.tu_text import TINY, write_tu


def make_zip(path: Path, *, prefix: str = "T/", **extra: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for kind, text in TINY.items():
            file.writestr(f"{prefix}T_{kind}.txt", text)
        for name, data in extra.items():
            file.writestr(f"T/{name}.txt", data)
    return path


def make_tar(path: Path, *, prefix: str = "T/", **extra: bytes) -> Path:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as file:
        contents = {f"{prefix}T_{kind}.txt": text.encode() for kind, text in TINY.items()}
        for name, data in (contents | {f"T/{name}.txt": data for name, data in extra.items()}).items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    pack = gzip.compress if path.suffix == ".gz" else lzma.compress
    path.write_bytes(pack(buffer.getvalue()))
    return path


MAKERS = {"T.zip": make_zip, "T.tar.xz": make_tar, "T.tar.gz": make_tar}


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        read_tu(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("prefix", ["", "T/", "T/raw/", "../../", "/tmp/", "C:\\T\\"])
def test_archives_equal_the_folder_wherever_their_members_claim_to_be(tmp_path: Path, name: str, prefix: str) -> None:
    path = MAKERS[name](tmp_path / name, prefix=prefix)
    before = set(tmp_path.rglob("*"))
    packed, plain = read_tu(path), read_tu(write_tu(tmp_path / "plain"))
    assert torch.equal(packed.graphs.edge_index, plain.graphs.edge_index)
    assert packed.node_attributes is not None
    assert packed.node_attributes.tolist() == plain.node_attributes.tolist()  # type: ignore[union-attr]
    assert packed.source == str(path)
    assert set(tmp_path.rglob("*")) - before == {tmp_path / "plain", *(tmp_path / "plain").iterdir()}


@pytest.mark.parametrize("name", MAKERS)
def test_a_member_that_occurs_twice_is_refused(tmp_path: Path, name: str) -> None:
    path = MAKERS[name](tmp_path / name, prefix="T/raw/", T_A=b"1, 2\n")
    assert "holds T_A.txt twice" in refusal(path)


@pytest.mark.parametrize("name", MAKERS)
def test_wherever_an_archive_is_cut_it_is_refused(tmp_path: Path, name: str) -> None:
    whole = MAKERS[name](tmp_path / name).read_bytes()
    for length in [*range(0, len(whole), 7), len(whole) - 1]:
        (tmp_path / name).write_bytes(whole[:length])
        assert str(tmp_path / name) in refusal(tmp_path / name)


@pytest.mark.parametrize("name", MAKERS)
def test_a_flipped_byte_is_refused_or_changes_nothing(tmp_path: Path, name: str) -> None:
    whole = MAKERS[name](tmp_path / name).read_bytes()
    expected = read_tu(tmp_path / name)
    refused = 0
    for at in range(0, len(whole), 5):
        (tmp_path / name).write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            data = read_tu(tmp_path / name)
        except DataError as error:
            refused += 1
            assert "\n" not in str(error)  # noqa: PT017
            continue
        assert torch.equal(data.graphs.edge_index, expected.graphs.edge_index)
    assert refused > 20


def test_an_encrypted_member_is_refused(tmp_path: Path) -> None:
    data = bytearray(make_zip(tmp_path / "T.zip").read_bytes())
    for start, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = -1
        while (at := data.find(start, at + 1)) >= 0:
            data[at + flags] |= 1
    (tmp_path / "T.zip").write_bytes(bytes(data))
    assert "is encrypted; unpack it" in refusal(tmp_path / "T.zip")


@pytest.mark.parametrize("name", MAKERS)
def test_a_bomb_is_refused_before_it_goes_off(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_ALWAYS_ALLOWED", 1 << 16)
    path = MAKERS[name](tmp_path / name, U_A=b"1, 1\n" * 600_000)
    assert "unpacks to more than" in refusal(path)


def test_a_huge_header_of_a_tar_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as file:
        info = tarfile.TarInfo("T/T_A.txt")
        info.pax_headers = {"comment": "x" * (3 << 20)}
        file.addfile(info, io.BytesIO())
    (tmp_path / "T.tar.xz").write_bytes(lzma.compress(buffer.getvalue(), preset=0))
    assert "unpacks to more than" in refusal(tmp_path / "T.tar.xz")


def test_members_of_other_kinds_are_passed_over(tmp_path: Path) -> None:
    others: dict[str, Any] = {"README": b"hello", "T_graph_attributes": b"?", "._T_A": b"\x00\x05"}
    path = make_zip(tmp_path / "T.zip", **others)
    assert read_tu(path).name == "T"


@pytest.mark.parametrize("content", [b"", b"1, 2\n", bytes(range(255, 0, -1))])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "T.zip").write_bytes(b"?" + content)
    assert "neither a folder nor" in refusal(tmp_path / "T.zip")


def test_what_is_not_there_is_said_to_be_not_there(tmp_path: Path) -> None:
    assert "cannot be read (No such file or directory)" in refusal(tmp_path / "gone.zip")
