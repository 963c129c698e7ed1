"""Readers of columns: files of tables, queries, data frames, and the log of a server."""
