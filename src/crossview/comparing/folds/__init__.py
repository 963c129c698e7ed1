"""Comparison by folds: splits, tuning, and the jobs that all cores share."""
