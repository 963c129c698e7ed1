"""Arithmetic that no paper owns."""
