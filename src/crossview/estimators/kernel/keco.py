"""KeCo: kernel-based online co-agreement."""

from __future__ import annotations

from typing import ClassVar

from crossview.estimators.documentation import document_parameters
from crossview.estimators.kernel.learner import KernelLearner
from crossview.estimators.kernel.parameters import KERNEL, KERNEL_ATTRIBUTES

__all__ = ["KeCoClassifier"]


@document_parameters(KERNEL, attributes=KERNEL_ATTRIBUTES)
class KeCoClassifier(KernelLearner):
    """Kernel-based online co-agreement (KeCo): semi-supervised kernel SVMs, one per view.

    Each view n has a kernel SVM, trained by stochastic subgradient steps (Pegasos).  At step t it
    scores the drawn row with ``ŷ_n = 1/(λ t) sum_j α_n[j] z_n[j] K(x, x_j)``, and updates
    ``α_n <- α_n + 1`` for this row if ``z_n ŷ_n < 1`` (Algorithm 1).  For a labeled row ``z_n`` is
    the label; an unlabeled row is labeled by the agreement of the views.  The joint score is the
    mean of the view scores.

    By default (``schedule="rounds"``) the views learn the labeled rows first.  Then the joint
    score labels unlabeled rows in five rounds, and the views learn again, half of the steps from
    labeled and half from those rows.  Round r labels ``trust * r / 5`` of the unlabeled rows:
    those of the largest margin, and of each class as large a part as it has of the labeled rows.
    The trust is the accuracy above chance of the joint score on held-out labeled rows: with little
    evidence few rows are labeled, and without evidence none.  A row needs two views.

    With the schedules of the paper an unlabeled row is labeled when it is drawn, by the
    co-agreement of the other views: the sign of the sum of their scores, or the class with the
    highest sum.

    Parameters
    ----------
    unlabeled_ratio : float, default=1/3
        Maximum number of unlabeled rows per labeled row that a stream learns, times the trust in
        their labels; it skips the others.  The trust is the accuracy above chance of the joint
        score on labeled rows before they are learned.  In [0, inf]; infinity learns all.  The
        default is the ratio of the paper's schedule.  With a high ratio the unlabeled rows
        dominate.

    Attributes
    ----------
    classes_, n_support_, dual_coef_, coef_, intercept_, gamma_, n_steps_, layout_,
    n_features_in_, feature_names_in_

    Raises
    ------
    InputError
        Parameters contradict each other, or ``budget`` is set for a `fit` that draws rows.

    Warns
    -----
    UserWarning
        Some rows are unlabeled and there is only one view.

    See Also
    --------
    PegasosClassifier : The same without learning from unlabeled rows.
    KernelSearchCV : Grid search for ``lam`` and ``gamma`` with shared kernel values.

    Notes
    -----
    A step of a row with sample weight c adds c in place of 1; rows of weight 0 are skipped.  A
    missing view is neither scored nor updated, and does not count in the agreement.  More than two
    classes: one against the rest, with the same draws.  With an approximation, results depend on
    the batch size up to rounding.

    With the schedules of the paper the pseudo-label z_n of an unlabeled row is stored until the
    row is drawn again.  If the other views do not decide, z_n is 0: the step counts in t and
    changes nothing else.  The paper's algorithm is ``schedule="half-labeled"``,
    ``n_iterations=1000``, ``include_self=False``, ``average=False`` and ``fit_intercept=False``.

    References
    ----------
    L. van de Wiel, T. Heskes, E. Levin, "KeCo: Kernel-based Online Co-agreement
    Algorithm", BNAIC 2015, Algorithm 1.  S. Lacoste-Julien, M. Schmidt, F. Bach, "A simpler
    approach to obtaining an O(1/t) convergence rate for the projected stochastic subgradient
    method", arXiv:1212.2002 (averaging).  Z. Wang, K. Crammer, S. Vucetic, "Breaking the
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
