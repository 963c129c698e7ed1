"""Container of several views of the same rows."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from crossview.errors import InputError, argument
from crossview.views.alignment import align_rows, is_mapping, split_by_view
from crossview.views.layout import ViewLayout


class MultiView:
    """Container of several views of the same rows, indexed by rows like a matrix.

    ``GridSearchCV``, ``cross_val_score``, ``train_test_split`` and ``Pipeline`` accept it as ``X``.
    The views are stored as column blocks of one array, or of one CSR matrix if any view is sparse.

    Parameters
    ----------
    views : mapping of str to array-like or sparse matrix of shape (n_samples, n_columns)
        The blocks, in the order of the views.  Data frames
        (pandas, polars, Arrow) keep their column names.  Frames of pandas belong together by their
        index: the rows are those of the first one, and the same labels in another order are put in
        its order.  Frames of other labels are refused.
    present : array-like of bool of shape (n_samples, n_views), default=None
        False where a view is missing in a row; its values there are ignored.  None: a view is
        missing in a row if all its columns are NaN.
    feature_names : mapping of str to sequence of str, default=None
        Names of the columns of each view that is not a data frame.

    Attributes
    ----------
    layout : ViewLayout
        Names and widths.
    matrix : ndarray or csr_array of shape (n_samples, n_columns), float64
        The views as consecutive column blocks.
    present : ndarray of bool of shape (n_samples, n_views) or None
        False where a view is missing in a row; None: only views that are NaN throughout.
    index : pandas.Index or None
        The index of the rows; None where no view is a frame of pandas.
    groups : ndarray of int of shape (n_samples,) or None
        Which rows belong together, as `with_groups` says.
    categories : list of ndarray of int
        Of each column of categories that a `ViewEncoder` has encoded, the columns of the matrix
        that are its values.

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

    # otherwise numpy would iterate over the rows in comparisons and arithmetic
    __array_ufunc__ = None
    restarts: Sequence[tuple[int, np.ndarray]] | None = None
    groups: np.ndarray | None = None

    def __init__(
        self,
        views: Mapping[str, Any],
        *,
        present: Any = None,
        feature_names: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        matrix, layout, names, index = _assemble(views)
        names |= _as_names(feature_names)
        mask = _as_present(present, matrix.shape[0], layout.n_views)
        self._set(matrix, layout, mask, names, index)

    @classmethod
    def from_matrix(
        cls,
        matrix: Any,
        layout: ViewLayout,
        *,
        present: Any = None,
        feature_names: Mapping[str, Sequence[str]] | None = None,
        index: Any = None,
        categories: Sequence[np.ndarray] = (),
        restarts: Sequence[tuple[int, np.ndarray]] | None = None,
        groups: np.ndarray | None = None,
    ) -> MultiView:
        """Wrap a matrix whose columns are already ordered by view, without a copy.

        Parameters
        ----------
        matrix : ndarray or CSR of shape (n_samples, layout.n_columns)
            The views as consecutive column blocks, of float64; other numbers are learned the same.
        layout : ViewLayout
            Names and widths of the blocks.
        present : array-like of bool of shape (n_samples, n_views), default=None
            False where a view is missing.
        feature_names : mapping of str to sequence of str, default=None
            Names of the columns of each view.
        index : pandas.Index, default=None
            The index of the rows, with which that of labels must agree.
        categories : sequence of ndarray of int, default=()
            Of each column of categories in a table, the columns of the matrix that are its values;
            those of one are all in one view.
        restarts : sequence of (int, ndarray of int), default=None
            Rows, ascending, and the columns whose weights begin anew just before that row is
            learned.  None: rows of an encoder that drops no users.
        groups : ndarray of int of shape (n_samples,), default=None
            Which rows belong together, as `with_groups` makes them.

        Returns
        -------
        MultiView
            The views, sharing memory with ``matrix``.
        """
        if matrix.shape[1] != layout.n_columns:
            raise InputError(
                f"the matrix has {matrix.shape[1]} columns, but {layout} has {layout.n_columns}"
            )
        self = cls.__new__(cls)
        names = _as_names(feature_names)
        mask = _as_present(present, matrix.shape[0], layout.n_views)
        self._set(matrix, layout, mask, names, index, categories)
        self.restarts, self.groups = restarts, groups
        return self

    def _set(
        self,
        matrix: Any,
        layout: ViewLayout,
        present: np.ndarray | None,
        feature_names: dict[str, tuple[str, ...]],
        index: Any,
        categories: Sequence[np.ndarray] = (),
    ) -> None:
        for name, columns in feature_names.items():
            width, n = layout.widths[layout.index(name)], len(columns)
            if n != width:
                raise InputError(f"{n} feature names for the {width} columns of {name!r}")
        self.matrix = matrix
        self.layout = layout
        self.present = present
        self.feature_names = feature_names
        self.index = index
        self.categories = list(categories)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and total number of columns."""
        return int(self.matrix.shape[0]), int(self.matrix.shape[1])

    @property
    def ndim(self) -> int:
        """Number of dimensions: 2."""
        return 2

    @property
    def dtype(self) -> np.dtype:
        """The type of the values."""
        return self.matrix.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise InputError(
            "a MultiView is no array; where one is wanted, as by an estimator of scikit-learn, "
            "give it X.matrix, the columns of all views side by side"
        )

    def __getitem__(self, key: Any) -> Any:
        """Return a view by its name, or rows by a slice, mask or list of positions."""
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
            index=None if self.index is None else self.index[key],
            categories=self.categories,
            restarts=None if self.restarts is None else self._restarts_of(key),
            groups=None if self.groups is None else self.groups[key],
        )

    def _restarts_of(self, key: Any) -> list[tuple[int, np.ndarray]]:
        """The columns that begin anew before some of the rows; consecutive slices share them."""
        rows, restarts = np.arange(len(self))[key], self.restarts or []
        if (np.diff(rows) <= 0).any():
            raise InputError(
                f"rows of an encoder with {argument('max_users')} have an order; leave them in it"
            )
        if not isinstance(key, slice):
            return [(int(np.searchsorted(rows, row)), columns) for row, columns in restarts]
        start, stop, _ = key.indices(len(self))
        last = stop + (stop == len(self))
        return [(row - start, columns) for row, columns in restarts if start <= row < last]

    def _restarts_in(self, blocks: Sequence[slice]) -> Sequence[tuple[int, np.ndarray]] | None:
        """The columns that begin anew, of some blocks of columns that are put side by side."""
        if self.restarts is None:
            return None
        found = []
        for row, columns in self.restarts:
            begin, own = 0, []
            for block in blocks:
                some = columns[(columns >= block.start) & (columns < block.stop)]
                own.append(some - block.start + begin)
                begin += block.stop - block.start
            found.append((row, np.concatenate(own)))
        return found

    def keys(self) -> tuple[str, ...]:
        """Return the names of the views, in their order.

        Returns
        -------
        tuple of str
            The names.
        """
        return self.layout.names

    def select(self, names: Iterable[str]) -> MultiView:
        """Return the same rows with some of the views, in the given order.

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
            index=self.index,
            categories=_categories_of(self, names),
            restarts=self._restarts_in([self.layout.block(name) for name in names]),
            groups=self.groups,
        )

    def with_groups(self, groups: Any) -> MultiView:
        """Return the same rows, some of which belong together.

        Parameters
        ----------
        groups : array-like of shape (n_samples,) or None
            The group of each row, such as the patient of each visit: `fit` and `compare` never
            learn one of them to score another.  None: each row stands alone.

        Returns
        -------
        MultiView
            The rows, sharing memory with these.

        Raises
        ------
        InputError
            There is not one group of each row, or it is no text, number or date.

        Examples
        --------
        >>> import numpy as np
        >>> from crossview import MultiView
        >>> MultiView({"page": np.eye(3)}).with_groups(["x", "y", "x"]).groups
        array([0, 1, 0])
        """
        own = copy.copy(self)
        own.groups = None if groups is None else as_groups(groups, len(self))
        return own

    def __repr__(self) -> str:
        widths = dict(zip(self.layout.names, self.layout.widths, strict=True))
        views = ", ".join(f"{name}: {width}" for name, width in widths.items())
        return f"MultiView({len(self)} rows, {views})"


