"""Content of a table or of views, before anything learns from it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from crossview.data.guessed_task import about_levels, task_of
from crossview.data.joining.views_as_table import open_views
from crossview.data.row_columns import (
    RowColumns,
    about_alike,
    about_weights,
    check_weight_column,
    weights_of,
    with_row_location,
)
from crossview.data.summaries.columns import (
    GROUPED,
    MOST_DISTINCT,
    Target,
    ValueSummary,
    is_group_name,
    is_identifier,
    is_of_few_rows,
)
from crossview.data.summaries.leaks import KNOWN_LATER, explain_leak, find_leaks, shortened
from crossview.data.summaries.table import TableSummary
from crossview.describing.views import ViewDescription, describe_views
from crossview.encoding.table_columns import RECOGNIZED, predictors, recognized, split_time
from crossview.encoding.view_columns import (
    KINDS,
    columns_of_views,
    declared_kinds,
    suggested_views,
    without_ignored,
)
from crossview.errors import NAMES_AGAIN, InputError, argument, check_kind, first_names
from crossview.labels import as_labels
from crossview.readers.duck import identifier, literal
from crossview.readers.source import Batch, Source, open_source
from crossview.tables.arrow import type_of_values
from crossview.tables.columns import LARGEST, about_unusable, match_names
from crossview.tables.dates import DateFormat, covering_formats, find_formats, month_format
from crossview.tables.text import AMOUNT, MANY_NUMBERS, MISSING, VECTOR, WITHOUT_SIGNS
from crossview.views import ALL, about_unused, check_rows

if TYPE_CHECKING:
    from crossview.scoring.neighbors import SplitFinding

# what is described before a table is learned
ROWS_OF_HEAD = 10_000
MOST_COLUMNS_OF_HEAD = 2000
# shares of the rows, or of the values that are not missing
NEARLY_ALL = 0.95
# rows from which on a share says something
FEW_ROWS = 20
# in fewer no column without the name of an identifier may be groups of rows
ROWS_OF_FOLDS = 26
NOT_FINITE, TOO_LARGE = "NaN or infinity", "numbers that are too large"
# a relation that is none, and one of so many standard deviations is not by chance
RELATED, BY_CHANCE = 0.1, 4.0
NO_VALUE, ONE_VALUE = "has no value in any row", "constant"
LEAVE_OUT = "leave it out"
N_EXAMPLES = 3
# numbers of a vector that have a line each
LONGEST_SHOWN = 8
# words that stand for missing values in one column
MOST_NULLS = 5
LONGEST_EXAMPLE = 30
# how the warning of text that looks like numbers begins, and what may be done
LIKE_NUMBERS = "text, but"
LIKE_A_NUMBER = re.compile(r"\s*[-+]?[\d.,]*\d[\d.,]*([eE][-+]?\d+)?\s*")
# formats of which options say what is missing, and the decimal point; of joined tables each its own
HAVE_OPTIONS = "csv", ""
# whole numbers beyond it have no float of their own
LARGEST_WHOLE = 2.0**53
WRITE = f"which is read as none; {WITHOUT_SIGNS}"
# words of sentences of which too few differ to be read as text, and how many do
WORDS_OF_SENTENCE, MANY_SENTENCES = 5.0, 50
# or fewer words, if so large a share of the values are different
SEVERAL_WORDS, MOST_DIFFERENT = 2.0, 0.5
# different whole numbers without a gap; pixels have 256
MANY_IN_A_ROW = 300


@dataclass(frozen=True)
class ColumnDescription:
    """Content of a column.

    Attributes
    ----------
    name : str
        Its name.
    view : str or None
        Its view; None: it is in no view, and not used.
    kind : str or None
        What it is encoded as: numeric, categorical, text or date; None: it cannot be.
    type : str
        The type of its values.
    distinct : int or None
        Number of different values; None: more than 50,000, or of no kind and not counted.
    missing : int
        Number of rows without value.
    minimum, maximum : float, str or None
        The range of numbers, and of dates in words.
    examples : list of str
        Its most frequent values.
    relation : float or None
        How much it says of the label by itself, from 0 to 1: the correlation of two numbers, the
        correlation ratio of a number and a category, Cramér's V of two categories.  The last two
        are corrected for the number of values.  None: unknown.
    warnings : list of str
        What may be wrong with it, and what to do.
    """

    name: str
    view: str | None
    kind: str | None
    type: str
    distinct: int | None
    missing: int
    minimum: float | str | None
    maximum: float | str | None
    examples: list[str]
    relation: float | None
    warnings: list[str]


@dataclass(frozen=True)
class Description:
    """Content of a source: the columns of a table, or the views of rows that are views already.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    label : str or None
        The column of the labels.
    columns : list of ColumnDescription
        The columns of a table, in their order.
    about_table : list of str
        Warnings about the table as a whole.
    views : list of ViewDescription
        The views; none of a table.
    files : list of str
        The files of the views.
    labels : dict of str to int
        Number of rows of each label of rows with views; empty if there are too many labels.
    unlabeled : int
        Number of rows with views that have no label.
    """

    n_rows: int
    label: str | None = None
    columns: list[ColumnDescription] = field(default_factory=list)
    about_table: list[str] = field(default_factory=list)
    views: list[ViewDescription] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    unlabeled: int = 0

    @property
    def warnings(self) -> list[str]:
        """Warnings, a line each: first about the table, then about columns with the same words."""
        columns: dict[str, list[str]] = {}
        for one in self.columns:
            for words in one.warnings:
                columns.setdefault(words, []).append(one.name)
        return [
            *self.about_table,
            *(
                f"{first_names(names)}: {words}{_how(words, names)}"
                for words, names in columns.items()
            ),
        ]

    def with_vectors(self) -> list[ColumnDescription]:
        """Return the columns, with those of a long vector as one."""
        found: list[ColumnDescription] = []
        for name, group in groupby(self.columns, key=_vector_of):
            own = list(group)
            if len(own) <= LONGEST_SHOWN:
                found += own
                continue
            counts = [one.distinct for one in own if one.distinct is not None]
            lows = [one.minimum for one in own if isinstance(one.minimum, float)]
            highs = [one.maximum for one in own if isinstance(one.maximum, float)]
            whole = replace(
                own[0],
                name=f"{own[0].name} to {own[-1].name.removeprefix(name)}",
                distinct=max(counts) if len(counts) == len(own) else None,
                missing=max(one.missing for one in own),
                minimum=min(lows, default=None),
                maximum=max(highs, default=None),
                examples=[f"{len(own):,} numbers"],
                relation=max((r for one in own if (r := one.relation) is not None), default=None),
            )
            found.append(whole)
        return found

    def cells(self, most: int = 200) -> list[list[str]]:
        """Return the first columns as texts, one list per column or vector, below a header."""
        header = ["column", "view", "kind", "examples", "different", "missing", "range", "relation"]
        found = [header, *(self._cells_of(one) for one in self.with_vectors()[:most])]
        return found if any(row[-1] for row in found[1:]) else [row[:-1] for row in found]

    def _cells_of(self, one: ColumnDescription) -> list[str]:
        limits = ""
        if isinstance(one.minimum, str):
            limits = f"{one.minimum} to {one.maximum}"
        elif one.minimum is not None and one.maximum is not None:
            limits = f"{one.minimum:.6g} to {one.maximum:.6g}"
        many = ">50,000" if one.kind else ""
        return [
            one.name,
            "(label)" if one.name == self.label else one.view or "–",
            one.kind or one.type,
            ", ".join(one.examples),
            many if one.distinct is None else f"{one.distinct:,}",
            percent(one.missing, self.n_rows) if one.missing else "",
            limits,
            "" if one.relation is None else f"{one.relation:.2f}",
        ]

    def __str__(self) -> str:
        if self.views:
            lines = [f"{one.name}: {one.width:,} columns" for one in self.views]
            return "\n".join([*lines, f"{self.n_rows:,} rows"])
        cells = self.cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in cells
        ]
        about = f"{self.n_rows:,} rows, {len(self.columns):,} columns"
        return "\n".join([*lines, about, *(f"warning: {line}" for line in self.warnings)])

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return what is known of the columns, or of the views, ready for JSON."""
        of_views = ("files", "n_rows", "unlabeled", "labels", "views")
        of_columns = ("n_rows", "label", "columns", "about_table")
        known = asdict(self)
        return {name: known[name] for name in (of_views if self.views else of_columns)}


