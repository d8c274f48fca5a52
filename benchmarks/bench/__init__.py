"""Benchmarks of a step, views, the loss, a store and the SVM, compared with peers in the same process."""
