"""Save and load a predictor as a folder: ``predictor.json``, the weights of all members, a card and checksums."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load
from torch import Tensor

from nmrgcl import reading
from nmrgcl.checksums import NAME as CHECKSUMS
from nmrgcl.checksums import verify_checksums, write_checksums
from nmrgcl.data.molecules.fingerprints import BITS
from nmrgcl.data.molecules.vocabulary import ATOMS, CHIRALITIES
from nmrgcl.encode import ENCODERS
from nmrgcl.encode.molecule import BONDS
from nmrgcl.encode.named import is_own
from nmrgcl.errors import ModelError, UserError
from nmrgcl.evaluate.finetune import Classifier
from nmrgcl.methods import build_pretraining
from nmrgcl.owned import FolderKind
from nmrgcl.predict.calibrate import Calibration
from nmrgcl.predict.card import predictor_card
from nmrgcl.predict.predictor import Predictor
from nmrgcl.predict.similarity import Known
from nmrgcl.record import RecordError, RecordFormat
from nmrgcl.run.finetuning import build_classifier
from nmrgcl.run.machine import versions
from nmrgcl.settings import Settings
from nmrgcl.train.checkpoint import packed

NAME, WEIGHTS, REPORT = "predictor.json", "model.safetensors", "report.html"
RECORD = RecordFormat("nmrgcl-predictor", 1, "the record of a fine-tuned model", limit=1 << 28)
PREDICTOR = FolderKind(
    "fine-tuned model",
    NAME,
    lambda values: values.get("format") == RECORD.name,
    lambda _: (NAME, WEIGHTS, REPORT, "README.md", CHECKSUMS),
)
MOST_MEMBERS, MOST_TASKS = 1000, 100_000
"""Upper limits of what is loaded."""


@dataclass(frozen=True)
class Origin:
    """The origin of a predictor, ready for JSON.

    Attributes:
        dataset: name of the file of molecules.
        seeds: seeds of the members.
        split: name of the split, and the rows of each part among the valid molecules.
        scores: rows of the table of scores.
        task_scores: scores of the ensemble for each of several tasks; empty for one task, and in earlier versions.
        start: name of the data on which the encoder was pre-trained; None if it was not.
        probe: True if the encoder was frozen.
        data_sha256: digest of graphs and labels; None in models of earlier versions.
    """

    dataset: str
    seeds: list[int]
    split: dict[str, Any]
    scores: list[dict[str, Any]] = field(default_factory=list)
    start: str | None = None
    probe: bool = False
    data_sha256: str | None = None
    task_scores: list[dict[str, Any]] = field(default_factory=list)


def save_predictor(folder: Path, predictor: Predictor, origin: Origin) -> None:
    """Write a predictor to an existing, empty ``folder``."""
    calibration = predictor.calibration
    values = {
        "dataset": origin.dataset,
        "data_sha256": origin.data_sha256,
        "tasks": list(predictor.tasks),
        "goal": predictor.goal,
        "seeds": origin.seeds,
        "calibration": None
        if calibration is None
        else {"slope": calibration.slope.tolist(), "offset": calibration.offset.tolist()},
        "scores": origin.scores,
        **({"task_scores": origin.task_scores} if origin.task_scores else {}),
        "start": origin.start,
        "probe": origin.probe,
        "split": origin.split,
        "settings": predictor.settings.to_dict(),
        "versions": versions(),
    }
    RECORD.write(folder / NAME, values)
    (folder / "README.md").write_text(predictor_card(values), encoding="utf-8")
    tensors = {
        f"members.{number}.{name}": tensor
        for number, member in enumerate(predictor.members)
        for name, tensor in member.state_dict().items()
    }
    # No SMILES contains a line break: Known.of drops everything after the first white space.
    text = "\n".join(predictor.known.smiles).encode()
    tensors["known.fingerprints"] = torch.from_numpy(predictor.known.packed)
    # A copy, because frombuffer gives read-only memory, about which torch warns.
    tensors["known.smiles"] = torch.from_numpy(np.frombuffer(text, np.uint8).copy())
    (folder / WEIGHTS).write_bytes(packed(tensors))
    write_checksums(folder)


def load_predictor(folder: Path) -> tuple[Predictor, Origin]:
    """Load the predictor in ``folder``, in evaluation mode on the CPU; anything unexpected is an error."""
    if not folder.is_dir():
        raise ModelError(f"{folder}: no such folder; nmrgcl finetune creates one")
    # A missing record is reported as damage if checksums that are not of a pre-trained model may list it.
    if not (folder / NAME).exists() and ((folder / "config.json").exists() or not (folder / CHECKSUMS).exists()):
        raise ModelError(f"{folder}: is not a fine-tuned model; make one with nmrgcl finetune")
    verify_checksums(folder, required=(NAME, WEIGHTS), unlimited=WEIGHTS)
    try:
        values = RECORD.read(folder / NAME)
        if values is None:
            raise RECORD.mismatch
        return _predictor(values, load(reading.read_bytes(folder / WEIGHTS, limit=None)))
    except RecordError as error:
        raise error.told(ModelError, folder / NAME, "copy the model folder again") from None
    except UserError as error:
        raise ModelError(f"{folder}: {error}") from None
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        RuntimeError,
        SafetensorError,
    ) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(f"{folder}: not a usable fine-tuned model ({reason})") from None


def _predictor(values: Mapping[str, Any], tensors: dict[str, Tensor]) -> tuple[Predictor, Origin]:
    tasks, goal, seeds = values["tasks"], values["goal"], values["seeds"]
    if not _are(tasks, str, MOST_TASKS) or not _are(seeds, int, MOST_MEMBERS) or goal not in ("binary", "numbers"):
        raise ValueError("tasks, goal or seeds are invalid")
    if not isinstance(digest := values.get("data_sha256"), str | None):
        raise ValueError("data_sha256 is not text")
    settings = Settings.from_dict(values["settings"], source=NAME)
    if settings.encoder.name not in ENCODERS and not is_own(settings.encoder.name):
        raise ValueError(f"unknown encoder {settings.encoder.name!r}")
    members = [_member(settings, len(tasks), goal, _under(tensors, f"members.{n}.")) for n in range(len(seeds))]
    calibration = None
    if goal == "binary":
        slope, offset = (np.array(values["calibration"][name], float) for name in ("slope", "offset"))
        if not slope.shape == offset.shape == (len(tasks),) or not (slope >= 0).all():
            raise ValueError("the calibration does not match the tasks")
        calibration = Calibration(slope, offset)
    known = _known(tensors["known.smiles"], tensors["known.fingerprints"])
    origin = Origin(
        dataset=str(values["dataset"]),
        seeds=list(seeds),
        split=values["split"],
        scores=values["scores"],
        start=values["start"],
        probe=bool(values["probe"]),
        data_sha256=digest,
        task_scores=values.get("task_scores", []),
    )
    return Predictor(members, settings, tuple(tasks), goal, calibration, known), origin


def _are(values: Any, kind: type, most: int) -> bool:
    return isinstance(values, list) and 0 < len(values) <= most and all(type(value) is kind for value in values)


def _member(settings: Settings, tasks: int, goal: str, weights: dict[str, Tensor]) -> Classifier:
    # Without memory, so that settings of a huge encoder are refused before it is built; own code may need values.
    with nullcontext() if is_own(settings.encoder.name) else torch.device("meta"):
        expected = _build(settings, tasks, goal).state_dict()
    for name, value in expected.items():
        found = weights.get(name)
        if found is None or found.shape != value.shape or found.dtype != value.dtype:
            raise ValueError(f"the weights {name} are missing or do not match the settings")
        if not bool(found.isfinite().all()):
            raise ValueError(f"{name} contains NaN or infinity")
    model = _build(settings, tasks, goal)
    model.load_state_dict(weights)
    return model.eval()


def _build(settings: Settings, tasks: int, goal: str) -> Classifier:
    model = build_classifier(settings, build_pretraining(settings, ATOMS + CHIRALITIES, BONDS), tasks)
    if goal == "numbers":
        # Only to create the buffers; the weights to be loaded contain the scale.
        model.fit_scale(torch.zeros(1, tasks))
    return model


def _under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _known(text: Tensor, fingerprints: Tensor) -> Known:
    smiles = text.numpy().tobytes().decode().split("\n")
    if fingerprints.dtype != torch.uint8 or fingerprints.shape != (len(smiles), BITS // 8):
        raise ValueError("its fingerprints do not match its training molecules")
    return Known(smiles, fingerprints.numpy())
