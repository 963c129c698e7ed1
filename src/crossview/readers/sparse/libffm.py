"""Files of libffm; views are fields."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from crossview.errors import InputError
from crossview.kernels.text import parsing as grammar
from crossview.kernels.text.libffm import parse_libffm
from crossview.kernels.text.parsing import TextRows
from crossview.readers.sparse.svmlight import NONE_SEEN
from crossview.readers.sparse.text_rows import EXPLAINED, Parser, TextRowSource

MOST_FIELDS = 1 << 16
_FIELD = re.compile(r"(\d{1,5})(?::(\d{1,18}):(\d{1,18}))?")


class FieldRange(NamedTuple):
    """A field of a view, and its lowest and highest index."""

    view: str
    field: int
    low: int
    high: int

    def n_slots(self, hash_bits: int) -> int:
        """The number of its slots."""
        return int(min(self.high - self.low + 1, 1 << hash_bits))


EXPLANATIONS = {
    **EXPLAINED,
    grammar.BAD_FIELD: "{word} is no entry field:index:value with a field from 0 to "
    f"{MOST_FIELDS - 1}",
    grammar.BAD_INDEX: "{word} is no entry field:index:value with a whole number of up to 18 "
    "digits as the index",
    grammar.BAD_VALUE: "{word} has no finite number after the second colon; leave out what is "
    "0 or missing",
}
TWICE = "the row has a field and index twice; leave one out, or add them up"


class _Fields(Parser):
    explanations = EXPLANATIONS

    def __init__(self, fields: np.ndarray, adds: bool = False) -> None:
        self.fields = fields
        self.twice = None if adds else TWICE
        self.seen = np.tile(np.array(NONE_SEEN), (MOST_FIELDS, 1))

    def parse(self, text: np.ndarray, at: np.ndarray, rows: TextRows) -> int:
        return int(parse_libffm(text, at, self.fields, self.seen, rows))


class LibffmSource(TextRowSource):
    """Files of lines ``label field:index:value ...``.

    A view is a list of fields; without views each field is one, with its number as the name.  An
    index belongs to its field, so the same index in two fields is two columns.  The columns of a
    field are those from its lowest to its highest index.  If they are more than
    ``2^hash_bits``, they are folded into as many, ``(index - lowest) mod 2^hash_bits``, and entries
    that meet are added up, in all fields.
    """

    format = "libffm"
    _ranges: list[FieldRange] | None = None

    def _scanner(self) -> Parser:
        self._scanned = _Fields(np.zeros((MOST_FIELDS, 4), dtype=np.int64))
        return self._scanned

    def _parser(self) -> Parser:
        fields, slot, adds = np.zeros((MOST_FIELDS, 4), dtype=np.int64), 0, False
        for one in self._resolved():
            n_slots = one.n_slots(self.hash_bits)
            folded = one.high - one.low >= n_slots
            adds |= folded
            fields[one.field] = one.low, slot, n_slots, folded
            slot += n_slots
        return _Fields(fields, adds)

    def _parts(self) -> dict[str, dict[str, int]]:
        parts: dict[str, dict[str, int]] = {}
        for one in self._resolved():
            part = f"{one.field}:{one.low}:{one.high}"
            parts.setdefault(one.view, {})[part] = one.n_slots(self.hash_bits)
        return parts

    def _resolved(self) -> list[FieldRange]:
        """The fields with their ranges; a pass over the files finds those that are not given."""
        if self._ranges is None:
            if self._given is None:
                fields = np.flatnonzero(self._seen()[:, 1] >= 0).tolist()
                if not fields:
                    raise InputError("has no entry, and so no field", file=self.files[0])
                given = {str(one): [str(one)] for one in fields}
            else:
                given = self._given
            self._ranges = [self._range(view, one) for view in given for one in given[view]]
            fields = [one.field for one in self._ranges]
            if len(set(fields)) < len(fields):
                twice = next(one for one in fields if fields.count(one) > 1)
                raise InputError(f"field {twice} is in two views; give each field to one only")
        return self._ranges

    @property
    def is_open(self) -> bool:
        """Whether a field has the indices that it has in the files."""
        given = self._given or {}
        return not given or not all(":" in one for parts in given.values() for one in parts)

    def _beyond_views(self, parser: Any) -> str | None:
        seen, own = parser.seen, self._resolved()
        for one in own:
            low, high = seen[one.field].tolist()
            folded = one.high - one.low >= one.n_slots(self.hash_bits)
            if not folded and (low < one.low or high > one.high) and high >= 0:
                return f"other indices of field {one.field} than {one.low} to {one.high}"
        others = np.setdiff1d(np.flatnonzero(seen[:, 1] >= 0), [one.field for one in own])
        none_left_out = all(one.view == str(one.field) for one in own)
        return f"field {others[0]}" if len(others) and none_left_out else None

    def _seen(self) -> np.ndarray:
        self.first_pass()
        return self._scanned.seen

    def _range(self, view: str, text: str) -> FieldRange:
        found = _FIELD.fullmatch(text)
        if found is None or int(found[1]) >= MOST_FIELDS:
            raise InputError(
                f"view {view!r}: {text!r} is no field, a number from 0 to {MOST_FIELDS - 1}"
            )
        field = int(found[1])
        if found[2] is not None:
            low, high = int(found[2]), int(found[3])
            if self._beyond == "add":
                lowest, highest = self._seen()[field].tolist()
                low, high = min(low, lowest), max(high, highest)
        else:
            low, high = self._seen()[field].tolist()
        if high < low:
            raise InputError(f"view {view!r}: no row has field {field}", file=self.files[0])
        return FieldRange(view, field, low, high)
