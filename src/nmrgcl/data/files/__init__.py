"""Archives as streams, downloads that continue, and where the files of a dataset are."""
