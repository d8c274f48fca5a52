"""The set-up that ``make env`` promises."""

from importlib.metadata import distributions

import pytest
import torch


def test_a_cpu_machine_carries_no_cuda_packages() -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    names = {d.metadata["Name"].lower() for d in distributions() if d.metadata["Name"]}
    heavy = sorted(n for n in names if n.startswith("nvidia-") or n in ("torchvision", "torchaudio", "triton"))
    assert not heavy, f"not needed on a CPU machine: {heavy}; run make clean env"
