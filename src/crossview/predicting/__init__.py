"""Predictions of a model for the rows of any source."""
