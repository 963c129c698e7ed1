"""Sparse matrices of others: their indices are checked before a loop follows them.

SciPy trusts the indices of a matrix that is built from its arrays.  Its own conversions, and our
loops, would read and write outside of their memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from crossview.errors import InputError


def canonical_csr(X: Any) -> sp.csr_array:
    """Return a sparse matrix as CSR with sorted columns, each once in a row.

    X: it is not changed; it is returned if it is such a matrix already.
    Raises InputError: an index is out of range, or the row pointers do not fit.
    """
    check_indices(X)
    matrix = X if X.format == "csr" else sp.csr_array(X)
    # scipy caches the result of this check on the matrix of the caller
    if not matrix.has_canonical_format:
        matrix = sp.csr_array(matrix, copy=True)
        matrix.sum_duplicates()
    return matrix


def check_indices(X: Any) -> None:
    """Raise an error if an index of a sparse matrix is out of range.

    One pass over the indices, at the speed of memory.  Formats without index arrays are correct
    by construction.

    X: in any format.
    Raises InputError: the message names the index, and its row if the matrix is CSR.
    """
    n_rows, n_columns = X.shape
    if X.format == "coo":
        _check_range(X.row, n_rows, "row", None)
        _check_range(X.col, n_columns, "column", None)
    elif X.format == "csr":
        _check_pointers(X, n_rows, "row")
        _check_range(X.indices, n_columns, "column", X.indptr)
    elif X.format == "csc":
        _check_pointers(X, n_columns, "column")
        _check_range(X.indices, n_rows, "row", None)
    elif X.format == "bsr":
        _check_pointers(X, n_rows // X.blocksize[0], "row")
        _check_range(X.indices, n_columns // X.blocksize[1], "column", None)


def _check_range(indices: np.ndarray, size: int, what: str, indptr: np.ndarray | None) -> None:
    # as an unsigned number a negative index is larger than all others, so the maximum says it all
    unsigned = np.asarray(indices).view(f"u{indices.dtype.itemsize}")
    if not len(unsigned) or int(unsigned.max()) < size:
        return
    at = int(unsigned.argmax())
    row = None if indptr is None else int(np.searchsorted(indptr, at, side="right")) - 1
    raise InputError(
        f"X is a sparse matrix with the {what} index {int(indices[at])}, and it has {size} {what}s",
        row=row,
    )


def _check_pointers(X: Any, n: int, what: str) -> None:
    indptr, n_entries = X.indptr, min(len(X.indices), len(X.data))
    if len(indptr) != n + 1 or indptr[0] != 0 or not 0 <= indptr[-1] <= n_entries:
        wrong = f"its indptr has {len(indptr)} entries"
        if len(indptr) == n + 1:
            wrong += f", from {indptr[0]} to {indptr[-1]}"
        raise InputError(
            f"X is a sparse matrix of {n} {what}s and {n_entries} values, but {wrong}; "
            f"it takes {n + 1}, from 0 to at most {n_entries}"
        )
    falls = indptr[1:] < indptr[:-1]
    if falls.any():
        raise InputError(
            f"X is a sparse matrix whose indptr falls from {indptr[falls.argmax()]} to "
            f"{indptr[falls.argmax() + 1]} in {what} {int(falls.argmax())}; it must never fall"
        )
