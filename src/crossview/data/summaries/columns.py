"""Values of columns, and their relation to a label, from one pass in bounded memory."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from crossview.tables.arrow import codes_of, decoded, integers, numbers_of
from crossview.tables.columns import LARGEST, Column, as_codes
from crossview.tables.text import AMOUNT, DECIMAL_COMMA, LEADING_ZERO, MISSING, NUMBER

# different values of a column that are counted
MOST_DISTINCT = 50_000
# values of a number times classes, up to which the rows of both are counted
MOST_COUNTS = 1000
# beyond, a label is no class
MOST_CLASSES = 1000
# an identifier is one of somebody with several rows if more than this share of its values has them,
# and so many in the mean at most; values with more are categories that recur
MOST_VALUES, MOST_ROWS_OF_VALUE = 0.5, 50
# a relation needs as many rows
FEWEST_ROWS = 10
ROWS_PER_CLASS = 5

_IDENTIFIER = re.compile(r"((^|[_\W])(?i:id|key|code|zip|zipcode|postcode)|[a-z](Id|ID|Key|Code))$")
_ID = re.compile(r"((^|[_\W])(?i:id)|[a-z](Id|ID))$")
_SOMEBODY = re.compile(
    r"(?i)(^|[_\W])(user|patient(en)?|proband(en)?|mouse|subject|person|participant"
    r"|customer|client|member|student|author|speaker|session|account|household|individual|respondent|pupil|employee|worker|child|player"
    r"|panelist|resident|donor|voter|animal|family|couple|litter|case|subj|nr"
    r"|pid|sid|uid|hid|mrn|ssn|(u|us)?subjid|(患者|病人|受试者)(编号|番号|号)?"
    r"|(case|child|fam|hh|indiv|pat|pers|pt|resp|stud|subj|cust|acct|emp|mem|fall|tier)"
    r"[-_. ]{0,2}(id|nr|no|num|number|nummer)"
    r")([-_. ]?(name|nr|no|num|number|nummer|key|code))?\.?$"
)

# a number with a decimal comma, or with one that separates thousands
GROUPED = r"^\s*[-+]?[1-9]\d{0,2},\d{3}\s*$"
# numbers with a unit in letters
_UNIT = re.compile(r"\s*[-+]?\d[\d.,]*\s*([^\W\d_][^\W\d_/]*)\s*$")


def is_identifier(column: str) -> bool:
    """Return whether a column has the name of an identifier, such as user_id."""
    return _IDENTIFIER.search(column) is not None


def is_group_name(column: str) -> bool:
    """Whether a name is that of an id, or of somebody with several rows.

    A key or a code of something else, such as a place, recurs in new rows.
    """
    return _ID.search(column) is not None or _SOMEBODY.search(column) is not None


def is_repeated(column: str, counts: np.ndarray) -> bool:
    """Whether a column has the name of an identifier, and most of its values several rows.

    counts: the rows of each value.
    """
    return is_group_name(column) and bool(np.mean(counts > 1) > MOST_VALUES)


def is_of_few_rows(column: str, counts: np.ndarray) -> bool:
    """Whether most values of an identifier have several rows, as the visits of a patient."""
    return is_repeated(column, counts) and bool(counts.mean() <= MOST_ROWS_OF_VALUE)


class Target:
    """The label of some rows: the codes of its classes, or numbers.

    The ``values`` of the last rows are codes, -1 where the label is missing, or numbers, NaN where
    it is; None: there is no label, or it is neither.  It is ``usable`` as long as it is what it
    should be: a number, or one of at most `MOST_CLASSES` values.  ``classes`` are those so far, by
    code, and ``n_missing`` the rows without label.
    """

    def __init__(self, numbers: bool) -> None:
        self.numbers = numbers
        self.classes: list[Any] = []
        self.values: np.ndarray | None = None
        self.usable = True
        self.n_missing = 0
        self._codes: dict[Any, int] = {}

    @property
    def n_groups(self) -> int:
        """Number of classes, and one for rows without any."""
        return 1 + len(self.classes)

    def read(self, labels: Any) -> None:
        """Take the labels of the next rows, an Arrow array."""
        import pyarrow as pa
        import pyarrow.compute as pc

        labels = decoded(labels)
        self.values = None
        missing = pc.is_null(labels, nan_is_null=True)
        self.n_missing += pc.sum(missing).as_py() or 0
        if self.numbers:
            try:
                self.values = _usable(_numbers(labels.cast(pa.float64())))
            except pa.ArrowException:
                self.usable = False
        elif self.usable:
            try:
                self.values = self._codes_of(labels.dictionary_encode())
            except pa.ArrowNotImplementedError:  # lists, structs
                self.usable = False
        if not self.usable:
            self.values = None

    def _codes_of(self, coded: Any) -> np.ndarray:
        """The codes of labels, and new classes for new ones."""
        of_values = []
        for value in coded.dictionary.to_pylist():
            if value is None or value != value:
                of_values.append(-1)
                continue
            if value not in self._codes:
                self._codes[value] = len(self.classes)
                self.classes.append(value)
            of_values.append(self._codes[value])
        if len(self.classes) > MOST_CLASSES:
            self.usable, self.classes = False, self.classes[:MOST_CLASSES]
        codes = codes_of(coded.indices, len(of_values))
        return np.array([*of_values, -1])[codes]


class Likeness(NamedTuple):
    """Numbers of values of a column of text that look like numbers or missing values."""

    present: int = 0  # values that are not missing
    number: int = 0
    decimal_comma: int = 0  # numbers if a comma is the decimal point
    grouped: int = 0  # those of them of which the comma may separate thousands
    amount: int = 0  # numbers but for separators of thousands or a sign such as €
    leading_zero: int = 0  # numbers that start with 0
    missing: int = 0  # words for a missing value, such as NA
    words: int = 0  # of two letters or more, in all values


class ValueSummary:
    """The different ``values`` of a column of categories or text, and the labels of their rows.

    They are an Arrow array of strings; it is ``complete`` as long as all are counted, up to
    `MOST_DISTINCT`.  ``like`` says what they look like.
    """

    def __init__(self, name: str) -> None:
        import pyarrow as pa

        self.name = name
        self._column = Column(name, "", "categorical", True)
        self.values = pa.nulls(0, pa.large_string())
        # per value, and in the last row for missing ones: rows of each class, or n, Σ y and Σ y²
        self._sums = np.zeros((1, 1))
        self.like = Likeness()
        self.n_missing = 0
        self.complete = True

    def add(self, array: Any, target: Target) -> None:
        """Take the next rows, an Arrow array, and their labels."""
        import pyarrow as pa
        import pyarrow.compute as pc

        dictionary, codes = as_codes(self._column, array)
        counts = np.bincount(codes + 1, minlength=len(dictionary) + 1)
        self.n_missing += int(counts[0])
        # only what occurs, each once
        used = np.flatnonzero(counts[1:])
        unique = dictionary.take(integers(used)).cast(pa.large_string()).dictionary_encode()
        of_code = np.full(len(dictionary) + 1, -1)
        of_code[used] = numbers_of(unique.indices)
        rows = of_code[codes]
        counts = np.bincount(rows[rows >= 0], minlength=len(unique.dictionary))
        self._look_at(unique.dictionary, counts)
        if not self.complete:
            return
        places = codes_of(pc.index_in(unique.dictionary, self.values), -1)
        new = np.flatnonzero(places < 0)
        places = places.copy()
        places[new] = len(self.values) + np.arange(len(new))
        if len(new):
            more = unique.dictionary.take(integers(new))
            self.values = pa.chunked_array([self.values, more]).combine_chunks()
        if len(self.values) > MOST_DISTINCT:
            self.complete = False
            return
        places = np.append(places, len(self.values))
        self._count(places[rows], target)

    def _count(self, places: np.ndarray, target: Target) -> None:
        """Add the labels of rows to the sums of their values."""
        n = len(self.values) + 1
        y = target.values
        width = 3 if target.numbers else target.n_groups
        grown = np.zeros((n, width))
        old = self._sums
        grown[: len(old) - 1, : old.shape[1]] = old[:-1]
        grown[-1, : old.shape[1]] = old[-1]
        if target.numbers and y is not None:
            known = ~np.isnan(y)
            places, y = places[known], y[known]
            for k, power in enumerate((np.ones(len(y)), y, y * y)):
                grown[:, k] += np.bincount(places, weights=power, minlength=n)
        else:
            groups = np.zeros(len(places), dtype=np.int64) if y is None else y + 1
            flat = np.bincount(places * width + groups, minlength=n * width)
            grown += flat.reshape(n, width)
        self._sums = grown

    def _look_at(self, values: Any, counts: np.ndarray) -> None:
        """Count what the different values look like, each as often as it occurs."""
        import pyarrow.compute as pc

        def rows_like(pattern: str) -> int:
            return int(counts @ numbers_of(pc.match_substring_regex(values, pattern)))

        patterns = (NUMBER, DECIMAL_COMMA, GROUPED, AMOUNT, LEADING_ZERO, MISSING)
        words = int(counts @ numbers_of(pc.count_substring_regex(values, r"\pL{2,}")))
        found = (counts.sum(), *map(rows_like, patterns), words)
        self.like = Likeness(*(int(a) + int(b) for a, b in zip(self.like, found, strict=True)))

    def with_unit(self, target: Target) -> tuple[str, int]:
        """Return a number with the most frequent unit, and how many rows have that unit."""
        rows: dict[str, int] = {}
        first: dict[str, str] = {}
        for value, n in zip(self.values.to_pylist(), self.counts(target).tolist(), strict=True):
            if found := _UNIT.match(value):
                rows[found[1]] = rows.get(found[1], 0) + int(n)
                first.setdefault(found[1], value)
        unit = max(rows, key=rows.__getitem__, default=None)
        return ("", 0) if unit is None else (first[unit], rows[unit])

    def first_like(self, pattern: str) -> str | None:
        """Return the first value that looks so, such as `AMOUNT` or `GROUPED`."""
        import pyarrow.compute as pc

        found = self.values.filter(pc.match_substring_regex(self.values, pattern))
        return found[0].as_py() if len(found) else None

    def counts(self, target: Target) -> np.ndarray:
        """Return in how many rows each value is."""
        counts = self._sums[:-1, 0] if target.numbers else self._sums[:-1].sum(axis=1)
        return np.append(counts, np.zeros(len(self.values) - len(counts)))

    def most_frequent(self, n: int, target: Target) -> list[tuple[str, int]]:
        """Return the most frequent values, and in how many rows they are."""
        counts = self.counts(target)
        order = np.argsort(-counts, kind="stable")[:n]
        return [(self.values[int(i)].as_py(), int(counts[i])) for i in order]

    @property
    def counts_of_classes(self) -> np.ndarray:
        """Rows of each class per value, and in the last row those without value."""
        return self._sums[:, 1:]

    def relation(self, target: Target) -> float | None:
        """Return how much the value says of the label, from 0 to 1; None: unknown."""
        if not self.complete or target.values is None:
            return None
        sums = self._sums[self._sums.any(axis=1)]
        if target.numbers:
            return _correlation_ratio(*sums.T)
        return _cramers_v(sums[:, 1:])


class MissingSummary:
    """The labels of rows in which columns have no value, and of those in which they have one."""

    def __init__(self, n_columns: int) -> None:
        # rows of each class, and in the first column without label: all, and those without value
        self._total = np.zeros(1, dtype=np.int64)
        self._missing = np.zeros((n_columns, 1), dtype=np.int64)
        # of a number to predict: its range without value and with one
        self._low, self._high = (np.full((2, n_columns), end) for end in (np.inf, -np.inf))

    def add(self, arrays: list[Any], target: Target) -> None:
        """Take the next rows, an Arrow array per column, and their labels."""
        y = target.values
        if not arrays or y is None:
            return
        groups = (~np.isnan(y)).astype(np.int64) if target.numbers else y + 1
        n_groups = 2 if target.numbers else target.n_groups
        more = n_groups - len(self._total)
        self._total = np.pad(self._total, (0, more)) + np.bincount(groups, minlength=n_groups)
        self._missing = np.pad(self._missing, ((0, 0), (0, more)))
        for c, array in enumerate(arrays):
            missing = _is_missing(array)
            if missing is not None:
                self._missing[c] += np.bincount(groups[missing], minlength=n_groups)
            if target.numbers:
                there = None if missing is None else ~missing
                for k, rows in ((0, missing), (1, there)):
                    own = y if rows is None else y[rows]
                    if (rows is not None or k) and not np.isnan(own).all():
                        self._low[k, c] = min(self._low[k, c], np.nanmin(own))
                        self._high[k, c] = max(self._high[k, c], np.nanmax(own))

    def counts(self, c: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of each class in which column ``c`` has a value, and the others."""
        return (self._total - self._missing[c])[1:], self._missing[c, 1:]

    def ranges(self, c: int) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the range of the number to predict where column ``c`` has a value, and where not.

        It is empty, from infinity down, where there is no such row.
        """
        low, high = (ends[:, c] + 0.0 for ends in (self._low, self._high))  # no -0
        without, filled = zip(low.tolist(), high.tolist(), strict=True)
        return filled, without


def _is_missing(array: Any) -> np.ndarray | None:
    """Return which rows have no value; None where all have one."""
    import pyarrow as pa

    if isinstance(array, pa.DictionaryArray) and array.dictionary.null_count:
        array = array.dictionary_decode()
    return numbers_of(array.is_null()) if array.null_count else None


class NumberSummary:
    """Moments, ranges and different values of columns of numbers, and their relation to a label.

    Per column there are rows without value (``n_missing``), rows with NaN or infinity, which is no
    missing value (``n_nan``), and rows with a number beyond `LARGEST`, which no encoder takes, and
    which count in nothing else (``n_too_large``).  ``distinct`` holds the different values of each
    column, and how often each occurs; None: more than `MOST_DISTINCT`.
    """

    def __init__(self, n_columns: int) -> None:
        m = n_columns
        self.n_missing = np.zeros(m, dtype=np.int64)
        self.n_nan = np.zeros(m, dtype=np.int64)
        self.n_too_large = np.zeros(m, dtype=np.int64)
        self.distinct: list[tuple[np.ndarray, np.ndarray] | None]
        self.distinct = [(np.empty(0), np.empty(0, dtype=np.int64)) for _ in range(m)]
        # rows of each class, and in the first column without label, per different value; None: many
        self._counts: list[np.ndarray | None] = [np.zeros((0, 1), dtype=np.int32)] * m
        # per class, and in the first row without label: n, Σ x, Σ x², rows without value
        self._sums = np.zeros((4, 1, m))
        self._low, self._high = np.full((1, m), np.nan), np.full((1, m), np.nan)
        # rows that have the least value of the column, and the greatest
        self._at_edges = np.zeros((2, 1, m))
        # of a number: n, Σ x, Σ x², Σ y, Σ y², Σ xy
        self._products = np.zeros((6, m))
        self._shift: np.ndarray | None = None
        self._shift_of_target = 0.0

    def add(self, arrays: list[Any], target: Target) -> None:
        """Take the next rows, an Arrow array per column, and their labels."""
        n = len(arrays[0]) if arrays else 0
        if not n:
            return
        y = target.values
        groups = np.zeros(n, dtype=np.int64)
        if y is not None and not target.numbers:
            groups = y + 1
        X = np.empty((n, len(arrays)))
        for c, array in enumerate(arrays):
            X[:, c] = _numbers(array)
            self.n_missing[c] += array.null_count
            n_finite, usable = np.isfinite(X[:, c]).sum(), X[np.abs(X[:, c]) <= LARGEST, c]
            self.n_nan[c] += n - array.null_count - n_finite
            self.n_too_large[c] += n_finite - len(usable)
            before = self.distinct[c]
            self.distinct[c] = _more_distinct(before, usable)
            self._count(c, before, X[:, c], groups, target.n_groups)
        X = _usable(X)
        if self._shift is None:  # sums of squares of small numbers are exact
            self._shift = np.where(np.isnan(X).all(axis=0), 0.0, np.nan_to_num(X[0]))
        self._add_groups(X, groups, target.n_groups)
        if y is not None and target.numbers:
            self._add_products(X - self._shift, y)

    def _count(
        self,
        c: int,
        before: tuple[np.ndarray, np.ndarray] | None,
        x: np.ndarray,
        groups: np.ndarray,
        n_groups: int,
    ) -> None:
        """Count the rows of each value of a column and each class, while there are few of them."""
        counts, known = self._counts[c], self.distinct[c]
        if counts is None or before is None:
            return
        if known is None or len(known[0]) * n_groups > MOST_COUNTS:
            self._counts[c] = None
            return
        grown = np.zeros((len(known[0]), n_groups), dtype=np.int32)
        grown[np.searchsorted(known[0], before[0]), : counts.shape[1]] = counts
        there = np.abs(x) <= LARGEST
        flat = np.searchsorted(known[0], x[there]) * n_groups + groups[there]
        self._counts[c] = grown + np.bincount(flat, minlength=grown.size).reshape(grown.shape)

    def _add_groups(self, X: np.ndarray, groups: np.ndarray, n_groups: int) -> None:
        more = n_groups - self._sums.shape[1]
        self._sums = np.pad(self._sums, ((0, 0), (0, more), (0, 0)))
        self._low = np.pad(self._low, ((0, more), (0, 0)), constant_values=np.nan)
        self._high = np.pad(self._high, ((0, more), (0, 0)), constant_values=np.nan)
        self._at_edges = np.pad(self._at_edges, ((0, 0), (0, more), (0, 0)))
        edges = self.minimum, self.maximum
        order = np.argsort(groups, kind="stable")
        ids, starts = np.unique(groups[order], return_index=True)
        X = X[order]
        self._low[ids] = np.fmin(self._low[ids], np.fmin.reduceat(X, starts, axis=0))
        self._high[ids] = np.fmax(self._high[ids], np.fmax.reduceat(X, starts, axis=0))
        for at, before, edge in zip(
            self._at_edges, edges, (self.minimum, self.maximum), strict=True
        ):
            at[:, before != edge] = 0.0
            at[ids] += np.add.reduceat((edge == X).astype(np.float64), starts, axis=0)
        missing = np.isnan(X)
        X = np.where(missing, 0.0, X - self._shift)
        for k, values in enumerate((~missing, X, X * X, missing)):
            self._sums[k][ids] += np.add.reduceat(values.astype(np.float64), starts, axis=0)

    def _add_products(self, X: np.ndarray, y: np.ndarray) -> None:
        if not self._products[0].any():
            self._shift_of_target = float(np.nan_to_num(y[0]))
        y = (y - self._shift_of_target)[:, None]
        known = ~np.isnan(X + y)
        x, t = np.where(known, X, 0.0), np.where(known, y, 0.0)
        for k, values in enumerate((known, x, x * x, t, t * t, x * t)):
            self._products[k] += values.sum(axis=0)

    @property
    def minimum(self) -> np.ndarray:
        """The least value of each column."""
        return np.asarray(np.fmin.reduce(self._low))

    @property
    def maximum(self) -> np.ndarray:
        """The greatest value of each column."""
        return np.asarray(np.fmax.reduce(self._high))

    def relations(self, target: Target) -> np.ndarray:
        """Return how much each column says of the label, from 0 to 1; NaN: unknown."""
        if target.values is None:
            return np.full(len(self.n_missing), np.nan)
        if target.numbers:
            n, sx, sxx, sy, syy, sxy = self._products
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                r = (sxy - sx * sy / n) / np.sqrt((sxx - sx * sx / n) * (syy - sy * sy / n))
            return np.where(n < FEWEST_ROWS, np.nan, np.minimum(np.nan_to_num(np.abs(r)), 1.0))
        relations = np.full(len(self.n_missing), np.nan)
        for c, (n, sx, sxx, missing) in enumerate(np.moveaxis(self._sums[:, 1:], 2, 0)):
            found = [_correlation_ratio(n, sx, sxx)]
            if missing.any():  # where it is missing may say it all
                found.append(_cramers_v(np.stack([n, missing])))
            relations[c] = max((value for value in found if value is not None), default=np.nan)
        return relations

    def least_relation(self, c: int) -> float:
        """Return how well a column tells apart the two neighboring classes it mixes most, 0 to 1.

        `relations` may be 1 where classes share a value: each class tells the number then, and
        the number does not tell the class.
        """
        n, sums, squares, _ = self._sums[:, 1:, c]
        if not n.all():
            return 0.0
        order = np.argsort(sums / n)
        pairs = (order[i : i + 2] for i in range(len(order) - 1))
        return min(_correlation_ratio(n[k], sums[k], squares[k]) or 0.0 for k in pairs)

    def constants(self, c: int) -> list[tuple[int, float, int]]:
        """Return class, value and rows where all rows of a class, and no other, have one value."""
        known = self.distinct[c]
        if known is None:
            return []
        low, high = self._low[1:, c], self._high[1:, c]
        n, missing = self._sums[0, 1:, c], self._sums[3, 1:, c]
        found = []
        for k in np.flatnonzero((low == high) & (missing == 0)):
            place = np.searchsorted(known[0], low[k])
            if known[1][place] == n[k]:
                found.append((int(k), float(low[k]), int(n[k])))
        return found

    def counts(self, c: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the different values, and the rows of each class per value; None: many values."""
        counts, known = self._counts[c], self.distinct[c]
        return None if counts is None or known is None else (known[0], counts[:, 1:])

    def edges(self, c: int) -> list[tuple[float, np.ndarray, np.ndarray]]:
        """Return least and greatest value, and the rows of each class with and without it."""
        n = self._sums[0, 1:, c]
        values = float(self.minimum[c]), float(self.maximum[c])
        return [(v, at[1:, c], n - at[1:, c]) for v, at in zip(values, self._at_edges, strict=True)]

    def rows_of_classes(self, c: int) -> np.ndarray:
        """Return the rows of each class, also those without a value of the column."""
        return np.asarray(self._sums[0, 1:, c] + self._sums[3, 1:, c])

    def separates(self, fewest: int) -> np.ndarray:
        """Return which columns have no value of one class within the range of another.

        Every class has ``fewest`` rows or more.
        """
        n, low, high = self._sums[0, 1:], self._low[1:], self._high[1:]
        if len(low) < 2:
            return np.zeros(low.shape[1], dtype=bool)
        order = np.argsort(low, axis=0)
        low, high = (np.take_along_axis(part, order, axis=0) for part in (low, high))
        return np.asarray((low[1:] > high[:-1]).all(axis=0) & (n >= fewest).all(axis=0))


