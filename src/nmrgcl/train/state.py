"""Where a training stands between two batches, and how that is kept and restored."""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from nmrgcl.errors import ModelError
from nmrgcl.train.checkpoint import Checkpoint
from nmrgcl.train.optimiser import Optimiser

_NUMPY_WORDS = 624
"""The size of its Mersenne twister."""
_COUNTS = ("epoch", "position", "step", "best_epoch", "chunk")


class Stateful(Protocol):
    """What can be kept and restored."""

    def state_dict(self) -> dict[str, Any]:
        """Everything that makes it up."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> object:
        """The inverse."""
        ...


@dataclass
class TrainingState:
    """Progress, early stopping, and the running loss.

    Attributes:
        epoch: how many are complete.
        position: batches that are done in the epoch after them.
        step: batches that are done in all.
        chunk: graphs that make up their batches among themselves, which decides the order of batches; 0: all of them.
        best: the lowest loss of an epoch so far, which ``best_epoch`` had; others were not lower by enough to count.
        total: sum of the losses of the running epoch, on the device; there are ``losses`` of them.
        random: states of generators to go on from, in the middle of an epoch.
    """

    epoch: int = 0
    position: int = 0
    step: int = 0
    chunk: int = 0
    best: float = math.inf
    best_epoch: int = 0
    total: Tensor = field(default_factory=lambda: torch.zeros(()))
    losses: Tensor = field(default_factory=lambda: torch.zeros(()))
    random: dict[str, Tensor] = field(default_factory=dict)

    @property
    def idle_epochs(self) -> int:
        """Epochs since the loss was lowest."""
        return self.epoch - self.best_epoch

    @property
    def mean_loss(self) -> float:
        """Of the running epoch; the host waits for it."""
        return float(self.total / self.losses.clamp(min=1))

    @property
    def sums(self) -> tuple[Tensor, Tensor]:
        """What is counted on the device."""
        return self.total, self.losses

    def to(self, device: torch.device) -> "TrainingState":
        """Count there."""
        self.total, self.losses = self.total.to(device), self.losses.to(device)
        return self

    def recall_chance(self, device: torch.device) -> None:
        """In the middle of an epoch that was interrupted, chance goes on from where it stood."""
        if self.position and self.random:
            try:
                set_random_states(self.random, device)
            except (KeyError, TypeError, ValueError, RuntimeError, OverflowError):
                raise ModelError(
                    f"the checkpoint holds no usable random state for {device.type}; go on with the device it was made "
                    "on, or start again"
                ) from None
        self.random = {}

    def end_epoch(self, loss: float, least_gain: float = 0.0) -> None:
        """The running epoch is complete, with that mean loss; it is a gain if it is lower by that share."""
        self.epoch, self.position = self.epoch + 1, 0
        self.total.zero_()
        self.losses.zero_()
        if math.isinf(self.best) or loss < self.best - least_gain * abs(self.best):
            self.best, self.best_epoch = loss, self.epoch


def snapshot(
    state: TrainingState, method: Stateful, optimisers: Sequence[Optimiser], device: torch.device
) -> Checkpoint:
    """Everything that the next batch depends on."""
    tensors = {f"method.{name}": value for name, value in method.state_dict().items()}
    for key, optimiser in _keyed(optimisers).items():
        for index, entry in optimiser.adam.state_dict()["state"].items():
            tensors |= {f"{key}.{index}.{name}": value for name, value in entry.items()}
    tensors |= {f"random.{name}": value for name, value in random_states(device).items()}
    tensors |= {"sum.total": state.total, "sum.losses": state.losses}
    values = {name: getattr(state, name) for name in (*_COUNTS, "best")}
    values["best"] = None if math.isinf(state.best) else state.best
    return Checkpoint(tensors, values)


def restore(checkpoint: Checkpoint, method: Stateful, optimisers: Sequence[Optimiser]) -> TrainingState:
    """Put ``method`` and ``optimisers`` where ``snapshot`` saw them; ModelError where they do not fit."""
    keyed = _keyed(optimisers)
    groups: dict[str, dict[str, Tensor]] = {name: {} for name in ("method", *keyed, "random", "sum")}
    try:
        for name, tensor in checkpoint.tensors.items():
            group, _, rest = name.partition(".")
            groups[group][rest] = tensor
        method.load_state_dict(groups["method"])
        for key, optimiser in keyed.items():
            entries = _moments(groups[key], optimiser.parameters)
            optimiser.adam.load_state_dict(optimiser.adam.state_dict() | {"state": entries})
        sums: dict[str, Any] = groups["sum"]
        if set(sums) != {"total", "losses"} or any(value.shape or not value.isfinite() for value in sums.values()):
            raise ValueError("the sum of losses is not a number")
        return TrainingState(**_progress(checkpoint.values) | sums, random=groups["random"])
    except (KeyError, TypeError, ValueError, RuntimeError, IndexError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(
            f"the checkpoint does not fit this model ({reason}); use the settings it was made with"
        ) from None


def _keyed(optimisers: Sequence[Optimiser]) -> dict[str, Optimiser]:
    """By the names of their tensors, which differ so that one player is not taken for the first of two."""
    if len(optimisers) == 1:
        return {"optimiser": optimisers[0]}
    return {f"optimiser{number}": optimiser for number, optimiser in enumerate(optimisers, 1)}


def _progress(values: Mapping[str, Any]) -> dict[str, Any]:
    """The counts and the best loss, if they are possible ones."""
    found = {"chunk": 0} | {name: values[name] for name in (*_COUNTS, "best") if name in values}
    for name in _COUNTS:
        if type(found[name]) is not int or not 0 <= found[name] < 2**63:
            raise ValueError(f"{name} is not a count")
    if found["best_epoch"] > found["epoch"]:
        raise ValueError("the best epoch is yet to come")
    best = math.inf if found["best"] is None else found["best"]
    if type(best) is not float or math.isnan(best):
        raise ValueError("the best loss is not a number")
    return found | {"best": best}


def _moments(tensors: Mapping[str, Tensor], parameters: Sequence[Tensor]) -> dict[int, dict[str, Tensor]]:
    """What Adam keeps for each parameter that has had a gradient; a missing tensor would fail only at the next step."""
    entries: dict[int, dict[str, Tensor]] = {}
    for name, tensor in tensors.items():
        index, _, rest = name.partition(".")
        entries.setdefault(int(index), {})[rest] = tensor
    for number, entry in entries.items():
        shape = parameters[number].shape
        if number < 0 or {n: t.shape for n, t in entry.items()} != {"step": (), "exp_avg": shape, "exp_avg_sq": shape}:
            raise ValueError(f"the optimiser's tensors for parameter {number} are incomplete or of another shape")
    return entries


@contextmanager
def own_chance(seed: int, epoch: int, device: torch.device) -> Iterator[None]:
    """Random generators of torch, NumPy and Python that depend on the two numbers alone; the others come back after."""
    # As they are: as tensors, which checkpoints need, they take longer than a short epoch.
    before = torch.get_rng_state(), np.random.get_state(), random.getstate()  # noqa: NPY002
    on_gpu = torch.cuda.get_rng_state(device) if device.type == "cuda" else None
    words = np.random.SeedSequence([seed, epoch]).generate_state(3, np.uint64)
    # torch.manual_seed notes the whole stack for every kind of device that is not there: half a millisecond.
    torch.default_generator.manual_seed(int(words[0] >> 1))
    if device.type == "cuda":
        number = torch.cuda.current_device() if device.index is None else device.index
        torch.cuda.default_generators[number].manual_seed(int(words[0] >> 1))
    np.random.seed(int(words[1] >> 32))  # noqa: NPY002 - methods may use NumPy's global generator
    random.seed(int(words[2]))
    try:
        yield
    finally:
        torch.set_rng_state(before[0])
        np.random.set_state(before[1])  # noqa: NPY002
        random.setstate(before[2])
        if on_gpu is not None:
            torch.cuda.set_rng_state(on_gpu, device)


def random_states(device: torch.device) -> dict[str, Tensor]:
    """The states of all generators that a method may use."""
    twister: Any = np.random.get_state()  # noqa: NPY002
    _, words, position, has_gauss, gauss = twister
    _, numbers, spare = random.getstate()
    states = {
        "torch": torch.get_rng_state(),
        "numpy": torch.tensor([*words.tolist(), position, has_gauss], dtype=torch.int64),
        "numpy_gauss": torch.tensor(gauss, dtype=torch.float64),
        "python": torch.tensor(numbers, dtype=torch.int64),
        "python_gauss": torch.tensor(math.nan if spare is None else spare, dtype=torch.float64),
    }
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def set_random_states(states: dict[str, Tensor], device: torch.device) -> None:
    """The inverse of ``random_states``."""
    torch.set_rng_state(states["torch"])
    words = states["numpy"].tolist()
    if len(words) != _NUMPY_WORDS + 2 or not 0 <= words[_NUMPY_WORDS] <= _NUMPY_WORDS:
        raise ValueError("NumPy would read beyond its state")
    np.random.set_state(  # noqa: NPY002
        ("MT19937", np.array(words[:_NUMPY_WORDS], np.uint32), *words[_NUMPY_WORDS:], float(states["numpy_gauss"]))
    )
    spare = float(states["python_gauss"])
    random.setstate((3, tuple(states["python"].tolist()), None if math.isnan(spare) else spare))
    if device.type == "cuda":
        torch.cuda.set_rng_state(states["cuda"], device)
