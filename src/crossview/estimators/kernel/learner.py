"""Base class of KeCo and Pegasos: parameters, labels, learning and scoring."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms.kernel.quota import Stream
from crossview.algorithms.kernel.scores import mean_scores
from crossview.algorithms.kernel.step import Examples, Settings
from crossview.batch import blocks_of, entries_of, read_only, rows_at
from crossview.errors import InputError, UnlabeledRowsWarning, argument, argument_spelling
from crossview.estimators.base import Columns, ColumnWeights, State, StatePart, Takes, ViewLearner
from crossview.estimators.base.single_rows import check_learned
from crossview.estimators.documentation import described, with_parameters
from crossview.estimators.kernel.features import FeatureWeights
from crossview.estimators.kernel.random_views import RandomColumns
from crossview.estimators.kernel.supports import MAINTENANCE, SupportVectors
from crossview.estimators.kernel.training import TrainingSet, learn_drawn
from crossview.estimators.kernel.values import (
    KERNELS,
    KernelFunction,
    ViewKernels,
    value_of_view,
    view_gammas,
    without_overflowing_rows,
)
from crossview.estimators.parameters import ATTRIBUTES, PARAMETERS
from crossview.estimators.validation import Interval, StrOptions
from crossview.kernels.rows import Rows
from crossview.portable.scoring import ViewSum
from crossview.views import MultiView, ViewLayout

_KIND, _DESCRIPTION = PARAMETERS["views"]
_VIEWS = _KIND, f"{_DESCRIPTION}\n``random_views`` generates the views instead."

KERNEL = (
    PARAMETERS
    | {"views": _VIEWS}
    | described(
        """
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable
        Kernel function: exp(-γ |a - b|²), a·b, or (γ a·b + coef0)^degree.  "linear" keeps explicit
        weights and no support vectors.  "precomputed": each view of X is a matrix of kernel
        values, square in `fit`; there is no `partial_fit`.  A callable takes two arrays of rows of
        a view (CSR arrays if X is sparse) and returns the matrix of their kernel values.
    gamma : float, "median", "scale" or dict of str to one of them
        Kernel coefficient γ of all views, in (0, inf); a dict gives it per view.  "median": 1 over
        the median squared distance between rows (of up to 500 rows), a common heuristic.
        "scale": 1 / (columns * variance).  On a stream both are estimated from the first batch,
        and are 1 / columns if all its rows are equal.  A higher value makes the score less smooth:
        only closer rows are similar.
    degree : float
        Degree of "poly", in (0, inf).
    coef0 : float
        Constant term of "poly".
    lam : float or dict of str to float
        Regularization strength λ of all views, in (0, inf); a dict gives it per view.  A higher
        value gives a smoother score, and more support vectors.  It is 1 / (n C) in terms of the C
        of a support vector machine on n rows.
        Typical values: 1e-4 to 0.1.
    n_iterations : int or "auto"
        Number T of steps in `fit`, each with one drawn row; with ``schedule="rounds"``, in each
        round.  "auto": 1000, doubled until the mean hinge loss of a held-out third of the labeled
        rows falls by less than 1 %; at most 10,000, or 10 per labeled row if that is more.  A
        round then has at least 4 per row that it labels.  More steps come closer to the minimum.
        Ignored with ``schedule="stream"``.  Typical values: 1000 to 100,000.
    schedule : {"rounds", "half-labeled", "published", "uniform", "stream"}
        How `fit` draws the rows, with replacement.  "rounds": first labeled rows only.  Then five
        times the joint score labels the unlabeled rows on which the views agree most, more of them
        each time, and the model learns again, from labeled and unlabeled rows in turn.
        "half-labeled": labeled rows in the first half of the steps, then labeled and unlabeled
        rows in turn, as in the experiments of the paper; the other views label an unlabeled row
        when it is drawn.  "published": the same with the step counter of the authors' code, where
        step t = 0, 1, ... draws an unlabeled row if t > T/2 and t is even.  "uniform": any row,
        Algorithm 1.  "stream": no draws; each row once, in order, as in `partial_fit`.
    include_self : bool
        Whether the score of a row in `fit` includes its own support vector.  With it the steps
        converge to the support vector machine.  The KeCo paper excludes it, the authors' code
        includes it; on a stream each row comes once.
    average : bool
        Whether `fit` keeps the mean of the weights of all its steps, weighted by the number of
        the step, instead of the last weights.  The mean has less variance.  A stream keeps the
        last weights.
    fit_intercept : bool
        Whether to learn an intercept per view: 1 is added to each kernel value, so the intercept
        is the weight of a constant feature and as regularized as the other weights.
    random_views : (int, float)
        Number of views to generate and the fraction of the columns in each, drawn at random, such
        as (2, 0.75) in the paper.  A poor choice for tables of few columns.
    unlabeled : label
        Label that marks unlabeled rows, besides NaN and None; for example -1, as in scikit-learn.
    budget : int
        Maximum number of support vectors per view on a stream (`partial_fit`, `learn_one`,
        ``schedule="stream"``); it bounds memory and the time per row.  None: no limit.  Typical
        values: 100 to 1000.
    maintenance : {"removal", "projection", "merging"}
        Budget maintenance: what happens to the support vector of the smallest coefficient when
        the budget is exceeded.  "removal": it is removed.  "projection": it is projected onto the
        others, which is the most accurate and costs O(budget³) per update.  "merging": it is
        merged with another one into a point between them ("rbf" only; costs O(budget * columns),
        and the support vectors become dense).
    approximation : {"fourier", "nystroem"}
        Explicit feature map that approximates the kernel of each view ("rbf"; "nystroem" also
        "poly"), by scikit-learn's `RBFSampler` or `Nystroem`.  The learner then keeps a weight per
        feature, and the time per row does not grow with the stream.  "nystroem" samples its
        landmarks from the first batch.
    n_components : int
        Number of features per view of an approximation.  More approximate the kernel better.
    class_weight : dict, "balanced" or None
        Weight of each class, which multiplies the sample weight.  "balanced": inversely
        proportional to the summed weight of its labeled rows (`fit` only).
    cache_size : float
        Size of the cache of kernel values in `fit`, in MB.  A larger cache recomputes fewer values.
    verbose : bool
        Whether to show a progress bar on stderr (needs rich).
    """
    )
)

KERNEL_ATTRIBUTES = ATTRIBUTES | described(
    """
    n_support_ : dict of str to int
        Number of support vectors of each view.
    dual_coef_ : dict of str to ndarray of shape (n_scores, n_support)
        Coefficients α z of the support vectors of each view; with ``average`` their mean.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights of the columns; only for ``kernel="linear"``.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept of the joint score of rows without a missing view.
    gamma_ : dict of str to float
        γ of each view.
    n_steps_ : int
        Number of steps so far; with ``schedule="rounds"``, of the last round.
    """
)

# of the rows of which each is scored again without each of its entries
ENTRIES_AT_ONCE = 1 << 20


@with_parameters
class KernelLearner(ViewLearner):
    """Base class of KeCo and Pegasos: `fit` on drawn rows, passes over a stream, scores.

    ``learns_unlabeled``: whether unlabeled rows are learned; otherwise they only count as steps.
    ``squared``: whether it predicts numbers.
    """

    _takes: ClassVar[Takes] = "all"  # γ is of the first rows
    learns_unlabeled: ClassVar[bool]
    squared: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict] = {
        "kernel": [StrOptions({*KERNELS, "precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions({"median", "scale"}), dict],
        "degree": [Interval(Real, 0, None, closed="neither")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "lam": [Interval(Real, 0, None, closed="neither"), dict],
        "n_iterations": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "unlabeled_ratio": [Interval(Real, 0, None, closed="both")],
        "random_views": [tuple, list, None],
        "budget": [Interval(Integral, 1, None, closed="left"), None],
        "maintenance": [StrOptions(set(MAINTENANCE))],
        "approximation": [StrOptions({"fourier", "nystroem"}), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
    }

    views: Any = field(default=None, kw_only=False)
    kernel: Any = "rbf"
    gamma: Any = "median"
    degree: float = 3
    coef0: float = 1.0
    lam: Any = 1e-3
    n_iterations: int | str = "auto"
    schedule: str = "rounds"
    unlabeled_ratio: float = 1 / 3
    average: bool = True
    fit_intercept: bool = True
    random_views: tuple[int, float] | None = None
    budget: int | None = None
    maintenance: str = "removal"
    approximation: str | None = None
    n_components: int = 100
    cache_size: float = 200
    verbose: Any = False
    random_state: Any = None

    def _check_combination(self) -> None:
        approximated = {"fourier": ("rbf",), "nystroem": ("rbf", "poly")}
        if self.approximation is not None and self.kernel not in approximated[self.approximation]:
            raise InputError(
                f"approximation={self.approximation!r} with kernel={self.kernel!r}; 'fourier' is "
                "for 'rbf', and 'nystroem' for 'rbf' and 'poly'"
            )
        if self.budget is not None:
            if self.approximation or self.kernel in ("linear", "precomputed"):
                raise InputError(
                    "budget= bounds the support vectors, and does not apply to kernel='linear', "
                    "kernel='precomputed' or approximation=; leave it at None"
                )
            if self.maintenance == "merging" and self.kernel != "rbf":
                raise InputError(
                    "maintenance='merging' is for kernel='rbf'; set 'projection' or 'removal'"
                )
        given: Any = self.random_views
        if given is None:
            return
        if self.views is not None:
            raise InputError(f"random_views= makes the views; leave {argument('views')} at None")
        if len(given) != 2 or not (
            isinstance(given[0], Integral) and int(given[0]) >= 1 and 0.0 < float(given[1]) <= 1.0
        ):
            raise InputError(
                f"random_views={given!r}; give the number of views and the fraction of the columns "
                "in each, such as (2, 0.75)"
            )

    def check_streams(self) -> None:
        """Raise an error for a precomputed kernel, which needs all rows in memory.

        Raises
        ------
        InputError
            The message names the parameter.
        """
        if self.kernel == "precomputed":
            raise InputError("kernel='precomputed' needs all rows in memory; use fit")

    def _check_columns(self, slots: ViewLayout) -> None:
        _view_lams(self.lam, slots.names)
        if self.approximation is not None and hasattr(self, "_state"):
            raise InputError(
                "an approximation is fitted to the first rows and cannot add columns; "
                "leave approximation= at None, or give all rows the same columns"
            )

    # --- columns and labels --------------------------------------------------------------

    def _new_columns(self, X: Any) -> Columns:
        if self.random_views is None:
            return super()._new_columns(X)
        n_views, fraction = self.random_views
        width = X.layout.n_columns if isinstance(X, MultiView) else X.shape[1]
        return RandomColumns.draw(width, n_views, fraction, self.random_state)

    def _columns_from(self, header: Mapping[str, Any]) -> Columns:
        kind = Columns if self.random_views is None else RandomColumns
        return kind.from_json(header, type(self).__name__)

    def _header(self) -> dict[str, Any]:
        return {"subsets": None, **super()._header()}

    def _header_schema(self) -> dict[str, Any]:
        subsets = None if self.random_views is None else [[int]]
        return {**super()._header_schema(), "subsets": subsets}

    def _read_one(self, x: Any, *, learn: bool) -> Rows:
        if self.random_views is not None and isinstance(x, Mapping):
            raise InputError("random_views= does not support rows that are mappings; give arrays")
        return super()._read_one(x, learn=learn)

    # --- model ---------------------------------------------------------------------------

    @property
    def _explicit(self) -> bool:
        """True for a model with explicit weights, and no support vectors."""
        return self.kernel == "linear" or self.approximation is not None

    def _model(self, state: State) -> FeatureWeights | SupportVectors:
        """Return the model that learns, on these arrays."""
        kind = FeatureWeights if self._explicit else SupportVectors
        return kind(state, self)

    def _parts(self, state: State) -> list[StatePart]:
        return [self._model(state), *super()._parts(state)]

    def _explain_no_merge(self, missing: Sequence[str]) -> str:
        return (
            "its support vectors are rows; set kernel='linear' or approximation='fourier', which "
            "keep weights"
        )

    # --- learning ------------------------------------------------------------------------

    def _warn_of_one_view(self, labels: np.ndarray) -> None:
        if self.learns_unlabeled and len(self.layout_.names) == 1 and np.isnan(labels).any():
            ours = "" if argument_spelling() else ", or random_views=(2, 0.75)"
            warnings.warn(
                "co-agreement needs two views, so the unlabeled rows have no effect; give "
                f"{argument('views')}{ours}",
                UnlabeledRowsWarning,
                stacklevel=5,
            )

    def _prepare(self, rows: Rows) -> None:
        """Initialize what depends on the first rows: γ, and the features of an approximation."""
        state = self._state
        if state["gamma"].size:
            return
        state["dense"][0] = rows.shared
        state["gamma"] = _gammas(self, self.gamma, rows)
        self._model(self._state).prepare(
            rows, int(self.n_components), lambda: check_random_state(self.random_state)
        )

    def _settings(self, *, drawn: bool) -> Settings:
        """Return the constants of a pass over drawn rows, or over those of a stream."""
        raise NotImplementedError

    def _learn_all(self, rows: Rows, labels: np.ndarray, weight: np.ndarray) -> np.ndarray | None:
        """Make the steps of `fit`; return the scores of a stream, before each row was learned."""
        self._warn_of_one_view(labels)
        random_state = check_random_state(self.random_state)
        self._prepare(rows)
        if self.schedule != "stream":
            self._learn_draws(TrainingSet(rows, labels, weight), random_state)
            return None
        scores = np.zeros(labels.shape)
        check_learned(self._learn(rows, np.arange(len(weight)), labels, weight, scores))
        return scores

    def _check_budget(self) -> None:
        """Raise an error for a budget where `fit` draws rows."""
        if self.budget and self.schedule != "stream":
            raise InputError(
                "budget= is for streams; set schedule='stream', with which fit learns each row "
                "once, or use partial_fit"
            )

    def _learn_draws(self, data: TrainingSet, random_state: np.random.RandomState) -> None:
        """Make steps over rows that are drawn with replacement."""
        weight = without_overflowing_rows(data.rows, data.weight)
        check_learned(int(np.flatnonzero(weight != data.weight).max(initial=-1)))
        unlabeled = self.learns_unlabeled or self.schedule != "rounds"
        used = np.flatnonzero((weight > 0.0) & (~np.isnan(data.labels[:, 0]) | unlabeled))
        data = TrainingSet(rows_at(data.rows, used), data.labels[used], weight[used])
        model = self._model(self._state)
        model.hold(data.rows, used)
        with progress_bar(type(self).__name__, None, self.verbose) as advance:
            done = learn_drawn(model, data, self, random_state, advance)
        self._state["t"][0] = done.steps

    def _learn(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray, scores: np.ndarray
    ) -> int:
        """Make a step with each row, in order."""
        self._prepare(rows)
        given, weight = weight, without_overflowing_rows(rows, weight)
        scores = scores.reshape(len(scores), -1)
        state, model, n = self._state, self._model(self._state), len(scores)
        settings = self._settings(drawn=False)
        with progress_bar(type(self).__name__, n, self.verbose) as advance:
            for lo in range(0, n, model.rows_at_once):
                here = slice(lo, min(lo + model.rows_at_once, n))
                part = rows_at(rows, np.arange(here.start, here.stop))
                own = read_only(y[here].reshape(-1, scores.shape[1]))
                examples = Examples(own, read_only(weight[here]), part.present)
                ratio, by_trust = float(self.unlabeled_ratio), not self.squared
                stream = Stream(scores[here], state["turns"], ratio, by_trust)
                t = int(state["t"][0])
                state["t"][0] = model.learn_block(part, examples, settings, stream, t)
                advance(here.stop - here.start)
        left_out = np.flatnonzero(weight != given)
        scores[left_out] = np.nan
        return int(left_out.max(initial=-1))

    # --- scores --------------------------------------------------------------------------

    def _lams(self) -> np.ndarray:
        """Return λ of each view, (V,)."""
        return _view_lams(self.lam, self._slots.names)

    def _scales(self) -> np.ndarray:
        """Return λ t of each view, (V,), by which its sums are divided."""
        return self._lams() * max(int(self._state["t"][0]), 1)

    def _view_sums(self, rows: Rows) -> np.ndarray:
        """Return sum_j α z K of each view, (n, V, K); 0 if the view is missing."""
        n, V, K = len(rows.indptr) - 1, len(rows.ptr) - 1, self._n_scores()
        sums = np.zeros((n, V, K))
        if self._state["t"][0] == 0:
            return sums
        model = self._model(self._state)
        for lo in range(0, n, model.score_at_once):
            hi = min(lo + model.score_at_once, n)
            model.add_sums(rows_at(rows, np.arange(lo, hi)), sums[lo:hi])
        if len(rows.present):
            sums[~rows.present] = 0.0
        return sums

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        sums = self._view_sums(rows)
        out = np.zeros((len(sums), sums.shape[2]))
        mean_scores(sums, rows.present, self._lams(), int(self._state["t"][0]), out)
        return out

    def _entry_contributions(self, rows: Rows) -> np.ndarray:
        row, column = entries_of(rows)
        if self.kernel != "linear":
            parts = [self._joint_scores(part) for part in _without_each_entry(rows, row)]
            return self._joint_scores(rows)[row] - np.concatenate(parts)
        n_views = len(rows.ptr) - 1
        present = rows.present.sum(axis=1)[row] if len(rows.present) else n_views
        scale = np.repeat(self._scales(), self._slots.widths)[column] * present
        return (rows.data / scale)[:, None] * self._state["W"][column]

    def _portable_scorer(self) -> ViewSum:
        if self.random_views is not None:
            raise InputError(
                f"{type(self).__name__} with random_views= has no portable form; give "
                f"{argument('views')}"
            )
        terms = self._model(self._state).portable(1.0 / self._scales())
        nothing = np.zeros(self._n_scores())
        return ViewSum(terms, nothing, nothing, mean=True, skips_empty=False, view_scores="own")

    def _scores_of_views(self, rows: Rows) -> np.ndarray:
        return self._in_units(self._view_sums(rows) / self._scales()[:, None])

    # --- attributes ----------------------------------------------------------------------

    @property
    def n_support_(self) -> dict[str, int]:
        """Number of support vectors of each view; empty with explicit weights."""
        return {name: beta.shape[1] for name, beta in self.dual_coef_.items()}

    @property
    def dual_coef_(self) -> dict[str, np.ndarray]:
        """Coefficients α z of the support vectors of each view, (n_scores, n_support)."""
        check_is_fitted(self, "_state")
        if self._explicit:
            return {}
        return {name: self._state[f"beta{v}"].copy() for v, name in enumerate(self.layout_.names)}

    @property
    def n_steps_(self) -> int:
        """Number of steps t so far."""
        return int(self._learned["t"][0])

    @property
    def gamma_(self) -> dict[str, float]:
        """γ of each view; empty before the first rows."""
        return dict(zip(self.layout_.names, self._learned["gamma"].tolist(), strict=False))

    def check_weights(self) -> None:
        """Raise `InputError` if the kernel is not linear."""
        if self.kernel != "linear":
            what = "support rows" if self.approximation is None else "features of all columns"
            raise InputError(
                f"with kernel={self.kernel!r} the model has no weight per column, but {what}; "
                "kernel='linear' has weights"
            )

    def _column_weights(self) -> ColumnWeights:
        return ColumnWeights(self.coef_)

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the columns, (1 or n_classes, n_features), for ``kernel="linear"``."""
        check_is_fitted(self, "_state")
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available for kernel='linear'")
        W = self._state["W"] / np.repeat(self._scales(), self._slots.widths)[:, None]
        return self._columns.spread(W.T / self._slots.n_views).copy()

    @property
    def intercept_(self) -> np.ndarray:
        """The intercept of the joint score where no view is missing, (1,) or (n_classes,)."""
        check_is_fitted(self, "_state")
        if self._explicit:
            sums = self._state["bias"]
        else:
            sums = np.stack([beta.sum(axis=1) for beta in self.dual_coef_.values()])
        return float(self.fit_intercept) * (sums / self._scales()[:, None]).mean(axis=0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def training_kernels(learner: KernelLearner, gamma: Any, rows: Rows) -> ViewKernels:
    """Return the kernels of ``learner`` for ``rows`` with this γ."""
    function, dense = KernelFunction.of(learner), bool(learner._state["dense"][0])
    return ViewKernels(function, _gammas(learner, gamma, rows), learner._slots.ptr, dense)


def _gammas(learner: KernelLearner, gamma: Any, rows: Rows) -> np.ndarray:
    """Return γ of each view; 1 for a kernel that has none."""
    names = learner.layout_.names
    has_gamma = KernelFunction.of(learner).has_gamma
    return view_gammas(gamma, rows, names) if has_gamma else np.ones(len(names))


def _without_each_entry(rows: Rows, row: np.ndarray) -> Iterator[Rows]:
    """Yield the rows again for each of their entries, which is 0 there; ``row`` has theirs."""
    place, lo = np.arange(len(row)) - rows.indptr.astype(np.int64)[row], 0
    for again in blocks_of(rows, row, ENTRIES_AT_ONCE):
        part = rows_at(rows, again)
        data = part.data.copy()
        data[part.indptr[:-1].astype(np.int64) + place[lo : lo + len(again)]] = 0.0
        yield part._replace(data=read_only(data))
        lo += len(again)


def _view_lams(lam: Any, names: Sequence[str]) -> np.ndarray:
    """Return λ of each view; `InputError` if one is missing or not above 0."""
    found = [value_of_view("lam", lam, name) for name in names]
    for name, value in zip(names, found, strict=True):
        if not (isinstance(value, Real) and 0.0 < float(value) < np.inf):
            raise InputError(f"lam= has {value!r} for view {name!r}; give a number above 0")
    return np.asarray(found, dtype=np.float64)


@contextmanager
def progress_bar(title: str, total: int | None, verbose: Any) -> Iterator[Callable[[int], None]]:
    """Show a progress bar if ``verbose``; yield a function to call with the steps made.

    ``total`` None: the number of steps is unknown.
    """
    if not verbose:
        yield lambda n: None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        raise InputError(
            "verbose=True needs rich: pip install rich, or leave verbose out"
        ) from None
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total)
        yield lambda n: bar.advance(task, n)
