"""The ways of using views that `compare` compares and `crossview train` trains.

One entry a method: what it is called, its learner, and what is tried for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sklearn.model_selection import ParameterGrid

from crossview.errors import InputError, closest_names
from crossview.estimators.coupled import MultiViewPAClassifier
from crossview.estimators.keco import KeCoClassifier, PegasosClassifier
from crossview.estimators.linear import PassiveAggressiveClassifier, Perceptron
from crossview.estimators.machines import (
    FactorizationMachineClassifier,
    FactorizationMachineRegressor,
    MultiViewMachineClassifier,
    MultiViewMachineRegressor,
    SupportTensorMachineClassifier,
)
from crossview.estimators.performance import MultiViewSVMPerf
from crossview.estimators.second_order import (
    AROWClassifier,
    ConfidenceWeightedClassifier,
    PAMClassifier,
    SoftConfidenceWeightedClassifier,
)
from crossview.evaluation.metrics import parse_metric
from crossview.views import MultiView, ViewLayout

__all__ = ["METHODS", "Method", "compared_methods", "find_method"]

# C and disagreement have the unit of one over a squared norm: their best values move with the data
C = (0.001, 0.01, 0.1, 1.0, 10.0)
DISAGREEMENT = (0.0001, 0.001, 0.01, 0.1, 1.0)
# the constant feature has a share in every step, which is worth several points either way
INTERCEPT = (True, False)
# second-order learners take longer, and in a covariance the intercept's share soon shrinks:
# less is tried for them.  PAM has no r; what sets the scale of its covariance is the variance
# at the start
FEW_C = (0.1, 1.0, 10.0)
SMALL_C = (0.01, 0.1, 1.0)
FEW_DISAGREEMENT = (0.01, 0.1, 1.0)
VARIANCE = (0.01, 0.1, 1.0)
R = (0.1, 1.0, 10.0, 100.0)
CONFIDENCE = (0.55, 0.7, 0.9)
HIGH_CONFIDENCE = (0.7, 0.9)
# a machine makes many passes for each setting, so that little is tried
ALPHA = (0.001, 0.03)
RATE = (0.05, 0.1, 0.3)
# where nothing is factorized, or all is one product, larger steps do better
HIGH_RATE = (0.3, 1.0)

LAM = (0.0001, 0.001, 0.01, 0.1)

# prices of a row, of its loss and of disagreement in it
C1 = (0.01, 0.1, 1.0)
C2 = (0.001, 0.01, 0.1)
# what is trained for a metric that is no measure by itself: precision alone is best with one row
# called positive, and recall alone with all of them
MEASURES = {"accuracy": "error_rate", "precision": "f1", "recall": "f1"}

# multiplications that an exact covariance may cost one fit, at most some seconds; data that
# ask for more are compared with diagonal ones
MAX_EXACT_COST = 5e9
# from here on its parameters are chosen on one of the inner folds
MAX_TUNING_COST = MAX_EXACT_COST / 10

# what a stream fixes, or the method itself, or the metric
_NOT_SETTABLE = {
    "views",
    "coupling",
    "n_epochs",
    "shuffle",
    "random_state",
    "warm_start",
    "early_stopping",
    "validation_fraction",
    "n_iter_no_change",
    "tol",
    "random_views",
    "unlabeled",
    "beta",
    "k",
    "pos_label",
}


@dataclass(frozen=True)
class Method:
    """One way of using views.

    Attributes
    ----------
    name : str
        As in ``crossview train --model``.
    title : str
        As in the table of `compare`, with ``{metric}`` in place of what it is trained for.
    learner : type
        The estimator.
    fixed : mapping of str to value
        Its parameters that make up the method.
    grid : mapping of str to tuple
        Its parameters that are chosen by validation, and the values to try.
    view : str or None
        The only view it looks at; None: all.
    compared : bool
        Whether it is always a row of `compare`.
    stream : mapping of str to value
        Parameters by which it learns a stream with bounded memory, where its own do not.
    tuning_params : mapping of str to value
        Parameters that are good enough while the others are chosen.
    task : {"classification", "regression"}
        What it predicts.
    """

    name: str
    title: str
    learner: type
    fixed: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, tuple] = field(default_factory=dict)
    view: str | None = None
    compared: bool = True
    task: str = "classification"
    stream: Mapping[str, Any] = field(default_factory=dict)
    tuning_params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def batch(self) -> bool:
        """Whether it needs all rows at once, and knows when it is done."""
        return not hasattr(self.learner, "partial_fit")

    @property
    def for_metric(self) -> bool:
        """Whether what it is trained for depends on the metric; see `trained_for`."""
        return self.batch and "measure" not in self.fixed

    @property
    def draws_rows(self) -> bool:
        """Whether `fit` draws a number of rows, instead of making passes over them."""
        return "n_iterations" in self.learner().get_params()

    @property
    def learns_unlabeled(self) -> bool:
        """Whether it learns from rows without label, too."""
        return not getattr(self.learner, "_supervised", True)

    @property
    def stops_early(self) -> bool:
        """Whether `fit` makes passes until the loss on held-out rows gets no better."""
        return "early_stopping" in self.learner().get_params()

    def trained_for(self, metric: str, positive: Any = None) -> Method:
        """The same for this metric, of this class; most methods know of no metric."""
        if not self.for_metric:
            return self
        family, k = parse_metric(metric)
        measure = MEASURES.get(family, family)
        fixed = {"measure": measure, "pos_label": positive} | ({} if k is None else {"k": k})
        title = self.title.format(metric="f1" if measure == "f1" else metric)
        return replace(self, title=title, fixed={**self.fixed, **fixed})

    def make(self, *, random_state: Any = None, **parameters: Any) -> Any:
        """A new learner with these parameters; one that has all rows at once draws nothing."""
        drawn = {} if self.batch else {"random_state": random_state}
        return self.learner(**self.fixed, **drawn, **parameters)

    def candidates(self, grid: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """All settings to try; ``grid`` replaces the values of the parameters it names."""
        return list(ParameterGrid({p: list((grid or {}).get(p, v)) for p, v in self.grid.items()}))

    def passes(self, n: int | None) -> dict[str, Any]:
        """Parameters for `fit` to make ``n`` passes; None: until it stops early, or one."""
        if self.draws_rows or self.batch:
            return {}
        if not self.stops_early:
            return {"n_epochs": n or 1}
        return {} if n is None else {"n_epochs": n, "early_stopping": False}

    def on_stream(self, setting: Mapping[str, Any]) -> dict[str, Any]:
        """The setting with what bounds the memory on a stream, where it does not itself."""
        bounded = setting.get("kernel") in ("linear", "precomputed") or setting.get("approximation")
        more = {k: v for k, v in self.stream.items() if not (bounded and k == "budget")}
        return {**more, **setting}

    def select_view(self, X: MultiView) -> MultiView:
        """What the method sees of the rows."""
        return X if self.view is None else X.select([self.view])

    def settable(self) -> list[str]:
        """Names of the parameters that a user may set."""
        kept = {"tol"} if self.batch else set()  # elsewhere it belongs to early stopping
        return sorted(set(self.learner().get_params()) - (_NOT_SETTABLE - kept) - set(self.fixed))


FIRST_ORDER = (
    Method("perceptron", "perceptron", Perceptron, compared=False),
    Method(
        "concatenated",
        "concatenated",
        MultiViewPAClassifier,
        {"coupling": "concatenated"},
        {"C": C, "fit_intercept": INTERCEPT},
    ),
    Method(
        "independent",
        "independent",
        MultiViewPAClassifier,
        {"coupling": "independent"},
        {"C": C, "fit_intercept": INTERCEPT},
    ),
    Method(
        "squared",
        "coupled (squared)",
        MultiViewPAClassifier,
        {"coupling": "squared"},
        {"C": C, "disagreement": DISAGREEMENT, "fit_intercept": INTERCEPT},
    ),
    Method(
        "absolute",
        "coupled (absolute)",
        MultiViewPAClassifier,
        {"coupling": "absolute"},
        {"C": C, "disagreement": DISAGREEMENT, "fit_intercept": INTERCEPT},
    ),
)


def _second_order(name: str, words: str, covariance: str) -> Iterator[Method]:
    """The learners with a covariance of that form: on all columns concatenated, and coupled."""
    form = {} if covariance == "auto" else {"covariance": covariance}
    yield Method(
        f"pam{name}",
        f"PAM-II{words}",
        PAMClassifier,
        form,
        {"C": FEW_C, "initial_variance": VARIANCE},
    )
    yield Method(f"arow{name}", f"AROW{words}", AROWClassifier, form, {"r": R})
    yield Method(
        f"cw{name}", f"CW{words}", ConfidenceWeightedClassifier, form, {"confidence": CONFIDENCE}
    )
    yield Method(
        f"scw{name}",
        f"SCW-I{words}",
        SoftConfidenceWeightedClassifier,
        form,
        {"C": SMALL_C, "confidence": HIGH_CONFIDENCE},
    )
    yield Method(
        f"mahalanobis{name}",
        f"coupled{words or ' (PAM-II)'}",
        MultiViewPAClassifier,
        form | {"coupling": "squared", "geometry": "mahalanobis", "variant": "PA-II"},
        {"C": FEW_C, "disagreement": FEW_DISAGREEMENT, "initial_variance": VARIANCE},
    )


EXACT = tuple(_second_order("", "", "auto"))
DIAGONAL = tuple(_second_order(":diagonal", " (diagonal)", "diagonal"))


def _machines(task: str) -> Iterator[Method]:
    """Factorized interactions of the columns, of the views, and of all views."""
    number = task == "regression"
    fm = FactorizationMachineRegressor if number else FactorizationMachineClassifier
    mvm = MultiViewMachineRegressor if number else MultiViewMachineClassifier
    grid = {"alpha": ALPHA, "learning_rate": RATE}
    yield Method(
        "fm:cross-view",
        "factorization machine (cross-view)",
        fm,
        {"cross_view_only": True},
        grid,
        task=task,
    )
    yield Method("fm", "factorization machine", fm, {"cross_view_only": False}, grid, task=task)
    yield Method("mvm", "multi-view machine", mvm, {}, grid, task=task)


# a gap of one in a hundred tells which parameters are better
PERFORMANCE = tuple(
    Method(name, title, MultiViewSVMPerf, fixed, grid, tuning_params={"tol": 0.01})
    for name, title, fixed, grid in (
        ("svmperf", "SVM for {metric}", {}, {"C1": C1, "C2": C2}),
        ("svmperf:concatenated", "SVM for {metric} (concatenated)", {"C2": 0.0}, {"C1": C1}),
        # the same SVM, not trained for what counts
        (
            "svmperf:error_rate",
            "SVM for the error rate",
            {"measure": "error_rate"},
            {"C1": C1, "C2": C2},
        ),
    )
)
STM = Method(
    "stm",
    "support tensor machine",
    SupportTensorMachineClassifier,
    {"optimizer": "adagrad"},
    {"alpha": ALPHA, "learning_rate": HIGH_RATE},
)
# rows of `compare` where some have no label: the two differ in what they make of those
KERNEL = tuple(
    Method(
        name,
        title,
        learner,
        # wide sparse views want the linear one, few dense columns the other
        grid={"kernel": ("rbf", "linear"), "lam": LAM},
        compared=False,
        stream={"schedule": "stream", "budget": 500},
    )
    for name, title, learner in (
        ("pegasos", "Pegasos (one a view)", PegasosClassifier),
        ("keco", "KeCo", KeCoClassifier),
    )
)
METHODS = (
    *FIRST_ORDER,
    *EXACT,
    *DIAGONAL,
    *PERFORMANCE,
    *_machines("classification"),
    STM,
    *KERNEL,
    *_machines("regression"),
)


def single_view(view: str, task: str = "classification") -> Method:
    """The method that looks at one view only."""
    if task == "regression":
        return replace(linear((view,), task), name=f"view:{view}", title=f"{view} alone", view=view)
    return Method(
        f"view:{view}",
        f"{view} alone",
        PassiveAggressiveClassifier,
        grid={"C": C, "fit_intercept": INTERCEPT},
        view=view,
    )


def linear(views: Sequence[str], task: str) -> Method:
    """A linear model: the sum of one machine a view, in which nothing interacts."""
    return Method(
        "linear",
        "linear",
        MultiViewMachineRegressor if task == "regression" else MultiViewMachineClassifier,
        {"groups": [[view] for view in views]},
        {"alpha": ALPHA, "learning_rate": HIGH_RATE},
        task=task,
    )


def exact_cost(layout: ViewLayout, n_rows: int | None) -> float:
    """Multiplications of a pass with an exact covariance: rows times rows or columns squared."""
    rows = n_rows or math.inf
    return rows * min(rows, layout.n_columns) ** 2


def compared_methods(
    layout: ViewLayout,
    n_rows: int | None,
    task: str = "classification",
    *,
    unlabeled: bool = False,
    metric: str | None = None,
) -> Iterator[Method]:
    """The rows of `compare`: each view alone, then the ways of using all of them.

    Learners with a covariance have an exact one if that is affordable.  Those that are trained
    for a measure of all rows come where a ``metric`` of all rows decides, not in a stream.  Where
    some rows are ``unlabeled``, one that learns from them comes last, after the same
    without them.
    """
    yield from (single_view(view, task) for view in layout.names)
    if task == "regression":
        yield linear(layout.names, task)
    else:
        yield from (method for method in FIRST_ORDER if method.compared)
        yield from EXACT if exact_cost(layout, n_rows) <= MAX_EXACT_COST else DIAGONAL
        for method in PERFORMANCE if metric is not None else ():
            if method.for_metric or metric != "accuracy":  # which is the error rate
                yield method
    yield from (method for method in METHODS if method.task == task and method.stops_early)
    yield from KERNEL if unlabeled and task == "classification" else ()


def known_methods(views: Sequence[str], task: str) -> list[Method]:
    """All methods for a task, on these views."""
    singles = (single_view(view, task) for view in views)
    return [*(m for m in METHODS if m.task == task), linear(views, task), *singles]


def find_method(name: str, views: tuple[str, ...], task: str = "classification") -> Method:
    """The method called ``name``; `InputError` that lists all if there is none.

    Parameters
    ----------
    name : str
        One of `METHODS`, ``linear``, or ``view:NAME``.
    views : tuple of str
        Names of the views there are.
    task : {"classification", "regression"}, default="classification"
        What it is to predict.

    Returns
    -------
    Method
        The method.
    """
    known = {method.name: method for method in known_methods(views, task)}
    if name not in known:
        if any(method.name == name for method in METHODS):
            other = "classes" if task == "regression" else "numbers"
            raise InputError(
                f"model {name!r} predicts {other}; for {task} there are: {', '.join(known)}"
            )
        raise InputError(f"no model {name!r}{closest_names(name, list(known))}")
    return known[name]
