"""Text to parsed rows: a parser that goes on where it stopped, and what is wrong where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from crossview.data.prefetch import prefetch
from crossview.data.readers.whole_lines import PART_BYTES, whole_lines
from crossview.errors import InputError
from crossview.kernels.text import rows as grammar
from crossview.kernels.text.rows import TextRows

__all__ = ["Parser", "Part", "read_parts"]

FIRST_ROOM = 1 << 16
_SHOWN = 40


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
    n_entries: int
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
    return Part(rows, n_rows, int(rows.indptr[n_rows]), first_row, parser.extras(n_rows))
