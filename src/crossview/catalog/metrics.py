"""The metrics: one entry each, and names with parameters, such as ``precision_at_10%``."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from crossview.catalog.names import TASKS, check_task, load_object, unknown_name
from crossview.errors import InputError, argument

# a share of the rows; of the classes, as in scikit-learn
DEFAULT_K, DEFAULT_TOP = 0.1, 2
# of a false positive and a false negative, in messages
EXAMPLE_COSTS = "fp=1,fn=20"
# of metrics without `Metric.has_interval`, in messages
NO_INTERVAL = "no interval: chance makes it larger"


@dataclass(frozen=True)
class Metric:
    """One metric.

    name: as in ``--metric``; one that takes a k of rows ends in ``_at_k``.
    kind {"decision", "order", "place", "probability", "calibration", "error", "explained"}: whether
      it evaluates the predicted classes, the ranking by score, the place of the label among the
      classes of its row, the probabilities row by row or in bins, or predicted numbers, row by row
      or beside the mean of the numbers.
    path: its function, ``"module:function"``; `crossview.scoring.metrics` documents the interface
      of each kind.
    trains: the measure that an SVM optimizes for this metric, or the loss of numbers that the
      weights of an ensemble make least; None: it cannot be optimized.
    threshold_for: of a decision: the metric that places the threshold; None: the metric itself.
    higher_is_better: whether a higher value is better.
    root_mean_square: of an error: whether the value is the root of the mean square of the rows'
      errors, and not their mean.
    scope {"class", "classes", "rows"}: whether it evaluates one class (the positive one of two, or
      the mean over more), all classes equally, or all rows.  Only the first depends on which class
      is the positive one.
    about: description in ``--help``.
    """

    name: str
    kind: str
    path: str
    trains: str | None = None
    threshold_for: str | None = None
    higher_is_better: bool = True
    root_mean_square: bool = False
    scope: str = "class"
    about: str = ""

    @property
    def task(self) -> str:
        """The problem that it measures: classification or regression."""
        return "regression" if self.kind in ("error", "explained") else "classification"

    @property
    def takes_k(self) -> bool:
        """Return whether it measures the k rows with the highest scores, or k classes of a row."""
        return self.of_rows or self.kind == "place"

    @property
    def of_rows(self) -> bool:
        """Return whether its k is a number of rows."""
        return self.name.endswith("_at_k")

    @property
    def has_interval(self) -> bool:
        """Return whether an interval around it holds the truth.

        Not that of a mean of absolute values: chance alone makes the calibration error larger, the
        more so the fewer the rows.
        """
        return self.kind != "calibration"

    def function(self) -> Any:
        """Return its function."""
        return load_object(self.path)


_DECISION = "crossview.scoring.metrics.decision"
_ORDER = "crossview.scoring.metrics.order"
_PLACE = "crossview.scoring.metrics.place"
_PROBABILITY = "crossview.scoring.metrics.probability"
_ERROR = "crossview.scoring.metrics.error"

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("f1", "decision", f"{_DECISION}:f1", trains="f1"),
        Metric(
            *("macro_f1", "decision", f"{_DECISION}:macro_f1"),
            trains="balanced_accuracy",
            scope="classes",
            about="mean of the f1 of each class, also of two",
        ),
        Metric("accuracy", "decision", f"{_DECISION}:accuracy", trains="error_rate", scope="rows"),
        Metric(
            "balanced_accuracy",
            "decision",
            f"{_DECISION}:balanced_accuracy",
            trains="balanced_accuracy",
            scope="classes",
        ),
        Metric(
            *("f_beta", "decision", f"{_DECISION}:f_beta", "fbeta"),
            about="with its β in the name: f0.5, f2",
        ),
        # precision alone is best with one row called positive, and recall alone with all of them
        Metric("precision", "decision", f"{_DECISION}:precision", "f1", threshold_for="f1"),
        Metric("recall", "decision", f"{_DECISION}:recall", "f1", threshold_for="f1"),
        Metric("g_mean", "decision", f"{_DECISION}:g_mean", trains="g_mean", scope="classes"),
        Metric(
            *("cost", "decision", f"{_DECISION}:cost"),
            higher_is_better=False,
            about="mean cost of a row, by the costs of a false positive and a false negative",
        ),
        Metric("roc_auc", "order", f"{_ORDER}:roc_auc", trains="roc_auc", scope="classes"),
        Metric("average_precision", "order", f"{_ORDER}:average_precision", "average_precision"),
        Metric(
            *("prbep", "order", f"{_ORDER}:prbep", "prbep"),
            about="precision/recall break-even point",
        ),
        Metric("precision_at_k", "order", f"{_ORDER}:precision_at_k", "precision_at_k"),
        Metric("recall_at_k", "order", f"{_ORDER}:recall_at_k", "recall_at_k"),
        Metric(
            *("top_accuracy", "place", f"{_PLACE}:top_accuracy"),
            scope="rows",
            about="share of the rows whose label is among the k most probable of several classes",
        ),
        Metric(
            *("log_loss", "probability", f"{_PROBABILITY}:log_losses"),
            higher_is_better=False,
            scope="rows",
        ),
        Metric(
            *("brier_score", "probability", f"{_PROBABILITY}:brier_losses"),
            higher_is_better=False,
            scope="rows",
        ),
        Metric(
            *("expected_calibration_error", "calibration"),
            f"{_PROBABILITY}:expected_calibration_error",
            higher_is_better=False,
            scope="rows",
        ),
        Metric(
            *("rmse", "error", f"{_ERROR}:absolute_errors", "squared_error"),
            higher_is_better=False,
            root_mean_square=True,
        ),
        Metric(
            *("mae", "error", f"{_ERROR}:absolute_errors", "absolute_error"),
            higher_is_better=False,
        ),
        Metric(
            *("r2", "explained", f"{_ERROR}:r2", "squared_error"),
            about="share of the variance of the numbers that is explained, 1 at most",
        ),
    )
}


def metric_names(task: str | None = None) -> list[str]:
    """Return the names of all metrics for a task."""
    return [metric.name for metric in METRICS.values() if task in (None, metric.task)]


def describe_metrics(task: str) -> str:
    """Return the names of the metrics for a task, with what they are, for ``--help``."""
    return ", ".join(
        f"{metric.name} ({metric.about})" if metric.about else metric.name
        for metric in METRICS.values()
        if metric.task == task
    )


def metric_of(name: str) -> Metric:
    """Return the entry of a metric; the name may contain k."""
    return METRICS[parse_metric(name)[0]]


def parse_metric(name: str) -> tuple[str, dict[str, Any]]:
    """Return the entry's name and the parameters that a name contains.

    >>> parse_metric("precision_at_10%"), parse_metric("f2"), parse_metric("accuracy")
    (('precision_at_k', {'k': 0.1}), ('f_beta', {'beta': 2.0}), ('accuracy', {}))
    >>> parse_metric("cost:fp=1,fn=20"), parse_metric("top_3_accuracy")
    (('cost', {'fp': 1.0, 'fn': 20.0}), ('top_accuracy', {'k': 3}))
    """
    if name in METRICS:
        k = DEFAULT_K if METRICS[name].of_rows else DEFAULT_TOP
        return name, {"k": k} if METRICS[name].takes_k else {}
    if found := re.fullmatch(r"(\w+_at_)(?:(\d+)|(\d+(?:\.\d+)?(?:e-\d+)?)%)", name):
        stem, rows, share = found.groups()
        return f"{stem}k", {"k": int(rows) if rows else float(share) / 100.0}
    if found := re.fullmatch(r"top_(\d+)_accuracy", name):
        return "top_accuracy", {"k": int(found[1])}
    if found := re.fullmatch(r"f(\d+(?:\.\d+)?)", name):
        return "f_beta", {"beta": float(found[1])}
    family, colon, costs = name.partition(":")
    if family == "cost" and colon:
        return family, _parse_costs(costs)
    return name, {}


def check_metric(
    name: str | None,
    *,
    task: str = "classification",
    k: Any = None,
    cost: Mapping[str, Any] | str | None = None,
    default: str | None = None,
) -> str:
    """Return the name of a metric with its parameters in it.

    name: may contain the parameters: ``precision_at_10``, ``recall_at_5%``, ``f2``,
      ``cost:fp=1,fn=20``.  None: ``cost`` where costs are given, otherwise the default.
    task {"classification", "regression"}: what is predicted.
    k: of ``precision_at_k`` and ``recall_at_k``: how many rows, or a share of the rows between 0
      and 1.  None: 0.1.  Of ``top_accuracy``: how many classes of a row.  None: 2.
    cost: of ``cost``: the costs of a false positive and a false negative, ``{"fp": 1, "fn": 20}``
      or ``"fp=1,fn=20"``.
    default: the metric where there is no name.  None: that of the task.
    Returns name: with its parameters in it.
    Raises InputError: the task has no such metric, or a parameter is invalid.

    >>> check_metric("f1"), check_metric("precision_at_k"), check_metric("recall_at_k", k=20)
    ('f1', 'precision_at_10%', 'recall_at_20')
    >>> check_metric("top_accuracy", k=3)
    'top_3_accuracy'
    >>> check_metric(None, cost={"fp": 1, "fn": 20})
    'cost:fp=1,fn=20'
    """
    check_task(task)
    name = name or ("cost" if cost is not None else default or TASKS[task][0])
    known = metric_names(task)
    family, own = parse_metric(name)
    if family not in known:
        if family in METRICS:
            about = "numbers" if METRICS[family].task == "regression" else "classes"
            predicted = "numbers" if task == "regression" else "classes"
            raise InputError(
                f"metric {name!r} is about {about}, and {predicted} are predicted; "
                f"take one of {', '.join(known)}"
            )
        raise unknown_name("metric", name, known)
    if k is not None and not (name in METRICS and METRICS[name].takes_k):
        *more, last = [metric.name for metric in METRICS.values() if metric.takes_k]
        takers = f"{', '.join(more)} and {last}"
        raise InputError(
            f"{argument(k=k)} is for {takers}; leave it out where the metric is {name!r}"
        )
    if cost is not None and name != "cost":
        raise InputError(
            f"{argument(cost=cost)} is for cost; leave it out where the metric is {name!r}"
        )
    if "k" in own:
        return _with_k(family, own["k"] if k is None else k)
    if family == "f_beta":
        if not own.get("beta"):
            raise InputError(f"metric {name!r}: put a β above 0 in the name, such as f0.5 or f2")
        return f"f{own['beta']:.12g}"
    return _with_costs(own if cost is None else cost) if family == "cost" else name


def _with_k(family: str, k: Any) -> str:
    whole = isinstance(k, Integral) and not isinstance(k, bool) and int(k) >= 1
    if not METRICS[family].of_rows:
        if whole:
            return f"top_{k}_accuracy"
        raise InputError(
            f"{argument(k=k)}; give {family} a whole number of classes, 1 or more, such as 3"
        )
    if whole:
        return f"{family[:-1]}{k}"
    if isinstance(k, Real) and not isinstance(k, Integral) and 0.0 < float(k) < 1.0:
        return f"{family[:-1]}{100.0 * float(k):.12g}%"
    raise InputError(
        f"{argument(k=k)}; give a whole number of rows, 1 or more, or a share of them between 0 "
        f"and 1, such as {DEFAULT_K}"
    )


def _with_costs(costs: Mapping[str, Any] | str) -> str:
    given = _parse_costs(costs) if isinstance(costs, str) else dict(costs)
    if set(given) != {"fp", "fn"}:
        what = ",".join(map(_words, given.items()))
        raise InputError(
            f"{f'cost {what}' if what else 'the metric cost needs costs'}: give that of a false "
            f"positive (fp) and that of a false negative (fn), such as {EXAMPLE_COSTS}"
        )
    for item in given.items():
        number = isinstance(item[1], Real) and not isinstance(item[1], bool)
        if not (number and 0.0 <= float(item[1]) < math.inf):
            raise InputError(f"cost {_words(item)}: give a number of 0 or more")
    if not any(given.values()):
        raise InputError("cost fp=0,fn=0: give one that is above 0")
    return f"cost:fp={float(given['fp']):.12g},fn={float(given['fn']):.12g}"


def _words(item: tuple[Any, Any]) -> str:
    name, value = item
    return f"{name}={value:g}" if isinstance(value, Real) else f"{name}={value}"


def _parse_costs(text: str) -> dict[str, Any]:
    """The costs of ``fp=1,fn=20``; a value that is no number stays text."""
    costs: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or name not in ("fp", "fn") or name in costs:
            raise InputError(
                f"cost {text!r}: give that of a false positive (fp) and that of a false negative "
                f"(fn), such as {EXAMPLE_COSTS}"
            )
        try:
            costs[name] = float(value)
        except ValueError:
            costs[name] = value
    return costs
