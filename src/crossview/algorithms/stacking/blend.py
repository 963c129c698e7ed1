"""Blends of models by their predictions of held-out rows.

Stacked generalization (D. H. Wolpert, Neural Networks 5, 1992) with weights of 0 or more, as in
L. Breiman, "Stacked Regressions", Machine Learning 24, 1996.  With L_m the log probabilities of
model m, classes are blended as a product of experts::

    p(x) = softmax(sum_m w_m L_m(x))
    w = argmin_{w >= 0}  mean_i(-log p_{y_i}(x_i)) + L2 sum_m w_m²

and numbers as ``f(x) = c + sum_m w_m (f_m(x) - c)``, w >= 0, by least squares, with c the mean
of y, or by the least absolute error, with c its median::

    w = argmin_{w >= 0}  sum_i |r_i - sum_m w_m F_mi|,    r_i = y_i - c,  F_mi = f_m(x_i) - c

which are the multipliers of ``max_d r'd`` subject to F d <= 0 and -1 <= d <= 1, a linear program
with a constraint per model and not per row.

The first fit has all models, the second one those with the largest weights.  No constant is fitted:
the models know how frequent the classes are, and a constant learns how frequent they were in these
folds, which in the order of time or by groups is not how frequent they will be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog, minimize, nnls
from scipy.special import logsumexp

# probabilities below are taken for this one: a model that is sure and wrong must not rule out a
# class
LEAST = 1e-4
L2 = 1e-3
MEMBERS = 3
# rows of the linear program, which takes a third of a second for them
MOST_ROWS = 10_000


class Blend(NamedTuple):
    """Weights of the models in a blend.

    members: positions of the models, in increasing order.
    weights: w, 0 or more.
    center: c of numbers, 0 of classes.
    """

    members: np.ndarray
    weights: np.ndarray
    center: float = 0.0

    def combine(self, predictions: np.ndarray) -> np.ndarray:
        """Return ``c + sum_m w_m (P_m - c)`` of the members' log odds, or of their numbers.

        predictions: of the members, from `log_odds`, or numbers with n = 1.
        Returns blended: of classes the log odds of all but the first one to the first one.
        """
        rest = self.center * (1.0 - self.weights.sum())
        return np.asarray(rest + np.tensordot(self.weights, predictions, 1))


def log_odds(p: np.ndarray) -> np.ndarray:
    """Return the log odds of all classes but the first one to the first one.

    p: probabilities; those below 0.0001 are taken for 0.0001.
    Returns log_odds: L less its first column.
    """
    L = np.log(np.maximum(p, LEAST))
    return np.asarray(L[:, 1:] - L[:, :1])


def blend_classes(odds: np.ndarray, y: np.ndarray, members: int = MEMBERS) -> Blend:
    """Return the blend of some models that predicts held-out rows best.

    odds: log odds of rows that the models did not learn, from `log_odds`.
    y: codes of their classes.
    members: most models of the blend.
    Returns blend: of at least one model.

    Examples
    --------
    >>> import numpy as np
    >>> from crossview.algorithms.stacking.blend import blend_classes, log_odds
    >>> good = log_odds(np.array([[0.8, 0.2], [0.2, 0.8]] * 5))
    >>> noise = log_odds(np.array([[0.3, 0.7], [0.4, 0.6]] * 5))
    >>> y = np.array([0, 1] * 4 + [1, 0])
    >>> blend_classes(np.stack([noise, good]), y, members=1).members
    array([1])
    """
    chosen = _largest(_fit_classes(odds, y), members)
    return Blend(chosen, _fit_classes(odds[chosen], y))


def _fit_classes(odds: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return w of all these models."""
    n_models, n, K = odds.shape
    flat = odds.reshape(n_models, n * K)
    is_label = y[:, None] == np.arange(1, K + 1)
    of_label = flat @ is_label.ravel() / n

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        z = (w @ flat).reshape(n, K)
        log_sum = logsumexp(np.column_stack([np.zeros(n), z]), axis=1)
        p = np.exp(z - log_sum[:, None])
        value = log_sum.mean() - w @ of_label + L2 * w @ w
        return float(value), flat @ p.ravel() / n - of_label + 2 * L2 * w

    start, bounds = np.full(n_models, 1.0 / n_models), [(0.0, None)] * n_models
    options = {"maxiter": 500, "ftol": 1e-12, "gtol": 1e-8}
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options)
    return np.asarray(found.x)


def blend_numbers(
    predicted: np.ndarray, y: np.ndarray, members: int = MEMBERS, loss: str = "squared_error"
) -> Blend:
    """Return the blend of some models that predicts held-out numbers best.

    predicted: predictions of rows that the models did not learn.
    members: most models of the blend.
    loss {"squared_error", "absolute_error"}: what is least; of more than 10,000 rows the absolute
      error of as many, evenly spaced.
    Returns blend: of at least one model.

    Examples
    --------
    >>> import numpy as np
    >>> from crossview.algorithms.stacking.blend import blend_numbers
    >>> y = np.array([0.0, 0.0, 0.0, 1.0, 9.0])
    >>> half = y[None, :, None] / 2  # and center 0
    >>> blend_numbers(half, y, loss="absolute_error").weights.round(6)
    array([2.])
    """
    fit = (lambda F, r: nnls(F.T, r)[0]) if loss == "squared_error" else _fit_absolute
    center = center_of(y, loss)
    F, r = predicted[:, :, 0] - center, y - center
    chosen = _largest(fit(F, r), members)
    return Blend(chosen, fit(F[chosen], r), center)


def center_of(y: np.ndarray, loss: str, weight: np.ndarray | None = None) -> float:
    """Return c of numbers: the one of least loss for all rows."""
    if loss == "squared_error":
        return float(np.average(y, weights=weight))
    return float(np.quantile(y, 0.5, weights=weight, method="inverted_cdf"))


def _fit_absolute(F: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return w of all these models."""
    if len(r) > MOST_ROWS:
        rows = np.linspace(0, len(r) - 1, MOST_ROWS).astype(np.intp)
        F, r = F[:, rows], r[rows]
    unit = np.abs(r).mean() or 1.0  # the tolerances of the solver are absolute
    limits = np.zeros(len(F))
    found = linprog(-r / unit, A_ub=F / unit, b_ub=limits, bounds=(-1.0, 1.0), method="highs")
    return np.maximum(-found.ineqlin.marginals, 0.0)


def _largest(w: np.ndarray, members: int) -> np.ndarray:
    """Return the positions of the largest weights above 0, in increasing order; at least one."""
    order = np.argsort(-w, kind="stable")
    n = min(members, max(1, int(np.count_nonzero(w))))
    return np.sort(order[:n])
