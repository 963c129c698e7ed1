"""Base class of the online classifiers, and the passes over the rows of all online learners."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from crossview.algorithms.calibration import N
from crossview.batch import has_types, read_only, rows_at, typed_blocks
from crossview.errors import InputError
from crossview.estimators.base import single_rows
from crossview.estimators.base.calibration import Calibrator
from crossview.estimators.base.classifier import ViewClassifier, check_probabilities
from crossview.estimators.base.learner import Takes
from crossview.estimators.base.road import ClassifierRoad
from crossview.estimators.base.single_rows import (
    check_learned,
    forgetting_if,
    learn_between_restarts,
)
from crossview.estimators.base.stand_ins import stand_ins_of
from crossview.estimators.targets import (
    as_classes,
    check_label,
    class_codes,
    class_weights,
    row_weights,
    several_classes,
)
from crossview.kernels.rows import Rows
from crossview.labels import has_label, known_labels
from crossview.views import check_rows


def pass_over(
    learner: Any, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, int]:
    """Make one pass; return the scores before each update, and a nonfinite row or -1.

    ``learner._learn(rows, order, y, weight, scores)`` makes it and writes the scores.  It returns
    the last nonfinite row, which it has left out: the state is as without such rows, and their
    scores are NaN.  Rows of other types than the loops take are learned block by block.
    """
    K = learner._n_scores()
    scores = np.zeros((len(rows.indptr) - 1, K))
    stand_ins = stand_ins_of(learner)
    added = 0.0 if stand_ins is None else stand_ins.pass_over(rows, order, weight)
    if has_types(rows) or learner._takes == "any":
        wrong = int(learner._learn(*_for_learning(rows, order, y, weight, scores)))
        return scores + added, wrong
    nonfinite_row = -1
    for here, part in typed_blocks(rows, order):
        found = np.zeros((len(here), K))
        given = part, np.arange(len(here)), y[here], weight[here], found
        wrong = learner._learn(*_for_learning(*given))
        scores[here] = found
        nonfinite_row = nonfinite_row if wrong < 0 else int(here[wrong])
    return scores + added, nonfinite_row


def _for_learning(
    rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray, scores: np.ndarray
) -> tuple:
    """Return rows of the right types as the loops take them; see `pass_over`."""
    order = read_only(np.ascontiguousarray(order, dtype=np.int64))
    flat = scores if scores.shape[1] > 1 else scores.reshape(-1)
    return rows, order, read_only(y), read_only(weight), flat


def fit_in_passes(
    learner: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Make the passes of `fit`; return the scores of the last one, and its order of the rows."""
    # the values are not checked in advance: the first pass reports a nonfinite row
    rows = learner._read(X, reset=True, checked=False, as_is=True)
    target, weight = learner._first_targets(y, sample_weight, rows)
    random_state = check_random_state(learner.random_state)
    n = len(rows.indptr) - 1
    for epoch in range(learner.n_epochs):
        order = random_state.permutation(n) if learner.shuffle else np.arange(n)
        scores, nonfinite_row = pass_over(learner, rows, order, target, weight)
        if epoch == 0 and nonfinite_row >= 0:
            # the row has a missing view, and the pass is repeated; or reading raises an error
            rows = learner._read(X, reset=False, as_is=True)
            learner._start_state()
            scores, nonfinite_row = pass_over(learner, rows, order, target, weight)
        check_learned(nonfinite_row)
    return scores[order], order


