"""Hashes of rows as a model reads them, before they are encoded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from crossview.batch import make_rows, read_only
from crossview.encoding.hashing import bytes_of, hash_strings
from crossview.kernels.row_hashes import MISSING, hash_cells, hash_entries
from crossview.tables.columns import Batch, Coded, same_strings
from crossview.views import MultiView

if TYPE_CHECKING:
    import pyarrow as pa

# of rows that are converted at a time
ROWS_OF_BLOCK = 1 << 16


class TableHashes:
    """Hashes of the decoded rows of tables; those of an unchanged dictionary are reused."""

    def __init__(self) -> None:
        self._known: list[tuple[pa.Array, np.ndarray]] = []

    def __getstate__(self) -> dict[str, Any]:
        return {"_known": []}  # a cache

    def of(self, batch: Batch) -> np.ndarray:
        """Return the hash of each row: of its numbers, categories, texts and user."""
        users = [] if batch.users is None else [batch.users]
        # a text that is in several views is decoded once
        coded = list({id(one): one for one in [*batch.coded, *users]}.values())
        self._known = [self._of_dictionary(k, one) for k, one in enumerate(coded)]
        n = len(batch.values)
        strings = np.empty((len(coded), n), dtype=np.uint64)
        for k, (one, (_, known)) in enumerate(zip(coded, self._known, strict=True)):
            strings[k] = known[one.codes]  # the last one, -1, is missing
        hashes = np.empty(n, dtype=np.uint64)
        with np.errstate(over="ignore"):  # where the loops are not compiled
            hash_cells(_bits(batch.values), read_only(strings), hashes)
        return hashes

    def _of_dictionary(self, k: int, one: Coded) -> tuple[pa.Array, np.ndarray]:
        """Return the k-th dictionary with the hashes of its values, then that of a missing one."""
        if k < len(self._known) and same_strings(self._known[k][0], one.dictionary):
            return self._known[k]
        prints = np.empty(0, dtype=np.uint64)
        if len(one.dictionary):
            prints = hash_strings("", *bytes_of(one.dictionary))[1]
        return one.dictionary, np.append(prints, MISSING)


def _bits(numbers: np.ndarray) -> np.ndarray:
    """Return bits of numbers, which are the same where a file keeps them in single precision."""
    with np.errstate(over="ignore", under="ignore"):
        single = np.ascontiguousarray(numbers, dtype=np.float32)
    return read_only(single.astype(np.float64).view(np.uint64))


def hash_views(X: MultiView) -> np.ndarray:
    """Return the hash of each row of views: of its entries, but for 0."""
    n = len(X)
    hashes = np.empty(n, dtype=np.uint64)
    for start in range(0, n, ROWS_OF_BLOCK):
        stop = min(start + ROWS_OF_BLOCK, n)
        part = X if stop - start == n else X[start:stop]
        rows = make_rows(part.matrix, X.layout, part.present, checked=False, canonical=True)
        entries = _bits(rows.data), rows.indices, rows.indptr, rows.shared
        with np.errstate(over="ignore"):
            hash_entries(*entries, hashes[start:stop])
    return hashes
