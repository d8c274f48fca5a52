"""What the paper's tables share: rows and printed figures as data, entries, tests, ranking, and texts."""
