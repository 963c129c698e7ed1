"""The grammar of libffm: ``label field:index:value ...``."""

import numpy as np

from crossview._jit import borrowing, inlined_borrowing
from crossview.kernels.rows import ONE
from crossview.kernels.text.parsing import (
    BAD_FIELD,
    BAD_INDEX,
    DONE,
    END,
    ENTRY,
    FULL,
    LINE,
    NEWLINE,
    POSITION,
    ROW,
    WRONG,
    end_row,
    read_index,
    read_label,
    read_value,
    skip_blanks,
)


@borrowing
def parse_libffm(text, at, fields, seen, rows):
    """Read rows until the text ends, there is no room, or a byte is wrong.

    ``fields[f]`` says of field f its lowest index, the slot of that, the number of its slots, and
    whether all its indices are folded into them, ``(index - lowest) mod n``; otherwise those beyond
    are passed over.  ``seen[f]`` keeps the lowest and the highest index of field f.
    """
    p, status = at[POSITION], DONE
    while p < at[END] and at[ROW] < np.uint64(len(rows.labels)):
        p = skip_blanks(text, p)
        if text[p] != NEWLINE:
            rows.labels[at[ROW]], q, status = read_label(text, p)
            if status == DONE:
                p, status = _read_entries(text, q, at, fields, seen, rows)
            if status != DONE:
                at[WRONG] = p
                return status
        p += ONE
        at[LINE] += ONE
        at[POSITION] = p
    return status


@inlined_borrowing
def _read_entries(text, p, at, fields, seen, rows):
    """Read the entries of a row; returns where they end, or what is wrong and where."""
    entry, first, is_sorted = at[ENTRY], at[ENTRY], True
    while True:
        p = skip_blanks(text, p)
        if text[p] == NEWLINE:
            break
        field, q, is_field = read_index(text, p)
        if not is_field or field >= len(fields):
            return p, BAD_FIELD
        index, q, is_index = read_index(text, q + ONE)
        if not is_index:
            return p, BAD_INDEX
        value, q, status = read_value(text, q + ONE)
        if status != DONE:
            return p, status
        f = np.uint64(field)
        seen[f, 0], seen[f, 1] = min(seen[f, 0], index), max(seen[f, 1], index)
        lowest, slot, n_slots, folded = fields[f]
        index -= lowest
        if folded:
            index &= n_slots - 1
        if 0 <= index < n_slots:
            if entry == np.uint64(len(rows.indices)):
                return p, FULL
            slot = np.uint32(slot + index)
            is_sorted &= entry == first or rows.indices[entry - ONE] < slot
            rows.indices[entry], rows.values[entry] = slot, value
            entry += ONE
        p = q
    end_row(at, rows, entry, is_sorted)
    return p, DONE
