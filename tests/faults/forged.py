"""Files that were changed and given checksums that are right again: refused in one line, never believed halfway."""

import copy
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load, save

from nmrgcl.checksums import write_checksums
from nmrgcl.data.stored import open_dataset, write_dataset
from nmrgcl.model_folder import load_model
from nmrgcl.report.accuracy import read_stored
from nmrgcl.run.checkpoints import Cadence
from nmrgcl.run.folder import read_record
from nmrgcl.run.model_folders import find_models
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.run.results import Results
from nmrgcl.store import MANIFEST
from nmrgcl.train.checkpoint import FORMAT
from tests.faults import child
from tests.faults.kinds import evaluated
from tests.faults.malice import read_limited
from tests.faults.small import DATA, SETTINGS, scratch, small_result, train, uninterrupted
from tests.faults.tally import Tally

PATIENCE = 30.0
ODD: tuple[Any, ...] = (None, True, -1, 1.5, 10**30, 1e999, "x", "\x1b[31m", [], [1, [2]], {}, {"a": []})
"""In place of any value."""
Tensors = dict[str, torch.Tensor]
Values = dict[str, Any]


def forged(every: int = 1) -> Tally:
    """Every so-manieth forgery; those that mean something else that is possible may be accepted."""
    tally = Tally("forged files with right checksums: refused in one line")
    with tally.timed(), scratch() as folder:
        uninterrupted()
        train(folder / "run", settings=SETTINGS.updated({"svm.folds": 2, "svm.c": "default"}))
        forgeries = (
            _checkpoints(folder) | _stores(folder) | _records(folder) | _models(folder / "run" / "seed-0", folder)
        )
        for name, (read, must) in list(forgeries.items())[::every]:
            with tally.trial(name):
                codes = (child.REFUSED,) if must else (child.REFUSED, child.DONE)
                child.start(lambda read=read: read_limited(read)).end(PATIENCE).expect(*codes)  # type: ignore[misc]
    return tally


Forgeries = dict[str, tuple[Callable[[], object], bool]]
"""What reads it, and whether it must be refused."""


def sealed(values: Values) -> bytes:
    """JSON with its checksum, as one who forges it would write it."""
    rest = {key: value for key, value in values.items() if key != "checksum"}
    digest = hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
    return json.dumps(rest | {"checksum": digest}).encode()


