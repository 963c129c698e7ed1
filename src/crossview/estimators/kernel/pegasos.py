"""Pegasos."""

from __future__ import annotations

from typing import ClassVar

from crossview.estimators.documentation import document_parameters
from crossview.estimators.kernel.learner import KernelLearner
from crossview.estimators.kernel.parameters import KERNEL, KERNEL_ATTRIBUTES

__all__ = ["PegasosClassifier"]


@document_parameters(KERNEL, attributes=KERNEL_ATTRIBUTES)
class PegasosClassifier(KernelLearner):
    """Pegasos: support vector machines with a kernel, one per view, by stochastic steps.

    Each view learns by itself from the labeled rows; the joint score is the mean of the views'
    scores.  With one view it is Pegasos.  It makes the same steps as `KeCoClassifier`, over
    the same draws; a step with an unlabeled row changes nothing.

    Parameters
    ----------
    unlabeled_ratio : float, default=1/3
        On a stream, count at most this many unlabeled rows per labeled row as steps, as
        `KeCoClassifier` does; in [0, inf].

    Attributes
    ----------
    classes_
    n_support_
    dual_coef_
    coef_
    gamma_
    n_steps_
    layout_
    n_features_in_
    feature_names_in_

    Raises
    ------
    InputError
        Parameters that exclude each other; a budget in a `fit` that is no stream.

    See Also
    --------
    KeCoClassifier : Learns from unlabeled rows, too.
    KernelSearchCV : Chooses ``lam`` and ``gamma`` and computes no kernel value twice.

    Notes
    -----
    At step t view n has the score ``ŷ_n = 1/(λ t) sum_j α_n[j] y_j K(x, x_j)``; if
    ``y ŷ_n < 1`` the row's count α_n grows by 1, or by the row's weight.  A step with an
    unlabeled row counts in t, as in the paper's experiments.  There is no intercept; for uneven
    classes ``class_weight="balanced"`` moves the decision threshold.  A row of weight 0 is left
    out.

    References
    ----------
    S. Shalev-Shwartz, Y. Singer, N. Srebro, A. Cotter, "Pegasos: Primal Estimated
    sub-Gradient Solver for SVM", Math. Program. 127 (2011), figures 1 and 3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from crossview import PegasosClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> PegasosClassifier(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    learns_unlabeled: ClassVar[bool] = False
