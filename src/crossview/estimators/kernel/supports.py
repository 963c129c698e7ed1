"""Support vectors: their coefficients, and learning them from drawn rows and from a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp

from crossview.algorithms.kernel.budget import MERGING, PROJECTION, REMOVAL, Budget
from crossview.algorithms.kernel.gram import Draws, learn_from_gram
from crossview.algorithms.kernel.quota import Stream
from crossview.algorithms.kernel.scores import averaged, support_sums
from crossview.algorithms.kernel.step import Examples, Settings, init_memory
from crossview.algorithms.kernel.stream import Pool, learn_stream
from crossview.batch import (
    flat_view,
    matrix_of,
    read_only,
    rows_at,
    stack_views,
    take_rows,
    view_of_flat,
    view_of_matrix,
    views_of,
)
from crossview.errors import InputError
from crossview.estimators.base import Schema
from crossview.estimators.base.weights import weights_with_class
from crossview.estimators.kernel.features import STEPS_AT_ONCE
from crossview.estimators.kernel.model import KernelModel
from crossview.kernels.gram import ViewRows
from crossview.kernels.rows import Rows
from crossview.portable.scoring import Supports, Table, ViewTerm
from crossview.saving.schema import Array
from crossview.views import ViewLayout

# rows per block of kernel values in memory
ROWS_AT_ONCE = 256

MAINTENANCE = {"removal": REMOVAL, "projection": PROJECTION, "merging": MERGING}


class SupportVectors(KernelModel):
    """Model with support vectors of each view, their coefficients β = α z.

    With a budget also their Gram matrix.
    """

    score_at_once = ROWS_AT_ONCE

    @property
    def budget(self) -> int:
        """Maximum number of support vectors per view; 0: none."""
        return int(self.learner.budget or 0)

    @property
    def maintenance(self) -> int:
        """The rule by which the budget is kept."""
        return MAINTENANCE[self.learner.maintenance]

    @property
    def rows_at_once(self) -> int:
        """Rows per block of a stream; smaller with a budget, which needs their Gram matrix."""
        if not self.budget:
            return ROWS_AT_ONCE
        return max(ROWS_AT_ONCE // 4, min(ROWS_AT_ONCE, self.budget))

    @property
    def precomputed(self) -> bool:
        """True where the rows are kernel values."""
        kernel = self.function.kernel
        return isinstance(kernel, str) and kernel == "precomputed"

    # --- state -----------------------------------------------------------------------------

    def start(self) -> None:
        """Add arrays without support vectors."""
        super().start()
        for v in range(self.slots.n_views):
            self._start_view(v)

    def _start_view(self, v: int) -> None:
        wide = self.slots.n_columns > np.iinfo(np.int32).max
        self.state |= {
            f"data{v}": np.empty(0),
            f"indices{v}": np.empty(0, dtype=np.uint64 if wide else np.uint32),
            f"indptr{v}": np.zeros(1, dtype=np.int64),
            f"beta{v}": np.empty((self.n_scores, 0)),
        }
        if self.budget:
            self.state[f"gram{v}"] = np.empty((0, 0))

    def schema(self) -> Schema:
        """Return what the support vectors of each view look like."""
        schema = super().schema()
        views, K = self.slots, self.n_scores
        wide = views.n_columns > np.iinfo(np.int32).max
        for v in range(views.n_views):
            n, entries = f"supports of view {v}", f"entries of view {v}"
            if self.precomputed:  # the rows of `fit`, whose kernel values are given
                schema[f"rows{v}"] = Array("i8", (n,), 0, views.widths[v] - 1)
            schema |= {
                f"data{v}": Array("f8", (entries,)),
                f"indices{v}": Array(
                    "u8" if wide else "u4", (entries,), views.ptr[v], views.ptr[v + 1] - 1
                ),
                f"indptr{v}": Array("i8", (1 if self.precomputed else f"{n}+1",), cuts=entries),
                f"beta{v}": Array("f8", (K, n)),
            }
            if self.budget:
                schema[f"gram{v}"] = Array("f8", (n, n))
        return schema

    def grow(self, moved: np.ndarray, before: ViewLayout) -> None:
        """Move the columns of the support vectors."""
        super().grow(moved, before)
        for v in range(self.slots.n_views):
            if f"data{v}" in self.state:
                old = self.state[f"indices{v}"]
                self.state[f"indices{v}"] = moved[old.astype(np.intp)].astype(old.dtype)
            else:
                self._start_view(v)

    def insert_class(self, n_classes: int, position: int, n_rows: int) -> None:
        """Add a class without coefficients."""
        for v in range(self.slots.n_views):
            beta = weights_with_class(self.state[f"beta{v}"].T, n_classes, position)
            self.state[f"beta{v}"] = np.ascontiguousarray(beta.T)

    def support_vectors(self, v: int) -> ViewRows:
        """Return the support vectors of view ``v``."""
        s = self.state
        return view_of_flat(s[f"data{v}"], s[f"indices{v}"], s[f"indptr{v}"])

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

    def portable(self, scales: np.ndarray) -> list[ViewTerm]:
        """Return the sums of each view times its scale, for other programs."""
        function = self.function
        if not isinstance(function.kernel, str) or self.precomputed:
            raise InputError(
                f"kernel={function.kernel!r} has no portable form; train with kernel='rbf', 'poly' "
                "or 'linear'"
            )
        terms, nothing = [], np.zeros(self.n_scores)
        for v in range(self.slots.n_views):
            data, indices = self.state[f"data{v}"], self.state[f"indices{v}"].astype(np.int64)
            cuts = self.state[f"indptr{v}"][1:-1].astype(np.int64)
            columns = np.split(indices - int(self.slots.ptr[v]), cuts)
            beta = self.state[f"beta{v}"]
            term = ViewTerm(Table.of(np.zeros((0, self.n_scores))), nothing)
            if beta.shape[1]:
                gamma = float(self.state["gamma"][v])
                term.supports = Supports(
                    *(function.kernel, gamma, float(function.coef0), float(function.degree)),
                    *(self.constant, [one.tolist() for one in columns]),
                    [one.tolist() for one in np.split(data, cuts)],
                    scales[v] * beta.T,
                )
            terms.append(term)
        return terms

    # --- drawn rows ------------------------------------------------------------------------

    def prepare(
        self, rows: Rows, n_components: int, random_state: Callable[[], np.random.RandomState]
    ) -> None:
        """Check that precomputed kernels are square matrices."""
        n = len(rows.indptr) - 1
        for name, width in zip(self.slots.names, self.slots.widths, strict=True):
            if self.precomputed and width != n:
                raise InputError(
                    f"kernel='precomputed': view {name!r} has {n} rows and {width} columns; in fit "
                    "it must be a square matrix of kernel values"
                )

    def hold(self, rows: Rows, origin: np.ndarray, gram: np.ndarray | None = None) -> None:
        """Keep the rows to learn, which are the rows ``origin`` of `fit`, and their kernel values.

        ``gram`` (V, n, n): the values, if they are known.  Otherwise they are computed at once if
        the cache holds them.
        """
        self.held, self.origin, self.gram = rows, origin, gram
        n = len(rows.indptr) - 1
        if gram is None and self._n_cached(n) >= n:
            self.gram = self._gram(rows, rows, origin)

    def learn_draws(
        self,
        drawn: np.ndarray,
        draws: np.ndarray,
        examples: Examples,
        settings: Settings,
        average: bool,
        advance: Callable[[int], None],
    ) -> int:
        """Learn the held rows ``drawn`` from the start, by steps ``draws``; return their number."""
        rows = rows_at(self.held, drawn)
        memory = init_memory(self.slots.n_views, examples.labels.shape[1], len(drawn))
        t = 0
        for part, gram in self._gram_of_draws(rows, drawn, draws):
            t = learn_from_gram(gram, part, examples, memory, settings, t)
            advance(len(part.rows))
        beta = averaged(memory.beta, memory.moment, t) if average else memory.beta
        self.supports = []
        for v, view in enumerate(views_of(rows)):
            keep = np.flatnonzero(beta[v].any(axis=0))
            self.supports.append(drawn[keep])
            if self.precomputed:
                own = {f"rows{v}": self.origin[drawn[keep]], f"beta{v}": beta[v][:, keep]}
                self.state |= own
            else:
                self.store(v, take_rows(view, keep), beta[v][:, keep])
        return t

    def add_held_sums(self, wanted: np.ndarray, out: np.ndarray) -> None:
        """Add the sums of the held rows ``wanted``, as `add_sums`."""
        if self.gram is None:
            self.add_sums(rows_at(self.held, wanted), out)
            return
        for v, supports in enumerate(self.supports):
            values = np.ascontiguousarray(self.gram[v][np.ix_(wanted, supports)])
            support_sums(values, read_only(self.state[f"beta{v}"]), out[:, v])

    def _n_cached(self, n: int) -> int:
        """Return the number of rows whose kernel values with n rows the cache holds."""
        return int(self.learner.cache_size * 2**20 / (8.0 * self.slots.n_views * max(n, 1)))

    def _gram_of_draws(
        self, rows: Rows, drawn: np.ndarray, draws: np.ndarray
    ) -> Iterator[tuple[Draws, np.ndarray]]:
        """Yield blocks of draws with their kernel values, as many as the cache holds."""
        n = len(drawn)
        in_cache = self._n_cached(n)
        if self.gram is not None or in_cache >= n:
            if self.gram is not None:
                gram = np.ascontiguousarray(self.gram[:, drawn[:, None], drawn])
            else:
                gram = self._gram(rows, rows, self.origin[drawn])
            for lo in range(0, len(draws), STEPS_AT_ONCE):
                part = read_only(draws[lo : lo + STEPS_AT_ONCE])
                yield Draws(part, part), gram
            return
        for lo in range(0, len(draws), max(in_cache, 1)):
            part = read_only(draws[lo : lo + max(in_cache, 1)])
            own, gram_rows = np.unique(part, return_inverse=True)
            gram = self._gram(rows_at(rows, own), rows, self.origin[drawn])
            yield Draws(part, read_only(gram_rows)), gram

    def _gram(self, a: Rows, b: Rows, drawn: np.ndarray) -> np.ndarray:
        """Return the kernel values (V, rows of a, rows of b); b are the rows ``drawn``."""
        if not self.precomputed:
            return self.kernels.of_rows(a, b)
        return np.stack([self.kernels.given(v, x, drawn) for v, x in enumerate(views_of(a))])

    # --- rows of a stream ------------------------------------------------------------------

    def learn_block(
        self, rows: Rows, examples: Examples, settings: Settings, stream: Stream, t: int
    ) -> int:
        """Make a step with each row, from step ``t`` on; return the last step."""
        n, K = examples.labels.shape
        old, new = [self.support_vectors(v) for v in range(len(rows.ptr) - 1)], views_of(rows)
        pool, budget = self._pool(old, new, K), self._vectors(old, new)
        memory = init_memory(len(new), K, n)
        t = learn_stream(pool, examples, memory, budget, settings, stream, t)
        for v in range(len(new)):
            self._keep(v, (old[v], new[v]), pool, budget)
        return t

    def _pool(self, old: list[ViewRows], new: list[ViewRows], K: int) -> Pool:
        """Return the kernel values among the present support vectors and the new rows."""
        m = len(new[0].begin)
        n_old = max(len(view.begin) for view in old)
        size = n_old + m
        gram = np.zeros((len(new), size if self.budget else m, size))
        beta = np.zeros((len(new), K, size))
        for v, (a, b) in enumerate(zip(old, new, strict=True)):
            n, coming = len(a.begin), slice(n_old, size) if self.budget else slice(0, m)
            beta[v, :, :n] = self.state[f"beta{v}"]
            gram[v, coming, :n] = self.kernels.between(v, b, a)
            gram[v, coming, n_old:] = self.kernels.between(v, b, b)
            if self.budget:
                gram[v, :n, n_old:] = gram[v, n_old:, :n].T
                gram[v, :n, :n] = self.state[f"gram{v}"]
        return Pool(gram, beta, n_old)

    def _vectors(self, old: list[ViewRows], new: list[ViewRows]) -> Budget:
        """Return the budget, and for merging the rows of the pool as vectors."""
        V, n_old = len(new), max(len(view.begin) for view in old)
        size = n_old + len(new[0].begin)
        merging = bool(self.budget) and self.maintenance == MERGING
        vectors = np.zeros((V, size, max(self.slots.widths)) if merging else (V, 1, 1))
        for v in range(V if merging else 0):
            width = self.slots.widths[v]
            for view, begin in ((old[v], 0), (new[v], n_old)):
                dense = matrix_of(view, int(self.slots.ptr[v]), width).toarray()
                vectors[v, begin : begin + len(dense), :width] = dense
        gammas = read_only(np.asarray(self.kernels.gammas, dtype=np.float64))
        widths = read_only(np.asarray(self.slots.widths, dtype=np.uint64))
        merged = np.zeros((V, size), dtype=bool)
        given = self.budget, self.maintenance, self.constant, gammas
        return Budget(*given, widths, vectors, merged)

    def _keep(self, v: int, rows: tuple[ViewRows, ViewRows], pool: Pool, budget: Budget) -> None:
        """Store the support vectors of view ``v`` among the old and the new ones."""
        old, n_old = rows[0], pool.n_old
        beta, merged = pool.beta[v], bool(budget.merged[v].any())
        keep = np.flatnonzero(beta.any(axis=0))
        if len(keep) == len(old.begin) and (keep < n_old).all() and not merged:
            self.state[f"beta{v}"] = np.ascontiguousarray(beta[:, keep])
            return
        both = stack_views(list(rows))
        if merged:
            dense = budget.vectors[v, keep, : self.slots.widths[v]]
            first, kind = int(self.slots.ptr[v]), both.indices.dtype
            kept = view_of_matrix(sp.csr_array(dense), first, kind)
        else:
            kept = take_rows(both, np.where(keep < n_old, keep, keep - n_old + len(old.begin)))
        self.store(v, kept, beta[:, keep])
        if self.budget:
            self.state[f"gram{v}"] = np.ascontiguousarray(pool.gram[v][np.ix_(keep, keep)])
