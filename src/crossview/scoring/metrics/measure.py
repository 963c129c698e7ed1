"""One metric of rows in memory."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from crossview.catalog.metrics import METRICS, check_metric, metric_of, parse_metric
from crossview.labels import decide
from crossview.scoring.metrics.place import places_of_labels
from crossview.scoring.metrics.probability import CALIBRATION_BINS, count_in_bins


def least_rows(name: str) -> int:
    """Return how many rows a metric needs: its k, where that is a number of rows."""
    k = parse_metric(name)[1].get("k")
    return k if metric_of(name).of_rows and isinstance(k, int) else 1


def signed_score(name: str, value: float) -> float:
    """Return a value with its sign such that higher is better; an undefined one loses."""
    if math.isnan(value):
        return -math.inf
    return value if metric_of(name).higher_is_better else -value


def is_bounded(name: str) -> bool:
    """Return whether the metric is 1 at most, and a difference in it means the same."""
    metric = metric_of(name)
    shares = ("decision", "order", "place", "explained")
    return metric.kind in shares and metric.higher_is_better


def within_bounds(name: str, low: float, high: float) -> tuple[float, float]:
    """Return the ends of an interval of the metric, none beyond what it can be."""
    least = -math.inf if metric_of(name).kind == "explained" else 0.0
    return max(low, least), min(high, 1.0) if is_bounded(name) else high


def hinge_losses(codes: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the hinge loss ``max(0, 1 - margin)`` of every row.

    With several classes the margin is the score of the true class over the best wrong one.

    >>> import numpy as np
    >>> hinge_losses(np.array([1, 0]), np.array([0.5, 0.5])).tolist()
    [0.5, 1.5]
    """
    if scores.ndim == 1:
        margins = np.where(codes == 1, scores, -scores)
    else:
        rows = np.arange(len(codes))
        others = scores.copy()
        others[rows, codes] = -np.inf
        margins = scores[rows, codes] - others.max(axis=1)
    return np.maximum(0.0, 1.0 - margins)


def ordering(scores: np.ndarray, probabilities: np.ndarray | None) -> np.ndarray:
    """Return what orders rows and classes: of two the score, of more the probabilities, if any.

    A score of one class alone does not say how likely it is: those of the others count, too.
    """
    return scores if scores.ndim == 1 or probabilities is None else probabilities


def measure(
    name: str,
    codes: np.ndarray,
    scores: np.ndarray,
    *,
    probabilities: np.ndarray | None = None,
    predicted: np.ndarray | None = None,
    positive: int = 1,
    k: Any = None,
) -> float:
    """Return one metric of some rows; NaN where it is not defined.

    The codes are those of the true classes, and ``scores`` as of `decision_function`; where a
    number is predicted, the numbers and the predictions.  ``probabilities`` have shape (n_samples,
    n_classes), ``predicted`` holds codes (None: those of `decide`), and ``positive`` is the one of
    two classes that f1 and the like, and metrics of order, are about; more classes are averaged,
    each counting the same, and rows are in the order of their probabilities of it, as in
    scikit-learn, or without any in that of its scores.  ``k`` is as for `Scoring`.  No metric of
    order is defined without two classes or k rows, and none of probabilities without them.

    --------
    >>> import numpy as np
    >>> from crossview.scoring.metrics import measure
    >>> round(measure("f1", np.array([0, 1, 1]), np.array([1.0, 2.0, 3.0])), 2)
    0.8
    >>> measure("roc_auc", np.array([0, 1, 1]), np.array([1.0, 2.0, 3.0]))
    1.0
    >>> measure("recall_at_k", np.array([0, 1, 1]), np.array([1.0, 2.0, 3.0]), k=1)
    0.5
    >>> measure("mae", np.array([1.0, 2.0]), np.array([1.5, 2.0]))
    0.25
    >>> p = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> round(measure("brier_score", np.array([0, 1]), np.array([-2.0, 1.0]), probabilities=p), 3)
    0.025
    """
    family = METRICS.get(parse_metric(name)[0])
    name = check_metric(name, task="classification" if family is None else family.task, k=k)
    metric = metric_of(name)
    if metric.kind == "error":
        if not len(codes):
            return math.nan
        errors = metric.function()(codes, scores)
        return float(np.sqrt((errors**2).mean()) if metric.root_mean_square else errors.mean())
    if metric.kind == "explained":
        if not len(codes):
            return math.nan
        squares, total = ((scores - codes) ** 2).sum(), ((codes - codes.mean()) ** 2).sum()
        return float(metric.function()(squares, total))
    if metric.kind == "decision":
        K = 2 if scores.ndim == 1 else scores.shape[1]
        predicted = decide(scores) if predicted is None else predicted
        return value_of_confusion(name, confusion_matrix(codes, predicted, K), positive)
    if metric.kind in ("probability", "calibration"):
        if probabilities is None or not len(codes):
            return math.nan
        if metric.kind == "probability":
            return float(metric.function()(codes, probabilities).mean())
        sums = np.zeros((3, CALIBRATION_BINS))
        count_in_bins(sums, codes, probabilities)
        return float(metric.function()(*sums))
    if metric.kind == "place":
        if not len(codes):
            return math.nan
        places = places_of_labels(codes, ordering(scores, probabilities))
        return float(metric.function()(places, **parse_metric(name)[1]).mean())
    weight = np.ones(len(codes), dtype=np.int64)
    if scores.ndim == 1:
        ordered = scores if positive == 1 else -scores
        return value_of_order(name, codes == positive, ordered, weight)
    ordered = ordering(scores, probabilities)
    return mean_of_defined(
        value_of_order(name, codes == c, ordered[:, c], weight) for c in range(ordered.shape[1])
    )


