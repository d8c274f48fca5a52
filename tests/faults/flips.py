"""Flipped bits, lost ends and blocks of zeros in every kind of file: refused in one line, or read as if undamaged."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from nmrgcl.checkpoint import read_checkpoint
from nmrgcl.errors import UserError
from nmrgcl.model_folder import load_model, weights_digest
from nmrgcl.run import Cadence, pretrain_seeds
from nmrgcl.run.pack import read_pack, write_pack
from nmrgcl.run.record import read_record
from nmrgcl.run.results import Results
from nmrgcl.settings import Settings, read_config
from nmrgcl.store import open_store, write_store
from tests.faults.small import DATA, SETTINGS, scratch, small_result, train
from tests.faults.tally import Tally


@dataclass(frozen=True)
class Kind:
    """Files that are read together.

    Attributes:
        files: those that are damaged, one at a time.
        read: everything that a reader gets from them, as a value that can be compared.
        guarded: whether the format has a checksum; one that people write by hand has none, and any content is theirs.
    """

    files: list[Path]
    read: Callable[[], Any]
    guarded: bool = True


def flips(amount: int, seed: int = 0) -> Tally:
    """``amount`` damages, as many for each file."""
    tally = Tally("damaged files refused in one line, or read as if undamaged")
    chance = random.Random(f"flips {seed}")
    with tally.timed(), scratch() as folder:
        kinds = _kinds(folder)
        cases = [(name, kind, path) for name, kind in kinds.items() for path in kind.files]
        originals = {name: kind.read() for name, kind in kinds.items()}
        tally.facts = {"refused": 0, "read as if undamaged": 0, "files": len(cases)}
        for number in range(amount):
            name, kind, path = cases[number % len(cases)]
            with tally.trial(f"{name}, {path.name}, damage {number}"):
                verdict = _try(kind, path, originals[name], chance)
                tally.facts[verdict] += 1
    return tally


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Other bytes: some bits flipped, the end lost, or the end a run of zeros, as a disk may leave them."""
    how = chance.random()
    at = chance.randrange(len(content))
    if how < 0.3:
        return content[:at]
    if how < 0.4 and any(content[at:]):
        return content[:at] + bytes(len(content) - at)
    changed = bytearray(content)
    for place in {at, *(chance.randrange(len(content)) for _ in range(chance.choice((0, 0, 0, 1, 4))))}:
        changed[place] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _try(kind: Kind, path: Path, original: Any, chance: random.Random) -> str:
    content = path.read_bytes()
    path.write_bytes(damaged(content, chance))
    told = None
    try:
        found = kind.read()
    except UserError as error:
        found, told = None, str(error)
    finally:
        path.write_bytes(content)
    if told is not None:
        assert told.isprintable(), f"not one clean line: {told!r}"
        assert told, "refused without a word"
        return "refused"
    assert found == original or not kind.guarded, "another content was accepted in silence"
    return "read as if undamaged"


def _kinds(folder: Path) -> dict[str, Kind]:
    out = folder / "run"
    train(out)
    under_way = pretrain_seeds(
        DATA, SETTINGS, seeds=[0], out=folder / "begun", device=torch.device("cpu"), cadence=Cadence(steps=1)
    )
    next(under_way)
    del under_way  # which ends the run there
    (checkpoint, *_) = sorted((folder / "begun").rglob("*.ckpt"))
    store = folder / "store"
    write_store(store, DATA.graphs, extra={"labels": DATA.node_labels}, meta={"classes": [0, 1, 2]})  # type: ignore[dict-item]
    result, results = small_result(folder / "cells"), Results(folder / "cells" / "results")
    pack = folder / "all.nmrgcl-results"
    write_pack(pack, [result])
    model = out / "seed-0"
    names = ("config.json", "model.safetensors", "SHA256SUMS", "metrics.jsonl", "README.md")
    settings = out / "settings.json"
    toml = folder / "settings.toml"
    toml.write_text('method = "nmrgcl"\n[train]\nepochs = 3\nlr = 1e-3\n[[views.first]]\nname = "DropNodes"\np = 0.1\n')
    return {
        "checkpoint": Kind([checkpoint], lambda: _checkpoint(checkpoint)),
        "run record": Kind([out / "run.json"], lambda: read_record(out)),
        "model folder": Kind([model / name for name in names], lambda: _model(model)),
        "store": Kind(sorted(store.iterdir()), lambda: _store(store)),
        "result": Kind([results.path(result.key)], lambda: results.get(result.key)),
        "pack of results": Kind([pack], lambda: read_pack(pack)),
        "settings as JSON": Kind([settings], lambda: Settings.from_dict(read_config(settings)), guarded=False),
        "settings as TOML": Kind([toml], lambda: Settings.from_dict(read_config(toml)), guarded=False),
    }


def _checkpoint(path: Path) -> Any:
    found = read_checkpoint(path)
    tensors = {k: (str(v.dtype), tuple(v.shape), v.reshape(-1).numpy().tobytes()) for k, v in found.tensors.items()}
    return tensors, found.values


def _model(folder: Path) -> Any:
    found = load_model(folder)
    return weights_digest(found.method), found.settings, found.features, found.dataset


def _store(folder: Path) -> Any:
    found = open_store(folder, verify=True)
    graphs = found.graphs()
    tensors = {k: v.tolist() if isinstance(v, torch.Tensor) else v for k, v in vars(graphs).items()}
    return tensors, found.meta, {name: values.tolist() for name, values in found.extra.items()}
