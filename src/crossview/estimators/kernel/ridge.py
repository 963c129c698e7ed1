"""Kernel ridge regression on all views together, for numbers and for classes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field
from hashlib import blake2b
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from crossview.algorithms.kernel.ridge import (
    PENALTIES,
    LeftOut,
    Moments,
    Others,
    basis,
    choose_widths,
    score_others,
    score_rows,
    squared_distances,
    without_outliers,
)
from crossview.batch import (
    blocks_of_width,
    present_entries,
    read_only,
    rows_at,
    view_of,
    whole_matrix,
)
from crossview.errors import InputError
from crossview.estimators import parameters
from crossview.estimators.base import (
    ImportancesModel,
    Schema,
    State,
    StatePart,
    ViewClassifier,
    ViewRegressor,
)
from crossview.estimators.base.held_out import folds_of_groups, groups_to_fit
from crossview.estimators.documentation import described, document_parameters, with_parameters
from crossview.estimators.targets import (
    limits_of,
    weighted_classes,
)
from crossview.estimators.validation import Interval
from crossview.jobs.threads import threadpool_limits
from crossview.kernels.rows import Rows
from crossview.portable.scoring import Gaussians, ViewSum, split_by_view
from crossview.saving.schema import Array

PARAMETERS = parameters.PARAMETERS | described(
    """
    n_landmarks : int or None
        Most rows that others are compared with, drawn at random, at least 1.  More of them follow
        a more detailed function; `fit` takes O(rows * n_landmarks²), and a prediction
        O(n_landmarks * columns).  Typical values: 200 to 2000.  None: 300, and twice as many up to
        2,000 as long as the squared error of rows that are left out falls by 8 % each time, or once
        by 5 %, and ``rows * n_landmarks²`` is 1e10 or less.
    random_state : int, RandomState or None
        Seed of the landmarks.  Pass an int for reproducible results.
    """
)

# columns with a value, of which landmarks are dense rows
MOST_COLUMNS = 5000
# coordinate of a learned row, whose kernel with all but equal ones is 0
FARTHEST = 1e4
# landmarks of None: the first, by what part the error has to fall for twice as many, and for a
# further try, the most, and the most rows times their squares: 2 s of one core
FEW_LANDMARKS, ENOUGH, MUCH, MOST_LANDMARKS, MOST_PRODUCTS = 300, 0.05, 0.08, 2000, 1e10
# folds by which rows of groups are left out
FOLDS = 5
# rows whose errors choose λ and landmarks
ROWS_OF_LOSS = 4000
# rows and landmarks on which the widths are chosen
ROWS_OF_WIDTHS, LANDMARKS_OF_WIDTHS = 1500, 300


class _Fit(NamedTuple):
    """Landmarks, β, what leaves rows out, λ, and the loss of some rows left out."""

    landmarks: np.ndarray  # (m, columns)
    beta: np.ndarray  # (m, K)
    features: np.ndarray  # (m, r): turns kernels into φ
    moments: list[Moments]  # of each fold
    penalty: float
    loss: float


class _Landmarks(StatePart):
    """Coordinates of a row, those of the landmarks, their coefficients, and limits of f - b."""

    def schema(self) -> Schema:
        last = max(self.slots.n_columns - 1, 0)
        limits: Schema = {"limits": Array("f8", (2,))} if self.learner._limited else {}
        return limits | {
            "columns": Array("i8", ("columns",), 0, last),
            "center": Array("f8", ("columns",)),
            "factor": Array("f8", ("columns",), low=0.0),
            "landmarks": Array("f8", ("landmarks", "columns")),
            "beta": Array("f8", ("landmarks", self.n_scores)),
            "b": Array("f8", (self.n_scores,)),
            "gamma": Array("f8", (self.slots.n_views,), low=0.0),
            "importances": Array("f8", (self.slots.n_columns,), 0.0, 1.0),
        }


@with_parameters
class KernelRidge(ImportancesModel):
    """Base class of both learners: scaled columns, landmarks, and their scores."""

    _parameter_constraints: ClassVar[dict] = {
        "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
    }

    views: Any = field(default=None, kw_only=False)
    n_landmarks: int | None = None
    random_state: Any = None
    # between its rows the function may be far from all targets: a number is bounded, a score is not
    _limited: ClassVar[bool] = False

    # --- learning ----------------------------------------------------------------

    def _learn(
        self, rows: Rows, y: np.ndarray, h: np.ndarray, groups: np.ndarray | None
    ) -> np.ndarray:
        """Choose the widths, and fit β to rows of weight h; return scores of rows left out.

        Rows that are equal count as one, with their mean target: they are left out together.  So
        are, by folds, those of a group.

        y (n, K): the targets.
        """
        # two threads take longer than one for matrices of this size, and change the last digits
        with threadpool_limits(1, "blas"), np.errstate(over="ignore", invalid="ignore"):
            self._scale(rows, h)
            first, alike = self._equal_rows(rows, groups)
            weight = np.bincount(alike, h)
            means = [np.bincount(alike, h * own) / weight for own in y.T]
            data = LeftOut(np.stack(means, axis=1), weight)
            if groups is not None:
                folds, fold = folds_of_groups(FOLDS, None, groups[first], 0), np.zeros(len(first))
                for f, (_, at) in enumerate(folds):
                    fold[at] = f
                data = data._replace(fold=fold, n_folds=len(folds))
            found = self._solve(rows_at(rows, first), data)
        if not all(np.isfinite(array).all() for array in self._state.values()):
            raise InputError("numbers of X or y are too large; scale them")
        return found[alike]

    def _equal_rows(self, rows: Rows, groups: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the first of each kind of row, in each group, and of which kind each row is."""
        first: list[int] = []
        kinds: dict[bytes, int] = {}
        alike = np.empty(len(rows.indptr) - 1, dtype=np.intp)
        for at in self._blocks(len(alike)):
            for i, z in zip(at.tolist(), self._coordinates(rows_at(rows, at)), strict=True):
                group = b"" if groups is None else int(groups[i]).to_bytes(8)
                kind = blake2b(group + z.tobytes(), digest_size=16).digest()
                alike[i] = kinds.setdefault(kind, len(kinds))
                if alike[i] == len(first):
                    first.append(i)
        return np.array(first), alike

    def _solve(self, rows: Rows, data: LeftOut) -> np.ndarray:
        state, n, y, h = self._state, len(data.y), data.y, data.h / data.h.mean()
        order = check_random_state(self.random_state).permutation(n)
        state["b"] = np.average(y, axis=0, weights=h)
        scale = float(np.sqrt(np.average((y - state["b"]) ** 2, axis=0, weights=h).mean())) or 1.0
        if self._limited:
            state["limits"] = limits_of(y - state["b"])
        data = data._replace(y=(y - state["b"]) / scale, h=h)
        some = order[:ROWS_OF_WIDTHS]
        state["gamma"] = self._widths(rows_at(rows, some), data.take(some))
        state["factor"] *= np.sqrt(state["gamma"])[self._view_of_columns()]
        kept = state["factor"] > 0.0
        for name in ("columns", "center", "factor"):
            state[name] = state[name][kept]
        some = np.sort(order[:ROWS_OF_LOSS])
        found: _Fit | None = None
        for m in self._sizes(n):
            larger = self._fit_landmarks(rows, data, np.sort(order[:m]), some)
            before = np.inf if found is None else found.loss
            if larger.loss >= (1.0 - ENOUGH) * before:  # nothing to gain: both are 0
                break
            found = larger
            if larger.loss > (1.0 - MUCH) * before:  # the next gain is less
                break
        assert found is not None
        state["landmarks"], state["beta"] = found.landmarks, scale * found.beta
        state["importances"] = self._importances(_gaussian(found.landmarks, found.landmarks))
        errors = np.empty(y.shape)
        for fold, moments in zip(data.folds(), found.moments, strict=True):
            whole, turn = np.arange(n)[fold], found.features @ moments.B
            for block in self._blocks(len(whole), len(found.landmarks)):
                own = data.take(at := whole[block])
                turned = self._kernel(rows, at, found.landmarks) @ turn
                (errors[at],) = moments.left_out(turned, own.y, own.h, [found.penalty])
        return np.asarray(state["b"] + scale * (data.y - errors))

    def _sizes(self, n: int) -> list[int]:
        """Return how many landmarks to try, one after the other."""
        if self.n_landmarks is not None:
            return [self.n_landmarks]
        most = int(max(FEW_LANDMARKS, min(n, MOST_LANDMARKS, math.sqrt(MOST_PRODUCTS / n))))
        sizes = [FEW_LANDMARKS]
        while sizes[-1] < most:
            sizes.append(min(2 * sizes[-1], most))
        return sizes

    def _kernel(self, rows: Rows, at: np.ndarray, landmarks: np.ndarray) -> np.ndarray:
        return _gaussian(self._near(rows_at(rows, at)), landmarks)

    def _fit_landmarks(self, rows: Rows, data: LeftOut, at: np.ndarray, some: np.ndarray) -> _Fit:
        """Fit β to rows, those in ``at`` as landmarks, λ by those in ``some``, each left out."""
        landmarks = self._near(rows_at(rows, at))
        to_features = basis(_gaussian(landmarks, landmarks))
        r, y, root, folds = to_features.shape[1], data.y, np.sqrt(data.h)[:, None], data.folds()
        squares, targets = np.zeros((len(folds), r, r)), np.zeros((len(folds), r, y.shape[1]))
        for f, fold in enumerate(folds):
            whole = np.arange(len(y))[fold]
            for block in (whole[one] for one in self._blocks(len(whole), len(landmarks))):
                phi = root[block] * (self._kernel(rows, block, landmarks) @ to_features)
                squares[f] += phi.T @ phi
                targets[f] += phi.T @ (root[block] * y[block])
        moments, tested = Moments.for_folds(squares, targets), data.take(some)
        losses = np.zeros(len(PENALTIES))
        for fold, left in zip(tested.folds(), moments, strict=True):
            whole, turn = some[fold], to_features @ left.B
            for block in (whole[one] for one in self._blocks(len(whole), len(landmarks))):
                own = data.take(block)
                losses += left.losses(self._kernel(rows, block, landmarks) @ turn, own.y, own.h)
        penalty = PENALTIES[int(np.argmin(losses))]
        whole_fit = moments[0] if len(folds) == 1 else Moments.of(squares.sum(0), targets.sum(0))
        beta = to_features @ whole_fit.weights(penalty)
        return _Fit(landmarks, beta, to_features, moments, penalty, float(losses.min()))

    def _scale(self, rows: Rows, h: np.ndarray) -> None:
        """Find the columns with a value, and what they are scaled by."""
        matrix, V = whole_matrix(rows), self._slots.n_views
        n = np.repeat(
            h @ rows.present if len(rows.present) else np.full(V, h.sum()), self._slots.widths
        )
        columns = np.flatnonzero(h @ (matrix != 0.0))
        if len(columns) > MOST_COLUMNS:
            raise InputError(
                f"{len(columns)} columns have a value, and a kernel of more than {MOST_COLUMNS} "
                "says little; choose fewer views=, or another model"
            )
        n, part = n[columns], matrix[:, columns]
        nonzero = h @ (part != 0.0)
        center, spread = np.zeros(len(columns)), h @ (part * part) / nonzero
        is_number, view = 2.0 * nonzero >= n, view_of(columns, self._slots.ptr)
        by_column = sp.csc_array(part) if sp.issparse(part) else part
        for c in np.flatnonzero(is_number).tolist():
            own = by_column[:, [c]].toarray()[:, 0] if sp.issparse(part) else part[:, c]
            of_rows = h * rows.present[:, view[c]] if len(rows.present) else h
            near = without_outliers(own, of_rows > 0.0)
            near = own if near is None else near
            center[c] = of_rows @ near / n[c]
            spread[c] = of_rows @ (near - center[c]) ** 2 / n[c]
        if not np.isfinite(spread).all():
            raise InputError("numbers of X are too large; scale them")
        # what rounding alone makes of a constant
        known = spread > (len(h) * np.finfo(float).eps * center) ** 2
        self._state |= {
            "columns": columns,
            "center": center,
            "factor": np.where(known, 1.0 / np.sqrt(np.where(known, spread, 1.0)), 0.0),
        }

    def _widths(self, rows: Rows, data: LeftOut) -> np.ndarray:
        """Return γ of each view."""
        z, view = self._near(rows), self._view_of_columns()
        landmarks = slice(0, LANDMARKS_OF_WIDTHS)
        distances = [
            squared_distances(z[:, view == v], z[landmarks, view == v])
            for v in range(self._slots.n_views)
        ]
        return choose_widths(distances, landmarks, data)

    def _importances(self, K: np.ndarray) -> np.ndarray:
        """Return the mean size of the slope of f along each scaled column, as shares."""
        state, found = self._state, np.zeros(self._slots.n_columns)
        z, slopes = state["landmarks"], np.zeros(len(state["columns"]))
        for beta in state["beta"].T[:, :, None]:
            slopes += np.abs(z * (K @ beta) - K @ (beta * z)).mean(axis=0)
        slopes *= np.sqrt(state["gamma"])[self._view_of_columns()]
        total = float(slopes.sum())
        found[state["columns"]] = slopes / total if total > 0.0 else 0.0
        return found

    # --- scores ------------------------------------------------------------------

    def _parts(self, state: State) -> list[StatePart]:
        return [_Landmarks(state, self), *super()._parts(state)]

    def _view_of_columns(self) -> np.ndarray:
        return view_of(self._state["columns"], self._slots.ptr)

    def _coordinates(self, rows: Rows) -> np.ndarray:
        """Return the scaled columns that count, 0 where a view is missing."""
        state = self._state
        part = whole_matrix(rows)[:, state["columns"]]
        z = (part.toarray() if sp.issparse(part) else part) - state["center"]
        z *= state["factor"]
        if len(rows.present):
            z *= rows.present[:, self._view_of_columns()]
        return np.asarray(z)

    def _near(self, rows: Rows) -> np.ndarray:
        """Return the coordinates for learning: larger ones would round differences of others."""
        return np.clip(self._coordinates(rows), -FARTHEST, FARTHEST)

    def _blocks(self, n: int, n_landmarks: int = 1) -> Iterator[np.ndarray]:
        return blocks_of_width(n, max(n_landmarks, len(self._state["columns"])))

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        state = self._state
        scores = np.tile(state["b"], (len(rows.indptr) - 1, 1))
        landmarks, beta = read_only(state["landmarks"]), read_only(state["beta"])
        for at in self._blocks(len(scores)):
            z = self._coordinates(rows_at(rows, at))
            score_rows(read_only(z), landmarks, beta, scores[at[0] : at[-1] + 1])
        return self._limit(scores)

    def _limit(self, scores: np.ndarray) -> np.ndarray:
        """Return scores within those of the training rows, of numbers to predict."""
        state = self._state
        return np.clip(scores, *(state["b"] + state["limits"])) if self._limited else scores

    def _entry_contributions(self, rows: Rows) -> np.ndarray:
        state = self._state
        row, column, counts = present_entries(rows)
        found = np.zeros((len(row), self._n_scores()))
        counts &= state["importances"][column] > 0.0
        scores, z = self._joint_scores(rows), self._coordinates(rows)
        own = np.searchsorted(state["columns"], column[counts])
        ends = np.cumsum(np.bincount(row[counts], minlength=len(z)))
        without = np.tile(state["b"], (len(own), 1))
        others = Others(
            read_only(np.append(0, ends).astype(np.uint64)),
            read_only(own.astype(np.uint64)),
            read_only(-(state["center"] * state["factor"])[own]),
        )
        landmarks, beta = read_only(state["landmarks"]), read_only(state["beta"])
        score_others(read_only(z), landmarks, beta, others, np.empty(len(landmarks)), without)
        found[counts] = scores[row[counts]] - self._limit(without)
        return found

    def _portable_scorer(self) -> ViewSum:
        state, ptr = self._state, self._slots.ptr
        found = ViewSum.linear(
            split_by_view(np.zeros((self._slots.n_columns, self._n_scores())), ptr),
            np.zeros((self._slots.n_views, self._n_scores())),
            constant=state["b"],
            view_scores="alone",
        )
        view = self._view_of_columns()
        used = np.unique(view).tolist()
        found.gaussians = Gaussians(
            used,
            [state["columns"][view == v] - ptr[v] for v in used],
            [state["center"][view == v] for v in used],
            [state["factor"][view == v] for v in used],
            state["landmarks"],
            state["beta"],
            state["limits"].tolist() if self._limited else None,
        )
        return found

    # --- what was learned ----------------------------------------------------------

    @property
    def n_landmarks_(self) -> int:
        """Number of rows that others are compared with."""
        return len(self._learned["landmarks"])

    @property
    def gamma_(self) -> dict[str, float]:
        """γ of each view, of its scaled columns; 0: the view has no part in the prediction."""
        return dict(zip(self.layout_.names, self._learned["gamma"].tolist(), strict=True))


