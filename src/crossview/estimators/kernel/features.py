"""Explicit weights: the linear kernel, and approximations of other kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from crossview.algorithms.kernel.explicit import Features, learn_explicit
from crossview.algorithms.kernel.quota import Stream, unlimited
from crossview.algorithms.kernel.scores import averaged
from crossview.algorithms.kernel.step import Examples, Settings, init_memory
from crossview.batch import make_rows, matrix_of, read_only, rows_at, views_of
from crossview.errors import InputError
from crossview.estimators.base import Models, Schema, State
from crossview.estimators.base.weights import weights_with_class
from crossview.estimators.kernel.model import KernelModel
from crossview.estimators.kernel.values import KernelFunction
from crossview.kernels.moments import total
from crossview.kernels.rows import Rows, score_views
from crossview.portable.scoring import Cosines, Supports, Table, ViewTerm, split_by_view
from crossview.saving.schema import Array
from crossview.views import ViewLayout


class ViewApproximation:
    """A scikit-learn transformer per view, `RBFSampler` or `Nystroem`.

    method {"fourier", "nystroem"}: the approximation.
    function: the kernel to approximate.
    gammas (n_views,): γ of each view.
    """

    def __init__(self, method: str, function: KernelFunction, gammas: np.ndarray) -> None:
        self.method, self.function, self.gammas = method, function, gammas

    def fit(self, rows: Rows, n_components: int, random_state: np.random.RandomState) -> State:
        """Return two arrays per view; "nystroem" samples its landmarks from the rows.

        rows: the first rows.
        n_components: features per view.
        """
        seeds = random_state.randint(2**31 - 1, size=len(rows.ptr) - 1)
        state: State = {}
        for v, X in enumerate(view_matrices(rows)):
            n = n_components if self.method == "fourier" else min(n_components, X.shape[0])
            made = self._new(v, n, seeds[v]).fit(X)
            state[f"map{v}"], state[f"shift{v}"] = self._arrays(made)
        return state

    def transform(self, rows: Rows, state: State, names: Sequence[str]) -> Rows:
        """Return the features as dense rows, view after view, by the arrays of `fit`."""
        parts = []
        for v, X in enumerate(view_matrices(rows)):
            one, two = state[f"map{v}"], state[f"shift{v}"]
            if self.method == "fourier":
                made = self._new(v, one.shape[1])
                made.random_weights_, made.random_offset_ = one, two
            else:
                made = self._new(v, len(one))
                made.components_, made.normalization_ = one, two
            made.n_features_in_ = X.shape[1]
            parts.append(made.transform(X))
        layout = ViewLayout(names, [part.shape[1] for part in parts])
        return make_rows(np.hstack(parts), layout, rows.present if len(rows.present) else None)

    def _new(self, v: int, n: int, random_state: Any = None) -> Any:
        from sklearn.kernel_approximation import Nystroem, RBFSampler  # they take long to load

        gamma = float(self.gammas[v])
        if self.method == "fourier":
            return RBFSampler(gamma=gamma, n_components=n, random_state=random_state)
        kernel, degree, coef0, _ = self.function
        return Nystroem(
            kernel=kernel,
            gamma=gamma,
            n_components=n,
            random_state=random_state,
            **({"degree": degree, "coef0": coef0} if kernel == "poly" else {}),
        )

    def _arrays(self, transformer: Any) -> tuple[np.ndarray, np.ndarray]:
        if self.method == "fourier":
            return transformer.random_weights_, transformer.random_offset_
        points = transformer.components_
        points = points.toarray() if sp.issparse(points) else np.asarray(points)
        return points, transformer.normalization_


def view_matrices(rows: Rows) -> list[Any]:
    """Return each view as a separate matrix, dense if the rows are."""
    found = [
        matrix_of(view, int(rows.ptr[v]), int(rows.ptr[v + 1] - rows.ptr[v]))
        for v, view in enumerate(views_of(rows))
    ]
    return [matrix.toarray() for matrix in found] if rows.shared else found


# steps between two updates of the progress bar, and rows per block of features in memory
STEPS_AT_ONCE = 4096


# what changes with the rows; all else follows from the first ones
LEARNED = ("W", "bias", "t", "turns")


class FeatureWeights(KernelModel):
    """Model with explicit weights: W, the weights ``bias`` of a constant, and the feature map."""

    rows_at_once = score_at_once = STEPS_AT_ONCE

    # --- state -----------------------------------------------------------------------------

    def start(self) -> None:
        """Add weights of 0; an approximation has features once it has seen rows."""
        super().start()
        n_features = 0 if self.learner.approximation else self.slots.n_columns
        self.state["W"] = np.zeros((n_features, self.n_scores))
        self.state["bias"] = np.zeros((self.slots.n_views, self.n_scores))

    def schema(self) -> Schema:
        """Return what the weights and the feature map look like."""
        method, n_features = self.learner.approximation, self.slots.n_columns
        schema = super().schema()
        if method is not None:
            n_features = sum(self.state[f"shift{v}"].shape[0] for v in range(self.slots.n_views))
            for v, width in enumerate(self.slots.widths):
                n, fourier = f"features of view {v}", method == "fourier"
                schema[f"map{v}"] = Array("f8", (width, n) if fourier else (n, width))
                schema[f"shift{v}"] = Array("f8", (n,) if fourier else (n, n))
        schema["W"] = Array("f8", (n_features, self.n_scores))
        schema["bias"] = Array("f8", (self.slots.n_views, self.n_scores))
        return schema

    def merged(self, models: Models) -> State:
        """Return the mean weights of models with the same features."""
        first = models.states[0]
        merged = {name: first[name] for name in self.schema() if name not in LEARNED}
        for name, value in merged.items():
            if any(not np.array_equal(value, other) for other in models.of(name)):
                raise InputError(
                    f"the models have another {name!r}, which follows from their first rows; let "
                    "them go on from copies of one model"
                )
        merged |= {name: models.mean(name) for name in ("W", "bias")}
        for name in ("t", "turns"):
            learned = len(models.start["gamma"]) > 0
            start = models.start[name] if learned else np.zeros_like(first[name])
            merged[name] = total(models.of(name), start)
        return merged

    def grow(self, moved: np.ndarray, before: ViewLayout) -> None:
        """Add columns of weight 0."""
        super().grow(moved, before)
        old_W, old = self.state["W"], self.state["bias"]
        W = np.zeros((self.slots.n_columns, self.n_scores))
        bias = np.zeros((self.slots.n_views, self.n_scores))
        W[moved], bias[: len(old)] = old_W, old
        self.state |= {"W": W, "bias": bias}

    def insert_class(self, n_classes: int, position: int, n_rows: int) -> None:
        """Add a class of weight 0."""
        for name in ("W", "bias"):
            self.state[name] = weights_with_class(self.state[name], n_classes, position)

    # --- learning and scoring ----------------------------------------------------------------

    def prepare(
        self, rows: Rows, n_components: int, random_state: Callable[[], np.random.RandomState]
    ) -> None:
        """Fit the approximation to the first rows."""
        if self.learner.approximation is None:
            return
        maps = self._approximation().fit(rows, n_components, random_state())
        n_features = sum(len(maps[f"shift{v}"]) for v in range(self.slots.n_views))
        self.state |= {**maps, "W": np.zeros((n_features, self.n_scores))}

    def hold(self, rows: Rows, origin: np.ndarray) -> None:
        """Compute the features of the rows to learn."""
        self.held = self._features(rows)

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
        W, bias = np.zeros_like(self.state["W"]), np.zeros_like(self.state["bias"])
        moments = (np.zeros_like(W), np.zeros_like(bias)) if average else (W[:0], bias[:0])
        features = Features(rows_at(self.held, drawn), W, bias, moments)
        memory = init_memory(len(bias), examples.labels.shape[1], len(drawn))
        t = 0
        for lo in range(0, len(draws), STEPS_AT_ONCE):
            part = read_only(draws[lo : lo + STEPS_AT_ONCE])
            stream = unlimited(len(part), examples.labels.shape[1])
            t = learn_explicit(features, part, examples, memory, settings, stream, t)
            advance(len(part))
        if average:
            W, bias = averaged(W, moments[0], t), averaged(bias, moments[1], t)
        self.state |= {"W": W, "bias": bias}
        return t

    def add_held_sums(self, wanted: np.ndarray, out: np.ndarray) -> None:
        """Add the sums of the held rows ``wanted``, as `add_sums`."""
        self._add_sums(rows_at(self.held, wanted), out)

    def learn_block(
        self, rows: Rows, examples: Examples, settings: Settings, stream: Stream, t: int
    ) -> int:
        """Make a step with each row, from step ``t`` on; return the last step."""
        n, K = examples.labels.shape
        W, bias = self.state["W"], self.state["bias"]
        features = Features(self._features(rows), W, bias, (W[:0], bias[:0]))
        memory = init_memory(len(rows.ptr) - 1, K, n)
        order = read_only(np.arange(n))
        return learn_explicit(features, order, examples, memory, settings, stream, t)

    def add_sums(self, rows: Rows, out: np.ndarray) -> None:
        """out[i, v] <- out[i, v] + W_v'x_i + constant * bias_v."""
        self._add_sums(self._features(rows), out)

    def _add_sums(self, features: Rows, out: np.ndarray) -> None:
        out += self.constant * self.state["bias"]
        score_views(features, read_only(self.state["W"]), out, np.empty(out.shape[:2]))

    def portable(self, scales: np.ndarray) -> list[ViewTerm]:
        """Return the sums of each view times its scale, for other programs."""
        ptr, nothing = self.slots.ptr, np.zeros(self.n_scores)
        W, bias = self.state["W"], scales[:, None] * self.constant * self.state["bias"]
        if self.learner.approximation is None:
            W = np.repeat(scales, self.slots.widths)[:, None] * W
            return [ViewTerm(table, bias[v]) for v, table in enumerate(split_by_view(W, ptr))]
        terms, at = [], 0
        for v in range(self.slots.n_views):
            if f"shift{v}" not in self.state:  # no rows so far
                terms.append(ViewTerm(Table.of(np.zeros((0, self.n_scores))), nothing))
                continue
            maps, shift = self.state[f"map{v}"], self.state[f"shift{v}"]
            weights = scales[v] * W[at : at + len(shift)]
            at += len(shift)
            term = ViewTerm(Table.of(np.zeros((0, self.n_scores))), bias[v])
            if self.learner.approximation == "fourier":
                phi = np.sqrt(2.0 / len(shift)) * weights
                term.cosines = Cosines([0], [Table.of(maps)], shift, phi)
            else:  # the values with the landmarks, times the normalization
                columns = [np.flatnonzero(row) for row in maps]
                values = [row[own].tolist() for row, own in zip(maps, columns, strict=True)]
                function, gamma = self.function, float(self.state["gamma"][v])
                term.supports = Supports(
                    *(str(function.kernel), gamma, float(function.coef0), float(function.degree)),
                    *(0.0, [own.tolist() for own in columns], values, shift.T @ weights),
                )
            terms.append(term)
        return terms

    def _features(self, rows: Rows) -> Rows:
        if self.learner.approximation is None:
            return rows
        return self._approximation().transform(rows, self.state, self.slots.names)

    def _approximation(self) -> ViewApproximation:
        assert self.learner.approximation is not None
        method, gammas = self.learner.approximation, self.state["gamma"]
        return ViewApproximation(method, self.function, gammas)
