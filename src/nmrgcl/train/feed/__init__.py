"""How graphs come to the device that trains: all of them at once, or a chunk at a time; or the nodes of one graph.

Whichever it is, an epoch is a list of batches that is drawn before the first of them.
"""

from nmrgcl.train.feed.choose import Feed, fit, open_feed
from nmrgcl.train.feed.order import batches
from nmrgcl.train.feed.sample import sample
from nmrgcl.train.feed.source import Source

__all__ = ["Feed", "Source", "batches", "fit", "open_feed", "sample"]
