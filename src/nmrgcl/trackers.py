"""Trackers of experiments, fed by the iterator that every training is: TensorBoard, Weights & Biases, MLflow."""

import os
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from nmrgcl.errors import SettingError, nearest, say
from nmrgcl.run.pretrain import SeedEpoch
from nmrgcl.settings import Settings
from nmrgcl.settings.check import flatten
from nmrgcl.train import Epoch

Tracker = Literal["tensorboard", "wandb", "mlflow"]
TRACKERS: tuple[str, ...] = get_args(Tracker)
AnyEpoch = TypeVar("AnyEpoch", Epoch, SeedEpoch)
Log = Callable[[dict[str, float], int], None]
End = Callable[[], object]


def tracked(
    epochs: Iterable[AnyEpoch], tracker: str, folder: Path | str, *, settings: Settings | None = None
) -> Iterator[AnyEpoch]:
    """Yield ``epochs`` as they come and log the numbers of each to ``tracker``, which writes into ``folder``.

    ``settings`` are recorded beside them. Epochs of several seeds are logged as ``seed-0/loss``, ``seed-1/loss`` …. A
    tracker that fails is named once and no longer told anything; the training goes on.

    Example:
        >>> from nmrgcl import Epoch, tracked
        >>> epochs = [Epoch(1, loss=2.0, seconds=0.1, graphs_per_second=500.0)]  # or pretrain(...)
        >>> for epoch in tracked(epochs, "tensorboard", "runs/mine"):
        ...     print(epoch.number, epoch.loss)
        1 2.0
    """
    library = require_tracker(tracker)
    config = {} if settings is None else {key: _plain(value) for key, value in flatten(settings.to_dict())}
    return _told(epochs, tracker, _OPEN[tracker], (library, Path(folder), config))


def require_tracker(name: str) -> Any:
    """The tracker's library; SettingError where there is no such tracker, or where it is not installed."""
    if name not in TRACKERS:
        raise SettingError(f"tracker {name!r}: {nearest(name, TRACKERS)}")
    try:
        return import_module("torch.utils.tensorboard" if name == "tensorboard" else name)
    except ImportError:
        raise SettingError(f"{name} is not installed; pip install 'nmrgcl[{name}]'") from None


def numbers_of(epoch: Epoch | SeedEpoch) -> dict[str, float]:
    """The metrics of an epoch that are logged: every value that is a number."""
    one = epoch.epoch if isinstance(epoch, SeedEpoch) else epoch
    found: dict[str, Any] = {"loss": one.loss, "seconds": one.seconds, "items_per_second": one.graphs_per_second}
    if isinstance(epoch, SeedEpoch):
        found |= epoch.tracked
        found = {f"seed-{epoch.seed}/{name}": value for name, value in found.items()}
    return {name: float(value) for name, value in found.items() if type(value) in (int, float)}


def _told(
    epochs: Iterable[AnyEpoch], tracker: str, begin: Callable[..., tuple[Log, End]], given: tuple[Any, ...]
) -> Iterator[AnyEpoch]:
    broken = False

    def attempt(work: Callable[..., Any], *given: Any) -> Any:
        nonlocal broken
        try:
            return None if broken else work(*given)
        except Exception as error:  # of a library, a server or a full disk: none of them may end a training
            broken = True
            words = str(error).strip().splitlines() or [type(error).__name__]
            say(f"{tracker} is no longer told about this training ({words[0]}); the training goes on")

    log, end = attempt(begin, *given) or (print, print)  # which are then never called
    try:
        for epoch in epochs:
            attempt(log, numbers_of(epoch), epoch.epoch.number if isinstance(epoch, SeedEpoch) else epoch.number)
            yield epoch
    finally:
        attempt(end)


def _tensorboard(library: Any, folder: Path, config: dict[str, Any]) -> tuple[Log, End]:
    writer = library.SummaryWriter(str(folder))
    if config:
        rows = "\n".join(f"| {key} | {value} |" for key, value in config.items())
        writer.add_text("settings", f"| setting | value |\n|---|---|\n{rows}")

    def log(values: dict[str, float], epoch: int) -> None:
        for name, value in values.items():
            writer.add_scalar(name, value, epoch)
        writer.flush()

    return log, writer.close


def _wandb(library: Any, folder: Path, config: dict[str, Any]) -> tuple[Log, End]:
    """Offline unless ``WANDB_MODE`` says otherwise: nothing leaves the machine that was not asked to."""
    folder.mkdir(parents=True, exist_ok=True)
    mode = os.environ.get("WANDB_MODE", "offline")
    run = library.init(project="nmrgcl", name=folder.stem, dir=str(folder), config=config, mode=mode)
    run.define_metric("*", step_metric="epoch")
    return lambda values, epoch: run.log({**values, "epoch": epoch}), run.finish


def _mlflow(library: Any, folder: Path, config: dict[str, Any]) -> tuple[Log, End]:
    """To the server that ``MLFLOW_TRACKING_URI`` names, else to a database in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    store = os.environ.get("MLFLOW_TRACKING_URI", f"sqlite:///{folder.absolute() / 'mlflow.db'}")
    client = library.MlflowClient(tracking_uri=store)
    found = client.get_experiment_by_name("nmrgcl")
    artifacts = (folder.absolute() / "artifacts").as_uri()
    experiment = client.create_experiment("nmrgcl", artifacts) if found is None else found.experiment_id
    run = client.create_run(experiment, run_name=folder.stem).info.run_id
    for key, value in config.items():
        client.log_param(run, key, str(value)[:500])

    def log(values: dict[str, float], epoch: int) -> None:
        for name, value in values.items():
            client.log_metric(run, name, value, step=epoch)

    return log, lambda: client.set_terminated(run)


_OPEN: dict[str, Callable[..., tuple[Log, End]]] = {
    "tensorboard": _tensorboard,
    "wandb": _wandb,
    "mlflow": _mlflow,
}


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool) else str(value)