def as_views(X: Any) -> Any:
    """Return the views of a mapping, or of a pandas frame whose columns have several levels.

    Returns X: the rows; all else is as it is.
    """
    if isinstance(X, MultiView):
        return X
    if is_mapping(X):
        return MultiView(X)
    views = split_by_view(X)
    return X if views is None else MultiView(views)


def _categories_of(X: MultiView, names: list[str]) -> list[np.ndarray]:
    """Return the columns of categories of some views, where these are one after the other."""
    found, begin = [], 0
    for name in names:
        block = X.layout.block(name)
        own = [one for one in X.categories if len(one) and block.start <= one[0] < block.stop]
        found += [one + (begin - block.start) for one in own]
        begin += block.stop - block.start
    return found


def _assemble(
    views: Mapping[str, Any],
) -> tuple[Any, ViewLayout, dict[str, tuple[str, ...]], Any]:
    """Return the concatenated views, their layout, their column names, and their index."""
    if not isinstance(views, Mapping):
        raise InputError(
            "MultiView takes a mapping of view name to columns, such as "
            f"MultiView({{'page': P, 'link': L}}), not {type(views).__name__}"
        )
    views, index = align_rows(views)
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
        matrix = np.concatenate(blocks, axis=1, out=np.empty((rows[0], layout.n_columns)))
    return matrix, layout, names, index


