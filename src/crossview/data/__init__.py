"""Data: sources of labeled rows, in memory or from files, as batches of views."""
