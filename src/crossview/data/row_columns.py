"""Labels, weights, times and groups of rows: which values are fit for it, and where one is not."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from crossview.catalog.learners import LEARNERS
from crossview.errors import (
    NAMES_AGAIN,
    GuessWarning,
    InputError,
    NoRowsError,
    argument,
    some_names,
)
from crossview.labels import MAX_WEIGHT, SpelledLabels, has_label, known_labels
from crossview.readers.source import Batch, Source
from crossview.tables.arrow import codes_of, is_number, labels_as, numbers_of, type_of_values
from crossview.tables.columns import one_array
from crossview.tables.dates import as_times, check_format, is_date, is_text
from crossview.views import MultiView, number_groups

if TYPE_CHECKING:
    import pyarrow as pa

# a column with more values than this was meant to be something else
MOST_CLASSES = 1000
# beyond this it was meant to be a text
MOST_CHARACTERS = 256
# 16 characters
LONG_BYTES = 64
# with fewer, each label may well be there once
FEWEST_ROWS = 20
MAX_SEED = 2**32 - 1
# beyond it floats are not all whole numbers
MAX_WHOLE = 2**53
# beyond this, squares of squares overflow
MAX_ABS_TARGET = 1e75


# sorted labels, and the rows of each, if they are known
Classes = tuple[np.ndarray, np.ndarray | None]


@contextmanager
def with_row_location(batch: Any) -> Iterator[None]:
    """Make errors that name a row of this batch name the row of its file instead."""
    try:
        yield
    except InputError as error:
        if error.row is None or error.file is not None:
            raise
        file, row = batch.location(error.row)
        raise type(error)(error.message, file=file, row=row, column=error.column) from None


def with_label(
    X: MultiView, y: np.ndarray, weight: np.ndarray | None, carried: list[np.ndarray]
) -> tuple[MultiView, np.ndarray, np.ndarray | None] | None:
    """Return the rows of a batch of a stream that have a label; None if there are none.

    ``carried`` are columns that begin anew, of batches before that had no label.
    """
    known = has_label(y)
    if not known.any():
        carried += [columns for _, columns in X.restarts or ()]
        return None
    if not known.all():
        X, y, weight = X[known], known_labels(y), None if weight is None else weight[known]
    if carried:
        X.restarts = [*((0, columns) for columns in carried), *(X.restarts or ())]
        carried.clear()
    return X, y, weight


def missing_label() -> str:
    """Return what to do where a label is missing, for learners that need one."""
    names = dict.fromkeys(entry.name for entry in LEARNERS if entry.learns_unlabeled)
    models = " or ".join(argument(model=name) for name in names)
    return f"leave the row out, label it, or use {models}, which learns from unlabeled rows"


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
        n_rows = int(counts.sum())
        classes = check_classes(found.tolist(), None, unlabeled=not known.all(), n_rows=n_rows)
    except TypeError:
        raise InputError("y mixes labels that cannot be sorted, such as text and numbers") from None
    return classes, counts


def check_classes(
    classes: Iterable[Any],
    label: str | None,
    *,
    unlabeled: bool = False,
    n_rows: int = 0,
    file: str | None = None,
) -> np.ndarray:
    """Return two or more sorted labels that are text, whole numbers or booleans.

    ``n_rows`` have a label, if that is known: not each one of its own.  An error for no rows names
    the ``file``.
    """
    found = sorted(set(classes))
    if found and isinstance(found[0], date):
        raise dates_as_labels(label)
    for value in found:
        if not isinstance(value, str | bool | int) and not (
            isinstance(value, float) and value.is_integer() and abs(value) <= MAX_WHOLE
        ):
            raise InputError(
                f"{value!r} is not a class; labels are text, whole numbers or booleans (a number "
                f"to predict: {argument(task='regression')})",
                column=label,
            )
        if isinstance(value, int) and not -(2**63) <= value < 2**63:  # NumPy would round it
            raise InputError(
                f"the label {value} is too large; give whole numbers below 2^63, or text",
                column=label,
            )
        if isinstance(value, str) and re.search("[\ud800-\udfff]", value):
            raise InputError(
                f"the label {value!a:.30} is not UTF-8; mend it, or leave its rows out",
                column=label,
            )
        if isinstance(value, str) and len(value) > MOST_CHARACTERS:
            raise InputError(
                f"the label {value[:20] + '...'!r} has {len(value):,} characters, and a class "
                f"{MOST_CHARACTERS} at most; shorten the labels, or name another column",
                column=label,
            )
    if len(found) < 2:
        if not (found or unlabeled):
            raise NoRowsError("no row is there to learn from", file=file)
        what = f"has one class, {found[0]!r}" if found else "is empty in every row"
        more = ", and unlabeled rows" if found and unlabeled else ""
        raise InputError(f"the label {what}{more}; a classifier needs two or more", column=label)
    if len(found) > MOST_CLASSES:
        raise InputError(
            f"the label takes {len(found)} values; there may be {MOST_CLASSES} classes at most (a "
            f"number to predict: {argument(task='regression')})",
            column=label,
        )
    if 2 * len(found) > n_rows >= FEWEST_ROWS:
        what = f"the label takes {len(found)} values in {n_rows} rows"
        else_ = f"is it another column, or a number to predict ({argument(task='regression')})?"
        if len(found) == n_rows:
            raise InputError(f"{what}, so that no class has two; {else_}", column=label)
        warnings.warn(f"{label or 'y'}: {what}; {else_}", GuessWarning, stacklevel=2)
    if words := about_alike(found):
        of = "the labels" if label is None else label
        warnings.warn(f"{of}: {words}", GuessWarning, stacklevel=2)
    return share_long(np.asarray(found))


def about_alike(classes: Iterable[Any]) -> str | None:
    """Return a warning of two classes that differ in blanks or capitals only, if there are any."""
    alike: dict[str, Any] = {}
    for value in classes:
        first = alike.setdefault(str(value).strip().casefold(), value)
        if first is not value:
            return (
                f"{first!r} and {value!r} are two classes, and differ in blanks or capitals only; "
                "if they mean the same, write them alike"
            )
    return None


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
        raise InputError(f"{argument(seed=seed)}; give a whole number from 0 to {MAX_SEED}")


def read_targets(y: Any, unlabeled: bool = False) -> np.ndarray:
    """Return targets in memory as float64; raise an error for one that is missing or no number.

    ``unlabeled`` allows missing ones, which are NaN.
    """
    y = np.asarray(y)
    if y.ndim != 1:
        raise InputError(f"y has {y.ndim} dimensions; give one number per row")
    values = y.tolist()
    numbers = (
        y.astype(np.float64)
        if y.dtype.kind in "iufb"
        else np.asarray([number_or_nan(value) for value in values], dtype=np.float64)
    )
    row = first_bad_number(np.where(has_label(y), numbers, 0.0) if unlabeled else numbers)
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


def explain_target(value: Any, column: str | None = None) -> str:
    """Return why a value, of this column, is no number to predict."""
    if value is None or value != value:
        return (
            "the number to predict is missing; leave the row out (WHERE ... IS NOT NULL in a "
            "query), or fill it in"
        )
    if column is not None and value == column:
        return NAMES_AGAIN
    is_word = column is not None and isinstance(value, str) and not re.search(r"\d", value)
    null = f"{argument(null=value)} if it says that there is none, " if is_word else ""
    return (
        f"{value!r} is not a number to predict (up to {MAX_ABS_TARGET:g}); {null}leave the row "
        f"out, correct it, or predict classes ({argument(task='classification')})"
    )


def _explain_unknown(label: Any, classes: np.ndarray) -> str:
    """Return what is wrong with a label that is none of the classes, and what to do."""
    names = some_names(classes.tolist())
    return (
        f"label {label!r} is not among the classes {names}; leave its rows out, or name all that "
        f"may come when training begins: {argument('classes')}"
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
        raise InputError(_explain_unknown(y[row : row + 1].tolist()[0], classes), row=row)
    return y


def dates_as_labels(label: str | None) -> InputError:
    """Return the error for labels that are dates, however they are stored."""
    return InputError(
        "the labels are dates, and a model has text, whole numbers or booleans as classes; name "
        "another column, or make text of them, such as their year, in a query",
        column=label,
    )


def check_label_type(kind: Any, label: str) -> Any:
    """Return the type as which the values of a column are classes, if they can be some."""
    import pyarrow as pa
    from pyarrow import types

    kind = type_of_values(kind)
    extension = isinstance(kind, pa.BaseExtensionType)  # such as UUID
    if extension or types.is_nested(kind) or types.is_float16(kind) or types.is_binary(kind):
        raise InputError(f"holds {kind}; labels are text, whole numbers or booleans", column=label)
    if is_date(kind):
        raise dates_as_labels(label)
    return pa.float64() if types.is_decimal(kind) else kind  # 1.0 in a query is a decimal


def labels_of(column: Any, label: str, classes: np.ndarray, unlabeled: bool) -> np.ndarray:
    """Return the labels of an Arrow column as members of ``classes``, or None where allowed."""
    import pyarrow.compute as pc

    kind = check_label_type(column.type, label)
    if column.type != kind:
        column = column.cast(kind)
    codes = _codes_of_labels(column, kind, classes.tolist())
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
            else _explain_unknown(value, classes)
        )
        raise InputError(what, row=row, column=label)
    if codes.null_count:
        labels = classes[codes_of(codes, 0)].astype(object)
        labels[numbers_of(empty)] = None
        return labels
    return np.asarray(classes[numbers_of(codes)])


def _codes_of_labels(column: Any, kind: Any, classes: list[Any]) -> Any:
    """Return which of the classes each label of an Arrow column is; null where it is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        return pc.index_in(column, labels_as(classes, kind), skip_nulls=True)
    except (pa.ArrowException, TypeError):  # those of a model, of rows in another form
        spelled = SpelledLabels(classes)
    coded = column.dictionary_encode()
    coded = coded.combine_chunks() if hasattr(coded, "combine_chunks") else coded
    codes = [spelled.code(label) for label in coded.dictionary.to_pylist()]
    known = pa.array([None if code < 0 else code for code in codes], pa.int32())
    return known.take(coded.indices)


