"""Pegasos: primal estimated subgradient solver for SVMs."""

from __future__ import annotations

from typing import ClassVar

from crossview.estimators.documentation import document_parameters
from crossview.estimators.kernel.classifier import KernelClassifier
from crossview.estimators.kernel.learner import KERNEL, KERNEL_ATTRIBUTES


@document_parameters(KERNEL, attributes=KERNEL_ATTRIBUTES)
class PegasosClassifier(KernelClassifier):
    """Pegasos: kernel SVMs, one per view, trained by stochastic subgradient steps.

    Minimizes ``λ/2 |w|² + mean_i max(0, 1 - y_i w·φ(x_i))`` for each view independently.  At step t
    view n scores the drawn row with ``ŷ_n = 1/(λ t) sum_j α_n[j] y_j K(x, x_j)``, and updates
    ``α_n <- α_n + 1`` for this row if ``y ŷ_n < 1`` (figure 3 of the paper).  The joint score is
    the mean of the view scores.  With the defaults it converges to the support vector machine of
    each view, with C = 1 / (n λ).  Unlabeled rows have no effect; with the schedules of the KeCo
    paper and on a stream a step with an unlabeled row counts in t and changes nothing else.

    Parameters
    ----------
    unlabeled_ratio : float, default=1/3
        Maximum number of unlabeled rows per labeled row that a stream counts as steps, as in
        `KeCoClassifier`; in [0, inf].

    Attributes
    ----------
    classes_, n_support_, dual_coef_, coef_, intercept_, gamma_, n_steps_, layout_,
    n_features_in_, feature_names_in_

    Raises
    ------
    InputError
        Parameters contradict each other, or ``budget`` is set for a `fit` that draws rows.

    See Also
    --------
    KeCoClassifier : Also learns from unlabeled rows.
    KernelSearchCV : Grid search for ``lam`` and ``gamma`` with shared kernel values.

    Notes
    -----
    A step of a row with sample weight c adds c in place of 1; rows of weight 0 are skipped.  More
    than two classes: one against the rest, with the same draws.

    References
    ----------
    S. Shalev-Shwartz, Y. Singer, N. Srebro, A. Cotter, "Pegasos: Primal Estimated
    sub-Gradient Solver for SVM", Math. Program. 127 (2011), figures 1 and 3.  S. Lacoste-Julien,
    M. Schmidt, F. Bach, "A simpler approach to obtaining an O(1/t) convergence rate for the
    projected stochastic subgradient method", arXiv:1212.2002 (averaging).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from crossview import PegasosClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> PegasosClassifier(random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    learns_unlabeled: ClassVar[bool] = False
