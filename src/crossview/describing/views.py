"""Description of rows that are views already."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from crossview.labels import has_label
from crossview.readers.source import Source

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


def describe_views(source: Source) -> dict[str, Any]:
    """Return what a `Description` says of rows with views, from one pass in constant memory."""
    layout = source.layout
    pairs = zip(layout.names, layout.widths, strict=True)
    views = [ViewDescription(name, width) for name, width in pairs]
    used = np.zeros(layout.n_columns, dtype=bool)
    labels: Counter[Any] = Counter()
    n_rows = unlabeled = 0
    for batch in source:
        matrix = sp.csr_array(batch.X.matrix)
        known = np.zeros(len(batch), dtype=bool) if batch.y is None else has_label(batch.y)
        n_rows += len(known)
        unlabeled += int((~known).sum())
        if known.any() and len(labels) <= MOST_LABELS:
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
    return {
        "files": source.files,
        "n_rows": n_rows,
        "unlabeled": unlabeled,
        "labels": counts,
        "views": views,
    }