def confusion_matrix(codes: np.ndarray, predicted: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the number of rows per true class and predicted class."""
    cells = np.bincount(codes * n_classes + predicted, minlength=n_classes * n_classes)
    return cells.reshape(n_classes, n_classes)


def values_of_confusions(
    name: str, confusion: np.ndarray, positive: int, *, undefined: float = 0.0
) -> np.ndarray:
    """Return a metric of the predicted classes, (...), of matrices (..., n_classes, n_classes).

    Of two classes, that of the positive one is ``undefined`` where it is 0 / 0, such as recall
    without a row of it; in a mean over more classes 0 / 0 counts as 0.
    """
    values = metric_of(name).function()(confusion, **parse_metric(name)[1])
    if values.ndim == confusion.ndim - 2:
        return values
    if values.shape[-1] == 2:
        values = values[..., positive]
        return np.where(np.isnan(values), undefined, values)
    values = np.nan_to_num(values)
    occurs = confusion.sum(axis=-1) + confusion.sum(axis=-2) > 0
    return (values * occurs).sum(axis=-1) / occurs.sum(axis=-1)


def compares_classes(name: str) -> bool:
    """Return whether a metric says how well classes are told apart, and so needs rows of them.

    Shares of all rows, mean losses and mean costs do not.
    """
    metric = metric_of(name)
    needs = metric.kind in ("decision", "order") and metric.scope != "rows"
    return needs and metric.name != "cost"


def classes_averaged(name: str, confusion: np.ndarray) -> int:
    """Return over how many classes a metric of more than two is the mean: those that occur.

    One that is predicted and has no row counts as well where it is a false positive, as for f1.
    """
    true, metric = confusion.sum(axis=1), metric_of(name)
    if metric.kind == "order":
        return int(((true > 0) & (true < true.sum())).sum())
    counted = true if metric.name == "balanced_accuracy" else true + confusion.sum(axis=0)
    return int((counted > 0).sum())


def value_of_confusion(
    name: str, confusion: np.ndarray, positive: int, *, undefined: float = 0.0
) -> float:
    """Return a metric of the predicted classes of one confusion matrix; NaN without rows."""
    if not confusion.any():
        return math.nan
    return float(values_of_confusions(name, confusion, positive, undefined=undefined))


def error_of_shares(name: str, confusion: np.ndarray, positive: int) -> float:
    """Return the standard error of a metric of the predicted classes by the shares of the classes.

    Folds have the classes in the shares of the table, so they do not show that other rows have
    others; "f1 of one class for all rows" depends on nothing else.  With n_k rows of class k,
    whose shares are multinomial, and g_k = ∂M / ∂ log n_k it is √(Σ_k g_k² / n_k), by the delta
    method.

    >>> import numpy as np
    >>> round(error_of_shares("f1", np.array([[0, 200], [0, 200]]), 1), 4)
    0.0222
    """
    n = confusion.sum(axis=1)
    step = 1e-4
    shifts = step * np.eye(len(n))[:, :, None]  # of log n_k
    more, less = (
        values_of_confusions(name, confusion * np.exp(sign * shifts), positive)
        for sign in (1.0, -1.0)
    )
    slopes = (more - less) / (2.0 * step)
    return math.sqrt(float(np.nansum(slopes**2 / np.maximum(n, 1))))


def value_of_order(
    name: str, is_positive: np.ndarray, scores: np.ndarray, weight: np.ndarray
) -> float:
    """Return a metric of the order of the scores; each entry stands for ``weight`` rows."""
    if is_positive.all() or not is_positive.any():
        return math.nan
    function, k = metric_of(name).function(), parse_metric(name)[1].get("k")
    if k is None:
        return float(function(is_positive, scores, weight))
    n_rows = int(weight.sum())
    if isinstance(k, float):
        k = max(1, round(k * n_rows))
    return float(function(is_positive, scores, weight, k)) if k <= n_rows else math.nan


def running_sum(total: Any, values: np.ndarray) -> np.ndarray:
    """Return the total plus the values along the last axis, one after the other.

    Adding in pieces gives the same bits; `numpy.sum` adds pairs.
    """
    start = np.broadcast_to(total, values.shape[:-1])[..., None]
    return np.add.accumulate(np.concatenate([start, values], axis=-1), axis=-1)[..., -1]


def mean_of_defined(values: Iterable[float]) -> float:
    """Return the mean of the values that are not NaN."""
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else math.nan
