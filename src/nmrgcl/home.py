"""Where downloads, caches and kept files are."""

import os
from pathlib import Path


def home() -> Path:
    """``NMRGCL_HOME``, else ``~/.cache/nmrgcl``."""
    return Path(os.path.expanduser(os.environ.get("NMRGCL_HOME") or "~/.cache/nmrgcl"))
