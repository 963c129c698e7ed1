"""Views: which columns belong together, and the container that carries them.

A *view* is a group of columns that describes one side of a row.  Two things
live here and nothing else does: `ViewLayout`, the names and column blocks, and
`MultiView`, a matrix whose columns are laid out view after view and which
slices by rows, so that scikit-learn's splitters take it as it is.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from crossview.errors import InputError

__all__ = ["MultiView", "ViewLayout", "closest_names", "resolve_views"]


class ViewLayout:
    """Names and widths of views that lie side by side as column blocks.

    Parameters
    ----------
    names : sequence of str
        One name a view, all different.
    widths : sequence of int
        Number of columns of each view, at least 1.

    Attributes
    ----------
    ptr : ndarray of shape (n_views + 1,), int64
        View ``v`` holds the columns ``ptr[v]`` to ``ptr[v + 1] - 1``.

    Examples
    --------
    >>> from crossview import ViewLayout
    >>> layout = ViewLayout(["page", "link"], [3, 2])
    >>> layout.block("link")
    slice(3, 5, None)
    """

    def __init__(self, names: Sequence[str], widths: Sequence[int]) -> None:
        self.names = tuple(str(name) for name in names)
        self.widths = tuple(int(width) for width in widths)
        if len(self.names) != len(self.widths):
            raise InputError(
                f"{len(self.names)} view names and {len(self.widths)} widths; give as many of each"
            )
        if not self.names:
            raise InputError("no views; name at least one")
        if len(set(self.names)) != len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise InputError(f"view {twice!r} is named twice; give each view its own name")
        for name, width in zip(self.names, self.widths, strict=True):
            if width < 1:
                raise InputError(f"view {name!r} has no columns; leave it out or give it columns")
        self.ptr = np.concatenate([[0], np.cumsum(self.widths)]).astype(np.int64)

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.names)

    @property
    def n_columns(self) -> int:
        """Number of columns of all views together."""
        return int(self.ptr[-1])

    def index(self, name: str) -> int:
        """Position of a view.

        Parameters
        ----------
        name : str
            Its name; `InputError` if there is none of that name.

        Returns
        -------
        int
            Its position, from 0.
        """
        if name not in self.names:
            raise InputError(f"no view {name!r}{closest_names(name, self.names)}")
        return self.names.index(name)

    def block(self, name: str) -> slice:
        """Columns of a view.

        Parameters
        ----------
        name : str
            Its name; `InputError` if there is none of that name.

        Returns
        -------
        slice
            The block of columns.
        """
        v = self.index(name)
        return slice(int(self.ptr[v]), int(self.ptr[v + 1]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ViewLayout):
            return NotImplemented
        return self.names == other.names and self.widths == other.widths

    def __hash__(self) -> int:
        return hash((self.names, self.widths))

    def __repr__(self) -> str:
        views = ", ".join(f"{n}: {w}" for n, w in zip(self.names, self.widths, strict=True))
        return f"ViewLayout({views})"


class MultiView:
    """Several views of the same rows, in one container that slices by rows.

    ``GridSearchCV``, ``cross_val_score``, ``train_test_split`` and ``Pipeline``
    take it like a matrix.  Inside, the views lie side by side in one array, or
    in one CSR matrix as soon as one of them is sparse.

    Parameters
    ----------
    views : mapping of str to array-like or sparse matrix of shape (n_samples, n_columns)
        The blocks, in the order in which the views shall stand.  Data frames
        (pandas, polars, Arrow) keep their column names.
    present : array-like of bool of shape (n_samples, n_views), default=None
        False where a view is missing in a row; what the block holds there is
        not looked at.  None: a view is missing where all its columns are NaN.
    feature_names : mapping of str to sequence of str, default=None
        Names of the columns of each view, for those that are not data frames.

    Attributes
    ----------
    layout : ViewLayout
        Names and widths.
    matrix : ndarray or csr_array of shape (n_samples, n_columns), float64
        The views side by side.
    present : ndarray of bool of shape (n_samples, n_views) or None
        Which views each row has; None: all of them, but for all-NaN blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from crossview import MultiView
    >>> X = MultiView({"page": np.eye(3), "link": np.ones((3, 2))})
    >>> X
    MultiView(3 rows, page: 3, link: 2)
    >>> X[[0, 2]].shape
    (2, 5)
    >>> X["link"].shape
    (3, 2)
    """

    # numpy must hand comparisons and arithmetic back instead of iterating over the rows
    __array_ufunc__ = None

    def __init__(
        self,
        views: Mapping[str, Any],
        *,
        present: Any = None,
        feature_names: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        if not isinstance(views, Mapping):
            raise InputError(
                "MultiView takes a mapping of view name to columns, such as "
                f"MultiView({{'page': P, 'link': L}}), not {type(views).__name__}"
            )
        blocks: list[Any] = []
        names: dict[str, tuple[str, ...]] = {}
        for name, block in views.items():
            matrix, columns = _as_matrix(block, str(name))
            blocks.append(matrix)
            if columns is not None:
                names[str(name)] = columns
        layout = ViewLayout([str(n) for n in views], [b.shape[1] for b in blocks])
        rows = [b.shape[0] for b in blocks]
        if len(set(rows)) > 1:
            counts = ", ".join(f"{n}: {r}" for n, r in zip(layout.names, rows, strict=True))
            raise InputError(f"the views have different numbers of rows ({counts})")
        if any(sp.issparse(b) for b in blocks):
            matrix = sp.csr_array(sp.hstack(blocks, format="csr", dtype=np.float64))
        else:
            matrix = np.ascontiguousarray(np.hstack(blocks), dtype=np.float64)
        for name, given in (feature_names or {}).items():
            names[layout.names[layout.index(name)]] = tuple(str(c) for c in given)
        self._set(matrix, layout, _as_present(present, rows[0], layout.n_views), names)

    @classmethod
    def from_matrix(
        cls,
        matrix: Any,
        layout: ViewLayout,
        *,
        present: Any = None,
        feature_names: Mapping[str, Sequence[str]] | None = None,
    ) -> MultiView:
        """Wrap a matrix whose columns already lie view after view, without a copy.

        Parameters
        ----------
        matrix : ndarray or CSR of shape (n_samples, layout.n_columns), float64
            The views side by side.
        layout : ViewLayout
            Names and widths of the blocks.
        present : array-like of bool of shape (n_samples, n_views), default=None
            False where a view is missing.
        feature_names : mapping of str to sequence of str, default=None
            Names of the columns of each view.

        Returns
        -------
        MultiView
            The views, sharing memory with ``matrix``.
        """
        if matrix.shape[1] != layout.n_columns:
            raise InputError(f"{matrix.shape[1]} columns for {layout}")
        self = cls.__new__(cls)
        names = {str(n): tuple(c) for n, c in (feature_names or {}).items()}
        self._set(matrix, layout, _as_present(present, matrix.shape[0], layout.n_views), names)
        return self

    def _set(
        self,
        matrix: Any,
        layout: ViewLayout,
        present: np.ndarray | None,
        feature_names: dict[str, tuple[str, ...]],
    ) -> None:
        for name, columns in feature_names.items():
            width = layout.widths[layout.index(name)]
            if len(columns) != width:
                raise InputError(
                    f"{len(columns)} feature names for the {width} columns of {name!r}"
                )
        self.matrix = matrix
        self.layout = layout
        self.present = present
        self.feature_names = feature_names

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and columns of all views together."""
        return int(self.matrix.shape[0]), int(self.matrix.shape[1])

    @property
    def ndim(self) -> int:
        """2, as of a matrix."""
        return 2

    @property
    def dtype(self) -> np.dtype:
        """The type of the values."""
        return self.matrix.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        """The view of that name, or the rows of that slice, mask or list of positions."""
        if isinstance(key, str):
            return self.matrix[:, self.layout.block(key)]
        if isinstance(key, tuple):  # scikit-learn indexes rows as X[rows, ...]
            if len(key) != 2 or key[1] not in (Ellipsis, slice(None)):
                raise InputError("a MultiView is indexed by rows, or by the name of a view")
            key = key[0]
        if isinstance(key, int | np.integer):
            row = range(len(self))[key]
            key = slice(row, row + 1)
        if not isinstance(key, slice):
            key = np.asarray(key)
        return MultiView.from_matrix(
            self.matrix[key],
            self.layout,
            present=None if self.present is None else self.present[key],
            feature_names=self.feature_names,
        )

    def keys(self) -> tuple[str, ...]:
        """Names of the views, in their order.

        Returns
        -------
        tuple of str
            The names.
        """
        return self.layout.names

    def select(self, names: Iterable[str]) -> MultiView:
        """Only the views called ``names``, in that order.

        Parameters
        ----------
        names : iterable of str
            Names of views.

        Returns
        -------
        MultiView
            The same rows with those views.
        """
        names = list(names)
        index = [self.layout.index(name) for name in names]
        blocks = [self[name] for name in names]
        matrix = blocks[0] if len(blocks) == 1 else _hstack(blocks)
        return MultiView.from_matrix(
            matrix,
            ViewLayout(names, [self.layout.widths[v] for v in index]),
            present=None if self.present is None else self.present[:, index],
            feature_names={n: c for n, c in self.feature_names.items() if n in names},
        )

    def __repr__(self) -> str:
        views = ", ".join(
            f"{n}: {w}" for n, w in zip(self.layout.names, self.layout.widths, strict=True)
        )
        return f"MultiView({len(self)} rows, {views})"


