"""The parameters of `MultiViewSVMPerf`, and the optimization problem they define."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from crossview.algorithms.performance.problem import Problem, make_problem
from crossview.errors import InputError
from crossview.estimators.base import LinearClassifier
from crossview.estimators.svm.measure import Measure
from crossview.estimators.validation import Interval, StrOptions
from crossview.labels import choose_positive

__all__ = ["SVMPerfOptions"]

MEASURES = (
    "f1",
    "fbeta",
    "error_rate",
    "balanced_accuracy",
    "g_mean",
    "prbep",
    "precision_at_k",
    "recall_at_k",
    "precision_at_k:exact",
    "recall_at_k:exact",
    "roc_auc",
    "average_precision",
)
# sums over rows or pairs, which support sample weights
WEIGHTED = ("error_rate", "balanced_accuracy", "roc_auc")
AT_K = ("precision_at_k", "recall_at_k", "precision_at_k:exact", "recall_at_k:exact")


class SVMPerfOptions(LinearClassifier):
    """Base class of `MultiViewSVMPerf`: its parameters."""

    _parameter_constraints: ClassVar[dict] = {
        "views": [Mapping, "array-like", None],
        "measure": [StrOptions(set(MEASURES)), Measure, callable],
        "beta": [Interval(Real, 0, None, closed="neither")],
        "k": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
        ],
        "C1": [Interval(Real, 0, None, closed="neither")],
        "C2": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions({"joint", "published"})],
        "scaling": [StrOptions({"rows", "published"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        **LinearClassifier._parameter_constraints,
    }

    def __init__(
        self,
        views: Any = None,
        *,
        measure: Any = "f1",
        beta: float = 1.0,
        k: float = 0.1,
        C1: float = 1.0,
        C2: float = 0.1,
        solver: str = "joint",
        scaling: str = "rows",
        tol: float = 1e-3,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        pos_label: Any = None,
        calibration: str = "sigmoid",
    ) -> None:
        self.views = views
        self.measure = measure
        self.beta = beta
        self.k = k
        self.C1 = C1
        self.C2 = C2
        self.solver = solver
        self.scaling = scaling
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.pos_label = pos_label
        self.calibration = calibration

    def _problem(self, signs: np.ndarray, weight: np.ndarray) -> Problem:
        """Return the problem of the measure for these labels."""
        n, P = len(signs), int((signs > 0).sum())
        if isinstance(self.measure, str):
            name = "fbeta" if self.measure == "f1" else self.measure
            beta = float(self.beta) if self.measure == "fbeta" else 1.0
            k = self.k if isinstance(self.k, Integral) else max(1, round(float(self.k) * n))
            if name in AT_K and k > n:
                raise InputError(
                    f"k={k} is more than the {n} rows; give a smaller k, or a fraction of the rows"
                )
            return make_problem(name, signs, weight, beta=beta, k=int(k))
        measure = self.measure if isinstance(self.measure, Measure) else Measure(self.measure)
        measure.check(P, n - P)
        return make_problem("custom", signs, weight, delta=measure.loss, concave=measure.concave)

    def _check_weights(self, weight: np.ndarray) -> None:
        if self.measure not in WEIGHTED and np.ptp(weight) > 0.0:
            raise InputError(
                f"sample_weight is not defined for measure={self.measure!r}, which is not a sum "
                f"over rows; leave it out, or set measure to one of: {', '.join(WEIGHTED)}"
            )

    def _classes_of(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the classes of labels; `InputError` for what cannot be learned."""
        classes = np.unique(y)
        if len(classes) < 2:
            what = (
                f"one class, {classes.tolist()[0]!r}"
                if len(classes)
                else "no row with a positive weight"
            )
            raise InputError(f"y has {what}; a classifier needs two or more")
        self._check_weights(weight)
        return classes

    def _positive_classes(self, classes: np.ndarray, y: np.ndarray) -> list[int]:
        """Return the codes of the classes for one-against-rest problems."""
        if self.pos_label is None:
            if len(classes) > 2:
                return list(range(len(classes)))
            return [choose_positive(classes, np.unique(y, return_counts=True)[1])[0]]
        if len(classes) > 2:
            raise InputError(
                f"pos_label requires two classes, and y has {len(classes)}; leave it out"
            )
        found = np.flatnonzero(classes == self.pos_label)
        if not len(found):
            raise InputError(
                f"pos_label={self.pos_label!r} is not among the classes {classes.tolist()!r}"
            )
        return [int(found[0])]
