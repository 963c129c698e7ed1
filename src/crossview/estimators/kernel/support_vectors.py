"""Support vectors and their coefficients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from crossview.algorithms.kernel.budget import MERGING, PROJECTION, REMOVAL
from crossview.algorithms.kernel.scores import support_sums
from crossview.batch import flat_view, read_only, views_of
from crossview.errors import InputError
from crossview.estimators.kernel.values import ViewKernels
from crossview.kernels.gram import ViewRows
from crossview.kernels.rows import Rows
from crossview.saving.schema import Array
from crossview.views import ViewLayout

__all__ = ["MAINTENANCE", "SupportVectors", "support_schema"]

# rows per block of kernel values in memory
ROWS_AT_ONCE = 256

MAINTENANCE = {"removal": REMOVAL, "projection": PROJECTION, "merging": MERGING}


class SupportVectors:
    """Support vectors of each view, with their coefficients β = α z.

    With a budget also their Gram matrix.

    Parameters
    ----------
    state : dict of str to ndarray
        The learner's state.
    blocks : ViewLayout
        Views of the rows.
    kernels : ViewKernels
        The kernel of each view.
    budget : int or None
        Maximum number of support vectors per view.
    maintenance : str
        Budget maintenance: "removal", "projection" or "merging".
    cache_size : float
        Size of the cache of kernel values, in MB.
    """

    score_at_once = ROWS_AT_ONCE

    def __init__(
        self,
        state: dict[str, np.ndarray],
        blocks: ViewLayout,
        kernels: ViewKernels,
        budget: int | None,
        maintenance: str,
        cache_size: float,
    ) -> None:
        self.state = state
        self.blocks = blocks
        self.kernels = kernels
        self.budget = int(budget or 0)
        self.maintenance = MAINTENANCE[maintenance]
        self.cache_size = cache_size

    @property
    def rows_at_once(self) -> int:
        """Rows per block of a stream; smaller with a budget, which needs their Gram matrix."""
        if not self.budget:
            return ROWS_AT_ONCE
        return max(ROWS_AT_ONCE // 4, min(ROWS_AT_ONCE, self.budget))

    @property
    def precomputed(self) -> bool:
        """Whether the rows are kernel values."""
        return isinstance(self.kernels.kernel, str) and self.kernels.kernel == "precomputed"

    # --- state -----------------------------------------------------------------------------

    def start(self, K: int) -> None:
        """Initialize without support vectors."""
        for v in range(self.blocks.n_views):
            self._start_view(v, K)

    def _start_view(self, v: int, K: int) -> None:
        wide = self.blocks.n_columns > np.iinfo(np.int32).max
        self.state |= {
            f"data{v}": np.empty(0),
            f"indices{v}": np.empty(0, dtype=np.uint64 if wide else np.uint32),
            f"indptr{v}": np.zeros(1, dtype=np.int64),
            f"beta{v}": np.empty((K, 0)),
        }
        if self.budget:
            self.state[f"gram{v}"] = np.empty((0, 0))

    def prepare(
        self, rows: Rows, n_components: int, random_state: Callable[[], np.random.RandomState]
    ) -> None:
        """Check that precomputed kernels are square matrices."""
        n = len(rows.indptr) - 1
        for name, width in zip(self.blocks.names, self.blocks.widths, strict=True):
            if self.precomputed and width != n:
                raise InputError(
                    f"kernel='precomputed': view {name!r} has {n} rows and {width} columns; in fit "
                    "it must be a square matrix of kernel values"
                )

    def grow(self, moved: np.ndarray, K: int) -> None:
        """Move the columns of the support vectors: column i moves to ``moved[i]``."""
        for v in range(self.blocks.n_views):
            if f"data{v}" in self.state:
                old = self.state[f"indices{v}"]
                self.state[f"indices{v}"] = moved[old.astype(np.intp)].astype(old.dtype)
            else:
                self._start_view(v, K)

    def class_axes(self) -> dict[str, int]:
        """Return the arrays with a class axis, and the number of that axis."""
        return {f"beta{v}": 0 for v in range(self.blocks.n_views)}

    def support_vectors(self, v: int) -> ViewRows:
        """Return the support vectors of view ``v``."""
        s = self.state
        indptr = s[f"indptr{v}"].astype(np.uint64)
        return ViewRows(
            read_only(s[f"data{v}"]),
            read_only(s[f"indices{v}"]),
            read_only(indptr[:-1]),
            read_only(indptr[1:]),
            read_only(np.zeros(len(indptr) - 1, dtype=np.uint64)),
        )

    def store(self, v: int, rows: ViewRows, beta: np.ndarray) -> None:
        """Set the support vectors of view ``v`` and their coefficients β."""
        data, indices, indptr = flat_view(rows)
        self.state |= {
            f"data{v}": data,
            f"indices{v}": indices,
            f"indptr{v}": indptr,
            f"beta{v}": np.ascontiguousarray(beta),
        }

    # --- scores ----------------------------------------------------------------------------

    def add_sums(self, rows: Rows, out: np.ndarray) -> None:
        """out[i, v] <- sum_k β_v[k] K_v(x_i, x_k)."""
        for v, view in enumerate(views_of(rows)):
            if self.precomputed:
                values = self.kernels.given(v, view, self.state[f"rows{v}"])
            else:
                values = self.kernels.between(v, view, self.support_vectors(v))
            support_sums(values, read_only(self.state[f"beta{v}"]), out[:, v])


def support_schema(
    blocks: ViewLayout, K: int, precomputed: bool, has_budget: bool
) -> dict[str, Array | np.ndarray]:
    """Return what the support vectors of each view look like in the state of ``K`` scores."""
    schema: dict[str, Array | np.ndarray] = {}
    wide = blocks.n_columns > np.iinfo(np.int32).max
    for v in range(blocks.n_views):
        n, entries = f"supports of view {v}", f"entries of view {v}"
        if precomputed:  # the rows of `fit`, whose kernel values are given
            schema[f"rows{v}"] = Array("i8", (n,), 0, blocks.widths[v] - 1)
        schema |= {
            f"data{v}": Array("f8", (entries,)),
            f"indices{v}": Array(
                "u8" if wide else "u4", (entries,), blocks.ptr[v], blocks.ptr[v + 1] - 1
            ),
            f"indptr{v}": Array("i8", (1 if precomputed else f"{n}+1",), cuts=entries),
            f"beta{v}": Array("f8", (K, n)),
        }
        if has_budget:
            schema[f"gram{v}"] = Array("f8", (n, n))
    return schema