def resolve_views(
    views: Mapping[str, Any] | Sequence[int] | None,
    n_features: int,
    feature_names: Sequence[str] | None = None,
) -> tuple[ViewLayout, np.ndarray | None]:
    """Turn the ``views=`` parameter of an estimator into blocks of columns.

    Parameters
    ----------
    views : None, mapping or sequence of int
        None: one view with all columns.  A sequence of widths: consecutive
        blocks, called ``view0``, ``view1``, ...  A mapping of view name to
        columns: a slice, integer positions, column names, one column name, or
        a glob such as ``"user_*"``.  Columns in no view are left out.
    n_features : int
        Number of columns of ``X``.
    feature_names : sequence of str, default=None
        Their names, where they have any.

    Returns
    -------
    layout : ViewLayout
        Names and widths.
    columns : ndarray of shape (layout.n_columns,), int64, or None
        The column of ``X`` at each place of the layout; None: all of them, in
        their order.
    """
    if views is None:
        return ViewLayout(["all"], [n_features]), None
    if isinstance(views, Mapping):
        chosen = {
            str(name): _choose(str(name), spec, n_features, feature_names)
            for name, spec in views.items()
        }
        layout = ViewLayout(list(chosen), [len(c) for c in chosen.values()])
        columns = np.concatenate(list(chosen.values()))
        owner: dict[int, str] = {}
        for name, group in chosen.items():
            for column in group.tolist():
                if column in owner:
                    label = feature_names[column] if feature_names is not None else column
                    raise InputError(
                        f"column {label!r} is in view {owner[column]!r} and again in {name!r}; "
                        "a column belongs to one view"
                    )
                owner[column] = name
        return layout, columns
    if isinstance(views, str) or not all(isinstance(w, int | np.integer) for w in views):
        raise InputError(
            "views= takes None, a mapping of name to columns such as {'page': slice(0, 100)}, "
            f"or a list of widths such as [100, 50], not {views!r}"
        )
    layout = ViewLayout([f"view{v}" for v in range(len(views))], list(views))
    if layout.n_columns != n_features:
        raise InputError(
            f"views= names {layout.n_columns} columns ({' + '.join(map(str, views))}) "
            f"and X has {n_features}"
        )
    return layout, None


