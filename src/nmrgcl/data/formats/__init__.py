"""Readers of the formats people keep graphs in, one module a format."""
