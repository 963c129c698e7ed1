"""Explicit feature maps whose inner product approximates the kernel of a view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from crossview.batch import make_rows, matrix_of, views_of
from crossview.estimators.kernel.values import KernelFunction
from crossview.kernels.rows import Rows
from crossview.saving.schema import Array
from crossview.views import ViewLayout


class ViewApproximation:
    """A scikit-learn transformer per view, `RBFSampler` or `Nystroem`.

    method {"fourier", "nystroem"}: the approximation.
    function: the kernel to approximate.
    gammas (n_views,): γ of each view.
    transformers_: one per view.
    """

    transformers_: list[Any]

    def __init__(self, method: str, function: KernelFunction, gammas: np.ndarray) -> None:
        self.method, self.function, self.gammas = method, function, gammas

    def fit(self, rows: Rows, n_components: int, random_state: np.random.RandomState) -> Self:
        """Fit the transformer of each view; "nystroem" samples its landmarks from the rows.

        Parameters
        ----------
        rows : Rows
            The first rows.
        n_components : int
            Features per view.
        random_state : RandomState
            Source of randomness.

        Returns
        -------
        self : object
            The transformer.
        """
        seeds = random_state.randint(2**31 - 1, size=len(rows.ptr) - 1)
        self.transformers_ = []
        for v, X in enumerate(view_matrices(rows)):
            n = n_components if self.method == "fourier" else min(n_components, X.shape[0])
            self.transformers_.append(self._new(v, n, seeds[v]).fit(X))
        return self

    def transform(self, rows: Rows, names: Sequence[str]) -> Rows:
        """Return the features as dense rows, view after view."""
        pairs = zip(self.transformers_, view_matrices(rows), strict=True)
        parts = [transformer.transform(X) for transformer, X in pairs]
        layout = ViewLayout(names, [part.shape[1] for part in parts])
        return make_rows(np.hstack(parts), layout, rows.present if len(rows.present) else None)

    @property
    def n_features(self) -> int:
        """Number of features of all views."""
        first = self.method == "fourier"
        return sum(arrays[0].shape[int(first)] for arrays in map(self._arrays, self.transformers_))

    # --- state: two arrays per view ------------------------------------------------------

    def to_state(self) -> dict[str, np.ndarray]:
        """Return the arrays that `from_state` reads."""
        state = {}
        for v, transformer in enumerate(self.transformers_):
            state[f"map{v}"], state[f"shift{v}"] = self._arrays(transformer)
        return state

    def from_state(self, state: Mapping[str, np.ndarray]) -> Self:
        """Restore the transformers from the arrays of `to_state`."""
        self.transformers_ = []
        for v in range(len(self.gammas)):
            one, two = state[f"map{v}"], state[f"shift{v}"]
            if self.method == "fourier":
                made = self._new(v, one.shape[1])
                made.random_weights_, made.random_offset_ = one, two
                made.n_features_in_ = one.shape[0]
            else:
                made = self._new(v, len(one))
                made.components_, made.normalization_ = one, two
                made.n_features_in_ = one.shape[1]
            self.transformers_.append(made)
        return self

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


def approximation_schema(
    state: Mapping[str, np.ndarray], blocks: ViewLayout, method: str | None
) -> tuple[dict[str, Array | np.ndarray], int]:
    """Return what the arrays of `ViewApproximation` look like, and the number of all features.

    Without approximation there are no arrays, and the features are the columns.
    """
    if method is None:
        return {}, blocks.n_columns
    schema: dict[str, Array | np.ndarray] = {}
    n_features = 0
    for v, width in enumerate(blocks.widths):
        n = f"features of view {v}"
        fourier = method == "fourier"
        schema[f"map{v}"] = Array("f8", (width, n) if fourier else (n, width))
        schema[f"shift{v}"] = Array("f8", (n,) if fourier else (n, n))
        n_features += state[f"shift{v}"].shape[0]
    return schema, n_features


def view_matrices(rows: Rows) -> list[Any]:
    """Return each view as a separate matrix, dense if the rows are."""
    found = [
        matrix_of(view, int(rows.ptr[v]), int(rows.ptr[v + 1] - rows.ptr[v]))
        for v, view in enumerate(views_of(rows))
    ]
    return [matrix.toarray() for matrix in found] if rows.shared else found
