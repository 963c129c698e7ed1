"""Raw columns to views: numbers, categories and text as one sparse block a view.

A view's block holds, in this order: its numeric columns, an indicator "is
missing" for each of them, and ``2**hash_bits`` slots that its categorical and
text columns share by hashing.  The width is fixed before the first row is
seen, so a stream may bring new categories and words at any time.

The work follows the dictionary, not the rows: a text column is taken apart
into its distinct values and a code a row; the values are hashed, once as long
as the dictionary stays the same, and the codes are looked up.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise, repeat
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from crossview._jit import njit
from crossview.errors import InputError, closest_names
from crossview.streams.table import column_names, to_arrow
from crossview.views import MultiView, ViewLayout, resolve_views

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ViewEncoder"]

# beyond this, squares and differences overflow
_LARGEST = 1e100


class ViewEncoder(
    TransformerMixin,
    BaseEstimator,
    auto_wrap_output_keys=None,  # type: ignore[call-arg]  # scikit-learn is untyped
):
    """Turns columns of numbers, categories and text into views.

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
        Columns to be taken as categories although they hold numbers, such as ids.
        Strings, booleans and dictionaries are categories without being named.
    numeric : sequence of str, default=()
        Columns to be taken as numbers although they hold strings or booleans.
    hash_bits : int, default=18
        Each view has ``2**hash_bits`` slots for categories and words.  More
        means fewer of them share a slot, and larger models.
    ngram_range : (int, int), default=(1, 1)
        Shortest and longest run of words of a text that is counted.
    standardize : bool, default=True
        Bring numbers to mean 0 and variance 1, by the rows seen in fitting so
        far.  A column with a single value becomes 0.
    remember_names : int, default=50_000
        The most names of slots that are kept a view, first come, for inspection.

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
    scikit-learn's `FeatureHasher`; two that share a slot add up.

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
        self._update_moments(batch.values)
        for column, coded in zip(self._hashed, batch.coded, strict=True):
            self._table(column, coded.dictionary, remember=True)
        return self

    def transform(self, X: Any) -> MultiView:
        """Encode rows by what is known so far; nothing is learnt.

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
            table = self._table(column, coded.dictionary)
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
        _fill_rows(
            np.ascontiguousarray(self._scale(batch.values).T), slots, present,
            numeric_ptr, slots_ptr, self.layout_.ptr, indptr, indices, data,
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

    def feature_name(self, view: str, column: int) -> str:
        """What a column of the output stands for.

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
        return self._names[view].get(slot, f"slot {slot}")

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of all columns of the output, ``view__name``.

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
            plain, known = self._plain_names(view), self._names[view]
            slots = [known.get(slot, f"slot {slot}") for slot in range(width - len(plain))]
            prefix = f"{view}__"
            names += [n if n.startswith(prefix) else prefix + n for n in [*plain, *slots]]
        return np.array(names, dtype=object)

    # --- which columns, of which kind -------------------------------------------------------

    def _begin(self, X: Any) -> None:
        """Fix views, kinds and layout by the first batch."""
        self._check_parameters()
        names = column_names(X)
        columns_of = self._columns_of_views(names)
        used = list(chain.from_iterable(columns_of.values()))
        declared: dict[str, str] = {}
        for kind in ("text", "categorical", "numeric"):
            for name in _match(getattr(self, kind), used, kind):
                if declared.setdefault(name, kind) != kind:
                    raise InputError(f"is named in {declared[name]}= and {kind}=", column=name)
        types = to_arrow(X, used).schema
        columns = [
            _Column(
                name, view, declared.get(name) or _kind_of(types.field(name).type, name),
                name in declared,
            )
            for view, group in columns_of.items()
            for name in group
        ]  # fmt: skip
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.array(names, dtype=object)
        self._set_columns(columns)
        n_numbers = len(self._numbers)
        self.count_, self.mean_, self._m2 = (np.zeros(n_numbers) for _ in range(3))

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

    def _set_columns(self, columns: list[_Column]) -> None:
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
        self._names: dict[str, dict[int, str]] = {view: {} for view in views}
        self._named = {view: np.zeros(n_slots, dtype=bool) for view in hashing}
        self._forget()

    def _forget(self) -> None:
        """Drop what only saves work."""
        self._tables: dict[str, _Table] = {}
        self._recent: tuple[Any, _Batch] | None = None

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "layout_" in state:
            state |= {"_tables": {}, "_recent": None}
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

    def _decode(self, X: Any) -> _Batch:
        """The columns as numbers and codes; of an Arrow batch only once in a row."""
        if self._recent is not None and self._recent[0] is X:
            return self._recent[1]
        names = column_names(X)
        for column in self._columns:
            if column.name not in names:
                raise InputError(f"no column {column.name!r}{closest_names(column.name, names)}")
        table = to_arrow(X, [c.name for c in self._columns])
        values = np.empty((len(self._numbers), table.num_rows))
        for column, row in zip(self._numbers, values, strict=True):
            row[:] = _as_numbers(column, _one_array(table.column(column.name)))
        coded = [_as_codes(c, _one_array(table.column(c.name))) for c in self._hashed]
        batch = _Batch(values, coded)
        if type(X).__module__.startswith("pyarrow"):  # cannot change in place
            self._recent = (X, batch)
        return batch

    # --- numbers -----------------------------------------------------------------------------

    def _update_moments(self, values: np.ndarray) -> None:
        """Chan, Golub and LeVeque's merge of count, mean and sum of squared deviations."""
        there = ~np.isnan(values)
        count = there.sum(axis=1)
        some = np.maximum(count, 1)
        mean = values.sum(axis=1, where=there) / some
        m2 = ((values - mean[:, None]) ** 2).sum(axis=1, where=there)
        total = self.count_ + count
        delta = mean - self.mean_
        share = count / np.maximum(total, 1)
        self._m2 = self._m2 + m2 + delta**2 * self.count_ * share
        self.mean_ = self.mean_ + delta * share
        self.count_ = total

    def _scale(self, values: np.ndarray) -> np.ndarray:
        if not self.standardize:
            return values
        seen = np.maximum(self.count_, 1)
        variance = self._m2 / seen
        # what rounding alone can make of a constant
        eps = np.finfo(float).eps
        rounding = seen * eps * variance + (seen * self.mean_ * eps) ** 2
        varies = variance > rounding
        scale = np.where(varies, 1 / np.sqrt(np.where(varies, variance, 1)), 0)
        return (values - self.mean_[:, None]) * scale[:, None]

    # --- categories and texts ----------------------------------------------------------------

    def _table(self, column: _Column, dictionary: pa.Array, remember: bool = False) -> Any:
        """What each value of a dictionary becomes: its slot, or the row of its words.

        The last one stands for null: the slot -1, or an empty row.
        """
        known = self._tables.get(column.name)
        if known is None or not _same(known.dictionary, dictionary):
            known = _Table(dictionary, self._hash(column, dictionary, remember), remember)
        elif remember and not known.remembered:
            self._hash(column, dictionary, remember)
            known = known._replace(remembered=True)
        self._tables[column.name] = known
        return known.content

    def _hash(self, column: _Column, dictionary: pa.Array, remember: bool) -> Any:
        hasher = FeatureHasher(1 << self.hash_bits, input_type="pair", alternate_sign=False)
        values = dictionary.to_pylist()
        if column.kind == "categorical":
            names = [f"{column.name}={value}" for value in values]
            slots = _slots_of(hasher, names)
            if remember:
                self._remember(column.view, names, slots)
            return np.append(slots, np.int32(-1))
        analyze = HashingVectorizer(ngram_range=tuple(self.ngram_range)).build_analyzer()
        words = [[f"{column.name}:{word}" for word in analyze(value)] for value in values]
        if remember and len(self._names[column.view]) < self.remember_names:
            names = list(dict.fromkeys(chain.from_iterable(words)))
            self._remember(column.view, names, _slots_of(hasher, names))
        rows = hasher.transform(zip(entry, repeat(1)) for entry in [*words, []])
        return normalize(sp.csr_array(rows), copy=False)

    def _remember(self, view: str, names: list[str], slots: np.ndarray) -> None:
        known, named = self._names[view], self._named[view]
        for i in np.flatnonzero(~named[slots]).tolist():
            if len(known) >= self.remember_names:
                break
            known.setdefault(int(slots[i]), names[i])
            named[slots[i]] = True

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
        self._set_columns([_Column(*column) for column in header["columns"]])

    def _get_state(self) -> dict[str, np.ndarray]:
        """The arrays, flat; names of slots as JSON in bytes."""
        check_is_fitted(self, "layout_")
        state = {"count": self.count_, "mean": self.mean_, "m2": self._m2}
        for v, view in enumerate(self.layout_.names):
            names = self._names[view]
            state[f"slots.{v}"] = np.fromiter(names, dtype=np.int64, count=len(names))
            text = json.dumps(list(names.values())).encode()
            state[f"slot_names.{v}"] = np.frombuffer(text, dtype=np.uint8)
        return state

    def _set_state(self, state: Mapping[str, np.ndarray]) -> None:
        self.count_, self.mean_, self._m2 = (
            np.array(state[key], dtype=np.float64) for key in ("count", "mean", "m2")
        )
        for v, view in enumerate(self.layout_.names):
            slots = np.asarray(state[f"slots.{v}"])
            names = json.loads(bytes(np.asarray(state[f"slot_names.{v}"])))
            self._names[view] = dict(zip(slots.tolist(), names, strict=True))
            if view in self._named:
                self._named[view][slots] = True


