"""Objectives: two views' embeddings → a loss. Pure functions of tensors."""

from nmrgcl.contrast.graphcl import graphcl_loss
from nmrgcl.contrast.infonce import cosine, infonce
from nmrgcl.contrast.removal import REMOVALS, non_maximum, removal_masks, remove

LOSSES = {"infonce": infonce, "graphcl": graphcl_loss}

__all__ = ["LOSSES", "REMOVALS", "cosine", "graphcl_loss", "infonce", "non_maximum", "removal_masks", "remove"]
