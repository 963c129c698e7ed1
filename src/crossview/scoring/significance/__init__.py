"""Posteriors of differences between models, and p values.

A difference in a metric between two models has a `Posterior`: where the true difference lies, given
the scores.  `correlated_t_posterior` makes it from folds, and `jackknife_posterior` from blocks of
a stream.  A `ConfidenceSequence` has intervals that hold whenever one looks.  `holm` adjusts the p
of several tests.  All are functions of arrays; none knows models or data.
"""

from crossview.scoring.significance.confidence_sequence import ConfidenceSequence
from crossview.scoring.significance.p_values import SIGNIFICANT, holm, holm_of_pairs, p_in_words
from crossview.scoring.significance.posterior import (
    Areas,
    Posterior,
    correlated_t_posterior,
    jackknife_posterior,
)

__all__ = [
    "SIGNIFICANT",
    "Areas",
    "ConfidenceSequence",
    "Posterior",
    "correlated_t_posterior",
    "holm",
    "holm_of_pairs",
    "jackknife_posterior",
    "p_in_words",
]
