"""Readers of sparse rows with views: svmlight, libffm and Vowpal Wabbit."""
