"""KeCo."""

from __future__ import annotations

from typing import ClassVar

from crossview.estimators.documentation import document_parameters
from crossview.estimators.kernel.learner import KernelLearner
from crossview.estimators.kernel.parameters import KERNEL, KERNEL_ATTRIBUTES

__all__ = ["KeCoClassifier"]


@document_parameters(KERNEL, attributes=KERNEL_ATTRIBUTES)
class KeCoClassifier(KernelLearner):
    """Kernel machines, one per view, that label the unlabeled rows for each other.

    Each view has a support vector machine of its own, learned by stochastic steps.  In an
    unlabeled row each view learns the co-agreement of the others: the sign of the sum of their
    scores.  So unlabeled rows bring the views closer to each other.  The joint score is the mean
    of the views' scores.

    Parameters
    ----------
    unlabeled_ratio : float, default=1/3
        On a stream, learn at most this many unlabeled rows per labeled row and skip the others;
        in [0, inf], where infinity learns all.  The paper's schedule has a third.  If few rows
        have a label, a higher ratio lets the unlabeled rows outvote them.

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

    Warns
    -----
    UserWarning
        Unlabeled rows and one view: there is no other view to label them.

    See Also
    --------
    PegasosClassifier : The same without the unlabeled rows.
    KernelSearchCV : Chooses ``lam`` and ``gamma`` and computes no kernel value twice.

    Notes
    -----
    At step t view n has the score ``ŷ_n = 1/(λ t) sum_j α_n[j] z_n[j] K(x, x_j)``; if
    ``z_n ŷ_n < 1`` the row's count α_n grows by 1, or by the row's weight.  The label z_n of
    an unlabeled row is kept until the row is drawn again.  If the other views do not say (their
    sum is 0) it is 0: the row is counted, and has no effect.  A missing view is not scored, has
    no part in the co-agreement and learns nothing.  Several classes: one against the rest,
    each with labels of its own, over the same draws.  There is no intercept; for uneven
    classes ``class_weight="balanced"`` moves the decision threshold.  A row of weight 0 is left
    out.  The features of an approximation are rounded in batches, so learning row by row
    equals one batch up to rounding.

    References
    ----------
    L. van de Wiel, T. Heskes, E. Levin, "KeCo: Kernel-based Online Co-agreement
    Algorithm", BNAIC 2015, Algorithm 1.  Z. Wang, K. Crammer, S. Vucetic, "Breaking the
    Curse of Kernelization", JMLR 13 (2012), section 3 (budgets).

    Examples
    --------
    >>> import numpy as np
    >>> from crossview import KeCoClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(2, size=300)
    >>> X = np.hstack([rng.normal(size=(300, 2)) + 2.0 * y[:, None] for _ in range(2)])
    >>> some = np.where(rng.random(300) < 0.05, y, np.nan)  # 5 % have a label
    >>> model = KeCoClassifier([2, 2], random_state=0).fit(X, some)
    >>> model.score(X, y) > 0.9
    True
    """

    learns_unlabeled: ClassVar[bool] = True
