"""Every command that writes, as the functions behind it on the small run: what is there before, and what is done."""

import atexit
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import torch

from nmrgcl.atomic import new_folder
from nmrgcl.data.cache import cached
from nmrgcl.data.stored import write_dataset
from nmrgcl.encode.molecule import BONDS
from nmrgcl.estimator import GraphEmbedder
from nmrgcl.methods import build_pretraining
from nmrgcl.predict.finetune import finetune_settings
from nmrgcl.predict.folder import PREDICTOR, Origin, save_predictor
from nmrgcl.predict.predictor import Predictor
from nmrgcl.predict.similarity import Known
from nmrgcl.report import own_page, write_report
from nmrgcl.report.svg import new_figure, write_figure
from nmrgcl.reproduce import find_item
from nmrgcl.reproduce.item_page import write_index, write_item
from nmrgcl.run.checkpoints import Cadence
from nmrgcl.run.embeddings import Embeddings, write_embeddings
from nmrgcl.run.engine import run_cells
from nmrgcl.run.evaluate import evaluate_run
from nmrgcl.run.evaluation import Evaluation, keep_evaluation
from nmrgcl.run.finetuning import build_classifier
from nmrgcl.run.pack import merge, write_pack
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.run.results import Results
from nmrgcl.tune.files import write_found
from nmrgcl.tune.found import Found
from nmrgcl.tune.search import Candidate, Search, SearchScores
from tests.faults.small import DATA, SETTINGS, scratch, small_cells, small_result, train

CPU = torch.device("cpu")
START = ("settings.json", "seed-list.txt", ".seed-0.checkpoints", ".lock", "seed-0/config.json")
RUN = ("seed-notes.txt", "seed-backup/x", "seed-1/x", "evaluation.json", "splits.json", ".gitignore")
SHORT = SETTINGS.updated({"epochs": 1, "svm.folds": 2, "svm.c": "default"})


@dataclass(frozen=True)
class Command:
    """Something that writes into a folder.

    Attributes:
        work: writes.
        before: what is in the folder already.
        named: files whose names the user gives, which may therefore be replaced.
        clash: names of foreign files that this command would be most likely to take for its own.
    """

    work: Callable[[Path], object]
    before: str | None = None
    named: tuple[str, ...] = ()
    clash: tuple[str, ...] = ()
    slow: bool = False


def _train(place: Path, seeds: int = 1, **options: Any) -> None:
    train(place, seeds=seeds, settings=SHORT, **options)


def _cached(place: Path) -> None:
    os.environ["NMRGCL_HOME"], before = str(place), os.environ.get("NMRGCL_HOME")
    try:
        cached("T", _made() / "store" / "manifest.json", lambda: DATA)
    finally:
        os.environ.pop("NMRGCL_HOME")
        os.environ |= {"NMRGCL_HOME": before} if before else {}


def _tuned() -> Found:
    search = Search("motifs", (Candidate(SHORT, {}),), 1, "svm")
    return Found(search, SearchScores(np.ones((1, 1, 2)), np.ones((1, 1, 2)), ()), "nmrgcl tune motifs", "2026-01-01")


def _reproduce(place: Path) -> None:
    item = find_item("table3")
    write_item(item, item.plan(), [], place)
    write_index([], place)


def _finetuned(place: Path) -> None:
    settings = finetune_settings(["units=4", "layers=1"])
    member = build_classifier(settings, build_pretraining(settings, 123, BONDS), 1)
    known = Known(["C"], np.zeros((1, 256), np.uint8))
    split = {"name": "random", "train": [0], "valid": [1], "test": [2]}
    with new_folder(place, PREDICTOR) as filling:
        save_predictor(
            filling, Predictor([member], settings, ("a",), "numbers", None, known), Origin("small", [0], split)
        )


@cache
def _made() -> Path:
    """A folder with one of each thing that commands write; it lasts as long as the process."""
    folder = Path(mkdtemp(prefix="nmrgcl-made-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _train(folder / "run")
    begun = pretrain_seeds(
        DATA, SHORT, seeds=[1], out=folder / "run", device=CPU, resume="yes", cadence=Cadence(steps=1)
    )
    next(begun)
    del begun  # which ends the run there, with a checkpoint
    GraphEmbedder.load(folder / "run" / "seed-0").save(folder / "model")
    write_dataset(folder / "store", DATA)
    small_result(folder / "cells")
    shutil.copytree(folder / "cells" / "results", folder / "results")
    write_found(_tuned(), folder / "tuned")
    _reproduce(folder / "item")
    _finetuned(folder / "finetuned")
    return folder


@cache
def _evaluation() -> Evaluation:
    with scratch() as folder:
        _train(folder / "run")
        return evaluate_run(folder / "run", DATA, device=CPU, jobs=1)


def _model() -> GraphEmbedder:
    return GraphEmbedder.load(_made() / "model")


COMMANDS = {
    "pretrain": Command(lambda place: _train(place, resume="no"), clash=START),
    "pretrain --resume auto": Command(lambda place: _train(place), clash=START),
    "pretrain --overwrite": Command(lambda place: _train(place, overwrite=True, resume="no"), clash=START),
    "pretrain --resume auto, a run": Command(lambda place: _train(place, seeds=2), "run", clash=RUN),
    "pretrain --overwrite, a run": Command(lambda place: _train(place, overwrite=True), "run", clash=RUN),
    "datasets import": Command(lambda place: write_dataset(place, DATA), clash=("manifest.json",)),
    "datasets import, a store": Command(lambda place: write_dataset(place, DATA), "store"),
    "save": Command(lambda place: _model().save(place), clash=("config.json",)),
    "save, a model": Command(lambda place: _model().save(place), "model"),
    "finetune": Command(_finetuned, clash=("predictor.json", "model.safetensors")),
    "finetune, a model": Command(_finetuned, "finetuned"),
    "evaluate": Command(lambda place: keep_evaluation(place, _evaluation(), DATA), "run", clash=RUN),
    "report": Command(
        lambda place: write_report(place, DATA, own_page(place), device=CPU, figures=place / "figures", jobs=1),
        "run",
        slow=True,
    ),
    "embed": Command(
        lambda place: write_embeddings(Embeddings(np.eye(3), None, np.arange(3)), place / "z.csv"), named=("z.csv",)
    ),
    "theory --plot": Command(lambda place: write_figure(new_figure()[0], place / "z.svg"), named=("z.svg",)),
    "sweep": Command(lambda place: run_cells(small_cells(place.parent / "data", 1), place, jobs=1, device="cpu")),
    "results merge": Command(lambda place: merge(Results(place), [_made() / "results"]), "results"),
    "results pack": Command(
        lambda place: write_pack(place / "all.nmrgcl-results", Results(_made() / "results").all()[0]),
        named=("all.nmrgcl-results",),
    ),
    "tune": Command(lambda place: write_found(_tuned(), place), clash=("motifs.json", "motifs.toml")),
    "tune, a search": Command(lambda place: write_found(_tuned(), place), "tuned"),
    "reproduce": Command(_reproduce, clash=("table3.html", "table3.json", "index.html")),
    "reproduce, an item": Command(_reproduce, "item"),
    "the cache": Command(_cached),
}


def prepare(command: Command, place: Path) -> None:
    """Put into ``place`` what is there before the command."""
    _made()
    if command.before is None:
        place.mkdir()
    else:
        shutil.copytree(_made() / command.before, place)
