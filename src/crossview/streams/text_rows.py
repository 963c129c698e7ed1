"""Text files of rows with views: what the formats share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from crossview.errors import InputError
from crossview.kernels.text import rows as grammar
from crossview.kernels.text.rows import TextRows
from crossview.streams.prefetch import prefetch
from crossview.streams.source import RowBatch
from crossview.streams.whole_lines import PART_BYTES, whole_lines
from crossview.views import MultiView, ViewLayout

__all__ = ["FirstPass", "Parser", "TextRowSource", "column_lists", "integers"]

# more labels than a learner takes; they are numbers to predict
MOST_LABELS = 1001
FIRST_ROOM, ROWS_OF_FIRST_PASS = 1 << 16, 1 << 14
MOST_COLUMNS = 2**31 - 1
_SHOWN = 40


@dataclass
class FirstPass:
    """What one pass over the files finds out.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    labels : set of float
        The different labels, about `MOST_LABELS` at most.
    unlabeled : (str, int) or None
        File and number of the first row without a label.
    """

    n_rows: int = 0
    labels: set[float] = field(default_factory=set)
    unlabeled: tuple[str, int] | None = None

    def count(self, labels: np.ndarray, file: str, first_row: int) -> None:
        """Count the labels of consecutive rows."""
        self.n_rows += len(labels)
        missing = np.isnan(labels)
        if self.unlabeled is None and missing.any():
            self.unlabeled = file, first_row + int(missing.argmax())
        new = ~missing
        for label in self.labels:
            new &= labels != label
        if new.any() and len(self.labels) < MOST_LABELS:
            self.labels.update(np.unique(labels[new])[:MOST_LABELS].tolist())


class Parser:
    """The grammar of one pass over the files; a format fills it in."""

    def parse(self, text: np.ndarray, at: np.ndarray, rows: TextRows) -> int:
        """Read rows until the text ends, there is no room, or a byte is wrong."""
        raise NotImplementedError

    def take(self, text: np.ndarray, first: int, end: int) -> None:
        """Keep what is only in the text of these rows."""

    def extras(self, n: int) -> dict[str, Any]:
        """Return the weights of the first n rows, and what else a `RowBatch` has."""
        return {}

    def resume(self, status: int, text: np.ndarray, p: int) -> bool:
        """Return whether parsing can go on, after what stopped it was looked at."""
        return False


class _Part(NamedTuple):
    """Consecutive rows of one file, until the parser goes on."""

    rows: TextRows
    n_rows: int
    n_entries: int
    first_row: int
    is_sorted: bool
    extras: dict[str, Any]


class TextRowSource:
    """Files of one text format whose rows have labels and views.

    Parameters
    ----------
    files : list of str
        The files.
    views : mapping of str to sequence of str, default=None
        What each view holds, as the file names it; None: see the formats.
    hash_bits : int, default=18
        Slots of a view, as a power of two, where its columns are hashed or folded.
    tags : bool, default=False
        Whether batches have the tags of rows, where the format has some.
    part_bytes : int, default=4194304
        Bytes that are read at a time; it changes no result.
    """

    format: ClassVar[str]
    # whether entries of the same column are added up; otherwise they are an error
    adds = False
    explanations: ClassVar[Mapping[int, str]] = {}

    def __init__(
        self,
        files: list[str],
        views: Mapping[str, Any] | None = None,
        hash_bits: int = 18,
        tags: bool = False,
        part_bytes: int = PART_BYTES,
    ) -> None:
        if not 1 <= hash_bits <= 30:
            raise InputError(f"hash_bits={hash_bits}; give a number from 1 to 30")
        self.files: Sequence[str] = files
        self.n_rows: int | None = None
        self.hash_bits = hash_bits
        self._given = None if views is None else column_lists(views)
        self._tags = tags
        self._part_bytes = part_bytes
        self._first_pass: FirstPass | None = None
        self._layout: ViewLayout | None = None

    # --- what a format says ----------------------------------------------------------------

    def _scanner(self) -> Parser:
        """A parser that keeps no entries, but what the columns are."""
        raise NotImplementedError

    def _parser(self) -> Parser:
        """A parser of the views."""
        raise NotImplementedError

    def _views(self) -> dict[str, list[str]]:
        """What each view holds, such that no pass is needed to read another file."""
        raise NotImplementedError

    def _widths(self) -> list[int]:
        """The number of columns of each view."""
        raise NotImplementedError

    # --- what is known before the rows are read --------------------------------------------

    @property
    def reading(self) -> dict[str, Any]:
        """How to read other files in the same way."""
        return {"format": self.format, "views": self._views(), "hash_bits": self.hash_bits}

    @property
    def layout(self) -> ViewLayout:
        """Names and widths of the views."""
        if self._layout is None:
            layout = ViewLayout(list(self._views()), self._widths())
            if layout.n_columns > MOST_COLUMNS:
                raise InputError(
                    f"its views have {layout.n_columns:,} columns, and {MOST_COLUMNS:,} is the "
                    "most; give ranges of columns with views=",
                    file=self.files[0],
                )
            self._layout = layout
        return self._layout

    def first_pass(self) -> FirstPass:
        """Return what a pass over the files finds out; it is made once."""
        if self._first_pass is None:
            found, scanner = FirstPass(), self._scanner()
            for file in self.files:
                for part in self._read(file, ROWS_OF_FIRST_PASS, scanner):
                    found.count(part.rows.labels[: part.n_rows], file, part.first_row)
            self._first_pass, self.n_rows = found, found.n_rows
        return self._first_pass

    # --- rows ------------------------------------------------------------------------------

    def batches(self, batch_rows: int) -> Iterator[RowBatch]:
        """Yield the rows."""
        layout, parser = self.layout, self._parser()
        for file in self.files:
            for part in self._read(file, batch_rows, parser):
                labels = integers(part.rows.labels[: part.n_rows])
                X = MultiView.from_matrix(self._matrix(part, layout, file), layout)
                yield RowBatch(X, labels, file, part.first_row, **part.extras)

    def _read(self, file: str, batch_rows: int, parser: Parser) -> Iterator[_Part]:
        """Rows of a file, so many at a time."""
        at, first_row = np.zeros(grammar.N_STATE, dtype=np.uint64), 0
        rows = _allocate(batch_rows, FIRST_ROOM)
        for text, end in prefetch(whole_lines(file, self._part_bytes)):
            at[grammar.POSITION], at[grammar.END] = 0, end
            while True:
                before = int(at[grammar.ROW])
                status = parser.parse(text, at, rows)
                n_rows, n_entries = int(at[grammar.ROW]), int(at[grammar.ENTRY])
                parser.take(text, before, n_rows)
                if status == grammar.FULL:
                    rows = _larger(rows, n_rows, n_entries)
                elif status != grammar.DONE:
                    p = int(at[grammar.WRONG])
                    if not parser.resume(status, text, p):
                        raise self._error(status, text, at, (file, first_row + n_rows))
                elif n_rows < batch_rows:
                    break
                else:
                    yield _part(rows, at, first_row, parser)
                    first_row += n_rows
                    rows = _allocate(batch_rows, n_entries + n_entries // 8 + FIRST_ROOM // 16)
                    at[grammar.ROW] = at[grammar.ENTRY] = at[grammar.UNSORTED] = 0
        if at[grammar.ROW]:
            yield _part(rows, at, first_row, parser)

    def _matrix(self, part: _Part, layout: ViewLayout, file: str) -> sp.csr_array:
        n = part.n_entries
        indptr = part.rows.indptr[: part.n_rows + 1].view(np.int64)
        indices = part.rows.indices[:n].view(np.int32)
        shape = (part.n_rows, layout.n_columns)
        matrix = sp.csr_array((part.rows.values[:n], indices, indptr), shape=shape)
        if not part.is_sorted:
            matrix.sort_indices()
            if self.adds:
                matrix.sum_duplicates()
            else:
                self._check_unique(matrix, part, file)
        matrix.has_canonical_format = True
        return matrix

    def _check_unique(self, matrix: sp.csr_array, part: _Part, file: str) -> None:
        """Raise an error for a row that has a column twice, far apart."""
        same = np.flatnonzero(matrix.indices[1:] == matrix.indices[:-1]) + 1
        same = same[~np.isin(same, matrix.indptr)]
        if len(same):
            row = int(np.searchsorted(matrix.indptr, same[0], side="right")) - 1
            raise InputError(
                f"{self.explanations[grammar.TWICE]} (line {int(part.rows.lines[row]) + 1})",
                file=file,
                row=part.first_row + row,
            )

    def _error(
        self, status: int, text: np.ndarray, at: np.ndarray, where: tuple[str, int]
    ) -> InputError:
        """What is wrong, and its line and column."""
        wrong, start = int(at[grammar.WRONG]), int(at[grammar.POSITION])
        word = bytes(text[wrong : wrong + 4 * _SHOWN]).split()[:1]
        shown = word[0].decode(errors="replace") if word else ""
        if text[wrong] in b" \t\r\n|":
            shown = "the end of the line" if text[wrong] in b"\r\n" else "|"
        elif len(shown) > _SHOWN:
            shown = f"{shown[:_SHOWN]!r}..."
        else:
            shown = repr(shown)
        message = self.explanations[status].format(word=shown)
        line = int(at[grammar.LINE]) + 1
        file, row = where
        return InputError(
            f"{message} (line {line}, column {wrong - start + 1})", file=file, row=row
        )


def _allocate(n_rows: int, n_entries: int) -> TextRows:
    return TextRows(
        np.empty(n_rows),
        np.empty(n_rows, dtype=np.uint64),
        np.zeros(n_rows + 1, dtype=np.uint64),
        np.empty(n_entries, dtype=np.uint32),
        np.empty(n_entries),
    )


def _larger(rows: TextRows, n_rows: int, n_entries: int) -> TextRows:
    """The same rows, with room for more entries."""
    larger = _allocate(len(rows.labels), 2 * len(rows.values))
    for mine, theirs, n in zip(
        larger, rows, (n_rows, n_rows, n_rows + 1, n_entries, n_entries), strict=True
    ):
        mine[:n] = theirs[:n]
    return larger


def _part(rows: TextRows, at: np.ndarray, first_row: int, parser: Parser) -> _Part:
    n_rows, n_entries = int(at[grammar.ROW]), int(at[grammar.ENTRY])
    is_sorted = not at[grammar.UNSORTED]
    return _Part(rows, n_rows, n_entries, first_row, is_sorted, parser.extras(n_rows))


def integers(labels: np.ndarray) -> np.ndarray:
    """Return labels as whole numbers where all are; None stands for a missing one then.

    Parameters
    ----------
    labels : ndarray of float64
        NaN where one is missing.

    Returns
    -------
    ndarray
        Of int64, of objects, or as given.
    """
    known = ~np.isnan(labels)
    if not (np.trunc(labels[known]) == labels[known]).all() or (np.abs(labels) > 2.0**53).any():
        return labels
    if known.all():
        return labels.astype(np.int64)
    whole = np.full(len(labels), None, dtype=object)
    whole[known] = labels[known].astype(np.int64)
    return whole


def column_lists(views: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return what each view holds as lists of text.

    Parameters
    ----------
    views : mapping of str to str or sequence
        Text such as ``"1:1840"``, ``"0,3"`` or ``["user", "ad"]``, or numbers.

    Returns
    -------
    dict of str to list of str
        The parts of each.
    """
    if not isinstance(views, Mapping):
        raise InputError(f"views= maps a name to columns, such as {{'page': '1:1840'}}: {views!r}")
    lists: dict[str, list[str]] = {}
    for name, given in views.items():
        items = given.split(",") if isinstance(given, str) else given
        if isinstance(items, int | np.integer):
            items = [items]
        elif not isinstance(items, list | tuple | np.ndarray | range):
            raise InputError(f"view {name!r}: columns are text such as '1:1840', not {given!r}")
        lists[str(name)] = [str(item).strip() for item in items]
        if not lists[str(name)]:
            raise InputError(f"view {name!r} has no columns; leave it out or give it columns")
    return lists
