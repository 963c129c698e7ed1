"""The strongest interactions: the terms of the score with the largest weight."""

from collections.abc import Iterator
from itertools import combinations, combinations_with_replacement

import numpy as np

from crossview.algorithms.machines.state import ALL_ORDERS, ALL_PAIRS, FACTORIZED, TENSOR

# columns of a view, and combinations, that the beam search keeps
BEAM_WIDTH = 1000


def terms(
    model: int,
    tables: list[np.ndarray],
    B: np.ndarray,
    groups: list[np.ndarray],
    views: np.ndarray,
    highest: int | None = None,
    most: int = 2,
) -> Iterator[tuple[list[int], list[np.ndarray], np.ndarray]]:
    """Yield the interactions of one class: for each combination of views parts, A, constant.

    The weight of columns i_1, i_2, ... of these views is sum_f constant_f prod_v A_v[i_v, f].
    ``highest``: the highest order wanted; None: all.  ``most``: that of a factorization machine.
    """
    if model in FACTORIZED:
        for p, A in enumerate(tables):
            yield [p], [A[:, :1]], np.ones(1)
        all_columns = model in (ALL_PAIRS, ALL_ORDERS)
        choose = combinations_with_replacement if all_columns else combinations
        for order in range(2, min(highest or most, most) + 1):
            for chosen in choose(range(len(tables)), order):
                yield list(chosen), [tables[p][:, 1:] for p in chosen], np.ones(B.shape[1] - 1)
        return
    if model == TENSOR:
        yield list(range(len(tables))), tables, np.ones(B.shape[1])
        return
    # a combination may be in several groups: their factors next to each other
    found: dict[tuple[int, ...], list[tuple[list[int], np.ndarray]]] = {}
    for group in groups:
        for order in range(1, min(highest or len(group), len(group)) + 1):
            for parts in combinations(group.tolist(), order):
                parts = tuple(sorted(parts, key=lambda p: int(views[p])))
                others = [p for p in group if p not in parts]
                key = tuple(int(views[p]) for p in parts)
                found.setdefault(key, []).append((list(parts), np.prod(B[others], axis=0)))
    for where in found.values():
        factors = [
            np.hstack([tables[p] for p in same])
            for same in zip(*(w[0] for w in where), strict=True)
        ]
        yield where[0][0], factors, np.concatenate([constant for _, constant in where])


def strongest(
    parts: list[np.ndarray], constant: np.ndarray, top: int, same: list[bool]
) -> list[tuple[tuple[int, ...], float]]:
    """Return the combinations, one row per part, with the largest |sum_f c_f prod_p A_p[i_p, f]|.

    ``same``: whether each part is the one before; different rows of it count once, in their order.
    Exact for one part, and for two of at most `BEAM_WIDTH` rows.  Else a beam search that keeps
    the `BEAM_WIDTH` rows, and then combinations, with the largest bound:
    the sum of the absolute products, with the largest row for the remaining parts.
    """
    largest = [np.abs(A).max(axis=0, initial=0.0) for A in parts]
    beam, products = np.zeros((1, 0), dtype=np.intp), constant[None, :]
    for p, A in enumerate(parts):
        before = np.abs(constant) * np.prod(largest[:p], axis=0)
        after = np.prod(largest[p + 1 :], axis=0)
        rows = np.arange(len(A))
        if len(parts) > 1:
            rows = rows[_largest(np.abs(A) @ (before * after), BEAM_WIDTH)]
        if p < len(parts) - 1:
            values, most = np.abs(products) @ (np.abs(A[rows]) * after).T, BEAM_WIDTH
        else:
            values, most = products @ A[rows].T, top
        if same[p]:
            values[beam[:, -1:] >= rows] = 0.0
        keep = _largest(np.abs(values).ravel(), most)
        keep = keep[values.ravel()[keep] != 0.0]
        old, new = np.unravel_index(keep, values.shape)
        beam = np.column_stack([beam[old], rows[new]])
        products = products[old] * A[rows[new]]
    return [
        (tuple(chosen), weight)
        for chosen, weight in zip(beam.tolist(), products.sum(axis=1).tolist(), strict=True)
    ]


def _largest(values: np.ndarray, n: int) -> np.ndarray:
    """Return the positions of the n largest, in descending order; ties in ascending position."""
    if len(values) > n:
        candidates = np.flatnonzero(values >= np.partition(values, -n)[-n])
    else:
        candidates = np.arange(len(values))
    return candidates[np.argsort(-values[candidates], kind="stable")[:n]]
