"""Two real data sets with natural views, available without a download.

Both come with scikit-learn.  Their columns are called ``view__column``, so that
``ViewEncoder()`` derives the views from the names.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from crossview.errors import InputError, closest_names
from crossview.files import CSV, PARQUET, replacing

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["load", "names", "write"]


def names() -> tuple[str, ...]:
    """Return the names of the bundled tables.

    Returns
    -------
    tuple of str
        Names for `load` and `write`.

    Examples
    --------
    >>> from crossview import datasets
    >>> datasets.names()
    ('breast-cancer', 'digits')
    """
    return tuple(_tables)


def load(name: str) -> pa.Table:
    """Return one of the bundled tables.

    Parameters
    ----------
    name : {'breast-cancer', 'digits'}
        ``breast-cancer``: 569 tumors, ten measures of the cell nuclei in three views:
        their ``mean``, standard ``error`` and ``worst`` value over the nuclei; the label is
        ``diagnosis``, 'benign' or 'malignant'.  ``digits``: 1797 handwritten digits of 8 x 8
        pixels in three views: ``pixels``, ``profile`` (sums of rows and of columns) and
        ``fourier`` (magnitudes of the 2-D Fourier coefficients, which are
        invariant to cyclic shifts of the digit); the label is ``digit``.

    Returns
    -------
    pyarrow.Table
        The rows in their published order.

    Examples
    --------
    >>> from crossview import datasets
    >>> table = datasets.load("breast-cancer")
    >>> table.shape
    (569, 31)
    >>> table.column_names[:2], table.column_names[-1]
    (['mean__radius', 'mean__texture'], 'diagnosis')
    """
    if name not in _tables:
        raise InputError(f"no data set {name!r}{closest_names(name, names())}")
    try:
        import pyarrow
    except ImportError:
        raise InputError("data sets need pyarrow: pip install 'crossview[cli]'") from None
    return pyarrow.table(_tables[name]())


def write(name: str, path: str | os.PathLike[str]) -> None:
    """Write one of the bundled tables to a file, atomically.

    Parameters
    ----------
    name : {'breast-cancer', 'digits'}
        See `load`.
    path : path
        The file, ``.parquet`` or ``.csv``; an existing file is replaced.

    Examples
    --------
    >>> import tempfile
    >>> from crossview import datasets, open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     datasets.write("digits", f"{folder}/digits.parquet")
    ...     open_table(f"{folder}/digits.parquet").n_rows
    1797
    """
    table = load(name)
    from pyarrow import csv, parquet

    target = Path(path)
    writers: dict[str, Callable[..., None]] = {
        ".parquet": parquet.write_table,
        ".csv": csv.write_csv,
    }
    if target.suffix.lower() not in writers:
        raise InputError("write to a name that ends in .parquet or .csv", file=str(path))
    kind = CSV if target.suffix.lower() == ".csv" else PARQUET
    with replacing(target, kind) as unfinished:
        writers[target.suffix.lower()](table, str(unfinished))


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


_tables: dict[str, Callable[[], dict[str, Any]]] = {
    "breast-cancer": _breast_cancer,
    "digits": _digits,
}
