"""Training that goes on where an earlier one ended, from memory or from a model: what ``warm_start`` needs."""

from dataclasses import replace

import torch

from nmrgcl.model_folder import Model
from nmrgcl.settings import Settings
from nmrgcl.train.checkpoint import Checkpoint


class Kept:
    """The last state of a training; it shares its tensors with the model."""

    def __init__(self, checkpoint: Checkpoint | None) -> None:
        self.checkpoint = checkpoint

    def recall(self) -> Checkpoint | None:
        """What the training before left, if there was one."""
        return self.checkpoint

    def due(self, *, epoch_ended: bool) -> bool:
        """After each epoch, any of which may be the last."""
        return epoch_ended

    def keep(self, step: int, checkpoint: Checkpoint) -> None:
        """Replace the earlier one."""
        self.checkpoint = checkpoint


def weights_alone(model: Model) -> Checkpoint:
    """A state to go on from where only the model is left: its weights, and an optimiser that starts anew."""
    options = model.settings.train
    tensors = {f"method.{name}": value for name, value in model.method.state_dict().items()}
    tensors |= {"sum.total": torch.zeros(()), "sum.losses": torch.zeros(())}
    done = {"epoch": options.epochs, "best_epoch": options.epochs, "step": options.steps, "position": 0}
    return Checkpoint(tensors, done | {"best": None, "chunk": options.chunk_graphs})


def with_more_epochs(settings: Settings, start: Checkpoint) -> Settings:
    """``settings`` whose epochs, and steps if they are limited, come on top of those that are done."""
    train, done = settings.train, start.values
    steps = train.steps + done["step"] if train.steps else 0
    return replace(settings, train=replace(train, epochs=train.epochs + done["epoch"], steps=steps))
