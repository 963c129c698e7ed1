"""Scores of held-out rows: problems, metrics, tests of significance, diagnostics."""
