"""Comparison by folds: splits, tuning, and the queue of jobs that all cores share."""
