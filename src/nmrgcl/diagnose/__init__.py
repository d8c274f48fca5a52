"""Measures of embeddings: collapse, spectra, dimensions, alignment and class separation."""
