"""Checkpoint files: tensors and plain values, written atomically.

A file consists of one line (format, version, SHA-256 of the rest) followed by safetensors; nothing in it is executed.
"""

import hashlib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from nmrgcl import atomic, reading
from nmrgcl.errors import ModelError
from nmrgcl.owned import is_plain, remove_empty

FORMAT, VERSION = "nmrgcl-checkpoint", 1
KEPT = 2
"""Keep the newest checkpoint and the one before, in case the newest turns out to be damaged."""
CHECKPOINTS = "step-*.ckpt"
"""A ``glob`` pattern for checkpoint files."""
_NAME = re.compile(r"step-(\d{10})\.ckpt")
_HEAD = re.compile(rb"nmrgcl-checkpoint (\d{1,9}) ([0-9a-f]{64})")
_MAX_HEAD = 128
_SPARE = 1 << 20


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Everything that is needed to continue a training: named ``tensors``, and ``values`` that JSON can represent."""

    tensors: dict[str, Tensor]
    values: dict[str, Any]


class Memory(Protocol):
    """Stores the checkpoints of a training. The loop calls it between batches; it may raise to end the training."""

    def recall(self) -> Checkpoint | None:
        """The checkpoint to continue from, if there is one."""
        ...

    def due(self, *, epoch_ended: bool) -> bool:
        """Whether to store a checkpoint now."""
        ...

    def keep(self, step: int, checkpoint: Checkpoint) -> None:
        """Store a checkpoint; ``step`` counts the batches of the whole training."""
        ...


def write_checkpoint(folder: Path, step: int, checkpoint: Checkpoint, token: str = "") -> Path:
    """Write ``folder/step-….ckpt`` and remove all but the last ``KEPT``; a crash at any time does no harm."""
    folder.mkdir(parents=True, exist_ok=True)
    content = packed(checkpoint.tensors, {"values": json.dumps(checkpoint.values)})
    head = f"{FORMAT} {VERSION} {hashlib.sha256(content).hexdigest()}\n".encode()
    path = folder / f"step-{step:010d}.ckpt"
    atomic.write_bytes(path, head + content, token)
    for old in sorted(_numbered(folder))[:-KEPT]:
        _remove_ours(_numbered(folder)[old])
    return path


def remove_checkpoints(folder: Path, token: str) -> None:
    """Remove finished and unfinished checkpoints in ``folder``, and then the folder if it is empty."""
    if folder.is_symlink() or not folder.is_dir():
        return
    for path in _numbered(folder).values():
        _remove_ours(path)
    atomic.remove_strays(folder, token)
    remove_empty(folder)


def packed(tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> bytes:
    """The tensors in safetensors format; raises MemoryError if there is not enough memory."""
    held = {name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}
    # The library aborts the process if it cannot allocate the three copies that it makes, so try the allocation first.
    bytearray(3 * sum(tensor.nbytes for tensor in held.values()) + _SPARE)
    return save(held, metadata)


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint; raises ModelError if it is damaged or of a newer version."""
    try:
        with reading.open_file(path) as file:
            match = _HEAD.fullmatch(file.readline(_MAX_HEAD).removesuffix(b"\n"))
            content = file.read() if match else b""
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror})") from None
    if match is None:
        raise ModelError(f"{path}: not a checkpoint, or damaged at its start")
    if int(match[1]) > VERSION:
        raise ModelError(
            f"{path}: written by a newer version (format {int(match[1])}, this reads {VERSION}); upgrade nmrgcl"
        )
    if hashlib.sha256(content).hexdigest().encode() != match[2]:
        raise ModelError(f"{path}: its SHA-256 does not match; the checkpoint is damaged")
    try:
        length = int.from_bytes(content[:8], "little")
        values = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["values"])
        if not isinstance(values, dict):
            raise TypeError
        return Checkpoint(load(content), values)
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(f"{path}: not a usable checkpoint ({type(error).__name__})") from None


def newest_checkpoint(folder: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest usable checkpoint, and one line about each newer one that cannot be used."""
    problems: list[str] = []
    numbered = _numbered(folder)
    for step in sorted(numbered, reverse=True):
        try:
            return read_checkpoint(numbered[step]), problems
        except ModelError as error:
            problems.append(str(error))
    return None, problems


def _remove_ours(path: Path) -> None:
    """Remove a checkpoint, but not a file of that name that is something else."""
    try:
        with reading.open_file(path) as file:
            ours = is_plain(path) and file.read(len(FORMAT)) == FORMAT.encode()
    except OSError:  # It has just been removed, or cannot be read.
        return
    if ours:
        path.unlink(missing_ok=True)


def _numbered(folder: Path) -> dict[int, Path]:
    try:
        names = os.listdir(folder)
    except OSError:
        return {}
    return {int(match[1]): folder / name for name in names if (match := _NAME.fullmatch(name))}
