"""The performance measures that the SVM optimizes: their names, and custom ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from crossview.errors import InputError

MEASURES = (
    "f1",
    "fbeta",
    "error_rate",
    "balanced_accuracy",
    "g_mean",
    "prbep",
    "precision_at_k",
    "recall_at_k",
    "precision_at_k:exact",
    "recall_at_k:exact",
    "roc_auc",
    "average_precision",
)
# sums over rows or pairs, which support sample weights
WEIGHTED = ("error_rate", "balanced_accuracy", "roc_auc")
AT_K = ("precision_at_k", "recall_at_k", "precision_at_k:exact", "recall_at_k:exact")

# number of random contingency tables on which a custom measure is checked
TABLES_TO_CHECK = 1000


@dataclass(frozen=True)
class Measure:
    """A custom measure for `MultiViewSVMPerf`: a function of the contingency table.

    Parameters
    ----------
    function : callable
        ``function(tp, fp, fn, tn)`` takes arrays of counts (true positives, false
        positives, false negatives, true negatives; shapes that broadcast) and
        returns an array of values.  Higher is better; the value without mistakes must be the
        highest.
    concave : bool, default=False
        Whether, for each ``tp``, the loss (the best value minus the value) is concave in ``fp``, as
        for F1.  The most violated labeling is then found in O(n log n); otherwise the search
        evaluates all tables, in O(P N).

    Examples
    --------
    The Jaccard index of the positive class:

    >>> from crossview import Measure
    >>> jaccard = Measure(lambda tp, fp, fn, tn: tp / (tp + fp + fn), concave=True)
    >>> jaccard.loss(8, 2, P=10, N=90)
    0.33333333333333337
    """

    function: Callable[..., Any]
    concave: bool = False

    def loss(self, a: Any, b: Any, P: int, N: int) -> Any:
        """Return the loss of contingency tables: the best value minus their values.

        Parameters
        ----------
        a, b : int or ndarray of int
            True and false positives.
        P, N : int
            Positive and other rows.

        Returns
        -------
        loss : float or ndarray
            0 for a table without mistakes.
        """
        return self.function(P, 0, 0, N) - self.function(a, b, P - a, N - b)

    def check(self, P: int, N: int, random_state: int = 0) -> None:
        """Check the function on the extreme tables and on some random ones.

        Parameters
        ----------
        P, N : int
            Positive and other rows.
        random_state : int, default=0
            Seed of the random tables.

        Raises
        ------
        InputError
            The function does not accept arrays, a value is not finite or higher than the value
            without mistakes, or the loss is not concave although ``concave=True``.
        """
        rng = np.random.default_rng(random_state)
        a = np.concatenate([[0, 0, P, P], rng.integers(0, P + 1, TABLES_TO_CHECK)])
        b = np.concatenate([[0, N, 0, N], rng.integers(0, N + 1, TABLES_TO_CHECK)])
        try:
            with np.errstate(all="ignore"):
                loss = np.asarray(self.loss(a, b, P, N), dtype=np.float64)
                sides = [np.asarray(self.loss(a, np.clip(b + d, 0, N), P, N)) for d in (-1, 1)]
        except Exception as error:
            raise InputError(
                f"measure= failed on arrays of tp, fp, fn, tn ({error}); it must accept "
                "arrays and return an array of values"
            ) from error
        if loss.shape != a.shape:
            raise InputError(
                f"measure= returned the shape {loss.shape} for tables of the shape {a.shape}; "
                "it must return one value per table"
            )
        wrong = ~np.isfinite(loss) | (loss < -1e-12)
        if wrong.any():
            i = int(np.argmax(wrong))
            table = f"tp={a[i]}, fp={b[i]}, fn={P - a[i]}, tn={N - b[i]}"
            what = "is better than no mistakes" if np.isfinite(loss[i]) else "is not finite"
            raise InputError(
                f"the measure of {table} {what}; values must be finite, and higher ones better"
            )
        inner = (b > 0) & (b < N)
        if self.concave and (sides[0] + sides[1] - 2.0 * loss > 1e-9)[inner].any():
            raise InputError(
                "measure= has concave=True, but its loss is not concave in fp; set concave=False"
            )
