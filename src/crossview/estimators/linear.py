"""Perceptron and passive-aggressive classifiers on one view, or on all views concatenated."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from crossview.algorithms import rules
from crossview.algorithms.rules import Rule
from crossview.estimators.base import LinearOnlineClassifier
from crossview.estimators.documentation import document_parameters, with_parameters
from crossview.estimators.parameters import ATTRIBUTES, PARAMETERS
from crossview.estimators.validation import StrOptions

SLACKS = {"PA": rules.HARD, "PA-I": rules.LINEAR, "PA-II": rules.QUADRATIC}


@document_parameters(PARAMETERS, attributes=ATTRIBUTES)
@with_parameters
class Perceptron(LinearOnlineClassifier):
    """Rosenblatt's perceptron: each mistake adds the row to the weights.

    With label y in {-1, +1}, a row with ``y w·x <= 0`` updates ``w <- w + y x``.  With more than
    two classes a mistake adds the row to the weights of its class and subtracts it from those of
    the wrong class with the highest score.

    The simplest and fastest learner, with no parameter to tune.  It does not enforce a margin;
    prefer `PassiveAggressiveClassifier`, or set ``average=True``.

    Parameters
    ----------
    average : bool, default=False
        Whether to predict with the mean of the weights after each row instead of the last weights.
        The last weights of a perceptron depend strongly on its last mistakes, so the mean usually
        predicts better; it needs a second weight vector.

    Attributes
    ----------
    classes_, coef_, intercept_, layout_, n_features_in_, feature_names_in_

    Notes
    -----
    The sample weight of a row multiplies its update; a row of weight 0 is skipped.

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
    0.97
    """

    def _rule(self) -> Rule:
        return Rule(rules.PERCEPTRON, rules.HARD, np.inf, 0.0)


@document_parameters(PARAMETERS, attributes=ATTRIBUTES)
@with_parameters
class PassiveAggressiveClassifier(LinearOnlineClassifier):
    """Passive-aggressive (PA) learning: the smallest update that gives the row a margin of 1.

    Each row solves ``min ½|w - w_t|²`` subject to ``y w·x >= 1`` (PA), or
    ``min ½|w - w_t|² + C ξ`` (PA-I) or ``+ C ξ²`` (PA-II) subject to ``y w·x >= 1 - ξ``.
    With loss ``l = max(0, 1 - y w_t·x)`` and squared norm ``n = x·x`` the solution is
    ``w <- w_t + P y x`` with ``P = l / n`` (PA), ``min(C, l / n)`` (PA-I) or ``l / (n + 1/(2C))``
    (PA-II).  With more than two classes the margin is the score of the true class minus the
    highest score of a wrong class.

    Parameters
    ----------
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
        Slack term for a loss ξ that remains after the update: not allowed ("PA"), C ξ ("PA-I") or
        C ξ² ("PA-II").  With noisy labels do not use "PA".

    Attributes
    ----------
    classes_, coef_, intercept_, layout_, n_features_in_, feature_names_in_

    See Also
    --------
    MultiViewPAClassifier : One weight vector per view, with a disagreement penalty.

    Notes
    -----
    The sample weight of a row, and the weight of its class, multiply C.  For PA-I a row of weight 2
    equals two updates with the row; a step that stays below C is the same with any larger weight,
    and so are nearly all with the default C: lower it with ``class_weight``.  PA has no C, so
    weights have no effect, except that rows of weight 0 are skipped.

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

    _parameter_constraints: ClassVar[dict] = {"variant": [StrOptions(set(SLACKS))]}

    variant: str = "PA-I"
    C: float = 1.0

    def _rule(self) -> Rule:
        return Rule(rules.PA, SLACKS[self.variant], float(self.C), 0.0)
