"""Classifiers with one weight vector per view, whose steps are coupled."""

from __future__ import annotations

from dataclasses import field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms import couplings, rules
from crossview.algorithms.couplings import Coupling
from crossview.algorithms.online import Examples, learn
from crossview.algorithms.rules import Rule
from crossview.errors import InputError
from crossview.estimators.base.state import State, StatePart
from crossview.estimators.base.weights import ViewWeights
from crossview.estimators.documentation import document_parameters, with_parameters
from crossview.estimators.linear import SLACKS
from crossview.estimators.parameters import ATTRIBUTES, PARAMETERS
from crossview.estimators.second_order import CovarianceClassifier
from crossview.estimators.validation import Interval, StrOptions
from crossview.views import ViewLayout

COUPLINGS = {
    "independent": couplings.INDEPENDENT,
    "absolute": couplings.ABSOLUTE,
    "squared": couplings.SQUARED,
    "concatenated": couplings.INDEPENDENT,  # of one view
}
PUBLISHED = "update='published' is the paper's Algorithm 1"


@document_parameters(PARAMETERS, attributes=ATTRIBUTES)
@with_parameters
class MultiViewPAClassifier(CovarianceClassifier):
    """Passive-aggressive learning on several views, with a disagreement penalty.

    Keeps one weight vector per view.  With margins ``m_v = y w_v·x_v``, each row whose joint
    loss ``1 - mean m_v`` is positive solves

        min ½ sum_v |w_v - w_v,t|² + γ D(s) + slack(1 - mean s_v),

    where ``s_v = y w_v·x_v`` are the margins after the update, D is their disagreement over all
    pairs of views, γ is the penalty that ``disagreement`` sets, and ``slack`` is the slack term of
    the variant, as in `PassiveAggressiveClassifier`.  The number of views is arbitrary.  A view
    that is missing or empty in a row is neither scored nor updated.

    With ``geometry="mahalanobis"`` each view has its own covariance ``S_v``, the first term is
    ``½ sum_v (w_v - w_v,t)' S_v^-1 (w_v - w_v,t)``, and each row with a positive joint loss
    updates ``S_v^-1 <- S_v^-1 + x_v x_v'``, as in `PAMClassifier`.

    Parameters
    ----------
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
        Slack term for a loss ξ that remains after the update: not allowed ("PA"), C ξ ("PA-I") or
        C ξ² ("PA-II").
    disagreement : float, default=0.01
        Weight of the disagreement penalty, in [0, inf).  At 0 the views share only the joint
        loss; a higher value pulls their scores together, which helps where each view predicts well
        alone, and harms where one does not: try 0, and 0.1 to 10.  It is a multiple of the step of
        PA for a loss of 1, ``γ = disagreement min(C, 1 / n)`` for PA-I and rows of the mean squared
        norm n, so that it has no unit; with an ``update`` of the paper it is γ itself.  Ignored if
        the views are independent or concatenated.
    coupling : {"squared", "absolute", "independent", "concatenated"}, default="squared"
        Disagreement D that couples the views.  "squared": half the sum of squared differences
        over all pairs of views, solved in closed form.  "absolute": the sum of absolute
        differences, as in the paper, solved in closed form for two views and by Newton's method,
        exactly, for more.  "independent": each view learns alone, and the scores of the views are
        summed.  "concatenated": one weight vector for all columns.  The last two are baselines
        that are often hard to beat.
    update : {"forward", "exact", "published"}, default="forward"
        "exact" minimizes the objective.  With a disagreement that costs more than the loss, as in
        the paper, γ = 0.5 for C = 0.1, it moves the view that is right away from the label, to
        agree with one that is wrong.  In "forward" no view's margin is lowered: disagreement says
        only which views take how much of the step.  "published" is Algorithm 1 as printed in the
        paper, for two views, "absolute" and PA-I; it does not reach the minimum of the paper's
        objective.  In the Mahalanobis geometry, which the paper does not treat, it is the same
        algorithm with ``x_v'S_v x_v`` in the place of the squared norm.
    geometry : {"euclidean", "mahalanobis"}, default="euclidean"
        Norm of the weight change.  "euclidean": all directions cost the same.  "mahalanobis":
        directions that earlier rows covered cost more, as in `PAMClassifier`; this is slower, and
        often much more accurate on correlated columns.  ``x_v'S_v x_v`` is then in the place
        of the squared norm.
    view_weights : {"equal", "learned"}, default="equal"
        Weights β_v of the views in the joint score, of mean 1.  "learned": exponentiated gradient
        on the joint loss ``max(0, 1 - mean β_v m_v)``, so that better views dominate; no less than
        0.1.  It helps independent views where one says little; coupled by squares it costs as often
        as it helps.

    Attributes
    ----------
    view_weights_, covariance_form_, variance_, classes_, coef_, intercept_, layout_,
    n_features_in_, feature_names_in_

    See Also
    --------
    PassiveAggressiveClassifier : One view.
    PAMClassifier : One view in Mahalanobis geometry.

    Notes
    -----
    The joint score is the mean of the scores of the views that are present, or their sum for
    "independent" and "concatenated".  Learned weights of the views are in ``coef_``,
    ``intercept_`` and the scores of the views: that of view v is ``β_v w_v·x_v``.  The sample
    weight of a row, and that of its class, multiply C, as in `PassiveAggressiveClassifier`, and
    with ``geometry="mahalanobis"`` their product c is in ``S_v^-1 <- S_v^-1 + c x_v x_v'`` as well.
    With more than two classes the margin is the score of the true class minus the score of the
    wrong class that has the highest joint score.

    References
    ----------
    T. T. Nguyen, K. Chang, S. C. Hui, "Two-View Online Learning", PAKDD 2012,
    :doi:`10.1007/978-3-642-30217-6_7`.  The paper treats two views, two
    classes, absolute disagreement and PA-I; all else extends it.  J. Kivinen, M. K. Warmuth,
    "Exponentiated gradient versus gradient descent for linear predictors", Information and
    Computation 132 (1997).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import MultiViewPAClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> views = {"mean": slice(0, 10), "error": slice(10, 20), "worst": slice(20, 30)}
    >>> model = MultiViewPAClassifier(views=views, random_state=0)
    >>> model = model.fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.97
    >>> model.view_scores(scale(X)).shape
    (569, 3)
    """

    _parameter_constraints: ClassVar[dict] = {
        "variant": [StrOptions(set(SLACKS))],
        "disagreement": [
            Interval(Real, 0, None, closed="left"),
            Interval(Integral, 0, None, closed="left"),
        ],
        "coupling": [StrOptions(set(COUPLINGS))],
        "update": [StrOptions({"forward", "exact", "published"})],
        "geometry": [StrOptions({"euclidean", "mahalanobis"})],
        "view_weights": [StrOptions({"equal", "learned"})],
    }

    views: Any = field(default=None, kw_only=False)
    variant: str = "PA-I"
    C: float = 1.0
    disagreement: float = 0.01
    coupling: str = "squared"
    update: str = "forward"
    geometry: str = "euclidean"
    view_weights: str = "equal"
    forgetting: float = 1.0

    # --- parameters ------------------------------------------------------------------

    def _check_combination(self) -> None:
        super()._check_combination()
        if self.forgetting < 1.0 and not self._has_covariance():
            raise InputError(
                f"forgetting={self.forgetting:g} with geometry='euclidean', where there is no "
                "covariance to forget; set geometry='mahalanobis'"
            )
        if self.update == "published" and (self.coupling, self.variant) != ("absolute", "PA-I"):
            raise InputError(
                f"{PUBLISHED}: set coupling='absolute' and variant='PA-I', and give two views"
            )

        if self.view_weights == "learned" and self.coupling == "concatenated":
            raise InputError(
                "view_weights='learned' with coupling='concatenated', which has one weight vector "
                "for all columns; set another coupling"
            )
        if self.view_weights == "learned" and self.update == "published":
            raise InputError(
                f"{PUBLISHED}, in which views count the same: set view_weights='equal'"
            )

    def _check_columns(self, slots: ViewLayout) -> None:
        super()._check_columns(slots)
        if self.update == "published" and slots.n_views != 2:
            raise InputError(f"{PUBLISHED}: give two views (there are {slots.n_views})")

    def _has_covariance(self) -> bool:
        return bool(self.geometry == "mahalanobis")

    def _per_view(self) -> bool:
        return bool(self.coupling != "concatenated")

    def _parts(self, state: State) -> list[StatePart]:
        own = [ViewWeights(state, self)] if self.view_weights == "learned" else []
        return [*super()._parts(state), *own]

    # --- learning and scoring ----------------------------------------------------------

    @property
    def view_weights_(self) -> np.ndarray:
        """Weight β_v of each view in the joint score, (n_views,), of mean 1."""
        check_is_fitted(self, "classes_")
        return self._state.get("beta", np.ones(self._slots.n_views)).copy()

    def _pass(self, examples: Examples) -> tuple[Any, tuple]:
        learn_pass, given = super()._pass(examples)
        if self._has_covariance() or self.coupling == "concatenated":
            return learn_pass, given
        return learn, (*given, self._coupling())

    def _rule(self) -> Rule:
        kind = rules.PAM if self._has_covariance() else rules.PA
        return Rule(kind, SLACKS[self.variant], float(self.C), 0.0)

    @property
    def weighs_rows(self) -> bool:
        """False where the constraint of the update is hard, and the views have equal weights."""
        return super().weighs_rows or self.view_weights == "learned"

    def _coupling(self) -> Coupling:
        """Return how the views are coupled."""
        kind = couplings.PUBLISHED if self.update == "published" else COUPLINGS[self.coupling]
        ours = self.update == "forward"
        return Coupling(kind, float(self.disagreement), ours, ours)

    def _is_mean(self) -> bool:
        return self.coupling not in ("independent", "concatenated")
