"""The data that a run was trained on: where it was, and whether it is still the same."""

import shlex
from pathlib import Path

import torch

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.loading import load
from nmrgcl.errors import DataError
from nmrgcl.model_folder import Model, load_model
from nmrgcl.owned import read_marker
from nmrgcl.run.cell_data import digest_of, training_source
from nmrgcl.run.evaluate import find_models
from nmrgcl.run.folder import RUN, read_record


def data_source(data: str, dataset: Dataset) -> str:
    """What ``load`` finds the dataset by from any folder: its name as it is, a path from the root on."""
    path = Path(data).expanduser()
    return str(path.absolute()) if dataset.source == str(path) else data


def load_own_data(run: Path, command: str) -> Dataset:
    """The graphs that the run or model in ``run`` was trained on; ``command``, followed by other data, asks for that.

    Graphs that have changed since are refused: they are used only if the user names them.
    """
    model = load_model(find_models(run)[0])
    source = _recorded(run) or model.dataset
    try:
        dataset = load(source)
    except DataError as error:
        raise DataError(f"{error}; or say where its graphs are: {command} DATA") from None
    if model.data_sha256 is not None and _digest(model, dataset) != model.data_sha256:
        raise DataError(
            f"{source}: has changed since {run} was trained on it; "
            f"to use it as it is now: {command} {shlex.quote(source)}"
        )
    return dataset


def _recorded(run: Path) -> str:
    """What the record of the run says; it stands beside the models, or around the one model that is named."""
    folder = next((place for place in (run, run.absolute().parent) if read_marker(place, RUN) is not None), None)
    record = None if folder is None else read_record(folder)
    return record.data_source if record else ""


def _digest(model: Model, dataset: Dataset) -> str | None:
    """SHA-256 of what the model's training would see of the dataset; None if it cannot have the same features."""
    try:
        return digest_of(training_source(dataset, model.features, model.settings, torch.device("cpu")))
    except DataError:
        return None
