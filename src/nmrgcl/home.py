"""The folder of downloads and caches."""

import os
from pathlib import Path


def home() -> Path:
    """Return ``NMRGCL_HOME``, by default ``~/.cache/nmrgcl``."""
    return Path(os.path.expanduser(os.environ.get("NMRGCL_HOME") or "~/.cache/nmrgcl"))
