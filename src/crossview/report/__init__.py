"""Comparisons and models as tables for people."""
