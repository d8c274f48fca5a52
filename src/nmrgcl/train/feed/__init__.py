"""How graphs get to the training device: all at once, a chunk at a time, or as the nodes of one graph.

In each case, an epoch is a list of batches that is drawn before the first of them is used.
"""

from nmrgcl.train.feed.choose import fit, open_feed, wanted_chunk
from nmrgcl.train.feed.feed import Feed
from nmrgcl.train.feed.order import batches
from nmrgcl.train.feed.source import Source, count_items, sample

__all__ = ["Feed", "Source", "batches", "count_items", "fit", "open_feed", "sample", "wanted_chunk"]
