"""Archives are read in place, whole or not at all."""

import gzip
import io
import lzma
import os
import stat
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from nmrgcl.data.files import archive
from nmrgcl.data.formats.tu import read_tu
from nmrgcl.errors import DataError
from tests.data.formats.tu_text import TINY, write_tu


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
    assert str(caught.value).isprintable()
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
    assert "contains T_A.txt twice" in refusal(path)


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
    monkeypatch.setattr(archive, "ALWAYS_ALLOWED", 1 << 16)
    path = MAKERS[name](tmp_path / name, U_A=b"1, 1\n" * 600_000)
    assert "unpacks to more than" in refusal(path)


def test_a_huge_header_of_a_tar_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as file:
        info = tarfile.TarInfo("T/T_A.txt")
        info.pax_headers = {"comment": "x" * (3 << 20)}
        file.addfile(info, io.BytesIO())
    (tmp_path / "T.tar.xz").write_bytes(lzma.compress(buffer.getvalue(), preset=0))
    assert "a header declares 3145745 bytes" in refusal(tmp_path / "T.tar.xz")


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


def header(name: str, size: int = 0, kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    """One block of a tar; the size may be any number."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    block[124:136] = tarfile.itn(size, 12, tarfile.GNU_FORMAT)  # type: ignore[attr-defined]
    return checked(block)


def checked(block: bytearray) -> bytes:
    """The block with its checksum made right."""
    block[148:156] = b"        "
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def member(name: str, data: bytes, kind: bytes = tarfile.REGTYPE) -> bytes:
    return header(name, len(data), kind) + data + bytes(-len(data) % 512)


TU = b"".join(member(f"T/T_{kind}.txt", text.encode()) for kind, text in TINY.items())
END = bytes(1024)


def write_tar(path: Path, blocks: bytes) -> Path:
    path.write_bytes(gzip.compress(blocks, 1))
    return path


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE])
@pytest.mark.parametrize("place", ["T/T_node_labels.txt", "/etc/passwd"])
def test_links_and_devices_of_a_tar_are_passed_over(tmp_path: Path, kind: bytes, place: str) -> None:
    blocks = header("T/T_edge_labels.txt", 0, kind, link=place) + header("T_A.txt", 0, kind, link="T/T_A.txt")
    bare = b"".join(member(f"T_{kind_}.txt", TINY[kind_].encode()) for kind_ in ("A", "graph_indicator"))
    data = read_tu(write_tar(tmp_path / "T.tar.gz", blocks + bare + END))
    assert data.edge_labels is None
    assert data.graphs.num_nodes == 5


def test_a_link_in_a_zip_is_passed_over(tmp_path: Path) -> None:
    make_zip(tmp_path / "T.zip")
    with zipfile.ZipFile(tmp_path / "T.zip", "a") as file:
        info = zipfile.ZipInfo("U/T_A.txt")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.writestr(info, "../T/T_A.txt")
    assert read_tu(tmp_path / "T.zip").graphs.num_nodes == 5


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_are_read(tmp_path: Path, form: int) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as file:
        for kind, text in TINY.items():
            info = tarfile.TarInfo("/".join(["a-folder-é"] * 100) + f"/T_{kind}.txt")
            info.size = len(text)
            file.addfile(info, io.BytesIO(text.encode()))
    assert read_tu(write_tar(tmp_path / "T.tar.gz", buffer.getvalue())).graphs.num_nodes == 5


@pytest.mark.parametrize("size", [-1, -512, -1024, -(2**62), 2**62, 2**33])
@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.SYMTYPE, b"?"])
def test_absurd_sizes_of_a_tar_are_refused(tmp_path: Path, size: int, kind: bytes) -> None:
    path = write_tar(tmp_path / "T.tar.gz", TU + header("T/x", size, kind) + END)
    assert "unpack" in refusal(path)


@pytest.mark.parametrize(
    "record", [b"19 size=4611686018\n", b"20 size=99999999999\n", b"11 size=-5\n", b"0 a=b\n", b"9 size=x"]
)
def test_absurd_sizes_in_attributes_of_a_tar_are_refused(tmp_path: Path, record: bytes) -> None:
    blocks = TU + member("x", record, tarfile.XHDTYPE) + member("T/other", b"1, 2\n")
    assert "unpack" in refusal(write_tar(tmp_path / "T.tar.gz", blocks + END))


@pytest.mark.parametrize("content", [b"1" * 4096, b"3 a" * 1365 + b"="])
def test_attributes_of_a_tar_that_take_long_to_search_are_not_searched_for_long(
    tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_TAR_HEADERS", 64 << 10)
    blocks = (member("x", content, tarfile.XHDTYPE) + header("y")) * 1000
    assert "its headers take more than 64 KiB" in refusal(write_tar(tmp_path / "T.tar.gz", blocks + END))


def test_many_members_of_a_tar_are_not_remembered(tmp_path: Path) -> None:
    assert read_tu(write_tar(tmp_path / "T.tar.gz", header("y") * 20_000 + TU + END)).graphs.num_nodes == 5


@pytest.mark.parametrize("size", [5, 2**40])
@pytest.mark.parametrize("extended", [0, 1])
def test_a_member_with_holes_is_refused(tmp_path: Path, size: int, extended: int) -> None:
    block = bytearray(header("T/T_A.txt", 5 if size == 5 else 2**62, tarfile.GNUTYPE_SPARSE))
    block[386:410] = b"%011o\0%011o\0" % (0, 5)
    block[482], block[483:495] = extended, tarfile.itn(size, 12, tarfile.GNU_FORMAT)  # type: ignore[attr-defined]
    path = write_tar(tmp_path / "T.tar.gz", checked(block) + b"1, 2\n".ljust(512, b"\0") + (b"" if extended else END))
    assert ("is a sparse member" if size == 5 and not extended else "unpack") in refusal(path)


@pytest.mark.parametrize("end", [b"", END[:100], END[:512]])
def test_a_tar_without_its_end_is_refused(tmp_path: Path, end: bytes) -> None:
    path = write_tar(tmp_path / "T.tar.gz", TU + end)
    if len(end) == 512:  # one block of zeros instead of two is common
        assert read_tu(path).graphs.num_nodes == 5
    else:
        assert "it is truncated" in refusal(path)


def test_a_damaged_header_is_not_the_end(tmp_path: Path) -> None:
    broken = bytearray(TU)
    broken[broken.index(b"T/T_node_labels.txt")] ^= 1
    assert "a header is damaged" in refusal(write_tar(tmp_path / "T.tar.gz", bytes(broken) + END))


def test_what_follows_the_end_of_a_tar_is_refused(tmp_path: Path) -> None:
    assert "there is data after" in refusal(write_tar(tmp_path / "T.tar.gz", TU + END + TU + END))
    assert read_tu(write_tar(tmp_path / "T.tar.gz", TU + bytes(1 << 19))).graphs.num_nodes == 5


def test_streams_of_several_pieces_are_read_whole(tmp_path: Path) -> None:
    for name, pack in (("T.tar.xz", lzma.compress), ("T.tar.gz", gzip.compress)):
        pieces = [pack(part) for part in (TU[:700], TU[700:], END)]
        (tmp_path / name).write_bytes(b"".join(pieces))
        assert read_tu(tmp_path / name).edge_attributes is not None
        for damaged in (pieces[:1], pieces[:2], [pieces[0], b"?" + pieces[1][1:], pieces[2]]):
            (tmp_path / name).write_bytes(b"".join(damaged))
            assert "cannot be unpacked" in refusal(tmp_path / name)


def test_garbage_after_a_gzip_is_refused(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "T.tar.gz", TU + END)
    path.write_bytes(path.read_bytes() + b"garbage")
    assert "Not a gzipped file" in refusal(path)


def test_a_huge_window_of_an_xz_takes_no_memory(tmp_path: Path) -> None:
    data = bytearray(lzma.compress(TU + END))
    size = (data[12] + 1) * 4
    data[16] = 40  # 4 GiB
    data[8 + size : 12 + size] = struct.pack("<I", zlib.crc32(data[12 : 8 + size]))
    (tmp_path / "T.tar.xz").write_bytes(data)
    assert read_tu(tmp_path / "T.tar.xz").graphs.num_nodes == 5


def entries(data: bytearray, start: bytes) -> list[int]:
    return [at for at in range(len(data)) if data.startswith(start, at)]


def zip_with(path: Path, change: Callable[[bytearray], None]) -> Path:
    data = bytearray(make_zip(path).read_bytes())
    change(data)
    path.write_bytes(bytes(data))
    return path


def test_members_of_a_zip_that_overlap_are_refused(tmp_path: Path) -> None:
    def overlap(data: bytearray) -> None:
        one, two = entries(data, b"PK\x01\x02")[:2]
        data[two + 42 : two + 46] = data[one + 42 : one + 46]

    assert "members overlap" in refusal(zip_with(tmp_path / "T.zip", overlap))


@pytest.mark.parametrize("offset", [2**31, 2**63, 2**64 - 1])
def test_lies_in_long_fields_of_a_zip_are_refused(tmp_path: Path, offset: int) -> None:
    def lie(data: bytearray) -> None:
        at = entries(data, b"PK\x01\x02")[-1]
        length = int.from_bytes(data[at + 28 : at + 30], "little")
        data[at + 42 : at + 46], data[at + 30 : at + 32] = b"\xff" * 4, struct.pack("<H", 12)
        data[at + 46 + length : at + 46 + length] = struct.pack("<HHQ", 1, 8, offset)
        end = data.rindex(b"PK\x05\x06")
        size = int.from_bytes(data[end + 12 : end + 16], "little") + 12
        data[end + 12 : end + 16] = struct.pack("<I", size)

    assert "unpack" in refusal(zip_with(tmp_path / "T.zip", lie))


@pytest.mark.parametrize("method", [9, 12, 14, 99])
def test_methods_other_than_deflate_are_refused(tmp_path: Path, method: int) -> None:
    def claim(data: bytearray) -> None:
        for start, field in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
            at = entries(data, start)[0]
            data[at + field : at + field + 2] = struct.pack("<H", method)

    assert "T/T_A.txt is not compressed by deflate; unpack it" in refusal(zip_with(tmp_path / "T.zip", claim))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_bomb_behind_a_small_declared_size_does_not_go_off(tmp_path: Path, method: int) -> None:
    with zipfile.ZipFile(tmp_path / "T.zip", "w", method) as file:
        file.writestr("T_A.txt", bytes(5 << 20))
    assert "is not compressed by deflate" in refusal(tmp_path / "T.zip")


def test_a_wrong_checksum_of_a_zip_is_noticed_even_by_those_who_stop_reading(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "T.zip", "w") as file:
        file.writestr("T_A.txt", "1, 2\n" * 100_000)
        file.writestr("T_graph_indicator.txt", "1\n1\n")
    data = (tmp_path / "T.zip").read_bytes()
    (tmp_path / "T.zip").write_bytes(data[:400_000] + b"?" + data[400_001:])
    streams = archive.members(tmp_path / "T.zip", lambda name: True)
    assert next(streams)[1].read(5) == b"1, 2\n"
    with pytest.raises(DataError, match="Bad CRC-32 for file 'T_A.txt'"):
        next(streams)


@pytest.mark.parametrize("name", MAKERS)
def test_names_are_shown_in_printable_characters(tmp_path: Path, name: str) -> None:
    path = MAKERS[name](tmp_path / name, prefix="T/\x1b[31m\u202e\n")
    assert "31m" in refusal(MAKERS[name](path, prefix="T/U\x1b[31m\u202e", T_A=b"1, 2\n"))
    assert "\\x1b[31m" in refusal(MAKERS[name](path, prefix="T/\x1b[31m\u202e", T_A=b"1, 2\n"))


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes here")
def test_a_folder_with_strange_names_is_read_or_refused_in_one_line(tmp_path: Path) -> None:
    write_tu(tmp_path / "T")
    (tmp_path / "T" / "T_A.txt").rename(Path(os.fsdecode(bytes(tmp_path / "T") + b"/\xff\nU_A.txt")))
    assert "\\udcff" in refusal(tmp_path / "T")


def test_a_folder_or_pipe_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    write_tu(tmp_path / "T")
    (tmp_path / "T" / "T_edge_labels.txt").unlink()
    os.mkfifo(tmp_path / "T" / "T_edge_labels.txt")
    assert "T_edge_labels.txt: cannot be read (not a regular file)" in refusal(tmp_path / "T")
    os.mkfifo(tmp_path / "U.zip")
    assert "U.zip: cannot be read (not a regular file)" in refusal(tmp_path / "U.zip")
