"""Comparing learners: by folds in rounds of tasks, or on a stream."""
