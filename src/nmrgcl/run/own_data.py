"""The data that a run was trained on: find it again and check that it has not changed."""

import shlex
from pathlib import Path

import torch

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.loading import load
from nmrgcl.errors import DataError
from nmrgcl.model_folder import Model, load_model
from nmrgcl.owned import read_marker
from nmrgcl.run.cell_data import digest_of, training_source
from nmrgcl.run.folder import RUN, read_record
from nmrgcl.run.model_folders import find_models


def data_source(data: str, dataset: Dataset) -> str:
    """The argument by which ``load`` finds the dataset from any working directory: a name, or an absolute path."""
    path = Path(data).expanduser()
    return str(path.absolute()) if dataset.source == str(path) else data


def load_own_data(run: Path, command: str) -> Dataset:
    """Load the data that the run or model in ``run`` was trained on.

    Data that has changed since is refused unless the user names it; messages suggest ``command`` followed by the data.
    """
    model = load_model(find_models(run)[0])
    # Earlier versions did not record a source, but a dataset of the catalog is found by its name.
    source = _recorded(run) or model.dataset
    try:
        dataset = load(source)
    except DataError as error:
        raise DataError(f"{error}; or say where the training data is: {command} DATA") from None
    if model.data_sha256 is not None and _digest(model, dataset) != model.data_sha256:
        raise DataError(
            f"{source}: has changed since {run} was trained on it; "
            f"to use it as it is now: {command} {shlex.quote(source)}"
        )
    return dataset


def _recorded(run: Path) -> str:
    """The data source in the run's record, which is in ``run`` itself or, if ``run`` is a model, in its parent."""
    folder = next((place for place in (run, run.absolute().parent) if read_marker(place, RUN) is not None), None)
    record = None if folder is None else read_record(folder)
    return record.data_source if record else ""


def _digest(model: Model, dataset: Dataset) -> str | None:
    """SHA-256 of the dataset as the model's training would see it; None if it lacks the model's features."""
    try:
        return digest_of(training_source(dataset, model.features, model.settings, torch.device("cpu")))
    except DataError:
        return None
