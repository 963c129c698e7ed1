"""Factorization machines: interactions of pairs of columns, or of more."""

from __future__ import annotations

from numbers import Integral
from typing import ClassVar

from crossview.algorithms.machines.state import (
    ALL_ORDERS,
    ALL_PAIRS,
    CROSS_ORDERS,
    CROSS_PAIRS,
)
from crossview.errors import InputError
from crossview.estimators.documentation import document_parameters, with_parameters
from crossview.estimators.machines.learner import (
    ATTRIBUTES,
    CLASSIFIER,
    REGRESSOR,
    MachineClassifier,
    MachineLearner,
    MachineRegressor,
)
from crossview.estimators.validation import Interval, StrOptions

# a product of so many columns is rarely of any size
MOST_ORDER = 10


@with_parameters
class _FactorizationMachine(MachineLearner):
    """The model of the classifier and the regressor."""

    _parameter_constraints: ClassVar[dict] = {
        "n_factors": [Interval(Integral, 1, None, closed="left")],
        "cross_view_only": ["boolean"],
        "order": [Interval(Integral, 2, MOST_ORDER, closed="both")],
        "optimizer": [StrOptions({"adagrad", "sgd", "lbfgs", "als"})],
    }

    n_factors: int = 16
    cross_view_only: bool = False
    order: int = 2

    def _model(self) -> int:
        if self.order > 2:
            return CROSS_ORDERS if self.cross_view_only else ALL_ORDERS
        return CROSS_PAIRS if self.cross_view_only else ALL_PAIRS

    def _check_combination(self) -> None:
        super()._check_combination()
        if self.optimizer == "als" and not self.cross_view_only:
            raise InputError(
                "optimizer='als' with cross_view_only=False; "
                "the score is linear in each view only with cross_view_only=True; set it"
            )


@document_parameters(CLASSIFIER, attributes=ATTRIBUTES)
@with_parameters
class FactorizationMachineClassifier(_FactorizationMachine, MachineClassifier):
    """Factorization machine for classification: factorized interactions of pairs of columns.

    Each column i has a linear weight w_i and a vector v_i of k factors.  The score is
    ``c + sum_i w_i x_i + sum_i<j v_i·v_j x_i x_j`` (equation 26 of the paper), where the second sum
    runs over all pairs of columns, or over the pairs of columns of different views.  The cost is
    linear in the number of nonzero columns and in k.

    Attributes
    ----------
    classes_, factors_, intercept_, n_iter_, validation_loss_, layout_, n_features_in_,
    feature_names_in_

    Raises
    ------
    InputError
        The optimizer is "als" and loss, penalty or ``cross_view_only`` do not match it, or it is
        "lbfgs" or "als" on a stream.

    See Also
    --------
    FactorizationMachineRegressor : For numeric targets.
    MultiViewMachineClassifier : Interactions of every order between views.

    Notes
    -----
    `fit` initializes the intercept with the log odds of the classes.
    The sample weight of a row multiplies its loss, and not the penalty.  A missing view adds no
    terms to the score.  Memory: k + 1 numbers per column and class; "adagrad" doubles it.

    References
    ----------
    B. Cao, H. Zhou, G. Li, P. S. Yu, "Multi-View Machines", WSDM 2016, equations (26)
    and (27).  S. Rendle, "Factorization Machines", ICDM 2010.  M. Blondel, A. Fujino, N. Ueda,
    M. Ishihata, "Higher-Order Factorization Machines", NeurIPS 2016 (``order``).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import FactorizationMachineClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = FactorizationMachineClassifier([10, 10, 10], n_factors=4, random_state=0)
    >>> model.fit(scale(X), y).score(scale(X), y) > 0.95
    True
    >>> model.predict_proba(scale(X)).shape
    (569, 2)
    """


@document_parameters(REGRESSOR, attributes=ATTRIBUTES)
@with_parameters
class FactorizationMachineRegressor(_FactorizationMachine, MachineRegressor):
    """Factorization machine for regression: factorized interactions of pairs of columns.

    The score is that of `FactorizationMachineClassifier`, for a numeric target.

    Attributes
    ----------
    factors_, intercept_, n_iter_, validation_loss_, layout_, n_features_in_, feature_names_in_

    Raises
    ------
    InputError
        The optimizer is "als" and loss, penalty or ``cross_view_only`` do not match it, or it is
        "lbfgs" or "als" on a stream.

    See Also
    --------
    FactorizationMachineClassifier : For classes; it has the references.
    MultiViewMachineRegressor : Interactions of every order between views.

    Notes
    -----
    The sample weight of a row multiplies its loss, and not the penalty.  A missing view adds no
    terms to the score.  Memory: k + 1 numbers per column and class; "adagrad" doubles it.

    The learner standardizes the target internally.  On a stream, mean and standard deviation are
    those of all rows up to the current one, so that the result does not depend on the batch size.

    Examples
    --------
    >>> import numpy as np
    >>> from crossview import FactorizationMachineRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> y = 3.0 + X[:, 0] * X[:, 2]
    >>> model = FactorizationMachineRegressor([2, 2], n_factors=4, random_state=0)
    >>> bool(model.fit(X, y).score(X, y) > 0.9)
    True
    >>> model.interactions(top=1)[-1].columns
    (0, 0)
    """
