"""Confidence-weighted learning."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from crossview.algorithms import rules
from crossview.algorithms.rules import Rule
from crossview.estimators.covariance import (
    COVARIANCE,
    COVARIANCE_ATTRIBUTES,
    CovarianceClassifier,
    normal_quantile,
)
from crossview.estimators.documentation import document_parameters
from crossview.estimators.parameters import LINEAR
from crossview.estimators.validation import Interval, StrOptions

__all__ = ["ConfidenceWeightedClassifier"]

KINDS = {"stdev": rules.CW_STDEV, "variance": rules.CW_VARIANCE}


@document_parameters(LINEAR, COVARIANCE, attributes=COVARIANCE_ATTRIBUTES)
class ConfidenceWeightedClassifier(CovarianceClassifier):
    """Confidence-weighted learning (CW): a normal distribution of the weights.

    Each row moves the distribution N(w, S) as little as possible, in the sense
    of Kullback and Leibler, such that a classifier drawn from it is right on
    this row with probability ``confidence``.  With the quantile ``phi`` of that
    probability this is ``y w·x >= phi sqrt(x'S x)``, and the variance form
    leaves out the root.  A row that breaks it meets it with equality
    afterwards, so a single mislabeled row can do great harm; see
    `SoftConfidenceWeightedClassifier`.

    Parameters
    ----------
    confidence : float, default=0.7
        Probability of being right on the row just learned, in (0.5, 1).  A higher
        value takes larger steps and shrinks the covariance faster.
    form : {"stdev", "variance"}, default="stdev"
        The constraint with the standard deviation of the margin, or with its
        variance instead.

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
    SoftConfidenceWeightedClassifier : The constraint may be broken, at a price.
    AROWClassifier : Squared loss for the constraint.

    Notes
    -----
    CW has no price that a row's weight could multiply, so only a weight of 0
    matters: the row is passed over.  Several classes share one covariance.

    References
    ----------
    M. Dredze, K. Crammer, F. Pereira, "Confidence-Weighted Linear
    Classification", ICML 2008 (variance).  K. Crammer, M. Dredze, F. Pereira,
    "Exact Convex Confidence-Weighted Learning", NIPS 2008 (standard deviation).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import ConfidenceWeightedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ConfidenceWeightedClassifier(random_state=0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.98
    >>> model.covariance_form_
    'full'
    """

    _parameter_constraints: ClassVar[dict] = {
        **CovarianceClassifier._parameter_constraints,
        "confidence": [Interval(Real, 0.5, 1, closed="neither")],
        "form": [StrOptions(set(KINDS))],
    }

    def __init__(
        self,
        *,
        confidence: float = 0.7,
        form: str = "stdev",
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
        self.confidence = confidence
        self.form = form
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
        return Rule(KINDS[self.form], rules.HARD, np.inf, normal_quantile(self.confidence))
