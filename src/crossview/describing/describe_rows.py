"""What files of sparse rows hold, view by view."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from crossview.data.rows import RowStream
from crossview.labels import has_label

__all__ = ["RowsDescription", "ViewDescription", "describe_rows"]

# more labels are numbers to predict
MOST_LABELS = 20


@dataclass
class ViewDescription:
    """One view of sparse rows.

    Attributes
    ----------
    name : str
        Its name.
    width : int
        Number of columns.
    entries : int
        Number of entries.
    used : int
        Number of columns that some row has.
    empty_rows : int
        Number of rows without an entry.
    minimum, maximum : float or None
        Of the values; None if there are none.
    """

    name: str
    width: int
    entries: int = 0
    used: int = 0
    empty_rows: int = 0
    minimum: float | None = None
    maximum: float | None = None


@dataclass
class RowsDescription:
    """Sparse rows.

    Attributes
    ----------
    files : list of str
        The files.
    n_rows : int
        Number of rows.
    unlabeled : int
        Number of rows without a label.
    labels : dict of str to int
        Number of rows of each label; empty if there are too many.
    views : list of ViewDescription
        The views.
    """

    files: list[str]
    n_rows: int
    unlabeled: int
    labels: dict[str, int]
    views: list[ViewDescription]

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON.

        Returns
        -------
        dict
            By the names of the attributes.
        """
        return asdict(self)


def describe_rows(stream: RowStream) -> RowsDescription:
    """Return what files of sparse rows hold, from one pass in constant memory.

    Parameters
    ----------
    stream : RowStream
        From `crossview.open_rows`.

    Returns
    -------
    RowsDescription
        Labels, and for each view columns, entries, empty rows and range.
    """
    layout = stream.layout
    pairs = zip(layout.names, layout.widths, strict=True)
    views = [ViewDescription(name, width) for name, width in pairs]
    used = np.zeros(layout.n_columns, dtype=bool)
    labels: Counter[Any] = Counter()
    n_rows = unlabeled = 0
    for batch in stream:
        matrix, known = batch.X.matrix, has_label(batch.y)
        n_rows += len(known)
        unlabeled += int((~known).sum())
        if len(labels) <= MOST_LABELS:
            labels.update(batch.y[known].tolist())
        used[matrix.indices] = True
        row = np.repeat(np.arange(len(known)), np.diff(matrix.indptr))
        view = np.searchsorted(layout.ptr, matrix.indices, side="right") - 1
        for v, one in enumerate(views):
            mine = view == v
            values = matrix.data[mine]
            one.entries += len(values)
            one.empty_rows += len(known) - len(np.unique(row[mine]))
            if len(values):
                low, high = float(values.min()), float(values.max())
                one.minimum = low if one.minimum is None else min(one.minimum, low)
                one.maximum = high if one.maximum is None else max(one.maximum, high)
    for one in views:
        one.used = int(used[layout.block(one.name)].sum())
    counts = {str(one): n for one, n in sorted(labels.items())}
    counts = counts if len(counts) <= MOST_LABELS else {}
    return RowsDescription(stream.files, n_rows, unlabeled, counts, views)
