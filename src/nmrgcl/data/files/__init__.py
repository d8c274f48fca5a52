"""Archives and downloads."""
