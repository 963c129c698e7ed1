"""Base classes of the machines: passes with early stopping, solvers, and outputs."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import cpu_count
from sklearn.utils import check_random_state

from crossview.algorithms import losses, optimizers
from crossview.algorithms.machines import alternating, hogwild, init, lbfgs, online, scores
from crossview.algorithms.machines.state import Examples, Objective
from crossview.batch import read_only, rows_at
from crossview.errors import InputError
from crossview.estimators.base import OnlineClassifier, OnlineLearner, OnlineRegressor
from crossview.estimators.machines.early_stopping import EarlyStopping, split_held_out
from crossview.estimators.machines.model import MachineModel
from crossview.estimators.machines.state import cast_state, insert_class
from crossview.estimators.targets import row_weights
from crossview.estimators.validation import Interval, StrOptions, available_if
from crossview.kernels.rows import Rows

__all__ = ["MachineClassifier", "MachineLearner", "MachineRegressor"]

LOSSES = {
    "squared": losses.SQUARED,
    "huber": losses.HUBER,
    "logistic": losses.LOGISTIC,
    "hinge": losses.HINGE,
}
PENALTIES = {"l2": optimizers.L2, "l1": optimizers.L1}
# these learn row by row; the solvers below need all rows in memory
STREAMING = {"adagrad": optimizers.ADAGRAD, "sgd": optimizers.SGD}
SOLVERS = {
    "lbfgs": lbfgs.fit,
    "als": alternating.least_squares,
    "alternating": alternating.support_machines,
}


class MachineLearner(MachineModel):
    """Base class of the machines: passes with early stopping, and solvers."""

    _parameter_constraints: ClassVar[dict] = {
        **OnlineLearner._parameter_constraints,
        "penalty": [StrOptions(set(PENALTIES))],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "init_scale": [Interval(Real, 0, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "deterministic": ["boolean"],
        "warm_start": ["boolean"],
    }

    # --- to be implemented by subclasses --------------------------------------

    def _loss(self) -> int:
        """Return the loss to minimize."""
        return LOSSES[self.loss]

    def _check_optimizer(self) -> None:
        """Raise `InputError` if the optimizer does not support the other parameters."""
        if self.optimizer == "als" and self.loss != "squared":
            raise InputError(f"optimizer='als' with loss={self.loss!r}; set loss='squared'")
        if self.optimizer == "als" and self.penalty != "l2":
            raise InputError(f"optimizer='als' with penalty={self.penalty!r}; set penalty='l2'")

    def _init_intercepts(self, target: np.ndarray, weight: np.ndarray) -> None:
        """Initialize the intercepts of `fit`; numeric targets are already centered."""

    # --- learning -------------------------------------------------------------

    def _objective(self) -> Objective:
        alpha_bias = self.alpha if getattr(self, "penalize_bias", False) else 0.0
        loss, penalty = self._loss(), PENALTIES[self.penalty]
        fit_intercept = bool(getattr(self, "fit_intercept", True))
        return Objective(loss, penalty, float(self.alpha), float(alpha_bias), fit_intercept)

    def _learn(
        self, rows: Rows, order: np.ndarray, y: np.ndarray, weight: np.ndarray, scores: np.ndarray
    ) -> int:
        cast_state(self._state, self._design())
        learn = online.learn if self.deterministic else partial(hogwild.learn, cpu_count())
        nonfinite_row = learn(
            rows,
            Examples(order, read_only(np.asarray(y, dtype=np.float64)), weight),
            self._machine(),
            self._objective(),
            STREAMING[self.optimizer],
            float(self.learning_rate),
            scores.reshape(len(scores), -1),
        )
        return int(nonfinite_row)

    def check_streams(self) -> None:
        """Raise `InputError` if the optimizer needs all rows in memory."""
        if self.optimizer not in STREAMING:
            raise InputError(
                f"optimizer={self.optimizer!r} needs all rows in memory; use fit, "
                "or set optimizer='adagrad' or 'sgd' for a stream"
            )

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._minimize(X, y, sample_weight)

    def _minimize(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, np.ndarray]:
        """Minimize the loss; return the rows, and the positions of those held out."""
        self._check_optimizer()
        rows = self._read(X, reset=not self._warm_starts())
        target, weight = self._first_targets(y, sample_weight, rows)
        target = np.asarray(target, dtype=np.float64)
        if not self._warm_starts():
            self._init_intercepts(target, weight)
        random_state = check_random_state(self.random_state)
        train = held_out = np.arange(len(target))
        held_out = held_out[:0]
        if self.early_stopping:
            labels = target if isinstance(self, OnlineClassifier) else None
            train, held_out = split_held_out(
                len(target), self.validation_fraction, labels, weight, random_state
            )

        def held_out_loss() -> float:
            return self._mean_loss(rows, read_only(held_out), target, weight)

        stopping = EarlyStopping(
            held_out_loss if len(held_out) else None,
            self._copy_parameters,
            tol=self.tol,
            n_iter_no_change=self.n_iter_no_change,
        )
        nonfinite_row = -1
        if self.optimizer in STREAMING:
            for _ in range(self.n_epochs):
                order = random_state.permutation(train) if self.shuffle else train
                nonfinite_row = max(self._pass(rows, order, target, weight)[1], nonfinite_row)
                if stopping.after_each():
                    break
        else:
            self._solve(rows, Examples(train, target, weight), stopping)
        self._finish(stopping)
        self._check_learned(nonfinite_row)
        return rows, held_out

    def _solve(self, rows: Rows, examples: Examples, stopping: EarlyStopping) -> None:
        """Run a batch solver over all examples."""
        cast_state(self._state, self._design())
        examples = Examples(*map(read_only, examples))
        machine = self._machine()
        init.init_touched_columns(rows, examples.order, machine)
        solver = SOLVERS[self.optimizer]
        solver(rows, examples, machine, self._objective(), self.n_epochs, stopping.after_each)

    def _mean_loss(
        self, rows: Rows, order: np.ndarray, target: np.ndarray, weight: np.ndarray
    ) -> float:
        """Return the mean loss of the rows in ``order``."""
        row_scores = np.zeros((len(rows.indptr) - 1, self._n_scores()))
        scores.score_rows(rows, order, self._frozen(), row_scores)
        with np.errstate(over="ignore", invalid="ignore"):
            each = losses.row_losses(self._loss(), row_scores[order], target[order])
            return float(np.average(each, weights=weight[order]))

    def _copy_parameters(self) -> dict[str, np.ndarray]:
        """Copy the parameters; of A only the columns seen, because all others are 0."""
        state = self._state
        return {"A": state["A"][state["seen"]], "B": state["B"].copy(), "c": state["c"].copy()}

    def _finish(self, stopping: EarlyStopping) -> None:
        """Restore the best parameters."""
        if stopping.diverged:
            raise InputError(
                "the loss diverges; scale the columns of X (for example with "
                f"StandardScaler), or lower learning_rate={self.learning_rate:g}"
            )
        best = stopping.best_parameters
        if best is not None:
            self._state["A"][self._state["seen"]] = best["A"]
            self._state |= {"B": best["B"], "c": best["c"]}
        self.n_iter_ = stopping.n_iter if best is None else stopping.best_iter
        self.validation_loss_ = np.asarray(stopping.history)

    def _warm_starts(self) -> bool:
        return bool(self.warm_start) and hasattr(self, "_state")


class MachineClassifier(MachineLearner, OnlineClassifier):
    """Base class of the machines for classification."""

    _parameter_constraints: ClassVar[dict] = {
        **MachineLearner._parameter_constraints,
        **OnlineClassifier._parameter_constraints,
        "loss": [StrOptions({"logistic", "hinge", "squared"})],
    }

    # as in scikit-learn: a learner that cannot stream has no partial_fit
    partial_fit = available_if(lambda self: _streams(self))(OnlineClassifier.partial_fit)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows, held_out = self._minimize(X, y, sample_weight)
        if self.calibration == "none":
            return
        if len(held_out):
            scores = self._joint_scores(rows_at(rows, held_out))
            weight = row_weights(sample_weight, len(rows.indptr) - 1)[held_out]
            self._calibrate_on(scores, np.asarray(y).reshape(-1)[held_out], weight)
        else:
            self._calibrate_by_folds(X, y, sample_weight)

    def _output_labels(self) -> list[Any]:
        return [None] if self._n_scores() == 1 else self.classes_.tolist()

    def _loss(self) -> int:
        if self.loss == "logistic" and self._n_scores() > 1:
            return losses.SOFTMAX
        return LOSSES[self.loss]

    def _init_intercepts(self, target: np.ndarray, weight: np.ndarray) -> None:
        if not getattr(self, "fit_intercept", True):
            return
        # otherwise the weights of the columns would have to learn the class frequencies, and rows
        # with unseen columns would be scored as if all classes were equally frequent
        K = self._n_scores()
        classes = np.arange(K) if K > 1 else np.array([1.0])
        total = weight.sum()
        share = np.full(len(classes), 0.5)
        if total:
            share = np.array([weight[target == c].sum() for c in classes]) / total
        self._state["c"][0] = losses.init_scores(self._loss(), share)

    @property
    def scores_are_log_odds(self) -> bool:
        """Whether the loss makes scores log odds."""
        return bool(self.loss == "logistic")

    def _insert_class(self, old: np.ndarray, position: int) -> None:
        design = self._design()
        cast_state(self._state, design)
        self._state |= insert_class(self._state, design, self._slots.ptr, len(old), position)


class MachineRegressor(MachineLearner, OnlineRegressor):
    """Base class of the machines for regression."""

    _parameter_constraints: ClassVar[dict] = {
        **MachineLearner._parameter_constraints,
        "loss": [StrOptions({"squared", "huber"})],
    }

    partial_fit = available_if(lambda self: _streams(self))(OnlineRegressor.partial_fit)

    def _n_scores(self) -> int:
        return 1

    def _start_state(self) -> None:
        super()._start_state()
        self._state["units"] = np.zeros(3)

    def _in_units(self, score: np.ndarray) -> np.ndarray:
        return OnlineRegressor._in_units(self, score)


def _streams(learner: Any) -> bool:
    try:
        learner.check_streams()
    except InputError as error:
        raise AttributeError(str(error)) from None
    return True
