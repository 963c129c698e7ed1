"""Machines that learned different rows, as one."""

from __future__ import annotations

import numpy as np

from crossview.algorithms import merging
from crossview.errors import InputError
from crossview.estimators.base import Parts

__all__ = ["merged_state"]

# what follows from the parameters, the columns and the random numbers
SAME = ("class_ids", "seed", "views", "column_offset", "ends", "ptr")


def merged_state(parts: Parts) -> dict[str, np.ndarray]:
    """Return the mean of the parameters, and of AdaGrad's sums.

    A column that some models have not seen has the mean of those that have: the others still have
    its initial weights, which they do not store.  The mean of the sums is that of the start and
    the mean of what each model has added.  The sum of what all have added, as of one stream of
    all rows, would make the steps of later rounds small, where a mean over models is small already.
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
    merged["A"] = merging.seen_mean(parts.of("A"), seen, parts.shares)
    return merged | {name: parts.mean(name) for name in ("B", "c")}