class OnlineClassifier(ViewClassifier):
    """Base class of the online classifiers: `partial_fit`, `learn_one`, `score_then_learn`.

    The calibration learns from the score of each row before the row is learned.
    """

    _takes: ClassVar[Takes] = "blocks"
    _road_kind = ClassifierRoad
    _advice_on_new_classes = (
        "; name all labels that may occur in classes= of the first partial_fit, or let "
        "partial_fit(..., new_classes=True) add those that come"
    )

    check_streams = single_rows.check_streams
    learn_one = single_rows.learn_one
    check_one = single_rows.check_one

    def _learn(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray, scores: np.ndarray
    ) -> int:
        """Make one pass over the rows; see `pass_over`."""
        raise NotImplementedError

    def _has_no_label(self, y: Any) -> bool:
        """Return whether a row is unlabeled; raise an error if the learner needs labels."""
        if not has_label([y])[0]:
            raise InputError("the label is missing (NaN or None); leave the row out, or label it")
        return False

    def _check_target(self, y: Any) -> bool:
        """Raise an error for a label that cannot be learned; return False for a missing one."""
        self._check_class_weight()
        labeled = not self._has_no_label(y)
        if labeled:
            check_label(y, getattr(self, "classes_", None))
        return labeled

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        scores, order = fit_in_passes(self, X, y, sample_weight)
        if self.n_epochs > 1:  # the scores of a later pass are of rows that were learned
            self._calibrate_by_folds(X, y, sample_weight)
            return
        target, _ = self._targets(np.asarray(y).reshape(-1), None, None)
        if sample_weight is not None:
            sample_weight = row_weights(sample_weight, len(target))[order]
        self._calibrate_in_pass(scores, target[order], sample_weight)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        new_classes: bool = False,
    ) -> Self:
        """Make one pass over more rows, in their order.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All classes that may occur; required in the first call, unless they grow.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row, at least 0; see the notes of the class for its effect.
        new_classes : bool, default=False
            Whether a label that is of no class so far becomes one with its first row, as in
            `learn_one`.  False: it is an error.

        Returns
        -------
        self : object
            The learner.
        """
        if new_classes:

            def learn(X: Any, y: Any, weight: Any) -> None:
                self._learn_with_new_classes(X, y, classes, weight)

            if learn_between_restarts(self, X, y, sample_weight, learn) is None:
                learn(X, y, sample_weight)
        else:
            self.score_then_learn(X, y, classes, sample_weight)
        return self

    def _in_parts(self, cuts: list[int]) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the first row and the rows of each part of a batch, which is learned alone."""
        for lo, hi in pairwise(cuts):
            yield lo, np.arange(lo, hi)

    def _learn_with_new_classes(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        """Make one pass, and add each new label as a class before its first row."""
        self.check_params()
        self.check_streams()
        first = not hasattr(self, "classes_")
        self._check_classes(False, None if first else classes)
        check_rows(X, y=y, sample_weight=sample_weight)
        with forgetting_if(self, first):
            rows = self._read(X, reset=first, as_is=True)
            y = self._read_targets(y, len(rows.indptr) - 1)
            weight = row_weights(sample_weight, len(y))
            if first and classes is not None:
                self._set_classes(np.unique(np.asarray(classes)))
            labeled = np.flatnonzero(self._is_labeled(y))
            labels = known_labels(y[labeled])
            known = self.classes_.tolist() if hasattr(self, "classes_") else []
            if len(labels):
                check_label(labels[:1].tolist()[0], self.classes_ if known else None)
                if known:
                    y = y.astype(object)
                    y[labeled] = labels = as_classes(labels, self.classes_)
            found, at = np.unique(labels, return_index=True)
            new = [label not in known for label in found.tolist()]
            starts = np.sort(labeled[at[new]]).tolist()
        # rows without a label have no effect before the first one
        nonfinite_row, begin = -1, 0 if known or not starts else starts[0]
        for lo, here in self._in_parts([*dict.fromkeys([begin, *starts]), len(y)]):
            if lo in starts:
                self._add_class(known_labels(y[lo : lo + 1]).tolist()[0])
            if known or starts:
                *_, wrong = self._learn_rows(rows_at(rows, here), y[here], weight[here])
                nonfinite_row = nonfinite_row if wrong < 0 else lo + wrong
        check_learned(nonfinite_row)

    def score_then_learn(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        return_proba: bool = False,
    ) -> Any:
        """Learn as `partial_fit` does, and return the score of each row before it was learned.

        This is progressive validation: each row is scored by the model that has learned from the
        rows before it.

        Parameters
        ----------
        X, y, classes, sample_weight
            As for `partial_fit`.
        return_proba : bool, default=False
            Whether to return the probabilities, too.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        p : ndarray of shape (n_samples, n_classes)
            Only with ``return_proba``: the probabilities of each row before it was learned.
        """
        if return_proba:
            check_probabilities(self)

        def learn(X: Any, y: Any, weight: Any) -> Any:
            return self.score_then_learn(X, y, classes, weight, return_proba=return_proba)

        parts = learn_between_restarts(self, X, y, sample_weight, learn)
        if parts is not None:
            if return_proba:
                return tuple(np.concatenate(found) for found in zip(*parts, strict=True))
            return np.concatenate(parts)
        self.check_params()
        self.check_streams()
        first = not hasattr(self, "classes_")
        self._check_classes(first, classes)
        check_rows(X, y=y, sample_weight=sample_weight)
        with forgetting_if(self, first):
            rows = self._read(X, reset=first, as_is=True)
            y = self._read_targets(y, len(rows.indptr) - 1)
            if first:
                self._set_classes(np.unique(np.asarray(classes)))
            scores, p, nonfinite_row = self._learn_rows(rows, y, sample_weight, return_proba)
        check_learned(nonfinite_row)
        scores = scores[:, 0] if scores.shape[1] == 1 else scores
        return (scores, p) if return_proba else scores

    def _learn_rows(
        self, rows: Rows, y: np.ndarray, sample_weight: Any, return_proba: bool = False
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Learn rows in their order; return scores and p before each, and a nonfinite row or -1."""
        codes, weight = self._targets(y, sample_weight, self.class_weight)
        scores, nonfinite_row = pass_over(self, rows, np.arange(len(codes)), codes, weight)
        p = self._calibrate_in_pass(scores, codes, sample_weight, return_proba)
        return scores, p, nonfinite_row

    def _learn_row(self, x: Any, y: Any, sample_weight: float) -> None:
        """Learn a row that was checked; ``y`` is None where the label is missing."""
        if y is None and not hasattr(self, "_state"):
            return  # an unlabeled row has no effect before the first label
        rows = self._read_one(x, learn=True)
        if y is not None:
            if hasattr(self, "classes_"):
                y = as_classes(np.asarray([y]), self.classes_).tolist()[0]
            self._add_class(y)
        codes, weight = self._targets(np.asarray([y]), sample_weight, self.class_weight)
        scores, nonfinite_row = pass_over(self, rows, np.zeros(1, np.int64), codes, weight)
        check_learned(nonfinite_row, alone=True)
        self._calibrate_in_pass(scores, codes, sample_weight)

    def check_targets(
        self, y: Any, classes: Any = None, sample_weight: Any = None, *, new_classes: bool = False
    ) -> None:
        """Raise an error if `partial_fit` cannot learn these labels.

        Parameters
        ----------
        y, classes, sample_weight, new_classes
            As for `partial_fit`.

        Raises
        ------
        InputError
            The message says what is wrong with them.
        """
        self.check_params()
        self.check_streams()
        first = not hasattr(self, "classes_")
        self._check_classes(first and not new_classes, None if first and new_classes else classes)
        y = self._read_targets(y, None)
        row_weights(sample_weight, len(y))
        if not new_classes:
            known = np.unique(np.asarray(classes)) if first else self.classes_
            labels = known_labels(y[self._is_labeled(y)])
            class_codes(labels, known, self._advice_on_new_classes)

    # --- calibrating ------------------------------------------------------------------------

    def _calibrate_in_pass(
        self, scores: np.ndarray, target: np.ndarray, sample_weight: Any, return_proba: bool = False
    ) -> np.ndarray:
        """Update the calibration by rows scored before they were learned; return p before it.

        Without ``return_proba`` what is returned means nothing.
        """
        if self.calibration == "none":
            return self.probabilities(scores) if return_proba else scores
        codes, weight = self._calibration_targets(target, sample_weight)
        p = Calibrator(self._state, self).update(scores, codes, weight, return_proba)
        return np.ones((len(p), 1)) if len(self.classes_) == 1 else p

    def _calibration_targets(
        self, target: np.ndarray, sample_weight: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return codes, -1 where the label is missing, and weights without class weights."""
        weight = row_weights(sample_weight, len(target))
        return target if len(self.classes_) > 2 else (target > 0.0).view(np.int8), weight

    # --- classes ----------------------------------------------------------------------------

    def _first_targets(
        self, y: Any, sample_weight: Any, rows: Rows
    ) -> tuple[np.ndarray, np.ndarray]:
        """Initialize from the labels of `fit`; return the encoded targets and the weights."""
        y = self._read_targets(y, len(rows.indptr) - 1)
        classes = several_classes(y, self.class_weight)
        if not hasattr(self, "classes_"):
            self._set_classes(classes)
        return self._targets(y, sample_weight, self.class_weight)

    def _check_classes(self, first: bool, classes: Any) -> None:
        """Raise an error if ``classes`` is missing in the first call or differs in a later one."""
        self._check_class_weight()
        if first and classes is None:
            raise InputError(
                "classes= is required in the first call; give all labels that may occur"
            )
        if not (first or classes is None or np.array_equal(np.unique(classes), self.classes_)):
            raise InputError(
                f"classes={classes!r} is not the same as in the first call, "
                f"{self.classes_.tolist()!r}"
            )

    def _fold_params(self, codes: np.ndarray, weight: np.ndarray) -> dict[str, Any]:
        params = super()._fold_params(codes, weight)
        if self.class_weight is None:
            return params
        of_classes = class_weights(self.class_weight, self.classes_, codes, weight)
        pairs = zip(self.classes_.tolist(), of_classes.tolist(), strict=True)
        return params | {"class_weight": dict(pairs)}

    def _check_class_weight(self) -> None:
        if isinstance(self.class_weight, str):
            raise InputError(
                "class_weight='balanced' needs the labels of all rows; for a stream give "
                "class_weight={label: weight, ...}"
            )

    def _add_class(self, label: Any, n_rows: int | None = None) -> None:
        """Add a class if it is new, that none of ``n_rows`` rows had; None: those learned."""
        if not hasattr(self, "classes_"):
            self._set_classes(np.asarray([label]))
            return
        if label in self.classes_:
            return
        old, n_rows = self.classes_, self._n_learned() if n_rows is None else n_rows
        self.set_threshold(None)  # which is for the classes so far
        self.classes_ = np.sort(np.append(old, label))
        position = int(np.searchsorted(self.classes_, label))
        for part in self._parts(self._state):
            part.insert_class(len(old), position, n_rows)

    def _n_learned(self) -> int:
        """Return the number of rows learned so far; about, where only the calibration knows it."""
        if "t" in self._state:
            return int(self._state["t"][0])
        return int(self._state["calibration"][N]) if "calibration" in self._state else 0

    def _score_of_new_class(self, n_rows: int) -> float:
        """Return the score of a class that none of so many rows had, where the others have 0.

        Log odds are those of one row; other scores are lower by the margin.
        """
        if n_rows == 0 or not getattr(self, "fit_intercept", True):
            return 0.0
        return -float(np.log1p(n_rows)) if self.scores_are_log_odds else -1.0
