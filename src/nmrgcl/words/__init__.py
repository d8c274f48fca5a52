"""Graphs as documents of words: labels, paths, graphlets; how often words occur, and vectors of them."""
