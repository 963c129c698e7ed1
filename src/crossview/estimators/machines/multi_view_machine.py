"""Multi-view machines: interactions of every order between views."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import ClassVar

from crossview.algorithms.machines.state import MULTI_VIEW, TENSOR
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


@with_parameters
class _MultiViewMachine(MachineLearner):
    """The model of the classifier and the regressor."""

    _parameter_constraints: ClassVar[dict] = {
        "n_factors": [Interval(Integral, 1, None, closed="left")],
        "groups": ["array-like", None],
        "init": [StrOptions({"signs", "published"})],
        "penalize_bias": ["boolean"],
        "optimizer": [StrOptions({"adagrad", "sgd", "lbfgs", "als"})],
    }

    n_factors: int = 16
    groups: Sequence[Sequence[str]] | None = None
    init: str = "signs"
    penalize_bias: bool = False
    fit_intercept: bool = True

    def _model(self) -> int:
        # one view alone has no interactions: a linear model, without a bias row
        linear = len(self.layout_.names) == 1 and self.groups is None
        return TENSOR if linear else MULTI_VIEW


@document_parameters(CLASSIFIER, attributes=ATTRIBUTES)
@with_parameters
class MultiViewMachineClassifier(_MultiViewMachine, MachineClassifier):
    """Multi-view machine for classification: factorized interactions of all orders.

    Each column i of view v has a vector A_v[i] of k factors, and each view a bias row b_v.  With
    ``S_v = b_v + sum_i x_i A_v[i]`` the score is ``c + sum_f prod_v S_v,f`` (equation 6):
    the interactions of one column per view, over all subsets of the views, share the
    same factors.  The cost is linear in the number of nonzero columns, in the views and in k.  With
    one view it is a linear model.

    Attributes
    ----------
    classes_, factors_, bias_rows_, intercept_, n_iter_, validation_loss_, layout_,
    n_features_in_, feature_names_in_

    Raises
    ------
    InputError
        ``groups`` contains an unknown view, the optimizer is "als" and loss or penalty do not
        match it, or the optimizer is "lbfgs" or "als" on a stream.

    See Also
    --------
    MultiViewMachineRegressor : For numeric targets.
    FactorizationMachineClassifier : Interactions of order 2 only, with separate linear weights.

    Notes
    -----
    `fit` initializes the intercept with the log odds of the classes.  "adagrad" and "sgd" score a
    column at 0 in the first row that has it, and take the slope of the loss there; then it moves
    from its initial weights, which the penalty counts.
    The sample weight of a row multiplies its loss, and not the penalty.  For a missing view S_v is
    the bias row.  Memory: k numbers per column and class; "adagrad" doubles it.

    References
    ----------
    B. Cao, H. Zhou, G. Li, P. S. Yu, "Multi-View Machines", WSDM 2016, equations (5)
    to (21), with products over the other views in place of the paper's division by S_v,
    and with other initial weights (``init``).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import MultiViewMachineClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MultiViewMachineClassifier([10, 10, 10], n_factors=4, random_state=0)
    >>> model.fit(scale(X), y).score(scale(X), y) > 0.95
    True
    >>> model.predict_proba(scale(X)).shape
    (569, 2)
    """


@document_parameters(REGRESSOR, attributes=ATTRIBUTES)
@with_parameters
class MultiViewMachineRegressor(_MultiViewMachine, MachineRegressor):
    """Multi-view machine for regression: factorized interactions of all orders.

    The score is that of `MultiViewMachineClassifier`, for a numeric target.  With one view it is a
    linear model.

    Attributes
    ----------
    factors_, bias_rows_, intercept_, n_iter_, validation_loss_, layout_, n_features_in_,
    feature_names_in_

    Raises
    ------
    InputError
        ``groups`` contains an unknown view, the optimizer is "als" and loss or penalty do not
        match it, or the optimizer is "lbfgs" or "als" on a stream.

    See Also
    --------
    MultiViewMachineClassifier : For classes; it has the references.
    FactorizationMachineRegressor : Interactions of order 2 only, with separate linear weights.

    Notes
    -----
    The sample weight of a row multiplies its loss, and not the penalty.  For a missing view S_v is
    the bias row.  Memory: k numbers per column and class; "adagrad" doubles it.

    The learner standardizes the target internally.  On a stream, mean and standard deviation are
    those of all rows up to the current one, so that the result does not depend on the batch size.

    Examples
    --------
    >>> import numpy as np
    >>> from crossview import MultiViewMachineRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> y = 3.0 + X[:, 0] * X[:, 2]
    >>> model = MultiViewMachineRegressor([2, 2], n_factors=4, random_state=0)
    >>> bool(model.fit(X, y).score(X, y) > 0.9)
    True
    >>> model.interactions(top=1)[-1].columns
    (0, 0)
    """
