"""Pipes, devices, folders and endless files in place of every file that is read: refused in one line, at once."""

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

from nmrgcl.data.loading import load
from nmrgcl.run.embeddings import read_embeddings
from nmrgcl.tune.space import read_space
from tests.faults import child
from tests.faults.kinds import all_kinds
from tests.faults.malice import read_limited
from tests.faults.payloads import TU
from tests.faults.small import scratch
from tests.faults.tally import Tally

PATIENCE = 20.0
"""Seconds; a refusal takes a millisecond, but the machine may be busy."""
HOLES = 1 << 34
"""Bytes of a file that takes no room on the disk."""
SMALL = ("run.json", "SHA256SUMS", "config.json", "manifest.json", "settings.json", "settings.toml", "space.toml")
Place = Callable[[Path], object]


def devices() -> Tally:
    """Each thing in place of each file, read by a process of its own with little memory to fill."""
    tally = Tally("pipes, devices and endless files: refused at once in one line")
    with tally.timed(), scratch() as folder:
        files = [(path, kind.read) for kind in all_kinds(folder).values() for path in kind.files] + _data(folder)
        for path, read in files:
            for what, place in _things(path).items():
                with tally.trial(f"{what} as {path.name}"):
                    _suffer(path, place, read)
    return tally


def _suffer(path: Path, place: Place, read: Callable[[], object]) -> None:
    content = path.read_bytes()
    path.unlink()
    place(path)
    try:
        child.start(lambda: read_limited(read)).end(PATIENCE).expect(child.REFUSED)
    finally:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        path.write_bytes(content)


def _things(path: Path) -> dict[str, Place]:
    things: dict[str, Place] = {
        "a pipe": os.mkfifo,
        "/dev/zero": lambda place: place.symlink_to("/dev/zero"),
        "/dev/full": lambda place: place.symlink_to("/dev/full"),
        "a folder": Path.mkdir,
        "a socket": _bind,
        "a link to itself": lambda place: place.symlink_to(place.name),
    }
    limited = path.name in SMALL or path.suffix in (".ckpt", ".json")
    return things | ({"16 GiB of zeros": _hollow} if limited else {})


def _bind(path: Path) -> None:
    # The name of a socket may have 107 bytes, so that it is made where it is short.
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(path))


def _hollow(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(HOLES)


def _data(folder: Path) -> list[tuple[Path, Callable[[], object]]]:
    """Files of users: graphs, embeddings, and what a search may try."""
    tu, lines, arrays, space = folder / "X", folder / "x.jsonl", folder / "z.npz", folder / "space.toml"
    tu.mkdir()
    for name, text in TU.items():
        (tu / name).write_text(text)
    lines.write_text('{"edges": [[0, 1]]}\n')
    arrays.write_bytes(b"PK")
    space.write_text("options.tau = [0.1, 0.2]\n")
    return [
        *((tu / name, lambda: load(str(tu))) for name in TU),
        (lines, lambda: load(str(lines))),
        (arrays, lambda: read_embeddings(arrays)),
        (space, lambda: read_space(space)),
    ]
