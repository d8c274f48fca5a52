"""Pre-training: one loop for every method, its steps, its state and checkpoints, and the feed that brings graphs."""

from nmrgcl.train.loop import Epoch, Memory, pretrain

__all__ = ["Epoch", "Memory", "pretrain"]
