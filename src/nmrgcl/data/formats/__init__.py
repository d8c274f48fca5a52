"""Readers of graph file formats, one module per format."""
