"""Kernel learners, one a view, that label the unlabeled rows for each other."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from crossview.algorithms import keco
from crossview.batch import (
    flat_view,
    make_rows,
    matrix_of,
    read_only,
    rows_at,
    stack_views,
    take_rows,
    view_of_matrix,
    views_of,
)
from crossview.errors import InputError
from crossview.estimators.base import OnlineClassifier
from crossview.kernels import gram
from crossview.kernels.gram import ViewRows
from crossview.kernels.rows import Rows, score_views
from crossview.views import MultiView, ViewLayout

__all__ = ["KeCoClassifier", "KernelSearchCV", "PegasosClassifier"]

KERNELS = {"linear": gram.LINEAR, "rbf": gram.RBF, "poly": gram.POLY}
MAINTENANCE = {
    "removal": keco.REMOVAL,
    "projection": keco.PROJECTION,
    "merging": keco.MERGING,
}
# rows of a stream whose kernel values are there at once
ROWS_AT_ONCE = 256
# steps of which the bar moves, and rows whose features are there at once
STEPS_AT_ONCE = 4096
# rows that the median distance is taken of
ROWS_FOR_MEDIAN = 500


class _KernelLearner(OnlineClassifier):
    """What KeCo and Pegasos share: rows without label, kernels, schedules, budgets, features."""

    _parameter_constraints: ClassVar[dict] = {
        "kernel": [StrOptions({*KERNELS, "precomputed"}), callable],
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions({"median", "scale"}), dict],
        "degree": [Interval(Real, 0, None, closed="neither")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "lam": [Interval(Real, 0, None, closed="neither")],
        "n_iterations": [Interval(Integral, 1, None, closed="left")],
        "schedule": [StrOptions(set(keco.SCHEDULES))],
        "unlabeled_ratio": [Interval(Real, 0, None, closed="both")],
        "include_self": ["boolean"],
        "random_views": [tuple, list, None],
        "budget": [Interval(Integral, 1, None, closed="left"), None],
        "maintenance": [StrOptions(set(MAINTENANCE))],
        "approximation": [StrOptions({"fourier", "nystroem"}), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "probability": ["boolean"],
        "calibration_fraction": [Interval(Real, 0, 1, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "cache_size": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    _supervised: ClassVar[bool]
    _learns_unlabeled = True

    def __init__(
        self,
        views: Any = None,
        *,
        kernel: Any = "rbf",
        gamma: Any = "median",
        degree: float = 3,
        coef0: float = 1.0,
        lam: float = 1e-4,
        n_iterations: int = 1000,
        schedule: str = "half-labeled",
        unlabeled_ratio: float = 1 / 3,
        include_self: bool = False,
        random_views: tuple[int, float] | None = None,
        unlabeled: Any = None,
        budget: int | None = None,
        maintenance: str = "removal",
        approximation: str | None = None,
        n_components: int = 100,
        probability: bool = False,
        calibration_fraction: float = 0.2,
        class_weight: Any = None,
        cache_size: float = 200,
        verbose: Any = False,
        random_state: Any = None,
    ) -> None:
        self.views = views
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.lam = lam
        self.n_iterations = n_iterations
        self.schedule = schedule
        self.unlabeled_ratio = unlabeled_ratio
        self.include_self = include_self
        self.random_views = random_views
        self.unlabeled = unlabeled
        self.budget = budget
        self.maintenance = maintenance
        self.approximation = approximation
        self.n_components = n_components
        self.probability = probability
        self.calibration_fraction = calibration_fraction
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.verbose = verbose
        self.random_state = random_state

    # --- parameters that exclude each other -------------------------------------

    def _validate_params(self) -> None:
        super()._validate_params()
        explicit = self.kernel == "linear"
        wrong = None
        if self.approximation and not (
            self.kernel == "rbf" or (self.approximation == "nystroem" and self.kernel == "poly")
        ):
            wrong = (
                f"approximation={self.approximation!r} with kernel={self.kernel!r}; 'fourier' is "
                "for 'rbf', and 'nystroem' for 'rbf' and 'poly'"
            )
        elif self.budget and (explicit or self.approximation or self.kernel == "precomputed"):
            wrong = (
                "budget= is for kernels that keep support rows, and not for 'linear', "
                "'precomputed' and approximations"
            )
        elif self.budget and self.maintenance == "merging" and self.kernel != "rbf":
            wrong = "maintenance='merging' is for the kernel 'rbf'; take 'projection' or 'removal'"
        elif self.random_views is not None:
            wrong = self._wrong_random_views()
        if wrong:
            raise InputError(wrong)

    def _wrong_random_views(self) -> str | None:
        given: Any = self.random_views
        if self.views is not None:
            return "random_views= makes the views; leave views= at None"
        if len(given) != 2 or not (
            isinstance(given[0], Integral) and int(given[0]) >= 1 and 0.0 < float(given[1]) <= 1.0
        ):
            return (
                f"random_views={given!r}; give how many, and which part of the columns each "
                "has, such as (2, 0.75)"
            )
        return None

    def check_streams(self) -> None:
        if self.kernel == "precomputed":
            raise InputError("kernel='precomputed' needs all rows at once, in fit")

    @property
    def _explicit(self) -> bool:
        """Whether there is a weight a feature, and no supports."""
        return self.kernel == "linear" or self.approximation is not None

    # --- labels -------------------------------------------------------------------

    def _has_no_label(self, y: Any) -> bool:
        return bool(self._unlabeled(np.asarray([y], dtype=object))[0])

    def _unlabeled(self, y: np.ndarray) -> np.ndarray:
        """Which rows have no label: NaN, None, or what ``unlabeled`` says."""
        if y.dtype.kind == "O":
            empty = np.asarray([_is_empty(label) for label in y], dtype=bool)
        elif y.dtype.kind in "fc":
            empty = np.isnan(y)
        else:
            empty = np.zeros(len(y), dtype=bool)
        if self.unlabeled is not None:
            empty |= np.asarray(y == self.unlabeled, dtype=bool)
        return empty

    def _labels(self, y: Any, rows: Rows) -> np.ndarray:
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        y = column_or_1d(y, warn=True)
        n = len(rows.indptr) - 1
        if len(y) != n:
            raise InputError(
                f"Found input variables with inconsistent numbers of samples: {[n, len(y)]}"
            )
        known = y[~self._unlabeled(y)]
        if known.dtype.kind == "O" and len(known):
            known = np.asarray(known.tolist())
        if known.dtype.kind in "fc" and not np.isfinite(known).all():
            raise InputError("a label is infinite; leave the row out, or label it")
        if known.dtype.kind not in "iubUS":
            check_classification_targets(known)
        return y

    def _first_targets(
        self, y: Any, sample_weight: Any, rows: Rows
    ) -> tuple[np.ndarray, np.ndarray]:
        y = self._labels(y, rows)
        known = y[~self._unlabeled(y)]
        classes = np.unique(np.asarray(known.tolist()) if known.dtype.kind == "O" else known)
        if len(classes) < 2:
            seen = f"one class, {classes.tolist()[0]!r}" if len(classes) else "no label"
            raise InputError(f"y has {seen}; a classifier needs two or more classes")
        self._set_classes(classes)
        return self._targets(y, sample_weight, self.class_weight)

    def _targets(
        self, y: np.ndarray, sample_weight: Any, class_weight: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Labels (n, K): -1 and 1, and 0 in a row without label; and the weights of the rows."""
        known = np.flatnonzero(~self._unlabeled(y))
        own = y[known]
        own = np.asarray(own.tolist()) if own.dtype.kind == "O" and len(own) else own
        K = 1 if len(self.classes_) <= 2 else len(self.classes_)
        labels = np.zeros((len(y), K))
        weight = self._sample_weight(sample_weight, np.zeros(len(y)))
        nonfinite_row = ~np.isin(own, self.classes_)
        if nonfinite_row.any():
            row = int(np.argmax(nonfinite_row))
            raise InputError(
                f"label {own.tolist()[row]!r} is not among the classes {self.classes_.tolist()!r}",
                row=int(known[row]),
            )
        if len(known):
            codes, factor = super()._targets(own, 1.0, class_weight)
            weight[known] *= factor
            labels[known] = (
                codes[:, None] if K == 1 else np.where(np.arange(K) == codes[:, None], 1.0, -1.0)
            )
        return labels, weight

    # --- learning -------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        if self.budget and self.schedule != "stream":
            raise InputError(
                "budget= is for streams: take schedule='stream', by which fit learns each row "
                "once, or partial_fit"
            )
        rows = self._read(X, reset=True)
        labels, weight = self._first_targets(y, sample_weight, rows)
        self._warn_of_one_view(labels)
        random_state = check_random_state(self.random_state)
        held_out = self._hold_out(labels, weight, random_state)
        weight = weight.copy()
        own_weight = weight[held_out]
        weight[held_out] = 0.0
        self._prepare(rows)
        if self.schedule == "stream":
            self._learn(rows, np.arange(len(weight)), labels, weight, np.zeros(labels.shape))
        else:
            self._learn_draws(rows, labels, weight, random_state)
        if self.probability:
            scores = self._joint_scores(rows_at(rows, held_out))
            self._calibrate(scores, labels[held_out], own_weight)

    def _warn_of_one_view(self, labels: np.ndarray) -> None:
        if not self._supervised and len(self.layout_.names) == 1 and not labels.all():
            warnings.warn(
                "with one view nobody labels the unlabeled rows; give views=, or "
                "random_views=(2, 0.75)",
                UserWarning,
                stacklevel=4,
            )

    def _learn_draws(
        self,
        rows: Rows,
        labels: np.ndarray,
        weight: np.ndarray,
        random_state: np.random.RandomState,
    ) -> None:
        """``n_iterations`` steps over rows that are drawn, some of them again and again."""
        draws = self._draw(labels, _passing_over_huge_rows(rows, weight), random_state)
        drawn, places = np.unique(draws, return_inverse=True)
        memory = keco.nothing_learned(len(rows.ptr) - 1, labels.shape[1], len(drawn))
        labels, weight = read_only(labels[drawn]), read_only(weight[drawn])
        rows = rows_at(rows, drawn)
        t = 0
        with self._bar(len(draws)) as advance:
            for part, where, kernel in self._kernel_of_draws(rows, drawn, places):
                if self._explicit:
                    t = keco.learn_explicit(
                        kernel,
                        part,
                        part,
                        labels,
                        weight,
                        memory,
                        self._state["W"],
                        t,
                        float(self.lam),
                        self.include_self,
                        self._supervised,
                        np.zeros((len(part), labels.shape[1])),
                        np.zeros(2),
                        np.inf,
                    )  # fmt: offset
                else:
                    t = keco.learn_from_gram(
                        kernel,
                        where,
                        part,
                        labels,
                        weight,
                        rows.present,
                        memory,
                        t,
                        float(self.lam),
                        self.include_self,
                        self._supervised,
                    )  # fmt: offset
                advance(len(part))
        if not self._explicit:
            self._keep_supports(rows, drawn, memory.beta)
        self._state["t"][0] = t

    def _draw(
        self, labels: np.ndarray, weight: np.ndarray, random_state: np.random.RandomState
    ) -> np.ndarray:
        """The row of each step; rows of weight 0 are not there."""
        counts = weight > 0.0
        labeled = np.flatnonzero(counts & (labels[:, 0] != 0.0))
        unlabeled = np.flatnonzero(counts & (labels[:, 0] == 0.0))
        if not len(labeled):
            return np.empty(0, dtype=np.intp)
        return keco.schedule(
            self.schedule, labeled, unlabeled, int(self.n_iterations), random_state
        )

    def _kernel_of_draws(
        self, rows: Rows, drawn: np.ndarray, places: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray, Any]]:
        """Steps: their rows, the lines of these among the kernel values, and the kernel values.

        Of as many steps at once as the cache holds; or features in place of kernel values.
        """
        n, V = len(rows.indptr) - 1, len(rows.ptr) - 1
        if self._explicit:
            features = self._features(rows)
            for lo in range(0, len(places), STEPS_AT_ONCE):
                part = read_only(places[lo : lo + STEPS_AT_ONCE])
                yield part, part, features
            return
        lines = int(self.cache_size * 2**20 / (8.0 * V * max(n, 1)))
        if lines >= n:
            kernel = self._gram(rows, rows, drawn)
            for lo in range(0, len(places), STEPS_AT_ONCE):
                part = read_only(places[lo : lo + STEPS_AT_ONCE])
                yield part, part, kernel
            return
        for lo in range(0, len(places), max(lines, 1)):
            part = read_only(places[lo : lo + max(lines, 1)])
            own, where = np.unique(part, return_inverse=True)
            yield part, read_only(where), self._gram(rows_at(rows, own), rows, drawn)

    def _learn(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray, scores: np.ndarray
    ) -> int:
        """Each row once, in order."""
        self._prepare(rows)
        weight = _passing_over_huge_rows(rows, weight)
        scores = scores.reshape(len(scores), -1)
        at_once = STEPS_AT_ONCE if self._explicit else ROWS_AT_ONCE
        if self.budget:
            at_once = max(ROWS_AT_ONCE // 4, min(ROWS_AT_ONCE, self.budget))
        with self._bar(len(scores)) as advance:
            for lo in range(0, len(scores), at_once):
                here = slice(lo, min(lo + at_once, len(scores)))
                part = rows_at(rows, np.arange(here.start, here.stop))
                given = part, read_only(y[here]), read_only(weight[here]), scores[here]
                if self._explicit:
                    self._learn_features(*given)
                else:
                    self._learn_block(*given)
                advance(here.stop - here.start)
        return -1

    def _learn_features(
        self, rows: Rows, labels: np.ndarray, weight: np.ndarray, joint: np.ndarray
    ) -> None:
        n, K = labels.shape
        every = read_only(np.arange(n))
        self._state["t"][0] = keco.learn_explicit(
            self._features(rows),
            every,
            every,
            labels,
            weight,
            keco.nothing_learned(len(rows.ptr) - 1, K, n),
            self._state["W"],
            int(self._state["t"][0]),
            float(self.lam),
            False,
            self._supervised,
            joint,
            self._state["turns"],
            float(self.unlabeled_ratio),
        )  # fmt: offset

    def _learn_block(
        self, rows: Rows, labels: np.ndarray, weight: np.ndarray, joint: np.ndarray
    ) -> None:
        """The supports there are, then these rows, are the pool of which supports are kept."""
        state, (m, K), V = self._state, labels.shape, len(rows.ptr) - 1
        old = [self._supports(v) for v in range(V)]
        new = views_of(rows)
        first = max(len(view.begin) for view in old)
        size = first + m
        full = bool(self.budget)
        kernel = np.zeros((V, size if full else m, size))
        beta = np.zeros((V, K, size))
        merging = full and self.maintenance == "merging"
        blocks = self._blocks()
        vectors = np.zeros((V, size, max(blocks.widths)) if merging else (V, 1, 1))
        for v in range(V):
            n, lines = len(old[v].begin), slice(first, size) if full else slice(0, m)
            beta[v, :, :n] = state[f"beta{v}"]
            kernel[v, lines, :n] = self._kernel_values(v, new[v], old[v])
            kernel[v, lines, first:] = self._kernel_values(v, new[v], new[v])
            if full:
                kernel[v, :n, first:] = kernel[v, first:, :n].T
                kernel[v, :n, :n] = state[f"gram{v}"]
            if merging:
                for view, begin in ((old[v], 0), (new[v], first)):
                    matrix = matrix_of(view, int(blocks.ptr[v]), blocks.widths[v])
                    vectors[v, begin : begin + len(view.begin), : blocks.widths[v]] = (
                        matrix.toarray()
                    )
        merged = np.zeros((V, size), dtype=bool)
        state["t"][0] = keco.learn_stream(
            kernel,
            first,
            labels,
            weight,
            rows.present,
            beta,
            int(state["t"][0]),
            float(self.lam),
            self._supervised,
            joint,
            int(self.budget or 0),
            MAINTENANCE[self.maintenance],
            vectors,
            self._gammas_of_kernels(),
            merged,
            state["turns"],
            float(self.unlabeled_ratio),
        )  # fmt: offset
        for v in range(V):
            keep = np.flatnonzero(beta[v].any(axis=0))
            if len(keep) == len(old[v].begin) and (keep < first).all() and not merged[v].any():
                state[f"beta{v}"] = np.ascontiguousarray(beta[v][:, keep])
                continue
            both = stack_views([old[v], new[v]])
            places = np.where(keep < first, keep, keep - first + len(old[v].begin))
            if merged[v].any():
                first_column = int(blocks.ptr[v])
                explicit = sp.csr_array(vectors[v, keep, : blocks.widths[v]])
                kept = view_of_matrix(explicit, first_column, both.indices.dtype)
            else:
                kept = take_rows(both, places)
            self._store(v, kept, beta[v][:, keep])
            if full:
                state[f"gram{v}"] = np.ascontiguousarray(kernel[v][np.ix_(keep, keep)])

    # --- kernels ----------------------------------------------------------------------

    def _begin(self, X: Any, y: Any) -> tuple[Rows, np.ndarray, np.ndarray]:
        """Rows, labels and weights of a `fit` that somebody else does."""
        self._validate_params()
        rows = self._read(X, reset=True)
        return rows, *self._first_targets(y, None, rows)

    def _gram_of_each(self, rows: Rows, gammas: list[Any]) -> Iterator[tuple[Any, np.ndarray]]:
        """The kernel values of all rows for each gamma, from products that are made once."""
        views = views_of(rows)
        linear = gram.Kernel(gram.LINEAR, 1.0, 0.0, 1.0)
        products = np.stack(
            [
                gram.gram(linear, view, view, int(last))
                for view, last in zip(views, self._blocks().ptr[1:], strict=True)
            ]
        )
        norms = [gram.norms_of(view) for view in views]
        for gamma in gammas:
            if self.kernel == "linear":
                yield gamma, products
                continue
            self.gamma = gamma
            self._state["gamma"] = np.asarray([self._gamma_of(v, rows) for v in range(len(views))])
            values = products.copy()
            for v, kernel in enumerate(self._kernels()):
                gram.kernel_values(kernel, norms[v], norms[v], values[v])
            yield gamma, values

    def _gram(self, a: Rows, b: Rows, drawn: np.ndarray) -> np.ndarray:
        """Kernel values of every view, (V, rows of a, rows of b); b are the rows ``drawn``."""
        pairs = zip(views_of(a), views_of(b), strict=True)
        return np.stack([self._kernel_values(v, x, z, drawn) for v, (x, z) in enumerate(pairs)])

    def _kernel_values(
        self, v: int, a: ViewRows, b: ViewRows, columns: np.ndarray | None = None
    ) -> np.ndarray:
        blocks = self._blocks()
        first, last = (int(p) for p in blocks.ptr[v : v + 2])
        if self.kernel == "precomputed":
            if columns is None:
                columns = self._state[f"rows{v}"]
            return np.ascontiguousarray(matrix_of(a, first, last - first).toarray()[:, columns])
        if not callable(self.kernel):
            return gram.gram(self._kernels()[v], a, b, last)
        x, z = (matrix_of(rows, first, last - first) for rows in (a, b))
        if self._state["dense"][0]:
            x, z = x.toarray(), z.toarray()
        value = np.ascontiguousarray(self.kernel(x, z), dtype=np.float64)
        if value.shape != (x.shape[0], z.shape[0]):
            raise InputError(
                f"the kernel of {x.shape[0]} and {z.shape[0]} rows has the shape {value.shape}; "
                f"it must be {(x.shape[0], z.shape[0])}"
            )
        return value

    def _kernels(self) -> list[gram.Kernel]:
        return keco.kernels_of(KERNELS[self.kernel], self._state["gamma"], self.coef0, self.degree)

    def _gammas_of_kernels(self) -> np.ndarray:
        return read_only(np.asarray(self._state["gamma"], dtype=np.float64))

    def _supports(self, v: int) -> ViewRows:
        """The support rows of a view."""
        s = self._state
        indptr = s[f"indptr{v}"].astype(np.uint64)
        return ViewRows(
            read_only(s[f"data{v}"]),
            read_only(s[f"indices{v}"]),
            read_only(indptr[:-1]),
            read_only(indptr[1:]),
            read_only(np.zeros(len(indptr) - 1, dtype=np.uint64)),
        )

    def _store(self, v: int, rows: ViewRows, beta: np.ndarray) -> None:
        """These are the support rows of view ``v``, and α z of each."""
        data, indices, indptr = flat_view(rows)
        self._state |= {
            f"data{v}": data,
            f"indices{v}": indices,
            f"indptr{v}": indptr,
            f"beta{v}": np.ascontiguousarray(beta),
        }

    def _keep_supports(self, rows: Rows, drawn: np.ndarray, beta: np.ndarray) -> None:
        for v, view in enumerate(views_of(rows)):
            keep = np.flatnonzero(beta[v].any(axis=0))
            if self.kernel == "precomputed":
                self._state |= {f"rows{v}": drawn[keep], f"beta{v}": beta[v][:, keep]}
                continue
            self._store(v, take_rows(view, keep), beta[v][:, keep])

    # --- features ---------------------------------------------------------------------

    def _features(self, rows: Rows) -> Rows:
        """The rows themselves, or their approximate features of each view, side by side."""
        if self.approximation is None:
            return rows
        parts = [self._map(v).transform(X) for v, X in enumerate(self._matrices(rows))]
        layout = ViewLayout(self.layout_.names, [part.shape[1] for part in parts])
        return make_rows(np.hstack(parts), layout, rows.present if len(rows.present) else None)

    def _matrices(self, rows: Rows) -> list[Any]:
        """Each view as a matrix, dense where the rows are."""
        blocks = self._blocks()
        found = [
            matrix_of(view, int(blocks.ptr[v]), blocks.widths[v])
            for v, view in enumerate(views_of(rows))
        ]
        return [matrix.toarray() for matrix in found] if rows.shared else found

    def _map(self, v: int) -> Any:
        """The transformer of a view, from the state."""
        one, two = self._state[f"map{v}"], self._state[f"shift{v}"]
        gamma = float(self._state["gamma"][v])
        if self.approximation == "fourier":
            made = RBFSampler(gamma=gamma, n_components=one.shape[1])
            made.random_weights_, made.random_offset_ = one, two
            made.n_features_in_ = one.shape[0]
            return made
        made = self._nystroem(gamma, len(one))
        made.components_, made.normalization_ = one, two
        made.n_features_in_ = one.shape[1]
        return made

    def _nystroem(self, gamma: float, n: int, random_state: Any = None) -> Nystroem:
        shape = {"degree": self.degree, "coef0": self.coef0} if self.kernel == "poly" else {}
        return Nystroem(
            kernel=self.kernel, gamma=gamma, n_components=n, random_state=random_state, **shape
        )

    def _prepare(self, rows: Rows) -> None:
        """What the first rows decide: gamma, and the features of an approximation."""
        state = self._state
        if state["gamma"].size:
            return
        V, blocks = len(rows.ptr) - 1, self._blocks()
        state["dense"][0] = rows.shared
        state["gamma"] = np.asarray([self._gamma_of(v, rows) for v in range(V)])
        if self.kernel == "precomputed":
            n = len(rows.indptr) - 1
            for name, width in zip(blocks.names, blocks.widths, strict=True):
                if width != n:
                    raise InputError(
                        f"kernel='precomputed' of {n} rows has {width} columns in view {name!r}; "
                        "a view of fit is a square matrix, rows by rows"
                    )
        if self.approximation is None:
            return
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=V)
        width = 0
        for v, X in enumerate(self._matrices(rows)):
            gamma = float(state["gamma"][v])
            if self.approximation == "fourier":
                made = RBFSampler(
                    gamma=gamma, n_components=self.n_components, random_state=seeds[v]
                )
                made.fit(X)
                pair = made.random_weights_, made.random_offset_
            else:
                n = min(int(self.n_components), X.shape[0])
                made = self._nystroem(gamma, n, seeds[v]).fit(X)
                pair = made.components_, made.normalization_
            one, two = (x.toarray() if sp.issparse(x) else np.asarray(x) for x in pair)
            state[f"map{v}"], state[f"shift{v}"] = one, two
            width += one.shape[1] if self.approximation == "fourier" else len(one)
        state["W"] = np.zeros((width, state["W"].shape[1]))

    def _gamma_of(self, v: int, rows: Rows) -> float:
        """The gamma of a view, by its name, or found from the rows that have the view."""
        if self.kernel == "precomputed" or self.kernel == "linear" or callable(self.kernel):
            return 1.0  # they have none
        name, width = self.layout_.names[v], self._blocks().widths[v]
        gamma = self.gamma
        if isinstance(gamma, Mapping):
            if name not in gamma:
                raise InputError(f"gamma= has nothing for view {name!r}; it is a number a view")
            gamma = gamma[name]
        if not isinstance(gamma, str):
            return float(gamma)
        view = views_of(rows)[v]
        there = np.arange(len(view.begin))
        if len(rows.present):
            there = there[rows.present[:, v]]
        found = 0.0
        if gamma == "scale" and len(there):
            entries, _, _ = flat_view(take_rows(view, there))
            found = keco.scale_gamma(entries, len(there), width)
        elif len(there):
            few = there[
                np.linspace(0, len(there) - 1, min(len(there), ROWS_FOR_MEDIAN)).astype(int)
            ]
            view = take_rows(view, few)
            linear = gram.Kernel(gram.LINEAR, 1.0, 0.0, 1.0)
            last = int(self._blocks().ptr[v + 1])
            found = keco.median_gamma(gram.norms_of(view), gram.gram(linear, view, view, last))
        return found or 1.0 / width

    # --- using --------------------------------------------------------------------------

    def _view_sums(self, rows: Rows) -> np.ndarray:
        """sum_j α z K of every view, (n, V, K); 0 where the view is missing."""
        n, V, K = len(rows.indptr) - 1, len(rows.ptr) - 1, self._n_scores()
        sums = np.zeros((n, V, K))
        if self._state["t"][0] == 0:
            return sums
        at_once = STEPS_AT_ONCE if self._explicit else ROWS_AT_ONCE
        for lo in range(0, n, at_once):
            part = rows_at(rows, np.arange(lo, min(lo + at_once, n)))
            out = sums[lo : lo + at_once]
            if self._explicit:
                score_views(
                    self._features(part), read_only(self._state["W"]), out, np.empty(out.shape[:2])
                )
                continue
            for v, view in enumerate(views_of(part)):
                beta = read_only(self._state[f"beta{v}"])
                kernel = self._kernel_values(v, view, self._support_rows(v))
                keco.support_sums(kernel, beta, out[:, v])
        if len(rows.present):
            sums[~rows.present] = 0.0
        return sums

    def _support_rows(self, v: int) -> Any:
        return None if self.kernel == "precomputed" else self._supports(v)

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        sums = self._view_sums(rows)
        out = np.zeros((len(sums), sums.shape[2]))
        keco.mean_scores(sums, rows.present, float(self.lam) * int(self._state["t"][0]), out)
        return out

    def view_scores(self, X: Any) -> np.ndarray:
        """The score that each view gives by itself.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_views) or (n_samples, n_views, n_classes)
            One score a view (and class, for more than two); NaN where the view
            is missing.  The joint score is their mean.
        """
        check_is_fitted(self, "_state")
        rows = self._read(X, reset=False)
        own = self._view_sums(rows) / (float(self.lam) * max(int(self._state["t"][0]), 1))
        if len(rows.present):
            own[~rows.present] = np.nan
        return own[:, :, 0] if own.shape[2] == 1 else own

    @available_if(lambda self: _has_probabilities(self))
    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, by the calibration of `fit`; for ``probability=True``.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``: a logistic function of the score, and for
            more than two classes those of all scores, divided by their sum.
        """
        scores = self.decision_function(X).reshape(-1, self._n_scores())
        if "calibration" not in self._state:
            raise InputError("there is no calibration yet; it is made in fit, not in partial_fit")
        slope, shift = self._state["calibration"].T
        p = expit(slope * scores + shift)
        if len(self.classes_) == 2:
            return np.column_stack([1.0 - p[:, 0], p[:, 0]])
        return p / p.sum(axis=1, keepdims=True)

    def _hold_out(
        self, labels: np.ndarray, weight: np.ndarray, random_state: np.random.RandomState
    ) -> np.ndarray:
        """Labeled rows that `fit` does not learn, for the calibration."""
        if not self.probability:
            return np.empty(0, dtype=np.intp)
        rows = np.flatnonzero((labels[:, 0] != 0.0) & (weight > 0.0))
        classes = labels[rows].argmax(axis=1) if labels.shape[1] > 1 else labels[rows, 0]
        kinds, counts = np.unique(classes, return_counts=True)
        n = int(np.ceil(self.calibration_fraction * len(rows)))
        if counts.min() < 2 or n < len(kinds) or len(rows) - n < len(kinds):
            raise InputError(
                f"{len(rows)} labeled rows of {len(kinds)} classes are too few to hold out "
                f"{self.calibration_fraction:g} of them for the calibration; label more, or take "
                "probability=False"
            )
        return np.sort(
            train_test_split(rows, test_size=n, stratify=classes, random_state=random_state)[1]
        )

    def _calibrate(self, scores: np.ndarray, labels: np.ndarray, weight: np.ndarray) -> None:
        found = []
        for c in range(scores.shape[1]):
            positive = labels[:, c] > 0.0
            goal = keco.platt_targets(positive)
            # a row with the label 1 of that weight, and one with the label 0 of the rest
            model = LogisticRegression(C=np.inf).fit(
                np.tile(scores[:, [c]], (2, 1)),
                np.repeat([1, 0], len(scores)),
                sample_weight=np.concatenate([goal, 1.0 - goal]) * np.tile(weight, 2),
            )
            found.append([model.coef_[0, 0], model.intercept_[0]])
        self._state["calibration"] = np.asarray(found)

    @property
    def n_support_(self) -> dict[str, int]:
        """How many rows support the score of each view; empty where there is a weight a feature."""
        check_is_fitted(self, "_state")
        if self._explicit:
            return {}
        return {name: self._state[f"beta{v}"].shape[1] for v, name in enumerate(self.layout_.names)}

    @property
    def dual_coef_(self) -> dict[str, np.ndarray]:
        """α z of the support rows of each view, (n_scores, n_support); empty likewise."""
        check_is_fitted(self, "_state")
        if self._explicit:
            return {}
        return {name: self._state[f"beta{v}"].copy() for v, name in enumerate(self.layout_.names)}

    @property
    def n_steps_(self) -> int:
        """Steps that were taken, t."""
        check_is_fitted(self, "_state")
        return int(self._state["t"][0])

    @property
    def gamma_(self) -> dict[str, float]:
        """The gamma of each view, once rows have come."""
        check_is_fitted(self, "_state")
        return dict(zip(self.layout_.names, self._state["gamma"].tolist(), strict=False))

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the columns, (1 or n_classes, n_features), for ``kernel="linear"``."""
        check_is_fitted(self, "_state")
        if self.kernel != "linear":
            raise AttributeError("coef_ is of the linear kernel only")
        W = self._state["W"] / (float(self.lam) * max(int(self._state["t"][0]), 1))
        V = len(self.layout_.names)
        coef = np.zeros((W.shape[1], self.n_features_in_))
        if self.random_views is not None:
            for subset, (lo, hi) in zip(self._subsets, pairwise(self.layout_.ptr), strict=True):
                coef[:, subset] += W[lo:hi].T / V
        elif self._places is None:
            coef[:] = W.T / V
        else:
            used = self._places >= 0
            coef[:, used] = W[self._places[used]].T / V
        return coef

    # --- state --------------------------------------------------------------------------

    def _n_scores(self) -> int:
        return 1 if len(self.classes_) <= 2 else len(self.classes_)

    def _start_state(self) -> None:
        K, blocks = self._n_scores(), self._blocks()
        self._state = {
            "t": np.zeros(1, dtype=np.int64),
            "turns": np.zeros(2),
            "gamma": np.empty(0),
            "dense": np.zeros(1, dtype=bool),
        }
        if self._explicit:
            self._state["W"] = np.zeros((0 if self.approximation else blocks.n_columns, K))
            return
        for v in range(blocks.n_views):
            self._start_view(v, K)

    def _start_view(self, v: int, K: int) -> None:
        wide = self._blocks().n_columns > np.iinfo(np.int32).max
        self._state |= {
            f"data{v}": np.empty(0),
            f"indices{v}": np.empty(0, dtype=np.uint64 if wide else np.uint32),
            f"indptr{v}": np.zeros(1, dtype=np.int64),
            f"beta{v}": np.empty((K, 0)),
        }
        if self.budget:
            self._state[f"gram{v}"] = np.empty((0, 0))

    def _grow_state(self, moved: np.ndarray) -> None:
        state, blocks = self._state, self._blocks()
        if self.approximation:
            raise InputError(
                "an approximation has the columns of its first rows; give all rows the same"
            )
        if self.kernel == "linear":
            W = np.zeros((blocks.n_columns, self._n_scores()))
            W[moved] = state["W"]
            state["W"] = W
            return
        for v in range(blocks.n_views):
            if f"data{v}" in state:
                old = state[f"indices{v}"]
                state[f"indices{v}"] = moved[old.astype(np.intp)].astype(old.dtype)
            else:
                self._start_view(v, self._n_scores())
        gamma = state["gamma"]
        if gamma.size:
            given = [
                self.gamma.get(name, "median") if isinstance(self.gamma, Mapping) else self.gamma
                for name in blocks.names
            ]
            # a view that comes later, a row at a time, has no median to go by
            now = [
                1.0 / width if isinstance(value, str) else float(value)
                for value, width in zip(given, blocks.widths, strict=True)
            ]
            state["gamma"] = np.concatenate([gamma, now[len(gamma) :]])

    def _insert_class(self, old: np.ndarray, place: int) -> None:
        for name, axis in [("W", 1), *((f"beta{v}", 0) for v in range(self._blocks().n_views))]:
            if name not in self._state:
                continue
            value = np.moveaxis(self._state[name], axis, 0)
            if len(old) == 1:
                # the class that was alone was the positive one; is it still?
                value = -value if place == 1 else value
            elif len(old) == 2:
                # half of the score for the second class, half against the first
                value = np.insert(np.concatenate([-value / 2, value / 2]), place, 0.0, axis=0)
            else:
                value = np.insert(value, place, 0.0, axis=0)
            self._state[name] = np.ascontiguousarray(np.moveaxis(value, 0, axis))
        self._state.pop("calibration", None)

    # --- views that are drawn -------------------------------------------------------------

    def _blocks(self) -> ViewLayout:
        """Where the columns of each view are in the rows that learn."""
        return self._slots if self.random_views is None else self.layout_

    def _read(self, X: Any, *, reset: bool, checked: bool = True) -> Rows:
        if self.random_views is None:
            return super()._read(X, reset=reset, checked=checked)
        if isinstance(X, MultiView):
            raise InputError("X is a MultiView and has its views; leave random_views= at None")
        drawn = None if reset else self.layout_
        rows = super()._read(X, reset=reset, checked=True)
        d = self.n_features_in_
        if drawn is None:
            how_many, fraction = self.random_views
            size = max(1, round(float(fraction) * d))
            rng = check_random_state(self.random_state)
            self._subsets = [np.sort(rng.choice(d, size, replace=False)) for _ in range(how_many)]
            self.layout_ = ViewLayout([f"random{v}" for v in range(how_many)], [size] * how_many)
        matrix = matrix_of(views_of(rows)[0], 0, d)
        columns = np.concatenate(self._subsets)
        chosen = matrix.toarray()[:, columns] if rows.shared else matrix[:, columns]
        present = rows.present.repeat(len(self._subsets), axis=1) if len(rows.present) else None
        return make_rows(chosen, self.layout_, present)

    def _read_one(self, x: Any, *, learn: bool) -> Rows:
        if self.random_views is not None and isinstance(x, Mapping):
            raise InputError("random_views= needs plain rows, and not mappings")
        return super()._read_one(x, learn=learn)

    def view_columns(self) -> dict[str, np.ndarray]:
        if self.random_views is None:
            return super().view_columns()
        check_is_fitted(self, "_state")
        return dict(zip(self.layout_.names, self._subsets, strict=True))

    def _get_header(self) -> dict[str, Any]:
        subsets = None if self.random_views is None else [s.tolist() for s in self._subsets]
        return {"subsets": subsets, **super()._get_header()}

    def _set_header(self, header: Mapping[str, Any]) -> None:
        super()._set_header(header)
        if header["subsets"] is not None:
            self._subsets = [np.asarray(subset) for subset in header["subsets"]]
            self._slots = ViewLayout(["view0"], [self.n_features_in_])

    # --- words for people ------------------------------------------------------------------

    @contextmanager
    def _bar(self, total: int) -> Iterator[Callable[[int], None]]:
        """Where ``verbose``: a bar on stderr, which moves with the steps."""
        if not self.verbose:
            yield lambda n: None
            return
        try:
            from rich.console import Console
            from rich.progress import Progress
        except ImportError:
            raise InputError(
                "verbose=True shows a bar by rich; install crossview[cli], or leave it out"
            ) from None
        with Progress(console=Console(stderr=True)) as bar:
            task = bar.add_task(type(self).__name__, total=total)
            yield lambda n: bar.advance(task, n)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _has_probabilities(learner: Any) -> bool:
    if not learner.probability:
        raise AttributeError("there are no probabilities; take probability=True")
    return True


