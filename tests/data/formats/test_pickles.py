"""A pickle is only ever looked at: whatever it asks for beyond arrays and lists is refused, and nothing is run."""

import io
import os
import pickle
import pickletools
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from nmrgcl.data.formats import pickle_machine, pickles
from nmrgcl.data.formats.pickles import interpret_pickle
from nmrgcl.errors import DataError
from tests.fuzz.targets.planetoid import old_array, old_graph, old_matrix, old_text

ARRAY = old_array([[1, 2], [3, 4]])
DTYPE = b"cnumpy\ndtype\nU\x02i4K\x00K\x01\x87R"
MINUS = b"J\xff\xff\xff\xff"
RECONSTRUCT = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"


def read(data: bytes) -> Any:
    return interpret_pickle(io.BytesIO(data), "f")


def old(body: bytes) -> bytes:
    return b"\x80\x02" + body + b"."


def message(data: bytes) -> str:
    with pytest.raises(DataError) as caught:
        read(data)
    text = str(caught.value)
    assert text.isprintable()
    assert len(text) < 250
    return text


def test_python_2_pickles_are_read() -> None:
    assert read(old(ARRAY)).tolist() == [[1, 2], [3, 4]]
    matrix = read(old(old_matrix([[0, 1.5], [2, 0]])))
    assert (matrix.dtype, matrix.toarray().tolist()) == (np.float32, [[0, 1.5], [2, 0]])
    assert read(old(old_graph({0: [1, 300], 1: []}))) == {0: [1, 300], 1: []}


