"""The weights with which columns and bias rows begin.

A column's weights are a hash of its position (seed, view, column, class, factor), so they are the
same whenever the column first comes, and a hashed space of many slots need not be filled.
"""

import math

import numpy as np

from crossview._jit import borrowing, inlined, inlined_borrowing, njit
from crossview.algorithms.machines.state import (
    FACTORIZED,
    MULTI_VIEW,
    find_views,
    has_view,
)
from crossview.kernels.lanes import Entries
from crossview.kernels.rows import FOUR, ONE, ZERO

HALF = np.uint64(32)


@inlined
def mix(z):
    """SplitMix64's output function (Steele, Lea, Flood 2014)."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inlined
def uniform(key, row, column):
    """Return a number in (0, 1) that depends on the arguments only."""
    bits = mix(mix(key + row) + column)
    return (float(bits >> np.uint64(11)) + 0.5) * 2.0**-53


@inlined
def normal(key, row, column):
    """Return a number from N(0, 1) that depends on the arguments only (Box and Muller 1958)."""
    angle = 2.0 * math.pi * uniform(key + FOUR, row, column)
    return math.sqrt(-2.0 * math.log(uniform(key, row, column))) * math.cos(angle)


def part_keys(seed: int, n_parts: int) -> np.ndarray:
    """Return the seed of each part's initial weights."""
    with np.errstate(over="ignore"):
        seeds = mix(np.asarray([seed], dtype=np.uint64)) + np.arange(n_parts, dtype=np.uint64)
        return np.asarray(mix(seeds))


@inlined_borrowing
def factor_id(machine, a, f):
    """Return a number for factor f of class a that stays the same when classes are added."""
    return (machine.class_ids[a] << HALF) + np.uint64(f)


@borrowing
def init_column(machine, p, slot, position):
    """A_slot,f <- N(0, size_p²), or 0 for linear weights; ``position`` is the column's in its view.

    Columns that first come later have the weights that they would have had from the start.
    """
    K = machine.class_ids.shape[0]
    k = machine.B.shape[2] // K
    n_linear = 1 if machine.model in FACTORIZED else 0
    key, row, size = machine.keys[p], np.uint64(position) + ONE, machine.sizes[p]
    if size > 0.0:
        for a in range(K):
            for f in range(n_linear, k):
                machine.A[slot, 0, a * k + f] = size * normal(key, row, factor_id(machine, a, f))
    machine.seen[slot] = True


@inlined_borrowing
def init_new_columns(x, j, entries, machine, p, first_column):
    """Initialize the columns of these entries that no row had before."""
    lo, hi, offset, column_offset = entries
    seen = machine.seen
    all_seen = True
    for q in range(lo, hi):
        all_seen &= seen[j[q - offset] + column_offset]
    if not all_seen:
        for q in range(lo, hi):
            slot = j[q - offset] + column_offset
            if x[q] != 0.0 and not seen[slot]:
                init_column(machine, p, slot, j[q - offset] - first_column)


@njit
def init_touched_columns(rows, order, machine):
    """Initialize all columns that the rows in ``order`` touch."""
    views, ptr = machine.views, rows.ptr
    entry_ptr = np.empty(ptr.shape[0], np.uint64)
    for s in range(order.shape[0]):
        offset = find_views(rows, order[s], entry_ptr)
        for p in range(views.shape[0]):
            v = views[p]
            if has_view(rows.present, order[s], v):
                entries = Entries(
                    entry_ptr[v], entry_ptr[v + ONE], offset, machine.column_offset[p]
                )
                init_new_columns(rows.data, rows.indices, entries, machine, p, ptr[v])


@njit
def init_seen_columns(machine, ptr):
    """Initialize all columns that are marked as seen."""
    for p in range(machine.views.shape[0]):
        v = machine.views[p]
        for column in range(ptr[v], ptr[v + ONE]):
            slot = column + machine.column_offset[p]
            if machine.seen[slot]:
                init_column(machine, p, slot, column - ptr[v])


@njit
def init_bias_rows(machine, size):
    """B_p,f <- random signs times (1/k)^(1/m), m parts in a group; N(0, size²) if ``size`` > 0.

    With signs the product of a group's bias rows is 1/k in size, and no gradient vanishes however
    many views there are.  With the paper's N(0, size²) gradients are about size^(m-1).
    A group of one part is linear in it and begins at 0.
    """
    k = machine.B.shape[2] // machine.class_ids.shape[0]
    first = ZERO
    for group in range(machine.ends.shape[0]):
        m = machine.ends[group] - first
        for p in range(first, machine.ends[group]):
            for f in range(machine.B.shape[2]):
                own = factor_id(machine, f // k, f % k)
                if m > ONE and machine.model == MULTI_VIEW:
                    if size > 0.0:
                        machine.B[p, 0, f] = size * normal(machine.keys[p], ZERO, own)
                    else:
                        sign = 1.0 if uniform(machine.keys[p], ZERO, own) > 0.5 else -1.0
                        machine.B[p, 0, f] = sign * float(k) ** (-1.0 / float(m))
        first = machine.ends[group]
