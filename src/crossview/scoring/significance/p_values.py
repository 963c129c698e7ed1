"""The p of several tests at once, and in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# a p below this is significant
SIGNIFICANT = 0.05


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the p of several tests, adjusted so that all of them together may be read.

    If no difference is real, the chance that any adjusted p is below 0.05 is at most 5 %, however
    the tests depend on each other.  With the m p in ascending order, the adjusted one is the
    highest of ``(m - i + 1) p_i`` up to its own, at most 1 (S. Holm, "A Simple Sequentially
    Rejective Multiple Test Procedure", Scandinavian Journal of Statistics 6, 1979).  None and NaN
    are no tests: they do not count, and stay as they are.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    adjusted = list(p_values)
    tests = sorted((p, i) for i, p in enumerate(p_values) if p is not None and p == p)
    highest = 0.0
    for done, (p, i) in enumerate(tests):
        highest = max(highest, min(1.0, (len(tests) - done) * p))
        adjusted[i] = highest
    return adjusted


def holm_of_pairs(p_values: np.ndarray) -> np.ndarray:
    """Return the p of all pairs of models, adjusted by `holm` for the number of pairs.

    Both are symmetric; the diagonal does not matter, and is then NaN.  For tests against the best
    model, too: the data choose it, so it is the one that chance favors.

    >>> p = np.array([[np.nan, 0.01, 0.04], [0.01, np.nan, 0.03], [0.04, 0.03, np.nan]])
    >>> holm_of_pairs(p)[0].tolist()
    [nan, 0.03, 0.06]
    """
    pairs = np.triu_indices(len(p_values), 1)
    adjusted = np.full(p_values.shape, np.nan)
    adjusted[pairs] = adjusted.T[pairs] = holm(p_values[pairs].tolist())
    return adjusted


def p_in_words(p: float) -> str:
    """Return a p as a sentence has it."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
