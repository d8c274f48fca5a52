"""Measurements: what a step, a view, the loss, a store and the SVM cost, beside peers in the same process."""
