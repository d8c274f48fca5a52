"""Support for ``warm_start``: continue an earlier training from memory or from a saved model."""

from dataclasses import replace

import torch

from nmrgcl.model_folder import Model
from nmrgcl.settings import Settings
from nmrgcl.train.checkpoint import Checkpoint


class Kept:
    """Keeps the last state of a training in memory; its tensors are shared with the model."""

    def __init__(self, checkpoint: Checkpoint | None) -> None:
        self.checkpoint = checkpoint

    def recall(self) -> Checkpoint | None:
        """The state at the end of the previous training, if there was one."""
        return self.checkpoint

    def due(self, *, epoch_ended: bool) -> bool:
        """True after each epoch, since any epoch may turn out to be the last."""
        return epoch_ended

    def keep(self, step: int, checkpoint: Checkpoint) -> None:
        """Replace the previous state."""
        self.checkpoint = checkpoint


def weights_alone(model: Model) -> Checkpoint:
    """A state to continue from if only the model is available: its weights, with a fresh optimiser."""
    options = model.settings.train
    tensors = {f"method.{name}": value for name, value in model.method.state_dict().items()}
    tensors |= {"sum.total": torch.zeros(()), "sum.losses": torch.zeros(())}
    done = {"epoch": options.epochs, "best_epoch": options.epochs, "step": options.steps, "position": 0}
    return Checkpoint(tensors, done | {"best": None, "chunk": options.chunk_graphs})


def with_more_epochs(settings: Settings, start: Checkpoint) -> Settings:
    """``settings`` with their epochs, and steps if limited, added to those already done."""
    train, done = settings.train, start.values
    steps = train.steps + done["step"] if train.steps else 0
    return replace(settings, train=replace(train, epochs=train.epochs + done["epoch"], steps=steps))
