"""Summaries of columns, and columns that reveal the label."""
