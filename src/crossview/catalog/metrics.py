"""The metrics: one entry each, and the parsing of names such as ``precision_at_10%``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from crossview.catalog.names import load_object, unknown_name
from crossview.errors import InputError

__all__ = [
    "DEFAULT_K",
    "METRICS",
    "Metric",
    "check_metric",
    "describe_metrics",
    "metric_names",
    "metric_of",
    "parse_metric",
]

# a share of the rows
DEFAULT_K = 0.1


@dataclass(frozen=True)
class Metric:
    """One metric.

    Attributes
    ----------
    name : str
        As in ``--metric``; one that takes a k ends in ``_at_k``.
    kind : {"decision", "order", "error"}
        Whether it evaluates the predicted classes, the ranking by score, or predicted numbers.
    path : str
        Its function, ``"module:function"``; `crossview.evaluation.metrics` documents the
        interface of each kind.
    trains : str or None
        The measure that an SVM optimizes for this metric; None: it cannot be optimized.
    higher_is_better : bool
        Whether a higher value is better.
    root_mean_square : bool
        Of an error: whether the value is the root of the mean square of the rows' errors, and
        not their mean.
    scope : {"class", "classes", "rows"}
        Whether it evaluates one class (the positive one of two, or the mean over more), all classes
        equally, or all rows.
    about : str
        Description in ``--help``.
    """

    name: str
    kind: str
    path: str
    trains: str | None = None
    higher_is_better: bool = True
    root_mean_square: bool = False
    scope: str = "class"
    about: str = ""

    @property
    def task(self) -> str:
        """What is predicted."""
        return "regression" if self.kind == "error" else "classification"

    @property
    def takes_k(self) -> bool:
        """Whether it is about the k rows with the highest scores."""
        return self.name.endswith("_at_k")

    def function(self) -> Any:
        """Return its function."""
        return load_object(self.path)


_DECISION = "crossview.evaluation.metrics.decision"
_ORDER = "crossview.evaluation.metrics.order"
_ERROR = "crossview.evaluation.metrics.error"

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("f1", "decision", f"{_DECISION}:f1", trains="f1"),
        Metric("accuracy", "decision", f"{_DECISION}:accuracy", trains="error_rate", scope="rows"),
        Metric(
            "balanced_accuracy",
            "decision",
            f"{_DECISION}:balanced_accuracy",
            trains="balanced_accuracy",
            scope="classes",
        ),
        # precision alone is best with one row called positive, and recall alone with all of them
        Metric("precision", "decision", f"{_DECISION}:precision", trains="f1"),
        Metric("recall", "decision", f"{_DECISION}:recall", trains="f1"),
        Metric("g_mean", "decision", f"{_DECISION}:g_mean", trains="g_mean", scope="classes"),
        Metric("roc_auc", "order", f"{_ORDER}:roc_auc", trains="roc_auc"),
        Metric("average_precision", "order", f"{_ORDER}:average_precision", "average_precision"),
        Metric(
            *("prbep", "order", f"{_ORDER}:prbep", "prbep"),
            about="precision/recall break-even point",
        ),
        Metric("precision_at_k", "order", f"{_ORDER}:precision_at_k", "precision_at_k"),
        Metric("recall_at_k", "order", f"{_ORDER}:recall_at_k", "recall_at_k"),
        Metric(
            *("rmse", "error", f"{_ERROR}:absolute_errors"),
            higher_is_better=False,
            root_mean_square=True,
        ),
        Metric("mae", "error", f"{_ERROR}:absolute_errors", higher_is_better=False),
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


def parse_metric(name: str) -> tuple[str, int | float | None]:
    """Return ``precision_at_k`` and 0.1 of ``precision_at_10%``; without k, the name and None."""
    found = re.fullmatch(r"(\w+_at_)(?:(\d+)|(\d+(?:\.\d+)?(?:e-\d+)?)%)", name)
    if found is None:
        takes_k = name in METRICS and METRICS[name].takes_k
        return name, DEFAULT_K if takes_k else None
    stem, rows, share = found.groups()
    return f"{stem}k", int(rows) if rows else float(share) / 100.0


def check_metric(name: str, *, task: str = "classification", k: Any = None) -> str:
    """Return the name of a metric with its k in it.

    Parameters
    ----------
    name : str
        May contain k: ``precision_at_10``, ``recall_at_5%``.
    task : {"classification", "regression"}, default="classification"
        What is predicted.
    k : int or float, default=None
        Of ``precision_at_k`` and ``recall_at_k``: how many rows, or a share of the rows between
        0 and 1.  None: 0.1.

    Returns
    -------
    name : str
        With k in it.

    Raises
    ------
    InputError
        The task has no such metric, or k is invalid.

    Examples
    --------
    >>> check_metric("f1"), check_metric("precision_at_k"), check_metric("recall_at_k", k=20)
    ('f1', 'precision_at_10%', 'recall_at_20')
    """
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
        takers = " and ".join(metric.name for metric in METRICS.values() if metric.takes_k)
        raise InputError(f"k={k!r} is for {takers}; leave it out where the metric is {name!r}")
    if own is None:
        return name
    k = own if k is None else k
    if isinstance(k, Integral) and not isinstance(k, bool) and int(k) >= 1:
        return f"{family[:-1]}{k}"
    if isinstance(k, Real) and not isinstance(k, Integral) and 0.0 < float(k) < 1.0:
        return f"{family[:-1]}{100.0 * float(k):.12g}%"
    raise InputError(
        f"k={k!r}; give a whole number of rows, 1 or more, or a share of them between 0 and 1, "
        f"such as {DEFAULT_K}"
    )
