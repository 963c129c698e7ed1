"""What the grammars share: the state of a parser, the rows it has read, and words.

A parser takes whole lines, and goes on where it stopped: at the end of the text, where the arrays
are full, or at a wrong byte.
"""

from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing, inlined_borrowing
from crossview.kernels.rows import ONE, TWO
from crossview.kernels.text.numbers import is_digit, read_number

NEWLINE, HASH, COLON, BAR, QUOTE = (ord(c) for c in "\n#:|'")
MAX_FLOAT = np.finfo(np.float64).max

# a parser's state: where it is in the text, and where the text ends (both at the start of a line);
# the rows and entries so far, the lines before the position, where a wrong byte is, and whether
# rows are left that are not sorted
POSITION, END, ROW, ENTRY, LINE, WRONG, UNSORTED, N_STATE = range(8)

# what a parser returns: all is read, there is no room, or what is wrong
DONE, FULL, BAD_LABEL, NO_LABEL, BAD_FIELD, BAD_INDEX, BAD_VALUE, TOO_LARGE, TWICE = range(9)
NO_BAR, BAD_WEIGHT, HAS_BASE, NEW_NAMESPACE = range(9, 13)

MAX_INDEX_DIGITS = np.uint64(18)
# rows of more entries are left to SciPy, if they are not sorted
MOST_SORTED = np.uint64(64)


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
    """Whether a byte is white space."""
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


@borrowing
def sort_row(rows, first, entry, adds):
    """Sort the entries of a row from ``first``; returns its end, and what is wrong.

    The place of an entry is the number of those before it, which needs no branch.  Entries of the
    same slot are added up in their order if ``adds``, and are an error otherwise.
    """
    indices, values = rows.indices, rows.values
    if entry + entry - first > np.uint64(len(indices)):
        return entry, FULL
    for i in range(first, entry):
        slot, place = indices[i], entry
        for j in range(first, i):
            place += np.uint64(indices[j] <= slot)
        for j in range(i, entry):
            place += np.uint64(indices[j] < slot)
        indices[place], values[place] = slot, values[i]
    end = first
    for i in range(entry, entry + entry - first):
        if end > first and indices[end - ONE] == indices[i]:
            if not adds:
                return entry, TWICE
            values[end - ONE] += values[i]
        else:
            indices[end], values[end] = indices[i], values[i]
            end += ONE
    return end, DONE


@inlined_borrowing
def end_row(at, rows, entry, is_sorted, adds):
    """Finish a row with the entries up to here; returns what is wrong."""
    row, first, status = at[ROW], at[ENTRY], DONE
    if not is_sorted:
        if entry - first > MOST_SORTED:
            at[UNSORTED] = ONE
        else:
            entry, status = sort_row(rows, first, entry, adds)
    if status == DONE:
        rows.lines[row], rows.indptr[row + ONE] = at[LINE], entry
        at[ROW], at[ENTRY] = row + ONE, entry
    return status