@pytest.mark.parametrize("protocol", [3, 4])
@pytest.mark.parametrize("dtype", ["bool", "<i2", ">i4", "u1", "<u8", "<f2", ">f4", "<f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_python_3_are_what_numpy_makes_of_them(protocol: int, dtype: str, order: Any) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype, order=order)
    ours = read(pickle.dumps(array, protocol))
    assert np.array_equal(ours, array)
    assert ours.dtype == array.dtype.newbyteorder("=")
    assert ours.flags.writeable


def test_matrices_and_dictionaries_of_python_3_are_read() -> None:
    matrix = csr_matrix(np.array([[0, 2.0], [0, 0], [1, 3]]))
    ours = read(pickle.dumps(matrix, 4))
    assert isinstance(ours, csr_array)
    assert np.array_equal(ours.toarray(), matrix.toarray())
    graph = defaultdict(list, {i: list(range(i, i + 3)) for i in range(3000)})
    assert read(pickle.dumps(graph, 4)) == graph


class Payload:
    """What an attacker would send: a call of any function, here one that leaves a trace."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_no_function_is_ever_called(tmp_path: Path, protocol: int) -> None:
    trace = tmp_path / "trace"
    calls = (
        Payload(os.system, f"touch {trace}"),
        Payload(open, str(trace), "w"),
        Payload(eval, f"open({str(trace)!r}, 'w')"),
        Payload(os.rename, str(tmp_path), str(trace)),
        {0: [1], 1: Payload(os.mkdir, str(trace))},
        [Payload(os.mkdir, str(trace))],
    )
    for call in calls:
        data = pickle.dumps(call, protocol)
        assert "which no dataset needs; nothing of it was run" in message(data)
        assert not trace.exists()
    assert pickle.loads(pickle.dumps(calls[0], protocol)) == 0
    assert trace.exists()  # so the payload would have worked


def test_the_name_asked_for_is_told() -> None:
    assert "f, byte 13: asks for 'os.system', which no dataset needs" in message(old(b"cos\nsystem\n)R"))
    assert "asks for 'posix.system'" in message(pickle.dumps(Payload(os.system, "true"), 4))
    for name in (b"builtins\neval", b"numpy\nfromfile", b"numpy.core.multiarray\nscalar", b"scipy.sparse.csr\nget"):
        assert f"asks for '{name.decode().replace(chr(10), '.')}'" in message(old(b"c" + name + b"\n)R"))
    assert "asks for" in message(old(b"cnumpy\nndarray.tofile\n"))
    assert r"\x1b" in message(old(b"c\x1b[31m\nx\n"))


UNSAFE = {
    "a class called": (b"cnumpy\nndarray\nK\x05\x85R", "calls something"),
    "a list made": (b"c__builtin__\nlist\n)R", "calls something"),
    "a list made anew": (b"c__builtin__\nlist\n)\x81", "makes an object"),
    "a dtype of objects": (DTYPE.replace(b"i4", b"O8") + b"(K\x03U\x01|NNN" + MINUS + MINUS + b"K\x00tb", "other than"),
    "a dtype with fields": (DTYPE + b"(K\x03U\x01<NU\x01a}" + MINUS + MINUS + b"K\x00tb", "unknown type"),
    "a default that is called": (b"ccollections\ndefaultdict\ncnumpy\nndarray\n\x85R", "calls something"),
    "another array type": (RECONSTRUCT.replace(b"numpy\nndarray", b"numpy\ndtype"), "calls something"),
    "a size to make room for": (RECONSTRUCT.replace(b"K\x00\x85", b"J\xff\xff\xff\x7f\x85"), "calls something"),
    "state of a dictionary": (b"}}b", "sets the state"),
    "state of a list": (b"]}b", "sets the state"),
    "state of a name": (b"cnumpy\nndarray\n}b", "sets the state"),
    "state twice": (ARRAY[:-2] + b"tb)b", "sets the state"),
    "attributes for an array": (RECONSTRUCT + b"}U\x09__class__cnumpy\ndtype\nsb", "array of an unknown kind"),
    "slots for a matrix": (b"cscipy.sparse.csr\ncsr_matrix\n)\x81}}\x86b", "matrix of an unknown kind"),
    "a matrix without a state": (b"cscipy.sparse.csr\ncsr_matrix\n)\x81", "matrix with an impossible shape"),
    "an array without a state": (RECONSTRUCT, "something else where an array should be"),
    "a list of lists": (b"]]a", "a list holds something other than integers"),
    "a list in itself": (b"]q\x00h\x00a", "shares a list"),
    "a dictionary in itself": (b"}q\x00K\x00h\x00s", "shares a list"),
    "a memo that is not there": (b"h\x07", "shares a list or what is not there"),
    "a key that is a tuple": (b"})K\x00s", "a key other than"),
    "a key twice": (b"}(K\x00]K\x00]u", "a key twice"),
    "a key without a value": (b"}(K\x00]K\x01u", "a key other than"),
    "nothing": (b"", "stops with values left over"),
    "two values": (b"}}", "stops with values left over"),
    "a mark left": (b"}(", "stops with values left over"),
    "an empty stack": (b"\x85", "takes a value that is not there"),
    "below the mark": (b"}K\x00(]s", "takes a value that is not there"),
    "no mark": (b"}K\x00]u", "takes values that are not there"),
    "a number alone": (b"K\x01", "no array, sparse matrix or dictionary"),
    "a list alone": (b"]", "no array, sparse matrix or dictionary"),
    "no line end": (b"cos", "ends in the middle"),
}


@pytest.mark.parametrize(("body", "expected"), UNSAFE.values(), ids=UNSAFE)
def test_what_a_dataset_does_not_need_is_refused(body: bytes, expected: str) -> None:
    assert expected in message(old(body))


@pytest.mark.parametrize("code", sorted(set(range(256)) - set(pickle_machine._STEPS) - {ord(".")}))
def test_every_other_operation_is_refused(code: int) -> None:
    # Among them INST and OBJ, which call; EXT1 to EXT4; PERSID and BINPERSID; BYTEARRAY8 and the buffers outside.
    data = old(b"}(" + bytes([code]) + b"1\nos\nsystem\n")
    assert f"uses operation 0x{code:02x}, which no dataset needs" in message(data)


def test_the_operations_that_are_known_are_few_and_call_nothing() -> None:
    names = {op.code for op in pickletools.opcodes if ord(op.code) in pickle_machine._STEPS}
    assert names == {chr(code) for code in pickle_machine._STEPS}
    assert not names & set("ioPQ\x82\x83\x84\x92\x96\x97\x98")


@pytest.mark.parametrize(
    "body",
    [
        b"T\xff\xff\xff\x7fabc",
        b"T\xff\xff\xff\xffabc",
        b"B\xff\xff\xff\xffabc",
        b"X\xff\xff\xff\xffabc",
        b"U\xffabc",
        b"\x8a\xffabc",
        b"\x95\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"J\x00",
    ],
)
def test_a_length_beyond_the_file_makes_no_room(body: bytes) -> None:
    assert "ends in the middle" in message(b"\x80\x02" + body)


def test_a_memo_may_have_any_number() -> None:
    """The unpickler in C makes room for all numbers below: 32 GB for these five bytes."""
    assert read(old(b"}r\xfe\xff\xff\xff")) == {}


def test_nested_repetitions_cannot_be_built() -> None:
    bomb = b"]q\x00" + b"".join(b"](" + b"h%c" % i * 10 + b"eq%c" % (i + 1) for i in range(50))
    assert "shares a list" in message(old(bomb))
    tuples = b")q\x00" + b"".join(b"h%c" % i * 3 + b"\x87q%c" % (i + 1) for i in range(100))
    # As a tuple it is small; taking its hash or comparing it would take for ever.
    assert "stops with values" in message(old(tuples + b"}h\x64"))
    assert "a key other than" in message(old(b"}" + tuples + b"h\x64K\x00s"))


def test_deep_nesting_and_long_programs_end(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no array" in message(old(b")" + b"\x85" * 300_000))
    assert "ends in the middle" in message(b"\x80\x02" + b"(" * 300_000)
    monkeypatch.setattr(pickle_machine, "MAX_OPERATIONS", 1000)
    assert "takes more than 1000 operations" in message(old(b"}" + b"\x94" * 2000))
    monkeypatch.setattr(pickles, "MAX_PICKLE", 1 << 20)
    assert "has more than 1 MiB" in message(b"\x80\x02" + bytes(1 << 20))


@pytest.mark.parametrize("protocol", [0, 1, 5])
def test_other_protocols_are_refused(protocol: int) -> None:
    assert "f, byte" in message(pickle.dumps(np.arange(3), protocol))


WRONG_ARRAYS = {
    "shape too large": (old_array([1, 2]).replace(b"K\x02\x85c", b"K\x03\x85c"), "more or fewer bytes"),
    "negative": (old_array([1, 2]).replace(b"K\x02\x85c", b"J\xfe\xff\xff\xff\x85c"), "impossible shape"),
    "product overflows": (old_array([]).replace(b"K\x00\x85c", b"J\xff\xff\xff\x7f" * 3 + b"\x87c"), "more or fewer"),
    "true as a number": (old_array([1]).replace(b"K\x01\x85c", b"\x88\x85c"), "impossible shape"),
    "no bytes": (old_array([1]).replace(old_text(b"\x01\0\0\0"), b"]"), "without bytes"),
    "neither true nor false": (
        old_array([1, 0], "|b1").replace(b"\x01\x00tb", b"\x02\x00tb"),
        "neither true nor false",
    ),
    "a byte order that is none": (old_array([1]).replace(b"U\x01<", b"U\x01|"), "other than booleans"),
}


@pytest.mark.parametrize(("body", "expected"), WRONG_ARRAYS.values(), ids=WRONG_ARRAYS)
def test_arrays_must_be_whole(body: bytes, expected: str) -> None:
    assert expected in message(old(body))


WRONG_MATRICES = {
    "column": (old_text(b"\x01\0\0\0\x00\0\0\0"), old_text(b"\x01\0\0\0\x02\0\0\0"), "f, indices: number 2 at [1]"),
    "negative": (old_text(b"\x01\0\0\0\x00\0\0\0"), old_text(b"\xff\xff\xff\xff\x00\0\0\0"), "number -1 at [0]"),
    "decreasing": (b"\0\0\0\0\x01\0\0\0\x02\0\0\0", b"\0\0\0\0\x05\0\0\0\x02\0\0\0", "indptr: decreases after entry 1"),
    "beginning": (b"\0\0\0\0\x01\0\0\0\x02\0\0\0", b"\x01\0\0\0\x01\0\0\0\x02\0\0\0", "does not lead from 0"),
    "end": (b"\0\0\0\0\x01\0\0\0\x02\0\0\0", b"\0\0\0\0\x01\0\0\0\x03\0\0\0", "does not lead from 0 to the 2"),
    "rows": (b"K\x02K\x02\x86", b"K\x09K\x02\x86", "indptr: has 3 entries instead of 10"),
    "shape": (b"K\x02K\x02\x86", b"K\x02\x85", "impossible shape"),
    "minus": (b"K\x02K\x02\x86", b"K\x02J\xff\xff\xff\xff\x86", "impossible shape"),
    "name": (old_text(b"data"), old_text(b"date"), "something else where an array should be"),
    "not a number": (np.float32(1.5).tobytes(), np.float32(np.nan).tobytes(), "f, data: nan at [0]"),
}


@pytest.mark.parametrize(("part", "instead", "expected"), WRONG_MATRICES.values(), ids=WRONG_MATRICES)
def test_matrices_must_be_sound(part: bytes, instead: bytes, expected: str) -> None:
    body = old_matrix([[0, 1.5], [2, 0]])
    assert body.count(part) == 1
    assert expected in message(old(body.replace(part, instead)))
