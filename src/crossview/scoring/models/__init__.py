"""Trained and loaded models, as all verbs report and read them."""
