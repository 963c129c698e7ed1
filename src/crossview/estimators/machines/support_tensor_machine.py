"""Support tensor machines: rank-one interactions of the highest order."""

from __future__ import annotations

from typing import ClassVar

from crossview.algorithms.machines.state import TENSOR
from crossview.errors import InputError
from crossview.estimators.documentation import document_parameters, with_parameters
from crossview.estimators.machines.learner import (
    ATTRIBUTES,
    CLASSIFIER,
    MachineClassifier,
)
from crossview.estimators.validation import StrOptions


@document_parameters(CLASSIFIER, attributes=ATTRIBUTES)
@with_parameters
class SupportTensorMachineClassifier(MachineClassifier):
    """Support tensor machine: interactions of the highest order, of rank one.

    The score is ``c + prod_v w_v·x_v`` (equation 25 of the paper).  Each combination of one column
    per view has the weight ``prod_v w_v[i_v]``; there are no terms of lower order.  `fit` minimizes
    ``sum_i loss_i + ½ alpha n prod_v |w_v|²`` over one view at a time: with all other views fixed
    this is a linear SVM or a logistic regression on the columns of the view, scaled by the product
    of the others.

    Parameters
    ----------
    loss : {"hinge", "logistic"}, default="hinge"
        Loss of a score s: max(0, 1 - y s), a support vector machine per view, or
        log(1 + exp(-y s)), which has `predict_proba`.  More than two classes: one against the rest
        (on a stream, "logistic" is the cross entropy of the softmax).
    penalty : {"l2", "l1"}, default="l2"
        Penalty of "adagrad" and "sgd"; "alternating" requires "l2".
    alpha : float, default=0.001
        Regularization strength, in (0, inf) for "alternating" and in [0, inf) for the others.  A
        higher value overfits less.  Typical values: 0.0001 to 0.1.
    optimizer : {"alternating", "adagrad", "sgd"}, default="alternating"
        "alternating" fits one view after the other over all rows (`fit` only).  "adagrad" and "sgd"
        learn row by row, as for the other machines.
    init_scale : float, default=1.0
        Standard deviation of the initial weights of the columns.  "alternating" rescales them so
        that ``w_v·x_v`` is about 1 for each view; for "adagrad" and "sgd" set about 1 over the norm
        of a view's row.
    n_epochs : int, default=100
        Number of passes over the rows in `fit` ("alternating": over the views); with early
        stopping, the maximum.  `partial_fit` always makes one.

    Attributes
    ----------
    classes_, factors_, intercept_, n_iter_, validation_loss_, layout_, n_features_in_,
    feature_names_in_

    Raises
    ------
    InputError
        The optimizer is "alternating" on a stream, with ``penalty="l1"`` or with ``alpha=0``.

    See Also
    --------
    MultiViewMachineClassifier : Interactions of every order, of rank k.

    Notes
    -----
    The score of a row with a missing view is the intercept.  The sample weight of a row multiplies
    its loss.

    References
    ----------
    B. Cao, H. Zhou, G. Li, P. S. Yu, "Multi-View Machines", WSDM 2016, equation (25).
    D. Tao, X. Li, W. Hu, S. Maybank, X. Wu, "Supervised Tensor Learning", ICDM 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from crossview import SupportTensorMachineClassifier
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> y = X[:, 0] * X[:, 2] > 0
    >>> model = SupportTensorMachineClassifier([2, 2], random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "loss": [StrOptions({"hinge", "logistic"})],
        "optimizer": [StrOptions({"alternating", "adagrad", "sgd"})],
    }

    loss: str = "hinge"
    optimizer: str = "alternating"
    init_scale: float = 1.0

    def _model(self) -> int:
        return TENSOR

    def _check_combination(self) -> None:
        super()._check_combination()
        if self.optimizer == "alternating" and (self.penalty != "l2" or self.alpha == 0.0):
            raise InputError(
                f"optimizer='alternating' with penalty={self.penalty!r} and alpha={self.alpha!r}; "
                "set penalty='l2' and alpha above 0"
            )
