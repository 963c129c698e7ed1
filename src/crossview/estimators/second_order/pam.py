"""Passive-aggressive learning in Mahalanobis geometry (PAM, PAM-I and PAM-II)."""

from __future__ import annotations

from typing import ClassVar

from crossview.algorithms import rules
from crossview.algorithms.rules import Rule
from crossview.estimators.covariance import CovarianceClassifier
from crossview.estimators.documentation import document_parameters, with_parameters
from crossview.estimators.parameters import COVARIANCE, COVARIANCE_ATTRIBUTES, LINEAR
from crossview.estimators.validation import StrOptions

__all__ = ["PAMClassifier"]

SLACKS = {"PAM": rules.HARD, "PAM-I": rules.LINEAR, "PAM-II": rules.QUADRATIC}


@document_parameters(LINEAR, COVARIANCE, attributes=COVARIANCE_ATTRIBUTES)
@with_parameters
class PAMClassifier(CovarianceClassifier):
    """Passive-aggressive learning in Mahalanobis geometry (PAM).

    Each row solves ``min ½ (w - w_t)' S^-1 (w - w_t)`` subject to ``y w·x >= 1`` (PAM), or adds the
    slack term C ξ (PAM-I) or C ξ² (PAM-II) and relaxes the constraint to ``y w·x >= 1 - ξ``.  With
    loss ``l = max(0, 1 - y w_t·x)`` and ``n = x'S x`` the solution is ``w <- w_t + P y S x`` with
    ``P = l / n`` (PAM), ``min(C, l / n)`` (PAM-I) or ``l / (n + 1/(2C))`` (PAM-II), equations 8 to
    10 of the paper.  A row with a positive loss then updates ``S <- S - S x x' S / (1 + n)``, which
    is ``S^-1 <- S^-1 + x x'``: changes in directions that earlier rows covered become more costly.

    Parameters
    ----------
    variant : {"PAM", "PAM-I", "PAM-II"}, default="PAM-II"
        Slack term for a loss ξ that remains after the update: not allowed ("PAM"), C ξ ("PAM-I") or
        C ξ² ("PAM-II").  With noisy labels do not use "PAM".

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
    PassiveAggressiveClassifier : The same with S fixed to the identity.
    AROWClassifier : The step of PAM-II with r = 1/(2C), which also scales the covariance update.
    MultiViewPAClassifier : One covariance per view, with a disagreement penalty.

    Notes
    -----
    The sample weight c of a row multiplies C, and the covariance update is
    ``S^-1 <- S^-1 + c x x'``.  All classes share one covariance.

    References
    ----------
    T. T. Nguyen, K. Chang, S. C. Hui, "Distribution-Aware Online Classifiers",
    IJCAI 2011, 1427-1432.  The paper's Algorithm 1 mixes S before and after the row;
    here n and the step use S before it.  More than two classes are an extension.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import PAMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PAMClassifier(random_state=0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.99
    >>> model.covariance_form_
    'full'
    """

    _parameter_constraints: ClassVar[dict] = {
        **CovarianceClassifier._parameter_constraints,
        "variant": [StrOptions(set(SLACKS))],
    }

    variant: str = "PAM-II"
    C: float = 1.0

    def _rule(self) -> Rule:
        return Rule(rules.PAM, SLACKS[self.variant], float(self.C), 0.0)