def _more_distinct(
    known: tuple[np.ndarray, np.ndarray] | None, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """The different values with those of more rows, and how often each occurs."""
    if known is None:
        return None
    unique, counts = np.unique(values, return_counts=True)
    if len(known[0]):
        unique, places = np.unique(np.concatenate([known[0], unique]), return_inverse=True)
        counts = np.concatenate([known[1], counts])
        counts = np.bincount(places, weights=counts).astype(np.int64)
    return None if len(unique) > MOST_DISTINCT else (unique, counts)


def _numbers(array: Any) -> np.ndarray:
    """An Arrow array of numbers as float64, with NaN for null."""
    import pyarrow as pa

    if array.type != pa.float64():
        array = array.cast(pa.float64(), safe=False)
    return numbers_of(array)


def _usable(numbers: np.ndarray) -> np.ndarray:
    """The numbers, with NaN for those that are infinite, or whose squares are."""
    return np.where(np.abs(numbers) <= LARGEST, numbers, np.nan)


def _cramers_v(counts: np.ndarray) -> float | None:
    """Cramér's V of a contingency table, corrected for its bias (Bergsma 2013)."""
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    n = counts.sum()
    if n < FEWEST_ROWS:
        return None
    r, k = counts.shape
    if n < ROWS_PER_CLASS * k:
        return None
    if min(r, k) < 2:
        return 0.0
    expected = counts.sum(axis=1, keepdims=True) * (counts.sum(axis=0, keepdims=True) / n)
    phi2 = float((counts * counts / expected).sum() / n - 1.0)
    phi2 = max(0.0, phi2 - (r - 1) * (k - 1) / (n - 1))
    least = min(m - (m - 1) ** 2 / (n - 1) for m in (r, k)) - 1.0
    return min(1.0, float(np.sqrt(phi2 / least))) if least > 0.0 else 0.0


def _correlation_ratio(n: np.ndarray, sums: np.ndarray, squares: np.ndarray) -> float | None:
    """The correlation ratio of a number by groups, corrected for its bias (Kelley 1935)."""
    there = n > 0
    n, sums, squares = n[there], sums[there], squares[there]
    total = n.sum()
    if total < max(FEWEST_ROWS, ROWS_PER_CLASS * len(n)):
        return None
    within = float((squares - sums * sums / n).sum()) / (total - len(n))
    overall = float(squares.sum() - sums.sum() ** 2 / total) / (total - 1.0)
    if not overall > 0.0 or len(n) < 2:
        return 0.0
    return float(np.sqrt(min(1.0, max(0.0, 1.0 - within / overall))))
