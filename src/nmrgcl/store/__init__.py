"""Graphs on disk: memory-mapped flat arrays of small integers, and a manifest with their checksums.

Sources and pairs of edges are numbered within their graph, so that one byte suffices for molecules. Destinations, row
pointers and the graph of each node follow from the degrees. Opening a store reads only the manifest.
"""

from nmrgcl.store.manifest import MANIFEST, STORE
from nmrgcl.store.read import Store, open_store
from nmrgcl.store.write import write_store

__all__ = ["MANIFEST", "STORE", "Store", "open_store", "write_store"]
