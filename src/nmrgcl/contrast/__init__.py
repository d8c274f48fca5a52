"""Objectives: two views' embeddings → a loss. Pure functions of tensors."""

from nmrgcl.contrast.across import across_views
from nmrgcl.contrast.binary import belongs
from nmrgcl.contrast.bootstrap import bootstrap_loss
from nmrgcl.contrast.cca import cca_loss
from nmrgcl.contrast.cosine import cosine
from nmrgcl.contrast.graphcl import graphcl_loss
from nmrgcl.contrast.infonce import infonce
from nmrgcl.contrast.jsd import jensen_shannon
from nmrgcl.contrast.keys import find_key
from nmrgcl.contrast.local_global import local_global
from nmrgcl.contrast.merit import merit_loss
from nmrgcl.contrast.ranked import ranked_loss, ranked_negatives
from nmrgcl.contrast.removal import REMOVALS, non_maximum, removal_masks, remove
from nmrgcl.contrast.scaled_cosine import scaled_cosine_error

LOSSES = {"infonce": infonce, "graphcl": graphcl_loss}

__all__ = [
    "LOSSES",
    "REMOVALS",
    "across_views",
    "belongs",
    "bootstrap_loss",
    "cca_loss",
    "cosine",
    "find_key",
    "graphcl_loss",
    "infonce",
    "jensen_shannon",
    "local_global",
    "merit_loss",
    "non_maximum",
    "ranked_loss",
    "ranked_negatives",
    "removal_masks",
    "remove",
    "scaled_cosine_error",
]
