"""Comparisons and models as tables."""
