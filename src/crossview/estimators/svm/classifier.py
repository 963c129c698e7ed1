"""A multi-view SVM for multivariate performance measures."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import field
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from crossview.algorithms.performance.alternating import Rounds, one_view_at_a_time
from crossview.algorithms.performance.cut import Solution, Stopping
from crossview.algorithms.performance.disagreement import ViewBlocks
from crossview.algorithms.performance.inverse import make_metric
from crossview.algorithms.performance.joint import cutting_planes
from crossview.algorithms.performance.problem import Problem, make_problem, published_price
from crossview.algorithms.performance.working_set import WorkingSet
from crossview.errors import InputError, argument
from crossview.estimators.base import LinearClassifier, Schema, State, StatePart
from crossview.estimators.documentation import document_parameters, with_parameters
from crossview.estimators.parameters import ATTRIBUTES, PARAMETERS
from crossview.estimators.svm.constants import ConstantFeatures
from crossview.estimators.svm.measure import AT_K, MEASURES, WEIGHTED, Measure
from crossview.estimators.targets import several_classes
from crossview.estimators.validation import Interval, StrOptions
from crossview.jobs.threads import threadpool_limits
from crossview.labels import choose_positive
from crossview.saving.schema import Array

# of the learners of inner folds, which only calibrate
TOL_OF_FOLDS = 0.01
# what rounds the products of columns, or makes them infinite
TOO_LARGE = "numbers of X are too large, or too far from 0 for their spread; scale the columns"


class _Learned(NamedTuple):
    """The problem and the solution of one class against the rest."""

    sign: float  # -1: the class is the first of two
    problem: Problem
    solution: Solution


class _TrainingRows:
    """The rows, and what settings with the same C2 have in common."""

    def __init__(
        self, y: np.ndarray, classes: np.ndarray, constants: ConstantFeatures, blocks: ViewBlocks
    ) -> None:
        self.y, self.classes, self.constants, self.blocks = y, classes, constants, blocks
        self.C2: float | None = None

    def prepare(self, C2: float) -> None:
        """Factorize for this C2, unless it is the last one."""
        if C2 != self.C2:
            self.C2, self._cuts = C2, dict[int, WorkingSet]()
            self._metric = make_metric(self.blocks, C2)

    def cuts(self, code: int) -> WorkingSet:
        """Return the cuts of a class so far."""
        if code not in self._cuts:
            self._cuts[code] = WorkingSet(self._metric)
        return self._cuts[code]

    def divide(self, problem: Problem, code: int) -> Problem:
        """Return the problem as it is: the rows are not in parts."""
        return problem


class _SolutionState(StatePart):
    """The weights of a solution, and how the solver came to them, per class."""

    def schema(self) -> Schema:
        K = self.n_scores
        return {
            "W": Array("f8", (self.slots.n_columns, K)),
            "b": Array("f8", (self.slots.n_views, K)),
            "n_iter": Array("i8", (K,), low=0),
            "gap": Array("f8", (K,), -np.inf, np.inf),
            "size": Array("i8", (K,), low=0),
            "history": Array("f8", (int(self.state["n_iter"].sum()), 2), -np.inf, np.inf),
        }


@document_parameters(PARAMETERS, attributes=ATTRIBUTES)
@with_parameters
class MultiViewSVMPerf(LinearClassifier):
    """Linear SVMs, one per view, jointly trained for F1, precision at k, ROC AUC and others.

    A measure such as F1 is a function of all rows together, and not a sum over rows.  With scores
    ``f = sum_v w_v·x_v`` the learner minimizes

        ½ sum_v |w_v|² + C1 m xi + (C2/2) sum_(u<v) |X_u w_u - X_v w_v|²,

    where m is the number of rows n, or for some measures another unit (see the notes), and ``xi``
    is an upper bound of the training loss (1 - measure): the maximum of ``loss - margin`` over all
    labelings of the rows, where the margin is the difference between the scores of the true
    labeling and the labeling.  The last term penalizes disagreement between the views.  A
    cutting-plane algorithm finds the minimum; it stops when the relative gap between the objective
    and a lower bound is at most ``tol``.

    With one view, or ``C2=0``, it is SVM^perf on the concatenated views.

    Parameters
    ----------
    measure : str, Measure or callable, default="f1"
        Performance measure to optimize; see the notes.  "f1", "fbeta", "error_rate",
        "balanced_accuracy", "g_mean" (geometric mean of recall and specificity), "prbep"
        (precision/recall break-even point), "precision_at_k", "recall_at_k", "roc_auc",
        "average_precision"; a function ``(tp, fp, fn, tn) -> value`` of arrays,
        where higher is better, or a `Measure`, which may declare a faster search.
    beta : float, default=1.0
        β of "fbeta", in (0, inf).  Above 1, recall counts more than precision.
    k : int or float, default=0.1
        k of "precision_at_k" and "recall_at_k": a number of rows, those with the highest scores,
        or a fraction of the training rows, in (0, 1), rounded, at least one row.
    C1 : float, default=1.0
        Weight of the loss, in (0, inf).  A higher value fits the training rows more closely and
        needs more cuts.  Typical values: 0.01 to 10.
    C2 : float, default=0.1
        Weight of the squared disagreement between the scores of two views, per row, in [0, inf).  A
        higher value pulls the scores together; with 0 the views share only the loss.  Typical
        values: 0 to 0.1.
    solver : {"joint", "published"}, default="joint"
        "joint": cutting planes over all views together.  "published": Algorithm 1 as printed:
        ``max_iter`` rounds over the views, one view after the other, and the weights of the last
        one; xi may be negative, and the true labeling is no constraint.  With more than one view
        the rounds do not converge to the minimum.  The paper has no intercept
        (``fit_intercept=False``).
    scaling : {"rows", "published"}, default="rows"
        Scale of C1 and of the weights.  "rows": C1 is the weight of the loss of one row, so that a
        useful value does not depend on the number of rows; with "error_rate" it is the C of
        `sklearn.svm.LinearSVC` with the hinge loss.  "published": as printed in the paper, see the
        notes.  C2 is the same in both.
    tol : float, default=0.001
        Relative gap between the objective and its lower bound at which to stop, in (0, inf).
    max_iter : int, default=1000
        Maximum number of iterations; `fit` emits a `ConvergenceWarning` if the gap is still above
        ``tol``.  Each iteration finds one or two most violated labelings and solves a quadratic
        program.
    fit_intercept : bool, default=True
        Whether to learn an intercept per view, as the weight of a constant feature that is
        regularized like all others.  The feature has the value ``1 / sqrt(n_views)``, so that with
        ``C2=0`` the intercepts together act as one constant feature of value 1.  For measures that
        do not determine the decision threshold (see the notes) the intercepts contain it.
    pos_label : label, default=None
        Positive class, with two classes.  None: the one that is called 1, true, yes or the like, or
        the rarer one if it has less than 40 % of the rows, or ``classes_[1]``.

    Attributes
    ----------
    classes_, coef_
    intercept_ : ndarray of shape (n_views,) or (n_classes, n_views)
        One intercept per view.
    n_iter_ : int or ndarray of shape (n_classes,)
        Number of iterations; with more than two classes an array, as for the attributes below.
    dual_gap_ : float or ndarray of shape (n_classes,)
        Final gap between the objective and its lower bound, relative to the objective.
    working_set_size_ : int or ndarray of shape (n_classes,)
        Number of constraints in the last quadratic program.
    objective_history_ : ndarray of shape (n_iter_, 2) or list of such arrays
        Lower bound and best objective after each iteration; with ``solver="published"`` the
        objective of the weights after each round.
    layout_, n_features_in_, feature_names_in_

    See Also
    --------
    MultiViewPAClassifier : Learns online, with the hinge loss of each row.
    Measure : A custom measure.

    Notes
    -----
    The loss of a labeling with a true and b false positives of P positive and N other rows:
    F_beta ``1 - (1+β²) a / (a + β² P + b)``; error rate ``(P - a + b) / n``; balanced accuracy
    ``½ ((P-a)/P + b/N)``; G-mean ``1 - sqrt(a/P · (N-b)/N)``; break-even point ``1 - a/P`` where
    a + b = P.  ROC AUC and average precision have rankings of the rows in place of labelings: the
    fraction of wrongly ordered pairs, and 1 - average precision.  Precision and recall at k are
    equal up to a factor and have the same loss: ``1 - a/(a+b)`` with a + b >= k if k < P,
    otherwise ``1 - a/P`` with a + b <= k; with k = P they are the break-even point.
    "precision_at_k:exact" is ``1 - a/k`` and "recall_at_k:exact" ``1 - a/P`` with a + b = k, as
    printed in Joachims (2005).  Do not use them with k far from P: the true labeling is then not
    among the labelings of the loss, and the weights do not separate the classes.

    Decision threshold: for the break-even point, ROC AUC and average precision it is set so that
    the number of training rows predicted positive equals the number of positive rows; for
    precision and recall at k so that it equals k.

    More than two classes: one problem per class, against the rest.

    Sample weights are supported for the measures that are sums over rows or pairs: error rate,
    balanced accuracy and ROC AUC.  A row of weight 2 counts twice.  For the other measures unequal
    nonzero weights raise an error.  Rows of weight 0 are skipped.

    ``scaling="rows"``: the margin of a labeling y' is ``w·(Psi(y) - Psi(y'))`` over twice a unit,
    where ``Psi(y) = sum_i y_i x_i`` with labels of -1 and 1.  The unit is n; 2P for F and the
    break-even point; 2 min(k, P) for precision and recall at k; PN for the rankings, which have
    pairs of rows in place of rows.  The weight m of xi is the unit, and n for the rankings.
    ``scaling="published"`` is problem (7) as printed, with C1 xi and without the division: its
    weights are ``1 / (2 unit)`` times as large, its C1 is that of "rows" over ``4 unit`` (over
    ``4 unit² / n`` for the rankings), and useful values depend on n.

    References
    ----------
    J. J.-Y. Wang, "Multi-view learning for multivariate performance measures optimization".
    T. Joachims, "A support vector method for multivariate performance measures", ICML 2005.
    :doi:`10.1145/1102351.1102399`.
    Y. Yue, T. Finley, F. Radlinski, T. Joachims, "A support vector method for optimizing average
    precision", SIGIR 2007. :doi:`10.1145/1277741.1277790`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import MultiViewSVMPerf
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> views = {"mean": slice(0, 10), "error": slice(10, 20), "worst": slice(20, 30)}
    >>> model = MultiViewSVMPerf(views=views, measure="f1", C2=0.001).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2), model.dual_gap_ < 1e-3
    (0.98, True)
    """

    _parameter_constraints: ClassVar[dict] = {
        "measure": [StrOptions(set(MEASURES)), Measure, callable],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "k": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
        ],
        "C1": [Interval(Real, 0, None, closed="neither")],
        "C2": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions({"joint", "published"})],
        "scaling": [StrOptions({"rows", "published"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    views: Any = field(default=None, kw_only=False)
    measure: Any = "f1"
    beta: float = 1.0
    k: float = 0.1
    C1: float = 1.0
    C2: float = 0.1
    solver: str = "joint"
    scaling: str = "rows"
    tol: float = 1e-3
    max_iter: int = 1000
    fit_intercept: bool = True
    pos_label: Any = None
    calibration: str = "sigmoid"

    # --- learned state -----------------------------------------------------------

    def _per_view(self) -> bool:
        return True

    def _parts(self, state: State) -> list[StatePart]:
        return [_SolutionState(state, self), *super()._parts(state)]

    def _per_class(self, name: str) -> Any:
        """Return one number, or an array with one number per class."""
        values = self._learned[name]
        return values if len(values) > 1 else values.tolist()[0]

    @property
    def n_iter_(self) -> Any:
        """Number of iterations; an array for more than two classes."""
        return self._per_class("n_iter")

    @property
    def dual_gap_(self) -> Any:
        """Relative gap between the objective and its lower bound; an array for several classes."""
        return self._per_class("gap")

    @property
    def working_set_size_(self) -> Any:
        """Number of constraints in the last quadratic program; an array for several classes."""
        return self._per_class("size")

    @property
    def objective_history_(self) -> Any:
        """Lower bound and best objective after each iteration; a list for several classes."""
        parts = np.split(self._learned["history"], np.cumsum(self._state["n_iter"])[:-1])
        return parts if len(parts) > 1 else parts[0]

    # --- learning ----------------------------------------------------------------

    def fit_path(
        self, X: Any, y: Any, settings: Sequence[Mapping[str, float]], sample_weight: Any = None
    ) -> list[Self]:
        """Fit a copy of the learner for each of several settings of C1 and C2, faster than `fit`.

        Settings of one C2 share the factors of its linear system; of these, each value of C1
        starts from the constraints of the next lower one, which are valid for all.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Labels of two or more classes.
        settings : sequence of mapping of str to float
            Values of ``C1`` and ``C2``; what a mapping leaves out is as in this learner.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, as for `fit`.

        Returns
        -------
        models : list of MultiViewSVMPerf
            In the order of the settings.  Objectives are those of `fit`, to within ``tol``.

        Raises
        ------
        InputError
            A setting names another parameter.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.preprocessing import scale
        >>> from crossview import MultiViewSVMPerf
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> learner = MultiViewSVMPerf([10, 10, 10], C2=0.001)
        >>> models = learner.fit_path(scale(X), y, [{"C1": 0.1}, {"C1": 1.0}])
        >>> [model.C1 for model in models], [model.dual_gap_ < 1e-3 for model in models]
        ([0.1, 1.0], [True, True])
        """
        for setting in settings:
            if others := set(setting) - {"C1", "C2"}:
                raise InputError(f"a setting names {min(others)!r}; a path is of C1 and C2")
        models = [clone(self).set_params(**setting) for setting in settings]
        shared: _TrainingRows | None = None
        for model in sorted(models, key=lambda model: (model.C2, model.C1)):
            model._shared = shared
            shared = model.fit(X, y, sample_weight)._shared
        for model in models:
            del model._shared
        return models

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        # sums of BLAS depend on the number of threads
        with threadpool_limits(1, user_api="blas"):
            self._positive = self._fit_classes(X, y, sample_weight)
            self._calibrate_by_folds(X, y, sample_weight)
            del self._positive

    def _fit_classes(self, X: Any, y: Any, sample_weight: Any) -> list[int]:
        rows, labels, weight = self._rows_to_fit(X, y, sample_weight)
        with np.errstate(over="ignore"):
            if not np.isfinite(rows.data @ rows.data):
                raise InputError(TOO_LARGE)
        shared = getattr(self, "_shared", None)
        if shared is None:
            classes = self._classes_of(labels, weight)
            constants = ConstantFeatures(self.layout_, self.fit_intercept)
            blocks = constants.blocks(rows, weight)
            shared = _TrainingRows(labels, classes, constants, blocks)
        if hasattr(self, "_shared"):
            self._shared = shared
        return self._learn_from(shared)

    def _learn_from(self, shared: Any) -> list[int]:
        """Solve one problem per class for training rows, which may be elsewhere.

        Returns the codes of these classes.
        """
        try:
            found, codes = self._solve_classes(shared)
        except np.linalg.LinAlgError:
            raise InputError(TOO_LARGE) from None
        self.classes_ = shared.classes
        self._store(found, shared.constants, shared.blocks.X)
        return codes

    def _solve_classes(self, shared: Any) -> tuple[list[_Learned], list[int]]:
        shared.prepare(float(self.C2))
        found, codes = [], self._positive_classes(shared.classes, shared.y)
        for code in codes:
            signs = np.where(shared.y == shared.classes[code], 1.0, -1.0)
            problem = shared.divide(self._problem(signs, shared.blocks.weight), code)
            solution = self._solve(shared.blocks, problem, shared.cuts(code))
            first = len(shared.classes) == 2 and code == 0
            found.append(_Learned(-1.0 if first else 1.0, problem, solution))
        return found, codes

    def _fold_params(self, codes: np.ndarray, weight: np.ndarray) -> dict[str, Any]:
        # the slope of a logistic function needs no more
        tol = max(float(self.tol), TOL_OF_FOLDS)
        params = super()._fold_params(codes, weight) | {"tol": tol}
        if len(self._positive) == 1:  # the rows of a fold might choose the other class
            params["pos_label"] = self.classes_.tolist()[self._positive[0]]
        return params

    def _solve(self, blocks: ViewBlocks, problem: Problem, cuts: WorkingSet) -> Solution:
        """Return the solution, beginning with the cuts at hand."""
        C = float(self.C1) * problem.price
        if self.scaling == "published":
            C = published_price(float(self.C1), problem.unit)
        stop = Stopping(float(self.tol), int(self.max_iter))
        if self.solver == "joint":
            solution = cutting_planes(cuts, problem.search, C, stop)
        else:
            rounds = Rounds(blocks, C, float(self.C2))
            solution = one_view_at_a_time(rounds, cuts, problem.search, stop)
        _warn_of_gap(self, solution)
        return solution

    def _store(self, found: list[_Learned], constants: ConstantFeatures, X: Any) -> None:
        W, b, history, V = [], [], [], self.layout_.n_views
        for sign, problem, solution in found:
            unit = 2.0 * problem.unit if self.scaling == "published" else 1.0
            weights, intercepts = constants.split(sign / unit * solution.w)
            if self.fit_intercept:
                threshold = _threshold(problem, X @ solution.w)
                intercepts = intercepts - sign / unit * threshold / V
            W.append(weights)
            b.append(intercepts)
            history.append(solution.history / unit**2)
        self._state = {
            "W": np.ascontiguousarray(np.transpose(W)),
            "b": np.ascontiguousarray(np.transpose(b)),
            "n_iter": np.array([len(one.solution.history) for one in found]),
            "gap": np.array([one.solution.gap for one in found]),
            "size": np.array([one.solution.size for one in found]),
            "history": np.concatenate(history),
        }

    # --- the problem ---------------------------------------------------------------

    def _problem(self, signs: np.ndarray, weight: np.ndarray) -> Problem:
        """Return the problem of the measure for these labels."""
        n, P = len(signs), int((signs > 0).sum())
        if isinstance(self.measure, str):
            name = "fbeta" if self.measure == "f1" else self.measure
            beta = float(self.beta) if self.measure == "fbeta" else 1.0
            k = self.k if isinstance(self.k, Integral) else max(1, round(float(self.k) * n))
            if name in AT_K and k > n:
                raise InputError(
                    f"{argument(k=k)} is more than the {n} rows; give a smaller k, or a "
                    "fraction of the rows"
                )
            return make_problem(name, signs, weight, beta=beta, k=int(k))
        measure = self.measure if isinstance(self.measure, Measure) else Measure(self.measure)
        measure.check(P, n - P)
        return make_problem("custom", signs, weight, delta=measure.loss, concave=measure.concave)

    def _classes_of(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the classes of labels; `InputError` for what cannot be learned."""
        classes = several_classes(y)
        if self.measure not in WEIGHTED and np.ptp(weight) > 0.0:
            raise InputError(
                f"sample_weight is not defined for measure={self.measure!r}, which is not a sum "
                f"over rows; leave it out, or set measure to one of: {', '.join(WEIGHTED)}"
            )
        return classes

    def _positive_classes(self, classes: np.ndarray, y: np.ndarray) -> list[int]:
        """Return the codes of the classes for one-against-rest problems."""
        if self.pos_label is None:
            if len(classes) > 2:
                return list(range(len(classes)))
            return [choose_positive(classes, np.unique(y, return_counts=True)[1])[0]]
        if len(classes) > 2:
            raise InputError(
                f"pos_label requires two classes, and y has {len(classes)}; leave it out"
            )
        found = np.flatnonzero(classes == self.pos_label)
        if not len(found):
            raise InputError(
                f"pos_label={self.pos_label!r} is not among the classes {classes.tolist()!r}"
            )
        return [int(found[0])]


def _threshold(problem: Problem, f: Any) -> float:
    """Return the decision threshold."""
    k = problem.n_predicted
    if k is None:
        return 0.0
    falling = -np.sort(-np.asarray(f))
    after = falling[k] if k < len(falling) else 2.0 * falling[-1] - falling[0] - 1.0
    return float(falling[k - 1] + after) / 2.0


def _warn_of_gap(learner: MultiViewSVMPerf, solution: Solution) -> None:
    if solution.gap <= learner.tol:
        return
    advice = "raise max_iter or tol, lower C1, or scale the columns"
    if learner.solver == "published":
        advice = "set solver='joint', which converges to the minimum"
    warnings.warn(
        f"MultiViewSVMPerf stopped after {len(solution.history)} iterations with a gap of "
        f"{solution.gap:.2g}, above tol={learner.tol:g}; {advice}",
        ConvergenceWarning,
        stacklevel=2,
    )