def describe(
    X: Any,
    y: Any = None,
    *,
    on: str | Sequence[str] | None = None,
    views: Mapping[str, Any] | None = None,
    encoder: Any = None,
    task: str | None = None,
    time: str | None = None,
    weight: str | None = None,
) -> Description:
    """Return what a table, or files of rows with views, hold, and what may be wrong with it.

    It reads the rows once, in batches, and with labels the first 100,000 rows once more.

    Parameters
    ----------
    X : data frame, path, glob, query or Source, or mapping of str to these
        The rows, as for `open_table` or `open_rows`.  A mapping as for `train`.
    y : array-like of shape (n_samples,) or str, default=None
        The labels, or the name of their column.  None: no label.
    on : str or sequence of str, default=None
        Where ``X`` is a mapping of views to sources: the column, such as an id, by which their rows
        belong together.  None: frames have the same rows, in one order or by their pandas index.
    views : mapping of str to columns, default=None
        As for `ViewEncoder`.  None: those of ``encoder``, or a column called ``user__age`` belongs
        to the view ``user``.
    encoder : ViewEncoder, default=None
        The one for `train`: its columns of text, categories, numbers and dates are described as
        such, and those of ``ignore`` as being in no view.  Other dates are recognized, unless
        ``date`` is empty.  None: one with the defaults.
    task : {"classification", "regression"}, default=None
        Whether to predict a class or a number.  None: a number if the first labels have decimals or
        take more than 100 values, or more than 10 that begin above 1 or have a gap, and otherwise
        a class; a guess between the two is a warning.
    time, weight : str, default=None
        Columns of times and of weights, as for `train`: they are in no view, and checked as there.

    Returns
    -------
    Description
        Of a table the columns, each with its kind, view, different and missing values, range,
        examples and relation to the label, and warnings: of text that looks like numbers, of
        numbers that look like identifiers, of constants, of columns that leak the label, of
        weights whose mean is far from 1, and of folds that `compare` does not draw at random.  Of
        rows with views the labels, and columns, entries and range of each view.

    Raises
    ------
    InputError
        Times or weights are of another type, or one is missing, or a weight is negative.

    Notes
    -----
    Up to 50,000 different values per column are counted.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from crossview import describe
    >>> table = pa.table({
    ...     "ad__price": ["1,5", "2,5", "3,0", "NA"] * 5,
    ...     "ad__red": [True, True, False, None] * 5,
    ...     "click": ["yes", "no"] * 5 + ["no", "yes"] * 5,
    ... })
    >>> answer = describe(table, "click")
    >>> [(one.name, one.distinct, one.missing) for one in answer.columns]
    [('ad__price', 4, 0), ('ad__red', 2, 5), ('click', 2, 0)]
    >>> print(answer.warnings[0])
    ad__price: text, but 75 % look like numbers with a decimal comma, the others ...
    """
    check_kind("a mapping of names or None", views=views)
    check_kind("a name or None", task=task, time=time, weight=weight)
    check_kind("a name or one value per row or None", y=y)
    options: dict[str, Any] = {"task": task, "time": time, "weight": weight}
    if encoder is not None:
        from crossview.data.labeled_source import encoder_with_views, recognizes

        encoder = encoder_with_views(encoder, views)
        views, options["ignore"] = encoder.views, encoder.ignore
        options["kinds"] = {kind: getattr(encoder, kind) or () for kind in KINDS}
        options["recognize"] = recognizes(encoder)
    X, y, views = open_views(X, y, on, views=views, per_row={"weight": weight, "time": time})
    return describe_columns(X, y, views=views, **options)


