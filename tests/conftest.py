import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy  # noqa: F401  # so that its BLAS is limited below
import pytest
import scipy.linalg  # noqa: F401  # which has a BLAS of its own
import torch
from threadpoolctl import threadpool_limits

from nmrgcl import own_code

# Tests run in parallel processes: more threads than cores would only wait for each other.
torch.set_num_threads(1)
threadpool_limits(1, user_api="blas")
# PyTorch gives some warnings once per process: only the first test to cause one would fail, whichever that is.
torch.set_warn_always(True)


@pytest.fixture(scope="session", autouse=True)
def own_home() -> Iterator[None]:
    """A cache of the tests' own: they neither trust nor touch the user's."""
    folder = tempfile.mkdtemp(prefix="nmrgcl-home-")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NMRGCL_HOME", folder)
        yield
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def new_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who has not named any code of their own yet."""
    monkeypatch.setenv("NMRGCL_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(own_code, "_live", {})
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder of raw datasets, as ``NMRGCL_MIRROR`` names it."""
    folder = os.environ.get("NMRGCL_MIRROR")
    if not folder:
        pytest.skip("NMRGCL_MIRROR is not set: the raw datasets are not at hand")
    if not (Path(folder) / "tu").is_dir():
        pytest.skip(f"NMRGCL_MIRROR={folder} has no folder tu")
    return Path(folder)
