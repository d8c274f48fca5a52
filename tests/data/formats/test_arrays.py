"""Arrays are read as NumPy reads them, or refused in one line that names the member."""

import io
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmrgcl.data.files import archive
from nmrgcl.data.formats.arrays import read_arrays
from nmrgcl.errors import DataError


def npy(header: bytes, data: bytes = b"", version: int = 1) -> bytes:
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(header)) + header + data


def saved(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def zipped(method: int = zipfile.ZIP_STORED, **members: bytes) -> io.BytesIO:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return stream


def message(source: Any) -> str:
    with pytest.raises(DataError) as caught:
        read_arrays(io.BytesIO(source) if isinstance(source, bytes) else source, "f.npz")
    text = str(caught.value)
    assert text.isprintable()
    assert len(text) < 250
    return text


@pytest.mark.parametrize(
    "array",
    [
        np.array(5),
        np.array(3.5, ">f8"),
        np.arange(6, dtype=">i2").reshape(2, 3),
        np.asfortranarray(np.arange(24, dtype=np.uint64).reshape(2, 3, 4)),
        np.array([True, False]),
        np.array(["ä", "", "long text"]),
        np.array(["x", "yz"], ">U2"),
        np.zeros((0, 4), np.float16),
        np.zeros((3, 0), np.int8),
    ],
    ids=str,
)
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_come_back_as_they_were_saved(tmp_path: Path, array: np.ndarray, save: Any) -> None:
    save(tmp_path / "f.npz", a=array, b=np.arange(3))
    np.save(tmp_path / "f.npy", array)
    many = read_arrays(tmp_path / "f.npz", "f")
    assert list(many) == ["a", "b"]
    for ours in (many["a"], read_arrays(tmp_path / "f.npy", "f")["arr_0"]):
        assert ours.shape == array.shape
        assert ours.dtype == array.dtype.newbyteorder("=")
        assert ours.flags.writeable
        assert np.array_equal(ours, array)


def test_ascii_bytes_are_text_and_both_versions_of_the_header_are_read() -> None:
    assert read_arrays(io.BytesIO(saved(np.array([b"csr", b""]))), "f")["arr_0"].tolist() == ["csr", ""]
    for version in (1, 2):
        header = b"{'shape': (2,), 'descr': '<i2', 'fortran_order': False, }"
        stream = io.BytesIO(npy(header, b"\x01\x00\x02\x00", version))
        assert read_arrays(stream, "f")["arr_0"].tolist() == [1, 2]


def test_objects_are_refused_unless_nobody_wants_them() -> None:
    objects = saved(np.array([{"a": 1}], dtype=object))
    stream = zipped(names=objects, x=saved(np.arange(2)))
    assert "f.npz, names: contains object, not booleans" in message(stream)
    assert list(read_arrays(stream, "f", lambda name: name != "names")) == ["x"]


START = b"{'descr': '<i8', 'fortran_order': False, 'shape': "
HEADERS = {
    "larger than the file": (START + b"(1000000000000,), }", "do not match the shape (1000000000000,)"),
    "overflowing": (START + b"(4294967296, 4294967296, 2), }", "do not match the shape"),
    "smaller than the file": (START + b"(), }", None),
    "objects": (START.replace(b"<i8", b"|O") + b"(1,), }", "contains object, not booleans"),
    "records": (b"{'descr': [('a', '<i8')], 'fortran_order': False, 'shape': (1,), }", "contains [('a', '<i8')], not"),
    "complex numbers": (START.replace(b"<i8", b"<c8") + b"(1,), }", "contains complex64, not"),
    "dates": (START.replace(b"<i8", b"<M8[ns]") + b"(1,), }", "contains datetime64[ns], not"),
    "quadruple floats": (START.replace(b"<i8", b"<f16") + b"(1,), }", ", not booleans"),
    "text of no width": (START.replace(b"<i8", b"<U0") + b"(1,), }", "contains <U0, not"),
    "a call": (b"__import__('os').system('true')", "cannot be read (malformed node"),
    "a long one": (b"(" * 9000, "cannot be read (Header info length (9000)"),
    "deep nesting": (b"(" * 1000, "cannot be read"),
    "many signs": (b"-" * 1000 + b"1", "cannot be read"),
    "sizes beyond measure": (START + b"(0, 900000000000000000, 900000000000000000), }", "do not match the shape"),
    "a key twice": (
        b"{'shape': (1,), 'shape': (1,), 'descr': '<i8', }",
        "cannot be read (Header does not contain the correct keys",
    ),
    "negative": (START + b"(-1,), }", "do not match the shape"),
    "twice negative": (START + b"(-1, -1), }", "do not match the shape"),
    "text of no width, a trillion times": (START.replace(b"<i8", b"<U0") + b"(1000000000000,), }", "contains <U0, not"),
    "not a tuple": (START + b"(1), }", "cannot be read (shape is not valid"),
    "nothing": (b"", "cannot be read"),
}


@pytest.mark.parametrize(("header", "expected"), HEADERS.values(), ids=HEADERS)
def test_a_header_that_promises_too_much_is_refused_before_anything_is_made(
    header: bytes, expected: str | None
) -> None:
    data = npy(header, b"\x01" + bytes(7))
    if expected is None:
        assert read_arrays(io.BytesIO(data), "f")["arr_0"].tolist() == 1
        return
    assert expected in message(data)
    assert "f.npz, x: " in message(zipped(x=data))


def test_shapes_that_numpy_cannot_hold_are_refused() -> None:
    header = START + b"(0, 900000000000000000, 900000000000000000), }"
    assert "f.npz: cannot be read" in message(npy(header))
    assert "f.npz: cannot be read" in message(npy(START + b"(0, " + b"1, " * 99 + b"1), }"))


@pytest.mark.parametrize(
    ("array", "data", "expected"),
    [
        (np.array([True]), b"\x02", "invalid boolean"),
        (np.array(["a"]), struct.pack("<I", 0x110000), "invalid boolean or character"),
        (np.array(["a"]), struct.pack("<I", 0xD800), "invalid boolean or character"),
        (np.array(["a"], ">U1"), struct.pack("<I", 0x61), "invalid boolean or character"),
        (np.array([b"a"]), b"\xe4", "invalid boolean or character"),
    ],
)
def test_values_that_are_none_are_refused(array: np.ndarray, data: bytes, expected: str) -> None:
    assert expected in message(saved(array)[: -array.nbytes] + data)


def test_what_is_no_archive_of_arrays_is_refused(tmp_path: Path) -> None:
    good = zipped(x=saved(np.arange(9)), y=saved(np.arange(4))).getvalue()
    assert "neither an .npz nor an .npy file" in message(b"")
    assert "neither an .npz nor an .npy file" in message(b"\x80\x04N.")
    assert "f.npz, x: cannot be read (EOF: reading magic string" in message(zipped(x=b"\x80\x04N."))
    assert "f.npz: cannot be read (File is not a zip file)" in message(good[:-30])
    assert "f.npz, x: cannot be read (Bad CRC-32" in message(good.replace(b"\x07" + bytes(7), b"\x06" + bytes(7)))
    assert "f.npz: cannot be read (No such file or directory)" in message(tmp_path / "none.npz")
    assert "cannot be read (Is a directory)" in message(tmp_path)


def test_truncated_files_are_refused_at_every_length() -> None:
    for whole in (saved(np.arange(3)), zipped(zipfile.ZIP_DEFLATED, x=saved(np.arange(3))).getvalue()):
        for length in range(len(whole)):
            message(whole[:length])


def test_members_may_be_neither_twice_nor_locked_nor_packed_otherwise() -> None:
    stream = zipped(x=saved(np.arange(2)))
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("x.npy", saved(np.arange(3)))
    assert "f.npz: contains x twice" in message(stream)
    locked = bytearray(zipped(x=saved(np.arange(2))).getvalue())
    locked[6] |= 1
    locked[locked.index(b"PK\x01\x02") + 8] |= 1
    assert "f.npz: x is encrypted" in message(bytes(locked))
    assert "f.npz: x is encrypted or compressed unlike" in message(zipped(zipfile.ZIP_LZMA, x=saved(np.arange(2))))


def test_bombs_are_refused_before_they_unpack(monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = zipped(zipfile.ZIP_DEFLATED, x=saved(np.zeros(200_000)))
    assert read_arrays(zeros, "f")["x"].shape == (200_000,)
    monkeypatch.setattr(archive, "ALWAYS_ALLOWED", 1 << 20)
    assert "f.npz: unpacks to more than 1 MiB" in message(zeros)


def test_a_member_that_declares_less_than_it_holds_is_refused() -> None:
    data = bytearray(zipped(zipfile.ZIP_DEFLATED, x=saved(np.zeros(1000))).getvalue())
    at = data.index(b"PK\x01\x02") + 24
    data[at : at + 4] = struct.pack("<I", 128 + 80)
    assert "f.npz, x: cannot be read (Bad CRC-32" in message(bytes(data))