def describe_columns(
    X: Any,
    y: Any = None,
    *,
    views: Mapping[str, Any] | None = None,
    kinds: Mapping[str, Sequence[str]] | None = None,
    ignore: Sequence[str] = (),
    recognize: Collection[str] = RECOGNIZED,
    task: str | None = None,
    time: str | None = None,
    weight: str | None = None,
    alone: bool = True,
    head_of: Source | None = None,
    more: bool = False,
) -> Description:
    """Return what a table holds, by names of columns; it loads no encoder unless ``alone``.

    ``kinds`` has the columns whose kind is declared, as for `plan_columns`; the columns (names or
    globs) of ``ignore`` are in no view.  ``recognize`` are kinds that the values of strings may
    say; ``alone``: nothing else says which columns are not used, and how `compare` splits the rows;
    ``head_of``: the source of which the rows are the first ones, of ``more``.
    """
    check_rows(X, y=y)
    table = open_source(X, views=views)
    if not table.has_columns:
        if y is not None:
            what = "X is a MultiView" if table.in_memory else "the file has the labels"
            raise InputError(f"{what}; leave the label out", file=table.file)
        options = {**(kinds or {}), "ignore": ignore, "time": time, "weight": weight}
        if said := [name for name, value in options.items() if value is not None and len(value)]:
            raise InputError(f"{argument(said[0])} is about columns, and X has views; leave it out")
        return Description(**describe_views(table))
    y = as_labels(y)
    label = y if isinstance(y, str) else None
    is_guess = y is not None and task is None
    task = "classification" if y is None else task_of(task, table, y)
    given = {kind: (kinds or {}).get(kind, ()) for kind in KINDS}
    given["date"], format = split_time(given["date"], time)
    row_columns = RowColumns(table, time, weight, format)
    left_out = match_names(ignore, table.column_names)
    views = without_ignored(views, left_out, table.column_names)
    in_no_view = [*left_out, *(name for name in (time, weight) if name is not None)]
    others = predictors(table, label, views, in_no_view)
    if label is not None:
        table = table.as_written([label])
    names = others.column_names
    dates: dict[str, DateFormat] = {}
    if names:
        found = recognized(table, names, views, given, recognize)
        dates, given = found.dates, given | found.added_to(given)
    declared, formats = declared_kinds(given, names)
    labels = None if label is not None else y
    about: list[str] = []
    texts = [name for name, kind in declared.items() if kind == "text"]
    grouped = columns_of_views(views, names, texts) if names else {}
    if list(grouped) == [ALL] and views is None and (several := suggested_views(names)):
        about.append(
            f"all columns are one view; their names suggest several: {argument(views=several)}"
        )
    about += _about_names(table)
    if alone and views is None and y is not None:
        about += [words for _, words in about_unused(names)]
    view_of: dict[str, str] = {}
    for view, group in grouped.items():
        for name, form in group:  # a text may be in several
            declared |= {name: "text"} if form else {}
            view_of[name] = f"{view_of[name]}, {view}" if name in view_of else view
    one_pass = _Pass(table, label, view_of, declared, Target(task == "regression"), formats)
    one_pass.open_formats = {name: one for name, one in dates.items() if one.other is not None}
    one_pass.is_guess, one_pass.format = is_guess, (head_of or table).format
    one_pass.by_comma = ((head_of or table).dialect or {}).get("decimal") == ","
    one_pass.of_rows = "" if not more else f" of the first {ROWS_OF_HEAD:,} rows"
    n_rows = one_pass.read(row_columns.watch(table), labels)
    about += row_columns.warnings()
    may_matter = n_rows >= ROWS_OF_FOLDS or any(map(is_group_name, table.column_names))
    if alone and y is not None and time is None and may_matter:
        encoder = {**given, "views": views, "ignore": left_out}
        found_folds = _find_folds(table, y, encoder, task=task, weight=weight)
        if found_folds is not None:
            about += found_folds.lines()
            one_pass.groups = found_folds.groups
            if found_folds.choice is not None:  # of whose rows compare learns all or none
                one_pass.of_groups = found_folds.choice.column
    return Description(n_rows, label, list(one_pass.describe(n_rows)), about)


