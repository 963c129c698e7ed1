"""Slots of hashed views that several values share: how many, and what makes them fewer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from crossview.data.encoding.encode import ViewEncoder

# Values per slot from which a view is crowded.  Deviations of users lose .003 of log loss by .5,
# and .005 by 1 (MovieLens; python -m benchmarks evidence personal).
CROWDED = 1.0
# where more slots are touched, nobody knows how many values there are
FULL = 0.99
# slots that are looked at: values are spread evenly over all of them
SAMPLE = 2**20


def crowding_notes(encoder: Any, learner: Any) -> list[str]:
    """Return a line for each hashed view in which values share slots with many others.

    n values leave a share of exp(-n/m) of m slots untouched.  Touched are those with a weight in a
    linear model, of a stack in its first one over all views.
    """
    if not isinstance(encoder, ViewEncoder):
        return []
    weights = _linear_weights(learner, encoder.layout_.n_columns)
    lines = []
    for view, (slots, most_bits) in encoder.slots_of_views().items() if len(weights) else ():
        share = np.count_nonzero(weights[slots][:SAMPLE].any(axis=1)) / min(
            slots.stop - slots.start, SAMPLE
        )
        values = -math.log(1.0 - min(share, FULL))
        if values <= CROWDED:
            continue
        about = "more than" if share >= FULL else "about"
        line = f"view {view!r}: {about} {values:.1f} values share a slot, and its weight"
        bits = min(encoder.hash_bits + math.ceil(math.log2(values / CROWDED)), most_bits)
        if bits > encoder.hash_bits:
            line += f"; give hash_bits={bits}"
        lines.append(line)
    return lines


def _linear_weights(learner: Any, n_columns: int) -> np.ndarray:
    """The weights of a linear model of all views, (n_columns, n_scores); empty: there is none."""
    for _, one, view in getattr(learner, "experts_", [("", learner, None)]):
        weights = getattr(one, "_state", {}).get("W")
        if view is None and weights is not None and weights.ndim == 2 and len(weights) == n_columns:
            return weights
    return np.empty((0, 0))
