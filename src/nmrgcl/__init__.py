"""Self-supervised graph embeddings with non-maximum removal (nmrGCL, arXiv 2203.12821)."""

__version__ = "0.1.0"
