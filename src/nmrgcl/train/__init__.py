"""Pre-training: one loop for every method, its steps, state and checkpoints, and the feed that provides batches."""

from nmrgcl.train.loop import Epoch, pretrain
from nmrgcl.train.optimiser import Optimiser
from nmrgcl.train.progress import Progress
from nmrgcl.train.trainable import Fittable, Trainable

__all__ = ["Epoch", "Fittable", "Optimiser", "Progress", "Trainable", "pretrain"]
