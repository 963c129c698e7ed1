"""The grammar of svmlight and LIBSVM: ``label [qid:n] index:value ... [# comment]``."""

import numpy as np

from crossview._jit import borrowing, inlined_borrowing
from crossview.kernels.rows import ONE, TWO, ZERO
from crossview.kernels.text.numbers import is_digit
from crossview.kernels.text.parsing import (
    BAD_INDEX,
    DONE,
    END,
    ENTRY,
    FULL,
    HASH,
    LINE,
    NEWLINE,
    POSITION,
    ROW,
    WRONG,
    end_row,
    ends_word,
    line_end,
    read_index,
    read_label,
    read_value,
    skip_blanks,
)


@borrowing
def parse_svmlight(text, at, ranges, seen, rows):
    """Read rows until the text ends, there is no room, or a byte is wrong.

    Range r has the columns from ``ranges[r, 0]`` to ``ranges[r, 1]``, of which the first one is the
    slot ``ranges[r, 2]``; other columns are passed over.  ``seen`` keeps the lowest and the highest
    column of all.
    """
    p, status = at[POSITION], DONE
    while p < at[END] and at[ROW] < np.uint64(len(rows.labels)):
        p = skip_blanks(text, p)
        if text[p] == NEWLINE or text[p] == HASH:
            p = line_end(text, p) + ONE
        else:
            rows.labels[at[ROW]], q, status = read_label(text, p)
            if status == DONE:
                p, status = _read_entries(text, _skip_query(text, q), at, ranges, seen, rows)
            if status != DONE:
                at[WRONG] = p
                return status
            p += ONE
        at[LINE] += ONE
        at[POSITION] = p
    return status


@inlined_borrowing
def _skip_query(text, p):
    """Behind ``qid:n``, where it is there: rows are not ranked."""
    p = skip_blanks(text, p)
    if text[p] == 113 and text[p + ONE] == 105:
        q = p + TWO
        if text[q] == 100 and text[q + ONE] == 58:
            q += TWO
            digits = q
            while is_digit(text[q]):
                q += ONE
            if q > digits and ends_word(text[q]):
                return q
    return p


@inlined_borrowing
def _read_entries(text, p, at, ranges, seen, rows):
    """Read the entries of a row; returns where they end, or what is wrong and where."""
    entry, first, r = at[ENTRY], at[ENTRY], ZERO
    n_ranges, is_sorted = np.uint64(len(ranges)), True
    lowest, highest = seen[0], seen[1]
    while True:
        p = skip_blanks(text, p)
        if text[p] == NEWLINE or text[p] == HASH:
            break
        index, q, is_index = read_index(text, p)
        if not is_index:
            return p, BAD_INDEX
        value, q, status = read_value(text, q + ONE)
        if status != DONE:
            return p, status
        lowest, highest = min(lowest, index), max(highest, index)
        if r > ZERO and index < ranges[r - ONE, 1]:
            r = ZERO
        while r < n_ranges and index > ranges[r, 1]:
            r += ONE
        if r < n_ranges and index >= ranges[r, 0]:
            if entry == np.uint64(len(rows.indices)):
                return p, FULL
            slot = np.uint32(index - ranges[r, 0] + ranges[r, 2])
            is_sorted &= entry == first or rows.indices[entry - ONE] < slot
            rows.indices[entry], rows.values[entry] = slot, value
            entry += ONE
        p = q
    seen[0], seen[1] = lowest, highest
    end_row(at, rows, entry, is_sorted)
    return line_end(text, p), DONE
