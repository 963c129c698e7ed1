"""Encoders: from the cells of a row to the columns of views.

A row of a `TableEncoder`: its cells are found by the name of the column, or as ``row[view][rest]``
where the column is called ``view__rest`` or is in the view; see `Column.names`.  null and NaN are
missing.  A view without any cell is missing.  Each view has these columns, where c counts its
``numbers``, n of them, and B is ``n_bins``:

- ``c``: ``(x - mean) / scale``, and 0 where the number is missing or ``scale`` is None;
- ``n + c``: 1 where the number is missing and ``says_missing`` is True, else 0;
- ``2 n + c B + k``: the shares of the two knots around x, if there are two: with
  ``knots[k] <= x < knots[k+1]``, ``f = (x - knots[k]) / (knots[k+1] - knots[k])`` at k + 1 and
  1 - f at k, where f is what ``k + f`` leaves of it; below the first and above the last knot it is
  1 at that knot;
- ``first_slot + slot``: for each column in ``hashed``, 1 at the slot of the category, or the weight
  of each term of a text (`Hashed`); what shares a slot is added.  The slot of a name is
  ``abs(int32(murmur3_x86_32(prefix + name, seed=0))) % n_slots``, of UTF-8.

At the end all columns of the view are multiplied by its ``factor``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np


@dataclass
class Column:
    """A column of the row.

    ``kind`` says what its cells are: "number"; "category", a text, Boolean or, if it is
    ``declared``, a number (3.0 is the text 3, true is true); "text"; or "date", a text that matches
    ``pattern`` as a whole, with the groups Y or y, m, d, H, M, S and z.  A number that is declared
    may be a text or Boolean.  A category that is ``boolean`` is the text true or false; 1, 1.0 and
    the texts 1, 1.0, yes, y and t are true, 0, 0.0, no, n and f false, in upper or lower case, and
    another number is none.
    """

    name: str
    view: str
    kind: str
    declared: bool
    pattern: str | None = None
    boolean: bool | None = None

    def names(self) -> list[tuple[str, ...]]:
        """Return where a row has the cell: as one key, or as two, that of a view first."""
        inside = self.name.removeprefix(f"{self.view}__")
        prefix, mark, rest = self.name.partition("__")
        found = [(self.name,), (self.view, inside), (self.view, self.name)]
        return list(dict.fromkeys([*found, *([(prefix, rest)] if mark else [])]))


@dataclass
class Number:
    """A number of the row: a cell, or a part of the date or text in it.

    ``part`` of a date: 0 days since 1970 with their fraction, in UTC; 1 the year; 2, 3 sine and
    cosine of the month; 4, 5 of the weekday from Monday; 6, 7 of the second of the day.  Of a text:
    0 ln(1 + characters); 1 words; 2, 3, 4 the shares of digits (Nd), capitals (Lu) and marks (P, S)
    among characters that are not blank; 5 that of web addresses among the words.
    """

    name: str
    column: int
    part: int
    mean: float
    scale: float | None
    knots: np.ndarray
    says_missing: bool


@dataclass
class Hashed:
    """A column whose cells, or their terms, are hashed into the slots of the view.

    Terms of "words": n-grams of the lower-case runs of at least two letters, digits or
    underscores, from ``ngrams[0]`` to ``ngrams[1]`` of them.  Of "chars": per lower-case word
    between white space, with ``<`` and ``>`` around it, its sequences of 3, 4 and 5 characters, or
    the whole of a shorter one.  A term weighs ``(1 + ln count) (ln((1 + texts) / (1 + df)) + 1)``,
    or its count where ``texts`` is None, and then all are divided by their norm; ``df`` of a slot
    that is not in ``slots`` is ``default_df``.
    """

    column: int
    form: str  # "category", "words" or "chars"
    prefix: str
    ngrams: list[int]
    texts: int | None = None
    slots: np.ndarray | None = None
    df: np.ndarray | None = None
    default_df: float = 0.0


@dataclass
class View:
    """A view of a `TableEncoder`; see the module."""

    name: str
    numbers: list[Number]
    hashed: list[Hashed]
    first_slot: int
    factor: float


@dataclass
class TableEncoder:
    """From a row of a table to the columns of its views."""

    kind: ClassVar[str] = "table"
    columns: list[Column]
    views: list[View]
    n_slots: int
    n_bins: int


@dataclass
class NumberEncoder:
    """From views of numbers to their columns.

    A row maps views to sequences of all numbers, or to mappings of positions (from 0) to numbers.
    An absent view, or None, is missing.  Each view is multiplied by its factor, and before it the
    columns that have scales by these.
    """

    kind: ClassVar[str] = "numbers"
    views: list[str]
    widths: list[int]
    factors: list[float]
    scales: list[dict[int, float]]


Encoder = TableEncoder | NumberEncoder
