"""Base classes of the linear classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms import merging
from crossview.algorithms.online import Weights
from crossview.batch import entries_of, read_only
from crossview.estimators.base.classifier import ViewClassifier
from crossview.estimators.base.explained import ColumnWeights
from crossview.estimators.base.merged import Parts
from crossview.estimators.base.online_classifier import OnlineClassifier
from crossview.estimators.validation import Interval
from crossview.kernels.rows import Rows, score_views
from crossview.saving.schema import MAX_COUNT, Array
from crossview.saving.touched import zeros


class LinearClassifier(ViewClassifier):
    """Base class of the classifiers with a weight per column."""

    # --- to be implemented by subclasses -----------------------------------------

    def _n_biases(self) -> int:
        """Return the number of intercepts: one per view, or one for the concatenation."""
        return 1

    def _combine(self, view_scores: np.ndarray, takes_part: np.ndarray) -> np.ndarray:
        """Return joint scores (n_samples, K) from view scores (n_samples, n_views, K)."""
        return view_scores.sum(axis=1)

    def _takes_part(self, norms: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """Return which views count in the score of a row, given x·x and whether it is missing."""
        return ~missing

    # --- predicting ----------------------------------------------------------------

    def view_scores(self, X: Any) -> np.ndarray:
        """Return the score of each view.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_views) or (n_samples, n_views, n_classes)
            One score per view (and per class, for more than two classes); NaN where the view
            is missing.
        """
        check_is_fitted(self, "classes_")
        scores, _, missing = self._scores(self._read(X, reset=False))
        scores[missing] = np.nan
        return scores[:, :, 0] if scores.shape[2] == 1 else scores

    @property
    def coef_(self) -> np.ndarray:
        """Weights in the order of the columns, (1, n_features) or (n_classes, n_features)."""
        check_is_fitted(self, "classes_")
        W = self._prediction_weights("W")
        if self._column_map is None:
            return W.T.copy()
        coef = np.zeros((W.shape[1], self.n_features_in_))
        used = self._column_map >= 0
        coef[:, used] = W[self._column_map[used]].T
        return coef

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts: one per class, or one per view and class; see the class."""
        check_is_fitted(self, "classes_")
        b = self._prediction_weights("b")
        if b.shape[1] == 1:
            return b[:, 0]
        return b[0] if self._n_biases() == 1 else b.T

    # --- weights and scores ------------------------------------------------------

    def _prediction_weights(self, name: str) -> np.ndarray:
        """Return the weights ``W`` or the intercepts ``b`` to predict with."""
        return self._state[name]

    def _apply_averaging(self, view_scores: np.ndarray, rows: Rows, norms: np.ndarray) -> None:
        """Turn the scores of the last weights into those of the averaged weights, in place."""

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        view_scores, takes_part, _ = self._scores(rows)
        view_scores[~takes_part] = 0.0
        return self._combine(view_scores, takes_part)

    def _column_weights(self) -> ColumnWeights:
        return ColumnWeights(self.coef_)

    def _entry_contributions(self, rows: Rows) -> np.ndarray:
        row, column = entries_of(rows)
        scores, takes_part, _ = self._scores(rows)
        unit = np.zeros((*scores.shape[:2], 1))
        unit[:, 0] = 1.0
        share = self._combine(unit, takes_part)[row, 0]  # of a view's score in the joint one
        return (rows.data * share)[:, None] * self._prediction_weights("W")[column]

    def _scores(self, rows: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the view scores, and masks of the views that are scored and that are missing."""
        n, V = len(rows.indptr) - 1, len(rows.ptr) - 1
        K = self._state["W"].shape[1]
        scores, norms = np.zeros((n, V, K)), np.empty((n, V))
        score_views(rows, read_only(self._state["W"]), scores, norms)
        self._apply_averaging(scores, rows, norms)
        b = self._prediction_weights("b")
        missing = ~rows.present if len(rows.present) else np.zeros((n, V), dtype=bool)
        takes_part = self._takes_part(norms, missing)
        if len(b) < V:
            # a single intercept is divided equally among the views that take part
            share = takes_part / np.maximum(takes_part.sum(axis=1, keepdims=True), 1)
            scores += share[:, :, None] * b
        else:
            scores += b
        return scores, takes_part, missing


class LinearOnlineClassifier(LinearClassifier, OnlineClassifier):
    """Base class of the linear online classifiers: weights and averaged weights."""

    _parameter_constraints: ClassVar[dict] = {
        **OnlineClassifier._parameter_constraints,
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, 1e100, closed="right")],
        "average": ["boolean"],
    }

    # --- state -------------------------------------------------------------------

    def _takes_part(self, norms: np.ndarray, missing: np.ndarray) -> np.ndarray:
        # the intercepts alone score a row without a nonempty view
        nonempty = ~missing & (norms > 0.0)
        if nonempty.all():
            return nonempty
        return np.where(nonempty.any(axis=1, keepdims=True), nonempty, ~missing)

    def _start_state(self) -> None:
        K = 1 if len(self.classes_) <= 2 else len(self.classes_)
        columns, biases = (self._slots.n_columns, K), (self._n_biases(), K)
        self._state = {
            "W": zeros(columns),
            "b": np.zeros(biases),
            "U": zeros(columns if self.average else (0, K)),
            "c": np.zeros(biases if self.average else (0, K)),
            "t": np.zeros(1, dtype=np.int64),
            "lengths": np.zeros((self._n_biases(), 2)),
        }

    def _state_schema(self, state: Mapping[str, np.ndarray]) -> dict[str, Array | np.ndarray]:
        K = self._n_scores()
        columns, biases, empty = (self._slots.n_columns, K), (self._n_biases(), K), (0, K)
        # averages or not, whatever ``average`` was set to since
        is_average = len(state["U"]) > 0
        return super()._state_schema(state) | {
            "W": Array("f8", columns),
            "b": Array("f8", biases),
            "U": Array("f8", columns if is_average else empty),
            "c": Array("f8", biases if is_average else empty),
            "t": Array("i8", (1,), 0, MAX_COUNT),
            "lengths": Array("f8", (self._n_biases(), 2)),
        }

    def _merged(self, parts: Parts) -> dict[str, np.ndarray]:
        merged = super()._merged(parts) | {name: parts.mean(name) for name in "Wb"}
        merged |= {name: parts.total(name) for name in ("t", "lengths")}
        return merged | self._merged_averages(parts, merged)

    def _merged_averages(
        self, parts: Parts, merged: Mapping[str, np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Return the sums of averaging for the merged weights."""
        found = {}
        for name, of in (("U", "W"), ("c", "b")):
            if not len(parts.states[0][name]):
                found[name] = parts.states[0][name]
                continue
            *models, start = (
                (state[of], state[name], int(state["t"][0]))
                for state in [*parts.states, parts.start]
            )
            t = int(merged["t"][0])
            found[name] = merging.averaged_weights(merged[of], models, start, t)
        return found

    def _weights(self) -> Weights:
        """Return the state for the learning loops: without the class axis for two classes."""
        model = Weights(*(self._state[name] for name in Weights._fields))
        if self._n_scores() > 1:
            return model
        return model._replace(**{name: getattr(model, name).reshape(-1) for name in "WbUc"})

    def _scaling(self) -> float:
        """Return the scaling of the intercept; 0 if there is none."""
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def _prediction_weights(self, name: str) -> np.ndarray:
        """Return the last weights, or their mean over the rows."""
        t = self._state["t"][0]
        if not len(self._state["U"]) or t == 0:
            return self._state[name]
        return self._state[name] - self._state["U" if name == "W" else "c"] / t

    def _apply_averaging(self, view_scores: np.ndarray, rows: Rows, norms: np.ndarray) -> None:
        t = self._state["t"][0]
        if len(self._state["U"]) and t > 0:
            past = np.zeros_like(view_scores)
            score_views(rows, read_only(self._state["U"]), past, norms)
            view_scores -= past / t

    def _grow_state(self, moved: np.ndarray) -> None:
        K = self._n_scores()
        lengths = self._state["lengths"]
        self._state["lengths"] = np.zeros((self._n_biases(), 2))
        self._state["lengths"][: len(lengths)] = lengths
        for name, rows in (
            ("W", self._slots.n_columns),
            ("U", self._slots.n_columns),
            ("b", self._n_biases()),
            ("c", self._n_biases()),
        ):
            old = self._state[name]
            if name in "Uc" and not len(old):
                continue
            new = np.zeros((rows, K))
            new[moved if name in "WU" else np.arange(len(old))] = old
            self._state[name] = new

    def _insert_class(self, old: np.ndarray, position: int) -> None:
        for name in "WbUc":
            value = self._state[name]
            if len(old) == 1:
                # the only class so far is the positive one
                value = -value if position == 1 else value
            elif len(old) == 2:
                # w·x > 0 predicts the second class: half of w for it, half against the first
                value = np.insert(np.hstack([-value / 2, value / 2]), position, 0.0, axis=1)
            else:
                value = np.insert(value, position, 0.0, axis=1)
            self._state[name] = np.ascontiguousarray(value)
