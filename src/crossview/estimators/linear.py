"""Perceptron and passive-aggressive classifiers on one view, or on all views concatenated."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from crossview.algorithms import first_order
from crossview.estimators.base import LinearOnlineClassifier
from crossview.kernels.rows import Rows

__all__ = ["PassiveAggressiveClassifier", "Perceptron"]

RULES = {"PA": first_order.PA, "PA-I": first_order.PA_I, "PA-II": first_order.PA_II}


class _FirstOrder(LinearOnlineClassifier):
    """Learners whose loop is that of `algorithms.first_order`."""

    def _step(self) -> tuple[int, float]:
        """The rule and its C."""
        raise NotImplementedError

    def _learn(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray, scores: np.ndarray
    ) -> int:
        loop = first_order.learn_binary if scores.ndim == 1 else first_order.learn_multiclass
        rule, C = self._step()
        bias = float(self.fit_intercept)
        return int(loop(rows, order, y, weight, self._weights(), bias, rule, C, scores))


class Perceptron(_FirstOrder):
    """Rosenblatt's perceptron: on a mistake, add the row.

    With label y in {-1, +1}: where ``y w·x <= 0``, ``w <- w + y x``.  Several
    classes: the row is added to its class and taken from the best wrong one.

    The plainest and fastest learner, with nothing to tune.  It stops learning
    as soon as it makes no mistakes, however narrowly; prefer
    `PassiveAggressiveClassifier` unless there is a reason, or average.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Learn an intercept, as the weight of a constant feature of value 1.
    n_epochs : int, default=1
        Passes over the rows in `fit`.
    shuffle : bool, default=True
        Take the rows in a new random order in every pass of `fit`.  Set it to
        False where the order means something.  `partial_fit` never shuffles.
    average : bool, default=False
        Predict with the mean of the weights after each row instead of the last
        ones: steadier, at the price of a second vector of weights.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, multiplied with the row's.  "balanced": inverse
        to the class's frequency (`fit` only).
    random_state : int, RandomState or None, default=None
        For the shuffling.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights, in the order of the columns.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The weight of the constant feature.
    layout_ : ViewLayout
        Views of the columns; one, unless ``X`` was a MultiView.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` was a data frame.

    Notes
    -----
    A row of weight 2 moves the weights twice as far; a row of weight 0 is not
    there.

    References
    ----------
    F. Rosenblatt, "The perceptron", Psychological Review 65 (1958), 386-408.
    :doi:`10.1037/h0042519`

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import Perceptron
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> round(Perceptron(average=True, random_state=0).fit(scale(X), y).score(scale(X), y), 2)
    0.98
    """

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        n_epochs: int = 1,
        shuffle: bool = True,
        average: bool = False,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.average = average
        self.class_weight = class_weight
        self.random_state = random_state

    def _step(self) -> tuple[int, float]:
        return first_order.PERCEPTRON, 1.0


class PassiveAggressiveClassifier(_FirstOrder):
    """Passive-aggressive learning: the smallest change that gets this row right.

    Each row solves ``min ½|w - w_t|² + slack`` such that ``y w·x >= 1``, where
    the slack is not allowed (PA), costs C a unit (PA-I) or C a unit squared
    (PA-II).  With loss ``l = max(0, 1 - y w·x)`` and ``n = x·x`` the answer is
    ``w <- w + P y x`` with P = l / n, min(C, l / n) or l / (n + 1/(2C)).
    Several classes: the true class must win against the best wrong one by 1.

    Parameters
    ----------
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
        The slack; see above.
    C : float, default=1.0
        Aggressiveness, in (0, inf).  Higher follows every row further, lower
        is steadier against noise.  PA has none.
    fit_intercept : bool, default=True
        Learn an intercept, as the weight of a constant feature of value 1 that
        counts in ``n``.  False is often better for rows of length 1 such as
        normalized text, of whose steps it would take half.
    n_epochs : int, default=1
        Passes over the rows in `fit`.
    shuffle : bool, default=True
        Take the rows in a new random order in every pass of `fit`.  Set it to
        False where the order means something.  `partial_fit` never shuffles.
    average : bool, default=False
        Predict with the mean of the weights after each row instead of the last
        ones: steadier, at the price of a second vector of weights.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, multiplied with the row's.  "balanced": inverse
        to the class's frequency (`fit` only).
    random_state : int, RandomState or None, default=None
        For the shuffling.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights, in the order of the columns.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The weight of the constant feature.
    layout_ : ViewLayout
        Views of the columns; one, unless ``X`` was a MultiView.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` was a data frame.

    See Also
    --------
    MultiViewPAClassifier : The same with one weight vector a view, coupled.

    Notes
    -----
    A row's weight multiplies its C.  For PA-I a row of weight 2 is exactly the
    row twice in a row; PA knows no price, so only a weight of 0 matters: the
    row is not there.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer, "Online
    Passive-Aggressive Algorithms", JMLR 7 (2006), 551-585, sections 3 and 5.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import PassiveAggressiveClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PassiveAggressiveClassifier(C=0.01, random_state=0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.98
    """

    _parameter_constraints: ClassVar[dict] = {
        **LinearOnlineClassifier._parameter_constraints,
        "variant": [StrOptions(set(RULES))],
        "C": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        variant: str = "PA-I",
        C: float = 1.0,
        fit_intercept: bool = True,
        n_epochs: int = 1,
        shuffle: bool = True,
        average: bool = False,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.variant = variant
        self.C = C
        self.fit_intercept = fit_intercept
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.average = average
        self.class_weight = class_weight
        self.random_state = random_state

    def _step(self) -> tuple[int, float]:
        return RULES[self.variant], float(self.C)