@document_parameters(PARAMETERS, attributes=parameters.ATTRIBUTES)
@with_parameters
class MultiViewKernelRidgeRegressor(KernelRidge, ViewRegressor):
    """Kernel ridge regression on all views: a smooth function of all columns together.

    Minimizes ``sum_i h_i (y_i - f(x_i))² + λ |f|²`` over all rows, with ``f(x) = b + sum_j β_j
    k(x, z_j)`` and one Gaussian kernel on the scaled columns of all views, ``k(x, z) =
    exp(-sum_v γ_v |x_v - z_v|²)``.  h is the weight of a row, z_j are rows that are drawn at
    random, |f| is the norm of f in the space of the kernel, and b is the mean of y.

    How fast the function changes along each view, γ_v, and λ need no tuning: `fit` takes those
    with the lowest squared error of rows that are left out one at a time.  A view that does not
    help gets γ_v = 0.

    Attributes
    ----------
    gamma_ : dict of str to float
        γ of each view, of its scaled columns.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in how much the score changes with a column, at the landmarks.
    n_landmarks_ : int
        Number of rows that others are compared with.
    layout_, n_features_in_, feature_names_in_

    Raises
    ------
    InputError
        More than 5,000 columns have a value: the rows of wide, sparse views are all far apart.

    See Also
    --------
    MultiViewKernelRidgeClassifier : The same for classes.
    KeCoRegressor : One kernel per view, and rows without a target.
    MultiViewTreesRegressor : Steps in place of smooth curves, and categories.

    Notes
    -----
    A column that is nonzero in at least half of the rows that have its view gets mean 0 and
    variance 1; others, such as those of categories, are divided by the root mean square of their
    nonzero values.  A missing view is at the mean of its columns.

    Equal rows count as one, with their mean target: otherwise one would tell of the other that is
    left out.  Rows that are alike in one view only, as those of one courier, do: γ and λ are then
    for couriers that have been learned.

    No prediction is beyond the learned targets by more than a tenth of their range: between rows
    the function may be far from all of them, and its exponential farther.

    γ is chosen on at most 1,500 rows and 300 landmarks: one for all views, then tried as 0, and
    from a tenth to ten times as much, for each view, twice.  `contributions` scores each row again
    without each of its entries.

    References
    ----------
    C. Saunders, A. Gammerman, V. Vovk, "Ridge regression learning algorithm in dual variables",
    ICML 1998.
    C. Williams, M. Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2000
    (landmarks).
    D. M. Allen, "The relationship between variable selection and data augmentation and a method for
    prediction", Technometrics 16 (1974) (the error of rows that are left out).

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from crossview import MultiViewKernelRidgeRegressor
    >>> X, y = make_friedman1(1000, random_state=0)
    >>> views = {"own": slice(0, 5), "noise": slice(5, 10)}
    >>> model = MultiViewKernelRidgeRegressor(views, random_state=0).fit(X[:500], y[:500])
    >>> bool(model.score(X[500:], y[500:]) > 0.98), model.gamma_["noise"]
    (True, 0.0)
    """

    _limited: ClassVar[bool] = True

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows, y, weight = self._rows_to_fit(X, y, sample_weight)
        self._start_state()
        self._see_targets(y)
        self._learn(rows, y[:, None], weight, groups_to_fit(X, sample_weight))


