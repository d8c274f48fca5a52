"""Kernels against slow references: on the GPU where there is one, elsewhere through Triton's interpreter."""

import os

import pytest
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ.setdefault("TRITON_INTERPRET", "1")  # read when Triton is imported

pytest.importorskip("triton", reason="Triton, which comes with PyTorch's builds for GPUs, is not installed")
