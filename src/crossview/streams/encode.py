"""Raw columns to views: numbers, categories and text as one sparse block per view.

A view's block holds, in this order: its numeric columns, an indicator "is
missing" for each of them, and ``2**hash_bits`` slots that its categorical and
text columns share by feature hashing.  The width does not depend on the rows, so new categories and
words may occur at any time in a stream.

The encoder hashes the distinct values of a column, not the rows: a text column is a dictionary and
a code per row, and the hashes of an unchanged dictionary are reused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from crossview.errors import InputError
from crossview.streams.arrow import column_names
from crossview.streams.columns import Batch, Column
from crossview.streams.fill import fill_rows
from crossview.streams.hashing import SlotTables
from crossview.streams.moments import Moments
from crossview.streams.plan import KINDS, Plan, plan_columns
from crossview.views import MultiView, ViewLayout

__all__ = ["ViewEncoder"]


class _Stored(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[call-arg]  # scikit-learn is untyped
    """Learned state of an encoder, and its conversion for a model file."""

    _plan: Plan
    _moments: Moments
    _slots: SlotTables
    layout_: ViewLayout

    def _start(self, columns: list[Column]) -> None:
        """Initialize the state for these columns."""
        n_slots = 1 << self.hash_bits
        self._plan = Plan(columns, n_slots)
        self.layout_ = self._plan.layout
        self._moments = Moments(len(self._plan.numbers))
        self._slots = SlotTables(n_slots, self.ngram_range, self.remember_names, self.layout_.names)

    def get_header(self) -> dict[str, Any]:
        """Return the part of the learned state that is not arrays: columns and names.

        Returns
        -------
        header : dict
            Ready for JSON.
        """
        check_is_fitted(self, "layout_")
        return {
            "columns": [list(column) for column in self._plan.columns],
            "feature_names_in": self.feature_names_in_.tolist(),
        }

    def set_header(self, header: Mapping[str, Any]) -> None:
        """Restore the header that `get_header` returned.

        Parameters
        ----------
        header : mapping
            As from JSON.
        """
        self.feature_names_in_ = np.array(header["feature_names_in"], dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        self._start([Column(*column) for column in header["columns"]])

    def get_state(self) -> dict[str, np.ndarray]:
        """Return the learned state as arrays.

        Returns
        -------
        state : dict of str to ndarray
            The arrays by name; header, parameters and state together restore the encoder.
        """
        check_is_fitted(self, "layout_")
        moments = self._moments
        numbers = {"count": moments.count, "mean": moments.mean, "m2": moments.m2}
        return numbers | self._slots.state()

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the state that `get_state` returned.

        Parameters
        ----------
        state : mapping of str to ndarray
            The arrays by name.
        """
        for key in ("count", "mean", "m2"):
            setattr(self._moments, key, np.array(state[key], dtype=np.float64))
        self._slots.set_state(state)


class _Described(_Stored):
    """Attributes and column names of a fitted encoder."""

    @property
    def count_(self) -> np.ndarray:
        """Number of values seen in each numeric column, without missing ones."""
        check_is_fitted(self, "layout_")
        return self._moments.count

    @property
    def mean_(self) -> np.ndarray:
        """Mean of each numeric column over the rows seen so far."""
        check_is_fitted(self, "layout_")
        return self._moments.mean

    def feature_name(self, view: str, column: int) -> str:
        """Return the meaning of an output column.

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
            ``"slot 7"`` if no name was stored.  If several values share a slot, it is the first
            one seen.
        """
        check_is_fitted(self, "layout_")
        block = self.layout_.block(view)
        if not 0 <= column < block.stop - block.start:
            raise InputError(f"view {view!r} has no column {column} ({self.layout_})")
        plain = self._plan.plain_names(view)
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
            plain, known = self._plan.plain_names(view), self._slots.names[view]
            slots = [known.get(slot, f"slot {slot}") for slot in range(width - len(plain))]
            prefix = f"{view}__"
            names += [n if n.startswith(prefix) else prefix + n for n in [*plain, *slots]]
        return np.array(names, dtype=object)

    def view_columns(self) -> dict[str, list[str]]:
        """Return the table columns of each view.

        Returns
        -------
        columns : dict of str to list of str
            Names of columns, view by view.
        """
        check_is_fitted(self, "layout_")
        columns: dict[str, list[str]] = {view: [] for view in self.layout_.names}
        for column in self._plan.columns:
            columns[column.view].append(column.name)
        return columns

    def declared_columns(self) -> dict[str, list[str]]:
        """Return the columns of ``text``, ``categorical`` and ``numeric``, with globs expanded.

        Returns
        -------
        columns : dict of str to list of str
            Values for ``text``, ``categorical`` and ``numeric``.
        """
        check_is_fitted(self, "layout_")
        return {
            kind: [c.name for c in self._plan.columns if c.declared and c.kind == kind]
            for kind in KINDS
        }


