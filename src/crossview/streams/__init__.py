"""Readers: files and tables to batches, and raw columns to views; no models."""