def _passing_over_huge_rows(rows: Rows, weight: np.ndarray) -> np.ndarray:
    """The weights, 0 for a row whose squares overflow: it has no kernel value."""
    finite = [np.isfinite(gram.norms_of(view)) for view in views_of(rows)]
    return np.where(np.all(finite, axis=0), weight, 0.0)


def _is_empty(label: Any) -> bool:
    """None, NaN, NaT and pandas' NA, which is not equal to itself in its own way."""
    if label is None or type(label).__name__ == "NAType":
        return True
    return bool(label != label)


class KeCoClassifier(_KernelLearner):
    """Kernel learners, one a view, that label the unlabeled rows for each other.

    Each view has a support vector machine of its own, learned by stochastic steps.  A
    row without label has, for a view, the label on which the other views agree: the sign of
    the sum of their scores.  So the more rows without label there are, the closer the
    views come to each other.  The score is the mean of the views' scores.

    Parameters
    ----------
    views : None, dict or list of int, default=None
        The columns of each view: a mapping of name to columns (a slice, positions,
        names, a glob), or widths of consecutive blocks.  None: one view, the
        views of a MultiView, or ``random_views``.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable, default="rbf"
        exp(-γ |a - b|²), a·b, or (γ a·b + coef0)^degree.  "linear" keeps a weight a
        column, and no rows.  "precomputed": each view of X is a matrix of kernel
        values, in `fit` of all rows by all rows; `fit` only.  A callable takes the rows
        of a view as two arrays (or CSR arrays, as X is) and returns their kernel values.
    gamma : float, "median", "scale" or dict of str to one of them, default="median"
        γ, in (0, inf); a dict has one a view, by its name.  "median": 1 over the median
        squared distance between rows, of 500 rows at most, which needs no search.
        "scale": 1 / (columns * variance).  On a stream both are of the first batch; 1 / columns
        where that does not say.  Higher: only closer rows count.
    degree : float, default=3
        Of "poly".
    coef0 : float, default=1.0
        Of "poly".
    lam : float, default=1e-4
        λ, in (0, inf): strength of the regularization.  Higher is smoother: scores are
        smaller, so that more rows become supports.
    n_iterations : int, default=1000
        Steps T of `fit`, one row each; not for ``schedule="stream"``.  More comes closer
        to the optimum and keeps more rows.
    schedule : {"half-labeled", "uniform", "stream", "released"}, default="half-labeled"
        Which row each step of `fit` draws.  "half-labeled": half of the steps labeled
        rows, then labeled and unlabeled ones by turns, with replacement, as in the paper's
        experiments.  "uniform": any row, Algorithm 1.  "stream": all rows once, in
        order, as `partial_fit` does.  "released": as "half-labeled", but
        counted as in the authors' code (unlabeled in step t from 0 where t > T/2 and even).
    unlabeled_ratio : float, default=1/3
        Of a stream, at most this many rows without label are learned for each labeled
        one, and the others passed over; in [0, inf], where infinity learns all.  A third is
        their share in the paper's schedule.  Where labels are few, more of them outvote the labels.
    include_self : bool, default=False
        Whether a row that is drawn again counts in its own score, as it does in the authors'
        code; the paper leaves it out.
    random_views : (int, float), default=None
        Make this many views of this part of the columns, drawn at random, such as
        the paper's (2, 0.75).  Of few columns each view then lacks what it needs.
    unlabeled : label, default=None
        What says that a row has no label, besides NaN and None: for instance -1, as in
        scikit-learn.
    budget : int, default=None
        At most this many support rows a view, for streams (`partial_fit`, `learn_one`,
        ``schedule="stream"``): memory and time a row are then bounded.  None: no bound.
    maintenance : {"removal", "projection", "merging"}, default="removal"
        What makes room in a full budget: the support that weighs least is removed;
        or projected onto all others, which keeps most and costs budget³ a row that
        is learned; or merged with another one into a point between them ("rbf" only,
        budget * columns; dense rows).
    approximation : {"fourier", "nystroem"}, default=None
        Features for each view whose product is about the kernel ("rbf"; "nystroem" also
        "poly"), by scikit-learn's `RBFSampler` and `Nystroem`, and a weight for each: a row costs
        the same however many were seen.  "nystroem" takes its points from the first batch.
    n_components : int, default=100
        Features a view of an approximation.  More is closer to the kernel.
    probability : bool, default=False
        Hold out a part of the labeled rows in `fit` and fit probabilities to
        their scores (Platt 1999), for `predict_proba`.
    calibration_fraction : float, default=0.2
        That part, stratified by class.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, multiplied with the row's.  "balanced": inverse
        to the class's frequency among labeled rows (`fit` only).
    cache_size : float, default=200
        Kernel values that `fit` has at once, in MB.  With fewer than all, some are
        computed again.
    verbose : bool, default=False
        Show a bar on stderr (needs rich).
    random_state : int, RandomState or None, default=None
        For the rows that are drawn, random views, features and the part that is held out.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_support_, dual_coef_ : dict of str to int, and to ndarray
        Support rows of each view, and α z of each.
    coef_ : ndarray of shape (1 or n_classes, n_features)
        Weights of the columns, of ``kernel="linear"``.
    gamma_ : dict of str to float
        γ of each view.
    n_steps_ : int
        Steps so far.
    layout_ : ViewLayout
        Views of the columns.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` was a data frame.

    Raises
    ------
    InputError
        Parameters that exclude each other; a budget in a `fit` that is no stream.

    Warns
    -----
    UserWarning
        Rows without label and one view: nobody labels them.

    See Also
    --------
    PegasosClassifier : The same without the unlabeled rows.
    KernelSearchCV : Chooses ``lam`` and ``gamma`` with kernel values computed once.

    Notes
    -----
    At step t view n has the score ``ŷ_n = 1/(λ t) sum_j α_n[j] z_n[j] K(x, x_j)``; where
    ``z_n ŷ_n < 1`` the row's count α_n grows by 1, or by the row's weight. The label z_n that
    an unlabeled row was given is kept until it is drawn again. Where the others do not say
    (their sum is 0) it is 0: the row is counted, and says nothing. A missing view is not
    scored, agrees with nobody and learns nothing. Several classes: each against the rest,
    with labels of its own, over the same draws. There is no intercept: where classes are
    uneven, ``class_weight="balanced"`` moves the cut between them. A row of weight 0 is not
    there. The features of an approximation are rounded in batches, so rows one by one give
    the same as one batch but for rounding.

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

    _supervised = False


class PegasosClassifier(_KernelLearner):
    """Pegasos: a support vector machine by stochastic steps, with a kernel; one a view.

    Each view learns by itself from the labeled rows; the score is the mean of the
    views' scores.  With one view it is Pegasos.  It takes the same steps as
    `KeCoClassifier`, over the same draws; those of rows without label teach it nothing.

    Parameters
    ----------
    views : None, dict or list of int, default=None
        The columns of each view: a mapping of name to columns (a slice, positions,
        names, a glob), or widths of consecutive blocks.  None: one view, the
        views of a MultiView, or ``random_views``.
    kernel : {"rbf", "linear", "poly", "precomputed"} or callable, default="rbf"
        exp(-γ |a - b|²), a·b, or (γ a·b + coef0)^degree.  "linear" keeps a weight a
        column, and no rows.  "precomputed": each view of X is a matrix of kernel
        values, in `fit` of all rows by all rows; `fit` only.  A callable takes the rows
        of a view as two arrays (or CSR arrays, as X is) and returns their kernel values.
    gamma : float, "median", "scale" or dict of str to one of them, default="median"
        γ, in (0, inf); a dict has one a view, by its name.  "median": 1 over the median
        squared distance between rows, of 500 rows at most, which needs no search.
        "scale": 1 / (columns * variance).  On a stream both are of the first batch; 1 / columns
        where that does not say.  Higher: only closer rows count.
    degree : float, default=3
        Of "poly".
    coef0 : float, default=1.0
        Of "poly".
    lam : float, default=1e-4
        λ, in (0, inf): strength of the regularization.  Higher is smoother: scores are
        smaller, so that more rows become supports.
    n_iterations : int, default=1000
        Steps T of `fit`, one row each; not for ``schedule="stream"``.  More comes closer
        to the optimum and keeps more rows.
    schedule : {"half-labeled", "uniform", "stream", "released"}, default="half-labeled"
        Which row each step of `fit` draws.  "half-labeled": half of the steps labeled
        rows, then labeled and unlabeled ones by turns, with replacement, as in the paper's
        experiments.  "uniform": any row, Algorithm 1.  "stream": all rows once, in
        order, as `partial_fit` does.  "released": as "half-labeled", but
        counted as in the authors' code (unlabeled in step t from 0 where t > T/2 and even).
    unlabeled_ratio : float, default=1/3
        Of a stream, at most this many rows without label are learned for each labeled
        one, and the others passed over; in [0, inf], where infinity learns all.  A third is
        their share in the paper's schedule.  Where labels are few, more of them outvote the labels.
    include_self : bool, default=False
        Whether a row that is drawn again counts in its own score, as it does in the authors'
        code; the paper leaves it out.
    random_views : (int, float), default=None
        Make this many views of this part of the columns, drawn at random, such as
        the paper's (2, 0.75).  Of few columns each view then lacks what it needs.
    unlabeled : label, default=None
        What says that a row has no label, besides NaN and None: for instance -1, as in
        scikit-learn.
    budget : int, default=None
        At most this many support rows a view, for streams (`partial_fit`, `learn_one`,
        ``schedule="stream"``): memory and time a row are then bounded.  None: no bound.
    maintenance : {"removal", "projection", "merging"}, default="removal"
        What makes room in a full budget: the support that weighs least is removed;
        or projected onto all others, which keeps most and costs budget³ a row that
        is learned; or merged with another one into a point between them ("rbf" only,
        budget * columns; dense rows).
    approximation : {"fourier", "nystroem"}, default=None
        Features for each view whose product is about the kernel ("rbf"; "nystroem" also
        "poly"), by scikit-learn's `RBFSampler` and `Nystroem`, and a weight for each: a row costs
        the same however many were seen.  "nystroem" takes its points from the first batch.
    n_components : int, default=100
        Features a view of an approximation.  More is closer to the kernel.
    probability : bool, default=False
        Hold out a part of the labeled rows in `fit` and fit probabilities to
        their scores (Platt 1999), for `predict_proba`.
    calibration_fraction : float, default=0.2
        That part, stratified by class.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, multiplied with the row's.  "balanced": inverse
        to the class's frequency among labeled rows (`fit` only).
    cache_size : float, default=200
        Kernel values that `fit` has at once, in MB.  With fewer than all, some are
        computed again.
    verbose : bool, default=False
        Show a bar on stderr (needs rich).
    random_state : int, RandomState or None, default=None
        For the rows that are drawn, random views, features and the part that is held out.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_support_, dual_coef_ : dict of str to int, and to ndarray
        Support rows of each view, and α z of each.
    coef_ : ndarray of shape (1 or n_classes, n_features)
        Weights of the columns, of ``kernel="linear"``.
    gamma_ : dict of str to float
        γ of each view.
    n_steps_ : int
        Steps so far.
    layout_ : ViewLayout
        Views of the columns.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where ``X`` was a data frame.

    Raises
    ------
    InputError
        Parameters that exclude each other; a budget in a `fit` that is no stream.

    See Also
    --------
    KeCoClassifier : Learns from rows without label, too.
    KernelSearchCV : Chooses ``lam`` and ``gamma`` with kernel values computed once.

    Notes
    -----
    At step t view n has the score ``ŷ_n = 1/(λ t) sum_j α_n[j] y_j K(x, x_j)``; where
    ``y ŷ_n < 1`` the row's count α_n grows by 1, or by the row's weight.  A step of a
    row without label counts in t, as in the paper's experiments.  There is no intercept: where
    classes are uneven, ``class_weight="balanced"`` moves the cut between them.  A row of
    weight 0 is not there.

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

    _supervised = True