class _Column(NamedTuple):
    """A column that is encoded: its view, its kind, and whether the user said the kind."""

    name: str
    view: str
    kind: str
    declared: bool


class _Coded(NamedTuple):
    """A column as its distinct values, as strings, and a code a row, -1 for null."""

    dictionary: pa.Array
    codes: np.ndarray


class _Batch(NamedTuple):
    """Rows taken apart: numbers (NaN where missing) and codes."""

    values: np.ndarray
    coded: list[_Coded]


class _Table(NamedTuple):
    """A dictionary and what its values become."""

    dictionary: pa.Array
    content: Any
    remembered: bool


def _match(patterns: Sequence[str], names: list[str], option: str) -> list[str]:
    """The names that an option such as ``text=`` means."""
    found: dict[str, None] = {}
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        matching = [n for n in names if n == pattern or fnmatch.fnmatchcase(n, pattern)]
        if not matching:
            raise InputError(
                f"{option}= names {pattern!r}, which is in no view{closest_names(pattern, names)}"
            )
        found |= dict.fromkeys(matching)
    return list(found)


def _kind_of(kind: pa.DataType, column: str) -> str:
    """What a column is, by its Arrow type."""
    if _is_number(kind):
        return "numeric"
    if _is_category(kind):
        return "categorical"
    if str(kind) == "null":
        raise InputError(
            "has no value in any row, so its kind is unknown; name it in numeric=, "
            "categorical= or text=, or leave it out of the view",
            column=column,
        )
    raise InputError(
        f"holds {kind}, which is neither number, category nor text; leave it out of the view, or "
        "convert it in SQL, for example with epoch(...), dayname(...) or CAST(... AS VARCHAR)",
        column=column,
    )


