"""State of the covariance: one per view, in one of four forms.

The coordinates of a view's covariance are the constant feature of the intercept, then the view's
columns.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

FULL, DIAGONAL, DIAGONAL_COVARIANCE, LOW_RANK = 0, 1, 2, 3


class Covariance(NamedTuple):
    """One covariance per view, in one of the forms; the passes update it."""

    form: int  # FULL, DIAGONAL, DIAGONAL_COVARIANCE or LOW_RANK
    ptr: np.ndarray  # int64 (n_views + 1,): view v has the columns ptr[v] .. ptr[v + 1] - 1
    D: np.ndarray  # (n_columns,): the diagonal D of the form
    d: np.ndarray  # (n_views,): its entries for the constant features
    # full
    T: np.ndarray  # the triangles, view after view, column after column, without diagonal
    triangle_ptr: np.ndarray  # int64 (n_views + 1,): where the triangle of each view begins
    # low-rank
    kept: np.ndarray  # int64 (n_views,): rows kept
    begin: np.ndarray  # int64 (n_views, room): where the entries of a kept row begin ...
    end: np.ndarray  # ... and end
    rho: np.ndarray  # (n_views, room): its precision
    L: np.ndarray  # (n_views, room (room + 1) / 2): the Cholesky factors, row after row
    values: np.ndarray  # the entries of the kept rows times D ...
    columns: np.ndarray  # ... and their columns
    used: np.ndarray  # int64 (1,): number of entries in use


class Scratch(NamedTuple):
    """Intermediate results of `sqnorm` for the update of a row; overwritten by each row."""

    z: np.ndarray  # a row in dense form; 0 between calls
    f: np.ndarray  # full: T'x of each view
    g: np.ndarray  # full: S x of one view
    half: np.ndarray  # low-rank (n_views, room): L^-1 B D x
    solution: np.ndarray  # low-rank (n_views, room): (L L')^-1 B D x


def make_scratch(S: Covariance) -> Scratch:
    """Return scratch arrays for a pass with S."""
    columns, (V, room) = len(S.D), S.begin.shape
    is_diagonal = S.form not in (FULL, LOW_RANK)
    return Scratch(
        np.zeros(0 if is_diagonal else columns + 1),
        np.empty(columns + V if S.form == FULL else 0),
        np.empty(columns + V if S.form == FULL else 0),
        np.empty((V, room)),
        np.empty((V, room)),
    )


def full_bytes(widths: list[int]) -> int:
    """Return the memory of a full covariance of views with these widths."""
    return sum(8 * w * (w + 1) // 2 for w in widths)


def init_covariance(
    form: int, ptr: np.ndarray, scale: float, room: int = 0, scaling: float = 1.0
) -> Covariance:
    """Return S = scale I for views of the columns ptr[v] .. ptr[v + 1] - 1.

    The variance of an intercept is ``scale * scaling**2``: the variance of the weight of a
    constant feature of value ``scaling``, times that feature.
    """
    widths = [int(b - a) for a, b in pairwise(ptr)]
    n_views, n_columns = len(widths), int(ptr[-1])
    triangle_ptr = np.zeros(n_views + 1, dtype=np.int64)
    if form == FULL:
        np.cumsum([w * (w + 1) // 2 for w in widths], out=triangle_ptr[1:])
    return Covariance(
        form=form,
        ptr=np.array(ptr, dtype=np.int64),
        D=np.full(n_columns, float(scale)),
        d=np.full(n_views, float(scale) * scaling**2),
        T=np.zeros(triangle_ptr[-1]),
        triangle_ptr=triangle_ptr,
        **no_rows(n_views, room, n_columns),
    )


def no_rows(n_views: int, room: int, n_columns: int) -> dict[str, Any]:
    """Return the low-rank fields with room for rows and none kept."""
    wide = n_columns > np.iinfo(np.int32).max
    return {
        "kept": np.zeros(n_views, dtype=np.int64),
        "begin": np.zeros((n_views, room), dtype=np.int64),
        "end": np.zeros((n_views, room), dtype=np.int64),
        "rho": np.zeros((n_views, room)),
        "L": np.zeros((n_views, room * (room + 1) // 2)),
        "values": np.zeros(0),
        "columns": np.zeros(0, dtype=np.uint64 if wide else np.uint32),
        "used": np.zeros(1, dtype=np.int64),
    }


def with_room(S: Covariance, rows: int = 0, entries: int = 0) -> Covariance:
    """Return S with space for this number of rows per view, and of additional entries."""
    old = S.begin.shape[1]
    if rows > old:
        new = no_rows(len(S.d), rows, len(S.D))
        for name in ("begin", "end", "rho"):
            new[name][:, :old] = getattr(S, name)
        new["L"][:, : S.L.shape[1]] = S.L
        unchanged = ("kept", "values", "columns", "used")
        S = S._replace(**(new | {name: getattr(S, name) for name in unchanged}))
    used = int(S.used[0])
    if used + entries > len(S.values):
        size = max(2 * len(S.values), used + entries)
        values, columns = np.zeros(size), np.zeros(size, dtype=S.columns.dtype)
        values[:used], columns[:used] = S.values[:used], S.columns[:used]
        S = S._replace(values=values, columns=columns)
    return S


def trimmed(S: Covariance) -> Covariance:
    """Return S without spare space and with unused entries set to 0, for a model file."""
    rows, used = int(S.kept.max(initial=0)), int(S.used[0])
    is_kept = np.arange(rows) < S.kept[:, None]
    in_factor = np.repeat(is_kept, np.arange(1, rows + 1), axis=1)
    return S._replace(
        begin=np.where(is_kept, S.begin[:, :rows], 0),
        end=np.where(is_kept, S.end[:, :rows], 0),
        rho=np.where(is_kept, S.rho[:, :rows], 0.0),
        L=np.where(in_factor, S.L[:, : in_factor.shape[1]], 0.0),
        values=S.values[:used].copy(),
        columns=S.columns[:used].copy(),
    )
