"""What learners share, in layers.

`ViewLearner` reads rows of any kind; `ViewClassifier` adds labels and classes,
`LinearClassifier` a weight for every column.  `OnlineLearner` makes passes;
`OnlineClassifier`, `OnlineRegressor` and `LinearOnlineClassifier` are the
contract of a stream.  A learner says what its state is, and how a batch is
learned (`_learn`, or `_fit` of all rows at once); the rest is here.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from crossview.algorithms.online import Weights
from crossview.batch import make_rows, read_only
from crossview.errors import InputError
from crossview.estimators.columns import NamedColumns
from crossview.kernels.moments import running_units, units_of
from crossview.kernels.rows import Rows, score_views
from crossview.views import MultiView, ViewLayout, resolve_views

__all__ = [
    "LinearClassifier",
    "LinearOnlineClassifier",
    "OnlineClassifier",
    "OnlineLearner",
    "OnlineRegressor",
    "ViewClassifier",
    "ViewLearner",
]


class ViewLearner(BaseEstimator):
    """Base of all learners: rows of any kind with their views, and what was learned of them.

    Subclasses store their parameters in ``__init__`` and name them in
    ``_parameter_constraints``.
    """

    _named: NamedColumns | None
    _state: dict[str, np.ndarray]

    # --- what a learner adds --------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Learn from rows of any kind."""
        raise NotImplementedError

    def _start_state(self) -> None:
        """A state that has learned nothing."""
        raise NotImplementedError

    def _grow_state(self, moved: np.ndarray) -> None:
        """New columns have come: what was at place ``i`` of the state is now at ``moved[i]``."""
        raise NotImplementedError

    def _n_scores(self) -> int:
        """How many scores a row has."""
        raise NotImplementedError

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        """The scores of the rows, (n_samples, n_scores)."""
        raise NotImplementedError

    def _warm_starts(self) -> bool:
        """Whether `fit` goes on from what was learned."""
        return False

    # --- learning ----------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from scratch.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Labels, of two or more classes; numbers for a regressor.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts, at least 0; see the class.

        Returns
        -------
        self : object
            The fitted learner.
        """
        self._validate_params()
        if not self._warm_starts():
            self._forget()
        try:
            self._fit(X, y, sample_weight)
        except ValueError:
            if not self._warm_starts():
                self._forget()
            raise
        return self

    def _sample_weight(self, sample_weight: Any, y: np.ndarray) -> np.ndarray:
        """A weight for every row."""
        if isinstance(sample_weight, int | float | np.number):  # the same for all rows
            if not 0.0 <= float(sample_weight) < np.inf:
                raise InputError(f"sample_weight={sample_weight!r}; give a number of 0 or more")
            return np.full(len(y), float(sample_weight))
        return _check_sample_weight(
            sample_weight, y, dtype=np.float64, copy=True, ensure_non_negative=True
        )

    # --- state -------------------------------------------------------------------

    def view_columns(self) -> dict[str, np.ndarray]:
        """The columns that form each view, for instance to take ``coef_`` apart.

        Returns
        -------
        columns : dict of str to ndarray of int
            Positions of the columns of ``X``, in the order of the view.
        """
        check_is_fitted(self, "_state")
        places, ptr = self._places, self._slots.ptr
        if places is None:
            places = np.arange(self._slots.n_columns)
        used = np.flatnonzero(places >= 0)
        columns = used[np.argsort(places[used])]
        cuts = np.searchsorted(places[columns], ptr[1:-1])
        return dict(zip(self.layout_.names, np.split(columns, cuts), strict=True))

    def _get_state(self) -> dict[str, np.ndarray]:
        """Everything that was learned, as a flat dict of arrays."""
        check_is_fitted(self, "_state")
        return dict(self._state)

    def _set_state(self, state: Mapping[str, np.ndarray]) -> None:
        self._state = {name: np.array(value) for name, value in state.items()}

    def _get_header(self) -> dict[str, Any]:
        """What the arrays do not say: classes, columns and names, ready for JSON."""
        return {
            "views": {"names": self.layout_.names, "widths": self.layout_.widths},
            "n_features_in": int(self.n_features_in_),
            "feature_names_in": (
                list(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None
            ),
            "places": None if self._places is None else self._places.tolist(),
            "named": self._named.to_json() if self._named and self._named.fixed is None else None,
        }

    def _set_header(self, header: Mapping[str, Any]) -> None:
        self.layout_ = ViewLayout(header["views"]["names"], header["views"]["widths"])
        self.n_features_in_ = int(header["n_features_in"])
        if header["feature_names_in"] is not None:
            self.feature_names_in_ = np.asarray(header["feature_names_in"], dtype=object)
        named = header["named"]
        self._named = None if named is None else NamedColumns.from_json(named)
        self._slots = self.layout_ if self._named is None else self._named.slots
        places = header["places"]
        self._places = None if places is None else np.asarray(places)

    def _forget(self) -> None:
        for name in ("_state", "classes_", "layout_", "_named", "feature_names_in_"):
            if name in self.__dict__:
                delattr(self, name)

    # --- rows --------------------------------------------------------------------

    def _read(self, X: Any, *, reset: bool, checked: bool = True) -> Rows:
        """Any X as the rows of the loops; ``reset`` makes its columns the learner's."""
        views = getattr(self, "views", None)
        present = None
        if isinstance(X, MultiView):
            if reset:
                if views is not None:
                    raise InputError("X is a MultiView and names its views; leave views= at None")
                self.layout_, self.n_features_in_ = X.layout, X.layout.n_columns
                self._use_columns(None)
            elif X.layout != self.layout_:
                raise InputError(f"X has the views {X.layout}, but the learner has {self.layout_}")
            matrix, present = X.matrix, X.present
            if len(X) == 0:
                raise InputError("X has 0 rows; give at least one")
        else:
            _check_numeric(X)
            matrix = validate_data(
                self,
                X,
                accept_sparse="csr",
                dtype=np.float64,
                ensure_all_finite=False,
                reset=reset,
            )
            if reset:
                names = getattr(self, "feature_names_in_", None)
                self.layout_, columns = resolve_views(views, matrix.shape[1], names)
                places = None
                if columns is not None:
                    places = np.full(matrix.shape[1], -1)
                    places[columns] = np.arange(len(columns))
                self._use_columns(places)
        return make_rows(
            matrix,
            self._slots,
            present,
            places=self._places,
            names=getattr(self, "feature_names_in_", None),
            checked=checked,
        )

    def _use_columns(self, places: np.ndarray | None) -> None:
        """Column c of X has its weight at ``places[c]`` of the state, -1: nowhere; None: at c."""
        self._places = places
        self._slots = self.layout_
        self._named = None

    def _read_one(self, x: Any, *, learn: bool) -> Rows:
        """One row of `learn_one` and `predict_one`."""
        if not isinstance(x, Mapping):
            row = (
                sp.csr_array(x)
                if sp.issparse(x)
                else np.asarray(x, dtype=np.float64).reshape(1, -1)
            )
            return self._read(row, reset=not hasattr(self, "_state"))
        if not hasattr(self, "_state"):
            views = getattr(self, "views", None)
            self._named = NamedColumns(list(views) if isinstance(views, Mapping) else [])
        if self._named is None:
            self._named = NamedColumns.of_fitted(
                self.layout_, self._places, getattr(self, "feature_names_in_", None)
            )
        nested = bool(x) and all(isinstance(value, Mapping) for value in x.values())
        named = self._named
        grown = named.read(x if nested else {named.only_view(): x}, learn=learn)
        if grown is not None:
            self._grow(grown)
        return make_rows(named.row, self._slots, named.present)

    def _grow(self, moved: np.ndarray) -> None:
        """New columns have come: place ``i`` of the state is now at ``moved[i]``."""
        assert self._named is not None
        self._slots = self._named.slots
        self.layout_ = self._named.layout
        self._places = self._named.places
        self.n_features_in_ = self.layout_.n_columns
        if hasattr(self, "_state"):
            self._grow_state(moved)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class OnlineLearner(ViewLearner):
    """Base of all online learners: passes over the rows."""

    _parameter_constraints: ClassVar[dict] = {
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
    }

    # --- what a learner adds --------------------------------------------------

    def _learn(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray, scores: np.ndarray
    ) -> int:
        """One pass of the learner's loop; a row that is not finite and was passed over, or -1."""
        raise NotImplementedError

    def _first_targets(
        self, y: Any, sample_weight: Any, rows: Rows
    ) -> tuple[np.ndarray, np.ndarray]:
        """Start from the labels of `fit`; the target of each row for its loop, and its weight."""
        raise NotImplementedError

    def _check_streams(self) -> None:
        """`InputError` where the learner cannot take a row after the other."""

    # --- learning ----------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        # values are not looked at here: the first pass says if there is something to see
        rows = self._read(X, reset=True, checked=False)
        target, weight = self._first_targets(y, sample_weight, rows)
        random_state = check_random_state(self.random_state)
        n = len(rows.indptr) - 1
        for epoch in range(self.n_epochs):
            order = random_state.permutation(n) if self.shuffle else np.arange(n)
            _, nonfinite_row = self._pass(rows, order, target, weight)
            if epoch == 0 and nonfinite_row >= 0:
                # a missing view, after which it begins again, or an error
                rows = self._read(X, reset=False)
                self._start_state()
                self._pass(rows, order, target, weight)

    def _pass(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """One pass: scores of all rows just before they were learned, and what `_learn` says."""
        K = self._n_scores()
        scores = np.zeros((len(rows.indptr) - 1, K))
        nonfinite_row = self._learn(
            rows,
            read_only(np.ascontiguousarray(order, dtype=np.int64)),
            read_only(y),
            read_only(weight),
            scores if K > 1 else scores.reshape(-1),
        )
        return scores, nonfinite_row


class ViewClassifier(ClassifierMixin, ViewLearner):
    """Base of the classifiers: labels, classes and what is said of new rows."""

    # --- using -------------------------------------------------------------------

    def decision_function(self, X: Any) -> np.ndarray:
        """The joint score of all views.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Two classes: above 0 predicts ``classes_[1]``, and 0 does not.
            More: the highest predicts its class, the first of equals.
        """
        check_is_fitted(self, "classes_")
        scores = self._joint_scores(self._read(X, reset=False))
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class of every row.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Members of ``classes_``.
        """
        scores = self.decision_function(X)
        return self._decide(scores)

    def predict_one(self, x: Any) -> Any:
        """The class of one row; None as long as nothing has been learned.

        Parameters
        ----------
        x : mapping or array-like of shape (n_features,)
            As for `learn_one`.  Features never seen are passed over.

        Returns
        -------
        y : label or None
            A member of ``classes_``.
        """
        if not hasattr(self, "classes_"):
            return None
        scores = self._joint_scores(self._read_one(x, learn=False))
        return self._decide(scores[:, 0] if scores.shape[1] == 1 else scores).tolist()[0]

    # --- classes and weights -----------------------------------------------------

    def _labels(self, y: Any, rows: Rows) -> np.ndarray:
        """The labels as an array, as many as rows, none missing."""
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        y = column_or_1d(y, warn=True)
        if y.dtype.kind in "fc":
            empty = ~np.isfinite(y)
        elif y.dtype.kind == "O":
            empty = np.asarray([label is None or label != label for label in y], dtype=bool)
        else:
            empty = np.zeros(len(y), dtype=bool)
        if empty.any():
            raise InputError(
                "the label is missing (NaN, None or infinity); leave the row out, or label it",
                row=int(np.argmax(empty)),
            )
        if y.dtype.kind not in "iubUS":  # those are classes whatever they hold
            check_classification_targets(y)
        n = len(rows.indptr) - 1
        if len(y) != n:
            raise InputError(
                f"Found input variables with inconsistent numbers of samples: {[n, len(y)]}"
            )
        return y

    def _set_classes(self, classes: np.ndarray) -> None:
        self.classes_ = classes
        self._start_state()

    def _targets(
        self, y: np.ndarray, sample_weight: Any, class_weight: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Each row's target as its loop takes it, and its weight."""
        codes = np.searchsorted(self.classes_, y)
        codes[codes == len(self.classes_)] = 0
        unknown = self.classes_[codes] != y
        if unknown.any():
            row = int(np.argmax(unknown))
            raise InputError(
                f"label {y[row]!r} is not among the classes {self.classes_.tolist()!r}", row=row
            )
        weight = self._sample_weight(sample_weight, y)
        if class_weight is not None:
            if class_weight != "balanced":
                class_weight = {c: w for c, w in class_weight.items() if c in self.classes_}
                weight *= np.asarray([class_weight.get(c, 1.0) for c in self.classes_.tolist()])[
                    codes
                ]
            else:
                weight *= compute_class_weight(class_weight, classes=self.classes_, y=y)[codes]
        if len(self.classes_) > 2:
            return codes.astype(np.int64), weight
        # a class that is alone so far stands on the positive side
        positive = codes == len(self.classes_) - 1
        return np.where(positive, 1.0, -1.0), weight

    def _decide(self, scores: np.ndarray) -> np.ndarray:
        if scores.ndim > 1:
            return self.classes_[scores.argmax(axis=1)]
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, len(scores))
        return self.classes_[(scores > 0.0).astype(np.intp)]

    def _get_header(self) -> dict[str, Any]:
        classes = {"dtype": self.classes_.dtype.str, "values": self.classes_.tolist()}
        return {"classes": classes, **super()._get_header()}

    def _set_header(self, header: Mapping[str, Any]) -> None:
        classes = header["classes"]
        kind = np.dtype(classes["dtype"])
        self.classes_ = np.asarray(classes["values"], dtype=kind)
        super()._set_header(header)


