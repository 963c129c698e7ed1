"""Trained models for other programs: a description, and writers of Python, JavaScript and pages."""
