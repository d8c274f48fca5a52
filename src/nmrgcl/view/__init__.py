"""A run as a page that is served on this machine: curves while it trains, and a map of its embeddings."""

from nmrgcl.view.runs import Viewed
from nmrgcl.view.server import open_server

__all__ = ["Viewed", "open_server"]
