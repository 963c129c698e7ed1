"""State of a parser, rows that it has read, and words, for all text formats.

A parser takes whole lines, and goes on where it stopped: at the end of the text, where the arrays
are full, or at a wrong byte.
"""

from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing, inlined_borrowing
from crossview.kernels.rows import ONE, TWO, ZERO
from crossview.kernels.sorting import sort_lanes
from crossview.kernels.text.numbers import is_digit, read_number

NEWLINE, HASH, COLON, BAR, QUOTE = (ord(c) for c in "\n#:|'")
MAX_FLOAT = np.finfo(np.float64).max

# a parser's state: where it is in the text, and where the text ends (both at the start of a line);
# the rows and entries so far, the lines before the position, where a wrong byte is, and whether
# rows are left that are not sorted
POSITION, END, ROW, ENTRY, LINE, WRONG, UNSORTED, N_STATE = range(8)

# what a parser returns: all is read, there is no room, or what is wrong
DONE, FULL, BAD_LABEL, NO_LABEL, BAD_FIELD, BAD_INDEX, BAD_VALUE, TOO_LARGE = range(8)
NO_BAR, BAD_WEIGHT, HAS_BASE, NEW_NAMESPACE = range(8, 12)

MAX_INDEX_DIGITS = np.uint64(18)
# rows that are sorted together, if none has more entries than `LONG`
LANES, LONG = 16, 4096
# a key is a slot, and below it the place of an entry in its row
BITS, PLACE, AT_END = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFFFFFFFFFFFF)


class TextRows(NamedTuple):
    """The rows that a parser has read."""

    labels: np.ndarray  # float64 (n_rows,): NaN where there is none
    lines: np.ndarray  # uint64 (n_rows,): the line of each, from 0
    indptr: np.ndarray  # uint64 (n_rows + 1,)
    indices: np.ndarray  # uint32 (n_entries,)
    values: np.ndarray  # float64 (n_entries,)


@inlined_borrowing
def skip_blanks(text, p):
    """The first byte from p that is no white space within a line."""
    while text[p] == 32 or (9 <= text[p] <= 13 and text[p] != NEWLINE):
        p += ONE
    return p


@inlined_borrowing
def ends_word(c):
    """Return whether a byte is white space."""
    return c == 32 or 9 <= c <= 13


@borrowing
def line_end(text, p):
    """The newline that ends the line of p."""
    while text[p] != NEWLINE:
        p += ONE
    return p


@borrowing
def read_label(text, p):
    """The label at p, where it ends, and what is wrong; nan is a missing label."""
    label, q = read_number(text, p)
    if q == p and text[p] | 32 == 110 and text[p + ONE] | 32 == 97 and text[p + TWO] | 32 == 110:
        label, q = np.nan, p + ONE + TWO
    if q == p or not ends_word(text[q]):
        return label, q, NO_LABEL if text[q] == COLON else BAD_LABEL
    return label, q, TOO_LARGE if abs(label) > MAX_FLOAT else DONE


@inlined_borrowing
def read_index(text, p):
    """The whole number before a colon at p, where the colon is, and whether it is one."""
    start, index = p, 0
    while is_digit(text[p]):
        index = index * 10 + np.int64(text[p]) - 48
        p += ONE
    return index, p, text[p] == COLON and p > start and p - start <= MAX_INDEX_DIGITS


@inlined_borrowing
def read_value(text, p):
    """The value of an entry at p, where it ends, and what is wrong."""
    if text[p] == 49 and ends_word(text[p + ONE]):  # 1, as most are
        return 1.0, p + ONE, DONE
    value, q = read_number(text, p)
    if q == p or not ends_word(text[q]):
        return value, q, BAD_VALUE
    return value, q, TOO_LARGE if abs(value) > MAX_FLOAT else DONE


@inlined_borrowing
def end_row(at, rows, entry, is_sorted):
    """Finish a row with the entries up to here."""
    row = at[ROW]
    rows.lines[row], rows.indptr[row + ONE] = at[LINE], entry
    at[ROW], at[ENTRY] = row + ONE, entry
    if not is_sorted:
        at[UNSORTED] = ONE


def sort_buffers(longest: int) -> tuple[np.ndarray, np.ndarray]:
    """Allocate what `sort_rows` needs for rows of so many entries at most."""
    n_lanes = LANES if longest <= LONG else 1
    return np.empty((longest, n_lanes), dtype=np.uint64), np.empty(longest * n_lanes)


@borrowing
def sort_rows(rows, n_rows, adds, keys, held):
    """Sort the entries of each row; returns the first row that has a slot twice, or ``n_rows``.

    If ``adds``, entries of the same slot are added up in their order, and no row has one twice.
    """
    _, _, indptr, indices, values = rows
    first = begin = end = ZERO  # where entries were, and where they are now
    while first < n_rows:
        last = min(first + np.uint64(keys.shape[1]), n_rows)
        sort_lanes(keys, ZERO, take_keys(rows, first, last, begin, keys))
        for p in range(begin, indptr[last]):
            held[p - begin] = values[p]
        row, begin = begin, indptr[last]
        place = ZERO  # of the row in ``held``
        for i in range(first, last):
            n, start = indptr[i + ONE] - row, end
            for k in range(n):
                key = keys[k, i - first]
                slot, value = np.uint32(key >> BITS), held[place + (key & PLACE)]
                if end == start or indices[end - ONE] != slot:
                    indices[end], values[end] = slot, value
                    end += ONE
                elif adds:
                    values[end - ONE] += value
                else:
                    return i
            row, place = indptr[i + ONE], place + n
            indptr[i + ONE] = end
        first = last
    return n_rows


@inlined_borrowing
def take_keys(rows, first, last, begin, keys):
    """``keys[k, lane]`` <- slot and place k in its row, of these rows; returns the longest row."""
    longest, p = ZERO, begin
    for i in range(first, last):
        longest, p = max(longest, rows.indptr[i + ONE] - p), rows.indptr[i + ONE]
    p = begin
    for lane in range(np.uint64(keys.shape[1])):
        n = rows.indptr[first + lane + ONE] - p if lane < last - first else ZERO
        for k in range(n):
            keys[k, lane] = np.uint64(rows.indices[p + k]) << BITS | k
        for k in range(n, longest):
            keys[k, lane] = AT_END
        p += n
    return longest
