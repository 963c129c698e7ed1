"""Drift of single columns: how often they are missing, and have a value that training had not.

A view whose rows all have new ids has the norms and the scores of before, so its distribution says
nothing.  The model file keeps, per column, in how many of its last rows it was missing, and which
share of the values of new rows may be rare: categories that were not learned, and times at midnight
(`ViewEncoder.shares_of_rare`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from crossview.encoding.encode import ViewEncoder
from crossview.errors import InputError
from crossview.saving.schema import check_header
from crossview.scoring.drift import (
    FEWEST_ROWS,
    MOST_ROWS,
    Drift,
    drift_of,
)
from crossview.scoring.metrics.tally import added

# fewer new rows, or values, say nothing
FEWEST_NEW = 20
# beyond, a file keeps nothing of single columns
MOST_COLUMNS = 5000


def make_column_reference(encoder: Any, X: Any, n_learned: int) -> dict[str, Any] | None:
    """Return how often columns are missing and rare, for later rows to compare with.

    X: the last of the ``n_learned`` rows, as read.
    Returns: JSON, for `ColumnCounter.of_info`; None for too few rows, and without columns.
    """
    if not isinstance(encoder, ViewEncoder) or len(X) < FEWEST_ROWS:
        return None
    if len(encoder.watched_columns()) > MOST_COLUMNS:
        return None
    counts = encoder.count_columns(X)
    rare = encoder.shares_of_rare(counts, len(X), n_learned)
    return {"rows": len(X), "missing": counts[:, 0].tolist(), "rare": rare}


class ColumnCounter:
    """Counts of rows in which columns are missing, and have rare values.

    encoder: of the model.
    reference: what `make_column_reference` returned.
    """

    def __init__(self, encoder: ViewEncoder, reference: Mapping[str, Any]) -> None:
        self.encoder, self.reference = encoder, reference
        self.columns = encoder.watched_columns()
        self.rows, self.counts = 0, np.zeros((len(self.columns), 2), dtype=np.int64)

    @classmethod
    def of_info(cls, info: Mapping[str, Any], encoder: Any) -> ColumnCounter | None:
        """Return a counter for rows that come later; None if the model file keeps nothing."""
        known = info.get("column_reference")
        if known is None or not isinstance(encoder, ViewEncoder):
            return None
        check_header(known, {"rows": int, "missing": [int], "rare": [(float, None)]}, "the columns")
        counter = cls(encoder, known)
        n, m = known["rows"], len(counter.columns)
        shares = [share for share in known["rare"] if share is not None]
        sound = len(known["missing"]) == len(known["rare"]) == m and 0 < n <= MOST_ROWS
        sound = sound and all(0 <= one <= n for one in known["missing"])
        if not sound or not all(0.0 <= one <= 1.0 for one in shares):
            raise InputError("holds a damaged reference for drift of columns")
        return counter

    def count(self, X: Any, rows: np.ndarray | None = None) -> None:
        """Count rows as read, of which the encoder has encoded the same table, or some of them."""
        self.counts += self.encoder.count_columns(X, rows)
        self.rows += len(X) if rows is None else len(rows)

    def __add__(self, other: ColumnCounter) -> ColumnCounter:
        return added(self, other, "rows", "counts")

    def drifts(self, views: Sequence[str] = (), columns: Sequence[str] = ()) -> list[Drift]:
        """Return the drift of each column; not of those that the rows have not, or their views."""
        found, n = [], self.reference["rows"]
        known = zip(self.columns, self.reference["missing"], self.reference["rare"], strict=True)
        for (column, missing, share), (null, rare) in zip(known, self.counts.tolist(), strict=True):
            if column.view in views or column.name in columns:
                continue
            pairs = [("missing", n, missing / n, self.rows, null)]
            if share is not None:
                pairs.append((column.rare, n - missing, share, self.rows - null, rare))
            for what, before, expected, now, k in pairs:
                if now >= FEWEST_NEW:
                    of_training = np.array([before * (1.0 - expected), before * expected])
                    shares = [expected, k / now]
                    counts = np.array([now - k, k])
                    found.append(
                        drift_of(column.view, what, of_training, counts, shares, column.name)
                    )
        return found
