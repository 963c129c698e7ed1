"""Comparing learners: by folds, or on a stream."""
