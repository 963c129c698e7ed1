"""Joins of several tables by an id."""
