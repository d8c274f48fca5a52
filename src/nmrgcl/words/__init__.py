"""Graphs as documents of words, such as WL labels, paths or graphlets: word counts and word vectors."""
