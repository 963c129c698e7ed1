"""The grammar of Vowpal Wabbit.

A line is ``[label [weight]] ['tag]|namespace[:scale] name[:value] ... |...``.  A name that is a
whole number is a slot, modulo the number of slots; another one is hashed as scikit-learn's
FeatureHasher does it.
"""

from typing import NamedTuple

import numpy as np

from crossview._jit import borrowing, inlined_borrowing
from crossview.kernels.rows import EIGHT, ONE, ZERO
from crossview.kernels.text.names import hash_bytes
from crossview.kernels.text.numbers import is_digit, read_number
from crossview.kernels.text.parsing import (
    BAD_LABEL,
    BAD_VALUE,
    BAD_WEIGHT,
    BAR,
    COLON,
    DONE,
    END,
    ENTRY,
    FULL,
    HAS_BASE,
    LINE,
    MAX_FLOAT,
    MAX_INDEX_DIGITS,
    NEW_NAMESPACE,
    NEWLINE,
    NO_BAR,
    POSITION,
    QUOTE,
    ROW,
    TOO_LARGE,
    WRONG,
    end_row,
    ends_word,
    skip_blanks,
)
from crossview.kernels.text.words import bytes_below, equal_bytes, first_mark, load_word

FNV_START, FNV_FACTOR = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
# the bytes of a name: all but white space, the bar and the colon
IN_NAME = np.array([chr(c) not in " \t\n\v\f\r|:" for c in range(256)])
# the first slot of a namespace that is in no view
NO_SLOT = -1


class VwRows(NamedTuple):
    """Weights and tags of rows."""

    weights: np.ndarray  # float64 (n_rows,)
    tags: np.ndarray  # uint64 (n_rows, 2): begin and end in the text


class Namespaces(NamedTuple):
    """The known namespaces."""

    hashes: np.ndarray  # uint64 (n,): of their names
    slots: np.ndarray  # int64 (n,): the first slot of their view, or `NO_SLOT`
    mask: int  # the number of slots of a view, less 1


@borrowing
def parse_vw(text, at, spaces, more, rows):
    """Read rows until the text ends, there is no room, a namespace is new, or a byte is wrong."""
    p, status = at[POSITION], DONE
    while p < at[END] and at[ROW] < np.uint64(len(rows.labels)):
        p = skip_blanks(text, p)
        if text[p] != NEWLINE:
            p, status = _read_label(text, p, at[ROW], more, rows)
            if status == DONE:
                p, status = _read_namespaces(text, p, at, spaces, rows)
            if status != DONE:
                at[WRONG] = p
                return status
        p += ONE
        at[LINE] += ONE
        at[POSITION] = p
    return status


@inlined_borrowing
def ends_name(c):
    """Return whether a byte ends a name or a value: white space, or the bar of a namespace."""
    return c == BAR or ends_word(c)


@borrowing
def _read_label(text, p, row, more, rows):
    """Read what is before the first bar; returns where that is, or what is wrong and where."""
    rows.labels[row], more.weights[row] = np.nan, 1.0
    more.tags[row, 0], more.tags[row, 1] = p, p
    n_words = 0
    while text[p] != BAR:
        if text[p] == NEWLINE:
            return p, NO_BAR
        q = p
        while not ends_name(text[q]):
            q += ONE
        if text[p] == QUOTE or text[q] == BAR:
            more.tags[row, 0], more.tags[row, 1] = p + np.uint64(text[p] == QUOTE), q
            p = skip_blanks(text, q)
            return p, DONE if text[p] == BAR else BAD_LABEL
        number, end = read_number(text, p)
        if n_words == 0:
            rows.labels[row] = number
            if end != q or abs(number) > MAX_FLOAT:
                return p, BAD_LABEL
        elif n_words == 1:
            more.weights[row] = number
            if end != q or not 0.0 <= number <= MAX_FLOAT:
                return p, BAD_WEIGHT
        elif n_words > 2 or end != q or number != 0.0:
            return p, HAS_BASE
        n_words += 1
        p = skip_blanks(text, q)
    return p, DONE


