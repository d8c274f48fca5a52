"""What torchrun tells the processes that it starts, without loading torch."""

import os


def has_other_ranks() -> bool:
    """Whether torchrun has started this process together with others."""
    return int(os.environ.get("WORLD_SIZE") or 1) > 1 and "RANK" in os.environ


def is_restart() -> bool:
    """Whether torchrun has started this command again after a failure, so that it should resume."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT") or 0) > 0
