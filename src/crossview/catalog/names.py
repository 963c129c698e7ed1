"""Tasks, lookup of objects by name, and errors about unknown names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from crossview.errors import InputError, argument, closest_names, type_of

# task -> the default metric, and the metrics that every table of a comparison shows
TASKS: dict[str, tuple[str, ...]] = {
    "classification": ("f1", "accuracy", "roc_auc"),
    "regression": ("rmse", "rmse", "mae"),
}
# the default metric of two classes of which neither is known to be the positive one; it also places
# the threshold for metrics that do not depend on one, such as roc_auc
SYMMETRIC = "macro_f1"
# that of two classes of which one has few rows, and a small share of them
RARE, FEW_ROWS, SMALL_SHARE = "roc_auc", 50, 0.05


def default_metric(positive_by: str | None, class_rows: Sequence[int] | None) -> str:
    """Return the metric of two classes, where none is asked for.

    F1 counts the few rows above a threshold, and is often 0 in a fold with few positive rows; the
    area under the curve is of all rows.

    positive_by: what chose the positive class; see `crossview.labels.choose_positive`.
    class_rows: number of rows of each; None: it is not known.

    >>> from crossview.catalog.names import default_metric
    >>> default_metric("name", [900, 100]), default_metric("guess", [50, 50])
    ('f1', 'macro_f1')
    >>> default_metric("name", [9980, 20])
    'roc_auc'
    """
    few = 0 if class_rows is None else min(class_rows)
    if class_rows is not None and few < FEW_ROWS and few < SMALL_SHARE * sum(class_rows):
        return RARE
    return SYMMETRIC if positive_by in ("guess", "majority") else TASKS["classification"][0]


def load_object(path: str) -> Any:
    """Import and return the object ``"module:name"``."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def check_task(name: str) -> str:
    """Return the name if it is one of `TASKS`; otherwise raise an `InputError` that lists them."""
    if name not in TASKS:
        raise unknown_name("task", name, TASKS)
    return name


def check_is_name(model: Any) -> None:
    """Raise an `InputError` for an estimator in place of the name of a model."""
    if not isinstance(model, str):
        raise InputError(
            f"a model is given by its name, such as 'pa:squared', and not as {type_of(model)}; "
            f"train takes its parameters as {argument('settings')}, and an estimator has fit"
        )


def unknown_name(what: str, name: str, known: Iterable[str]) -> InputError:
    """Return the error about an unknown name, with the closest and all known names."""
    return InputError(f"no {what} {name!r}{closest_names(name, list(known))}")
