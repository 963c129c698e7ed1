"""Encoding: raw columns to views of numbers."""
