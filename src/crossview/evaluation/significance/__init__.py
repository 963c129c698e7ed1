"""Is one model better than another, and by how much?

A difference in a metric between two models has a `Posterior`: where the true difference lies, given
the scores.  `correlated_t_posterior` makes it from folds.  `holm` adjusts the p of several tests.
All are functions of arrays; none knows models or data.
"""

from crossview.evaluation.significance.correlated_t import (
    corrected_t_test,
    correlated_t_posterior,
)
from crossview.evaluation.significance.p_values import SIGNIFICANT, holm, p_in_words
from crossview.evaluation.significance.posterior import Areas, Posterior
from crossview.evaluation.significance.row_tests import error_test, mcnemar_of_sums, mcnemar_test

__all__ = [
    "SIGNIFICANT",
    "Areas",
    "Posterior",
    "corrected_t_test",
    "correlated_t_posterior",
    "error_test",
    "holm",
    "mcnemar_of_sums",
    "mcnemar_test",
    "p_in_words",
]
