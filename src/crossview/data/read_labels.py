"""Labels and numbers to predict: which values are fit for it, and where one is not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from crossview.catalog.learners import LEARNERS
from crossview.data.arrow import codes_of, labels_as, numbers_of
from crossview.errors import InputError, some_names
from crossview.labels import has_label, known_labels

__all__ = [
    "Classes",
    "as_type",
    "check_classes",
    "check_label_type",
    "check_labels",
    "check_seed",
    "explain_target",
    "first_bad_number",
    "labels_of",
    "missing_label",
    "number_or_nan",
    "read_classes",
    "read_targets",
    "share_long",
    "targets_of",
    "value_type",
    "with_label",
    "with_row_location",
]

# a column with more values than this was meant to be something else
MOST_CLASSES = 1000
# beyond this it was meant to be a text
MOST_CHARACTERS = 256
# 16 characters
LONG_BYTES = 64
MAX_SEED = 2**32 - 1
# beyond it floats are not all whole numbers
MAX_WHOLE = 2**53
# beyond this, squares of squares overflow
MAX_ABS_TARGET = 1e75


# sorted labels, and the rows of each, if they are known
Classes = tuple[np.ndarray, np.ndarray | None]


class Located(Protocol):
    """A batch that knows where its rows were read."""

    def location(self, row: int) -> tuple[str | None, int]:
        """Return the file of a row, and its row there."""


@contextmanager
def with_row_location(batch: Located) -> Iterator[None]:
    """Make errors that name a row of this batch name the row of its file instead."""
    try:
        yield
    except InputError as error:
        if error.row is None or error.file is not None:
            raise
        file, row = batch.location(error.row)
        raise InputError(error.message, file=file, row=row, column=error.column) from None


def with_label(batches: Iterable[tuple]) -> Iterator[tuple]:
    """Yield the rows of a stream of batches (X, y, ...) that have a label."""
    for batch in batches:
        known = has_label(batch[1])
        if known.all():
            yield batch
        elif known.any():
            yield tuple(None if part is None else part[known] for part in batch)


def missing_label() -> str:
    """Return what to do where a label is missing, for learners that need one."""
    models = " or ".join(entry.name for entry in LEARNERS if entry.learns_unlabeled)
    return f"leave the row out, label it, or use --model {models}, which learns from unlabeled rows"


def read_classes(y: Any, *, unlabeled: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes of labels in memory, and the rows of each.

    ``unlabeled`` allows missing labels.
    """
    y = np.asarray(y)
    if y.ndim != 1:
        raise InputError(f"y has {y.ndim} dimensions; give one label per row")
    known = has_label(y)
    if not (unlabeled or known.all()):
        raise InputError(f"the label is missing; {missing_label()}", row=int(known.argmin()))
    try:
        found, counts = np.unique(y[known], return_counts=True)
        classes = check_classes(found.tolist(), None, unlabeled=not known.all())
    except TypeError:
        raise InputError("y mixes labels that cannot be sorted, such as text and numbers") from None
    return classes, counts


def check_classes(
    classes: Iterable[Any], label: str | None, *, unlabeled: bool = False
) -> np.ndarray:
    """Return two or more sorted labels that are text, whole numbers or booleans."""
    found = sorted(set(classes))
    for value in found:
        if not isinstance(value, str | bool | int) and not (
            isinstance(value, float) and value.is_integer() and abs(value) <= MAX_WHOLE
        ):
            raise InputError(
                f"{value!r} is not a class; labels are text, whole numbers or booleans "
                "(a number to predict: task='regression')",
                column=label,
            )
        if isinstance(value, int) and not -(2**63) <= value < 2**63:  # NumPy would round it
            raise InputError(
                f"the label {value} is too large; give whole numbers below 2^63, or text",
                column=label,
            )
        if isinstance(value, str) and len(value) > MOST_CHARACTERS:
            raise InputError(
                f"the label {value[:20] + '...'!r} has {len(value):,} characters, and a class "
                f"{MOST_CHARACTERS} at most; shorten the labels, or name another column",
                column=label,
            )
    if len(found) < 2:
        what = f"has one class, {found[0]!r}" if found else "has no rows"
        if unlabeled:
            what = f"{what}, and unlabeled rows" if found else "is empty in every row"
        raise InputError(f"the label {what}; a classifier needs two or more", column=label)
    if len(found) > MOST_CLASSES:
        raise InputError(
            f"the label takes {len(found)} values; there may be {MOST_CLASSES} classes at most "
            "(a number to predict: task='regression')",
            column=label,
        )
    return share_long(np.asarray(found))


def share_long(labels: np.ndarray) -> np.ndarray:
    """Return labels whose texts are in memory once: long ones as references, not side by side.

    An array of text is as wide as its longest one, in every row.
    """
    if labels.dtype.kind != "U" or labels.dtype.itemsize <= LONG_BYTES:
        return labels
    values, codes = np.unique(labels, return_inverse=True)
    return values.astype(object)[codes]


