"""Probabilities of classes, from calibrated scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from crossview.algorithms import calibration, merging
from crossview.estimators.base.held_out import Part, fit_parts, folds_to_fit, groups_of
from crossview.estimators.base.state import Models, Schema, State, StatePart
from crossview.estimators.targets import class_codes
from crossview.labels import known_labels
from crossview.portable.scoring import Calibration
from crossview.saving.schema import MAX_FINITE, Array

# inner folds whose scores calibrate a batch learner
FOLDS = 3


class Calibrator(StatePart):
    """The map from scores to probabilities: an array of the state, which online learners update.

    Without a calibration only log odds have probabilities.
    """

    def start(self) -> None:
        """Add the calibration before the first row."""
        self.state["calibration"] = calibration.start(self.n_scores)

    def schema(self) -> Schema:
        """Return what the calibration looks like."""
        return {"calibration": calibration_schema(self.n_scores)}

    def merged(self, models: Models) -> State:
        """Return the mean calibration, where all models have one."""
        if not all("calibration" in state for state in models.states):
            return {}
        own = models.of("calibration")
        start = models.start.get("calibration", np.zeros_like(own[0]))
        return {"calibration": merging.calibrations(own, models.shares, start)}

    def insert_class(self, n_classes: int, position: int, n_rows: int) -> None:
        """Add a class with the share of one row."""
        old, score = self.state["calibration"], self.learner._score_of_new_class(n_rows)
        self.state["calibration"] = calibration.insert_class(
            old, n_classes, position, n_rows, score
        )

    def fit(self, scores: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> None:
        """Fit to the scores of rows that were not learned."""
        scores = scores.reshape(len(codes), self.n_scores)
        given = {"log_odds": self.learner.scores_are_log_odds}
        self.state["calibration"] = calibration.fit(scores, codes, weight, **given)

    def update(
        self, scores: np.ndarray, codes: np.ndarray, weight: np.ndarray, return_proba: bool
    ) -> np.ndarray:
        """Learn from rows scored before they were learned; return their probabilities before it.

        A row whose score is NaN was left out.  Without ``return_proba`` what is returned means
        nothing.
        """
        learned = np.isfinite(scores).all(axis=1)
        if not learned.all():
            scores, weight = np.where(learned[:, None], scores, 0.0), np.where(learned, weight, 0.0)
        state = self.state["calibration"]
        p = calibration.calibrate(scores, codes, weight, state, return_proba=return_proba)
        return np.hstack([1.0 - p, p]) if return_proba and p.shape[1] == 1 else p

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities of the classes, (n_samples, n_classes)."""
        # without a calibration the scores are log odds
        return calibration.probabilities(scores, self.state.get("calibration", np.empty(0)))

    def slope(self) -> float:
        """Return what the log odds grow by where a score grows by 1."""
        state = self.state.get("calibration")
        return 1.0 if state is None else calibration.slope(state, self.n_scores)


def portable_calibration(state: np.ndarray, n_scores: int) -> Calibration:
    """Return a calibration of so many scores for other programs."""
    return Calibration(calibration.slope(state, n_scores), state[1 : 1 + n_scores].copy())


def calibration_schema(n_scores: int, *, each: tuple[int, ...] = ()) -> Array:
    """Return the schema of one calibration, or of one of each; its scale may be infinite."""
    K, size = n_scores, len(calibration.start(n_scores))
    low, high = np.full(size, -MAX_FINITE), np.full(size, MAX_FINITE)
    low[calibration.ERROR :] = low[1 + K] = low[2 + 2 * K : 4 + 3 * K] = 0.0
    low[4 + 3 * K] = low[5 + 4 * K : 7 + 5 * K] = 0.0  # the same sums of the block
    high[calibration.SCALE], high[calibration.SKIP] = np.inf, 3 * calibration.ROWS_OF_BLOCK
    return Array("f8", (*each, size), low, high, holds=_can_continue)


def _can_continue(states: np.ndarray) -> bool:
    """Return True if a pass can go on from the rows of the block, and those to leave out."""
    N, rows, skip = (states[..., at] for at in (calibration.N, calibration.ROWS, calibration.SKIP))
    counts = np.stack([rows, skip])
    most = np.vectorize(calibration.rows_of_block, otypes=[float])(N)
    return bool((counts == np.floor(counts)).all() and (rows < most).all())


def out_of_fold_scores(
    learner: Any, X: Any, y: np.ndarray, weight: np.ndarray, known: np.ndarray
) -> np.ndarray:
    """Return the scores of the rows ``known``, each by a learner of the other folds.

    If a class has one row, there are no folds, and they are the scores of ``learner`` itself.  Rows
    of one group are in one fold.
    """
    codes = class_codes(known_labels(y[known]), learner.classes_)
    n_folds = min(FOLDS, int(np.bincount(codes, minlength=len(learner.classes_)).min()))
    if n_folds < 2:
        return np.asarray(learner._scores_of(X, known))
    tests = [test for _, test in folds_to_fit(n_folds, len(codes), codes, groups_of(X, known), 0)]
    parts = []
    for test in tests:
        others = weight.copy()
        others[known[test]] = 0.0  # all rows stay, for kernels that are given as a matrix
        parts.append(Part(X, y, others))
    model = clone(learner)
    for name, value in learner._fold_params(codes, weight[known]).items():
        setattr(model, name, value)
    scores = np.empty((len(known), learner._n_scores()))
    for test, fitted in zip(tests, fit_parts(model, parts), strict=True):
        scores[test] = fitted._scores_of(X, known[test])
    return scores
