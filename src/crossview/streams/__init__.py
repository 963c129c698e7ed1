"""Readers: files, queries and tables to batches, and raw columns to views."""
