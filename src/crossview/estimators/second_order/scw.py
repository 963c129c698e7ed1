"""Soft confidence-weighted learning."""

from __future__ import annotations

from typing import ClassVar

from crossview.algorithms import rules
from crossview.algorithms.rules import Rule
from crossview.estimators.covariance import CovarianceClassifier, normal_quantile
from crossview.estimators.documentation import document_parameters, with_parameters
from crossview.estimators.parameters import COVARIANCE, COVARIANCE_ATTRIBUTES, LINEAR
from crossview.estimators.validation import StrOptions

__all__ = ["SoftConfidenceWeightedClassifier"]

SLACKS = {"SCW-I": rules.LINEAR, "SCW-II": rules.QUADRATIC}


@document_parameters(LINEAR, COVARIANCE, attributes=COVARIANCE_ATTRIBUTES)
@with_parameters
class SoftConfidenceWeightedClassifier(CovarianceClassifier):
    """Soft confidence-weighted learning (SCW).

    Confidence-weighted learning with a slack term in place of the hard constraint.  Each row
    minimizes ``KL(N(w, S) || N(w_t, S_t)) + C l`` (SCW-I) or ``+ C l²`` (SCW-II) with the loss
    ``l = max(0, phi sqrt(x'S x) - y w·x)`` and the normal quantile ``phi`` of ``confidence``.  The
    solutions are in closed form (propositions 1 and 2 of the paper).

    Parameters
    ----------
    variant : {"SCW-I", "SCW-II"}, default="SCW-I"
        Slack term: C l ("SCW-I") or C l² ("SCW-II").
    confidence : float, default=0.7
        Probability with which a row should be classified correctly, in (0.5, 1).  A higher value
        takes larger steps and shrinks the covariance faster.  Typical values: 0.55 to 0.9.

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
    ConfidenceWeightedClassifier : The limit of an infinite C.

    Notes
    -----
    The sample weight of a row multiplies C.  All classes share one covariance.

    References
    ----------
    J. Wang, P. Zhao, S. C. H. Hoi, "Exact Soft Confidence-Weighted Learning",
    ICML 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import SoftConfidenceWeightedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SoftConfidenceWeightedClassifier(random_state=0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.98
    >>> model.covariance_form_
    'full'
    """

    _parameter_constraints: ClassVar[dict] = {
        **CovarianceClassifier._parameter_constraints,
        "variant": [StrOptions(set(SLACKS))],
    }

    variant: str = "SCW-I"
    confidence: float = 0.7
    C: float = 1.0

    def _rule(self) -> Rule:
        phi = normal_quantile(self.confidence)
        return Rule(rules.SCW, SLACKS[self.variant], float(self.C), phi)
