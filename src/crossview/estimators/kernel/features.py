"""Explicit weights: the linear kernel, and approximations of other kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from crossview.algorithms.kernel.explicit import Features, learn_explicit
from crossview.algorithms.kernel.quota import Stream, unlimited
from crossview.algorithms.kernel.scores import averaged
from crossview.algorithms.kernel.step import Examples, Settings, init_memory
from crossview.batch import read_only, rows_at
from crossview.estimators.kernel.approximation import (
    ApproximatedKernel,
    ViewApproximation,
    approximation_schema,
)
from crossview.kernels.rows import Rows, score_views
from crossview.saving.schema import Array
from crossview.views import ViewLayout

__all__ = ["STEPS_AT_ONCE", "FeatureWeights", "explicit_schema"]

# steps between two updates of the progress bar, and rows per block of features in memory
STEPS_AT_ONCE = 4096


class FeatureWeights:
    """Model with explicit weights: W and the feature map.

    Parameters
    ----------
    state : dict of str to ndarray
        The learner's state.
    blocks : ViewLayout
        Views of the rows.
    method : {"fourier", "nystroem"} or None
        The approximation; None: the features are the columns.
    kernel : dict
        ``kernel``, ``degree`` and ``coef0`` of the learner.
    constant : float
        Kernel value of the constant feature, whose weight is the intercept; 0 without one.
    """

    rows_at_once = score_at_once = STEPS_AT_ONCE

    def __init__(
        self,
        state: dict[str, np.ndarray],
        blocks: ViewLayout,
        method: str | None,
        kernel: dict[str, Any],
        constant: float,
    ) -> None:
        self.state = state
        self.blocks = blocks
        self.method = method
        self.kernel = kernel
        self.constant = constant

    def start(self, K: int) -> None:
        """Initialize the weights with 0."""
        self.state["W"] = np.zeros((0 if self.method else self.blocks.n_columns, K))
        self.state["bias"] = np.zeros((self.blocks.n_views, K))

    def prepare(
        self, rows: Rows, n_components: int, random_state: Callable[[], np.random.RandomState]
    ) -> None:
        """Fit the approximation to the first rows."""
        if self.method is None:
            return
        made = self._approximation().fit(rows, n_components, random_state())
        self.state.update(made.to_state())
        self.state["W"] = np.zeros((made.n_features, self.state["W"].shape[1]))

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

    def grow(self, moved: np.ndarray, K: int) -> None:
        """Add new columns; column i moves to ``moved[i]``."""
        W = np.zeros((self.blocks.n_columns, K))
        W[moved] = self.state["W"]
        old = self.state["bias"]
        self.state |= {"W": W, "bias": np.zeros((self.blocks.n_views, K))}
        self.state["bias"][: len(old)] = old

    def class_axes(self) -> dict[str, int]:
        """Return the arrays with a class axis, and the number of that axis."""
        return {"W": 1, "bias": 1}

    def _features(self, rows: Rows) -> Rows:
        if self.method is None:
            return rows
        return self._approximation().from_state(self.state).transform(rows, self.blocks.names)

    def _approximation(self) -> ViewApproximation:
        assert self.method is not None
        return ViewApproximation(
            ApproximatedKernel(self.method, gammas=self.state["gamma"], **self.kernel)
        )


def explicit_schema(
    state: Mapping[str, np.ndarray], blocks: ViewLayout, method: str | None, K: int
) -> dict[str, Array | np.ndarray]:
    """Return what explicit weights of ``K`` scores, and the feature map of an approximation are."""
    maps, n_features = approximation_schema(state, blocks, method)
    return {
        "W": Array("f8", (n_features, K)),
        "bias": Array("f8", (blocks.n_views, K)),
        **maps,
    }
