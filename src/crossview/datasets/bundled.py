"""Two real data sets with natural views that come with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def _breast_cancer() -> dict[str, Any]:
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    columns: dict[str, Any] = {}
    for values, title in zip(bunch.data.T, bunch.feature_names, strict=True):
        # "mean radius", "radius error", "worst radius"
        words = str(title).split()
        view = next(w for w in ("mean", "error", "worst") if w in (words[0], words[-1]))
        measure = "_".join(w for w in words if w != view)
        columns[f"{view}__{measure}"] = values
    columns["diagnosis"] = bunch.target_names[bunch.target].tolist()
    return columns


def _digits() -> dict[str, Any]:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images, n = bunch.images, len(bunch.images)
    # the magnitudes of a real image are symmetric: half of them suffice
    fourier = np.abs(np.fft.rfft2(images))
    blocks = {
        "pixels": (images, [f"{r}_{c}" for r in range(8) for c in range(8)]),
        "profile": (
            np.hstack([images.sum(axis=2), images.sum(axis=1)]),
            [f"row_{r}" for r in range(8)] + [f"column_{c}" for c in range(8)],
        ),
        "fourier": (fourier, [f"{r}_{c}" for r in range(8) for c in range(5)]),
    }
    columns: dict[str, Any] = {}
    for view, (block, titles) in blocks.items():
        for values, title in zip(block.reshape(n, -1).T, titles, strict=True):
            columns[f"{view}__{title}"] = np.ascontiguousarray(values)
    columns["digit"] = bunch.target
    return columns


BUNDLED: dict[str, Callable[[], dict[str, Any]]] = {
    "breast-cancer": _breast_cancer,
    "digits": _digits,
}
