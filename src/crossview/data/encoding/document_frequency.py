"""Words that are in many rows count less: tf-idf of texts that stream in."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp

from crossview._jit import borrowing
from crossview.errors import InputError
from crossview.saving.schema import MAX_COUNT, Array


class DocumentFrequencies:
    """Number of texts so far that have a word of each slot, column by column.

    Parameters
    ----------
    n_columns : int
        Number of text columns.
    n_slots : int
        Number of slots.

    Attributes
    ----------
    n : ndarray of int of shape (n_columns,)
        Texts so far.
    df : ndarray of int of shape (n_columns, n_slots)
        Those that have a word of the slot.
    """

    def __init__(self, n_columns: int, n_slots: int) -> None:
        self.n = np.zeros(n_columns, dtype=np.int64)
        self.df = np.zeros((n_columns, n_slots), dtype=np.int64)

    def weigh(
        self, c: int, rows: sp.csr_array, present: np.ndarray, *, learn: bool = False
    ) -> sp.csr_array:
        """Return the counts of words of a column as tf-idf, each row with norm 1.

        Parameters
        ----------
        c : int
            The column.
        rows : csr_array of shape (n_rows, n_slots)
            The counts, each slot once.
        present : ndarray of bool of shape (n_rows,)
            Whether the row has a text.
        learn : bool, default=False
            Count each row before it is weighed.

        Returns
        -------
        csr_array of shape (n_rows, n_slots)
            Shares the indices.
        """
        indptr, indices = (
            part.astype(np.int32, copy=False) for part in (rows.indptr, rows.indices)
        )
        weighed = np.empty(len(rows.data))
        counts = self.n[c : c + 1], self.df[c]
        weigh_rows((rows.data, indices, indptr), present, learn, counts, weighed)
        return sp.csr_array((weighed, indices, indptr), shape=rows.shape)

    def state(self) -> dict[str, np.ndarray]:
        """Return the counts as arrays, of the slots that have one."""
        state = {"texts": self.n} if len(self.n) else {}
        for c, df in enumerate(self.df):
            state[f"df_slots.{c}"] = np.flatnonzero(df)
            state[f"df.{c}"] = df[state[f"df_slots.{c}"]]
        return state

    def schema(self) -> dict[str, Array]:
        """Return what the arrays of `state` look like."""
        n_columns, n_slots = self.df.shape
        schema = {"texts": Array("i8", (n_columns,), 0, MAX_COUNT)} if n_columns else {}
        for c in range(n_columns):
            length = f"slots of text {c}"
            schema[f"df_slots.{c}"] = Array("i8", (length,), 0, n_slots - 1)
            schema[f"df.{c}"] = Array("i8", (length,), 1, MAX_COUNT)
        return schema

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Take the counts from what `state` gave."""
        for c in range(len(self.n)):
            n, slots, df = (np.asarray(state[key]) for key in ("texts", f"df_slots.{c}", f"df.{c}"))
            if len(np.unique(slots)) != len(slots) or (df > n[c]).any():
                raise InputError(f"the document frequencies of text {c} contradict each other")
            self.n[c] = n[c]
            self.df[c] = 0
            self.df[c, slots] = df


@borrowing
def weigh_rows(
    rows: tuple[np.ndarray, np.ndarray, np.ndarray],
    present: np.ndarray,
    learn: bool,
    counts: tuple[np.ndarray, np.ndarray],
    weighed: np.ndarray,
) -> None:
    """Weigh the words of texts by their inverse document frequency, one text after the other.

    With ``learn`` a text is counted first: n <- n + 1, df_j <- df_j + 1 for its slots j.  Then

        x_j <- x_j (ln((1 + n) / (1 + df_j)) + 1),  x <- x / ||x||,

    the smooth idf of scikit-learn's TfidfTransformer.
    """
    x, j, indptr = rows
    n, df = counts
    for i in range(len(present)):
        lo, hi = indptr[i], indptr[i + 1]
        if learn and present[i]:
            n[0] += 1
            for p in range(lo, hi):
                df[j[p]] += 1
        sqnorm = 0.0
        for p in range(lo, hi):
            weighed[p] = x[p] * (np.log((1.0 + n[0]) / (1.0 + df[j[p]])) + 1.0)
            sqnorm += weighed[p] * weighed[p]
        for p in range(lo, hi):
            weighed[p] /= np.sqrt(sqnorm)
