"""Machines that learned different rows, as one."""

from __future__ import annotations

import numpy as np

from crossview.algorithms import merging
from crossview.errors import InputError
from crossview.estimators.base import Parts
from crossview.kernels.merged import total

__all__ = ["merged_state"]

# what follows from the parameters, the columns and the random numbers
SAME = ("class_ids", "seed", "views", "column_offset", "ends", "ptr")


def merged_state(parts: Parts) -> dict[str, np.ndarray]:
    """Return the mean of the parameters, and AdaGrad's sums of all rows.

    A column that some models have not seen has the mean of those that have: the others still have
    its initial weights, which they do not store.  The sums are those of squared gradients over all
    rows, so after a merge the step is that of a machine that has learned all of them.
    """
    merged = {name: parts.states[0][name] for name in SAME}
    for state in parts.states[1:]:
        if not all(np.array_equal(state[name], merged[name]) for name in ("class_ids", "seed")):
            raise InputError(
                "machines with other initial weights have no mean; give them the same random_state "
                "and classes, or let them go on from copies of one model"
            )
    seen = parts.of("seen")
    merged["seen"] = np.logical_or.reduce(seen)
    for name, of_slots, layer in (("A", True, 1), ("B", False, 1), ("c", False, 0)):
        values = parts.of(name)
        theta = [np.take(value, [0], axis=layer) for value in values]
        sums = [np.delete(value, 0, axis=layer) for value in values]
        start = np.delete(parts.start[name], 0, axis=layer)
        mean = (
            merging.seen_mean(theta, seen, parts.shares)
            if of_slots
            else merging.mean(theta, parts.shares)
        )
        merged[name] = np.concatenate([mean, total(sums, start)], axis=layer)
    return merged
