"""Boosted trees: target statistics of categories, and the scores of trees that are fitted."""