def _is_number(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def _is_string(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_category(kind: pa.DataType) -> bool:
    from pyarrow import types

    return _is_string(kind) or bool(types.is_boolean(kind) or types.is_dictionary(kind))


def _one_array(column: Any) -> pa.Array:
    """A chunked column as one array."""
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _as_numbers(column: _Column, array: pa.Array) -> np.ndarray:
    """float64 with NaN for null; `InputError` for NaN, infinity and another kind."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if array.null_count == len(array):
        return np.full(len(array), np.nan)
    if not _is_number(array.type):
        if not (column.declared and _is_category(array.type)):
            raise _changed(column, array)
        if isinstance(array, pa.DictionaryArray):
            array = array.dictionary_decode()
        try:
            array = pc.cast(array, pa.float64())
        except pa.ArrowInvalid:
            raise _not_a_number(column, array) from None
    elif not pa.types.is_integer(array.type):
        array = pc.cast(array, pa.float64())
    numbers = np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.float64)
    sound = np.abs(numbers) <= _LARGEST
    if len(sound) - np.count_nonzero(sound) != array.null_count:
        row = int(np.flatnonzero(~sound & ~_is_null(array))[0])
        what = (
            "NaN is not a missing value: write null, or an empty field"
            if np.isnan(numbers[row])
            else f"{numbers[row]} is too large: write null, or a number up to {_LARGEST:g}"
        )
        raise InputError(what, row=row, column=column.name)
    return numbers


def _as_codes(column: _Column, array: pa.Array) -> _Coded:
    """The distinct values of a column as strings, and a code a row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    empty = array.null_count == len(array)
    if not empty and not _fits(column, array.type):
        raise _changed(column, array)
    if empty:
        return _Coded(pa.array([], pa.string()), np.full(len(array), -1, dtype=np.int32))
    if not isinstance(array, pa.DictionaryArray):
        if pa.types.is_string_view(array.type):
            array = array.cast(pa.large_string())
        array = pc.dictionary_encode(array)
    elif array.dictionary.null_count:
        array = array.dictionary_decode().dictionary_encode()
    codes = array.indices
    if codes.type != pa.int32():
        codes = codes.cast(pa.int32())
    if codes.null_count:
        codes = codes.fill_null(-1)
    dictionary = array.dictionary
    if pa.types.is_floating(dictionary.type):
        dictionary = _whole_as_integers(column, array)
    if not _is_string(dictionary.type):
        dictionary = dictionary.cast(pa.string())
    return _Coded(dictionary, codes.to_numpy())


def _fits(column: _Column, kind: pa.DataType) -> bool:
    from pyarrow import types

    inside = kind.value_type if types.is_dictionary(kind) else kind
    if column.kind == "text":
        return _is_string(inside)
    return _is_category(kind) or (column.declared and not types.is_nested(kind))


def _whole_as_integers(column: _Column, array: Any) -> pa.Array:
    """Float values as strings, 3.0 as "3": an id is the same with and without gaps."""
    import pyarrow as pa

    values = array.dictionary.to_numpy(zero_copy_only=False)
    if np.isnan(values).any():
        row = array.indices.index(int(np.flatnonzero(np.isnan(values))[0])).as_py()
        raise InputError(
            "NaN is not a missing value: write null, or an empty field",
            row=row,
            column=column.name,
        )
    return pa.array([str(int(v)) if v.is_integer() else str(v) for v in values.tolist()])


def _is_null(array: pa.Array) -> np.ndarray:
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False))