def odd_versions(values: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Copies of nested values, each with one of them replaced by something odd, or missing."""
    items = values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    for key, value in list(items)[:40]:
        for odd in ODD:
            yield f"{path}{key} = {odd!r:.20}", _with(values, key, odd)
        if isinstance(values, dict):
            yield f"{path}{key} missing", {k: v for k, v in values.items() if k != key}
        for name, changed in odd_versions(value, f"{path}{key}."):
            yield name, _with(values, key, changed)


def _with(values: Any, key: Any, value: Any) -> Any:
    changed = copy.copy(values)
    changed[key] = value
    return changed


def _checkpoints(folder: Path) -> Forgeries:
    """In the middle of an epoch, so that all of the checkpoint is used."""
    begun = folder / "begun"
    under_way = pretrain_seeds(
        DATA, SETTINGS, seeds=[0], out=begun, device=torch.device("cpu"), cadence=Cadence(steps=1)
    )
    for _ in range(2):
        next(under_way)
    del under_way
    (first, *_) = sorted(begun.rglob("*.ckpt"))
    content = first.read_bytes().partition(b"\n")[2]
    length = int.from_bytes(content[:8], "little")
    values = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["values"])
    tensors = load(content)

    def resumed(number: int, tensors: Tensors, values: Any) -> Callable[[], object]:
        def go() -> None:
            out = folder / f"forged-{number}"
            shutil.copytree(begun, out)
            for old in out.rglob("*.ckpt"):
                old.unlink()
            body = save(tensors, {"values": json.dumps(values)})
            head = f"{FORMAT} 1 {hashlib.sha256(body).hexdigest()}\n".encode()
            (out / first.relative_to(begun)).write_bytes(head + body)
            train(out, steps=0, seeds=1)

        return go

    changed = [(f"checkpoint: {name}", tensors, odd) for name, odd in odd_versions(values)]
    changed += [("checkpoint: no values", tensors, {})]
    harmless = ("best", "chunk", "step")  # other values of these are possible
    found = {n: (resumed(i, t, v), not n.startswith(tuple(f"checkpoint: {h} " for h in harmless)))
             for i, (n, t, v) in enumerate(changed)}  # fmt: skip
    for number, name in enumerate(tensors, len(changed)):
        fewer = {key: value for key, value in tensors.items() if key != name}
        found[f"checkpoint: no tensor {name}"] = resumed(number, fewer, values), True
        other = tensors | {name: torch.full((3, 1, 2), -7, dtype=torch.int64)}
        found[f"checkpoint: another tensor {name}"] = resumed(number + 1000, other, values), True
        wild = tensors | {name: torch.full_like(tensors[name], 77)}
        found[f"checkpoint: other numbers in {name}"] = resumed(number + 2000, wild, values), False
    return found


def _stores(folder: Path) -> Forgeries:
    write_dataset(folder / "store", DATA)
    manifest = json.loads((folder / "store" / MANIFEST).read_text())

    def used(number: int, values: Values) -> Callable[[], object]:
        def go() -> None:
            place = folder / f"store-{number}"
            shutil.copytree(folder / "store", place)
            (place / MANIFEST).write_bytes(sealed(values))
            found = open_dataset(place)
            assert found.name.isprintable()
            train_on(found, place)

        return go

    return {f"store: {name}": (used(i, odd), False) for i, (name, odd) in enumerate(odd_versions(manifest))}


def train_on(dataset: Any, place: Path) -> None:
    """Everything that a dataset is used for."""
    from nmrgcl.data.measure import measure
    from nmrgcl.run.embeddings import embed_dataset

    json.dumps(measure(dataset))
    for _ in pretrain_seeds(dataset, SETTINGS, seeds=[0], out=place / "out", device=torch.device("cpu")):
        pass
    embed_dataset(load_model(place / "out" / "seed-0"), dataset, torch.device("cpu"))


def _records(folder: Path) -> Forgeries:
    run, result = folder / "run", small_result(folder / "cells")
    evaluated(run)
    models = [load_model(model) for model in find_models(run)]
    cells = Results(folder / "cells" / "results")
    kinds: dict[str, tuple[Path, Callable[[], object]]] = {
        "run record": (run / "run.json", lambda: read_record(run)),
        "evaluation": (run / "evaluation.json", lambda: read_stored(run, DATA, models)),
        "result": (cells.path(result.key), lambda: cells.get(result.key)),
    }

    def forged_as(path: Path, values: Values, read: Callable[[], object]) -> Callable[[], object]:
        def go() -> None:
            original = path.read_bytes()
            path.write_bytes(sealed(values))
            try:
                read()
            finally:
                path.write_bytes(original)

        return go

    return {
        f"{kind}: {name}": (forged_as(path, odd, read), False)
        for kind, (path, read) in kinds.items()
        for name, odd in odd_versions(json.loads(path.read_bytes()))
    }


def _models(model: Path, folder: Path) -> Forgeries:
    config = json.loads((model / "config.json").read_text())
    versions = [*odd_versions(config)]
    for key, value in {"layers": 10_000_000, "units": 20_000}.items():
        encoder = config["settings"]["encoder"] | {key: value}
        versions.append((f"{value} {key}", _with(config, "settings", config["settings"] | {"encoder": encoder})))

    def loaded(number: int, values: Values) -> Callable[[], object]:
        def go() -> None:
            place = folder / f"model-{number}"
            shutil.copytree(model, place)
            (place / "config.json").write_text(json.dumps(values))
            write_checksums(place)
            load_model(place)

        return go

    return {f"model: {name}": (loaded(i, odd), name[0].isdigit()) for i, (name, odd) in enumerate(versions)}