def targets_of(column: Any, label: str, unlabeled: bool = False) -> np.ndarray:
    """Return the numbers to predict of an Arrow column; NaN where one is missing, if allowed."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        plain = column.cast(type_of_values(column.type))
        numbers = numbers_of(plain.cast(pa.float64()))
    except pa.ArrowException:  # the rows say which one it is
        numbers = np.asarray([number_or_nan(value) for value in column.to_pylist()])
    empty = pc.is_null(column, nan_is_null=True) if unlabeled else None
    row = first_bad_number(numbers if empty is None else np.where(numbers_of(empty), 0.0, numbers))
    if row is not None:
        raise InputError(explain_target(column[row].as_py(), label), row=row, column=label)
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


# a mean weight that changes no learner much
USUAL_WEIGHTS = (0.1, 10.0)


def check_group_column(table: Source, name: str) -> None:
    """Raise an error if there is no such column, or if its values are no groups."""
    from pyarrow import types

    if types.is_nested(kind := _type_of(table, name)):
        raise InputError(f"holds {kind}, and groups are text, numbers or dates", column=name)


def groups_of(batch: Batch, name: str, numbers: dict[Any, int]) -> np.ndarray:
    """Return the groups of a batch from their column as whole numbers.

    ``numbers`` are those of the groups before, to which new ones are added.
    """
    column = batch.X.column(name)
    column = column.cast(type_of_values(column.type)).dictionary_encode()
    return number_groups(
        column.dictionary.to_pylist(), numbers_of(column.indices.fill_null(-1)), numbers
    )


def check_time_column(table: Source, name: str, format: str = "") -> str:
    """Raise an error if there is no such column, or if it holds no times; return its format.

    The column holds timestamps, dates, numbers, or text that is dates.  Without a format, the
    values of text say how it writes dates.
    """
    from pyarrow import types

    kind = _type_of(table, name)
    if is_text(kind):
        if format:
            check_format(format)
            return format
        return format_of_times(table, name)
    if not (is_number(kind) or types.is_temporal(kind)):
        raise InputError(
            f"holds {kind}, and times are timestamps, dates or numbers; convert it in a query, for "
            "example with CAST(... AS TIMESTAMP)",
            column=name,
        )
    return ""


def order_of(rows: Any, name: str, format: str) -> np.ndarray:
    """Return the positions of rows in the order of a column of times; equal ones keep theirs.

    A missing or bad time is named by file and row.
    """
    import pyarrow.compute as pc

    column = rows.X.column(name)
    column = column.cast(type_of_values(column.type))
    if not format:
        return np.asarray(pc.sort_indices(column), dtype=np.intp)  # stable
    with with_row_location(rows):
        times = as_times(name, one_array(column), format)
        if np.isnat(times).any():
            raise InputError("the time is missing", row=int(np.isnat(times).argmax()), column=name)
    return np.argsort(times, kind="stable")


def format_of_times(table: Source, name: str, *, given: bool = True) -> str:
    """Return the format of times in a column of text; an error if its values leave it open.

    ``given`` says whether ``date=`` could give it, for the message.
    """
    found = table.find_dates([name]).get(name)
    how = f"convert it in a query, for example with strptime({name}, '%d/%m/%Y')"
    if given:
        how = f"give the format, as in {argument(date=f'{name}=%d/%m/%Y')}, or {how}"
    if found is None:
        if next(iter(table.select([name])), None) is None:
            raise NoRowsError("no row is there; the source has columns only", file=table.file)
        raise InputError(f"holds text that is not a date in every row; {how}", column=name)
    if found.other is not None:
        words = f"its dates may be {found.format} or {found.other}"
        raise InputError(f"{words}, which its values leave open; {how}", column=name)
    return found.format


def check_weights(weight: Any) -> np.ndarray:
    """Return weights that are in memory as float64, if all are numbers from 0 to 1e12."""
    try:
        numbers = np.asarray(weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{argument('weight')} holds something that is no number") from None
    if numbers.ndim != 1:
        raise InputError(
            f"{argument('weight')} has {numbers.ndim} dimensions; give one number per row"
        )
    _check_weights(numbers)
    return numbers


def check_weight_column(table: Source, name: str) -> None:
    """Raise an error if there is no such column, or if it holds no numbers."""
    kind = _type_of(table, name)
    if not is_number(kind):
        raise InputError(f"holds {kind}, and weights are numbers", column=name)


def weights_of(batch: Batch, name: str) -> np.ndarray:
    """Return the weights of a batch from their column; a bad one is named by file and row."""
    import pyarrow as pa

    column = batch.X.column(name)
    numbers = numbers_of(column.cast(type_of_values(column.type)).cast(pa.float64(), safe=False))
    with with_row_location(batch):
        _check_weights(numbers, column=name)
    return numbers


def _check_weights(numbers: np.ndarray, column: str | None = None) -> None:
    """Raise an error for the first number that is no weight."""
    bad = ~((numbers >= 0.0) & (numbers <= MAX_WEIGHT))
    if bad.any():
        value = numbers[row := int(bad.argmax())]
        what = f"{value} is no weight; give a number from 0 to {MAX_WEIGHT:g}"
        if np.isnan(value):
            what = (
                "the weight is missing; leave the row out, or give a number: a row of weight 0 is "
                "not learned, and counts for the encoder, the metric and the threshold"
            )
        raise InputError(what, row=row, column=column)


def about_weights(name: str, mean: float) -> list[str]:
    """Return a warning if the mean weight is far from 1."""
    least, most = USUAL_WEIGHTS
    if not mean > 0.0 or least <= mean <= most:
        return []
    return [
        f"{name}: the weights have a mean of {mean:.3g}, which multiplies C and every step of "
        "learning; divide them by it"
    ]


class RowColumns:
    """Checks of the columns of times and weights, as learning makes them, in one pass."""

    def __init__(
        self, table: Source, time: str | None, weight: str | None, format: str = ""
    ) -> None:
        self.time, self.weight, self._format = time, weight, ""
        self._total, self._n_rows = 0.0, 0
        if time is not None:
            self._format = check_time_column(table, time, format)
        if weight is not None:
            check_weight_column(table, weight)

    def watch(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield the batches; a bad time or weight is named by file and row."""
        for batch in batches:
            if self.time is not None:
                batch.check_complete(self.time, "the time is missing")
                if self._format:
                    order_of(batch, self.time, self._format)
            if self.weight is not None:
                self._total += float(weights_of(batch, self.weight).sum())
            self._n_rows += len(batch)
            yield batch

    def warnings(self) -> list[str]:
        """Return what may be wrong with the rows so far."""
        if self.weight is None or not self._n_rows:
            return []
        return about_weights(self.weight, self._total / self._n_rows)


def _type_of(table: Source, name: str) -> pa.DataType:
    """Return the type of the values of a column, also where it is stored as a dictionary."""
    return type_of_values(table.select([name]).schema.field(name).type)