@inlined_borrowing
def _read_namespaces(text, p, at, spaces, rows):
    """Read the namespaces of a row; returns where they end, or what is wrong and where."""
    entry, space, is_sorted = at[ENTRY], ZERO, True
    while text[p] == BAR:
        name = p + ONE
        q, found = name, FNV_START
        while IN_NAME[text[q]]:
            found = (found ^ np.uint64(text[q])) * FNV_FACTOR
            q += ONE
        space = _find(spaces.hashes, found, space)
        if space == np.uint64(len(spaces.hashes)):
            return name, NEW_NAMESPACE
        scale = 1.0
        if text[q] == COLON:
            scale, end, status = _read_value(text, q, 1.0)
            if status != DONE:
                return q + ONE, status
            q = end
        if spaces.slots[space] == NO_SLOT:
            p, status = _check_features(text, q, scale)
        else:
            place = (at[ENTRY], entry, is_sorted)
            slots = (spaces.slots[space], spaces.mask)
            p, entry, is_sorted, status = _read_features(text, q, place, slots, scale, rows)
        if status != DONE:
            return p, status
    end_row(at, rows, entry, is_sorted)
    return p, DONE


@inlined_borrowing
def _find(hashes, found, last):
    """The position of a hash, from that of the last one on; the number of hashes if it is new."""
    n = np.uint64(len(hashes))
    for k in range(n):
        at = last + np.uint64(k)
        at -= n if at >= n else ZERO
        if hashes[at] == found:
            return at
    return n


@borrowing
def _check_features(text, p, scale):
    """Check the values of features up to a bar or the end of the line, and keep none."""
    while True:
        word = load_word(text, p)
        marks = equal_bytes(word, BAR) | equal_bytes(word, COLON) | equal_bytes(word, NEWLINE)
        if marks == ZERO:
            p += EIGHT
            continue
        p += first_mark(marks)
        if text[p] != COLON:
            return p, DONE
        _, end, status = _read_value(text, p, scale)
        if status != DONE:
            while IN_NAME[text[p - ONE]]:
                p -= ONE
            return p, status
        p = end


@inlined_borrowing
def _read_value(text, p, scale):
    """The value after the colon at p, scaled, where it ends, and what is wrong."""
    value, end = read_number(text, p + ONE)
    if end == p + ONE or not ends_name(text[end]):
        return value, end, BAD_VALUE
    value *= scale
    return value, end, DONE if abs(value) <= MAX_FLOAT else TOO_LARGE


@borrowing
def _read_features(text, p, place, slots, scale, rows):
    """Read features up to a bar or the end of the line."""
    first, entry, is_sorted = place
    base, mask = slots
    anonymous = 0
    while True:
        p = skip_blanks(text, p)
        if text[p] == NEWLINE or text[p] == BAR:
            return p, entry, is_sorted, DONE
        q = name_end = _name_end(text, p)
        value = scale
        if text[q] == COLON:
            value, q, status = _read_value(text, q, scale)
            if status != DONE:
                return p, entry, is_sorted, status
        if entry == np.uint64(len(rows.indices)):
            return p, entry, is_sorted, FULL
        if name_end == p:  # without a name: the position among such
            slot = anonymous
            anonymous += 1
        else:
            slot = _slot_of(text, p, name_end)
        slot = np.uint32(base + (slot & mask))
        is_sorted &= entry == first or rows.indices[entry - ONE] < slot
        rows.indices[entry], rows.values[entry] = slot, value
        entry += ONE
        p = q


@inlined_borrowing
def _name_end(text, p):
    """The first byte from p that is not in a name."""
    while True:
        word = load_word(text, p)
        marks = bytes_below(word, 33) | equal_bytes(word, BAR) | equal_bytes(word, COLON)
        if marks == ZERO:
            p += EIGHT
            continue
        p += first_mark(marks)
        if not IN_NAME[text[p]]:
            return p
        p += ONE


@inlined_borrowing
def _slot_of(text, start, end):
    """The number that a name is, or its hash."""
    if end - start <= MAX_INDEX_DIGITS:
        number, p = 0, start
        while is_digit(text[p]):
            number = number * 10 + np.int64(text[p]) - 48
            p += ONE
        if p == end:
            return number
    return np.int64(hash_bytes(text, start, end))
