"""Evaluation of a model on labeled rows: counts, slices, windows of time, intervals."""