class KernelSearchCV(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Chooses ``lam`` and ``gamma`` of KeCo or Pegasos by folds, and computes no kernel twice.

    What `GridSearchCV` does, with the kernel values of all rows shared by all folds and
    values of ``lam``: distances are computed once, and their kernel once for each gamma.

    Parameters
    ----------
    estimator : KeCoClassifier or PegasosClassifier
        With the kernel "rbf", "linear" or "poly", and a schedule that draws rows.
    lams : sequence of float, default=(1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
        Values of λ to try.
    gammas : sequence of float, "median" or "scale", default=("median",)
        Values of γ to try, for all views alike; not for "linear".
    cv : int or splitter, default=5
        Stratified folds, shuffled by ``random_state`` of the estimator; rows without label
        count as a class.  Their held-out part is neither learned nor scored.
    scoring : {"roc_auc", "accuracy"}, default="roc_auc"
        Of the labeled rows that are held out; more than two classes: the mean over them,
        each against the rest.
    refit : bool, default=True
        Learn all rows with the best setting, the first of equals.

    Attributes
    ----------
    best_params_ : dict
        The best ``lam`` and ``gamma``.
    best_score_ : float
        Its mean score over the folds.
    best_estimator_ : estimator
        Learned from all rows with it.
    cv_results_ : dict of str to ndarray
        "param_lam", "param_gamma", "mean_test_score", "std_test_score", and
        "split_test_score" of shape (n_settings, n_folds).  A fold where the score is not
        defined, as it has rows of one class, is NaN and does not count.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.

    Raises
    ------
    InputError
        Another estimator or kernel; no fold in which the score is defined.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import KernelSearchCV, PegasosClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = KernelSearchCV(PegasosClassifier(random_state=0), lams=[1e-4, 1e-2], cv=3)
    >>> search.fit(scale(X), y).best_score_ > 0.97
    True
    """

    def __init__(
        self,
        estimator: Any,
        lams: Sequence[float] = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1),
        gammas: Sequence[Any] = ("median",),
        *,
        cv: Any = 5,
        scoring: str = "roc_auc",
        refit: bool = True,
    ) -> None:
        self.estimator = estimator
        self.lams = lams
        self.gammas = gammas
        self.cv = cv
        self.scoring = scoring
        self.refit = refit

    def fit(self, X: Any, y: Any) -> KernelSearchCV:
        """Try all settings, and learn all rows with the best.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Labels; NaN or None in rows without label.

        Returns
        -------
        self : object
            With the results.
        """
        if self.scoring not in ("roc_auc", "accuracy"):
            raise InputError(f"scoring={self.scoring!r}; take 'roc_auc' or 'accuracy'")
        if not isinstance(self.estimator, _KernelLearner) or self.estimator.kernel not in KERNELS:
            raise InputError(
                "estimator= is not a KeCoClassifier or PegasosClassifier with the kernel 'rbf', "
                "'linear' or 'poly'"
            )
        if self.estimator.schedule == "stream" or self.estimator.approximation:
            raise InputError(
                "the search is over exact kernels and schedules that draw rows; leave "
                "approximation= at None and take another schedule than 'stream'"
            )
        learner = clone(self.estimator).set_params(probability=False)
        rows, labels, weight = learner._begin(X, y)
        self.classes_ = learner.classes_
        kinds = np.where(labels[:, 0] == 0.0, -1, labels.argmax(axis=1))
        if labels.shape[1] == 1:
            kinds = labels[:, 0]
        seed = check_random_state(self.estimator.random_state).randint(2**31 - 1)
        cv = self.cv
        if isinstance(cv, Integral):
            least = int(np.unique(kinds[labels[:, 0] != 0.0], return_counts=True)[1].min())
            cv = StratifiedKFold(int(cv), shuffle=True, random_state=seed)
            if least < cv.get_n_splits():
                with warnings.catch_warnings():  # folds without a class are not scored
                    warnings.simplefilter("ignore", UserWarning)
                    folds = list(cv.split(np.zeros(len(kinds)), kinds))
            else:
                folds = list(cv.split(np.zeros(len(kinds)), kinds))
        else:
            folds = list(cv.split(np.zeros(len(kinds)), kinds))
        gammas = ["median"] if self.estimator.kernel == "linear" else list(self.gammas)
        settings, scores = [], []
        for gamma, kernel in learner._gram_of_each(rows, gammas):
            found = np.full((len(self.lams), len(folds)), np.nan)
            for f, (train, test) in enumerate(folds):
                part = np.zeros(len(weight))
                part[train] = weight[train]
                draws = learner._draw(labels, part, np.random.RandomState(seed % 2**31 + f))
                known = test[labels[test, 0] != 0.0]
                for k, lam in enumerate(self.lams):
                    sums = _learn_and_score(learner, kernel, draws, labels, part, rows, lam, known)
                    found[k, f] = self._score(labels[known], sums)
            settings += [(lam, gamma) for lam in self.lams]
            scores.append(found)
        table = np.vstack(scores)
        if not np.isfinite(table).any(axis=1).all():
            raise InputError(
                f"no fold has a defined {self.scoring}; take fewer folds, or label more rows"
            )
        mean = np.nanmean(table, axis=1)
        best = int(mean.argmax())
        self.cv_results_ = {
            "param_lam": np.asarray([lam for lam, _ in settings]),
            "param_gamma": np.asarray([gamma for _, gamma in settings], dtype=object),
            "split_test_score": table,
            "mean_test_score": mean,
            "std_test_score": np.nanstd(table, axis=1),
        }
        self.best_score_ = float(mean[best])
        self.best_params_ = dict(zip(("lam", "gamma"), settings[best], strict=True))
        if self.refit:
            self.best_estimator_ = clone(self.estimator).set_params(**self.best_params_).fit(X, y)
        return self

    def _score(self, labels: np.ndarray, scores: np.ndarray) -> float:
        if self.scoring == "accuracy":
            if labels.shape[1] > 1:
                return float(accuracy_score(labels.argmax(axis=1), scores.argmax(axis=1)))
            return float(accuracy_score(labels[:, 0] > 0.0, scores[:, 0] > 0.0))
        each = [
            keco.area_under_curve(own > 0.0, score)
            for own, score in zip(labels.T, scores.T, strict=True)
            if (own > 0.0).any() and (own < 0.0).any()
        ]
        return float(np.mean(each)) if each else np.nan

    def decision_function(self, X: Any) -> np.ndarray:
        """The scores of ``best_estimator_``.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            As it gives them.
        """
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.decision_function(X)

    def predict(self, X: Any) -> np.ndarray:
        """The class of every row, by ``best_estimator_``.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Members of ``classes_``.
        """
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict(X)

    def view_scores(self, X: Any) -> np.ndarray:
        """The scores of the views, by ``best_estimator_``.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_views) or (n_samples, n_views, n_classes)
            As it gives them.
        """
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.view_scores(X)


def _learn_and_score(
    learner: Any,
    kernel: np.ndarray,
    draws: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray,
    rows: Rows,
    lam: float,
    held_out: np.ndarray,
) -> np.ndarray:  # fmt: offset
    """Scores (n, K) of held-out rows, but for the factor 1 / (λ T)."""
    draws = read_only(draws)
    memory = keco.nothing_learned(len(kernel), labels.shape[1], len(labels))
    keco.learn_from_gram(
        kernel,
        draws,
        draws,
        read_only(labels),
        read_only(weight),
        rows.present,
        memory,
        0,
        float(lam),
        learner.include_self,
        learner._supervised,
    )  # fmt: offset
    sums = np.einsum("vij,vcj->ivc", kernel[:, held_out], memory.beta)
    out = np.zeros((len(held_out), labels.shape[1]))
    present = rows.present[held_out] if len(rows.present) else rows.present
    keco.mean_scores(sums, read_only(present), 1.0, out)
    return out
