"""Classifiers with a covariance: PAM, AROW, CW, SCW and the second-order perceptron."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import special
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms import couplings, rules
from crossview.algorithms.couplings import Coupling
from crossview.algorithms.geometries import changes
from crossview.algorithms.geometries import covariance as forms
from crossview.algorithms.online import Examples
from crossview.algorithms.rules import Rule
from crossview.errors import InputError
from crossview.estimators.base import ColumnWeights, LinearOnlineClassifier, State, StatePart
from crossview.estimators.base.road import Bound, OneExample
from crossview.estimators.base.weights import (
    WeightCovariance,
    check_memory,
)
from crossview.estimators.documentation import document_parameters, with_parameters
from crossview.estimators.parameters import ATTRIBUTES, PARAMETERS
from crossview.estimators.validation import Interval, StrOptions
from crossview.views import ViewLayout

FORMS = {
    forms.FULL: "full",
    forms.DIAGONAL: "diagonal",
    forms.DIAGONAL_COVARIANCE: "diagonal",
    forms.LOW_RANK: "low-rank",
}


@with_parameters
class CovarianceClassifier(LinearOnlineClassifier):
    """Base class of the learners that keep a covariance of their weights, one or one per view."""

    forgetting = 1.0  # some make it a parameter

    covariance: str = "auto"
    rank: int = 256
    diagonal: str = "precision"
    initial_variance: float = 1.0

    def _has_covariance(self) -> bool:
        return True

    # --- learning --------------------------------------------------------------------

    def _pass(self, examples: Examples) -> tuple[Any, tuple]:
        if not self._has_covariance():
            return super()._pass(examples)
        learn_pass = WeightCovariance(self._state, self).learn
        return learn_pass, (examples, self._rule(), self._coupling())

    def _bind_learning(self, row: OneExample) -> Bound | None:
        if not self._has_covariance():
            return super()._bind_learning(row)
        examples = Examples(row.row.rows, row.order, row.number, row.weight, row.scores)
        return WeightCovariance(self._state, self).bind(examples, self._rule(), self._coupling())

    def _coupling(self) -> Coupling:
        """Return how the views are coupled."""
        return Coupling(couplings.INDEPENDENT)

    def _can_restart(self) -> bool:
        return not self._has_covariance() or self.covariance in ("auto", "diagonal")

    def _parts(self, state: State) -> list[StatePart]:
        own = [WeightCovariance(state, self)] if self._has_covariance() else []
        return [*super()._parts(state), *own]

    def _check_combination(self) -> None:
        super()._check_combination()
        if self.forgetting < 1.0 and self.covariance == "low-rank":
            raise InputError(
                f"forgetting={self.forgetting:g} with covariance='low-rank', which keeps rows that "
                "do not fade; set covariance='full' or 'diagonal'"
            )

    def _check_columns(self, slots: ViewLayout) -> None:
        if self._has_covariance() and self.covariance == "full":
            check_memory(list(slots.widths) if self._per_view() else [slots.n_columns])

    # --- attributes -----------------------------------------------------------

    @property
    def covariance_form_(self) -> str:
        """Current form of the covariance: "full", "diagonal" or "low-rank"."""
        return FORMS[self._fitted_covariance(AttributeError).S.form]

    def covariance_matrix(self, view: str | None = None) -> np.ndarray:
        """Return the covariance of the weights as a matrix.

        Parameters
        ----------
        view : str, default=None
            Name of the view; None if there is one covariance for all columns.

        Returns
        -------
        S : ndarray of shape (n, n)
            Its rows and columns are the columns of the view, in the order of `view_columns`, or
            all columns, view by view; with ``fit_intercept`` the constant feature is the last.

        Raises
        ------
        InputError
            No view has this name, or ``view`` is None and there are several covariances.
        """
        covariance = self._fitted_covariance(InputError)
        ptr, names = covariance.ptr, self.layout_.names
        if len(ptr) - 1 < len(names) or view is None:
            if view is not None or len(ptr) > 2:
                what = "one covariance for all columns; leave view= at None"
                if len(ptr) > 2:
                    what = f"one covariance per view; name one of {', '.join(names)}"
                raise InputError(f"view={view!r}: there is {what}")
            v = 0
        elif view not in names:
            raise InputError(f"there is no view {view!r}; there are {', '.join(names)}")
        else:
            v = names.index(view)
        S = changes.dense(covariance.S, v, covariance.bias)
        columns = self._columns.in_block(int(ptr[v]), int(ptr[v + 1])) - int(ptr[v])
        order = np.append(1 + columns, 0) if self.fit_intercept else 1 + columns
        return S[np.ix_(order, order)]

    @property
    def variance_(self) -> np.ndarray:
        """Variance of the weight of each column, (n_features,): the diagonal of the covariance."""
        variances = self._fitted_covariance(AttributeError).variances()
        return self._columns.spread(variances, float(self.initial_variance))

    def _column_weights(self) -> ColumnWeights:
        return ColumnWeights(self.coef_, self.variance_ if self._has_covariance() else None)

    def _fitted_covariance(self, error: type[Exception]) -> WeightCovariance:
        """Return the covariance; an error of this type if there is none."""
        check_is_fitted(self, "classes_")
        if not self._has_covariance() or "S.form" not in self._state:
            raise error("in Euclidean geometry there is no covariance")
        return WeightCovariance(self._state, self)


def normal_quantile(confidence: float) -> float:
    """Return the quantile phi of the standard normal distribution at this probability."""
    return float(special.ndtri(confidence))


PAM_SLACKS = {"PAM": rules.HARD, "PAM-I": rules.LINEAR, "PAM-II": rules.QUADRATIC}
KINDS = {"stdev": rules.CW_STDEV, "variance": rules.CW_VARIANCE}
SCW_SLACKS = {"SCW-I": rules.LINEAR, "SCW-II": rules.QUADRATIC}


@document_parameters(PARAMETERS, attributes=ATTRIBUTES)
@with_parameters
class PAMClassifier(CovarianceClassifier):
    """Passive-aggressive learning in Mahalanobis geometry (PAM).

    Each row solves ``min ½ (w - w_t)' S^-1 (w - w_t)`` subject to ``y w·x >= 1`` (PAM), or adds the
    slack term C ξ (PAM-I) or C ξ² (PAM-II) and relaxes the constraint to ``y w·x >= 1 - ξ``.  With
    loss ``l = max(0, 1 - y w_t·x)`` and ``n = x'S x`` the solution is ``w <- w_t + P y S x`` with
    ``P = l / n`` (PAM), ``min(C, l / n)`` (PAM-I) or ``l / (n + 1/(2C))`` (PAM-II), equations 8 to
    10 of the paper.  A row with a positive loss then updates ``S <- S - S x x' S / (1 + n)``, which
    is ``S^-1 <- S^-1 + x x'``: changes in directions that earlier rows covered become more costly.

    Parameters
    ----------
    variant : {"PAM", "PAM-I", "PAM-II"}, default="PAM-II"
        Slack term for a loss ξ that remains after the update: not allowed ("PAM"), C ξ ("PAM-I") or
        C ξ² ("PAM-II").  With noisy labels do not use "PAM".

    Attributes
    ----------
    covariance_form_, variance_, classes_, coef_, intercept_, layout_, n_features_in_,
    feature_names_in_

    See Also
    --------
    PassiveAggressiveClassifier : The same with S fixed to the identity.
    AROWClassifier : The step of PAM-II with r = 1/(2C), which also scales the covariance update.
    MultiViewPAClassifier : One covariance per view, with a disagreement penalty.

    Notes
    -----
    The sample weight c of a row multiplies C, and the covariance update is
    ``S^-1 <- S^-1 + c x x'``.  All classes share one covariance.

    References
    ----------
    T. T. Nguyen, K. Chang, S. C. Hui, "Distribution-Aware Online Classifiers",
    IJCAI 2011, 1427-1432.  The paper's Algorithm 1 mixes S before and after the row;
    here n and the step use S before it.  More than two classes are an extension.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import PAMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PAMClassifier(random_state=0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.99
    >>> model.covariance_form_
    'full'
    """

    _parameter_constraints: ClassVar[dict] = {"variant": [StrOptions(set(PAM_SLACKS))]}

    variant: str = "PAM-II"
    C: float = 1.0
    forgetting: float = 1.0

    def _rule(self) -> Rule:
        return Rule(rules.PAM, PAM_SLACKS[self.variant], float(self.C), 0.0)


@document_parameters(PARAMETERS, attributes=ATTRIBUTES)
@with_parameters
class AROWClassifier(CovarianceClassifier):
    """Adaptive regularization of weight vectors (AROW).

    Keeps a mean w and a covariance S of the weights.  A row with loss ``l = max(0, 1 - y w·x) > 0``
    and ``n = x'S x`` updates ``w <- w + l y S x / (n + r)`` and ``S <- S - S x x' S / (n + r)``
    (figure 1 of the paper), which is ``S^-1 <- S^-1 + x x' / r``.  This is recursive ridge
    regression on the rows with a positive loss.  Because each row changes the weights only in
    part, AROW is robust to label noise.

    Parameters
    ----------
    r : float, default=1.0
        Regularization, the noise variance of a row, in (0, inf).  A higher value takes smaller
        steps and shrinks the covariance more slowly.  Typical values: 0.1 to 100.

    Attributes
    ----------
    covariance_form_, variance_, classes_, coef_, intercept_, layout_, n_features_in_,
    feature_names_in_

    See Also
    --------
    PAMClassifier : C affects the step, and not the covariance.
    ConfidenceWeightedClassifier : The predecessor, which fits each row exactly.

    Notes
    -----
    The sample weight of a row divides r; with a full covariance a row of weight 2 equals two
    updates with the row.  All classes share one covariance.

    References
    ----------
    K. Crammer, A. Kulesza, M. Dredze, "Adaptive Regularization of Weight
    Vectors", NIPS 2009, 414-422.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import AROWClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AROWClassifier(random_state=0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.98
    >>> model.covariance_form_
    'full'
    """

    _parameter_constraints: ClassVar[dict] = {"r": [Interval(Real, 0, None, closed="neither")]}

    r: float = 1.0
    forgetting: float = 1.0

    def _rule(self) -> Rule:
        return Rule(rules.AROW, rules.HARD, 1.0 / float(self.r), 0.0)


@document_parameters(PARAMETERS, attributes=ATTRIBUTES)
@with_parameters
class ConfidenceWeightedClassifier(CovarianceClassifier):
    """Confidence-weighted learning (CW): a normal distribution over the weights.

    Each row solves ``min KL(N(w, S) || N(w_t, S_t))`` such that a weight vector drawn from N(w, S)
    classifies the row correctly with probability ``confidence``.  With the normal quantile ``phi``
    of this probability the constraint is ``y w·x >= phi sqrt(x'S x)``, or ``y w·x >= phi x'S x`` in
    the variance form.  The solution is in closed form.  The constraint is hard, so a single
    mislabeled row can do much harm; for noisy labels use `SoftConfidenceWeightedClassifier` or
    `AROWClassifier`.

    Parameters
    ----------
    confidence : float, default=0.7
        Probability with which the row just learned is classified correctly, in (0.5, 1).  A higher
        value takes larger steps and shrinks the covariance faster.  Typical values: 0.55 to 0.9.
    form : {"stdev", "variance"}, default="stdev"
        Constraint on the standard deviation of the margin ("Exact Convex CW", 2008), or on its
        variance (ICML 2008).

    Attributes
    ----------
    covariance_form_, variance_, classes_, coef_, intercept_, layout_, n_features_in_,
    feature_names_in_

    See Also
    --------
    SoftConfidenceWeightedClassifier : A slack term in place of the hard constraint.
    AROWClassifier : A squared loss in place of the hard constraint.

    Notes
    -----
    Sample weights have no effect, except that rows of weight 0 are skipped: the constraint has no
    price that they could multiply.  So there is no ``class_weight``.  All classes share one
    covariance.

    References
    ----------
    M. Dredze, K. Crammer, F. Pereira, "Confidence-Weighted Linear
    Classification", ICML 2008 (variance).  K. Crammer, M. Dredze, F. Pereira,
    "Exact Convex Confidence-Weighted Learning", NIPS 2008 (standard deviation).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import ConfidenceWeightedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ConfidenceWeightedClassifier(random_state=0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.98
    >>> model.covariance_form_
    'full'
    """

    _parameter_constraints: ClassVar[dict] = {"form": [StrOptions(set(KINDS))]}
    class_weight: ClassVar[None] = None  # type: ignore[misc]

    confidence: float = 0.7
    form: str = "stdev"

    def _rule(self) -> Rule:
        return Rule(KINDS[self.form], rules.HARD, np.inf, normal_quantile(self.confidence))


@document_parameters(PARAMETERS, attributes=ATTRIBUTES)
@with_parameters
class SoftConfidenceWeightedClassifier(CovarianceClassifier):
    """Soft confidence-weighted learning (SCW).

    Confidence-weighted learning with a slack term in place of the hard constraint.  Each row
    minimizes ``KL(N(w, S) || N(w_t, S_t)) + C l`` (SCW-I) or ``+ C l²`` (SCW-II) with the loss
    ``l = max(0, phi sqrt(x'S x) - y w·x)`` and the normal quantile ``phi`` of ``confidence``.  The
    solutions are in closed form (propositions 1 and 2 of the paper).

    Parameters
    ----------
    variant : {"SCW-I", "SCW-II"}, default="SCW-I"
        Slack term: C l ("SCW-I") or C l² ("SCW-II").
    confidence : float, default=0.7
        Probability with which a row should be classified correctly, in (0.5, 1).  A higher value
        takes larger steps and shrinks the covariance faster.  Typical values: 0.55 to 0.9.

    Attributes
    ----------
    covariance_form_, variance_, classes_, coef_, intercept_, layout_, n_features_in_,
    feature_names_in_

    See Also
    --------
    ConfidenceWeightedClassifier : The limit of an infinite C.

    Notes
    -----
    The sample weight of a row multiplies C.  All classes share one covariance.

    References
    ----------
    J. Wang, P. Zhao, S. C. H. Hoi, "Exact Soft Confidence-Weighted Learning",
    ICML 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import SoftConfidenceWeightedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SoftConfidenceWeightedClassifier(random_state=0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.98
    >>> model.covariance_form_
    'full'
    """

    _parameter_constraints: ClassVar[dict] = {"variant": [StrOptions(set(SCW_SLACKS))]}

    variant: str = "SCW-I"
    confidence: float = 0.7
    C: float = 1.0
    forgetting: float = 1.0

    def _rule(self) -> Rule:
        phi = normal_quantile(self.confidence)
        return Rule(rules.SCW, SCW_SLACKS[self.variant], float(self.C), phi)


@document_parameters(PARAMETERS, attributes=ATTRIBUTES)
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
    covariance_form_, variance_, classes_, coef_, intercept_, layout_, n_features_in_,
    feature_names_in_

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
