"""A labeling as a cutting plane, when to stop, and what was found."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Cut(NamedTuple):
    """A labeling: the slack is at least ``delta - s·f``."""

    delta: float
    s: np.ndarray  # (n,)


# from the scores of all rows to the most violated labeling, the one of largest delta - s·f; with
# ``truth=False`` the true labeling does not count
Search = Callable[..., Cut]


class Stopping(NamedTuple):
    """When to stop."""

    tol: float  # at this relative gap
    max_iter: int  # or after so many rounds


class Solution(NamedTuple):
    """Weights, and how the optimization went."""

    w: np.ndarray
    history: np.ndarray  # (n_iter, 2): the bound, and the best value so far or that of the round
    gap: float  # between the two at the end, relative to the value
    size: int  # cuts in the last program


def relative_gap(value: float, bound: float) -> float:
    """Return (value - bound) / value; over the size of the larger if they may be negative."""
    size = max(abs(value), abs(bound))
    return max(0.0, value - bound) / size if size > 0.0 else 0.0
