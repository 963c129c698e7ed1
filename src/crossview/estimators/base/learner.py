"""Base class of all learners."""

from __future__ import annotations

import functools
from operator import is_not
from typing import Any, Self

import numpy as np

from crossview.errors import InputError
from crossview.estimators.base.explained import ExplainedLearner
from crossview.views import as_views, check_rows


@functools.cache
def _names_of_parameters(learner: type[ViewLearner]) -> list[str]:
    """The names of the parameters of a class."""
    return list(learner._get_param_names())


class ViewLearner(ExplainedLearner):
    """Base class of all learners: `fit`, and the learned state."""

    # the parameters that were found right: the next batch comes with the same ones
    _checked: list[Any] | None = None

    # --- to be implemented by subclasses --------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Learn from the rows; `fit` without its checks."""
        raise NotImplementedError

    def _start_state(self) -> None:
        """Initialize the learned state."""
        raise NotImplementedError

    def _restart(self) -> None:
        """Initialize the learned state, and what depends on it."""
        self._start_state()

    def _warm_starts(self) -> bool:
        """Whether `fit` continues from the learned state."""
        return False

    # --- learning ----------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from scratch, or from the learned state with ``warm_start``.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.  A mapping of view names to frames, and a frame of pandas whose columns have
            several levels, are taken as `MultiView` takes them.
        y : array-like of shape (n_samples,)
            Labels of two or more classes; numeric targets for a regressor.  If ``X`` and ``y`` are
            of pandas, they have the same index; scikit-learn ignores it, so another order is an
            error and not put right.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, at least 0; see the notes of the class for its effect.

        Returns
        -------
        self : object
            The fitted learner.
        """
        self.check_params()
        check_rows(X, y=y, sample_weight=sample_weight)
        if sample_weight is not None and not np.asarray(sample_weight).any():
            raise InputError("every sample weight is zero, so there is nothing to learn")
        if not self._warm_starts():
            self._forget()
        try:
            self._fit(as_views(X), y, sample_weight)
        except ValueError:
            if not self._warm_starts():
                self._forget()
            raise
        return self

    def check_params(self) -> None:
        """Raise an error if a parameter is out of its range.

        `fit` and `partial_fit` call this method; call it directly to check the parameters before
        any data is read.

        Raises
        ------
        InvalidParameterError
            The message names the parameter, its range and the given value.
        """
        kind: Any = type(self)
        given = [getattr(self, name) for name in _names_of_parameters(kind)]
        if self._checked is None or any(map(is_not, given, self._checked)):
            self._validate_params()
            self._checked = given

    def _forget(self) -> None:
        """Delete the learned state."""
        for name in ("_state", "classes_", "threshold_", "layout_", "_named", "feature_names_in_"):
            if name in self.__dict__:
                delattr(self, name)
