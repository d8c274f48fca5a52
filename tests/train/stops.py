"""A memory that interrupts a training after a given batch."""

from pathlib import Path

from nmrgcl.train.checkpoint import Checkpoint, newest_checkpoint, write_checkpoint


class Stops:
    """Stores the checkpoint of one batch, ends the training there, and later recalls it."""

    def __init__(self, folder: Path, at: int) -> None:
        self.folder, self.at, self.seen, self.kept = folder, at, 0, False

    def recall(self) -> Checkpoint | None:
        return newest_checkpoint(self.folder)[0]

    def due(self, *, epoch_ended: bool) -> bool:
        self.seen += not epoch_ended
        return not self.kept and self.seen == self.at

    def keep(self, step: int, checkpoint: Checkpoint) -> None:
        write_checkpoint(self.folder, step, checkpoint)
        self.kept = True
        raise KeyboardInterrupt
