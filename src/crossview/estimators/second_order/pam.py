"""PAM, PAM-I and PAM-II."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from crossview.algorithms import rules
from crossview.algorithms.rules import Rule
from crossview.estimators.covariance import COVARIANCE, COVARIANCE_ATTRIBUTES, CovarianceClassifier
from crossview.estimators.documentation import document_parameters
from crossview.estimators.parameters import LINEAR
from crossview.estimators.validation import Interval, StrOptions

__all__ = ["PAMClassifier"]

SLACKS = {"PAM": rules.HARD, "PAM-I": rules.LINEAR, "PAM-II": rules.QUADRATIC}


@document_parameters(LINEAR, COVARIANCE, attributes=COVARIANCE_ATTRIBUTES)
class PAMClassifier(CovarianceClassifier):
    """Passive-aggressive learning in the geometry of the data (PAM).

    Each row solves ``min ½ (w - w_t)' S^-1 (w - w_t) + slack`` such that
    ``y w·x >= 1``, where ``S^-1`` is the identity plus ``x x'`` of all rows that
    caused an update before: well-observed directions are costly to move.
    With loss ``l = max(0, 1 - y w·x)`` and ``n = x'S x`` the answer is
    ``w <- w + P y S x`` with P = l / n (PAM), min(C, l / n) (PAM-I) or
    l / (n + 1/(2C)) (PAM-II), and then ``S <- S - S x x' S / (1 + n)``.

    Parameters
    ----------
    variant : {"PAM", "PAM-I", "PAM-II"}, default="PAM-II"
        The slack: none is allowed, it costs C l, or C l².

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
    PassiveAggressiveClassifier : The same where S is the identity.
    AROWClassifier : The step of PAM-II with r = 1/(2C), in the covariance too.
    MultiViewPAClassifier : One covariance per view, and coupled steps.

    Notes
    -----
    A row's weight multiplies its C, and S^-1 grows by that many times x x'.  Several classes
    share one covariance.

    References
    ----------
    T. T. Nguyen, K. Chang, S. C. Hui, "Distribution-Aware Online Classifiers",
    IJCAI 2011, 1427-1432.  S is the one before this row in all equations,
    which the paper's Algorithm 1 mixes; several classes are ours.

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
        "C": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        variant: str = "PAM-II",
        C: float = 1.0,
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
        self.variant = variant
        self.C = C
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
        return Rule(rules.PAM, SLACKS[self.variant], float(self.C), 0.0)
