"""Evaluation protocols: functions from embeddings and labels to test scores."""
