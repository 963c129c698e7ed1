"""Files of svmlight and LIBSVM; views are ranges of columns."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from crossview.errors import InputError
from crossview.kernels.text import parsing as grammar
from crossview.kernels.text.parsing import TextRows
from crossview.kernels.text.svmlight import parse_svmlight
from crossview.readers.sparse.text_rows import EXPLAINED, Parser, TextRowSource

_RANGE = re.compile(r"(\d{1,18})?(:)?(\d{1,18})?")
NONE_SEEN = (2**62, -1)


class ColumnRange(NamedTuple):
    """Columns of a view, by their numbers in the file."""

    view: str
    low: int
    high: int | None  # None: the last one of the file


EXPLANATIONS = {
    **EXPLAINED,
    grammar.BAD_INDEX: "{word} is no entry index:value with a whole number of up to 18 digits "
    "as the index",
    grammar.BAD_VALUE: "{word} has no finite number after the colon; leave out what is 0 or "
    "missing",
}


class _Ranges(Parser):
    explanations = EXPLANATIONS
    twice = "the row has a column twice; leave one out, or add them up"

    def __init__(self, ranges: np.ndarray) -> None:
        self.ranges = ranges
        self.seen = np.array(NONE_SEEN)

    def parse(self, text: np.ndarray, at: np.ndarray, rows: TextRows) -> int:
        return int(parse_svmlight(text, at, self.ranges, self.seen, rows))


class SvmlightSource(TextRowSource):
    """Files of lines ``label index:value ...``.

    A view is a list of ranges ``low:high``, by the numbers in the file, both included; without a
    number a range has no end.  Columns in no view are passed over.  Without views there is one,
    "all", with the columns from 1 (from 0 if the files have a column 0) to the highest.
    """

    format = "svmlight"
    _ranges: list[ColumnRange] | None = None

    def _scanner(self) -> Parser:
        self._scanned = _Ranges(np.empty((0, 3), dtype=np.int64))
        return self._scanned

    def _parser(self) -> Parser:
        rows, offset = [], 0
        for one in self._resolved():
            assert one.high is not None
            rows.append((one.low, one.high, offset))
            offset += one.high - one.low + 1
        return _Ranges(np.array(sorted(rows), dtype=np.int64))

    def _parts(self) -> dict[str, dict[str, int]]:
        parts: dict[str, dict[str, int]] = {}
        for one in self._resolved():
            assert one.high is not None
            parts.setdefault(one.view, {})[f"{one.low}:{one.high}"] = one.high - one.low + 1
        return parts

    @property
    def is_open(self) -> bool:
        """Whether a view reaches to the last column of the files."""
        ranges = None if self._given is None else parse_ranges(self._given)
        return ranges is None or any(one.high is None for one in ranges)

    def _beyond_views(self, parser: Any) -> str | None:
        last = max(one.high or 0 for one in self._resolved())
        highest = int(parser.seen[1])
        return None if highest <= last else f"columns above {last}, up to {highest}"

    def _resolved(self) -> list[ColumnRange]:
        """The ranges, with all their ends; a pass over the files finds those that are not given."""
        if self._ranges is not None:
            return self._ranges
        ranges = [] if self._given is None else parse_ranges(self._given)
        if self.is_open or self._beyond == "add":
            self.first_pass()
            low, high = self._scanned.seen.tolist()
            if not ranges:
                ranges = [ColumnRange("all", min(low, 1), max(high, 1))]
            ranges = [one._replace(high=_end(one, high, self.files[0])) for one in ranges]
            if self._beyond == "add":
                last = max(ranges, key=lambda one: one.high or 0)
                wider = last._replace(high=max(last.high or 0, high))
                if ranges == [last] and last.view == "all":
                    wider = wider._replace(low=min(last.low, low))
                ranges[ranges.index(last)] = wider
        check_disjoint(ranges)
        self._ranges = ranges
        return ranges


def _end(one: ColumnRange, highest: int, file: str) -> int:
    if one.high is not None:
        return one.high
    if highest < one.low:
        raise InputError(
            f"view {one.view!r} begins at column {one.low}, and the last column is {highest}",
            file=file,
        )
    return highest


def parse_ranges(views: dict[str, list[str]]) -> list[ColumnRange]:
    """Return the ranges that views are given by, such as ``1:1840``, ``1841:`` and ``7``."""
    ranges = []
    for view, parts in views.items():
        for part in parts:
            found = _RANGE.fullmatch(part)
            if found is None or not part:
                raise InputError(
                    f"view {view!r}: {part!r} is no range of columns, such as 1:1840, 1841: or 7"
                )
            low, colon, high = found.groups()
            end: Any = high if colon else low
            one = ColumnRange(view, int(low or 0), None if end is None else int(end))
            if one.high is not None and one.high < one.low:
                raise InputError(f"view {view!r}: the range {part} ends before it begins")
            ranges.append(one)
    return ranges


def check_disjoint(ranges: list[ColumnRange]) -> None:
    """Raise an error for a column in two ranges."""
    ordered = sorted(ranges, key=lambda one: one.low)
    for one, other in pairwise(ordered):
        if one.high is not None and other.low <= one.high:
            raise InputError(
                f"column {other.low} is in view {one.view!r} and again in {other.view!r}; give "
                "each column to one view only"
            )
