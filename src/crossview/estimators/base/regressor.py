"""Base classes of the regressors."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from crossview.batch import read_only
from crossview.errors import InputError
from crossview.estimators.base import single_rows
from crossview.estimators.base.learner import Takes, ViewLearner
from crossview.estimators.base.online import fit_in_passes, pass_over
from crossview.estimators.base.road import NumberRoad
from crossview.estimators.base.single_rows import (
    check_learned,
    forgetting_if,
    learn_between_restarts,
)
from crossview.estimators.base.state import Models, Schema, State, StatePart
from crossview.estimators.documentation import with_parameters
from crossview.estimators.targets import (
    reach_of,
    read_numbers,
    row_weights,
    scaled_targets,
    targets_of_scale,
)
from crossview.kernels.moments import merged_moments, running_units, units_of
from crossview.kernels.rows import Rows
from crossview.saving.schema import MAX_FINITE, Array
from crossview.views import check_rows

# no logarithm of a number is as large as this
BEYOND_LOGS = 1000.0


@with_parameters
class ViewRegressor(RegressorMixin, ViewLearner):
    """Base class of the regressors: predictions in the units of the targets.

    Scores, weights and contributions are on the scale of ``target_scale``.
    """

    target_scale: str = "linear"

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted target of each row.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            In the units of the training targets.
        """
        check_is_fitted(self, "_state")
        return self._as_targets(self._in_units(self._scores_of(X)[:, 0]))

    def predict_one(self, x: Any) -> float | None:
        """Return the predicted target of one row; None before the first row was learned.

        Parameters
        ----------
        x : mapping, array-like of shape (n_features,), or sparse matrix or MultiView of one row
            As for `learn_one`.  Unknown features are ignored.

        Returns
        -------
        y : float or None
            In the units of the training targets.
        """
        road = NumberRoad.find(self, x) if hasattr(self, "learn_one") else None
        if road is not None:
            with road.lock:
                if road.take(x):
                    return road.predict()
        if not hasattr(self, "_state"):
            return None
        score = self._scores_of_rows(self._read_one(x, learn=False))[0]
        return float(self._as_targets(self._in_units(score))[0])

    def _read_targets(self, y: Any, n_rows: int | None) -> np.ndarray:
        return scaled_targets(read_numbers(y, n_rows, type(self).__name__), self.target_scale)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as of any learner."""
        if not self._params_changed:
            self.__dict__["_learned_scale"] = self.target_scale
        return super().set_params(**params)

    def check_fits_state(self) -> None:
        """Raise an error if the learned state does not fit parameters that were set since."""
        learned = self.__dict__.get("_learned_scale")
        if self._params_changed and learned != self.target_scale:
            raise InputError(
                f"target_scale={self.target_scale!r}, and what was learned is on the scale "
                f"{learned!r}; fit again, or set it back"
            )
        super().check_fits_state()

    def _as_targets(self, values: np.ndarray) -> np.ndarray:
        """Return predictions on the scale of the targets in their units."""
        if self.target_scale == "linear":
            return values
        return targets_of_scale(values, self.target_scale, *reach_of(*self._state["reach"]))

    def _see_targets(self, y: np.ndarray) -> None:
        """Learn how far predictions may reach from the targets, on their scale."""
        if self.target_scale != "linear" and len(y):
            if "reach" not in self._state:
                Reach(self._state, self).start()
            lowest, highest = self._state["reach"]
            self._state["reach"][:] = min(lowest, y.min()), max(highest, y.max())

    def _parts(self, state: State) -> list[StatePart]:
        scaled = [] if self.target_scale == "linear" else [Reach(state, self)]
        return [*super()._parts(state), *scaled]

    def _n_scores(self) -> int:
        return 1

    def _portable_answer(self) -> dict[str, Any]:
        mean = float(self._in_units(np.zeros(1))[0])
        answer: dict[str, Any] = {"units": np.array([mean, self._score_scale()])}
        if self.target_scale == "linear":
            return answer
        reach = np.array(reach_of(*self._state["reach"].tolist()))
        return answer | {"target_scale": self.target_scale, "reach": reach}

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the R² of the predictions.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their targets; of pandas with the index of ``X``.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        score : float
            1 at best.
        """
        check_rows(X, y=y, sample_weight=sample_weight)
        return float(super().score(X, y, sample_weight))


