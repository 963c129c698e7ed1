"""Rows with their labels, and where each was read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from crossview.views import MultiView

__all__ = ["LabeledBatch", "stack_rows"]


@dataclass(frozen=True)
class LabeledBatch:
    """Rows with their labels, and where each was read.

    Attributes
    ----------
    X : pyarrow.Table or MultiView
        The rows.
    y : ndarray of shape (n_samples,)
        Their labels; None where one is missing.
    file : ndarray of shape (n_samples,)
        The file of each row, or None.
    row : ndarray of shape (n_samples,)
        Its row there, from 0.
    """

    X: Any
    y: np.ndarray
    file: np.ndarray
    row: np.ndarray

    @classmethod
    def read(cls, X: Any, y: np.ndarray, file: str | None, first_row: int) -> Self:
        """Return consecutive rows of a file."""
        n = len(y)
        return cls(X, y, np.full(n, file, dtype=object), np.arange(first_row, first_row + n))

    def __len__(self) -> int:
        return len(self.y)

    @property
    def nbytes(self) -> int:
        """Their size in memory."""
        return _size(self.X) + self.y.nbytes + self.file.nbytes + self.row.nbytes

    def location(self, row: int) -> tuple[str | None, int]:
        """Return the file of a row, and its row there."""
        return self.file[row], int(self.row[row])

    def take(self, rows: np.ndarray | slice) -> Self:
        """Return some of the rows, in this order."""
        if isinstance(self.X, MultiView):
            X = self.X[rows]
        elif isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            X = self.X.slice(start, stop - start)
        else:
            X = self.X.take(rows)
        return type(self)(X, self.y[rows], self.file[rows], self.row[rows])

    @classmethod
    def join(cls, parts: list[Self]) -> Self:
        """Return the rows of all parts."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            stack_rows([part.X for part in parts]),
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("y", "file", "row")
            ),
        )


def stack_rows(parts: list[Any]) -> Any:
    """Return the rows of all parts, Arrow tables or MultiViews, as one."""
    if not isinstance(parts[0], MultiView):
        import pyarrow as pa

        return pa.concat_tables(parts)
    if len(parts) == 1:
        return parts[0]
    sparse = any(sp.issparse(X.matrix) for X in parts)
    matrices = [X.matrix for X in parts]
    matrix = sp.csr_array(sp.vstack(matrices)) if sparse else np.vstack(matrices)
    present = None
    if any(X.present is not None for X in parts):
        present = np.vstack(
            [
                np.ones((len(X), X.layout.n_views), dtype=bool) if X.present is None else X.present
                for X in parts
            ]
        )
    return MultiView.from_matrix(matrix, parts[0].layout, present=present)


def _size(X: Any) -> int:
    if not isinstance(X, MultiView):
        return int(X.nbytes)
    parts = (
        (X.matrix.data, X.matrix.indices, X.matrix.indptr) if sp.issparse(X.matrix) else (X.matrix,)
    )
    present = 0 if X.present is None else X.present.nbytes
    return sum(part.nbytes for part in parts) + present
