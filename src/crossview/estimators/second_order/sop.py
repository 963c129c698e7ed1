"""The second-order perceptron."""

from __future__ import annotations

from typing import Any

import numpy as np

from crossview.algorithms import rules
from crossview.algorithms.rules import Rule
from crossview.estimators.covariance import COVARIANCE, COVARIANCE_ATTRIBUTES, CovarianceClassifier
from crossview.estimators.documentation import document_parameters
from crossview.estimators.parameters import LINEAR

__all__ = ["SecondOrderPerceptron"]


@document_parameters(LINEAR, COVARIANCE, attributes=COVARIANCE_ATTRIBUTES)
class SecondOrderPerceptron(CovarianceClassifier):
    """The second-order perceptron: on a mistake, add the row and its second moments.

    Keeps the sum v of ``y x`` over its mistakes, and ``S^-1``, the identity plus
    the sum of ``x x'`` over them; a row x is given the sign of
    ``v'(S^-1 + x x')^-1 x``, which is that of ``v'S x``.

    Parameters
    ----------
    initial_variance : float, default=1.0
        Variance of every weight at the start, in (0, inf).  A higher value lets the first mistakes
        move the weights further; the only parameter to tune.

    Attributes
    ----------
    covariance_form_
    classes_
    coef_
    intercept_
    layout_
    n_features_in_
    feature_names_in_

    Raises
    ------
    InputError
        ``covariance="full"`` of more columns than half of the memory holds.

    See Also
    --------
    Perceptron : The same where S is the identity.
    AROWClassifier : The same step wherever there is a loss.

    Notes
    -----
    ``coef_`` is ``S v``, and the scores are ``v'S x``.  A row's weight multiplies
    what it adds to v and to ``S^-1``.  Where the covariance is diagonal, the row
    to predict is still counted with all its pairs of columns (SOL counts its
    squares only, and may differ on a row near 0).  Several classes share one
    covariance.

    References
    ----------
    N. Cesa-Bianchi, A. Conconi, C. Gentile, "A Second-Order Perceptron
    Algorithm", SIAM Journal on Computing 34 (2005), 640-668.
    :doi:`10.1137/S0097539703432542`

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import SecondOrderPerceptron
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SecondOrderPerceptron(random_state=0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.98
    >>> model.covariance_form_
    'full'
    """

    def __init__(
        self,
        *,
        covariance: str = "auto",
        rank: int = 256,
        diagonal: str = "precision",
        initial_variance: float = 1.0,
        fit_intercept: bool = True,
        n_epochs: int = 1,
        shuffle: bool = True,
        average: bool = False,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.covariance = covariance
        self.rank = rank
        self.diagonal = diagonal
        self.initial_variance = initial_variance
        self.fit_intercept = fit_intercept
        self.n_epochs = n_epochs
        self.shuffle = shuffle
        self.average = average
        self.class_weight = class_weight
        self.random_state = random_state

    def _rule(self) -> Rule:
        return Rule(rules.SOP, rules.HARD, np.inf, 0.0)