class Reach(StatePart):
    """The lowest and the highest target on a logarithmic scale."""

    def start(self) -> None:
        """Add those of no target."""
        self.state["reach"] = np.array([BEYOND_LOGS, -BEYOND_LOGS])

    def schema(self) -> Schema:
        """Return what they look like."""
        return {"reach": Array("f8", (2,), low=-BEYOND_LOGS, high=BEYOND_LOGS)}

    def merged(self, models: Models) -> State:
        """Return those of the rows of all models."""
        lowest, highest = np.transpose(models.of("reach"))
        return {"reach": np.array([lowest.min(), highest.max()])}


class Units(StatePart):
    """The moments of the targets, which standardize them: weight, mean and sum of squares."""

    def start(self) -> None:
        """Add the moments of no target."""
        self.state["units"] = np.zeros(3)

    def schema(self) -> Schema:
        """Return what the moments look like."""
        return {"units": Array("f8", (3,), low=np.array([0.0, -MAX_FINITE, 0.0]))}

    def merged(self, models: Models) -> State:
        """Return the moments of the rows of all models."""
        return {"units": merged_moments(models.of("units"), models.start["units"])}


class OnlineRegressor(ViewRegressor):
    """Base class of the online regressors.

    The learner standardizes the targets, and returns predictions in their original units.
    `fit` uses the mean and the standard deviation of all rows; a stream uses those of all rows up
    to and including the current one, so that the result does not depend on the batch size.
    """

    _takes: ClassVar[Takes] = "blocks"
    _road_kind = NumberRoad
    check_streams = single_rows.check_streams
    learn_one = single_rows.learn_one
    check_one = single_rows.check_one

    def _learn(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray, scores: np.ndarray
    ) -> int:
        """Make one pass over the rows; see `pass_over`."""
        raise NotImplementedError

    # --- learning -------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        fit_in_passes(self, X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Make one pass over more rows, in their order.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, at least 0; see the notes of the class for its effect.

        Returns
        -------
        self : object
            The learner.
        """
        self.score_then_learn(X, y, sample_weight)
        return self

    def score_then_learn(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Learn as `partial_fit` does, and return each prediction before its row was learned.

        Parameters
        ----------
        X, y, sample_weight
            As for `partial_fit`.

        Returns
        -------
        predictions : ndarray of shape (n_samples,)
            As `predict` returns them.
        """
        parts = learn_between_restarts(self, X, y, sample_weight, self.score_then_learn)
        if parts is not None:
            return np.concatenate(parts)
        self.check_params()
        self.check_streams()
        first = not hasattr(self, "_state")
        check_rows(X, y=y, sample_weight=sample_weight)
        with forgetting_if(self, first):
            rows = self._read(X, reset=first, as_is=True)
            y = self._read_targets(y, len(rows.indptr) - 1)
            weight = row_weights(sample_weight, len(y))
            if first:
                self._start_state()
        return self._learn_in_order(rows, y, weight)

    def _check_target(self, y: Any) -> bool:
        if np.ndim(y):
            raise InputError(f"the target {y!r:.60} is no single number")
        return not np.isnan(self._read_targets([y], 1)[0])

    def _learn_row(self, x: Any, y: Any, sample_weight: float) -> None:
        target = np.array([np.nan]) if y is None else self._read_targets([y], 1)
        weight = row_weights(sample_weight, 1)
        rows = self._read_one(x, learn=True)
        if not hasattr(self, "_state"):
            self._start_state()
        self._learn_in_order(rows, target, weight, alone=True)

    def check_targets(self, y: Any, sample_weight: Any = None) -> None:
        """Raise an error if `partial_fit` cannot learn these targets.

        Parameters
        ----------
        y, sample_weight
            As for `partial_fit`.

        Raises
        ------
        InputError
            The message says what is wrong with them.
        """
        self.check_params()
        self.check_streams()
        row_weights(sample_weight, len(self._read_targets(y, None)))

    def _learn_in_order(
        self, rows: Rows, y: np.ndarray, weight: np.ndarray, *, alone: bool = False
    ) -> np.ndarray:
        """Make one pass, each target standardized by the rows up to it; return predictions."""
        units = self._state["units"]
        mean, scale, after = np.empty(len(y) + 1), np.empty(len(y) + 1), units.copy()
        running_units(after, read_only(y), read_only(weight * ~np.isnan(y)), mean, scale)
        _check_units(mean[1:] + scale[1:], alone=alone)
        before = units.copy()
        units[:] = after  # in place: a stack shares them with its experts
        targets = (y - mean[1:]) / scale[1:]
        scores, nonfinite_row = pass_over(self, rows, np.arange(len(y)), targets, weight)
        if nonfinite_row >= 0 and alone:
            units[:] = before
        check_learned(nonfinite_row, alone=alone)
        predicted = mean[:-1] + scale[:-1] * scores[:, 0]
        if self.target_scale == "linear":
            return predicted
        known = (weight > 0.0) & ~np.isnan(y)
        lowest, highest = (
            accumulate(np.append(self._state["reach"][end], np.where(known, y, none)))
            for end, accumulate, none in (
                (0, np.minimum.accumulate, BEYOND_LOGS),
                (1, np.maximum.accumulate, -BEYOND_LOGS),
            )
        )
        self._see_targets(y[known])
        before_row = reach_of(lowest[:-1], highest[:-1])
        return targets_of_scale(predicted, self.target_scale, *before_row)

    # --- targets and their units ------------------------------------------------------

    def _first_targets(
        self, y: Any, sample_weight: Any, rows: Rows
    ) -> tuple[np.ndarray, np.ndarray]:
        """Initialize from the targets of `fit`; return the standardized targets and the weights."""
        y = self._read_targets(y, len(rows.indptr) - 1)
        weight = row_weights(sample_weight, len(y))
        if not hasattr(self, "_state"):
            self._start_state()
            # moments of all rows; a warm start keeps the earlier ones
            units, known = self._state["units"], ~np.isnan(y)
            numbers, shares = (y, weight) if known.all() else (y[known], weight[known])
            units[0] = shares.sum()
            if units[0] > 0.0:
                with np.errstate(over="ignore", invalid="ignore"):
                    units[1] = np.average(numbers, weights=shares)
                    units[2] = np.sum(shares * (numbers - units[1]) ** 2)
                if not np.isfinite(units).all():
                    largest = np.abs(y) == np.abs(numbers[shares > 0.0]).max()
                    _check_units(np.where(largest, np.inf, 0.0))
        self._see_targets(y[(weight > 0.0) & ~np.isnan(y)])
        mean, scale = units_of(*self._state["units"])
        return np.asarray((y - mean) / scale), weight

    def _parts(self, state: State) -> list[StatePart]:
        return [*super()._parts(state), Units(state, self)]

    def _in_units(self, score: np.ndarray) -> np.ndarray:
        """Return scores in the units of the targets."""
        mean, scale = units_of(*self._state["units"])
        return np.asarray(mean + scale * score)

    def _score_scale(self) -> float:
        return float(units_of(*self._state["units"])[1])


def _check_units(units: np.ndarray, *, alone: bool = False) -> None:
    """Raise an error if the mean or the variance of the targets overflows."""
    wrong = np.flatnonzero(~np.isfinite(units))
    if len(wrong):
        raise InputError(
            "the target is too large: the variance of the targets is not finite; rescale the "
            "targets, or leave the row out",
            row=None if alone else int(wrong[0]),
        )
