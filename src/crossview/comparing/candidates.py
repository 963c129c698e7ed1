"""The learners that `compare` includes by default."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from crossview.baselines import baselines as usual_baselines
from crossview.baselines import find_baseline, find_model
from crossview.catalog.learner import BASELINE, Learner
from crossview.catalog.learners import find_learner, known_learners
from crossview.catalog.metrics import metric_of
from crossview.comparing.run import Run
from crossview.errors import InputError, argument
from crossview.estimators.svm.measure import WEIGHTED
from crossview.estimators.targets import scale_of_skewed
from crossview.views import ViewLayout

# multiplications that an exact covariance may cost one fit, at most some seconds, and by second of
# the budget, as there are many fits; data that need more are compared with diagonal ones
MAX_EXACT_COST, MAX_BY_SECOND = 5e9, 2e6

# most columns of tables that are compared with kernels, more where rows are few, by the numbers in
# all of them; and what is tried there
FEW_COLUMNS, MOST_COLUMNS, FEW_NUMBERS = 2000, 5000, 2e6
OF_FEW_COLUMNS: dict[str, tuple] = {"kernel": ("rbf",), "lam": (0.0001, 0.001)}
# by what they bring to the ensemble; views alone stand before what follows the dots
MOST_GAIN = (
    *(
        "trees",
        "network",
        "extra-trees",
        "logistic-regression",
        "ridge",
        "kernel-ridge",
        "linear",
        "mvm",
        "pegasos",
    ),
    *("fm", "stacking"),
    *(..., "arow", "arow:diagonal", "late-fusion"),
)


def most_gain_first(learners: Sequence[Learner]) -> list[Learner]:
    """Return learners in the order in which they bring most to an ensemble of three.

    Where time is short, the last ones are left out: all that are not in `MOST_GAIN` first.

    >>> from crossview.catalog.learners import known_learners
    >>> from crossview.comparing.candidates import most_gain_first
    >>> entries = most_gain_first(known_learners("regression", ["a", "b"]))
    >>> [entry.name for entry in entries][:5]
    ['trees', 'network', 'extra-trees', 'ridge', 'kernel-ridge']
    """

    def place(learner: Learner) -> int:
        name = learner.name.removeprefix(BASELINE)
        known: tuple[Any, ...] = MOST_GAIN
        key = name if learner.view is None else ...
        return known.index(key) if key in known else len(known)

    return sorted(learners, key=place)


def quadratic_cost(n_columns: int, n_rows: int | None, numbers: float = 1.0) -> float:
    """Return the multiplications of a pass with an exact covariance.

    They are for each row the square of the columns, or if rows are kept instead, the numbers in
    all of them.

    numbers: in a row; 1: it is not known, and the least is returned.
    """
    rows = n_rows or math.inf
    return rows * min(n_columns**2, rows * max(numbers, min(rows, n_columns)))


def compared_learners(
    layout: ViewLayout,
    n_rows: int | None,
    task: str = "classification",
    *,
    unlabeled: bool = False,
    metric: str | None = None,
    given_metric: bool = False,
    budget: float = math.inf,
) -> list[Learner]:
    """Return the rows of `compare`: each view alone, then the ways of using all of them.

    Of one view those are left out that are the same as another one there.

    unlabeled: whether some rows have no label; then those that learn from them are last, after the
      same without them.
    metric: the metric that ranks the models.  None on a stream, which excludes learners that need
      all rows in memory.
    given_metric: whether somebody asks for the metric; then the learners that are trained for it
      are there.
    budget: seconds for all of them: exact covariances take too many of few.
    """
    most = min(MAX_EXACT_COST, MAX_BY_SECOND * budget)
    included = {"always": True, "metric": given_metric, "unlabeled": unlabeled, "never": False}
    d = layout.n_columns
    is_small = d <= MOST_COLUMNS and d * (n_rows or math.inf) <= FEW_NUMBERS
    included["narrow"] = metric is not None and (d <= FEW_COLUMNS or is_small)
    found = []
    for learner in known_learners(task, layout.names):
        kinds = learner.compared.split(", ")
        if not any(included[kind] for kind in kinds):
            continue
        if learner.min_views > layout.n_views:
            continue
        if not learner.streams and not _suits(learner, metric):
            continue
        if learner.grid and "narrow" in kinds and not unlabeled:
            learner = replace(learner, grid=OF_FEW_COLUMNS)
        if learner.cheaper and quadratic_cost(layout.n_columns, n_rows) > most:
            learner = find_learner(learner.cheaper, task, layout.names)
        found.append(learner)
    return found


def choose_learners(
    run: Run,
    layout: ViewLayout,
    n_rows: int | None,
    models: Sequence[str] | None,
    *,
    baselines: Sequence[str] | None = None,
    unlabeled: bool = False,
    stream: bool = False,
) -> list[Learner]:
    """Return the learners of the given models, or all that apply to the data.

    n_rows: labeled rows, if their number is known.
    baselines: names for `find_baseline`, besides the usual ones, which are there where ``models``
      is None and the rows are no stream.
    """
    task, metric = run.problem.name, run.metric
    if models is None:
        known = None if stream else metric
        found = compared_learners(
            *(layout, n_rows, task),
            unlabeled=unlabeled,
            metric=known,
            given_metric=run.given_metric,
            budget=run.budget,
        )
    else:
        found = [find_model(name, task, layout.names) for name in dict.fromkeys(models)]
    usual = [] if stream or models is not None else usual_baselines(task)
    # of numbers the constant that the metric is lowest for
    other = "baseline:mean" if metric == "mae" else "baseline:median"
    measures = [one for one in usual if one.min_views <= layout.n_views and one.name != other]
    measures += [find_baseline(name, task, stream=stream) for name in baselines or ()]
    # some are in the catalog
    found = list({entry.name: entry for entry in [*found, *measures]}.values())
    found = [learner.for_metric(metric, run.problem.positive_label) for learner in found]
    # where the loss is a sum over rows
    takes_weights = (None, *WEIGHTED)
    without = [
        one for one in found if run.weighted and one.fixed.get("measure") not in takes_weights
    ]
    if without and models is not None:
        raise InputError(
            f"model {without[0].name!r} is trained for {without[0].fixed['measure']}, which takes "
            "no weights; leave the model out"
        )
    return [learner for learner in found if learner not in without]


def check_grid(grid: Mapping[str, Any], learners: Sequence[Learner]) -> None:
    """Raise an error for a grid by which none of the learners is tuned, though some are by others.

    One grid may serve several comparisons, so it may name more than their parameters.
    """
    tuned = sorted({name for one in learners for name in (*one.grid, *one.refined)})
    if tuned and grid and grid.keys().isdisjoint(tuned):
        raise InputError(
            f"{argument('grid')} names {', '.join(grid)}, and these models are tuned by "
            f"{', '.join(tuned)}"
        )


def with_target_scale(
    learners: Sequence[Learner], y: np.ndarray, grid: Mapping[str, Any]
) -> list[Learner]:
    """Return the learners, with the scales of the target that they try; ``y`` are the labels."""
    if "target_scale" in grid:
        return list(learners)
    scales = target_scales(y, grid)
    found = []
    for one in learners:
        refined = {name: values for name, values in one.refined.items() if name != "target_scale"}
        if scales and "target_scale" in one.refined:
            refined = {"target_scale": scales, **refined}
        found.append(replace(one, refined=refined))
    return found


def target_scales(
    y: np.ndarray, grid: Mapping[str, Any], lowest: Callable[[], float] | None = None
) -> tuple[str, ...]:
    """Return the scales of the target to try besides the linear one.

    That is what `scale_of_skewed` says; a ``grid`` may name others.

    lowest: returns the lowest of all targets, if ``y`` has the first ones only.
    """
    if "target_scale" in grid:
        return tuple(grid["target_scale"])
    scale = scale_of_skewed(y) if y.dtype.kind == "f" else None
    if scale is not None and lowest is not None:
        least = lowest()
        scale = None if least < 0.0 else "log1p" if least == 0.0 else scale
    return () if scale is None else (scale,)


def _suits(learner: Learner, metric: str | None) -> bool:
    """Return whether a learner that needs all rows is compared by this metric."""
    if metric is None:
        return False
    trains = metric_of(metric).trains
    if learner.trained_for_metric:
        return trains is not None
    if "measure" not in learner.fixed:
        return True
    # the same that the metric is trained for would be there twice
    return learner.fixed.get("measure") != trains
