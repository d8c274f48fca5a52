"""What the tables of the paper share: rows and printed scores as data, entries, tests, ranking, and texts."""
