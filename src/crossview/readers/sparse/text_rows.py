"""Text files of rows with views: the parser, and what the formats share."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from crossview.errors import InputError, UnusedColumnsWarning, argument
from crossview.kernels.text import parsing as grammar
from crossview.kernels.text.parsing import TextRows
from crossview.labels import whole_labels
from crossview.readers.prefetch import Background, prefetch
from crossview.readers.source import Batch
from crossview.readers.sparse.whole_lines import PART_BYTES, whole_lines
from crossview.views import MultiView, ViewLayout

FIRST_ROOM = 1 << 16
_SHOWN = 40
# what a parser says of a line, unless its format has other words
EXPLAINED = {
    grammar.BAD_LABEL: "{word} is no label, which is a number (nan: no label); if the classes "
    "have names, number them",
    grammar.NO_LABEL: "the row begins with the entry {word} and not with a label; write nan "
    "where there is none",
    grammar.TOO_LARGE: "{word} is beyond the largest number of 64 bits",
}


class Parser:
    """The grammar of one pass over the files; a format fills it in.

    ``explanations`` say what is wrong, for each way in which parsing can stop, where ``{word}`` is
    what is there; ``twice`` what is wrong with a row that has a column twice (None: such entries
    are added up).
    """

    explanations: ClassVar[Mapping[int, str]] = {}
    twice: str | None = None

    def parse(self, text: np.ndarray, at: np.ndarray, rows: TextRows) -> int:
        """Read rows until the text ends, there is no room, or a byte is wrong."""
        raise NotImplementedError

    def take(self, text: np.ndarray, first: int, end: int) -> None:
        """Keep what is only in the text of these rows."""

    def extras(self, n: int) -> dict[str, Any]:
        """Return the weights of the first n rows, and what else a `Batch` has."""
        return {}

    def resume(self, status: int, text: np.ndarray, p: int) -> bool:
        """Return whether parsing can go on, after what stopped it was looked at."""
        return False


class Part(NamedTuple):
    """Consecutive rows of one file, until the parser goes on."""

    rows: TextRows
    n_rows: int
    first_row: int
    extras: dict[str, Any]


def read_parts(
    file: str, batch_rows: int, parser: Parser, part_bytes: int = PART_BYTES
) -> Iterator[Part]:
    """Yield the rows of a file, so many at a time; an error names the first byte that is wrong."""
    at, first_row = np.zeros(grammar.N_STATE, dtype=np.uint64), 0
    rows = _allocate(batch_rows, FIRST_ROOM)
    for text, end in prefetch(whole_lines(file, part_bytes)):
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
                    _part(rows, at, (file, first_row), parser)  # what is wrong before
                    raise _error(parser.explanations[status], text, at, (file, first_row + n_rows))
            elif n_rows < batch_rows:
                break
            else:
                yield _part(rows, at, (file, first_row), parser)
                first_row += n_rows
                rows = _allocate(batch_rows, n_entries + n_entries // 8 + FIRST_ROOM // 16)
                at[grammar.ROW] = at[grammar.ENTRY] = at[grammar.UNSORTED] = 0
    if at[grammar.ROW]:
        yield _part(rows, at, (file, first_row), parser)


def _error(
    explanation: str, text: np.ndarray, at: np.ndarray, where: tuple[str, int]
) -> InputError:
    """Return the error that says what is wrong, with its line and column."""
    wrong, start = int(at[grammar.WRONG]), int(at[grammar.POSITION])
    word = bytes(text[wrong : wrong + 4 * _SHOWN]).split()[:1]
    shown = word[0].decode(errors="replace") if word else ""
    if text[wrong] in b" \t\r\n|":
        shown = "the end of the line" if text[wrong] in b"\r\n" else "|"
    elif len(shown) > _SHOWN:
        shown = f"{shown[:_SHOWN]!r}..."
    else:
        shown = repr(shown)
    message = explanation.format(word=shown)
    line = int(at[grammar.LINE]) + 1
    file, row = where
    return InputError(f"{message} (line {line}, column {wrong - start + 1})", file=file, row=row)


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


def _part(rows: TextRows, at: np.ndarray, where: tuple[str, int], parser: Parser) -> Part:
    """The rows so far, each sorted."""
    n_rows, (file, first_row) = int(at[grammar.ROW]), where
    if at[grammar.UNSORTED]:
        longest = int(np.diff(rows.indptr[: n_rows + 1]).max())
        sorting = (parser.twice is None, *grammar.sort_buffers(longest))
        row = int(grammar.sort_rows(rows, np.uint64(n_rows), *sorting))
        if row < n_rows:
            what = f"{parser.twice} (line {int(rows.lines[row]) + 1})"
            raise InputError(what, file=file, row=first_row + row)
    return Part(rows, n_rows, first_row, parser.extras(n_rows))


# more labels than a learner takes; they are numbers to predict
MOST_LABELS = 1001
ROWS_OF_FIRST_PASS = 1 << 14
MOST_COLUMNS = 2**31 - 1


@dataclass
class FirstPass:
    """Results of one pass over the files.

    These are the number of rows, the rows of each label (of more than about `MOST_LABELS` some are
    left out), and file and number of the first row without a label.
    """

    n_rows: int = 0
    labels: Counter[float] = field(default_factory=Counter)
    unlabeled: tuple[str, int] | None = None

    def count(self, labels: np.ndarray, file: str, first_row: int) -> None:
        """Count the labels of consecutive rows."""
        self.n_rows += len(labels)
        missing = np.isnan(labels)
        if self.unlabeled is None and missing.any():
            self.unlabeled = file, first_row + int(missing.argmax())
        new = ~missing
        for label in self.labels:
            same = labels == label
            self.labels[label] += int(np.count_nonzero(same))
            new &= ~same
        if new.any() and len(self.labels) < MOST_LABELS:
            found, counts = np.unique(labels[new], return_counts=True)
            most = dict(zip(found.tolist(), counts.tolist(), strict=True))
            self.labels.update(dict(islice(most.items(), MOST_LABELS)))


Beyond = Literal["ignore", "warn", "add"]


class TextRowSource:
    """Files of one text format whose rows have labels and views.

    ``views`` are what each view holds, as the file names it (None: see the formats).  A view whose
    columns are hashed or folded has 2 to the power of ``hash_bits`` slots.  Batches have the
    ``tags`` of rows, where the format has some.  How many bytes are read at a time changes no
    result.  Columns ``beyond`` those of the views are passed over, with a warning for "warn", or
    added to them for "add".
    """

    format: ClassVar[str]

    def __init__(
        self,
        files: list[str],
        views: Mapping[str, Any] | None = None,
        hash_bits: int = 18,
        tags: bool = False,
        part_bytes: int = PART_BYTES,
        beyond: Beyond = "ignore",
    ) -> None:
        if not 1 <= hash_bits <= 30:
            raise InputError(f"{argument(hash_bits=hash_bits)}; give a number from 1 to 30")
        self.files: Sequence[str] = files
        self.n_rows: int | None = None
        self.hash_bits = hash_bits
        self._given = None if views is None else column_lists(views)
        self._tags = tags
        self._part_bytes = part_bytes
        self._beyond = beyond
        self._first_pass: FirstPass | None = None
        self._under_way: Background[FirstPass] | None = None
        self._layout: ViewLayout | None = None

    # --- what a format says ----------------------------------------------------------------

    def _scanner(self) -> Parser:
        """A parser that keeps no entries, but what the columns are."""
        raise NotImplementedError

    def _parser(self) -> Parser:
        """A parser of the views."""
        raise NotImplementedError

    def _parts(self) -> dict[str, dict[str, int]]:
        """The parts of each view, as files name them, and how many columns each has."""
        raise NotImplementedError

    # --- what is known before the rows are read --------------------------------------------

    @property
    def reading(self) -> dict[str, Any]:
        """Arguments that read other files in the same way."""
        return {"format": self.format, "views": self._views(), "hash_bits": self.hash_bits}

    @property
    def is_open(self) -> bool:
        """Whether views reach as far as the columns of the files: no others were asked for."""
        return False

    def _beyond_views(self, parser: Any) -> str | None:
        """Return which columns a parser of rows has passed over, beside those of the views."""
        return None

    def _views(self) -> dict[str, list[str]]:
        """The parts of each view, with which another file is read without a first pass."""
        return {view: list(parts) for view, parts in self._parts().items()}

    @property
    def layout(self) -> ViewLayout:
        """Names and widths of the views."""
        if self._layout is None:
            parts = self._parts()
            layout = ViewLayout(list(parts), [sum(own.values()) for own in parts.values()])
            if layout.n_columns > MOST_COLUMNS:
                raise InputError(
                    f"its views have {layout.n_columns:,} columns, and {MOST_COLUMNS:,} is the "
                    f"most; give ranges of columns with {argument('views')}",
                    file=self.files[0],
                )
            self._layout = layout
        return self._layout

    def first_pass(self) -> FirstPass:
        """Return what a pass over the files finds out; it is made once."""
        if self._first_pass is None:
            self.start_first_pass()
            assert self._under_way is not None
            self._first_pass = self._under_way.result()
            self.n_rows = self._first_pass.n_rows
        return self._first_pass

    def start_first_pass(self) -> None:
        """Begin the first pass in a thread, while others load what comes after it."""
        if self._under_way is None:
            self._under_way = Background(self._make_first_pass)

    def _make_first_pass(self) -> FirstPass:
        found, scanner = FirstPass(), self._scanner()
        for file in self.files:
            for part in read_parts(file, ROWS_OF_FIRST_PASS, scanner, self._part_bytes):
                found.count(part.rows.labels[: part.n_rows], file, part.first_row)
        return found

    @property
    def blocks(self) -> list[str]:
        """The files."""
        return list(self.files)

    def of_blocks(self, blocks: Sequence[str]) -> Self:
        """Return the rows of some files only; their views need no pass over others."""
        beyond: Beyond = "warn" if self._beyond == "warn" else "ignore"
        return type(self)(list(blocks), self._views(), self.hash_bits, beyond=beyond)

    # --- rows ------------------------------------------------------------------------------

    def batches(self, batch_rows: int) -> Iterator[Batch]:
        """Yield the rows."""
        layout, parser = self.layout, self._parser()
        for file in self.files:
            for part in read_parts(file, batch_rows, parser, self._part_bytes):
                labels = whole_labels(part.rows.labels[: part.n_rows])
                X = MultiView.from_matrix(_matrix(part, layout), layout)
                yield Batch(X, file, part.first_row, labels, **part.extras)
        others = None if self._beyond == "ignore" else self._beyond_views(parser)
        if others is not None:
            how = "on all rows anew" if self._beyond == "add" else "on these rows, too"
            warnings.warn(
                f"the rows have {others}, which the model has not learned: passed over; "
                f"train {how}",
                UnusedColumnsWarning,
                stacklevel=2,
            )


def _matrix(part: Part, layout: ViewLayout) -> sp.csr_array:
    n = int(part.rows.indptr[part.n_rows])
    # indices of the narrower type of the two would be copied
    kind = np.int32 if n <= np.iinfo(np.int32).max else np.int64
    indptr = part.rows.indptr[: part.n_rows + 1].astype(kind)
    indices = part.rows.indices[:n].view(np.int32)
    shape = (part.n_rows, layout.n_columns)
    matrix = sp.csr_array((part.rows.values[:n], indices, indptr), shape=shape)
    matrix.has_canonical_format = True
    return matrix


def column_lists(views: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the parts of each view as text, given as ``"1:1840"``, ``"0,3"``, lists or numbers."""
    if not isinstance(views, Mapping):
        raise InputError(
            f"{argument('views')} maps a name to columns, such as {{'page': '1:1840'}}: {views!r}"
        )
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
