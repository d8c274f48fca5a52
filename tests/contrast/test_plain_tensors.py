"""Losses and removal masks need nothing of this library but themselves."""

import subprocess
import sys

CODE = """
import sys, torch
from nmrgcl.contrast import (
    REMOVALS, cca_loss, cosine, graphcl_loss, infonce, jensen_shannon, merit_loss, non_maximum, removal_masks, remove
)
torch.manual_seed(0)
z1, z2, t1, t2 = (torch.randn(8, 6, requires_grad=True) for _ in range(4))
mask = non_maximum(z1, 0.7)
kept = remove(z2, mask)
losses = [
    infonce(z1, z2, tau=0.2), graphcl_loss(z1, z2, tau=0.2), cca_loss(z1, z2), merit_loss((z1, z2), (t1, t2)),
    jensen_shannon(z1, z2), cosine(z1, kept).mean(),
]
for kind in REMOVALS:
    removal_masks(kind, z1, z2, delta=0.5, gate=torch.rand(6))
sum(losses).backward()
assert z1.grad.isfinite().all() and z1.grad.any()
loaded = {name.split(".")[1] for name in sys.modules if name.startswith("nmrgcl.")}
sys.exit(" ".join(loaded & {"graphs", "data", "augment", "encode", "settings"}) or None)
"""


def test_they_take_tensors_alone_and_load_no_type_of_graphs() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr.strip()) == (0, "")