def closest_names(name: str, known: Sequence[str], most: int = 20) -> str:
    """The end of an error message about an unknown name: what there is instead."""
    import difflib

    close = difflib.get_close_matches(str(name), [str(k) for k in known], n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    shown = ", ".join(str(k) for k in list(known)[:most])
    more = f", ... ({len(known)} in all)" if len(known) > most else ""
    return f"{hint} (there are: {shown}{more})"


def match_columns(view: str, pattern: str, names: Sequence[str]) -> list[int]:
    """Positions of the columns that a name or glob names; `InputError` if none."""
    if pattern in names:
        return [list(names).index(pattern)]
    found = [i for i, name in enumerate(names) if fnmatch.fnmatchcase(name, pattern)]
    if not found:
        raise InputError(
            f"view {view!r}: no column is called {pattern!r}{closest_names(pattern, names)}"
        )
    return found


def _choose(
    view: str, spec: Any, n_features: int, feature_names: Sequence[str] | None
) -> np.ndarray:
    """Positions of the columns of one view."""
    if isinstance(spec, slice):
        return np.arange(n_features)[spec]
    items = [spec] if isinstance(spec, str | int | np.integer) else list(spec)
    patterns = [item for item in items if isinstance(item, str)]
    if items and len(patterns) == len(items):
        if feature_names is None:
            raise InputError(
                f"view {view!r} names its columns ({items[0]!r}), but X has no column names; "
                "pass a data frame, or positions"
            )
        columns = [c for p in patterns for c in match_columns(view, p, feature_names)]
        return np.asarray(list(dict.fromkeys(columns)), dtype=np.int64)
    if items and all(isinstance(item, bool | np.bool_) for item in items):
        if len(items) != n_features:
            raise InputError(f"view {view!r}: a mask of {len(items)} for {n_features} columns")
        return np.flatnonzero(np.asarray(items))
    if not all(isinstance(item, int | np.integer) for item in items):
        raise InputError(f"view {view!r}: columns are a slice, positions or names, not {spec!r}")
    positions = np.asarray(items, dtype=np.int64)
    for column in positions.tolist():
        if not -n_features <= column < n_features:
            raise InputError(f"view {view!r}: column {column} of {n_features}")
    return positions % n_features


def _as_matrix(block: Any, view: str) -> tuple[Any, tuple[str, ...] | None]:
    """One view as a 2-D array or CSR of float64, and its column names."""
    if sp.issparse(block):
        return sp.csr_array(block, dtype=np.float64), None
    import narwhals.stable.v2 as nw

    frame = nw.from_native(block, eager_only=True, pass_through=True)
    columns = None
    if isinstance(frame, nw.DataFrame):
        columns = tuple(str(c) for c in frame.columns)
        block = frame.to_numpy()
    try:
        array = np.asarray(block, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"view {view!r} holds something that is not a number ({error}); "
            "encode it first, for example with crossview.ViewEncoder"
        ) from None
    if array.ndim != 2:
        raise InputError(f"view {view!r} has {array.ndim} dimensions; a view is a 2-D table")
    return array, columns


def _as_present(present: Any, n_samples: int, n_views: int) -> np.ndarray | None:
    if present is None:
        return None
    mask = np.asarray(present)
    if mask.dtype != np.bool_ or mask.shape != (n_samples, n_views):
        raise InputError(
            f"present= takes booleans of shape ({n_samples}, {n_views}), "
            f"not {mask.dtype} of shape {mask.shape}"
        )
    return mask


def _hstack(blocks: list[Any]) -> Any:
    if any(sp.issparse(b) for b in blocks):
        return sp.csr_array(sp.hstack(blocks, format="csr"))
    return np.hstack(blocks)
