"""From the name of a measure to the search for its most violated labeling.

The unit makes one more wrong row, near the truth, ask for a margin of about 1: a wrong row weighs
1/n; in F and at the break-even point 1/(2P); in precision and recall at k 1/(2 min(k, P)); a pair
1/(PN).
The price makes ``C1 price xi`` the loss in rows.

Precision and recall at k are of the labelings with exactly k positive rows (Joachims).  Unless
P = k the truth is not one of them, and xi bounds nothing: adding a constant to all scores lowers
it, and on a9a, with k a tenth of the rows, the weights are worthless (precision 0.69; 0.84 if
trained for the error rate).  So, as SVM^perf does, all labelings with at least k positive rows
count if k <= P, each with its precision, and those with at most k if k >= P, each with its
recall.  The literal form is called ``precision_at_k:exact``.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from crossview.algorithms.performance.additive import search_pairs, search_rows
from crossview.algorithms.performance.cut import Cut, Search
from crossview.algorithms.performance.rankings import search_rankings
from crossview.algorithms.performance.tables import (
    Tables,
    best_g_mean,
    best_table,
    f_loss,
    g_mean_loss,
    label_rows,
    precision_loss,
    recall_loss,
    sort_sides,
    top_of,
)

# a loss of tables: of a, b, and P= and N=
TableLoss = Callable[..., Any]


class Problem(NamedTuple):
    """A measure on some labels: search for cuts, and weights."""

    search: Search
    unit: float  # a wrong row or pair weighs one over this
    price: float  # C1 times this means the same for any number of rows
    n_predicted: int | None  # rows to predict positive; None: those with a score above 0
    tables: Tables | None = None  # what `best_table` searches, if delta is concave


def make_problem(
    measure: str,
    y: np.ndarray,
    weight: np.ndarray,
    *,
    beta: float = 1.0,
    k: int = 1,
    delta: TableLoss | None = None,
    concave: bool = False,
) -> Problem:
    """Return the problem of a measure; ``y`` is 1 or -1.

    ``delta`` is a loss of tables in place of the measure, ``concave`` in the false positives.
    """
    positive, negative = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    P, N, n = len(positive), len(negative), len(y)
    total = float(weight.sum())
    if measure in ("error_rate", "balanced_accuracy"):
        share = weight / total
        loss = share.copy()
        if measure == "balanced_accuracy":
            for side in (positive, negative):
                loss[side] *= 0.5 * total / weight[side].sum()
        rows = partial(search_rows, y=y, loss=loss, margin=share)
        return Problem(rows, total, total, None)
    if measure == "roc_auc":
        pairs = partial(search_pairs, positive=positive, negative=negative, weight=weight)
        return Problem(pairs, float(P * N), total, P)
    if measure == "average_precision":
        orders = partial(search_rankings, positive=positive, negative=negative)
        return Problem(orders, float(P * N), total, P)
    n_predicted = None
    if delta is not None:
        tables = all_tables(partial(delta, P=P, N=N), float(n), (P, N), concave=concave)
    elif measure == "fbeta":
        f_tables = all_tables(partial(f_loss, P=P, N=N, beta=beta), 2.0 * P, (P, N), concave=True)
        tables = f_tables._replace(convex=True)
    elif measure == "g_mean":
        tables = all_tables(partial(g_mean_loss, P=P, N=N), float(n), (P, N), concave=False)
    else:
        n_predicted = P if measure == "prbep" else k
        tables = tables_at_k(measure, n_predicted, (P, N))
    best = best_g_mean if measure == "g_mean" else best_table
    # no labeling but the truth has all true and no false positives
    others = tables._replace(lo=np.append(tables.lo[:P], max(tables.lo[P], 1)))

    def search(f: np.ndarray, *, truth: bool = True) -> Cut:
        p, q, cp, cq = sort_sides(f, positive, negative)
        a, b = best(tables, cp, cq) if truth else best_table(others, cp, cq)
        found = top_of(p, a), top_of(q, b)
        s = label_rows(f, positive, negative, found) / tables.unit
        return Cut(float(tables.delta(a, b)), s)

    # all rows weigh the same here
    price, concave_tables = tables.unit * (total / n), tables if tables.concave else None
    return Problem(search, tables.unit, price, n_predicted, concave_tables)


def all_tables(
    delta: Callable[[Any, Any], Any], unit: float, sides: tuple[int, int], *, concave: bool
) -> Tables:
    """Return all tables of P positive and N other rows."""
    P, N = sides
    return Tables(delta, unit, np.zeros(P + 1, dtype=np.int64), np.full(P + 1, N), concave)


def tables_at_k(measure: str, k: int, sides: tuple[int, int]) -> Tables:
    """Return the tables of precision or recall at k, or of the break-even point (k = P)."""
    P, N = sides
    a = np.arange(P + 1)
    lo, hi = np.zeros(P + 1, dtype=np.int64), np.full(P + 1, N)
    name, _, exact = measure.partition(":")
    if exact or k <= P:
        lo = np.maximum(k - a, 0)
    if exact or k >= P:
        hi = np.minimum(k - a, N)
    by_precision = name == "precision_at_k" if exact else k < P
    loss: TableLoss = precision_loss if by_precision else recall_loss
    return Tables(partial(loss, P=P, N=N), 2.0 * min(k, P), lo, hi, True)


def published_price(C1: float, unit: float) -> float:
    """Return the C that stands for the paper's C1, whose problem weighs wrong rows by 2."""
    return C1 * (2.0 * unit) ** 2