def _as_matrix(block: Any, view: str) -> tuple[Any, tuple[str, ...] | None]:
    """Return one view as a 2-D array of numbers or CSR of float64, and its column names."""
    if sp.issparse(block):
        _check_real(block, view)
        check_indices(block)  # scipy would move a wrong column into another view
        # entries of one column are added, which a smaller type may not hold
        return sp.csr_array(block.astype(np.float64, copy=False)), None
    import narwhals.stable.v2 as nw

    frame = nw.from_native(block, eager_only=True, pass_through=True)
    columns = None
    if isinstance(frame, nw.DataFrame):
        columns = tuple(str(c) for c in frame.columns)
        block = frame.to_numpy()
    try:
        array = np.asarray(block)
        _check_real(array, view)
        array = array if array.dtype.kind in "biuf" else np.asarray(block, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"view {view!r} has a value that is not a number ({error}); "
            "encode it first, for example with crossview.ViewEncoder"
        ) from None
    if array.ndim != 2:
        raise InputError(f"view {view!r} has {array.ndim} dimension(s); a view must be a 2-D table")
    return array, columns


def _check_real(block: Any, view: str) -> None:
    """Raise an error for numbers of which NumPy would drop the imaginary part, or the unit."""
    if block.dtype.kind in "cmM":
        raise InputError(f"view {view!r} holds {block.dtype}; make real numbers of it first")


def _as_names(feature_names: Mapping[str, Sequence[str]] | None) -> dict[str, tuple[str, ...]]:
    return {str(view): tuple(map(str, c)) for view, c in (feature_names or {}).items()}


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


def as_groups(groups: Any, n_samples: int | None = None) -> np.ndarray:
    """Return the group of each row as whole numbers, below 0 where a row without one is alone."""
    # of texts and a NaN, and of large numbers, NumPy would make others
    array = np.asarray(groups, dtype=object if isinstance(groups, list | tuple) else None)
    if array.ndim != 1:
        raise InputError(f"{argument('groups')} has {array.ndim} dimensions; give one per row")
    if n_samples is not None and len(array) != n_samples:
        raise InputError(f"{len(array)} groups for {n_samples} rows")
    if array.dtype.kind in "iu":
        alone = array[array < 0]
        if len(np.unique(alone)) == len(alone):
            return array
    rows = np.arange(len(array))
    if array.dtype.kind in "mM":
        rows = np.where(np.isnat(array), -1, rows)
    return number_groups(array.tolist(), rows, {})