def _about_names(table: Source) -> list[str]:
    """Return a warning if the names of the columns look like a row."""
    names = table.column_names
    if len(names) > 1 and all(re.fullmatch(r"[-+]?\d*\.?\d+", name) for name in names):
        some = ", ".join(names[:3])
        return [f"the names of the columns ({some}, ...) look like a row: {argument(header=False)}"]
    if len(names) == 1 and table.files:
        return [
            f"there is one column, {names[0]!r}; is there another delimiter? "
            f"{argument(delimiter=';')}"
        ]
    return []


def _find_folds(
    table: Source, y: Any, encoder: Mapping[str, Any], *, task: str, weight: str | None
) -> SplitFinding | None:
    """Return how `compare` splits the rows; None where it refuses them."""
    from crossview.data.labeled_source import open_labeled
    from crossview.encoding.encode import ViewEncoder
    from crossview.scoring.neighbors import find_split
    from crossview.scoring.problems import make_problem
    from crossview.scoring.specification import Scoring

    options: dict[str, Any] = {"task": task, "weight": weight, "unlabeled": True}
    with suppress(InputError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is wrong with columns is said of each
        source = open_labeled(table, y, encoder=ViewEncoder(**encoder), **options)
        problem = make_problem(task, source.classes, Scoring(), class_rows=source.class_rows)
        return find_split(source, problem)
    return None


class _Pass(TableSummary):
    """One pass over a table: descriptions of its columns, and warnings about them."""

    def __init__(
        self,
        table: Source,
        label: str | None,
        view_of: Mapping[str, str],
        declared: Mapping[str, str],
        target: Target,
        formats: Mapping[str, str],
    ) -> None:
        super().__init__(table.schema, declared, target, formats=formats)
        self.table, self.label, self.view_of = table, label, view_of
        # of which columns the values leave the format open
        self.open_formats: dict[str, DateFormat] = {}
        # the column by which compare makes folds: no leak, as it is in no view there
        self.of_groups: str | None = None
        # columns that may be groups of rows, and so are no numbers
        self.groups: set[str] = set()
        # whether the labels alone say that they are classes, or numbers
        self.is_guess = False
        # of the source, of which rows the values are, and whether it has a decimal comma
        self.format, self.of_rows, self.by_comma = "", "", False

    def read(self, batches: Iterable[Batch], labels: np.ndarray | None) -> int:
        """Take all rows; return how many there are."""
        import pyarrow as pa

        n_rows = 0
        for batch in batches:
            n = len(batch)
            own = None if labels is None else labels[n_rows : n_rows + n]
            if own is not None and len(own) < n:
                raise InputError(f"{len(own) + n_rows} labels for more than {n_rows} rows")
            column = None if own is None else pa.array(own.tolist())
            with with_row_location(batch):
                self.add(batch.X, column if self.label is None else batch.X.column(self.label))
            n_rows += n
        return n_rows

    def describe(self, n_rows: int) -> Iterator[ColumnDescription]:
        """Yield what each column holds."""
        relations = self.moments.relations(self.target)
        leaks = find_leaks(self)
        leaks.pop(self.of_groups or "", None)
        low, high = self.moments.minimum, self.moments.maximum
        for name in self.names:
            about: dict[str, Any] = {"distinct": None, "missing": 0, "examples": []}
            if str(self.types[name]) == "null":
                about |= {"distinct": 0, "missing": n_rows}
            about |= {"minimum": None, "maximum": None, "relation": None}
            if name in self.numbers:
                c = self.numbers[name]
                about = self._number(name, c)
                if not np.isnan(low[c]):
                    limits = (float(low[c]), float(high[c]))
                    is_date = self.kinds[name] == "date"
                    shown = [self.show(name, one) if is_date else one for one in limits]
                    about |= {"minimum": shown[0], "maximum": shown[1]}
                about["relation"] = None if np.isnan(relations[c]) else float(relations[c])
            elif name in self.values:
                about = self._value(self.values[name])
            if name == self.label:
                about["relation"] = None
            one = ColumnDescription(
                name=name,
                view=self.view_of.get(name),
                kind=self.kinds[name],
                type=str(type_of_values(self.types[name])),
                **{"minimum": None, "maximum": None, "warnings": []} | about,
            )
            if name in self.view_of or name == self.label:  # what is in no view is not learned
                one.warnings.extend(self.about(one, n_rows, leaks.get(name)))
            yield one

    def _number(self, name: str, c: int) -> dict[str, Any]:
        """Return the content of a column of numbers or dates."""
        distinct = self.moments.distinct[c]
        examples: list[str] = []
        if distinct is not None:
            order = np.argsort(-distinct[1], kind="stable")[:N_EXAMPLES]
            examples = [self.show(name, float(value)) for value in distinct[0][order]]
        return {
            "distinct": None if distinct is None else len(distinct[0]),
            "missing": int(self.moments.n_missing[c]),
            "examples": examples,
        }

    def _value(self, values: ValueSummary) -> dict[str, Any]:
        """Return the content of a column of categories or text."""
        frequent = values.most_frequent(N_EXAMPLES, self.target)
        return {
            "distinct": len(values.values) if values.complete else None,
            "missing": values.n_missing,
            "examples": [shortened(value, LONGEST_EXAMPLE) for value, _ in frequent],
            "relation": values.relation(self.target),
        }

    def about(self, one: ColumnDescription, n_rows: int, leak: str | None) -> Iterator[str]:
        """Yield what may be wrong with a column, and what to do."""
        if one.name == self.label:
            yield from self._about_label(one, n_rows)
            return
        present = n_rows - one.missing
        if one.kind is None and str(self.types[one.name]) != "null":
            yield f"{about_unusable(self.types[one.name])}, or {LEAVE_OUT}"
            return
        if not n_rows:
            return
        if present == 0:
            yield f"{NO_VALUE}; {LEAVE_OUT}"
            return
        if one.missing >= NEARLY_ALL * n_rows and n_rows >= FEW_ROWS:
            yield f"{percent(one.missing, n_rows)} of the rows have no value"
        if leak is not None:
            yield explain_leak(leak, one.name)
        elif self._is_rounded(one):
            yield (
                "has whole numbers above 2^53, which as numbers are rounded: are they categories? "
                f"{argument(categorical=one.name)}"
            )
            return
        elif one.distinct == 1:
            where = "every row that has a value" if one.missing else "every row"
            yield f"{ONE_VALUE}: {one.examples[0]!r} in {where}"
        if found := self.open_formats.get(one.name):
            yield explain_open_format(one.name, found)
        if one.name in self.values:
            yield from self._about_values(one, self.values[one.name], present)
        elif one.kind == "numeric":
            yield from self._about_numbers(one, present)

    def _is_related(self, one: ColumnDescription, present: int) -> bool:
        """Whether the relation of a number to the label is more than chance, and not tiny."""
        if one.relation is None or one.relation < RELATED:
            return False
        by_chance = 1 if self.target.numbers else len(self.target.classes) - 1
        return one.relation**2 * present > BY_CHANCE**2 * by_chance

    def _is_rounded(self, one: ColumnDescription) -> bool:
        """Whether whole numbers are larger than those that a float tells apart."""
        from pyarrow.types import is_integer

        limits = (one.minimum, one.maximum)
        large = any(isinstance(x, float) and abs(x) > LARGEST_WHOLE for x in limits)
        return large and one.name in self.numbers and is_integer(self.types[one.name])

    def _about_label(self, one: ColumnDescription, n_rows: int) -> Iterator[str]:
        if self.target.n_missing:
            yield f"{percent(self.target.n_missing, n_rows)} of the rows have no label"
        labels = self.values.get(self.label or "")
        if (
            labels is not None
            and labels.like.number < labels.like.present  # others are the names of classes
            and (words := self._like_numbers(labels, n_rows - labels.n_missing))
        ):
            yield words
            return
        if not self.target.usable:
            yield (
                f"is no number; to predict a class: {argument(task='classification')}"
                if self.target.numbers
                else "has more than 1,000 different values; to predict a number: "
                f"{argument(task='regression')}"
            )
            return
        if self.target.numbers and one.distinct == 1:
            yield f"{ONE_VALUE}: {one.examples[0]!r} in every row that has a label"
        classes = [] if self.target.numbers else sorted(self.target.classes, key=str)
        if len(classes) == 1:
            yield "has one class in all rows; a classifier needs two or more"
        elif words := about_alike(classes) or (about_levels(classes) if self.is_guess else None):
            yield words

    def _about_values(
        self, one: ColumnDescription, summary: ValueSummary, present: int
    ) -> Iterator[str]:
        if one.kind != "categorical" or one.name in self.declared:
            return
        if like_numbers := self._like_numbers(summary, present):
            yield like_numbers
            return
        if present < FEW_ROWS:
            return
        if like_dates := self._like_dates(summary):
            yield like_dates
            return
        some = summary.values.slice(0, FEW_ROWS).to_pylist()
        if some and all(re.match(VECTOR, value) for value in some):
            sql = f"CAST(regexp_extract_all({identifier(one.name)}, '[-+.eE0-9]+') AS FLOAT[])"
            fix = self._instead(one.name, sql, "give lists of numbers")
            yield f"a category, but its values are vectors that are written as text: {fix}"
            return
        words = summary.like.words / max(1, summary.like.present)
        different = ">50,000" if one.distinct is None else f"{one.distinct:,}"
        many = (one.distinct or MOST_DISTINCT) >= MANY_SENTENCES
        short = words >= SEVERAL_WORDS and (one.distinct or 0) >= MOST_DIFFERENT * present
        sentences = words >= WORDS_OF_SENTENCE or (
            short and (one.distinct or 0) < NEARLY_ALL * present
        )
        if many and sentences:
            yield (
                f"a category of {different} values, with {words:.0f} words on average; free text? "
                f"{argument(text=one.name)}"
            )
        elif one.distinct is not None and one.distinct >= NEARLY_ALL * present and present >= 100:
            words_count = f"if its words count: {argument(text=one.name)}; otherwise "
            yield (
                "different in nearly every row, so it tells nothing about new rows by itself; "
                f"{words_count if words >= SEVERAL_WORDS else ''}{LEAVE_OUT}"
            )

    def _like_dates(self, summary: ValueSummary) -> str | None:
        """Return the warning about text of which most are dates, in several formats or with words.

        Dates in one format, and nothing else, are recognized, but for two digits of the year that
        leave the order open.
        """
        n = len(summary.values)
        if n and (format := month_format(summary.values)) is not None:
            name = identifier(summary.name)
            return (
                f"a category, but its values are dates with names of months, as in {format}: "
                + _query(summary.name, f"strptime({name}, '{format}')")
            )
        formats = covering_formats(summary.values)
        found = {one: int(fits.sum()) for one, fits in formats.items()}
        if sum(found.values()) < max(1, MANY_NUMBERS * n):
            return None
        if n in found.values():
            (one,) = find_formats([{"": summary.values}], [""]).values()
            if one.is_sure:
                return None
            orders = " or ".join(part for part in (one.format, one.other) if part is not None)
            return (
                f"a category, but its values look like dates, as in {orders}: "
                f"{argument(date=f'{summary.name}={one.format}')}"
            )
        shares = ", ".join(f"{percent(k, n)} as in {one}" for one, k in found.items())
        words = f"a category, but of its different values most are dates: {shares}"
        if len(formats) > 1:
            return f"{words}; a column has one format, so write them alike, or {LEAVE_OUT}"
        (fits,) = formats.values()
        most = int(np.argmax(np.where(fits, -1, summary.counts(self.target))))
        value = summary.values[most].as_py()
        return f"{words}, the others {value!r} or the like: {self._null(summary.name, value)}"

    def _null(self, name: str, value: str) -> str:
        """What makes a value a missing one."""
        if self.format in HAVE_OPTIONS:
            return argument(null=value)
        sql = f"nullif({identifier(name)}, {literal(value)})"
        return self._instead(name, sql, "give null in its place")

    def _finite(self, name: str) -> str:
        """What makes NaN and infinity missing values, of CSV by how they are written there."""
        if self.format in HAVE_OPTIONS:
            return " ".join(argument(null=word) for word in _not_finite(self.table, name))
        sql = f"CASE WHEN isfinite({identifier(name)}) THEN {identifier(name)} END"
        return self._instead(name, sql, "give null in its place")

    def _instead(self, name: str, sql: str, words: str) -> str:
        """How other values come into a column: by a query, or in words for a table in memory."""
        return words if self.format == "memory" else _query(name, sql)

    def _like_numbers(self, summary: ValueSummary, present: int) -> str | None:
        """Return the warning about text that looks like numbers."""
        like = summary.like
        numbers = like.number + like.decimal_comma + like.amount
        many = max(1, MANY_NUMBERS * (present - like.missing))
        if like.leading_zero:
            return None
        if numbers < many:
            value, n = summary.with_unit(self.target)
            unit = f"are numbers with a unit, such as {value!r}, {WRITE}"
            return (
                f"{LIKE_NUMBERS} {percent(n, present)} {unit}"
                if n and numbers + n >= many
                else None
            )
        words = f"{LIKE_NUMBERS} {percent(numbers, present)}{self.of_rows} look like numbers"
        if (amount := summary.first_like(AMOUNT)) is not None:
            return (
                f"{words}, and some are written as {shortened(amount, LONGEST_EXAMPLE)!r}, {WRITE}"
            )
        fixes, written = [], identifier(summary.name)
        if like.decimal_comma:
            words += " with a decimal comma"
            written = f"replace({written}, ',', '.')"
            if like.grouped == like.decimal_comma:
                value = str(summary.first_like(GROUPED))
                point, whole = value.replace(",", "."), value.replace(",", "")
                words += ", or with one that separates thousands"
                if self.format not in HAVE_OPTIONS:
                    return f"{words}: write {value!r} as {whole} or as {point}"
                return (
                    f"{words}: {argument(decimal=',')} reads {value!r} as {point}; for {whole}, "
                    "write them without it"
                )
            fixes.append(argument(decimal=","))
        frequent = summary.most_frequent(len(summary.values), self.target)
        others = [(value, n) for value, n in frequent if n and not LIKE_A_NUMBER.fullmatch(value)]
        if others:
            shown = [
                f"{value!r} ({percent(count, present)})" for value, count in others[:MOST_NULLS]
            ]
            words += f", the others are {', '.join(shown)}"
            if any(value == summary.name for value, _ in others):
                return f"{words}: {NAMES_AGAIN}"
            many = len(others) > MOST_NULLS
            # such as >3, which is not missing
            odd = [value for value, _ in others if any(map(str.isdigit, value))]
            absent = all(re.match(MISSING, value) for value, _ in others)
            words += ", ..." if many else ""
            if not absent and (
                others[0][0] in odd or (self.format in HAVE_OPTIONS and (many or odd))
            ):
                return (
                    f"{words}: all are categories; to learn numbers, write these as numbers, or "
                    "leave them empty"
                )
            values = [value for value, _ in others]
            fixes.append(argument(null=values if len(values) > 1 else values[0]))
        if not fixes and like.number and self.by_comma:
            return (
                f"{words} with a decimal point, and are read with a comma: without "
                f"{argument(decimal=',')} each file shows its own"
            )
        named = is_identifier(summary.name) or is_group_name(summary.name)
        if not fixes and (named or summary.name in self.groups):
            return None
        if fixes and self.format not in HAVE_OPTIONS:
            sql, how = f"try_cast({written} AS DOUBLE)", "give numbers, and null for the others"
            return f"{words}: {self._instead(summary.name, sql, how)}"
        more = "; crossview describe reads all rows" if self.of_rows else ""
        return f"{words}: {' '.join(fixes or [argument(numeric=summary.name)])}{more}"

    def _about_numbers(self, one: ColumnDescription, present: int) -> Iterator[str]:
        from pyarrow.types import is_integer

        c = self.numbers[one.name]
        if self.moments.n_nan[c]:
            yield (
                f"{NOT_FINITE} in {_rows(self.moments.n_nan[c])}, which is no missing value: "
                f"{self._finite(one.name)}"
            )
        if self.moments.n_too_large[c]:
            yield (
                f"{TOO_LARGE} in {_rows(self.moments.n_too_large[c])}: write null, or numbers "
                f"up to {LARGEST:g}"
            )
        said = one.name in self.declared or one.name in self.groups
        if said or not is_integer(self.types[one.name]) or present < FEW_ROWS:
            return
        if not (isinstance(one.minimum, float) and isinstance(one.maximum, float)):
            return
        n_between = one.maximum - one.minimum + 1
        if one.distinct == present and n_between <= 1.5 * present:
            different = "it is different in each of them, and"
            if self._is_related(one, present):
                yield (
                    f"counts the rows: {different} says something of the label "
                    f"({one.relation:.2f}), as the order of the rows or a ranking does; if that "
                    f"is not known of new rows, {LEAVE_OUT}"
                )
            else:
                yield f"counts the rows: {different} tells nothing about new ones; {LEAVE_OUT}"
        elif self._is_of_few_rows(one.name, c):
            yield (
                "whole numbers by the name of an identifier, with several rows of most; if new "
                f"rows have other ones, {LEAVE_OUT}"
            )
        elif is_identifier(one.name) and (one.distinct or MOST_DISTINCT) > 2:
            yield (
                "whole numbers by the name of an identifier; are they categories? "
                f"{argument(categorical=one.name)}"
            )
        elif one.minimum in (0, 1) and one.distinct == n_between >= MANY_IN_A_ROW:
            yield (
                f"each whole number up to {one.maximum:.0f}, as of identifiers; are they "
                f"categories? {argument(categorical=one.name)}"
            )

    def _is_of_few_rows(self, name: str, c: int) -> bool:
        distinct = self.moments.distinct[c]
        return distinct is not None and is_of_few_rows(name, distinct[1])


def explain_open_format(column: str, found: DateFormat) -> str:
    """Return how the dates of a column are read, where its values do not say it."""
    return (
        f"its dates are read as {found.format}, and {found.other} fits as well: "
        f"{argument(date=f'{column}={found.other}')}"
    )


def describe_head(
    table: Source,
    y: str | None,
    *,
    weight: str | None = None,
    leaks: bool = False,
    **options: Any,
) -> Description:
    """Return what the first 10,000 rows of a table hold, or of a very wide one its names only.

    Its warnings leave out what learning refuses with an error, and the label. ``leaks``: they name
    columns that tell the label; learning on one machine looks for them in more rows.
    """
    import pyarrow as pa

    if y is not None:
        table = table.as_written([y])
    if len(table.column_names) > MOST_COLUMNS_OF_HEAD:
        return Description(0, y, [], _about_names(table))
    batches = iter(table)
    batch = next(batches, None)
    head = [] if batch is None else [batch.X.slice(0, ROWS_OF_HEAD)]
    rows = pa.Table.from_batches(head, schema=table.schema)
    more = batch is not None and (len(batch) > len(rows) or next(batches, None) is not None)
    with nullcontext() if batch is None else with_row_location(batch):
        answer = describe_columns(rows, y, **options, alone=False, head_of=table, more=more)
    refused = [one for one in answer.columns if one.name == y or one.view is None or not one.kind]
    for one in refused:
        one.warnings[:] = [words for words in one.warnings if words.startswith(LIKE_NUMBERS)]
    for one in answer.columns if y is not None else ():
        one.warnings[:] = [words for words in one.warnings if not words.endswith(NAMES_AGAIN)]
    if weight is not None and batch is not None:
        with suppress(InputError):  # which learning raises
            check_weight_column(table, weight)
            mean = float(weights_of(batch, weight).mean())
            answer.about_table.extend(about_weights(weight, mean))
    unsaid: tuple[str, ...] = (NOT_FINITE, TOO_LARGE)
    if more:
        unsaid += (NO_VALUE, ONE_VALUE)  # later rows may have others
    for one in answer.columns:
        one.warnings[:] = [
            words
            for words in one.warnings
            if not (words.startswith(unsaid) or (KNOWN_LATER in words and not leaks))
        ]
    return answer


def _vector_of(one: ColumnDescription) -> str:
    """Return the vector of a column called vector__0, and the name of any other one."""
    name, _, number = one.name.rpartition("__")
    return name if number.isdecimal() and one.kind == "numeric" else one.name


def _query(name: str, value: str) -> str:
    """How a query gives other values of a column."""
    return f"read it by a query, SELECT * REPLACE ({value} AS {identifier(name)}) FROM ..."


def _how(words: str, names: list[str], most: int = 3) -> str:
    """The argument that leaves a few columns out, where the words say that it is to be done."""
    if not words.endswith(LEAVE_OUT) or len(names) > most:
        return ""
    return ": " + " ".join(argument(ignore=name) for name in names)


def _not_finite(table: Source, name: str) -> list[str]:
    """The different words for NaN and infinity in a column of numbers, as they are written."""
    import pyarrow.compute as pc

    words: dict[str, None] = {}
    for batch in table.select([name]).as_kinds([name], []):
        texts = pc.cast(batch.X.column(0), "string")
        some = texts.filter(
            pc.match_substring_regex(texts, "^\\s*[-+]?(nan|inf)", ignore_case=True)
        )
        words |= dict.fromkeys(pc.unique(some).to_pylist())
    return list(words)


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n:,} rows"


def percent(n: int, of: int) -> str:
    """Return a share in percent, which is never rounded to none or all."""
    share = 100.0 * n / of
    if n == of:
        return "all"
    return (
        f"{min(99.9, max(0.1, share)):.1f} %" if share < 1.0 or share > 99.0 else f"{share:.0f} %"
    )
