"""Files that would do harm if anything in them were believed: each makes a marker file where its content is run."""

import gzip
import io
import json
import lzma
import pickle
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

TU = {"X_A.txt": "1, 2\n2, 1\n3, 4\n4, 3\n", "X_graph_indicator.txt": "1\n1\n2\n2\n", "X_graph_labels.txt": "0\n1\n"}
BOMB = 1 << 30
DEEP = 100_000


class _Payload:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return exec, (f"open({str(self.marker)!r}, 'w').close()",)


def pickled(marker: Path, protocol: int = 2) -> bytes:
    """A pickle that makes the marker when it is loaded."""
    return pickle.dumps(_Payload(marker), protocol)


def torch_file(marker: Path) -> bytes:
    """What ``torch.save`` makes of such an object: a zip with a pickle inside."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("archive/data.pkl", pickled(marker))
        file.writestr("archive/version", "3\n")
    return stream.getvalue()


def object_npz(marker: Path) -> bytes:
    """Embeddings as an array of objects."""
    array = np.empty((2, 1), object)
    array[:] = [[_Payload(marker)], [_Payload(marker)]]
    stream = io.BytesIO()
    np.savez(stream, z=array, y=np.array([0, 1]))
    return stream.getvalue()


def npz_of(header: str, body: bytes = b"") -> bytes:
    """An ``.npz`` whose array ``z`` has this header."""
    text = header.encode() + b"\n"
    npy = b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little") + text + body
    return zipped({"z.npy": npy})


def zipped(members: dict[str, str | bytes]) -> bytes:
    """A compressed zip with these names, as they are."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return stream.getvalue()


def bomb_zip(name: str) -> bytes:
    """A gigabyte of zeros under that name."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file, file.open(name, "w") as member:
        for _ in range(BOMB >> 20):
            member.write(bytes(1 << 20))
    return stream.getvalue()


def tarred(members: list[tarfile.TarInfo], compress: str = "gz") -> bytes:
    """A compressed tar; regular members get the content of ``TU``."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as file:
        for info in members:
            content = TU.get(info.name.rpartition("/")[2], "").encode() if info.isreg() else b""
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
    return gzip.compress(stream.getvalue()) if compress == "gz" else lzma.compress(stream.getvalue())


def tar_entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    """A member of that kind."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def bomb_xz() -> bytes:
    """A tar in xz whose one member is a gigabyte of zeros."""
    info = tarfile.TarInfo("X/X_A.txt")
    info.size = BOMB
    packer = lzma.LZMACompressor(preset=0)
    parts = [packer.compress(info.tobuf())]
    parts += [packer.compress(bytes(1 << 20)) for _ in range(BOMB >> 20)]
    return b"".join([*parts, packer.flush()])


def deep_json() -> str:
    """Nested beyond any parser's patience."""
    return "[" * DEEP + "]" * DEEP


def yaml_tag(marker: Path) -> str:
    """What an unsafe YAML loader would run."""
    return f"train: !!python/object/apply:builtins.exec ['open({json.dumps(str(marker))}, \"w\")']\n"
