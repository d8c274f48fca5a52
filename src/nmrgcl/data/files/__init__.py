"""Archives as streams, and downloads."""
