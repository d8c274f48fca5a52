"""The state of a training between two batches, and how it is saved and restored."""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from nmrgcl.errors import ModelError
from nmrgcl.train.checkpoint import Checkpoint
from nmrgcl.train.optimiser import Optimiser

_NUMPY_WORDS = 624
"""The size of the state of NumPy's Mersenne twister."""
_COUNTS = ("epoch", "position", "step", "best_epoch", "chunk")


@dataclass
class TrainingState:
    """Progress, early stopping, and the running loss.

    Attributes:
        epoch: the number of complete epochs.
        position: the number of batches done in the current epoch.
        step: the number of batches done in the whole training.
        chunk: how many graphs are shuffled among themselves, which decides the order of batches; 0: all of them.
        best: the loss of ``best_epoch``, the last epoch that lowered the loss by enough to count.
        total: the sum of the losses of the current epoch, on the device; ``losses`` is their number.
        random: states of random generators for continuing in the middle of an epoch.
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
        """The number of epochs since the best one."""
        return self.epoch - self.best_epoch

    @property
    def mean_loss(self) -> float:
        """The mean loss of the current epoch; this waits for the device."""
        return float(self.total / self.losses.clamp(min=1))

    @property
    def sums(self) -> tuple[Tensor, Tensor]:
        """The running sums on the device."""
        return self.total, self.losses

    def to(self, device: torch.device) -> "TrainingState":
        """Move the running sums to ``device``."""
        self.total, self.losses = self.total.to(device), self.losses.to(device)
        return self

    def recall_chance(self, device: torch.device) -> None:
        """When resuming in the middle of an epoch, restore the random generators to their state at that time."""
        if self.position and self.random:
            try:
                set_random_states(self.random, device)
            except (KeyError, TypeError, ValueError, RuntimeError, OverflowError):
                raise ModelError(
                    f"the checkpoint has no usable random state for {device.type}; resume on the same kind of device, "
                    "or start again"
                ) from None
        self.random = {}

    def end_epoch(self, loss: float, least_gain: float = 0.0) -> None:
        """Complete the current epoch; it is the new best if ``loss`` is below the best by the share ``least_gain``."""
        self.epoch, self.position = self.epoch + 1, 0
        self.total.zero_()
        self.losses.zero_()
        # Before the first epoch the best is infinite, and inf − gain · inf would be NaN.
        if math.isinf(self.best) or loss < self.best - least_gain * abs(self.best):
            self.best, self.best_epoch = loss, self.epoch


def snapshot(
    state: TrainingState, method: nn.Module, optimisers: Sequence[Optimiser], device: torch.device
) -> Checkpoint:
    """A checkpoint of everything that the next batch depends on."""
    tensors = {f"method.{name}": value for name, value in method.state_dict().items()}
    for key, optimiser in _keyed(optimisers).items():
        for index, entry in optimiser.adam.state_dict()["state"].items():
            tensors |= {f"{key}.{index}.{name}": value for name, value in entry.items()}
    tensors |= {f"random.{name}": value for name, value in random_states(device).items()}
    tensors |= {"sum.total": state.total, "sum.losses": state.losses}
    values = {name: getattr(state, name) for name in (*_COUNTS, "best")}
    values["best"] = None if math.isinf(state.best) else state.best
    return Checkpoint(tensors, values)


def restore(checkpoint: Checkpoint, method: nn.Module, optimisers: Sequence[Optimiser]) -> TrainingState:
    """Restore ``method`` and ``optimisers`` from a checkpoint by ``snapshot``; ModelError if it does not fit them."""
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
    """Optimisers by the prefix of their tensors; a single one has another prefix than the first of several."""
    if len(optimisers) == 1:
        return {"optimiser": optimisers[0]}
    return {f"optimiser{number}": optimiser for number, optimiser in enumerate(optimisers, 1)}


def _progress(values: Mapping[str, Any]) -> dict[str, Any]:
    """The counts and the best loss; raises ValueError if they are impossible."""
    found = {"chunk": 0} | {name: values[name] for name in (*_COUNTS, "best") if name in values}
    for name in _COUNTS:
        if type(found[name]) is not int or not 0 <= found[name] < 2**63:
            raise ValueError(f"{name} is not a count")
    if found["best_epoch"] > found["epoch"]:
        raise ValueError("the best epoch lies in the future")
    best = math.inf if found["best"] is None else found["best"]
    if type(best) is not float or math.isnan(best):
        raise ValueError("the best loss is not a number")
    return found | {"best": best}


def _moments(tensors: Mapping[str, Tensor], parameters: Sequence[Tensor]) -> dict[int, dict[str, Tensor]]:
    """Adam's state for each parameter that has had a gradient; checked here, as errors would only appear in a step."""
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
    """Seed the generators of torch, NumPy and Python from ``seed`` and ``epoch`` only; restore them afterwards."""
    # Not `random_states`: converting to tensors, which checkpoints need, takes longer than a short epoch.
    before = torch.get_rng_state(), np.random.get_state(), random.getstate()  # noqa: NPY002
    on_gpu = torch.cuda.get_rng_state(device) if device.type == "cuda" else None
    seed_generators([seed, epoch], device)
    try:
        yield
    finally:
        torch.set_rng_state(before[0])
        np.random.set_state(before[1])  # noqa: NPY002
        random.setstate(before[2])
        if on_gpu is not None:
            torch.cuda.set_rng_state(on_gpu, device)


def seed_generators(numbers: Sequence[int], device: torch.device) -> None:
    """Seed the generators of torch, NumPy and Python from ``numbers``."""
    words = np.random.SeedSequence(numbers).generate_state(3, np.uint64)
    # Not torch.manual_seed, which records a stack trace for every missing kind of device and takes half a millisecond.
    torch.default_generator.manual_seed(int(words[0] >> 1))
    if device.type == "cuda":
        number = torch.cuda.current_device() if device.index is None else device.index
        torch.cuda.default_generators[number].manual_seed(int(words[0] >> 1))
    np.random.seed(int(words[1] >> 32))  # noqa: NPY002 - methods may use NumPy's global generator
    random.seed(int(words[2]))


def random_states(device: torch.device) -> dict[str, Tensor]:
    """The states of all random generators that a method may use."""
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