def check_seed(seed: int) -> None:
    """Raise an error for a seed that the generators of random numbers do not take."""
    if not 0 <= seed <= MAX_SEED:
        raise InputError(f"seed={seed}; give a whole number from 0 to {MAX_SEED}")


def read_targets(y: Any) -> np.ndarray:
    """Return numbers that are in memory as float64; refuse what is missing or no number."""
    y = np.asarray(y)
    if y.ndim != 1:
        raise InputError(f"y has {y.ndim} dimensions; give one number per row")
    values = y.tolist()
    numbers = (
        y.astype(np.float64)
        if y.dtype.kind in "iufb"
        else np.asarray([number_or_nan(value) for value in values], dtype=np.float64)
    )
    row = first_bad_number(numbers)
    if row is not None:
        raise InputError(explain_target(values[row]), row=row)
    return numbers


def number_or_nan(value: Any) -> float:
    """Return the value as a number; NaN if it is none."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def first_bad_number(numbers: np.ndarray) -> int | None:
    """Return the first row without a number of a size that can be squared."""
    with np.errstate(invalid="ignore"):
        bad = ~(np.abs(numbers) <= MAX_ABS_TARGET)
    return int(bad.argmax()) if bad.any() else None


def explain_target(value: Any) -> str:
    """Return why a value is no number to predict."""
    if value is None or value != value:
        return "the number to predict is missing; leave the row out, or fill it in"
    return (
        f"{value!r} is not a number to predict (up to {MAX_ABS_TARGET:g}); leave the row out, "
        "correct it, or predict classes (task='classification')"
    )


def check_labels(y: np.ndarray, classes: np.ndarray, unlabeled: bool) -> np.ndarray:
    """Return the labels, if all are among the classes."""
    known = has_label(y)
    if not (unlabeled or known.all()):
        raise InputError(f"the label is missing; {missing_label()}", row=int(known.argmin()))
    unknown = np.zeros(len(y), dtype=bool)
    unknown[known] = ~np.isin(known_labels(y), classes)
    if unknown.any():
        row = int(unknown.argmax())
        names, label = some_names(classes.tolist()), y[row : row + 1].tolist()[0]
        raise InputError(f"label {label!r} is not among the classes {names}", row=row)
    return y


def check_label_type(kind: Any, label: str) -> Any:
    """Return the type of the values of a column, if they can be classes."""
    import pyarrow as pa
    from pyarrow import types

    kind = value_type(kind)
    extension = isinstance(kind, pa.BaseExtensionType)  # such as UUID
    if extension or types.is_nested(kind) or types.is_float16(kind) or types.is_binary(kind):
        raise InputError(f"holds {kind}; labels are text, whole numbers or booleans", column=label)
    return kind


def labels_of(column: Any, label: str, classes: np.ndarray, unlabeled: bool) -> np.ndarray:
    """Return the labels of an Arrow column as members of ``classes``, or None where allowed."""
    import pyarrow.compute as pc

    kind = value_type(column.type)
    if column.type != kind:
        column = column.cast(kind)
    codes = pc.index_in(column, labels_as(classes.tolist(), kind), skip_nulls=True)
    unknown = codes.is_null()
    if unlabeled:
        empty = pc.is_null(column, nan_is_null=True)
        unknown = pc.and_not(unknown, empty)
    if pc.any(unknown).as_py():
        row = int(pc.index(unknown, True).as_py())
        value = column[row].as_py()
        what = (
            f"the label is missing; {missing_label()}"
            if value is None or value != value
            else f"label {value!r} is not among the classes {some_names(classes.tolist())}"
        )
        raise InputError(what, row=row, column=label)
    if codes.null_count:
        labels = classes[codes_of(codes, 0)].astype(object)
        labels[numbers_of(empty)] = None
        return labels
    return np.asarray(classes[numbers_of(codes)])


def targets_of(column: Any, label: str) -> np.ndarray:
    """Return the numbers to predict of an Arrow column."""
    import pyarrow as pa

    try:
        plain = column.cast(value_type(column.type))
        numbers = numbers_of(plain.cast(pa.float64()))
    except pa.ArrowException:  # the rows say which one it is
        numbers = np.asarray([number_or_nan(value) for value in column.to_pylist()])
    row = first_bad_number(numbers)
    if row is not None:
        raise InputError(explain_target(column[row].as_py()), row=row, column=label)
    return np.asarray(numbers)


def as_type(given: Sequence[Any], kind: Any, label: str | None) -> list[Any]:
    """Return classes that may be text, as on a command line, as values of an Arrow type."""
    import pyarrow as pa

    try:
        texts = pa.array([str(value).strip() for value in given])
        values = texts.cast(kind).to_pylist()
    except pa.ArrowException:
        raise InputError(
            f"holds {kind}, and the classes {', '.join(map(str, given))} are not that",
            column=label,
        ) from None
    return list(values)


def value_type(kind: Any) -> Any:
    """Return the type of values that may be stored as a dictionary or as views of a text."""
    from pyarrow import large_string, types

    if types.is_string_view(kind):
        return large_string()
    return kind.value_type if types.is_dictionary(kind) else kind