@document_parameters(PARAMETERS, attributes=parameters.ATTRIBUTES)
@with_parameters
class MultiViewKernelRidgeClassifier(KernelRidge, ViewClassifier):
    """Kernel ridge regression on all views for classes: a least-squares SVM.

    Minimizes ``sum_i h_i (y_i - f(x_i))² + λ |f|²`` as `MultiViewKernelRidgeRegressor` does, with
    y = 1 for the second of two classes and -1 for the first; of more classes f has an output per
    class, and y = 1 for the class of the row and -1 for all others.  It is at its best with few
    rows of dense views, such as those of images.

    Attributes
    ----------
    classes_
    gamma_ : dict of str to float
        γ of each view, of its scaled columns; 0: the view has no part in the score.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each column in how much the scores change with a column, at the landmarks.
    n_landmarks_ : int
        Number of rows that others are compared with.
    layout_, n_features_in_, feature_names_in_

    Raises
    ------
    InputError
        More than 5,000 columns have a value: the rows of wide, sparse views are all far apart.

    See Also
    --------
    MultiViewKernelRidgeRegressor : The same for numbers; its notes say how columns are scaled.
    PegasosClassifier : A kernel SVM per view.

    Notes
    -----
    γ, λ and the probabilities are those of rows that are left out one at a time, which one fit
    tells, so that no folds are learned.

    References
    ----------
    J. Suykens, J. Vandewalle, "Least squares support vector machine classifiers", Neural Processing
    Letters 9 (1999).  Those of the regressor hold here, too.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from crossview import MultiViewKernelRidgeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> views = {"mean": slice(0, 10), "error": slice(10, 20), "worst": slice(20, 30)}
    >>> model = MultiViewKernelRidgeClassifier(views, random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.95)
    True
    """

    class_weight: Any = None
    calibration: str = "sigmoid"

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows, labels, weight = self._rows_to_fit(X, y, sample_weight)
        classes, codes, h, _ = weighted_classes(labels, weight, self.class_weight)
        self._set_classes(classes)
        if not h.all():
            raise InputError("a class has the class_weight 0; leave its rows out")
        targets = 2.0 * (codes[:, None] == np.arange(len(self.classes_))) - 1.0
        targets = targets[:, 1:] if len(self.classes_) == 2 else targets
        scores = self._learn(rows, targets, h, groups_to_fit(X, sample_weight))
        if self.calibration != "none":
            self._calibrate_on(scores, labels, weight)


def _gaussian(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the kernel of all rows of ``a`` and ``b``."""
    return np.asarray(np.exp(-squared_distances(a, b)))
