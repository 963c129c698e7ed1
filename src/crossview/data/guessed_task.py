"""The task where nobody names it: predict a class or a number."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np

from crossview.catalog.names import check_task
from crossview.errors import GuessWarning, argument
from crossview.readers.source import Source

# values that whole numbers take: of more than FEW they are classes only if they count from 0 or 1
# without a gap and without a shape, which is said, and of more than MOST they are numbers
FEW, MOST = 10, 100
# the most frequent value has so many times the rows of the rarest: months have up to 5
UNEVEN = 5
# classes that may be a rating
MANY_LEVELS = 5


def task_of(task: str | None, source: Source, y: Any) -> str:
    """Return the task, or for None a guess by the first labels, with a warning.

    Numbers with decimals are no classes, and whole numbers are not if they take more than 100
    values, or more than 10 of which the smallest is above 1 (points from 80 to 97), or that have a
    gap (visits to a doctor: many have 0 or 1, and one has 77), or of which neighbors are about as
    frequent, and others are not (scores from 0 to 30: most are in the middle).

    Labels are an array, the name of a column, or None for those of a file.
    """
    if task is not None:
        return check_task(task)
    name = repr(y) if isinstance(y, str) else "the label"
    labels = [one for one in _first_labels(source, y) if one is not None and one == one]
    if not labels or not all(_is_number(one) for one in labels):
        return "classification"
    n, smallest = len(set(labels)), min(labels)
    if not all(float(one).is_integer() for one in labels):
        _warn(f"predicting a number, as {name} has decimals", "classification")
        return "regression"
    if n > MOST:
        _warn(f"predicting a number, as {name} takes more than {MOST} values", "classification")
        return "regression"
    gap = max(labels) - smallest >= n
    if n > FEW and (smallest not in (0, 1) or gap or _have_a_shape(labels)):
        words = f"{n} whole numbers from {smallest:g} to {max(labels):g}"
        _warn(f"predicting a number: {name} takes {words}", "classification")
        return "regression"
    if n > FEW:
        words = f"{n} whole numbers, and a rating or a count is a number"
        _warn(f"predicting a class: {name} takes {words}", "regression")
    return "classification"


def _have_a_shape(labels: list[Any]) -> bool:
    """Return whether neighboring values are about as frequent, as those of a score or a count.

    Codes of classes are in no order of how frequent they are: the mean square of the successive
    differences is twice the variance then, up to chance (J. von Neumann, "Distribution of the
    Ratio of the Mean Square Successive Difference to the Variance", Annals of Mathematical
    Statistics 12, 1941), or all are about as frequent, or they are numbered from the most frequent.
    """
    counts = np.unique(np.asarray(labels, dtype=np.float64), return_counts=True)[1]
    if (np.diff(counts) <= 0).all():
        return False
    rows = np.log1p(counts)
    alike = np.mean(np.diff(rows) ** 2) < 2.0 * np.var(rows) * (1.0 - 2.0 / np.sqrt(len(rows)))
    return bool(alike and counts.max() >= UNEVEN * counts.min())


def about_levels(labels: Iterable[Any]) -> str | None:
    """Return what to say of classes that are whole numbers without a gap, as those of a rating."""
    levels = set(labels)
    if len(levels) < MANY_LEVELS or not all(map(_is_number, levels)):
        return None
    low, high = min(levels), max(levels)
    if high - low != len(levels) - 1 or low % 1 != 0:
        return None
    return (
        f"{len(levels)} whole numbers from {low:g} to {high:g}, which are classes without an "
        f"order; a rating or a count is a number: {argument(task='regression')}"
    )


def about_first_levels(source: Source, column: str) -> str | None:
    """Return the same of the first rows, where `task_of` says nothing of so few classes."""
    labels = {one for one in _first_labels(source, column) if one is not None and one == one}
    return about_levels(labels) if len(labels) <= FEW else None


def _warn(words: str, other: str) -> None:
    warnings.warn(
        f"{words}; if that is wrong, give {argument(task=other)}", GuessWarning, stacklevel=3
    )


def _is_number(label: Any) -> bool:
    is_number = isinstance(label, int | float | Decimal | np.number)
    return is_number and not isinstance(label, bool | np.bool_)


def _first_labels(source: Source, y: Any) -> Iterable[Any]:
    """The labels of the first rows, which may be missing."""
    if isinstance(y, str):
        if not source.has_columns or y not in source.column_names:  # which is said later
            return []
        batch = next(iter(source.select([y])), None)
        return [] if batch is None else batch.X.column(0).to_pylist()
    if y is not None:
        return np.asarray(y).ravel().tolist()
    batch = None if source.has_columns else next(iter(source), None)
    return [] if batch is None else np.asarray(batch.y).tolist()