class OnlineClassifier(ViewClassifier, OnlineLearner):
    """Base of the online classifiers: the contract of a stream."""

    _parameter_constraints: ClassVar[dict] = {
        **OnlineLearner._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def _insert_class(self, old: np.ndarray, place: int) -> None:
        """A class has come at that place of ``classes_``; what was learned keeps its meaning."""
        raise NotImplementedError

    def _has_no_label(self, y: Any) -> bool:
        """Whether a row has no label; an error for learners that need one."""
        if y is None or y != y:
            raise InputError("the label is missing (NaN or None); leave the row out, or label it")
        return False

    # --- learning ----------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows, once, in the order in which they come.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All classes that will ever come; needed in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts, at least 0; see the class.

        Returns
        -------
        self : object
            The learner.
        """
        self.score_then_learn(X, y, classes, sample_weight)
        return self

    def score_then_learn(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> np.ndarray:
        """Learn like `partial_fit`, and return what each row's score was just before.

        This is progressive validation in one pass: every row is scored by a
        model that has learned from all rows before it, and none after.

        Parameters
        ----------
        X, y, classes, sample_weight
            As for `partial_fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            As `decision_function` would have given them, row by row.
        """
        self._validate_params()
        self._check_streams()
        if self.class_weight == "balanced":
            raise InputError(
                "class_weight='balanced' needs all labels at once; for a stream give the weights, "
                "class_weight={label: weight, ...}"
            )
        first = not hasattr(self, "classes_")
        if first and classes is None:
            raise InputError("classes= must be given in the first call: all labels that can come")
        try:
            rows = self._read(X, reset=first)
            y = self._labels(y, rows)
            if first:
                self._set_classes(np.unique(np.asarray(classes)))
            elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise InputError(
                    f"classes={classes!r} is not the same as in the first call, "
                    f"{self.classes_.tolist()!r}"
                )
            codes, weight = self._targets(y, sample_weight, self.class_weight)
        except ValueError:
            if first:
                self._forget()
            raise
        scores, _ = self._pass(rows, np.arange(len(codes)), codes, weight)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def learn_one(self, x: Any, y: Any, sample_weight: float = 1.0) -> Self:
        """Learn from one row.

        Parameters
        ----------
        x : mapping or array-like of shape (n_features,)
            A mapping of view to a mapping of feature to number, a mapping of
            feature to number (one view), or a plain row.  A view that is not
            there is missing; a feature that is not there is 0.  A learner that
            starts with mappings takes in new features and views as they come.
        y : label
            Its class.  New classes are taken in as they come.
        sample_weight : float, default=1.0
            How much the row counts.

        Returns
        -------
        self : object
            The learner.
        """
        if not hasattr(self, "_state"):
            self._validate_params()
        self._check_streams()
        if not self._has_no_label(y):
            rows = self._read_one(x, learn=True)
            self._add_class(y)
        elif hasattr(self, "classes_"):
            rows = self._read_one(x, learn=True)
        else:
            return self  # as long as there is no class, there is nothing to agree on
        codes, weight = self._targets(np.asarray([y]), sample_weight, self.class_weight)
        self._pass(rows, np.zeros(1, dtype=np.int64), codes, weight)
        return self

    # --- classes as they come -----------------------------------------------------

    def _first_targets(
        self, y: Any, sample_weight: Any, rows: Rows
    ) -> tuple[np.ndarray, np.ndarray]:
        y = self._labels(y, rows)
        classes = np.unique(y)
        if len(classes) < 2:
            raise InputError(
                f"y has one class, {classes.tolist()[0]!r}; a classifier needs two or more"
            )
        if not hasattr(self, "classes_"):
            self._set_classes(classes)
        return self._targets(y, sample_weight, self.class_weight)

    def _add_class(self, label: Any) -> None:
        """Take in a class that was not there; what was learned keeps its meaning."""
        if not hasattr(self, "classes_"):
            self._set_classes(np.asarray([label]))
            return
        if label in self.classes_:
            return
        old = self.classes_
        self.classes_ = np.sort(np.append(old, label))
        self._insert_class(old, int(np.searchsorted(self.classes_, label)))


class OnlineRegressor(RegressorMixin, OnlineLearner):
    """Base of the online regressors.

    Targets are centered and scaled inside, and predictions given back in their
    own units.  `fit` takes mean and standard deviation of all its rows.  On a
    stream they are those of the rows so far, each row's own included, so a row
    is learned in the same units however the stream is cut into batches.
    """

    # --- learning ----------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from some more rows, once, in the order in which they come.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts, at least 0; see the class.

        Returns
        -------
        self : object
            The learner.
        """
        self.score_then_learn(X, y, sample_weight)
        return self

    def score_then_learn(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Learn like `partial_fit`, and return what each row's prediction was just before.

        Parameters
        ----------
        X, y, sample_weight
            As for `partial_fit`.

        Returns
        -------
        predictions : ndarray of shape (n_samples,)
            As `predict` would have given them, row by row.
        """
        self._validate_params()
        self._check_streams()
        first = not hasattr(self, "_state")
        try:
            rows = self._read(X, reset=first)
            y = self._numbers(y, len(rows.indptr) - 1)
            weight = self._sample_weight(sample_weight, y)
            if first:
                self._start_state()
        except ValueError:
            if first:
                self._forget()
            raise
        return self._learn_in_order(rows, y, weight)

    def learn_one(self, x: Any, y: float, sample_weight: float = 1.0) -> Self:
        """Learn from one row.

        Parameters
        ----------
        x : mapping or array-like of shape (n_features,)
            A mapping of view to a mapping of feature to number, a mapping of
            feature to number (one view), or a plain row.  A view that is not
            there is missing; a feature that is not there is 0.  A learner that
            starts with mappings takes in new features and views as they come.
        y : float
            Its target.
        sample_weight : float, default=1.0
            How much the row counts.

        Returns
        -------
        self : object
            The learner.
        """
        if not hasattr(self, "_state"):
            self._validate_params()
        self._check_streams()
        target = self._numbers([y], 1)
        rows = self._read_one(x, learn=True)
        if not hasattr(self, "_state"):
            self._start_state()
        self._learn_in_order(rows, target, self._sample_weight(sample_weight, target))
        return self

    def _learn_in_order(self, rows: Rows, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """One pass, each target in units of the rows up to it; predictions just before."""
        mean, scale = np.empty(len(y) + 1), np.empty(len(y) + 1)
        running_units(self._state["units"], read_only(y), read_only(weight), mean, scale)
        scores, _ = self._pass(rows, np.arange(len(y)), (y - mean[1:]) / scale[1:], weight)
        return mean[:-1] + scale[:-1] * scores[:, 0]

    # --- using -------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """The target of every row.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            In the units of the targets that were learned.
        """
        check_is_fitted(self, "_state")
        return self._in_units(self._joint_scores(self._read(X, reset=False))[:, 0])

    def predict_one(self, x: Any) -> float | None:
        """The target of one row; None as long as nothing has been learned.

        Parameters
        ----------
        x : mapping or array-like of shape (n_features,)
            As for `learn_one`.  Features never seen are passed over.

        Returns
        -------
        y : float or None
            In the units of the targets that were learned.
        """
        if not hasattr(self, "_state"):
            return None
        return float(self._in_units(self._joint_scores(self._read_one(x, learn=False))[0, 0]))

    # --- targets -----------------------------------------------------------------

    def _first_targets(
        self, y: Any, sample_weight: Any, rows: Rows
    ) -> tuple[np.ndarray, np.ndarray]:
        y = self._numbers(y, len(rows.indptr) - 1)
        weight = self._sample_weight(sample_weight, y)
        if not hasattr(self, "_state"):
            self._start_state()
            # of all rows at once; a fit that goes on keeps the units that it has
            units = self._state["units"]
            units[0] = weight.sum()
            if units[0] > 0.0:
                units[1] = np.average(y, weights=weight)
                units[2] = np.sum(weight * (y - units[1]) ** 2)
        return self._in_inner_units(y), weight

    def _numbers(self, y: Any, n: int) -> np.ndarray:
        """The targets as finite numbers, as many as rows."""
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        y = column_or_1d(y, warn=True)
        try:
            y = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(
                "the target is not a number; a regressor predicts numbers, and a classifier labels"
            ) from None
        nonfinite_row = ~np.isfinite(y)
        if nonfinite_row.any():
            raise InputError(
                "the target is missing (NaN or infinity); leave the row out, or give its target",
                row=int(np.argmax(nonfinite_row)),
            )
        if len(y) != n:
            raise InputError(
                f"Found input variables with inconsistent numbers of samples: {[n, len(y)]}"
            )
        return y

    def _in_units(self, score: np.ndarray) -> np.ndarray:
        """Scores as targets."""
        mean, scale = units_of(*self._state["units"])
        return np.asarray(mean + scale * score)

    def _in_inner_units(self, y: np.ndarray) -> np.ndarray:
        """Targets as scores."""
        mean, scale = units_of(*self._state["units"])
        return np.asarray((y - mean) / scale)


class LinearClassifier(ViewClassifier):
    """Base of the classifiers that keep a weight for every column."""

    # --- what a learner adds -----------------------------------------------------

    def _n_biases(self) -> int:
        """How many intercepts: one a view, or one where the views are concatenated."""
        return 1

    def _combine(self, own: np.ndarray, takes_part: np.ndarray) -> np.ndarray:
        """The joint score (n_samples, K) from the views' (n_samples, n_views, K), absent ones 0."""
        return own.sum(axis=1)

    # --- using -------------------------------------------------------------------

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
            is missing.
        """
        check_is_fitted(self, "classes_")
        own, _, missing = self._scores(self._read(X, reset=False))
        own[missing] = np.nan
        return own[:, :, 0] if own.shape[2] == 1 else own

    @property
    def coef_(self) -> np.ndarray:
        """Weights in the order of the columns, (1, n_features) or (n_classes, n_features)."""
        check_is_fitted(self, "classes_")
        W = self._prediction_weights("W")
        if self._places is None:
            return W.T.copy()
        coef = np.zeros((W.shape[1], self.n_features_in_))
        used = self._places >= 0
        coef[:, used] = W[self._places[used]].T
        return coef

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts, one a view: (n_views,), or (n_classes, n_views); see the class."""
        check_is_fitted(self, "classes_")
        b = self._prediction_weights("b")
        if b.shape[1] == 1:
            return b[:, 0]
        return b[0] if self._n_biases() == 1 else b.T

    # --- weights and scores ------------------------------------------------------

    def _prediction_weights(self, name: str) -> np.ndarray:
        """Weights ``W`` or intercepts ``b`` as they predict."""
        return self._state[name]

    def _apply_averaging(self, own: np.ndarray, rows: Rows, norms: np.ndarray) -> None:
        """Make scores of ``W`` of the state those of the weights as they predict."""

    def _n_scores(self) -> int:
        return int(self._state["W"].shape[1])

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        own, takes_part, _ = self._scores(rows)
        return self._combine(own, takes_part)

    def _scores(self, rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores of the views, who takes part in the joint score, and who is missing."""
        n, V = len(rows.indptr) - 1, len(rows.ptr) - 1
        K = self._state["W"].shape[1]
        own, norms = np.zeros((n, V, K)), np.empty((n, V))
        score_views(rows, read_only(self._state["W"]), own, norms)
        self._apply_averaging(own, rows, norms)
        b = self._prediction_weights("b")
        missing = ~rows.present if len(rows.present) else np.zeros((n, V), dtype=bool)
        takes_part = ~missing & ((norms > 0.0) | bool(self.fit_intercept))
        if len(b) < V:
            # one intercept for all: an equal part of it for each view
            own += b / np.maximum(takes_part.sum(axis=1), 1)[:, None, None]
        else:
            own += b
        own[~takes_part] = 0.0
        return own, takes_part, missing


class LinearOnlineClassifier(LinearClassifier, OnlineClassifier):
    """Base of the online ones: the weights, and their mean over the rows."""

    _parameter_constraints: ClassVar[dict] = {
        **OnlineClassifier._parameter_constraints,
        "fit_intercept": ["boolean"],
        "average": ["boolean"],
    }

    # --- state -------------------------------------------------------------------

    def _start_state(self) -> None:
        K = 1 if len(self.classes_) <= 2 else len(self.classes_)
        columns, biases = (self._slots.n_columns, K), (self._n_biases(), K)
        self._state = {
            "W": np.zeros(columns),
            "b": np.zeros(biases),
            "U": np.zeros(columns if self.average else (0, K)),
            "c": np.zeros(biases if self.average else (0, K)),
            "t": np.zeros(1, dtype=np.int64),
        }

    def _weights(self) -> Weights:
        """The state as the loops take it: without the class axis for two classes."""
        W, b, U, c, t = (self._state[name] for name in "WbUct")
        if W.shape[1] > 1:
            return Weights(W, b, U, c, t)
        return Weights(W.reshape(-1), b.reshape(-1), U.reshape(-1), c.reshape(-1), t)

    def _prediction_weights(self, name: str) -> np.ndarray:
        """The last ones, or the mean over the rows."""
        t = self._state["t"][0]
        if not self.average or t == 0:
            return self._state[name]
        return self._state[name] - self._state["U" if name == "W" else "c"] / t

    def _apply_averaging(self, own: np.ndarray, rows: Rows, norms: np.ndarray) -> None:
        t = self._state["t"][0]
        if self.average and t > 0:
            past = np.zeros_like(own)
            score_views(rows, read_only(self._state["U"]), past, norms)
            own -= past / t

    def _grow_state(self, moved: np.ndarray) -> None:
        K = self._n_scores()
        for name, rows in (
            ("W", self._slots.n_columns),
            ("U", self._slots.n_columns),
            ("b", self._n_biases()),
            ("c", self._n_biases()),
        ):
            old = self._state[name]
            if name in "Uc" and not self.average:
                continue
            new = np.zeros((rows, K))
            new[moved if name in "WU" else np.arange(len(old))] = old
            self._state[name] = new

    def _insert_class(self, old: np.ndarray, place: int) -> None:
        for name in "WbUc":
            value = self._state[name]
            if len(old) == 1:
                # the class that was alone was the positive one; is it still?
                value = -value if place == 1 else value
            elif len(old) == 2:
                # w·x > 0 for the second class: half of it for one, half against the other
                value = np.insert(np.hstack([-value / 2, value / 2]), place, 0.0, axis=1)
            else:
                value = np.insert(value, place, 0.0, axis=1)
            self._state[name] = np.ascontiguousarray(value)


def _check_numeric(X: Any) -> None:
    """A data frame with text columns is told so by name."""
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        for name, kind in frame.schema.items():
            if not (kind.is_numeric() or kind in (nw.Boolean, nw.Object, nw.Unknown)):
                raise InputError(
                    f"holds {str(kind).lower()} and not numbers; encode it first, "
                    "for example with crossview.ViewEncoder",
                    column=str(name),
                )
