"""Instruments: embeddings → numbers."""
