"""Measures by name, for rows at once and for a stream of any length.

The measures are scikit-learn's, but for ``g_mean`` and those of the rows with the
highest scores.  Those of the predicted classes follow from a table
of true against predicted ones, those of the order of the scores on a stream from
a histogram of them, whose cells are rows with their counts as
weights.  Tables and histograms can be added.

``g_mean``
    The geometric mean of recall and specificity; of several classes, the mean
    of each against the rest.
``prbep``
    The precision/recall break-even point: as many rows as are of the class, those with
    the highest scores, are called so, and this is the share of them that are.
``precision_at_k``, ``recall_at_k``
    The same with k rows, or a share k of the rows: how many of them are of the class,
    and how many of the class they are.

Of rows with equal scores, any may come first: the value is the mean over all
their orders, so it does not depend on the order of the rows.

Classes are given by their codes, 0 to ``n_classes - 1`` in sorted order, and
scores as `decision_function` gives them.  Where a number is predicted, it and
its prediction stand in their places.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import metrics as sk

from crossview.errors import InputError, closest_names

__all__ = [
    "ERRORS",
    "METRICS",
    "RANKING",
    "ErrorTally",
    "Tally",
    "decide",
    "hinge_losses",
    "least_rows",
    "measure",
    "parse_metric",
    "signed_score",
]

# measures of the predicted classes, of the order of the scores, and of the highest ones
DECISION = ("f1", "accuracy", "balanced_accuracy", "precision", "recall", "g_mean")
RANKING: dict[str, Callable[..., float]] = {
    "roc_auc": sk.roc_auc_score,
    "average_precision": sk.average_precision_score,
}
AT_K = ("precision_at_k", "recall_at_k")
METRICS = (*DECISION, *RANKING, "prbep", *AT_K)
# a share of the rows
DEFAULT_K = 0.1
# measures of predicted numbers; lower is better
ERRORS: dict[str, Callable[..., float]] = {
    "rmse": sk.root_mean_squared_error,
    "mae": sk.mean_absolute_error,
}
BINS = 1 << 14


def check_metric(name: str, *, number: bool = False, k: Any = None) -> str:
    """The name, if it is one of `METRICS`, or of `ERRORS` for a number; else an `InputError`.

    Parameters
    ----------
    name : str
        May say its k: ``precision_at_10``, ``recall_at_5%``.
    number : bool, default=False
        Whether a number is predicted.
    k : int or float, default=None
        Of ``precision_at_k`` and ``recall_at_k``: how many rows, or a share of
        the rows between 0 and 1.  None: 0.1.

    Returns
    -------
    name : str
        With k in it.

    Examples
    --------
    >>> check_metric("f1"), check_metric("precision_at_k"), check_metric("recall_at_k", k=20)
    ('f1', 'precision_at_10%', 'recall_at_20')
    """
    known = list(ERRORS if number else METRICS)
    family, own = parse_metric(name)
    if family not in known:
        if family in (*METRICS, *ERRORS):
            kinds = ("classes", "numbers")
            raise InputError(
                f"metric {name!r} is about {kinds[not number]}, and {kinds[number]} are "
                f"predicted; take one of {', '.join(known)}"
            )
        raise InputError(f"no metric {name!r}{closest_names(name, known)}")
    if k is not None and name not in AT_K:
        raise InputError(
            f"k={k!r} is for {' and '.join(AT_K)}; leave it out where the metric is {name!r}"
        )
    if own is None:
        return name
    k = own if k is None else k
    if isinstance(k, int | np.integer) and not isinstance(k, bool) and k >= 1:
        return f"{family[:-1]}{k}"
    if isinstance(k, float | np.floating) and 0.0 < k < 1.0:
        return f"{family[:-1]}{100.0 * k:.12g}%"
    raise InputError(
        f"k={k!r}; give a whole number of rows, 1 or more, or a share of them between 0 and 1, "
        f"such as {DEFAULT_K}"
    )


def parse_metric(name: str) -> tuple[str, int | float | None]:
    """``precision_at_k`` and 0.1 of ``precision_at_10%``; of a measure without k, None."""
    says = re.fullmatch(r"(\w+_at_)(?:(\d+)|(\d+(?:\.\d+)?(?:e-\d+)?)%)", name)
    if says is None:
        return name, DEFAULT_K if name in AT_K else None
    stem, rows, share = says.groups()
    return f"{stem}k", int(rows) if rows else float(share) / 100.0


def least_rows(name: str) -> int:
    """How many rows a measure needs: its k, where that is a number of rows."""
    k = parse_metric(name)[1]
    return k if isinstance(k, int) else 1


def signed_score(name: str, value: float) -> float:
    """A measure with its sign such that higher is better; what is not defined loses."""
    if math.isnan(value):
        return -math.inf
    return -value if name in ERRORS else value


def decide(scores: np.ndarray) -> np.ndarray:
    """Codes of the predicted classes, as every learner predicts.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Two classes: above 0 is class 1, and 0 is not.  More: the highest.

    Returns
    -------
    codes : ndarray of shape (n_samples,)
        0 to ``n_classes - 1``.
    """
    return scores.argmax(axis=1) if scores.ndim > 1 else (scores > 0.0).astype(np.intp)


def hinge_losses(codes: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Hinge loss of every row: how far its margin falls short of 1.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        True classes.
    scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Their scores; with several classes the margin is that of the true class
        over the best wrong one.

    Returns
    -------
    losses : ndarray of shape (n_samples,)
        ``max(0, 1 - margin)``.

    Examples
    --------
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


def measure(
    name: str, codes: np.ndarray, scores: np.ndarray, *, positive: int = 1, k: Any = None
) -> float:
    """One measure of some rows.

    Parameters
    ----------
    name : str
        One of `METRICS`, or of `ERRORS`.
    codes : ndarray of shape (n_samples,)
        True classes; of `ERRORS`, the numbers.
    scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Scores, as `decision_function` gives them; of `ERRORS`, the predictions.
    positive : {0, 1}, default=1
        With two classes: the one that f1, precision, recall and the measures
        of order are about.  More classes are averaged, each counting the same.
    k : int or float, default=None
        As for `check_metric`.

    Returns
    -------
    value : float
        NaN where the measure is not defined: no order without two classes, and
        no k highest scores where there are fewer.

    Examples
    --------
    >>> import numpy as np
    >>> round(measure("f1", np.array([0, 1, 1]), np.array([1.0, 2.0, 3.0])), 2)
    0.8
    >>> measure("roc_auc", np.array([0, 1, 1]), np.array([1.0, 2.0, 3.0]))
    1.0
    >>> measure("recall_at_k", np.array([0, 1, 1]), np.array([1.0, 2.0, 3.0]), k=1)
    0.5
    >>> measure("mae", np.array([1.0, 2.0]), np.array([1.5, 2.0]))
    0.25
    """
    name = check_metric(name, number=name in ERRORS, k=k)
    if name in ERRORS:
        return float(ERRORS[name](codes, scores)) if len(codes) else float("nan")
    if name in DECISION:
        K = 2 if scores.ndim == 1 else scores.shape[1]
        return _decision(name, _confusion(codes, decide(scores), K), positive)
    if scores.ndim == 1:
        return _order(name, codes == positive, scores if positive == 1 else -scores)
    each = [_order(name, codes == k, scores[:, k]) for k in range(scores.shape[1])]
    return _mean_of_defined(each)


def _confusion(codes: np.ndarray, predicted: np.ndarray, n_classes: int) -> np.ndarray:
    """Rows a true class and predicted class."""
    cells = np.bincount(codes * n_classes + predicted, minlength=n_classes * n_classes)
    return cells.reshape(n_classes, n_classes)


def _decision(name: str, confusion: np.ndarray, positive: int) -> float:
    """A measure of the predicted classes; where it has the form 0 / 0, it is 0."""
    if not confusion.any():
        return float("nan")
    right, true, said = confusion.diagonal(), confusion.sum(axis=1), confusion.sum(axis=0)
    if name == "accuracy":
        return float(right.sum() / true.sum())
    rest = true.sum() - true
    parts = {
        "f1": (2 * right, true + said),
        "precision": (right, said),
        "recall": (right, true),
        "balanced_accuracy": (right, true),
        "g_mean": (np.sqrt(right) * np.sqrt(rest - (said - right)), np.sqrt(true) * np.sqrt(rest)),
    }
    each = parts[name][0] / np.maximum(parts[name][1], 1)
    if name == "balanced_accuracy":  # the mean recall of the classes that came
        return float(each[true > 0].mean())
    if len(each) == 2:
        return float(each[positive])
    return float(each[true + said > 0].mean())


def _order(name: str, is_positive: np.ndarray, scores: np.ndarray, weight: Any = None) -> float:
    if is_positive.all() or not is_positive.any():
        return float("nan")
    if name in RANKING:
        return float(RANKING[name](is_positive, scores, sample_weight=weight))
    weight = np.ones(len(scores), dtype=np.int64) if weight is None else weight
    n_rows, n_positive = int(weight.sum()), int(weight[is_positive].sum())
    family, k = parse_metric(name)
    if k is None:  # prbep
        k = n_positive
    elif isinstance(k, float):
        k = max(1, round(k * n_rows))
    if k > n_rows:
        return float("nan")
    # rows and positive rows down to each score; between two, rows of equal score
    # come in any order, and their mean is the straight line
    place = 1 + np.unique(-scores, return_inverse=True)[1]
    rows = np.bincount(place, weight).cumsum()
    found = float(np.interp(k, rows, np.bincount(place, weight * is_positive).cumsum()))
    return found / (k if family == "precision_at_k" else n_positive)


def _mean_of_defined(values: list[float]) -> float:
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else float("nan")


class Tally:
    """Counts of a stream of predictions, from which its measures follow.

    Memory does not grow with the stream.  Two tallies of the same classes add
    up to that of both streams, whichever worker counted them.

    Parameters
    ----------
    n_classes : int
        Number of classes.
    positive : {0, 1}, default=1
        As in `measure`.

    Attributes
    ----------
    n_rows : int
        Rows counted.
    loss : float
        Sum of their hinge losses.
    confusion : ndarray of shape (n_classes, n_classes)
        Rows a true class and predicted class.
    histogram : ndarray of shape (1 or n_classes, 2, 16384)
        Rows a class's score, in bins: the others, and those of the class.

    Notes
    -----
    Measures of the order of the scores (``roc_auc``, ``average_precision``, ``prbep``,
    ``precision_at_k``, ``recall_at_k``) come from the histogram: scores are squashed
    to (-1, 1) by ``s / (1 + |s|)`` and put into equal bins, about 0.0001 wide where
    the score is near 0; two scores in the same bin count as equal.  All other
    measures are exact.

    Examples
    --------
    >>> import numpy as np
    >>> tally = Tally(n_classes=2)
    >>> tally.update(np.array([0, 1, 1]), np.array([-1.0, 2.0, -0.5]))
    >>> round(tally.value("accuracy"), 3), tally.value("roc_auc")
    (0.667, 1.0)
    """

    def __init__(self, n_classes: int, *, positive: int = 1) -> None:
        self.n_classes = n_classes
        self.positive = positive
        self.n_rows = 0
        self.loss = 0.0
        self.confusion = np.zeros((n_classes, n_classes), dtype=np.int64)
        self.histogram = np.zeros((1 if n_classes == 2 else n_classes, 2, BINS), dtype=np.int64)

    def update(self, codes: np.ndarray, scores: np.ndarray) -> None:
        """Count some more rows.

        Parameters
        ----------
        codes : ndarray of shape (n_samples,)
            True classes.
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Their scores.
        """
        self.n_rows += len(codes)
        self.loss += float(hinge_losses(codes, scores).sum())
        self.confusion += _confusion(codes, decide(scores), self.n_classes)
        columns = scores.reshape(len(codes), -1)
        squashed = columns / (1.0 + np.abs(columns))
        bins = np.minimum(((squashed + 1.0) * (BINS / 2)).astype(np.intp), BINS - 1)
        for k, histogram in enumerate(self.histogram):
            mine = codes == (1 if self.n_classes == 2 else k)
            histogram[0] += np.bincount(bins[~mine, k], minlength=BINS)
            histogram[1] += np.bincount(bins[mine, k], minlength=BINS)

    def __add__(self, other: Tally) -> Tally:
        if (self.n_classes, self.positive) != (other.n_classes, other.positive):
            raise InputError("two tallies of different classes do not add up")
        total = Tally(self.n_classes, positive=self.positive)
        total.n_rows = self.n_rows + other.n_rows
        total.loss = self.loss + other.loss
        total.confusion = self.confusion + other.confusion
        total.histogram = self.histogram + other.histogram
        return total

    def value(self, name: str, *, k: Any = None) -> float:
        """One measure of all rows so far.

        Parameters
        ----------
        name : str
            One of `METRICS`.
        k : int or float, default=None
            As for `check_metric`.

        Returns
        -------
        value : float
            As `measure` of all rows together; NaN where it is not defined.
        """
        name = check_metric(name, k=k)
        if name in DECISION:
            return _decision(name, self.confusion, self.positive)
        return _mean_of_defined([self._order(name, h) for h in self.histogram])

    def _order(self, name: str, histogram: np.ndarray) -> float:
        side, bins = np.nonzero(histogram)
        is_positive, scores = side == 1, bins.astype(np.float64)
        if self.n_classes == 2 and self.positive == 0:
            is_positive, scores = ~is_positive, -scores
        return _order(name, is_positive, scores, histogram[side, bins])


class ErrorTally:
    """Sums over a stream of predicted numbers, from which its measures follow.

    Memory does not grow with the stream.  Two tallies add up to that of both
    streams.

    Attributes
    ----------
    n_rows : int
        Rows counted.
    loss : float
        Sum of their squared errors.
    absolute : float
        Sum of their absolute errors.

    Examples
    --------
    >>> import numpy as np
    >>> tally = ErrorTally()
    >>> tally.update(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    >>> round(tally.value("rmse"), 3), tally.value("mae")
    (1.414, 1.0)
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self.loss = 0.0
        self.absolute = 0.0

    def update(self, y: np.ndarray, predictions: np.ndarray) -> None:
        """Count some more rows.

        Parameters
        ----------
        y : ndarray of shape (n_samples,)
            True numbers.
        predictions : ndarray of shape (n_samples,)
            What was predicted.
        """
        errors = np.abs(predictions - y)
        self.n_rows += len(y)
        self.loss += float(errors @ errors)
        self.absolute += float(errors.sum())

    def __add__(self, other: ErrorTally) -> ErrorTally:
        total = ErrorTally()
        total.n_rows = self.n_rows + other.n_rows
        total.loss = self.loss + other.loss
        total.absolute = self.absolute + other.absolute
        return total

    def value(self, name: str) -> float:
        """One measure of all rows so far.

        Parameters
        ----------
        name : str
            One of `ERRORS`.

        Returns
        -------
        value : float
            As `measure` of all rows together; NaN where there are none.
        """
        check_metric(name, number=True)
        if not self.n_rows:
            return float("nan")
        if name == "rmse":
            return math.sqrt(self.loss / self.n_rows)
        return self.absolute / self.n_rows
