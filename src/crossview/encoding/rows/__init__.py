"""Rows of columns to numbers and slots: tables, and single rows of a stream."""
