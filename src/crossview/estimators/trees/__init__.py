"""Boosted trees on the columns of all views, or on those of each view alone."""
