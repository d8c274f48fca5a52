"""Hyperparameter search that never looks at the test folds."""
