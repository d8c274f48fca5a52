import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from nmrgcl.data.loading import load
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.settings import resolve
from nmrgcl.view import Viewed, open_server
from nmrgcl.view.server import Server

CPU = torch.device("cpu")
SMALL = ["epochs=2", "encoder.layers=1", "encoder.units=4"]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two seeds."""
    out = tmp_path_factory.mktemp("view") / "mutag"
    settings = resolve("graphcl", assignments=SMALL)
    list(pretrain_seeds(load("MUTAG"), settings, seeds=[0, 1], out=out, device=CPU, data="MUTAG", track_every=1))
    return out


@pytest.fixture(scope="session")
def server(run: Path) -> Iterator[Server]:
    """A server of that run, for this machine."""
    with open_server([Viewed(run, data=None, device=CPU)], port=0) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()
