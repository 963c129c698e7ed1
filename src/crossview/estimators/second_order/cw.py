"""Confidence-weighted learning."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from crossview.algorithms import rules
from crossview.algorithms.rules import Rule
from crossview.estimators.covariance import CovarianceClassifier, normal_quantile
from crossview.estimators.documentation import document_parameters, with_parameters
from crossview.estimators.parameters import COVARIANCE, COVARIANCE_ATTRIBUTES, LINEAR
from crossview.estimators.validation import StrOptions

__all__ = ["ConfidenceWeightedClassifier"]

KINDS = {"stdev": rules.CW_STDEV, "variance": rules.CW_VARIANCE}


@document_parameters(LINEAR, COVARIANCE, attributes=COVARIANCE_ATTRIBUTES)
@with_parameters
class ConfidenceWeightedClassifier(CovarianceClassifier):
    """Confidence-weighted learning (CW): a normal distribution over the weights.

    Each row solves ``min KL(N(w, S) || N(w_t, S_t))`` such that a weight vector drawn from N(w, S)
    classifies the row correctly with probability ``confidence``.  With the normal quantile ``phi``
    of this probability the constraint is ``y w·x >= phi sqrt(x'S x)``, or ``y w·x >= phi x'S x`` in
    the variance form.  The solution is in closed form.  The constraint is hard, so a single
    mislabeled row can do much harm; for noisy labels use `SoftConfidenceWeightedClassifier` or
    `AROWClassifier`.

    Parameters
    ----------
    confidence : float, default=0.7
        Probability with which the row just learned is classified correctly, in (0.5, 1).  A higher
        value takes larger steps and shrinks the covariance faster.  Typical values: 0.55 to 0.9.
    form : {"stdev", "variance"}, default="stdev"
        Constraint on the standard deviation of the margin ("Exact Convex CW", 2008), or on its
        variance (ICML 2008).

    Attributes
    ----------
    covariance_form_
    variance_
    classes_
    coef_
    intercept_
    layout_
    n_features_in_
    feature_names_in_

    Raises
    ------
    InputError
        ``covariance="full"`` would take more than half of the memory.

    See Also
    --------
    SoftConfidenceWeightedClassifier : A slack term in place of the hard constraint.
    AROWClassifier : A squared loss in place of the hard constraint.

    Notes
    -----
    Sample weights have no effect, except that rows of weight 0 are skipped.  All classes share one
    covariance.

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
        "form": [StrOptions(set(KINDS))],
    }

    confidence: float = 0.7
    form: str = "stdev"

    def _rule(self) -> Rule:
        return Rule(KINDS[self.form], rules.HARD, np.inf, normal_quantile(self.confidence))
