"""Adaptive regularization of weight vectors (AROW)."""

from __future__ import annotations

from numbers import Real
from typing import ClassVar

from crossview.algorithms import rules
from crossview.algorithms.rules import Rule
from crossview.estimators.covariance import CovarianceClassifier
from crossview.estimators.documentation import document_parameters, with_parameters
from crossview.estimators.parameters import COVARIANCE, COVARIANCE_ATTRIBUTES, LINEAR
from crossview.estimators.validation import Interval

__all__ = ["AROWClassifier"]


@document_parameters(LINEAR, COVARIANCE, attributes=COVARIANCE_ATTRIBUTES)
@with_parameters
class AROWClassifier(CovarianceClassifier):
    """Adaptive regularization of weight vectors (AROW).

    Keeps a mean w and a covariance S of the weights.  A row with loss ``l = max(0, 1 - y w·x) > 0``
    and ``n = x'S x`` updates ``w <- w + l y S x / (n + r)`` and ``S <- S - S x x' S / (n + r)``
    (figure 1 of the paper), which is ``S^-1 <- S^-1 + x x' / r``.  This is recursive ridge
    regression on the rows with a positive loss.  Because each row changes the weights only in
    part, AROW is robust to label noise.

    Parameters
    ----------
    r : float, default=1.0
        Regularization, the noise variance of a row, in (0, inf).  A higher value takes smaller
        steps and shrinks the covariance more slowly.  Typical values: 0.1 to 100.

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
    PAMClassifier : C affects the step, and not the covariance.
    ConfidenceWeightedClassifier : The predecessor, which fits each row exactly.

    Notes
    -----
    The sample weight of a row divides r; with a full covariance a row of weight 2 equals two
    updates with the row.  All classes share one covariance.

    References
    ----------
    K. Crammer, A. Kulesza, M. Dredze, "Adaptive Regularization of Weight
    Vectors", NIPS 2009, 414-422.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import AROWClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AROWClassifier(random_state=0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.98
    >>> model.covariance_form_
    'full'
    """

    _parameter_constraints: ClassVar[dict] = {
        **CovarianceClassifier._parameter_constraints,
        "r": [Interval(Real, 0, None, closed="neither")],
    }

    r: float = 1.0

    def _rule(self) -> Rule:
        return Rule(rules.AROW, rules.HARD, 1.0 / float(self.r), 0.0)
