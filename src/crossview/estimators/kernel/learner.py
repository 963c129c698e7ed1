"""Base class of KeCo and Pegasos: learning and scoring."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from crossview.algorithms.kernel.quota import Stream
from crossview.algorithms.kernel.scores import mean_scores
from crossview.algorithms.kernel.step import Examples, Settings
from crossview.batch import entries_of, read_only, rows_at
from crossview.errors import InputError
from crossview.estimators.kernel.progress import progress_bar
from crossview.estimators.kernel.state import KernelState
from crossview.estimators.kernel.training import DrawOptions, TrainingSet, learn_drawn
from crossview.estimators.kernel.values import ViewKernels, without_overflowing_rows
from crossview.kernels.rows import Rows

__all__ = ["KernelLearner", "draw_options", "read_training_set", "training_kernels"]


class KernelLearner(KernelState):
    """Base class of KeCo and Pegasos: `fit` on drawn rows, passes over a stream, scores."""

    # --- learning ------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        if self.budget and self.schedule != "stream":
            raise InputError(
                "budget= is for streams; set schedule='stream', with which fit learns each row "
                "once, or use partial_fit"
            )
        rows = self._read(X, reset=True)
        labels, weight = self._first_targets(y, sample_weight, rows)
        self._warn_of_one_view(labels)
        random_state = check_random_state(self.random_state)
        self._prepare(rows)
        if self.schedule == "stream":
            scores = np.zeros(labels.shape)
            self._check_learned(self._learn(rows, np.arange(len(weight)), labels, weight, scores))
            self._calibrate_in_pass(scores, labels, sample_weight)
        else:
            self._learn_draws(TrainingSet(rows, labels, weight), random_state)
            self._calibrate_by_folds(X, y, sample_weight)

    def _warn_of_one_view(self, labels: np.ndarray) -> None:
        if self.learns_unlabeled and len(self.layout_.names) == 1 and not labels.all():
            warnings.warn(
                "co-agreement needs two views, so the unlabeled rows have no effect; give "
                "views=, or random_views=(2, 0.75)",
                UserWarning,
                stacklevel=4,
            )

    def _prepare(self, rows: Rows) -> None:
        """Initialize what depends on the first rows: γ, and the features of an approximation."""
        state = self._state
        if state["gamma"].size:
            return
        state["dense"][0] = rows.shared
        state["gamma"] = self._gammas(self.gamma, rows)
        self._model().prepare(
            rows, int(self.n_components), lambda: check_random_state(self.random_state)
        )

    def _settings(self, include_self: bool) -> Settings:
        supervised = not self.learns_unlabeled
        return Settings(float(self.lam), self._constant, include_self, supervised)

    def _learn_draws(self, data: TrainingSet, random_state: np.random.RandomState) -> None:
        """Make steps over rows that are drawn with replacement."""
        weight = without_overflowing_rows(data.rows, data.weight)
        self._check_learned(int(np.flatnonzero(weight != data.weight).max(initial=-1)))
        unlabeled = self.learns_unlabeled or self.schedule != "rounds"
        used = np.flatnonzero((weight > 0.0) & ((data.labels[:, 0] != 0.0) | unlabeled))
        data = TrainingSet(rows_at(data.rows, used), data.labels[used], weight[used])
        model = self._model()
        model.hold(data.rows, used)
        with progress_bar(type(self).__name__, None, self.verbose) as advance:
            done = learn_drawn(model, data, draw_options(self), random_state, advance)
        self._state["t"][0] = done.steps

    def _fold_params(self) -> dict[str, Any]:
        return super()._fold_params() | {"n_iterations": max(1, self.n_steps_)}

    def _learn(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray, scores: np.ndarray
    ) -> int:
        """Make a step with each row, in order."""
        self._prepare(rows)
        given, weight = weight, without_overflowing_rows(rows, weight)
        scores = scores.reshape(len(scores), -1)
        state, model, n = self._state, self._model(), len(scores)
        settings = self._settings(False)
        with progress_bar(type(self).__name__, n, self.verbose) as advance:
            for lo in range(0, n, model.rows_at_once):
                here = slice(lo, min(lo + model.rows_at_once, n))
                part = rows_at(rows, np.arange(here.start, here.stop))
                examples = Examples(read_only(y[here]), read_only(weight[here]), part.present)
                stream = Stream(scores[here], state["turns"], float(self.unlabeled_ratio))
                t = int(state["t"][0])
                state["t"][0] = model.learn_block(part, examples, settings, stream, t)
                advance(here.stop - here.start)
        left_out = np.flatnonzero(weight != given)
        scores[left_out] = np.nan
        return int(left_out.max(initial=-1))

    # --- scores --------------------------------------------------------------------------

    def _view_sums(self, rows: Rows) -> np.ndarray:
        """Return sum_j α z K of each view, (n, V, K); 0 if the view is missing."""
        n, V, K = len(rows.indptr) - 1, len(rows.ptr) - 1, self._n_scores()
        sums = np.zeros((n, V, K))
        if self._state["t"][0] == 0:
            return sums
        model = self._model()
        for lo in range(0, n, model.score_at_once):
            hi = min(lo + model.score_at_once, n)
            model.add_sums(rows_at(rows, np.arange(lo, hi)), sums[lo:hi])
        if len(rows.present):
            sums[~rows.present] = 0.0
        return sums

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        sums = self._view_sums(rows)
        out = np.zeros((len(sums), sums.shape[2]))
        mean_scores(sums, rows.present, float(self.lam) * int(self._state["t"][0]), out)
        return out

    def _entry_contributions(self, rows: Rows) -> np.ndarray:
        row, column = entries_of(rows)
        n_views = len(rows.ptr) - 1
        present = rows.present.sum(axis=1)[row] if len(rows.present) else n_views
        scale = float(self.lam) * max(int(self._state["t"][0]), 1) * present
        return (rows.data / scale)[:, None] * self._state["W"][column]

    def view_scores(self, X: Any) -> np.ndarray:
        """Return the score of each view.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_views) or (n_samples, n_views, n_classes)
            One score per view (and class, if there are more than two); NaN if the view is
            missing.  The joint score is their mean.
        """
        check_is_fitted(self, "_state")
        rows = self._read(X, reset=False)
        scores = self._view_sums(rows) / (float(self.lam) * max(int(self._state["t"][0]), 1))
        if len(rows.present):
            scores[~rows.present] = np.nan
        return scores[:, :, 0] if scores.shape[2] == 1 else scores


def draw_options(learner: KernelLearner) -> DrawOptions:
    """Return the parameters with which ``learner.fit`` learns drawn rows."""
    given = learner.n_iterations
    steps = None if given == "auto" else int(given)
    settings = learner._settings(learner.include_self)
    return DrawOptions(learner.schedule, steps, bool(learner.average), settings)


def read_training_set(learner: KernelLearner, X: Any, y: Any) -> TrainingSet:
    """Return the training set of ``learner.fit(X, y)`` without fitting."""
    learner.check_params()
    rows = learner._read(X, reset=True)
    return TrainingSet(rows, *learner._first_targets(y, None, rows))


def training_kernels(learner: KernelLearner, gamma: Any, rows: Rows) -> ViewKernels:
    """Return the kernels of ``learner`` for ``rows`` with this γ."""
    return learner._kernels(learner._gammas(gamma, rows))
