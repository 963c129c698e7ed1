"""Conversion of tables and sparse files into one another."""
