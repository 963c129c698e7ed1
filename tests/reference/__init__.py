"""Slow, obvious versions of every learner, written from the papers; they import nothing of ours."""
