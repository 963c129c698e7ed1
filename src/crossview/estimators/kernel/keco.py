"""KeCo: kernel-based online co-agreement."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from crossview.algorithms.kernel.schedule import REGRESSION_SCHEDULES
from crossview.algorithms.kernel.step import Settings
from crossview.batch import read_only
from crossview.errors import InputError
from crossview.estimators.base.regressor import OnlineRegressor
from crossview.estimators.documentation import document_parameters, with_parameters
from crossview.estimators.kernel.classifier import KernelClassifier
from crossview.estimators.kernel.learner import KERNEL, KERNEL_ATTRIBUTES, KernelLearner
from crossview.estimators.targets import one_per_row, read_numbers, scaled_targets
from crossview.estimators.validation import Interval, StrOptions
from crossview.labels import has_label


@document_parameters(KERNEL, attributes=KERNEL_ATTRIBUTES)
class KeCoClassifier(KernelClassifier):
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
    KeCoRegressor : The same for numbers.
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


@document_parameters(KERNEL, attributes=KERNEL_ATTRIBUTES)
@with_parameters
class KeCoRegressor(KernelLearner, OnlineRegressor):
    """KeCo for numbers: kernel ridge regression, one per view, that agree on unlabeled rows.

    Minimizes ``sum_n λ/2 |w_n|² + mean_labeled sum_n ½ (y - ŷ_n)² + μ mean_unlabeled
    sum_{u<v} ½ (ŷ_u - ŷ_v)²`` for the standardized target y and ``ŷ_n = w_n·φ_n(x)``:
    co-regularized least squares (Brefeld et al. 2006), by stochastic steps of size 1/(λ t) as those
    of `KeCoClassifier`.  A step is implicit: its row is scored after it, so no step size diverges.
    The prediction is the mean of the views.  With ``disagreement=0`` each view is a kernel ridge
    regression.

    Unlabeled rows help where each view has much of its own that the others have not, and what they
    share predicts the target; otherwise they pull the views together and do harm.  The
    default is so low that it brings most of the former and little of the latter; ``crossview
    compare`` tries others, and 0.

    Parameters
    ----------
    schedule : {"alternating", "uniform", "stream"}, default="alternating"
        How `fit` draws the rows, with replacement.  "alternating": labeled and unlabeled rows in
        turn.  "uniform": any row; then the means of the objective are those of all rows, and the
        unlabeled ones have the more weight the more there are.  "stream": no draws; each row once,
        in order, as in `partial_fit`.
    disagreement : float, default=0.01
        Weight μ of the disagreement of the views on unlabeled rows, in [0, inf).  A higher value
        makes the views more alike.  The targets are standardized, and the disagreement is a mean
        over rows, so neither their unit nor the number of rows matters.  Typical values: 0.01 to 1.
    unlabeled_ratio : float, default=1.0
        Maximum number of unlabeled rows per labeled row that a stream learns, in [0, inf]; it skips
        the others.  A higher value gives the disagreement more weight.

    Attributes
    ----------
    n_support_, dual_coef_, coef_, intercept_, gamma_, n_steps_, layout_, n_features_in_,
    feature_names_in_

    Raises
    ------
    InputError
        Parameters contradict each other, ``budget`` is set for a `fit` that draws rows, or no row
        has a target.

    Warns
    -----
    UserWarning
        Some rows are unlabeled and there is only one view.

    See Also
    --------
    KeCoClassifier : The same for classes.

    Notes
    -----
    Rows without a target have NaN or None.  A row of sample weight c counts c times; one of weight
    0 is skipped.  A missing view is neither scored nor updated; on an unlabeled row the views that
    are there have to agree.

    References
    ----------
    L. van de Wiel, T. Heskes, E. Levin, "KeCo: Kernel-based Online Co-agreement Algorithm", BNAIC
    2015, section 5.  U. Brefeld, T. Gärtner, T. Scheffer, S. Wrobel, "Efficient co-regularised
    least squares regression", ICML 2006.  P. Toulis, E. Airoldi, "Asymptotic and finite-sample
    properties of estimators based on stochastic gradients", Ann. Statist. 45 (2017) (implicit
    steps).

    Examples
    --------
    >>> import numpy as np
    >>> from crossview import KeCoRegressor
    >>> rng = np.random.default_rng(0)
    >>> shared = rng.normal(size=(400, 2))  # five more numbers are of one view only
    >>> parts = [np.hstack([shared, rng.normal(size=(400, 5))]) for _ in range(2)]
    >>> X = np.hstack([part @ rng.normal(size=(7, 20)) for part in parts])
    >>> y = np.where(np.arange(400) < 10, shared[:, 0], np.nan)  # ten have a target
    >>> model = KeCoRegressor([20, 20], kernel="linear", random_state=0)
    >>> round(model.fit(X, y).score(X, shared[:, 0]), 2)
    0.99
    >>> round(model.set_params(disagreement=0).fit(X, y).score(X, shared[:, 0]), 2)
    0.96
    """

    learns_unlabeled: ClassVar[bool] = True
    squared: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict] = {
        "schedule": [StrOptions(set(REGRESSION_SCHEDULES))],
        "disagreement": [Interval(Real, 0, None, closed="left")],
    }

    disagreement: float = 0.01
    schedule: str = "alternating"
    unlabeled_ratio: float = 1.0

    def _settings(self, *, drawn: bool) -> Settings:
        lam, mu = read_only(self._lams()), float(self.disagreement)
        return Settings(lam, float(self.fit_intercept), True, False, True, mu)

    def _read_targets(self, y: Any, n_rows: int | None) -> np.ndarray:
        name = type(self).__name__
        y = one_per_row(y, n_rows, name).astype(object)
        missing = ~has_label(y)
        y[missing] = 0.0
        numbers = read_numbers(y, n_rows, name)
        return scaled_targets(np.where(missing, np.nan, numbers), self.target_scale)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._check_budget()
        rows = self._read(X, reset=True)
        targets, weight = self._first_targets(y, sample_weight, rows)
        if np.isnan(targets).all():
            raise InputError("y has no target; a regressor needs rows that have one")
        self._learn_all(rows, targets[:, None], weight)
