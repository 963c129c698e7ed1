"""A multi-view SVM that is trained for the measure that counts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms import performance
from crossview.batch import rows_at, whole_matrix
from crossview.errors import InputError
from crossview.estimators.base import LinearClassifier
from crossview.kernels.rows import Rows

__all__ = ["Measure", "MultiViewSVMPerf"]

MEASURES = (
    "f1",
    "fbeta",
    "error_rate",
    "balanced_accuracy",
    "g_mean",
    "prbep",
    "precision_at_k",
    "recall_at_k",
    "precision_at_k:exact",
    "recall_at_k:exact",
    "roc_auc",
    "average_precision",
)
# these are sums over rows or pairs, so a row may count more than another
WEIGHTED = ("error_rate", "balanced_accuracy", "roc_auc")
AT_K = ("precision_at_k", "recall_at_k", "precision_at_k:exact", "recall_at_k:exact")
# tables on which a measure of one's own is looked at before it is used
TABLES_TO_CHECK = 1000


@dataclass(frozen=True)
class Measure:
    """A measure of one's own for `MultiViewSVMPerf`, a function of the contingency table.

    Parameters
    ----------
    function : callable
        ``function(tp, fp, fn, tn)`` takes arrays of counts (true positives, false
        positives, false negatives, true negatives; shapes that broadcast) and
        returns an array of values.  Higher is better, and the table without
        mistakes must be the best.
    concave : bool, default=False
        Whether, for a given ``tp``, the loss (the best value minus the value) is concave
        in ``fp``, as that of F1 is.  Then the most violated labeling is found in n log n
        steps.  Otherwise all tables are looked at, P times N of them.

    Examples
    --------
    Jaccard's index of the positive rows:

    >>> from crossview import Measure
    >>> jaccard = Measure(lambda tp, fp, fn, tn: tp / (tp + fp + fn), concave=True)
    >>> jaccard.loss(8, 2, P=10, N=90)
    0.33333333333333337
    """

    function: Callable[..., Any]
    concave: bool = False

    def loss(self, a: Any, b: Any, P: int, N: int) -> Any:
        """The best value minus that of some tables.

        Parameters
        ----------
        a, b : int or ndarray of int
            True and false positives.
        P, N : int
            Positive and other rows.

        Returns
        -------
        loss : float or ndarray
            0 where there is no mistake.
        """
        return self.function(P, 0, 0, N) - self.function(a, b, P - a, N - b)

    def check(self, P: int, N: int, random_state: int = 0) -> None:
        """Refuse a function that is none of tables, on the corners and some of the others.

        Parameters
        ----------
        P, N : int
            Positive and other rows.
        random_state : int, default=0
            Which tables.

        Raises
        ------
        InputError
            It does not take arrays, a value is not finite or better than that of no mistakes,
            or the loss is not concave though it is said to be.
        """
        rng = np.random.default_rng(random_state)
        a = np.concatenate([[0, 0, P, P], rng.integers(0, P + 1, TABLES_TO_CHECK)])
        b = np.concatenate([[0, N, 0, N], rng.integers(0, N + 1, TABLES_TO_CHECK)])
        try:
            with np.errstate(all="ignore"):
                loss = np.asarray(self.loss(a, b, P, N), dtype=np.float64)
                sides = [np.asarray(self.loss(a, np.clip(b + d, 0, N), P, N)) for d in (-1, 1)]
        except Exception as error:
            raise InputError(
                f"measure= failed on arrays of tp, fp, fn, tn ({error}); it must take them and "
                "return an array of values"
            ) from error
        if loss.shape != a.shape:
            raise InputError(
                f"measure= returned the shape {loss.shape} for tables of the shape {a.shape}; "
                "it must return one value a table"
            )
        wrong = ~np.isfinite(loss) | (loss < -1e-12)
        if wrong.any():
            i = int(np.argmax(wrong))
            table = f"tp={a[i]}, fp={b[i]}, fn={P - a[i]}, tn={N - b[i]}"
            what = "is better than no mistakes" if np.isfinite(loss[i]) else "is not finite"
            raise InputError(f"the measure of {table} {what}; higher must be better, and finite")
        inner = (b > 0) & (b < N)
        if self.concave and (sides[0] + sides[1] - 2.0 * loss > 1e-9)[inner].any():
            raise InputError(
                "measure= has concave=True, but its loss is not concave in fp; leave it out"
            )


class MultiViewSVMPerf(LinearClassifier):
    """A linear SVM a view, trained together for F1, precision at k, ROC area, ...

    A measure such as F1 is one number of all rows, not a sum over them.  With scores
    ``f = sum_v w_v·x_v`` this minimizes

        ½ sum_v |w_v|² + C1 n xi + (C2/2) sum_(u<v) |X_u w_u - X_v w_v|²,

    where ``xi`` bounds the training loss (1 - measure) from above: it is the largest ``loss of
    y' - margin``, over all labelings y' of all rows, of the margin with which the true
    labels win against them.  The last term holds the views to agree.  Cutting
    planes find the minimum to a relative gap of ``tol`` that is known, not hoped for.

    With one view, or ``C2=0``, it is SVM^perf on the concatenation.

    Parameters
    ----------
    views : dict, list of int or None, default=None
        Which columns of ``X`` form each view: a dict of name to columns (a
        slice, positions, names, or a glob such as ``"user_*"``), or a list of
        widths of consecutive blocks.  None: ``X`` is a MultiView and says so
        itself, or it is one view.
    measure : str, Measure or callable, default="f1"
        What is optimized; see the notes.  "f1", "fbeta", "error_rate",
        "balanced_accuracy", "g_mean" (geometric mean of recall and specificity), "prbep"
        (precision/recall break-even point), "precision_at_k", "recall_at_k", "roc_auc",
        "average_precision"; a function ``(tp, fp, fn, tn) -> value`` of arrays,
        higher being better, or a `Measure`, which may say that it is easy to search.
    beta : float, default=1.0
        Of "fbeta", in (0, inf): above 1 recall counts more than precision.
    k : int or float, default=0.1
        Of "precision_at_k" and "recall_at_k": the number of rows with the highest
        scores, or a share of the training rows, in (0, 1), rounded, at least one row.
    C1 : float, default=1.0
        Price of the loss, in (0, inf).  Higher fits the training rows more closely and
        takes more cuts.
    C2 : float, default=0.1
        Price of disagreement between two views, a row, in [0, inf).  Higher pulls their
        scores together; 0: the views share the loss and nothing else.
    solver : {"joint", "alternating", "published"}, default="joint"
        "joint": all views at once, the fastest.  "alternating": Algorithm 1 of the paper with
        its sums corrected and one set of multipliers for all views, which comes to the same
        minimum from above.  "published": Algorithm 1 as printed; with more than one view
        it does not reach the minimum.
    scaling : {"rows", "paper"}, default="rows"
        Unit of C1 and of the weights.  "rows": a row that is wrong asks for a margin of about 1,
        and C1 is the price of one row, so that it means the same for any number of rows:
        with "error_rate" it is the C of `sklearn.svm.LinearSVC` with the hinge loss.  "paper": as
        printed, see the notes.  C2 is the same in both.
    tol : float, default=0.001
        Relative gap between the objective and its lower bound at which it stops, in (0, inf).
    max_iter : int, default=1000
        Rounds after which it stops with a `ConvergenceWarning` if the gap is still above
        ``tol``; each looks for a labeling or two and solves a quadratic program.
    fit_intercept : bool, default=True
        Learn an intercept a view, as the weight of a constant feature that is regularized
        as all others are; its value is ``1 / sqrt(n_views)``, so that with ``C2=0`` all of them
        together are one constant of 1.  Measures that do not say where to cut (see the notes)
        have their cut put into the intercepts.
    pos_label : label, default=None
        With two classes: the one that the measure is about.  None: ``classes_[1]``.
    warm_start : bool, default=False
        `fit` on the same labels starts from the cuts that the last one needed: they hold for any
        C1, C2 and columns.  For a path of C1, start with the smallest.  Not with another measure,
        and for ``solver="joint"``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of all views, in the order of the columns; 0 for columns in no view.
    intercept_ : ndarray of shape (n_views,) or (n_classes, n_views)
        One intercept a view.
    n_iter_ : int or ndarray of shape (n_classes,)
        Rounds, each with a labeling or two that were looked for; an array with more than two
        classes, and so below.
    dual_gap_ : float or ndarray of shape (n_classes,)
        Gap between the objective and its lower bound at the end, relative to the objective.
    working_set_size_ : int or ndarray of shape (n_classes,)
        Labelings in the last quadratic program.
    objective_history_ : ndarray of shape (n_iter_, 2) or list of such arrays
        The lower bound, and the best objective so far, after each round.
    layout_ : ViewLayout
        Names and widths of the views.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` was a data frame.

    See Also
    --------
    MultiViewPAClassifier : Learns from streams, for the number of mistakes.
    Measure : A measure of one's own.

    Notes
    -----
    What a labeling loses, with a true and b false positives of P positive and N other rows:
    F_beta ``1 - (1+β²) a / (a + β² P + b)``; error rate ``(P - a + b) / n``; balanced accuracy
    ``½ ((P-a)/P + b/N)``; G-mean ``1 - sqrt(a/P · (N-b)/N)``; break-even point ``1 - a/P`` where
    a + b = P; ROC area: the share of wrongly ordered pairs, average precision: 1 - itself, for
    orders in place of labelings.  Precision and recall at k are the same up to a factor, and
    trained for alike: ``1 - a/(a+b)`` where a + b >= k if k < P, else ``1 - a/P`` where a + b <= k.
    "precision_at_k:exact" is ``1 - a/k`` and "recall_at_k:exact" ``1 - a/P`` where a + b = k, as
    Joachims (2005) prints them; with k far from P they are worthless, because the true
    labeling is not among those it is compared with.

    The cut: with the break-even point and ROC area, average precision, the intercepts are such that
    as many training rows are predicted positive as there are, with precision and recall at k
    that k are.

    Several classes: each against the rest, one problem a class.

    Row weights are for the measures that are sums over rows or pairs: error rate, balanced accuracy
    and ROC area.  A row of weight 2 is the row twice.  With the others only weights that are all
    the same, or 0, make sense, and others are an error.  A row of weight 0 is not there.

    ``scaling="rows"``: weights of labelings are divided by a unit (n; 2P for F, the break-even
    point and recall at k; 2k for precision at k; PN pairs for the orders), and the price of xi
    is C1 times the unit (n for the orders).  ``scaling="paper"`` is problem (7) as printed, with
    ``Psi = sum_i y_i x_i``: its weights are ``1 / (2 unit)`` times as large, its C1 is that of
    "rows" over ``4 unit`` (over ``4 unit² / n`` for the orders), and useful values move with n.

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
        "views": [Mapping, "array-like", None],
        "measure": [StrOptions(set(MEASURES)), Measure, callable],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "k": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
        ],
        "C1": [Interval(Real, 0, None, closed="neither")],
        "C2": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions({"joint", "alternating", "published"})],
        "scaling": [StrOptions({"rows", "paper"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "warm_start": ["boolean"],
    }

    def __init__(
        self,
        views: Any = None,
        *,
        measure: Any = "f1",
        beta: float = 1.0,
        k: float = 0.1,
        C1: float = 1.0,
        C2: float = 0.1,
        solver: str = "joint",
        scaling: str = "rows",
        tol: float = 1e-3,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        pos_label: Any = None,
        warm_start: bool = False,
    ) -> None:
        self.views = views
        self.measure = measure
        self.beta = beta
        self.k = k
        self.C1 = C1
        self.C2 = C2
        self.solver = solver
        self.scaling = scaling
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.pos_label = pos_label
        self.warm_start = warm_start

    # --- learning ----------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        known = getattr(self, "_known", None) if self.warm_start else None
        rows = self._read(X, reset=True)
        y = self._labels(y, rows)
        weight = self._sample_weight(sample_weight, y)
        if (weight == 0.0).any():
            here = np.flatnonzero(weight)
            rows, y, weight = rows_at(rows, here), y[here], weight[here]
        classes = np.unique(y)
        if len(classes) < 2:
            held = f"one class, {classes.tolist()[0]!r}" if len(classes) else "no row of weight"
            raise InputError(f"y has {held}; a classifier needs two or more")
        self._check_weights(weight)
        positive = self._positive_classes(classes)
        # 1. all views side by side, each with its constant, and how they disagree
        matrix, ptr = self._with_constants(rows)
        n, V = len(y), self.layout_.n_views
        present = rows.present if len(rows.present) else np.ones((n, V), dtype=bool)
        M = None
        if V > 1 and self.C2 > 0.0:
            M = performance.disagreement(matrix, ptr, present, weight)
        solve = performance.Inverse(M, float(self.C2))
        # 2. one problem a class
        found, self._known = [], {}
        for code in positive:
            signs = np.where(y == classes[code], 1.0, -1.0)
            cuts = [] if known is None else known.get((code, signs.tobytes(), self.measure), [])
            problem, solution = self._solve(matrix, ptr, present, signs, weight, solve, cuts)
            if self.warm_start:
                self._known[code, signs.tobytes(), self.measure] = solution.cuts
            sign = -1.0 if len(classes) == 2 and code == 0 else 1.0
            found.append((sign, problem, solution))
        self.classes_ = classes
        self._store(found, matrix)

    def _solve(
        self,
        matrix: Any,
        ptr: np.ndarray,
        present: np.ndarray,
        signs: np.ndarray,
        weight: np.ndarray,
        solve: performance.Inverse,
        known: list[performance.Cut],
    ) -> tuple[performance.Problem, performance.Solution]:
        problem = self._problem(signs, weight)
        C = float(self.C1) * problem.price
        if self.scaling == "paper":
            C = performance.printed_price(float(self.C1), problem.unit)
        stop: dict[str, Any] = {"tol": float(self.tol), "max_iter": int(self.max_iter)}
        if self.solver == "joint":
            solution = performance.cutting_planes(
                matrix, problem.search, solve, C, **stop, known=known, keep=self.warm_start
            )
        else:
            solution = performance.one_view_at_a_time(
                matrix,
                ptr,
                present,
                problem.search,
                solve,
                C,
                float(self.C2),
                **stop,
                weight=weight,
                printed=self.solver == "published",
            )
        if solution.gap > self.tol:
            advice = "raise max_iter or tol, lower C1, or scale the columns"
            if self.solver == "published":
                advice = "take solver='joint', which reaches the minimum"
            warnings.warn(
                f"MultiViewSVMPerf stopped after {len(solution.history)} rounds with a gap of "
                f"{solution.gap:.2g}, above tol={self.tol:g}; {advice}",
                ConvergenceWarning,
                stacklevel=2,
            )
        return problem, solution

    def _problem(self, signs: np.ndarray, weight: np.ndarray) -> performance.Problem:
        """The search of the measure for these labels."""
        n, P = len(signs), int((signs > 0).sum())
        if isinstance(self.measure, str):
            name = "fbeta" if self.measure == "f1" else self.measure
            beta = float(self.beta) if self.measure == "fbeta" else 1.0
            k = self.k if isinstance(self.k, Integral) else max(1, round(float(self.k) * n))
            if name in AT_K and k > n:
                raise InputError(f"k={k} is more than the {n} rows; give a smaller one, or a share")
            return performance.make_problem(name, signs, weight, beta=beta, k=int(k))
        measure = self.measure if isinstance(self.measure, Measure) else Measure(self.measure)
        measure.check(P, n - P)
        return performance.make_problem(
            "custom", signs, weight, delta=measure.loss, concave=measure.concave
        )

    def _check_weights(self, weight: np.ndarray) -> None:
        if self.measure not in WEIGHTED and np.ptp(weight) > 0.0:
            raise InputError(
                f"sample_weight has no meaning for measure={self.measure!r}, which is not a sum "
                f"over rows; leave it out, or take one of: {', '.join(WEIGHTED)}"
            )

    def _positive_classes(self, classes: np.ndarray) -> list[int]:
        """The codes of the classes that are each held against the rest."""
        if self.pos_label is None:
            return [1] if len(classes) == 2 else list(range(len(classes)))
        if len(classes) > 2:
            raise InputError(
                f"pos_label is for two classes, and there are {len(classes)}; leave it out"
            )
        found = np.flatnonzero(classes == self.pos_label)
        if not len(found):
            raise InputError(f"pos_label={self.pos_label!r} is none of {classes.tolist()!r}")
        return [int(found[0])]

    def _constant(self) -> float:
        """The value of the constant feature of each view."""
        return self.layout_.n_views**-0.5 if self.fit_intercept else 0.0

    def _with_constants(self, rows: Rows) -> tuple[Any, np.ndarray]:
        """The rows with a constant column after each view, and where each view begins."""
        matrix, ptr = whole_matrix(rows), self.layout_.ptr
        if not self.fit_intercept:
            return matrix, ptr
        V, n = self.layout_.n_views, matrix.shape[0]
        present = rows.present if len(rows.present) else np.ones((n, V), dtype=bool)
        constants = self._constant() * present.astype(np.float64)
        parts = []
        for v in range(V):
            column = constants[:, v : v + 1]
            parts += [matrix[:, ptr[v] : ptr[v + 1]], column]
        if sp.issparse(matrix):
            return sp.csr_array(sp.hstack(parts, format="csr")), ptr + np.arange(V + 1)
        return np.hstack(parts), ptr + np.arange(V + 1)

    def _store(
        self,
        found: list[tuple[float, performance.Problem, performance.Solution]],
        matrix: Any,
    ) -> None:
        ptr, V = self.layout_.ptr, self.layout_.n_views
        places, constants = np.arange(ptr[-1]), np.empty(0, dtype=np.int64)
        if self.fit_intercept:  # each view's constant comes after it
            places = places + np.searchsorted(ptr, places, side="right") - 1
            constants = ptr[1:] + np.arange(V)
        W, b, history = [], np.zeros((V, len(found))), []
        for j, (sign, problem, solution) in enumerate(found):
            unit = 2.0 * problem.unit if self.scaling == "paper" else 1.0
            w = sign / unit * solution.w
            W.append(w[places])
            if self.fit_intercept:
                b[:, j] = w[constants] * self._constant()
                b[:, j] -= sign / unit * self._cut(problem, matrix @ solution.w) / V
            history.append(solution.history / unit**2)
        self._state = {
            "W": np.ascontiguousarray(np.transpose(W)),
            "b": b,
            "n_iter": np.array([len(solution.history) for _, _, solution in found]),
            "gap": np.array([solution.gap for _, _, solution in found]),
            "size": np.array([solution.size for _, _, solution in found]),
            "history": np.concatenate(history),
        }

    def _cut(self, problem: performance.Problem, f: np.ndarray) -> float:
        """The score above which a row is to be predicted positive."""
        k = problem.n_predicted
        if k is None:
            return 0.0
        falling = -np.sort(-f)
        after = falling[k] if k < len(f) else 2.0 * falling[-1] - falling[0] - 1.0
        return float(falling[k - 1] + after) / 2.0

    # --- using -------------------------------------------------------------------

    def _n_biases(self) -> int:
        return self._slots.n_views

    def _each(self, name: str) -> Any:
        """One number, or one a class."""
        check_is_fitted(self, "_state")
        values = self._state[name]
        return values if len(values) > 1 else values.tolist()[0]

    @property
    def n_iter_(self) -> Any:
        """Rounds of cuts and programs, for each of several classes."""
        return self._each("n_iter")

    @property
    def dual_gap_(self) -> Any:
        """Relative gap between the objective and its lower bound, for each of several classes."""
        return self._each("gap")

    @property
    def working_set_size_(self) -> Any:
        """Labelings in the last quadratic program, for each of several classes."""
        return self._each("size")

    @property
    def objective_history_(self) -> Any:
        """Lower bound and best objective after each round; a list for several classes."""
        check_is_fitted(self, "_state")
        parts = np.split(self._state["history"], np.cumsum(self._state["n_iter"])[:-1])
        return parts if len(parts) > 1 else parts[0]