def _changed(column: _Column, array: pa.Array) -> InputError:
    return InputError(
        f"is {column.kind} in this encoder, but holds {array.type} here; give it the same type "
        f"in all tables, or name its kind from the start ({column.kind}=)",
        column=column.name,
    )


def _not_a_number(column: _Column, array: pa.Array) -> InputError:
    """The error that names the first row whose string is no number."""
    import pyarrow as pa

    for row, value in enumerate(array):
        try:
            value.cast(pa.float64())
        except pa.ArrowInvalid:
            return InputError(f"{value.as_py()!r} is not a number", row=row, column=column.name)
    return InputError(f"holds {array.type}, which is not numbers", column=column.name)


def _same(a: pa.Array, b: pa.Array) -> bool:
    """Whether two dictionaries are equal; the same memory is not read."""
    if len(a) == len(b) and a.offset == b.offset and a.type == b.type:
        places = [[buffer and buffer.address for buffer in x.buffers()] for x in (a, b)]
        if places[0] == places[1]:
            return True
    return bool(a.equals(b))


def _slots_of(hasher: FeatureHasher, names: Iterable[str]) -> np.ndarray:
    """The slot of each name."""
    names = list(names)
    if not names:
        return np.empty(0, dtype=np.int32)
    return np.asarray(hasher.transform(zip(zip(names, repeat(1)))).indices, dtype=np.int32)


@njit
def _fill_rows(
    values: np.ndarray,
    slots: np.ndarray,
    present: np.ndarray,
    numeric_ptr: np.ndarray,
    slots_ptr: np.ndarray,
    ptr: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    data: np.ndarray,
) -> None:
    """Write the numbers and categories of all rows as CSR.

    ``values[i, c]`` is number ``c`` of row ``i``, NaN where missing;
    ``slots[i]`` its slots, sorted within each view, -1 where missing.  View
    ``v`` has the numbers from ``numeric_ptr[v]`` and the categories from
    ``slots_ptr[v]`` on, and its block begins at column ``ptr[v]``.
    ``present[i, v]`` comes in True where the view has a text.
    """
    p = 0
    for i in range(present.shape[0]):
        for v in range(present.shape[1]):
            numbers = range(numeric_ptr[v], numeric_ptr[v + 1])
            categories = range(slots_ptr[v], slots_ptr[v + 1])
            for c in numbers:
                present[i, v] |= not np.isnan(values[i, c])
            for c in categories:
                present[i, v] |= slots[i, c] >= 0
            if not present[i, v]:
                continue
            column = ptr[v] - numeric_ptr[v]
            for c in numbers:
                x = values[i, c]
                if x != 0.0 and not np.isnan(x):
                    indices[p], data[p] = column + c, x
                    p += 1
            column += len(numbers)
            for c in numbers:
                if np.isnan(values[i, c]):
                    indices[p], data[p] = column + c, 1.0
                    p += 1
            column = ptr[v] + 2 * len(numbers)
            before = -1
            for c in categories:
                slot = slots[i, c]
                if slot == before and slot >= 0:  # two share a slot
                    data[p - 1] += 1.0
                elif slot >= 0:
                    indices[p], data[p] = column + slot, 1.0
                    p += 1
                before = slot
        indptr[i + 1] = p
