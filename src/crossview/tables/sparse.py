"""Columns of numbers that are mostly 0, such as counts of words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from crossview.tables.arrow import numbers_of

if TYPE_CHECKING:
    import pyarrow as pa

# columns of a view are sparse if so many are, more than have bins, by at least so many values each,
# out of these rows
FEWEST_COLUMNS, FEWEST_VALUES, MOST_ROWS = 101, 20, 10_000
# and so many of the values are 0, and none is below
ZEROS = 0.8


def find_sparse(batches: Iterable[Mapping[str, pa.Array]], names: Sequence[str]) -> dict[str, bool]:
    """Return whether columns of numbers are mostly 0, by their first values."""
    import pyarrow.compute as pc

    n_values, n_zeros = (np.zeros(len(names), dtype=np.int64) for _ in range(2))
    negative, n_rows = np.zeros(len(names), dtype=bool), 0
    for batch in batches:
        for c, name in enumerate(names):
            array = pc.drop_null(batch[name].slice(0, MOST_ROWS - n_rows))
            values = np.asarray(numbers_of(array), dtype=np.float64)
            n_values[c] += len(values)
            n_zeros[c] += len(values) - np.count_nonzero(values)
            negative[c] |= not (values >= 0.0).all()
        n_rows += len(batch[names[0]])
        if n_rows >= MOST_ROWS:
            break
    sparse = (n_values >= FEWEST_VALUES) & (n_zeros >= ZEROS * n_values) & ~negative
    return dict(zip(names, sparse.tolist(), strict=True))


def sparse_of_views(
    numbers: Sequence[str],
    views: Sequence[Sequence[str]],
    find: Callable[[Sequence[str]], Sequence[str]],
) -> list[str]:
    """Return which of the columns of numbers are sparse, of views that have many of those.

    ``views`` are the names of their columns; ``find`` returns which of them are mostly 0.
    """
    wide = _of_wide_views(numbers, views)
    return _of_wide_views(find(wide), views) if wide else []


def _of_wide_views(names: Sequence[str], views: Sequence[Sequence[str]]) -> list[str]:
    """Those of the columns that are of a view that has many of them."""
    wanted = set(names)
    groups = ([name for name in view if name in wanted] for view in views)
    return [name for group in groups if len(group) >= FEWEST_COLUMNS for name in group]
