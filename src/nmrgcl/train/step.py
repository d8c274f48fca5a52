"""A training step that stops updating weights as soon as a loss or gradient is not finite."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from nmrgcl.errors import NonFiniteError
from nmrgcl.graphs import Graphs
from nmrgcl.ops import across_ranks
from nmrgcl.settings import TrainSettings
from nmrgcl.train.distributed import Ranks, ReducedLosses
from nmrgcl.train.optimiser import Optimiser
from nmrgcl.train.progress import Progress, Unreadable
from nmrgcl.train.state import TrainingState
from nmrgcl.train.trainable import Trainable


class GuardedStep:
    """Computes the losses of a batch and their gradients, and steps the optimisers.

    Once a loss or gradient is not finite, no optimiser changes its weights any more. This is decided on the device, so
    that the host need not wait and only checks now and then. All state that persists between batches is updated in
    place, so that a step can be recorded and replayed. With ``ranks``, gradients and losses are averaged over them.
    """

    def __init__(
        self, method: Trainable, optimisers: Sequence[Optimiser], state: TrainingState, ranks: Ranks | None = None
    ) -> None:
        self.method, self.optimisers, self.state = method, optimisers, state
        self.reduced = ranks is not None
        self.losses = method.losses if ranks is None else ReducedLosses(method, ranks)
        self.progress = Progress()
        self.good_batches, self.bad = torch.zeros_like(state.total), torch.zeros_like(state.total)
        self._one = torch.ones_like(state.total)
        if state.total.is_cuda:
            self._tell_optimisers()

    def survey(self, options: TrainSettings, batches: Iterator[Graphs], count: int) -> None:
        """Show the method the ``count`` batches of the epoch that is about to begin."""
        with torch.no_grad():
            self.method.survey(batches, self._progress(options, count))

    def begin_epoch(self, options: TrainSettings, batches: int) -> None:
        """Begin or resume an epoch of ``batches`` batches."""
        self.good_batches.fill_(self.state.position)
        self.bad.zero_()
        self.progress = self._progress(options, batches)
        if self.state.position == 0:
            self.method.begin_epoch(self.progress)

    def _progress(self, options: TrainSettings, batches: int) -> Progress:
        steps = options.steps or options.epochs * batches
        return Progress(self.state.epoch + 1, self.state.step, -(-steps // batches), steps)

    def begin_batch(self) -> None:
        """Update the progress and the learning rates; called before the batch, since a replay cannot do so itself."""
        self.progress = replace(self.progress, step=self.state.step)
        for optimiser in self.optimisers:
            optimiser.set_rates(self.progress)

    def rehearse(self) -> None:
        """Until the next epoch begins, let steps change no weights, and fail if they read the progress."""
        self.bad.fill_(1.0)
        self.progress = Unreadable()

    def __call__(self, graphs: Graphs) -> None:
        """Train on one batch."""
        for number, loss in enumerate(self.losses(graphs, self.progress)):
            turn = number % len(self.optimisers)
            for optimiser in self.optimisers:  # All, since a loss has gradients for the other players' parameters too.
                optimiser.adam.zero_grad()
            loss.backward()
            value = across_ranks.average(loss.detach())
            self._guard(value, self.optimisers[turn])
            self.optimisers[turn].step()
            torch.clear_autocast_cache()  # Autocast caches bfloat16 copies of the weights, which are now outdated.
            # Players alternate; the loss that is reported is the first one's.
            if turn == 0:
                self.state.total.add_(value)
                self.state.losses.add_(1)
        # Plus 1 − bad: the count stops before the first bad batch, whose number an error message needs.
        self.good_batches.sub_(self.bad).add_(1)

    def _guard(self, loss: Tensor, optimiser: Optimiser) -> None:
        """Stop all further updates if ``loss`` or a gradient of ``optimiser`` is not finite."""
        values = [loss, *(p.grad for p in optimiser.parameters if p.grad is not None)]
        if loss.is_cuda:
            # The kernel of gradient scalers, in one launch: it multiplies by one and sets `bad` if a value is not
            # finite. It never resets `bad`.
            torch._amp_foreach_non_finite_check_and_unscale_(values, self.bad, self._one)
        # A finite sum has finite terms. On a CPU, looking at the value costs nothing.
        elif not math.isfinite(float(torch.cat([value.flatten() for value in values]).sum())):
            self._look_closer(values)

    def _look_closer(self, values: list[Tensor]) -> None:
        """Check the maximum, because a sum of finite values may overflow."""
        if not math.isfinite(float(torch.nn.utils.get_total_norm(values, float("inf")))):
            self.bad.fill_(1.0)
            self._tell_optimisers()

    def _tell_optimisers(self) -> None:
        """Fused Adam skips its update while ``found_inf`` is 1."""
        for optimiser in self.optimisers:
            optimiser.adam.found_inf = self.bad  # type: ignore[attr-defined]

    def check(self, parts: list[Tensor], options: TrainSettings) -> None:
        """Wait for the device and raise NonFiniteError if one of the batches ``parts`` was bad."""
        if not bool(self.bad):
            return
        position = int(self.good_batches)
        hint = f"lower train.lr (it is {options.lr})"
        if options.precision == "bf16":
            hint = "use train.precision=float32"
        epoch = self.state.epoch + 1
        raise NonFiniteError(
            f"the loss or a gradient is not finite in epoch {epoch}, batch {position + 1}; {hint}",
            epoch=epoch,
            batch=position + 1,
            graphs=parts[position].tolist(),
        )
