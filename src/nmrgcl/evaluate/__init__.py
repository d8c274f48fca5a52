"""Protocols: embeddings and labels in, scores of the held-out parts out."""
