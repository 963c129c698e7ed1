"""Short lists, many at a time: each step is the same for all of them, and has no branch."""

from crossview._jit import inlined_borrowing
from crossview.kernels.rows import ONE, ZERO


@inlined_borrowing
def sort_lanes(keys, begin, n):
    """Sort ``keys[begin:begin + n, lane]``, for each lane.

    Merge exchange (Batcher 1968; Knuth 1998, vol. 3, algorithm 5.2.2 M), in its symbols.  Which two
    keys a step compares does not depend on what they are, so a step of all lanes is a few
    instructions of the processor.
    """
    top = ONE
    while top + top < n:
        top += top
    p = top if n > ONE else ZERO
    while p > ZERO:
        q, r, d = top, ZERO, p
        while True:
            for i in range(n - d):
                if i & p == r:
                    order_two(keys, begin + i, begin + i + d)
            if q == p:
                break
            d, q, r = q - p, q >> ONE, p
        p >>= ONE


@inlined_borrowing
def order_two(keys, a, b):
    """Exchange two keys of each lane where the first one is larger."""
    for lane in range(keys.shape[1]):
        x, y = keys[a, lane], keys[b, lane]
        keys[a, lane], keys[b, lane] = min(x, y), max(x, y)
