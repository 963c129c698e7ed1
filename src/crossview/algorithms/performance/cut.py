"""A labeling as a cutting plane."""

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
