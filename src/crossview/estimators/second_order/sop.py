"""The second-order perceptron."""

from __future__ import annotations

import numpy as np

from crossview.algorithms import rules
from crossview.algorithms.rules import Rule
from crossview.estimators.covariance import CovarianceClassifier
from crossview.estimators.documentation import document_parameters, with_parameters
from crossview.estimators.parameters import COVARIANCE, COVARIANCE_ATTRIBUTES, LINEAR

__all__ = ["SecondOrderPerceptron"]


@document_parameters(LINEAR, COVARIANCE, attributes=COVARIANCE_ATTRIBUTES)
@with_parameters
class SecondOrderPerceptron(CovarianceClassifier):
    """The second-order perceptron (SOP): a perceptron in the geometry of its mistakes.

    Each mistake updates ``v <- v + y x`` and ``S^-1 <- S^-1 + x x'``, from v = 0 and S = I.  The
    prediction for a row x is the sign of ``v'(S^-1 + x x')^-1 x``, which is the sign of ``v'S x``.

    Parameters
    ----------
    initial_variance : float, default=1.0
        Initial variance a of each weight, S = a I, in (0, inf).  A higher value takes larger steps
        on the first mistakes.  It is the only parameter to tune.  Typical values: 0.01 to 100.

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
    Perceptron : The same with S fixed to the identity.
    AROWClassifier : Updates on each row with a positive hinge loss.

    Notes
    -----
    ``coef_`` is ``S v``, and the scores are ``v'S x``.  The sample weight of a row multiplies its
    terms in v and in ``S^-1``.  With a diagonal covariance the term ``x x'`` of the row to predict
    is still the full matrix; the SOL library uses its diagonal, so that predictions may differ for
    scores near 0.  All classes share one covariance.

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

    def _rule(self) -> Rule:
        return Rule(rules.SOP, rules.HARD, np.inf, 0.0)
