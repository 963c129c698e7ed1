"""Raw columns to views: numbers, categories and text as one sparse block per view.

A view's block holds, in this order: its numeric columns, an indicator "is
missing" for each of them, and ``2**hash_bits`` slots that its categorical and
text columns share by hashing.  The width is fixed before the first row is
seen, so a stream may bring new categories and words at any time.

The work follows the dictionary, not the rows: a column of text becomes its distinct values and a
code per row; the values are hashed, once as long as the dictionary stays the same, and the codes
are looked up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from crossview.errors import InputError, closest_names
from crossview.streams.arrow import column_names, to_arrow
from crossview.streams.columns import (
    Batch,
    Column,
    as_codes,
    as_numbers,
    kind_of,
    match_names,
    one_array,
)
from crossview.streams.fill import Blocks, fill_rows
from crossview.streams.hashing import SlotTables
from crossview.streams.moments import Moments
from crossview.views import MultiView, ViewLayout, resolve_views

__all__ = ["ViewEncoder"]


class ViewEncoder(
    TransformerMixin,
    BaseEstimator,
    auto_wrap_output_keys=None,  # type: ignore[call-arg]  # scikit-learn is untyped
):
    """Encoder that turns columns of numbers, categories and text into views.

    Parameters
    ----------
    views : mapping of str to columns, default=None
        View name -> a column name, a list of names, or a glob such as
        ``"user_*"``.  None: a column called ``user__age`` belongs to the view
        ``user``.  Columns in no view are left out.
    text : sequence of str, default=()
        Columns (names or globs) of free text: counts of lower-case words (of two
        letters or more) and n-grams, scaled so that each text's part of the row
        has Euclidean length 1, however long the text is.
    categorical : sequence of str, default=()
        Columns of numbers that are categories, such as ids.
        Strings, booleans and dictionaries are categories without being named.
    numeric : sequence of str, default=()
        Columns that are numbers although they hold strings or booleans.
    hash_bits : int, default=18
        Each view has ``2**hash_bits`` slots for categories and words.  More
        means fewer of them share a slot, and larger models.
    ngram_range : (int, int), default=(1, 1)
        Shortest and longest run of words of a text that is counted.
    standardize : bool, default=True
        Bring numbers to mean 0 and variance 1, by the rows seen in fitting so
        far.  A column with a single value becomes 0.
    remember_names : int, default=50_000
        The most names of slots that are kept per view, first come, for inspection.

    Attributes
    ----------
    layout_ : ViewLayout
        Names and widths of the blocks.
    n_features_in_ : int
        Number of columns of the table it was fitted on.
    feature_names_in_ : ndarray of str
        Their names.
    mean_, count_ : ndarray of shape (n_numeric_columns,)
        Mean and number of the numbers seen of each numeric column.

    Notes
    -----
    A missing number (null; in pandas and NumPy also NaN) becomes 0 and sets its
    indicator to 1.  A missing category or text has no entry.  Where all columns
    of a view are missing, the view is missing in that row: no entries, and
    ``present`` is False.  A NaN that is not null, and an infinity, are errors.

    A category is hashed as ``column=value``, a word as ``column:word``, by
    scikit-learn's `FeatureHasher`; two that share a slot are added.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from crossview import ViewEncoder
    >>> table = pa.table({
    ...     "user_age": [30, None, 50], "user_city": ["Oslo", "Bonn", None],
    ...     "page": ["cheap flights", "weather in Oslo", None],
    ... })
    >>> encoder = ViewEncoder({"user": "user_*", "page": "page"}, text=["page"], hash_bits=8)
    >>> X = encoder.fit_transform(table)
    >>> X
    MultiView(3 rows, user: 258, page: 256)
    >>> X.present.tolist()
    [[True, True], [True, True], [True, False]]
    >>> [encoder.feature_name("user", column) for column in X["user"][[1]].indices]
    ['user_age is missing', 'user_city=Bonn']
    """

    def __init__(
        self,
        views: Mapping[str, Any] | None = None,
        *,
        text: Sequence[str] = (),
        categorical: Sequence[str] = (),
        numeric: Sequence[str] = (),
        hash_bits: int = 18,
        ngram_range: tuple[int, int] = (1, 1),
        standardize: bool = True,
        remember_names: int = 50_000,
    ) -> None:
        self.views = views
        self.text = text
        self.categorical = categorical
        self.numeric = numeric
        self.hash_bits = hash_bits
        self.ngram_range = ngram_range
        self.standardize = standardize
        self.remember_names = remember_names

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the columns, their kinds and the statistics of the numbers.

        Parameters
        ----------
        X : pandas, polars or Arrow table, or ndarray of shape (n_samples, n_columns)
            The columns; those of an ndarray are called ``x0``, ``x1``, ...
        y : None
            Ignored.

        Returns
        -------
        ViewEncoder
            Itself.
        """
        self.__dict__.pop("layout_", None)
        return self.partial_fit(X)

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Update the statistics by another batch of rows.

        Parameters
        ----------
        X : pandas, polars or Arrow table, or ndarray of shape (n_samples, n_columns)
            The columns; the first call fixes which there are and their kinds.
        y : None
            Ignored.

        Returns
        -------
        ViewEncoder
            Itself.
        """
        if not hasattr(self, "layout_"):
            self._begin(X)
        batch = self._decode(X)
        self._moments.update(batch.values)
        for column, coded in zip(self._hashed, batch.coded, strict=True):
            self._slots.look_up(column, coded.dictionary, remember=True)
        return self

    def transform(self, X: Any) -> MultiView:
        """Encode rows by what is known so far; nothing is learned.

        Parameters
        ----------
        X : pandas, polars or Arrow table, or ndarray of shape (n_samples, n_columns)
            At least the columns that were fitted, in any order.

        Returns
        -------
        MultiView
            The views, as one CSR matrix with sorted indices.
        """
        check_is_fitted(self, "layout_")
        batch = self._decode(X)
        n_rows, n_views = batch.values.shape[1], self.layout_.n_views
        present = np.zeros((n_rows, n_views), dtype=bool)
        categories = [c for c in self._hashed if c.kind == "categorical"]
        slots = np.empty((n_rows, len(categories)), dtype=np.int32)
        texts = []
        for column, coded in zip(self._hashed, batch.coded, strict=True):
            table = self._slots.look_up(column, coded.dictionary)
            if column.kind == "categorical":
                slots[:, categories.index(column)] = table[coded.codes]
            else:
                texts.append((column, table, coded.codes))
                present[:, self.layout_.index(column.view)] |= coded.codes >= 0

        # 1. numbers and categories, row by row; 2. texts, as one matrix a column
        counts = np.array([self._count(name) for name in self.layout_.names]).reshape(-1, 2)
        numeric_ptr, slots_ptr = np.vstack([[0, 0], counts.cumsum(axis=0)]).T.copy()
        for start, stop in pairwise(slots_ptr):
            slots[:, start:stop].sort(axis=1)
        most = n_rows * (len(self._numbers) + len(categories))
        if max(most, self.layout_.n_columns) > np.iinfo(np.int32).max:
            raise InputError(f"{n_rows} rows are too many at once; transform them in batches")
        indptr = np.zeros(n_rows + 1, dtype=np.int32)
        indices = np.empty(most, dtype=np.int32)
        data = np.empty(most)
        values = self._moments.standardize(batch.values) if self.standardize else batch.values
        fill_rows(
            np.ascontiguousarray(values.T), slots, present,
            Blocks(numeric_ptr, slots_ptr, self.layout_.ptr), indptr, indices, data,
        )  # fmt: skip
        matrix = self._csr(data, indices, indptr)
        for column, table, codes in texts:
            rows = table[codes]  # the last row, at -1, is empty
            first = self._first_slot(column.view)
            matrix = matrix + self._csr(rows.data, rows.indices + np.int32(first), rows.indptr)
        return MultiView.from_matrix(
            matrix,
            self.layout_,
            present=None if present.all() else present,
            feature_names={
                name: self._plain_names(name)
                for name in self.layout_.names
                if self._first_slot(name) == self.layout_.block(name).stop
            },
        )

    @property
    def count_(self) -> np.ndarray:
        """Number of the numbers seen of each numeric column."""
        check_is_fitted(self, "layout_")
        return self._moments.count

    @property
    def mean_(self) -> np.ndarray:
        """Mean of the numbers seen of each numeric column."""
        check_is_fitted(self, "layout_")
        return self._moments.mean

    def feature_name(self, view: str, column: int) -> str:
        """Return what a column of the output stands for.

        Parameters
        ----------
        view : str
            Name of the view.
        column : int
            Column within the view's block.

        Returns
        -------
        str
            The column's name, ``"age is missing"``, ``"city=Oslo"``, ``"page:word"``, or
            ``"slot 7"`` where no name was remembered.  Of several that share a
            slot it is the first one seen.
        """
        check_is_fitted(self, "layout_")
        block = self.layout_.block(view)
        if not 0 <= column < block.stop - block.start:
            raise InputError(f"view {view!r} has no column {column} ({self.layout_})")
        plain = self._plain_names(view)
        if column < len(plain):
            return plain[column]
        slot = column - len(plain)
        return self._slots.names[view].get(slot, f"slot {slot}")

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of all columns of the output, ``view__name``.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of object of shape (n_columns,)
            The names.
        """
        check_is_fitted(self, "layout_")
        names: list[str] = []
        for view, width in zip(self.layout_.names, self.layout_.widths, strict=True):
            plain, known = self._plain_names(view), self._slots.names[view]
            slots = [known.get(slot, f"slot {slot}") for slot in range(width - len(plain))]
            prefix = f"{view}__"
            names += [n if n.startswith(prefix) else prefix + n for n in [*plain, *slots]]
        return np.array(names, dtype=object)

    def view_columns(self) -> dict[str, list[str]]:
        """Return the columns of the table that each view is made of.

        Returns
        -------
        columns : dict of str to list of str
            Names of columns, view by view.
        """
        check_is_fitted(self, "layout_")
        columns: dict[str, list[str]] = {view: [] for view in self.layout_.names}
        for column in self._columns:
            columns[column.view].append(column.name)
        return columns

    def declared_columns(self) -> dict[str, list[str]]:
        """Return the columns whose kind the user said, by name instead of by glob.

        Returns
        -------
        columns : dict of str to list of str
            Values for ``text``, ``categorical`` and ``numeric``.
        """
        check_is_fitted(self, "layout_")
        return {
            kind: [c.name for c in self._columns if c.declared and c.kind == kind]
            for kind in ("text", "categorical", "numeric")
        }

    # --- which columns, of which kind -------------------------------------------------------

    def _begin(self, X: Any) -> None:
        """Fix views, kinds and layout by the first batch."""
        self._check_parameters()
        names = column_names(X)
        columns_of = self._columns_of_views(names)
        used = list(chain.from_iterable(columns_of.values()))
        declared: dict[str, str] = {}
        for kind in ("text", "categorical", "numeric"):
            for name in match_names(getattr(self, kind), used, kind):
                if declared.setdefault(name, kind) != kind:
                    raise InputError(f"is named in {declared[name]}= and {kind}=", column=name)
        types = to_arrow(X, used).schema
        columns = [
            Column(
                name, view, declared.get(name) or kind_of(types.field(name).type, name),
                name in declared,
            )
            for view, group in columns_of.items()
            for name in group
        ]  # fmt: skip
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        self._set_columns(columns)

    def _check_parameters(self) -> None:
        if not (isinstance(self.hash_bits, int | np.integer) and 1 <= self.hash_bits <= 28):
            raise InputError(f"hash_bits={self.hash_bits!r}; give a whole number from 1 to 28")
        ngrams = tuple(self.ngram_range) if isinstance(self.ngram_range, Sequence) else ()
        if len(ngrams) != 2 or not 1 <= ngrams[0] <= ngrams[1]:
            raise InputError(
                f"ngram_range={self.ngram_range!r}; give shortest and longest, such as (1, 2)"
            )
        if self.remember_names < 0:
            raise InputError(f"remember_names={self.remember_names}; give 0 or more")

    def _columns_of_views(self, names: list[str]) -> dict[str, list[str]]:
        if self.views is not None:
            layout, columns = resolve_views(self.views, len(names), names)
            if columns is None:
                columns = np.arange(len(names))
            return {
                view: [names[c] for c in columns[start:stop]]
                for view, start, stop in zip(
                    layout.names, layout.ptr[:-1], layout.ptr[1:], strict=True
                )
            }
        groups: dict[str, list[str]] = {}
        for name in names:
            view, _, column = name.partition("__")
            if view and column:
                groups.setdefault(view, []).append(name)
        if not groups:
            raise InputError(
                "which columns make up a view? Name them, as in --view user='user_*' or "
                'views={"user": "user_*"}, or call columns view__column '
                f"(there are: {', '.join(names)})"
            )
        return groups

    def _set_columns(self, columns: list[Column]) -> None:
        """What follows from the columns: their layout, and empty tables of names."""
        self._columns = columns
        self._numbers = [c for c in columns if c.kind == "numeric"]
        self._hashed = [c for c in columns if c.kind != "numeric"]
        views = list(dict.fromkeys(c.view for c in columns))
        hashing = {c.view for c in self._hashed}
        n_slots = 1 << self.hash_bits
        widths = [
            2 * sum(c.view == view for c in self._numbers) + (n_slots if view in hashing else 0)
            for view in views
        ]
        self.layout_ = ViewLayout(views, widths)
        self._moments = Moments(len(self._numbers))
        self._slots = SlotTables(n_slots, self.ngram_range, self.remember_names, views)
        self._recent: tuple[Any, Batch] | None = None

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "layout_" in state:
            state |= {"_recent": None}  # which only saves work
        return state

    def _count(self, view: str) -> tuple[int, int]:
        """Number of numeric and of categorical columns of a view."""
        kinds = [c.kind for c in self._columns if c.view == view]
        return kinds.count("numeric"), kinds.count("categorical")

    def _first_slot(self, view: str) -> int:
        """The column of the output at which the slots of a view begin."""
        return self.layout_.block(view).start + 2 * self._count(view)[0]

    def _plain_names(self, view: str) -> list[str]:
        """Names of a view's columns before its slots."""
        names = [c.name for c in self._numbers if c.view == view]
        return names + [f"{name} is missing" for name in names]

    # --- from a table to numbers and codes ---------------------------------------------------

    def _decode(self, X: Any) -> Batch:
        """The columns as numbers and codes; the same Arrow batch twice in a row is decoded once."""
        if self._recent is not None and self._recent[0] is X:
            return self._recent[1]
        names = column_names(X)
        for column in self._columns:
            if column.name not in names:
                raise InputError(f"no column {column.name!r}{closest_names(column.name, names)}")
        table = to_arrow(X, [c.name for c in self._columns])
        values = np.empty((len(self._numbers), table.num_rows))
        for column, row in zip(self._numbers, values, strict=True):
            row[:] = as_numbers(column, one_array(table.column(column.name)))
        coded = [as_codes(c, one_array(table.column(c.name))) for c in self._hashed]
        batch = Batch(values, coded)
        if type(X).__module__.startswith("pyarrow"):  # cannot change in place
            self._recent = (X, batch)
        return batch

    def _csr(self, data: np.ndarray, indices: np.ndarray, indptr: np.ndarray) -> sp.csr_array:
        end = indptr[-1]
        matrix = sp.csr_array(
            (data[:end], indices[:end], indptr), shape=(len(indptr) - 1, self.layout_.n_columns)
        )
        matrix.has_canonical_format = True
        return matrix

    # --- model files -------------------------------------------------------------------------

    def _get_header(self) -> dict[str, Any]:
        """What the arrays do not say, ready for JSON."""
        check_is_fitted(self, "layout_")
        return {
            "columns": [list(column) for column in self._columns],
            "feature_names_in": self.feature_names_in_.tolist(),
        }

    def _set_header(self, header: Mapping[str, Any]) -> None:
        self.feature_names_in_ = np.array(header["feature_names_in"], dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        self._set_columns([Column(*column) for column in header["columns"]])

    def _get_state(self) -> dict[str, np.ndarray]:
        """The arrays, flat; names of slots as JSON in bytes."""
        check_is_fitted(self, "layout_")
        moments = self._moments
        numbers = {"count": moments.count, "mean": moments.mean, "m2": moments.m2}
        return numbers | self._slots.state()

    def _set_state(self, state: Mapping[str, np.ndarray]) -> None:
        for key in ("count", "mean", "m2"):
            setattr(self._moments, key, np.array(state[key], dtype=np.float64))
        self._slots.set_state(state)