class ViewEncoder(_Described):
    """Encoder of tables with numbers, categories and text into sparse views.

    Numbers are standardized, categories and words are hashed into slots (feature hashing).

    Parameters
    ----------
    views : mapping of str to columns, default=None
        View name -> a column name, a list of names, or a glob such as
        ``"user_*"``.  None: a column called ``user__age`` belongs to the view
        ``user``.  Columns in no view are ignored.
    text : sequence of str, default=()
        Columns (names or globs) of free text: counts of lower-case words (of two
        letters or more) and n-grams, scaled so that the counts of each text have Euclidean
        norm 1.
    categorical : sequence of str, default=()
        Columns of numbers that are categories, such as ids.
        Strings, booleans and dictionaries are always categories.
    numeric : sequence of str, default=()
        Columns of strings or booleans to convert to numbers.
    hash_bits : int, default=18
        Each view has ``2**hash_bits`` slots for categories and words.  A
        higher value has fewer hash collisions and larger models.  Typical values: 14 to 22.
    ngram_range : (int, int), default=(1, 1)
        Shortest and longest n-gram of words to count, such as (1, 2).
    standardize : bool, default=True
        Whether to scale numbers to mean 0 and variance 1, by the rows fitted so far.  A constant
        column becomes 0.
    remember_names : int, default=50_000
        Maximum number of slot names to store per view, for inspection; the first ones are stored.

    Attributes
    ----------
    layout_ : ViewLayout
        Names and widths of the blocks.
    n_features_in_ : int
        Number of columns of the table it was fitted on.
    feature_names_in_ : ndarray of str
        Their names.
    mean_, count_ : ndarray of shape (n_numeric_columns,)
        Mean and number of the values seen in each numeric column.

    Notes
    -----
    A missing number (null; in pandas and NumPy also NaN) becomes 0 and sets its
    indicator to 1.  A missing category or text has no entry.  If all columns of a
    view are missing in a row, the view is missing: no entries, and ``present`` is False.  A NaN
    that is not null, and an infinity, raise an error.

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
        """Update the statistics with another batch of rows.

        Parameters
        ----------
        X : pandas, polars or Arrow table, or ndarray of shape (n_samples, n_columns)
            The table; the first call determines the columns and their kinds.
        y : None
            Ignored.

        Returns
        -------
        ViewEncoder
            Itself.
        """
        if not hasattr(self, "layout_"):
            self._check_parameters()
            columns = plan_columns(X, self.views, {kind: getattr(self, kind) for kind in KINDS})
            names = column_names(X)
            self.n_features_in_ = len(names)
            self.feature_names_in_ = np.array(names, dtype=object)
            self._start(columns)
        batch = self._plan.decode(X)
        self._moments.update(batch.values)
        for column, coded in zip(self._plan.hashed, batch.coded, strict=True):
            self._slots.look_up(column, coded.dictionary, remember=True)
        return self

    def transform(self, X: Any) -> MultiView:
        """Encode rows with the statistics fitted so far, without updating them.

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
        batch = self._plan.decode(X)
        values = self._moments.standardize(batch.values) if self.standardize else batch.values
        tables = [
            self._slots.look_up(column, coded.dictionary)
            for column, coded in zip(self._plan.hashed, batch.coded, strict=True)
        ]
        matrix, present = _encode_rows(self._plan, values, batch, tables)
        names = {
            view: self._plan.plain_names(view)
            for view in self.layout_.names
            if self._plan.first_slot(view) == self.layout_.block(view).stop
        }
        return MultiView.from_matrix(
            matrix, self.layout_, present=None if present.all() else present, feature_names=names
        )

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


def _encode_rows(
    plan: Plan, values: np.ndarray, batch: Batch, tables: list[Any]
) -> tuple[sp.csr_array, np.ndarray]:
    """The rows as one CSR matrix, and which views are there.

    ``tables`` has what the values of each categorical and text column become.
    """
    n_rows = values.shape[1]
    present = np.zeros((n_rows, plan.layout.n_views), dtype=bool)
    categories = [c for c in plan.hashed if c.kind == "categorical"]
    slots = np.empty((n_rows, len(categories)), dtype=np.int32)
    texts = []
    for column, coded, table in zip(plan.hashed, batch.coded, tables, strict=True):
        if column.kind == "categorical":
            slots[:, categories.index(column)] = table[coded.codes]
        else:
            texts.append((column, table, coded.codes))
            present[:, plan.layout.index(column.view)] |= coded.codes >= 0
    # 1. numbers and categories, row by row
    blocks = plan.blocks()
    for start, stop in pairwise(blocks.slots_ptr):
        slots[:, start:stop].sort(axis=1)
    most = n_rows * (len(plan.numbers) + len(categories))
    if max(most, plan.layout.n_columns) > np.iinfo(np.int32).max:
        raise InputError(f"{n_rows} rows are too many for one call; transform them in batches")
    indptr = np.zeros(n_rows + 1, dtype=np.int32)
    indices = np.empty(most, dtype=np.int32)
    data = np.empty(most)
    fill_rows(np.ascontiguousarray(values.T), slots, present, blocks, indptr, indices, data)
    matrix = _csr(data, indices, indptr, plan.layout.n_columns)
    # 2. texts, as one matrix per column
    for column, table, codes in texts:
        rows = table[codes]  # the last row, at -1, is empty
        shifted = rows.indices + np.int32(plan.first_slot(column.view))
        matrix = matrix + _csr(rows.data, shifted, rows.indptr, plan.layout.n_columns)
    return matrix, present


def _csr(data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, width: int) -> sp.csr_array:
    """A matrix whose columns are sorted, each once."""
    end = indptr[-1]
    matrix = sp.csr_array((data[:end], indices[:end], indptr), shape=(len(indptr) - 1, width))
    matrix.has_canonical_format = True
    return matrix
