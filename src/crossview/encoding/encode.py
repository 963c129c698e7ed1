"""Raw columns to views: numbers, categories and text as one sparse block per view.

A view's block holds, in this order: its numeric columns, an indicator "is
missing" for each of them, the bins of each of them, and ``2**hash_bits`` slots that its categorical
and text columns share by feature hashing.  The width does not depend on the rows, so new categories
and words may occur at any time in a stream.

The encoder hashes the distinct values of a column, not the rows: a text column is a dictionary and
a code per row, and the hashes of an unchanged dictionary are reused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import chain
from numbers import Real
from typing import Any, NamedTuple, Self, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from crossview.encoding.description import Box, boxes_of_views, describe_encoder
from crossview.encoding.hashing import split_name
from crossview.encoding.personal.personal_view import MORE_BITS, MOST_BITS, PERSONAL, PersonalView
from crossview.encoding.plan import Plan, Watched
from crossview.encoding.rows.one_row import SingleRows, array_of_cell, first_row
from crossview.encoding.rows.row_encoder import RowEncoder
from crossview.encoding.statistics import LAST_PLACED
from crossview.encoding.table_columns import RECOGNIZED, recognized
from crossview.encoding.view_columns import (
    KINDS,
    check_columns,
    check_per,
    names_of_views,
    plan_columns,
    specification,
    without_ignored,
)
from crossview.encoding.view_scaler import ViewScaler
from crossview.encoding.view_transformer import ViewTransformer
from crossview.errors import InputError, argument, check_kind
from crossview.portable.encoding import TableEncoder
from crossview.readers.columnar.csv_format import check_dialect
from crossview.readers.columnar.memory import MemorySource
from crossview.readers.source import Source
from crossview.saving.schema import Array, check_header
from crossview.tables.arrow import column_names, pyarrow, to_arrow
from crossview.tables.columns import BOOLEAN, USER, Column, listed, match_names
from crossview.tables.dates import check_format, split_format
from crossview.tables.frames import side_by_side
from crossview.tables.nested import frame_of_fields
from crossview.tables.text import FEWEST_VALUES, FORMS, TextWatch
from crossview.views import MultiView, OneRow, is_mapping, row_index, warn_of_unused

# bins of each number, where nobody says how many, and the most numbers that have them
AUTO_BINS, MOST_BINNED = 10, 100

# of what a user has of his own, by that of what all share
MOST_VARIANCE = 1e6
MOST_USERS = 2**30

# the quantiles are those of at most this number of values
MAX_BINS = LAST_PLACED


class Meaning(NamedTuple):
    """Meaning of an output column; see `ViewEncoder.explain_columns`."""

    name: str
    column: str | None
    value: str | None
    slot: int | None = None
    collides: bool = False


@dataclass(eq=False, repr=False, match_args=False)
class ViewEncoder(ViewTransformer):
    """Encoder of tables with numbers, dates, categories and text into sparse views.

    Numbers are standardized, categories and words are hashed into slots (feature hashing), and
    each view is divided by the mean norm of its rows (`ViewScaler`).

    Parameters
    ----------
    views : mapping of str to columns, default=None
        View name -> a column name, a list of names, or a glob such as
        ``"user_*"``; of a column of text also ``"chars(title)"`` or ``"shape(title)"``, as below.
        None: a column called ``user__age`` belongs to the view ``user``; those without such a
        prefix are ignored, or a view ``rest`` where there is but one other.  Where no column is
        called so, a column of text becomes the views ``words``, ``chars`` and ``shape``; of two the
        words are a view each, and ``chars`` and ``shape`` are of both; more are a view each, or one
        view ``text`` if they are more than four; and all other columns are one view.  Columns in no
        view are ignored.
    text : sequence of str, default=None
        Columns (names or globs) of free text: lower-case words (of two letters or more) and
        n-grams, scaled so that each text has Euclidean norm 1.  None: strings that are
        sentences are recognized, by `fit` and by a first table of `partial_fit` of 20 rows or more;
        of fewer rows, as of `partial_fit_transform_one`, they are categories, and a warning says so
        once 50 values look like sentences.  An empty sequence: none.
    categorical : sequence of str, default=()
        Columns of numbers that are categories, such as ids, or of strings that are no text or
        dates.  Booleans, dictionaries and other strings are always categories.
    numeric : sequence of str, default=()
        Columns of strings or booleans to convert to numbers.
    sparse : sequence of str, default=None
        Columns of numbers (names or globs) that are mostly 0, such as counts of words.  They keep
        their zeros and have no bins, and those of a view are divided by one scale, so that their
        proportions stay.  None: `fit` takes columns for it that are never negative and 0 in at
        least 80 % of the rows, where a view has more than 100, and a stream none.  An empty
        sequence: none.
    date : sequence of str, default=None
        Columns of strings that are dates or times, also with the format in which they are written:
        ``"bought=%d/%m/%Y"``.  Dates and timestamps always are.  None: strings
        that are dates in all rows are recognized, by `fit` and by a first table of `partial_fit` of
        20 rows or more, which must tell day and month apart.  An empty sequence: none.
    ignore : sequence of str, default=()
        Columns (names or globs) that are in no view, whatever the globs of ``views`` say.
    hash_bits : int, default=18
        Each view has ``2**hash_bits`` slots for categories and words.  A
        higher value has fewer hash collisions and takes more memory; a model file holds the slots
        that occurred.  Typical values: 14 to 22.
    ngram_range : (int, int), default=(1, 1)
        Shortest and longest n-gram of words to count.  (1, 2) counts pairs of words, too, which
        helps with the sentiment of thousands of sentences ("not good"), and not with fewer or
        longer texts.
    standardize : bool, default=True
        Whether to scale numbers to mean 0 and variance 1, by the rows fitted so far.  A constant
        column becomes 0.
    scale_views : bool, default=True
        Whether to divide each view by the mean Euclidean norm of its rows, so that all views
        have the same part in a step; see `ViewScaler`.
    bins : int, "auto" or None, default="auto"
        Number of bins of each number, for scores that are curves of a number and not lines.
        At most 4096; typical value: 10.  "auto": 10 on a stream (`partial_fit`) of at most 100
        numbers, and none in `fit`, where `compare` can try both.  0 or None: none.
    tf_idf : bool, default=True
        Whether a word that a text has tf times counts 1 + ln(tf), and less if it is in many texts
        of the column: by ln((1 + n) / (1 + df)) + 1 for n texts, of which df have the word (smooth
        idf), before the norm is 1.  False: words are counted.
    remember_names : int, default=50_000
        Maximum number of slot names to store per view, for inspection; the first ones are stored.
        Of the view ``personal`` 16 times as many.
    per : str, default=None
        A column that says whose row it is, such as a user or a machine.  It is in no other view:
        the last view, ``personal``, has the user himself, as a category, and each feature of the
        other views crossed with the user, so that a linear score is a shared one and the user's
        deviation from it.  Pairs of users and features are hashed into ``2**(hash_bits + 4)`` slots
        (at most ``2**28``).  A row without a user has no such view; of a new user it changes
        nothing.  None: no such view.
    per_variance : float, default=0.3
        Prior variance of a weight of a user, by that of a shared one: crossed features are
        multiplied by its root.  More follows each user faster, and learns less from all others.
        Typical values: 0.03 to 1.
    max_users : int, default=None
        Number of users of ``per`` who may have weights of their own.  When one more comes, the
        eighth of them that were not seen in a learned row for longest is dropped, and the
        learner's weights of their slots begin anew: who comes back begins with what all share.
        For streams alone (`partial_fit`), and learners with a weight per column.  All weights are
        looked at when users are dropped, so few users are slow.  Typical values: thousands.  None:
        all.
    dialect : mapping of str to value, default=None
        How CSV files of the rows are written, as options of `open_table`; `train` keeps it here.

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
    mean_norm_ : ndarray of shape (n_views,)
        Mean norm of each view.
    n_bins_ : int
        Number of bins of each number; 0 for none.

    Notes
    -----
    `partial_fit_transform` encodes each row by the statistics up to and including itself, so a
    stream gives the same rows however it is cut into batches.  `transform` uses the statistics of
    all rows so far.

    A missing number (null; in pandas and NumPy also NaN) becomes 0 and sets its
    indicator to 1.  A missing category or text has no entry.  If all columns of a
    view are missing in a row, the view is missing: no entries, and ``present`` is False.  A NaN
    that is not null, and an infinity, raise an error.

    A date becomes eight numbers, which are standardized as others are: ``bought days`` (since 1970,
    with their fraction) and ``bought year``, and the points on a circle of its month, weekday and
    time of day: ``bought month sin``, ``bought month cos``, ``bought weekday sin`` and so on, from
    January, Monday and midnight.  ``bought days is missing`` says where it is missing.  Times with
    a zone are read in UTC, others as they are written.  Strings are ISO 8601, such as ``2025-04-12
    10:30``, or have another format of the parts %Y, %y, %m, %d, %H, %M, %S and %z; a time may
    follow the date.  Recognized are 2025-04-12, 12.04.2025, 2025/04/12 and, with / and -,
    12/04/2025 and 04/12/2025, whichever all rows are; the month is first where both are possible.

    Strings are recognized as text by their first values, up to 10,000 and at least 20.  With words
    as tokens of two letters or more without their punctuation, at least 30 % of the values differ,
    they have three words on average, the standard deviation of the number of words is at least a
    fifth of their mean, and half of all that is not blank are letters of words, or the mean is 20
    words or more.

    A view may have three forms of a text, also of the same column in several views:
    ``words(title)`` as above, ``chars(title)`` and ``shape(title)``.  Characters are counted and
    weighed as words are: sequences of three to five of a lower-case word, with ``<`` and ``>`` at
    its start and end, so that misspelled and inflected words share some.  The shape is six numbers:
    the logarithm of the length, the number of words, the shares of digits, capitals and marks
    (punctuation and symbols) among the characters, and of web addresses among the words.

    The bins of a column are the hat functions of its quantiles: knot ``k`` of K is the quantile of
    rank (k + 1/2) / K, and a number between two knots gives each of them the share by which it is
    closer, so that a weighted sum is a continuous curve, linear between the knots.  The
    standardized number stays beside them.  A column of two values has none: a line is its curve.
    A stream places the knots after the first 32 values of
    the column, again after 64, 128, ..., 4096, and then leaves them; before 32 there are none.

    Booleans are the categories ``true`` and ``false``.  Rows that come later may have them as 1 and
    0, and as text such as ``True``, ``yes`` or ``t``, too; another number is an error, and so are
    Booleans where ``yes`` and ``no`` were learned as text.

    A category is hashed as ``column=value``, a word as ``column:word``, characters as
    ``column~characters``, by scikit-learn's `FeatureHasher`; two that share a slot are added.
    The scores of users deviate from a shared one as by Weinberger et al. (2009): the weights of
    user u are w + w_u, and w_u is the part of the view ``personal`` that his features share.  A
    pair is hashed by the user's fingerprint and the position of the feature, after views are
    scaled.

    Names of slots, and whether rows had several values of a slot, are learned in the order of the
    rows.

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

    views: Mapping[str, Any] | None = None
    _: KW_ONLY
    text: Sequence[str] | None = None
    categorical: Sequence[str] = ()
    numeric: Sequence[str] = ()
    sparse: Sequence[str] | None = None
    date: Sequence[str] | None = None
    ignore: Sequence[str] = ()
    hash_bits: int = 18
    ngram_range: tuple[int, int] = (1, 1)
    standardize: bool = True
    scale_views: bool = True
    bins: int | str | None = "auto"
    tf_idf: bool = True
    remember_names: int = 50_000
    per: str | None = None
    per_variance: float = 0.3
    max_users: int | None = None
    dialect: Mapping[str, Any] | None = None

    def check_params(self) -> None:
        """Raise `InputError` if a parameter is out of its range."""
        if not _is_whole(self.hash_bits, 1, 28):
            raise InputError(
                f"{argument(hash_bits=self.hash_bits)}; give a whole number from 1 to 28"
            )
        ngrams = tuple(self.ngram_range) if isinstance(self.ngram_range, Sequence) else ()
        if len(ngrams) != 2 or not 1 <= ngrams[0] <= ngrams[1]:
            raise InputError(
                f"{argument(ngram_range=self.ngram_range)}; give shortest and longest, such as "
                "(1, 2)"
            )
        none = self.bins is None or _is_whole(self.bins, 0, 0)
        if not (none or self.bins == "auto" or _is_whole(self.bins, 2, MAX_BINS)):
            raise InputError(
                f"{argument(bins=self.bins)}; give a whole number from 2 to {MAX_BINS}, 'auto', or "
                "0 or None for none"
            )
        if not _is_whole(self.remember_names, 0, np.inf):
            raise InputError(
                f"{argument(remember_names=self.remember_names)}; give a whole number, 0 or more"
            )
        if not isinstance(self.per, str | None):
            raise InputError(f"{argument(per=self.per)}; give the name of a column, or None")
        variance = self.per_variance
        if not (isinstance(variance, Real) and 0.0 < variance <= MOST_VARIANCE):
            raise InputError(
                f"{argument(per_variance=variance)}; give a number above 0, {MOST_VARIANCE:g} at "
                "most"
            )
        if self.max_users is not None:
            if not _is_whole(self.max_users, 1, MOST_USERS):
                raise InputError(
                    f"{argument(max_users=self.max_users)}; give a whole number from 1 to "
                    f"{MOST_USERS:,}"
                )
            if self.per is None:
                raise InputError(
                    f"{argument(max_users=self.max_users)} needs {argument('per')}, the column of "
                    "the users"
                )
        named = {kind: getattr(self, kind) for kind in (*KINDS, "ignore")}
        check_kind("a name or a list of names or None", **named)
        check_dialect(self.dialect)

    def check_rows(self, X: Any) -> None:
        """Raise `InputError` where rows cannot be encoded; the first ones determine the columns."""
        table = self._table(self._with_absent(X))
        self._rows.plan.decode(table)

    # of a stream whose first rows were too few; an annotation would make it a parameter
    _watched = cast("TextWatch | None", None)

    def _start(self, columns: list[Column], n_bins: int) -> None:
        """Initialize the state for these columns, with as many bins of each number."""
        before: RowEncoder | None = self.__dict__.get("_rows")
        self._rows = RowEncoder(
            columns,
            n_slots=1 << self.hash_bits,
            ngram_range=self.ngram_range,
            n_bins=n_bins,
            tf_idf=self.tf_idf,
            standardize=self.standardize,
            remember_names=self.remember_names,
        )
        if before is not None:
            self._rows.reuse(before)
        shared = self._rows.plan.layout
        self._scaler = ViewScaler()
        self._scaler.set_header({"names": list(shared.names), "widths": list(shared.widths)})
        self._personal: PersonalView | None = None
        if (user := self._rows.plan.user) is not None:
            n_slots = 1 << min(self.hash_bits + MORE_BITS, MOST_BITS)
            given = float(self.per_variance), self.remember_names << MORE_BITS
            self._personal = PersonalView(user, shared, n_slots, *given, self.max_users)
        self.layout_ = shared if self._personal is None else self._personal.layout
        self._single: SingleRows | None = None

    @property
    def _fitted(self) -> RowEncoder:
        """The encoder of rows; an error before there is one."""
        check_is_fitted(self, "layout_")
        return self._rows

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {**state, "_single": None} if "_single" in state else state  # it follows

    def _flat(self, X: Any) -> Any:
        """Return rows with a column for each cell; views without any may be of vectors."""
        X = side_by_side(X) if is_mapping(X) else X
        return frame_of_fields(X, getattr(self, "feature_names_in_", ()))

    def _table(self, X: Any, *, whole: bool = False) -> Any:
        """The rows as one table; the first ones, or all, determine the columns."""
        X = self._flat(X)
        if not hasattr(self, "layout_"):
            self.check_params()
            names = column_names(X)
            ignored = dict.fromkeys(match_names(self.ignore, names))
            views = self.views
            if self.per is not None:
                check_per(self.per, ignored, names)
                ignored[self.per] = None
            own = [name for name in names if name not in ignored]
            if views is None:
                warn_of_unused(own)
            elif ignored:
                views = without_ignored(views, list(ignored), names)
            declared = {kind: listed(getattr(self, kind)) for kind in KINDS}
            others = [name for name in declared["categorical"] if name != self.per]
            declared["categorical"] = others  # which the column of users is anyway
            used = dict.fromkeys(chain.from_iterable(names_of_views(views, own)))
            table = to_arrow(X, list(used))
            unsaid = [kind for kind in RECOGNIZED if getattr(self, kind) is None]
            if not whole:  # a few rows say nothing of zeros, or of all that come
                enough = table.num_rows >= FEWEST_VALUES
                unsaid = [kind for kind in unsaid if enough and kind != "sparse"]
            if unsaid:  # the values say it
                rows = Source(MemorySource(table), batch_rows=max(1, table.num_rows))
                found = recognized(rows, own, views, declared, unsaid)
                found.warn()
                if not whole:
                    sure = {name: one for name, one in found.dates.items() if one.other is None}
                    found = found._replace(dates=sure)
                declared |= found.added_to(declared)
            elif not whole and self.text is None:
                said = {*declared["categorical"], *declared["date"], *declared["numeric"]}
                self._watched = TextWatch(name for name in table.column_names if name not in said)
            columns = plan_columns(table.schema, own, views, declared)
            if self.per is not None:
                if any(column.view == PERSONAL for column in columns):
                    what = "makes a view of that name; call yours something else"
                    raise InputError(f"a view is called {PERSONAL!r}, and {argument('per')} {what}")
                columns.append(Column(self.per, PERSONAL, USER, True))
            self.n_features_in_ = len(names)
            self.feature_names_in_ = np.array(names, dtype=object)
            if self.bins == "auto":
                n_numbers = len(Plan(columns, 1, 0).numbers)
                self._start(columns, 0 if whole else bins_of_stream(n_numbers))
            else:
                self._start(columns, int(self.bins or 0))
        return X if self._personal is None else self._rows.plan.table(X)

    def _encode(self, X: Any, *, learn: bool) -> MultiView:
        table = self._table(self._with_absent(X) if learn else X)
        if learn:
            self._watch(table)
        encoded = self._rows.encode(table, learn=learn)
        encoded.index = row_index(X)
        if self.scale_views:
            scale = self._scaler.partial_fit_transform if learn else self._scaler.transform
            encoded = scale(encoded, copy=False)
        return self._crossed(encoded, table, learn=learn)

    def _crossed(self, X: MultiView, table: Any, *, learn: bool) -> MultiView:
        """Return encoded rows of a table with their personal view, where there is one."""
        users = self._rows.plan.decode(table).users
        if self._personal is None or users is None:
            return X
        return self._personal.cross(X, users, learn=learn)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the columns, their kinds and the statistics of the numbers.

        Parameters
        ----------
        X : pandas, polars or Arrow table, or ndarray of shape (n_samples, n_columns)
            The columns; ``x0``, ``x1``, ... of an ndarray, ``view__column`` of a mapping of views.
        y : None
            Ignored.

        Returns
        -------
        ViewEncoder
            Itself.
        """
        self.fit_transform(X)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Update the statistics with more rows, one after the other.

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
        if self.scale_views or self.per is not None:  # norms and names are of encoded rows
            self.partial_fit_transform(X)
        else:
            table = self._table(self._with_absent(X))
            self._watch(table)
            self._rows.learn(table)
        return self

    def _with_absent(self, X: Any) -> Any:
        """Return rows to learn in which views of which they have no column are missing.

        Of these, and of columns that the encoder has not, a warning says so once.
        """
        if not hasattr(self, "layout_"):
            return X
        X = self._flat(X)
        names = column_names(X)
        self.warn_of_unknown(names)
        absent = self.absent_views(names)
        if not absent:
            return X
        views, known = self.view_columns(), set(names)
        used = dict.fromkeys(chain.from_iterable(views.values()))
        table = to_arrow(X, [name for name in used if name in known])
        for name in dict.fromkeys(chain.from_iterable(views[view] for view in absent)):
            table = table.append_column(name, pyarrow().nulls(table.num_rows))
        return table

    def _watch(self, table: Any) -> None:
        """Warn of categories that look like text, where the first rows were too few to tell."""
        if self._watched is not None:
            self._watched.see(to_arrow(table, self._watched.names_in(column_names(table))))

    def fit_transform(self, X: Any, y: Any = None) -> MultiView:
        """Learn the statistics of all rows, then encode them.

        Parameters
        ----------
        X : pandas, polars or Arrow table, or ndarray of shape (n_samples, n_columns)
            As for `fit`.
        y : None
            Ignored.

        Returns
        -------
        MultiView
            The views, as from `transform`.
        """
        if self.max_users is not None and len(X):
            raise InputError(
                f"{argument(max_users=self.max_users)} needs rows one after the other, to know "
                "who was seen last; use partial_fit, and a model that learns from a stream"
            )
        self.__dict__.pop("layout_", None)
        table = self._table(X, whole=True)
        encoded = self._rows.fit(table)
        encoded.index = row_index(X)
        if self.scale_views:
            encoded = self._scaler.fit(encoded).transform(encoded, copy=False)
        return self._crossed(encoded, table, learn=True)

    def partial_fit_transform(self, X: Any) -> MultiView:
        """Learn and encode rows, one after the other.

        Parameters
        ----------
        X : pandas, polars or Arrow table, or ndarray of shape (n_samples, n_columns)
            The table; the first call determines the columns and their kinds.

        Returns
        -------
        MultiView
            The views; each row by the statistics up to and including itself.
        """
        return self._encode(X, learn=True)

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
        return self._encode(X, learn=False)

    def hash_rows(self, X: Any) -> np.ndarray:
        """Return a hash of what each row has in the columns of the encoder, before it is encoded.

        Parameters
        ----------
        X : pandas, polars or Arrow table, or ndarray of shape (n_samples, n_columns)
            The columns that were fitted; others are ignored.

        Returns
        -------
        hashes : ndarray of shape (n_samples,)
            Unsigned integers of 64 bits; equal rows of any table have the same.
        """
        return self._fitted.hash_rows(self._table(X))

    def watched_columns(self) -> list[Watched]:
        """Return the columns that `count_columns` counts.

        Returns
        -------
        columns : list
            Each with its name, its view, and what is rare of it.
        """
        return self._fitted.plan.watched()

    def count_columns(self, X: Any, rows: np.ndarray | None = None) -> np.ndarray:
        """Return in how many rows each column is missing, and has a value that is rare.

        Rare are a category that was not learned, as far as names are stored, and a time at
        midnight.

        Parameters
        ----------
        X : Arrow table
            The columns that were fitted.
        rows : ndarray of int, default=None
            The rows to count; None: all.

        Returns
        -------
        counts : ndarray of shape (n_watched_columns, 2)
            Numbers of rows.
        """
        return self._fitted.count_columns(X, rows)

    def shares_of_rare(self, counts: np.ndarray, n_rows: int, n_learned: int) -> list[float | None]:
        """Return about which share of the values of new rows is rare in each column, at most.

        It is that of learned rows, and of categories the number of their names by that of values.

        Parameters
        ----------
        counts : ndarray of shape (n_watched_columns, 2)
            Of some learned rows, from `count_columns`.
        n_rows, n_learned : int
            Number of these rows, and of all that were learned.

        Returns
        -------
        shares : list of float or None
            None where it is not known.
        """
        shares: list[float | None] = []
        for column, (missing, rare) in zip(self.watched_columns(), counts.tolist(), strict=True):
            if (
                not column.rare
                or missing == n_rows
                or (column.rare, self.remember_names) == ("unknown", 0)
            ):
                shares.append(None)
                continue
            share = rare / (n_rows - missing)
            if column.rare == "unknown":
                n_named = self._rows.slots.n_named(self._rows.plan.hashed[column.at])
                share += n_named / (n_learned * (1.0 - missing / n_rows))
            shares.append(min(share, 1.0))
        return shares

    # --- single rows -----------------------------------------------------------------------

    def transform_one(self, x: Mapping[Any, Any]) -> OneRow:
        """Encode one row with the statistics fitted so far, without updating them.

        Parameters
        ----------
        x : mapping
            The row, as from JSON: of columns to values, ``{"user__age": 31}``, or of views to
            mappings of their columns, ``{"user": {"age": 31}}``, where a view may be None.  A
            column that is absent, None or NaN is missing.  Columns that were not fitted are
            ignored; a warning says so once.

        Returns
        -------
        OneRow
            The same as `transform` gives for a table of this row.
        """
        if not hasattr(self, "layout_"):  # its error takes longer than the row
            check_is_fitted(self, "layout_")
        row, user = self._single_rows().encode(x)
        return row if self._personal is None else self._personal.cross_one(row, user)

    def partial_fit_transform_one(self, x: Mapping[Any, Any]) -> OneRow:
        """Learn and encode one row.

        Parameters
        ----------
        x : mapping
            As for `transform_one`; the first row determines the columns and their kinds.  Of those
            that are declared, by ``numeric`` and so on, it may have none.

        Returns
        -------
        OneRow
            The row by the statistics up to and including itself, as from `partial_fit_transform`.
        """
        if not hasattr(self, "layout_"):
            kinds = [listed(getattr(self, kind)) for kind in KINDS]
            declared = [split_format(name)[0] for names in kinds for name in names]
            declared += [] if self.per is None else [self.per]
            first = {
                name: str(v) if type(v) is int and abs(v) >> 63 and name in declared else v
                for name, v in first_row(x, declared).items()
            }
            self._table(pyarrow().table({k: array_of_cell(k, v) for k, v in first.items()}))
        if self._watched is not None:
            self._watched.see_one(x)
        row, user = self._single_rows().encode(x, learn=True)
        return row if self._personal is None else self._personal.cross_one(row, user, learn=True)

    def table_of(self, rows: Sequence[Mapping[Any, Any]]) -> Any:
        """Return single rows as a table, whose rows are encoded as each row is alone.

        A batch is encoded ten times as fast as its rows are one by one, with the same bits.

        Parameters
        ----------
        rows : sequence of mapping
            Each as for `transform_one`.

        Returns
        -------
        pyarrow.Table
            For `transform` and `partial_fit_transform`.

        Raises
        ------
        InputError
            A row cannot be encoded, or the cells of a column of dates have several types.

        Examples
        --------
        >>> from crossview import ViewEncoder
        >>> encoder = ViewEncoder(categorical=["user__city"], numeric=["user__age"])
        >>> rows = [{"user": {"city": "Oslo", "age": 31}}, {"user__city": "Bonn"}]
        >>> x = encoder.partial_fit_transform_one(rows[0])
        >>> encoder.transform(encoder.table_of(rows))
        MultiView(2 rows, user: 262156)
        """
        check_is_fitted(self, "layout_")
        return self._single_rows().table(rows)

    @property
    def n_unknown_rows(self) -> int:
        """How many single rows, read by this object, had names of which there is no column."""
        return self._rows.n_unknown if hasattr(self, "layout_") else 0

    def unknown_names(self, x: Mapping[Any, Any]) -> list[str]:
        """Return the names in a single row of which there is no column.

        Parameters
        ----------
        x : mapping
            As for `transform_one`.

        Returns
        -------
        names : list of str
            As ``view__column``.  Columns that were in the fitted tables, and in no view, are known.

        Examples
        --------
        >>> from crossview import ViewEncoder
        >>> encoder = ViewEncoder(categorical=["user__city"])
        >>> x = encoder.partial_fit_transform_one({"user": {"city": "Oslo"}})
        >>> encoder.unknown_names({"user": {"citty": "Oslo"}})
        ['user__citty']
        """
        check_is_fitted(self, "layout_")
        return self._single_rows().unknown_names(x)

    def absent_views(self, names: Iterable[str]) -> list[str]:
        """Return the views of which rows to learn have no column, and warn of each once.

        Parameters
        ----------
        names : iterable of str
            The columns of the rows.

        Returns
        -------
        views : list of str
            Not all of them: rows with no column of the model are an error.
        """
        views, known = self.view_columns(), set(names)
        absent = [view for view, own in views.items() if known.isdisjoint(own)]
        if len(absent) == len(views):
            return []
        self._rows.tell_absent(absent)
        return absent

    def warn_of_unknown(self, names: Iterable[str]) -> None:
        """Warn once of columns of later rows that the fitted tables had not.

        Parameters
        ----------
        names : iterable of str
            The columns.
        """
        check_is_fitted(self, "layout_")
        known = set(self.feature_names_in_)
        self._rows.tell([name for name in names if name not in known])

    def know_names(self, names: Iterable[str]) -> None:
        """Take names of the fitted tables that are in no view.

        Parameters
        ----------
        names : iterable of str
            Names of columns; in single rows they are not unknown.
        """
        check_is_fitted(self, "layout_")
        known = dict.fromkeys([*self.feature_names_in_, *names])
        self.feature_names_in_ = np.array([*known], dtype=object)
        self.n_features_in_ = len(known)
        self._single = None

    def _single_rows(self) -> SingleRows:
        if self._single is None:
            scaler = self._scaler if self.scale_views else None
            self._single = SingleRows(self._rows, self.feature_names_in_, scaler)
        return self._single

    # --- learned state ---------------------------------------------------------------------

    def column_kinds(self) -> dict[str, dict[str, int]]:
        """Return how many columns of each view are of each kind.

        Returns
        -------
        kinds : dict of str to dict of str to int
            By view, then by kind: "numeric", "sparse", "categorical", "text" or "date"; "user" is
            that of ``per``.
        """
        check_is_fitted(self, "layout_")
        kinds: dict[str, dict[str, int]] = {view: {} for view in self.layout_.names}
        for column in self._rows.plan.columns:
            of_view = kinds[column.view]
            of_view[column.kind] = of_view.get(column.kind, 0) + 1
        return kinds

    def kinds(self) -> dict[str, str]:
        """Return the kind of each column that is encoded.

        Returns
        -------
        kinds : dict of str to str
            By name, as in `column_kinds`.
        """
        return {column.name: column.kind for column in self._fitted.plan.columns}

    def read_as(self) -> tuple[list[str], list[str]]:
        """Return the columns that were text in the fitted tables, and those that were numbers.

        Returns
        -------
        words, numbers : list of str
            Names of columns.  Categories that were declared may have been numbers.
        """
        columns = self._fitted.plan.columns
        words = dict.fromkeys(
            c.name
            for c in columns
            if c.kind == "text" or c.format or (c.kind, c.declared) == ("categorical", False)
        )
        return list(words), [c.name for c in columns if c.is_number and not c.declared]

    def get_header(self) -> dict[str, Any]:
        """Return the part of the learned state that is not arrays: columns and names.

        Returns
        -------
        header : dict
            Ready for JSON.
        """
        check_is_fitted(self, "layout_")
        return {
            "columns": [list(column) for column in self._rows.plan.columns],
            "n_bins": self.n_bins_,
            "feature_names_in": self.feature_names_in_.tolist(),
        }

    def set_header(self, header: Mapping[str, Any]) -> None:
        """Restore the header that `get_header` returned.

        Parameters
        ----------
        header : mapping
            As from JSON.
        """
        entries = {"columns": [[(str, bool)]], "n_bins": int, "feature_names_in": [str]}
        check_header(header, entries, "ViewEncoder")
        self.feature_names_in_ = np.array(header["feature_names_in"], dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        columns = [Column(*column) for column in header["columns"]]
        for column in columns:
            types = [type(value) for value in column]
            known = types == [str, str, str, bool, str] and column.kind in (*KINDS, USER)
            forms = {"text": FORMS, "categorical": (BOOLEAN,)}.get(column.kind)
            if not known or (forms is not None and column.format not in ("", *forms)):
                raise InputError(f"the encoder has the column {column!r}, which is of no kind")
            if column.format and forms is None:
                check_format(column.format)
        check_columns(columns, header["feature_names_in"])
        users = [column.name for column in columns if column.kind == USER]
        if users != ([] if self.per is None else [self.per]):
            raise InputError(f"the encoder has {argument(per=self.per)}, and the users {users}")
        if users and any((c.view == PERSONAL) != (c.kind == USER) for c in columns):
            raise InputError(
                f"columns of the encoder are in the view {PERSONAL!r} that {argument('per')} makes"
            )
        n_bins = header["n_bins"]
        if n_bins != (self.bins or 0) and not (self.bins == "auto" and n_bins in (0, AUTO_BINS)):
            raise InputError(
                f"the encoder has {argument(bins=self.bins)}, and its columns {n_bins}"
            )
        self._start(columns, n_bins)

    def get_state(self) -> dict[str, np.ndarray]:
        """Return the learned state as arrays.

        Returns
        -------
        state : dict of str to ndarray
            The arrays by name; header, parameters and state together restore the encoder.
        """
        check_is_fitted(self, "layout_")
        norms = {f"norms.{key}": array for key, array in self._scaler.get_state().items()}
        personal = {} if self._personal is None else self._personal.state()
        return self._rows.state() | norms | personal

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the state that `get_state` returned.

        Parameters
        ----------
        state : mapping of str to ndarray
            The arrays by name.
        """
        per_view = Array("f8", (self._scaler.layout_.n_views,), low=0.0)
        self._single = None  # which keeps what it has learned
        personal = {} if self._personal is None else self._personal.schema()
        others = {"norms.total": per_view, "norms.count": per_view, **personal}
        self._rows.set_state(state, others)
        if self._personal is not None:
            self._personal.set_state(state)
        self._scaler.set_state({key: state[f"norms.{key}"] for key in ("total", "count")})

    # --- columns and their names -----------------------------------------------------------

    @property
    def n_bins_(self) -> int:
        """Number of bins of each number; 0 for none."""
        return self._fitted.plan.n_bins

    @property
    def count_(self) -> np.ndarray:
        """Number of values seen in each numeric column, without missing ones."""
        return self._fitted.moments.count

    @property
    def mean_(self) -> np.ndarray:
        """Mean of each numeric column over the rows seen so far."""
        return self._fitted.moments.mean

    @property
    def mean_norm_(self) -> np.ndarray:
        """Mean norm of each view but that of ``per``, by which its rows are divided."""
        check_is_fitted(self, "layout_")
        return self._scaler.mean_norm_

    def portable(self) -> TableEncoder:
        """Return the fitted encoder as data, for other programs.

        Returns
        -------
        encoder : crossview.portable.encoding.TableEncoder
            What `transform` does with a row.

        Raises
        ------
        InputError
            It has a view of ``per``, of which there is no such description.
        """
        check_is_fitted(self, "layout_")
        if self.per is not None:
            raise InputError(
                f"the weights of users ({self.per!r}) have no portable form; train without them, "
                "or predict with crossview.compat.duckdb or polars, which run the model itself"
            )
        factors = self._scaler.factors() if self.scale_views else np.ones(self.layout_.n_views)
        return describe_encoder(self._rows, factors)

    def slot_names(self, view: str) -> dict[int, str]:
        """Return the names of the slots of a view, as far as they are stored.

        Parameters
        ----------
        view : str
            Name of the view.

        Returns
        -------
        names : dict of int to str
            By slot; the first name of a slot that rows had.
        """
        check_is_fitted(self, "layout_")
        if self._personal is not None and view == PERSONAL:
            slots = self._personal.named_slots().tolist()
            return {slot: self._explain_personal(slot).name for slot in slots}
        return dict(self._rows.slots.names[view])

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
            The column's name, ``"age is missing"``, ``"age near 35"``, ``"city=Oslo"``,
            ``"page:word"``, or ``"slot 7"`` if no name was stored.  If several values share a slot,
            it is the first one seen.
        """
        return self.explain_columns(view, [column])[0].name

    def explain_columns(self, view: str, columns: Sequence[int]) -> list[Meaning]:
        """Return the meaning of output columns, in parts.

        Parameters
        ----------
        view : str
            Name of the view.
        columns : sequence of int
            Columns within the view's block.

        Returns
        -------
        meanings : list of Meaning
            Of each column: ``name`` as from `feature_name`; ``column`` of the table; ``value``, a
            category, a word, ``"near 35"`` or ``"is missing"``, and None for a number; ``slot``,
            None where nothing is hashed; and whether the slot ``collides``: rows had several of
            its values.  That is known of slots with a name.
        """
        check_is_fitted(self, "layout_")
        if self._personal is not None and view == PERSONAL:
            return [self._explain_personal(i) for i in columns]
        block = self.layout_.block(view)
        plain = self._rows.plain_names(view)
        numbers = [number.column for number in self._rows.plan.numbers if number.view == view]
        hashed = [c for c in self._rows.plan.hashed if c.view == view]
        known, collisions = self._rows.slots.names[view], self._rows.slots.collisions[view]
        found = []
        for i in columns:
            if not 0 <= i < block.stop - block.start:
                raise InputError(f"view {view!r} has no column {i} ({self.layout_})")
            if i < len(plain):
                n = len(numbers)
                column = numbers[i % n if i < 2 * n else (i - 2 * n) // self._rows.plan.n_bins]
                found.append(Meaning(plain[i], column, plain[i][len(column) + 1 :] or None))
                continue
            slot = i - len(plain)
            name = known.get(slot)
            if name is None:
                found.append(Meaning(f"slot {slot}", None, None, slot))
            else:
                split = split_name(name, hashed)
                found.append(Meaning(name, *split, slot, slot in collisions))
        return found

    def whole_columns(self, view: str) -> tuple[np.ndarray, list[str]]:
        """Return which output columns are parts of one number or date.

        Parameters
        ----------
        view : str
            Name of the view.

        Returns
        -------
        wholes : ndarray of int
            For each column of the view before its slots the first column of the same number (with
            its bins) or date (with its parts); the indicator that one is missing stands alone, as
            a row that has it has no other part.
        names : list of str
            Of the first columns, and of the indicators.
        """
        return self._fitted.plan.whole_columns(view)

    def slots_of_views(self) -> dict[str, tuple[slice, int]]:
        """Return the hashed columns of each view, and the most ``hash_bits`` that it may have.

        Returns
        -------
        dict of str to (slice, int)
            Views without hashed columns are left out.
        """
        check_is_fitted(self, "layout_")
        found = {}
        for view in {column.view: None for column in self._rows.plan.hashed}:
            block = self.layout_.block(view)
            first = block.start + len(self._rows.plain_names(view))
            found[view] = (slice(first, block.stop), MOST_BITS)
        if self._personal is not None:
            found[PERSONAL] = (self.layout_.block(PERSONAL), MOST_BITS - MORE_BITS)
        return found

    def _explain_personal(self, slot: int) -> Meaning:
        """Return the meaning of a column of the personal view."""
        assert self._personal is not None
        if not 0 <= slot < self.layout_.widths[-1]:
            raise InputError(f"view {PERSONAL!r} has no column {slot} ({self.layout_})")
        found = self._personal.name(slot)
        if found is None:
            return Meaning(f"slot {slot}", None, None, slot)
        user, column, collides = found
        name = f"{self.per}={user}"
        if column is None:
            return Meaning(name, self.per, user, slot, collides)
        shared = self._personal.shared
        v = int(np.searchsorted(shared.ptr, column, side="right")) - 1
        (own,) = self.explain_columns(shared.names[v], [column - int(shared.ptr[v])])
        crossed = f"{name} × {own.name}"
        return Meaning(crossed, own.column, own.value, slot, collides or own.collides)

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
            if self._personal is not None and view == PERSONAL:
                slots = [f"slot {slot}" for slot in range(width)]
                for slot in self._personal.named_slots().tolist():
                    slots[slot] = self.feature_name(view, slot)
                names += [f"{PERSONAL}__{name}" for name in slots]
                continue
            plain = self._rows.plain_names(view)
            known = self._rows.slots.names[view]
            slots = [known.get(slot, f"slot {slot}") for slot in range(width - len(plain))]
            prefix = f"{view}__"
            names += [n if n.startswith(prefix) else prefix + n for n in [*plain, *slots]]
        return np.array(names, dtype=object)

    def _sk_visual_block_(self) -> Box:
        """Return the views beside each other, as scikit-learn shows transformers of columns."""
        if not hasattr(self, "layout_"):
            return Box("single", self, type(self).__name__, str(self))
        return boxes_of_views(self.view_columns(), self.column_kinds(), self.layout_.widths)

    def view_columns(self) -> dict[str, list[str]]:
        """Return the table columns of each view.

        Returns
        -------
        columns : dict of str to list of str
            Names of columns, view by view; of ``personal`` that of the user.
        """
        check_is_fitted(self, "layout_")
        columns: dict[str, list[str]] = {view: [] for view in self.layout_.names}
        for column in self._rows.plan.columns:
            columns[column.view].append(column.name)
        return columns

    def specified_views(self) -> dict[str, list[str]]:
        """Return ``views`` with names in place of globs and prefixes.

        Returns
        -------
        views : dict of str to list of str
            Names of columns, view by view, and what the view has of a text; without ``personal``,
            which ``per`` makes.
        """
        views: dict[str, list[str]] = {view: [] for view in self._fitted.plan.layout.names}
        for column in self._rows.plan.columns:
            if column.kind != USER:
                views[column.view].append(specification(column))
        return views

    def declared_columns(self, *, whole: bool = False) -> dict[str, list[str]]:
        """Return the columns whose kind is declared, with globs expanded.

        Parameters
        ----------
        whole : bool, default=False
            Whether to return all columns, those too whose kind the types of the table said.

        Returns
        -------
        columns : dict of str to list of str
            Values for ``text``, ``categorical`` and so on; of ``date`` with formats.
        """
        check_is_fitted(self, "layout_")
        return {
            kind: list(
                dict.fromkeys(
                    f"{c.name}={c.format}" if kind == "date" and c.format else c.name
                    for c in self._rows.plan.columns
                    if (whole or c.declared) and c.kind == kind
                )
            )
            for kind in KINDS
        }


def bins_of_stream(n_numbers: int) -> int:
    """Return how many bins each of so many numbers has on a stream, if nobody says it.

    Of many numbers they would take longer than they are worth.
    """
    return AUTO_BINS if 0 < n_numbers <= MOST_BINNED else 0


def _is_whole(value: Any, low: int, high: float) -> bool:
    return isinstance(value, int | np.integer) and bool(low <= value <= high)
