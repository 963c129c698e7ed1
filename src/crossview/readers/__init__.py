"""Readers: one per format, from files and queries to batches."""