def _is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, or what pandas has for it."""
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def number_groups(values: list[Any], rows: np.ndarray, numbers: dict[Any, int]) -> np.ndarray:
    """Return the number of the group of each row; each row without a value has one below 0.

    rows: the place of the value of each row, -1 where it has none.
    numbers: the number of each value before, to which new ones are added; None: rows without one.
    """
    alone = numbers.setdefault(None, 0)
    try:
        own = [
            -1 if _is_missing(value) else numbers.setdefault(value, len(numbers) - 1)
            for value in values
        ]
    except TypeError:
        raise InputError(f"{argument('groups')} are text, numbers or dates") from None
    codes = np.array([*own, -1], dtype=np.intp)[rows]
    missing = np.flatnonzero(codes < 0)
    codes[missing] -= alone + np.arange(len(missing))
    numbers[None] = alone + len(missing)
    return codes


def _hstack(blocks: list[Any]) -> Any:
    if any(sp.issparse(b) for b in blocks):
        return sp.csr_array(sp.hstack(blocks, format="csr"))
    return np.hstack(blocks)


def canonical_csr(X: Any) -> sp.csr_array:
    """Return a sparse matrix as CSR with sorted columns, each once in a row.

    X: it is not changed; it is returned if it is such a matrix already, and is float64 otherwise.
    Raises InputError: an index is out of range, or the row pointers do not fit.
    """
    check_indices(X)
    # entries of one column are added, which a smaller type may not hold
    matrix = X if X.format == "csr" else sp.csr_array(X.astype(np.float64))
    # scipy caches the result of this check on the matrix of the caller
    if not matrix.has_canonical_format:
        matrix = sp.csr_array(matrix, dtype=np.float64, copy=True)
        matrix.sum_duplicates()
    return matrix


def check_indices(X: Any) -> None:
    """Raise an error if an index of a sparse matrix is out of range.

    SciPy trusts the indices of a matrix that is built from its arrays.  Its own conversions, and
    our loops, would read and write outside of their memory.

    One pass over the indices, at the speed of memory.  Formats without index arrays are correct
    by construction.

    X: in any format.
    Raises InputError: the message names the index, and its row if the matrix is CSR.
    """
    n_rows, n_columns = X.shape
    if X.format == "coo":
        _check_range(X.row, n_rows, "row", None)
        _check_range(X.col, n_columns, "column", None)
    elif X.format == "csr":
        _check_pointers(X, n_rows, "row")
        _check_range(X.indices, n_columns, "column", X.indptr)
    elif X.format == "csc":
        _check_pointers(X, n_columns, "column")
        _check_range(X.indices, n_rows, "row", None)
    elif X.format == "bsr":
        _check_pointers(X, n_rows // X.blocksize[0], "row")
        _check_range(X.indices, n_columns // X.blocksize[1], "column", None)


def _check_range(indices: np.ndarray, size: int, what: str, indptr: np.ndarray | None) -> None:
    # as an unsigned number a negative index is larger than all others, so the maximum says it all
    unsigned = np.asarray(indices).view(f"u{indices.dtype.itemsize}")
    if not len(unsigned) or int(unsigned.max()) < size:
        return
    at = int(unsigned.argmax())
    row = None if indptr is None else int(np.searchsorted(indptr, at, side="right")) - 1
    raise InputError(
        f"X is a sparse matrix with the {what} index {int(indices[at])}, and it has {size} {what}s",
        row=row,
    )


def _check_pointers(X: Any, n: int, what: str) -> None:
    indptr, n_entries = X.indptr, min(len(X.indices), len(X.data))
    if len(indptr) != n + 1 or indptr[0] != 0 or not 0 <= indptr[-1] <= n_entries:
        wrong = f"its indptr has {len(indptr)} entries"
        if len(indptr) == n + 1:
            wrong += f", from {indptr[0]} to {indptr[-1]}"
        raise InputError(
            f"X is a sparse matrix of {n} {what}s and {n_entries} values, but {wrong}; "
            f"it takes {n + 1}, from 0 to at most {n_entries}"
        )
    falls = indptr[1:] < indptr[:-1]
    if falls.any():
        raise InputError(
            f"X is a sparse matrix whose indptr falls from {indptr[falls.argmax()]} to "
            f"{indptr[falls.argmax() + 1]} in {what} {int(falls.argmax())}; it must never fall"
        )
