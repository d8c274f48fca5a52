"""Searching settings without a look at the folds that are judged."""
