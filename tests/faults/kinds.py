"""Every kind of file that is read, and what a reader gets from it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from nmrgcl.model_folder import load_model, weights_digest
from nmrgcl.run.checkpoints import Cadence
from nmrgcl.run.evaluate import evaluate_run
from nmrgcl.run.evaluation import EVALUATION, Subject, keep_evaluation, read_evaluation, read_splits
from nmrgcl.run.folder import read_record
from nmrgcl.run.pack import read_pack, write_pack
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.run.results import Results
from nmrgcl.settings import Settings, read_config
from nmrgcl.store import open_store, write_store
from nmrgcl.train.checkpoint import read_checkpoint
from tests.faults.small import DATA, SETTINGS, small_result, train


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


def all_kinds(folder: Path) -> dict[str, Kind]:
    """One of each, made in ``folder``."""
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
    subject = evaluated(out)
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
        "evaluation": Kind([out / EVALUATION], lambda: read_evaluation(out, subject, DATA.name)),
        "splits": Kind([out / "splits.json"], lambda: {k: v.tolist() for k, v in read_splits(out).items()}),
        "settings as JSON": Kind([settings], lambda: Settings.from_dict(read_config(settings)), guarded=False),
        "settings as TOML": Kind([toml], lambda: Settings.from_dict(read_config(toml)), guarded=False),
    }


def evaluated(run: Path) -> Subject:
    """What the run is judged on; scores and folds are then in its folder."""
    found = evaluate_run(run, DATA, device=torch.device("cpu"), overrides=["folds=2", "c=default"], jobs=1)
    assert keep_evaluation(run, found, DATA)
    assert found.subject is not None
    return found.subject


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
