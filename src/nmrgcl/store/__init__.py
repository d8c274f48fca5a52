"""Graphs on disk: flat memory-mapped arrays of small integers, and a manifest with their checksums.

Ends of edges and pairs are counted from the start of their graph, so a molecule needs one byte for each; destinations,
row pointers and the graph of each node follow from the degrees. Opening reads the manifest only, whatever the size.
"""

from nmrgcl.store.manifest import MANIFEST, STORE
from nmrgcl.store.read import Store, open_store
from nmrgcl.store.write import write_store

__all__ = ["MANIFEST", "STORE", "Store", "open_store", "write_store"]
