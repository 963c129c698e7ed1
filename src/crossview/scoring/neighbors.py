"""Whether random folds promise too much: rows that have an order, or that come in groups.

A row that is scored may have neighbors among the rows that were learned: those before and after it,
or those of the same user.  New rows have none.  What that is worth is measured at an equal number
of rows: two quick models score the same rows, one that learned neighbors of them, and one that
learned none.  An identifier that a view has is seen by the first, as a category, and not by the
second: models memorize users, which helps with no new one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import special
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import roc_auc_score

from crossview.algorithms.trees.target_statistics import (
    best_weight,
    category_statistics,
    ordered_statistics,
)
from crossview.batch import make_rows, rows_at
from crossview.data.labeled import LabeledBatch, LabeledSource
from crossview.data.labeled_source import unnamed
from crossview.data.summaries.columns import is_group_name, is_of_few_rows, is_repeated
from crossview.errors import NoRowsError, argument
from crossview.estimators.trees.features import LearnedFeatures, Targets, Wanted, features_of
from crossview.jobs.threads import threadpool_limits
from crossview.scoring.metrics import decide, is_bounded, least_rows, signed_score
from crossview.scoring.problems import Classification, Problem, Scored
from crossview.scoring.progressive import LabelOrder, serial_correlation
from crossview.scoring.significance import correlated_t_posterior, p_in_words, rankdata
from crossview.tables.arrow import decoded, is_number, nan_as_null, numbers_of, type_of_values
from crossview.tables.columns import one_array
from crossview.tables.dates import as_times, find_formats, is_date, is_text
from crossview.tables.text import number_in
from crossview.views import MultiView

# rows and cells that are read, and rows that the quick models learn and score
MOST_ROWS, MOST_CELLS = 100_000, 2_500_000
ROWS_OF_TEST, LEAST_OF_TEST, CELLS_OF_TEST, ROWS_OF_HALVES = 6000, 2000, 150_000, 3000
# fewer rows are not tested
FEWEST_ROWS = 300
# an order is looked at more closely from so many standard deviations on: of the changes of the
# label, and of the area under the curve of trees that tell the first half of the rows
DEVIATIONS_OF_LABELS, DEVIATIONS_OF_HALVES = 4.0, 5.0
# a column with such a rank correlation with the position is the number of the row
ROW_NUMBER = 0.98
# the position of a row tells its class from this mean of |2 AUC - 1| over the classes on
TELLS = 0.6
# a test is repeated; the results of two repetitions correlate as those of folds with this share
REPEATS, SHARE, SCORED = 5, 0.2, 0.1
LEVEL = 0.1
# of the values with several rows so many may have two labels, and chance makes it with a lower p
SEVERAL_LABELS, LEVEL_OF_LABELS = 0.05, 0.001
# a test with a larger p leaves open whether groups matter, up to this one
OPEN = 0.25
# columns of groups: values, rows of a value in the mean, and rows of one value at most
FEWEST_VALUES, ROWS_OF_VALUE, LARGEST_VALUE, MOST_COLUMNS = 20, 1.3, 0.2, 3
# rows of groups stand together if the group changes at most so often per group
TOGETHER = 1.1
# a column by which rows may be sorted has so many values, and rows of each in the mean, at least;
# and of one value this share of the rows at most
FEWEST_BLOCKS, ROWS_OF_BLOCK, LARGEST_BLOCK = 3, 2, 0.6
# a column starts again in each block where it seldom falls inside, mostly rises, and falls between
SELDOM, MOSTLY = 0.02, 0.6
# without a column of times the rows are in the order of one where numbers wander: the rank
# correlation of a column with the row before is so high, and that with the position is not; and
# where fewer rows of each column with many values have the value of the row before
WANDERS, SORTED, IN_RUNS, MOST_OF_WANDERING = 0.9, 0.9, 0.3, 200
# columns of times by their name, text by its values, and whole numbers: years, with months, with
# days, seconds
TIME_NAME = re.compile(
    r"(?i:(^|[_\W\d])(t|ts|yr|step|tick|wave|round|epoch|hour|day|period|quarter|season)s?([_\W\d]|$))"
    r"|(?i:(?<!candi)date|time|year|month|week)s?([_\W\dA-Z]|$)"
)
TIME = re.compile(
    r"(?i).*\b(19|20)\d\d|\W*\d+[-/.:]\d"
    r"|.*\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)"
    r"|(week|day|month|quarter|year|hour|period|wave|round|season|[wqyt])[\W_]*\d+$"
)
YEAR = r"^(19|20)\d\d$"
TIMES = (1900, 2100), (190_001, 210_012), (19_000_101, 21_001_231), (10**8, 10**19)
# rows that are equal to another one are said from this share on, where some column has values of
# its own in so many rows
SHARE_OF_COPIES, SHARE_OF_VALUES = 0.01, 0.4
# a quick model: trees, the columns of a view that they see, and classes
TREES, RATE, COLUMNS_OF_VIEW, MOST_CLASSES = 30, 0.2, 30, 10
LEAST_PROBABILITY = 1e-4


@dataclass(frozen=True)
class NeighborTest:
    """What neighbors among the learned rows are worth to a quick model.

    column: neighbors are rows with the same value in this column; None: rows close in the order.
    near, apart: its value with neighbors among the learned rows, as random folds have them, and
      without.
    p: of the test that they do not matter, one-sided, by the loss.
    matters: whether the loss is significant, and the metric loses more than the rope, or else the
      area under the ROC curve does, which is then the metric here.
    is_open: whether a metric loses more than the rope, but the loss may be chance.
    """

    column: str | None
    metric: str
    near: float
    apart: float
    p: float
    matters: bool = False
    is_open: bool = False

    @property
    def loss(self) -> float:
        """How much better the metric is with neighbors."""
        return signed_score(self.metric, self.near) - signed_score(self.metric, self.apart)

    @property
    def words(self) -> str:
        """What was measured, in words."""
        what = "row order" if self.column is None else self.column
        new = "later rows" if self.column is None else "new values"
        return (
            f"{what}: random folds say {self.metric} {self.near:.3g}, {new} {self.apart:.3g} (a "
            f"quick model, {p_in_words(self.p)})"
        )


@dataclass
class SplitFinding:
    """What the order of the rows and columns of groups mean for folds.

    order_alarm: whether the labels or the columns follow the order of the rows.
    sorted_by_label: whether the rows are sorted by label, or nearly so, so that their order cannot
      be tested.
    sorted_by: a column by which the rows are sorted and which is no time, so that their order is
      its own.
    time: a column of times that start again in each of its blocks.
    is_text: whether these are years that are text.
    timeless: whether the order matters, but nothing says that it is one of time.
    backward: a column of times that fall from row to row, if the order matters.
    date: a column of dates.
    copies: how many rows are equal to an earlier one, with its label, and could be told apart.
    out_of_time: columns that there was no time to test.
    repeated: columns with the name of an identifier of which most values have several rows, or
      whose values have one label each, and that no test has decided on: why, in words.
    rows: of which rows it was found out, if not of all.
    """

    tests: list[NeighborTest]
    order_alarm: bool = False
    sorted_by_label: bool = False
    sorted_by: str | None = None
    time: str | None = None
    is_text: bool = False
    timeless: bool = False
    backward: str | None = None
    date: str | None = None
    copies: int = 0
    out_of_time: list[str] | None = None
    repeated: dict[str, str] = field(default_factory=dict)
    rows: str = ""

    @property
    def choice(self) -> NeighborTest | None:
        """The test whose neighbors matter most; None: random folds are fine."""
        found = [one for one in self.tests if one.matters]
        return max(found, key=lambda one: one.loss, default=None)

    @property
    def groups(self) -> set[str]:
        """Columns that the lines may name as groups."""
        tested = {one.column for one in self.tests if one.matters}
        return {one for one in (*tested, self.sorted_by, *self.repeated) if one is not None}

    def lines(self, problem: str = "") -> list[str]:
        """Return a line for each finding; ``problem`` says why folds cannot be made by it."""
        choice, lines = self.choice, []
        for one in sorted(self.tests, key=lambda one: one is not choice):
            if not one.matters:
                continue
            ordered = one.column is None
            option = argument(in_order=True) if ordered else argument(groups=one.column)
            did = f"; {option} splits the rows by it"
            if one is choice:
                did = (
                    "so compare scores each fold by models of the rows before it"
                    if one.column is None
                    else f"so compare never learns and scores rows of the same {one.column}"
                )
                did = f": {did} ({option}); {argument(random_folds=True)} insists on random folds"
                if problem:
                    did = f", but the folds are random: {problem}"
            lines.append(one.words + self.rows + did)
        if self.copies:
            lines.append(
                f"{self.copies:,} rows are equal to an earlier one, with its label{self.rows}: "
                "if they were read twice, folds learn rows that they score, and a query with "
                "SELECT DISTINCT drops them"
            )
        if self.sorted_by is not None and (choice is None or choice.column != self.sorted_by):
            later = ""
            if self.time is not None:
                later = f", and if they are later, {argument(time=self.time)}"
                later += ", once its years are numbers and no text" if self.is_text else ""
            lines.append(
                f"{self.tests[0].words}{self.rows}, but the rows are sorted by {self.sorted_by}: "
                f"their order is that of {self.sorted_by}, and not one of time; if new rows have "
                f"other values of it, give {argument(groups=self.sorted_by)}{later}"
            )
        if self.timeless and (choice is None or choice.column is not None):
            lines.append(
                f"{self.tests[0].words}{self.rows}, but no column has times in that order: it may "
                f"be that of places, groups or values, and decides no folds; if new rows are later "
                f"ones, give {argument(in_order=True)}"
            )
        if self.backward is not None:
            lines.append(
                f"{self.tests[0].words}{self.rows}, but the last rows are the oldest by "
                f"{self.backward}, so their order decides no folds: "
                f"{argument(time=self.backward)} scores each fold by models of the rows that are "
                "earlier"
            )
        if self.sorted_by_label:
            lines.append(
                f"the rows are sorted by label{self.rows}: whether they also have an order of "
                f"time cannot be tested, and folds are random unless {argument(in_order=True)}"
            )
        elif choice is None and self.date is not None and self.backward is None:
            lines.append(
                f"{self.date!r} is a date, and compare has random folds: "
                f"{argument(time=self.date)} scores each fold by models of the rows before it; "
                f"{argument(random_folds=True)} says that the order means nothing"
            )
        if choice is None:
            lines += [
                f"{column}: {words}; if new rows have other values of it, give "
                f"{argument(groups=column)}"
                for column, words in self.repeated.items()
                if column != self.sorted_by
            ]
        if self.out_of_time:
            names = ", ".join(self.out_of_time)
            lines.append(f"no time to test whether rows are alike by {names}; a larger budget has")
        return lines


def find_split(
    source: LabeledSource,
    problem: Problem,
    *,
    rope: float = 0.01,
    seed: int = 0,
    deadline: float = np.inf,
    always: bool = False,
) -> SplitFinding:
    """Test whether the order of some rows, and columns of groups, matter for folds.

    source: the rows; of many the first ones are read.
    problem: what is predicted, and the metric that decides.
    rope: differences in the metric up to this are none, as for `compare`.
    seed: of all draws.
    deadline: on the clock of `time.monotonic`: no test begins later.
    always: whether the order is tested also where nothing says that there is one.
    """
    with threadpool_limits(1):  # the last digits of sums depend on the number of threads
        return _find_split(source, problem, rope, seed, deadline, always)


def _find_split(
    source: LabeledSource, problem: Problem, rope: float, seed: int, deadline: float, always: bool
) -> SplitFinding:
    others, dates = _possible_groups(source), [*source.dates, *_unused_dates(source)]
    rows, whole = _read(source.with_columns([*others, *dates[len(source.dates) :]]))
    dates += _dates_of_text(rows.X, others)
    y = rows.y
    known = np.flatnonzero(problem.is_known(y))
    finding = SplitFinding([], rows="" if whole else f" of the first {len(y):,} rows")
    rows = rows.take(known)
    if len(known) < FEWEST_ROWS:
        for column, codes in _repeated(rows.X, others).items():
            finding.repeated[column] = (
                f"{len(known):,} rows have {codes.max() + 1:,} values, and whether rows of one are "
                f"alike is not tested below {FEWEST_ROWS} rows"
            )
        finding.repeated = _of_one_label(source, dates, rows, problem) | finding.repeated
        return finding
    finding.copies, finding.date = _copies(rows), next(iter(dates), None)
    n_columns = sum(map(len, source.columns.values())) or rows.X.layout.n_columns
    most = max(LEAST_OF_TEST, min(ROWS_OF_TEST, CELLS_OF_TEST // n_columns))
    in_blocks, z = _order_of_labels(rows.y, problem)
    rng = np.random.default_rng(seed)
    sample = _blocks(len(rows), most)
    is_constant = (rows.y == rows.y[0]).all()
    if (in_blocks and not is_constant and not _can_split(rows.y, problem)) or (
        _tells_label(rows.y, problem) and _clock(dates, rows)[0] is None
    ):
        finding.sorted_by_label = True
    else:
        part = _encoded(source, rows.take(sample), problem, seed)
        finding.order_alarm = abs(z) > DEVIATIONS_OF_LABELS or _halves_differ(part)
        if finding.order_alarm or always:
            found = compare_neighbors(part, later_rows(len(sample), rng), rope)
            if found is not None:
                finding.tests.append(found)
            if found is not None and found.matters:
                clock, falls = _clock(dates, rows)
                if clock is not None:
                    finding.backward = clock if falls else None
                else:
                    finding.sorted_by, finding.time = _sorted_by(dates, rows)
                    if finding.time is not None and finding.time not in dates:
                        finding.is_text = is_text(rows.X.column(finding.time).type)
                    named = finding.sorted_by is not None or finding.time is not None
                    finding.timeless = not (named or _wanders(rows))
                is_later = finding.sorted_by is None and finding.backward is None
                matters = is_later and not finding.timeless
                finding.tests[0] = replace(found, matters=matters)
    names = [
        one
        for one in others
        if one not in dates and (is_group_name(one) or not TIME_NAME.search(one))
    ]
    columns = group_columns(rows.X, names) if names else {}
    for column, codes in columns.items():
        if time.monotonic() > deadline:
            finding.out_of_time = [*(finding.out_of_time or []), column]
            continue
        without = source.without_column(column)
        if without is None:
            continue
        some = _of_groups(codes, most, rng)
        part = _encoded(without, rows.take(some), problem, seed)
        is_seen = without is not source and is_of_few_rows(column, np.bincount(codes))
        of_whom = codes[some] if is_seen and not _is_crossed(column, columns) else None
        level = LEVEL / len(columns)
        found = compare_neighbors(part, new_groups(codes[some], rng), rope, column, level, of_whom)
        if found is None:
            continue
        finding.tests.append(found)
        if found.is_open and is_repeated(column, np.bincount(codes)):
            finding.repeated[column] = (
                f"{found.words.partition(': ')[2]}{finding.rows}, which may be chance"
            )
        ordered = finding.tests[0]
        if found.matters and ordered.column is None and ordered.matters and _stand_together(codes):
            part = _encoded(without, rows.take(sample), problem, seed)
            of_others = compare_neighbors(part, later_rows(len(sample), rng, codes[sample]), rope)
            if of_others is not None and not of_others.matters:
                finding.tests[0] = replace(ordered, matters=False)
    of_one_label = _of_one_label(source, dates, rows, problem)
    finding.repeated |= {one: words for one, words in of_one_label.items() if one not in columns}
    return finding


def _of_one_label(
    source: LabeledSource, dates: list[str], rows: LabeledBatch, problem: Problem
) -> dict[str, str]:
    """Return columns of text or whole numbers whose values have one label each, and in how many.

    So do patients with several visits, whatever their column is called.  A number that the label
    follows, such as a measurement, is none of them: its next value tends to have the same label.
    """
    if not source.has_columns:
        return {}
    from pyarrow import types

    y = np.unique(problem.encode(rows.y), return_inverse=True)[1]
    fits = [
        one.name
        for one in rows.X.schema
        if one.name not in dates
        and (types.is_integer(type_of_values(one.type)) or is_text(one.type))
    ]
    found: dict[str, str] = {}
    for name, codes in group_columns(rows.X, fits, most=len(fits)).items():
        several, impure, p = _labels_of_values(codes, y)
        if impure > SEVERAL_LABELS * several or p >= LEVEL_OF_LABELS:
            continue
        if types.is_integer(rows.X.schema.field(name).type):
            first = np.unique(codes, return_index=True)[1]
            values = numbers_of(rows.X.column(name))[first]
            if abs(_order_of_labels(rows.y[first[np.argsort(values)]], problem)[1]) > 2.0:
                continue
        found[name] = (
            f"{several - impure:,} of {several:,} values with several rows have one label each, "
            f"which is no chance ({p_in_words(p)})"
        )
    return dict(list(found.items())[:MOST_COLUMNS])


def _labels_of_values(codes: np.ndarray, y: np.ndarray) -> tuple[int, int, float]:
    """Return how many values have several rows, how many of these several labels, and the p.

    The p is that of so few by chance: by the mean of their probabilities (Hoeffding 1956).
    """
    n, sizes, of_label = len(y), np.bincount(codes), np.bincount(y)
    several = sizes > 1
    kinds = np.unique(codes * len(of_label) + y)
    impure = int(np.count_nonzero(np.bincount(kinds // len(of_label))[several] > 1))
    size, at = np.unique(sizes[several], return_inverse=True)

    def log_choose(total: Any, k: Any) -> Any:
        return special.gammaln(total + 1) - special.gammaln(k + 1) - special.gammaln(total - k + 1)

    with np.errstate(invalid="ignore"):
        ways = log_choose(np.maximum(of_label, size[:, None]), size[:, None])
    same = np.where(of_label >= size[:, None], np.exp(ways - log_choose(n, size)[:, None]), 0.0)
    chance = float(np.clip(1.0 - same.sum(axis=1), 0.0, 1.0)[at].mean()) if len(size) else 0.0
    return int(several.sum()), impure, float(special.bdtr(impure, int(several.sum()), chance))


def _repeated(table: Any, names: list[str]) -> dict[str, np.ndarray]:
    """Return the columns of identifiers that have several rows of most values, however few."""
    found: dict[str, np.ndarray] = {}
    for name in filter(is_group_name, names):
        codes = _groups(table.column(name))
        if codes is None or not len(codes):
            continue
        counts = np.bincount(codes)
        fits = counts.max() <= LARGEST_VALUE * len(codes)
        is_new = not any(np.array_equal(codes, one) for one in found.values())
        if fits and is_new and is_repeated(name, counts):
            found[name] = codes
    return dict(list(found.items())[:MOST_COLUMNS])


def _is_crossed(column: str, columns: dict[str, np.ndarray]) -> bool:
    """Whether another identifier has values in common with several of a column's.

    So do those of readers and books, and new rows are of known ones.
    """
    codes = columns[column]
    n = codes.max() + 1
    for name, others in columns.items():
        m = others.max() + 1
        pairs = len(np.unique(codes.astype(np.int64) * m + others))
        if is_repeated(name, np.bincount(others)) and pairs > TOGETHER * max(n, m):
            return True
    return False


def _stand_together(codes: np.ndarray) -> bool:
    """Whether nearly all rows of a group follow each other, as in a table sorted by user."""
    return bool(np.count_nonzero(np.diff(codes)) <= TOGETHER * len(np.unique(codes)))


def _sorted_by(dates: list[str], rows: LabeledBatch) -> tuple[str | None, str | None]:
    """Return a column by which the rows are sorted, and times that start again with each value.

    Numbers of somebody or something may be given in the order of time: they are it only where
    another column starts again with each, as the year does in a table sorted by person.  Times by
    which the rows are sorted are returned alone.
    """
    if isinstance(rows.X, MultiView):
        return None, None
    names, numbers = rows.X.column_names, _numbers(dates, rows.X)
    rises = {name: np.diff(x) for name, x in numbers.items()}
    for name in names:
        column = rows.X.column(name)
        text, number = is_text(column.type), "int" in str(column.type)
        if name in dates or column.null_count or not (text or number):
            continue
        codes, values = _coded(column)
        n_values, largest = len(np.unique(codes)), np.bincount(codes).max()
        few = FEWEST_BLOCKS <= n_values <= len(codes) / ROWS_OF_BLOCK
        if not few or largest > LARGEST_BLOCK * len(codes) or not _stand_together(codes):
            continue
        is_time = _is_time(name, numbers.get(name))
        if is_time or (text and all(map(TIME.match, values.to_pylist()))):
            return None, name
        inside = np.diff(codes) == 0
        again = [one for one, change in rises.items() if _starts_again(change, inside)]
        if again or not is_group_name(name):
            times = (one for one in again if one in dates or _is_time(one, numbers[one]))
            return name, next(times, None)
    return None, None


def _clock(dates: list[str], rows: LabeledBatch) -> tuple[str | None, bool]:
    """Return a column of times that never fall, or never rise, from row to row; whether they fall.

    Where several do, one that rises.
    """
    found: tuple[str | None, bool] = (None, False)
    if isinstance(rows.X, MultiView):
        return found
    for name, x in _numbers(dates, rows.X).items():
        change = np.diff(x)
        rises, falls = (change >= 0.0).all(), (change <= 0.0).all()
        if rises != falls and (name in dates or _is_time(name, x)):
            found = (name, bool(falls))
            if rises:
                break
    return found


def _wanders(rows: LabeledBatch) -> bool:
    """Whether numbers wander from row to row, and are not sorted, nor in runs of the same value."""
    columns = [rows.y] if rows.y.dtype.kind == "f" else []
    if isinstance(rows.X, MultiView):
        matrix = rows.X.matrix
        columns += [] if hasattr(matrix, "indptr") else list(matrix.T[:MOST_OF_WANDERING])
    else:
        names = [name for name in rows.X.column_names if not is_group_name(name)]
        for name in names[:MOST_OF_WANDERING]:
            column = rows.X.column(name)
            codes = _coded(column.drop_null())[0] if column.null_count else _coded(column)[0]
            counts = np.bincount(codes) if len(codes) else np.zeros(0)
            if len(counts) >= FEWEST_VALUES and counts.max() <= LARGEST_VALUE * len(codes):
                if np.mean(np.diff(codes) == 0) >= IN_RUNS:
                    return False
                if is_number(column.type) and not column.null_count:
                    columns.append(numbers_of(column).astype(np.float64))
    place = np.arange(len(rows))
    for x in columns:
        ranks = rankdata(x)
        is_sorted = np.ptp(ranks) == 0.0 or abs(np.corrcoef(ranks, place)[0, 1]) >= SORTED
        if not is_sorted and np.corrcoef(ranks[1:], ranks[:-1])[0, 1] >= WANDERS:
            return True
    return False


def _numbers(dates: list[str], table: Any) -> dict[str, np.ndarray]:
    """Return columns of numbers, dates and years without missing values as numbers."""
    import pyarrow.compute as pc

    found = {}
    for name in table.column_names:
        column = table.column(name)
        if column.null_count:
            continue
        if is_number(column.type):
            found[name] = numbers_of(column).astype(np.float64)
        elif is_date(column.type):
            found[name] = as_times(name, column.combine_chunks()).view(np.int64).astype(np.float64)
        elif name in dates:
            column = column.combine_chunks()
            for text in find_formats([{name: column}], [name]).values():
                times = as_times(name, column, text.format)
                found[name] = times.view(np.int64).astype(np.float64)
        elif is_text(column.type):
            text = column.cast("string")
            if pc.all(pc.match_substring_regex(text, YEAR)).as_py():
                found[name] = numbers_of(text.cast("int64")).astype(np.float64)
    return found


def _is_time(name: str, numbers: np.ndarray | None) -> bool:
    """Whether a column is one of times, by its name or its whole numbers."""
    if TIME_NAME.search(name):
        return True
    if numbers is None or not len(numbers) or is_group_name(name) or (numbers % 1.0).any():
        return False
    return any(low <= numbers.min() and numbers.max() <= high for low, high in TIMES)


def _starts_again(change: np.ndarray, inside: np.ndarray) -> bool:
    """Whether numbers rise inside blocks and fall between them; ``change`` has the steps."""
    steps, falls = change[inside], change[~inside] < 0.0
    return bool(
        len(steps)
        and np.mean(steps < 0.0) <= SELDOM
        and np.mean(steps > 0.0) >= MOSTLY
        and np.mean(falls) >= MOSTLY
    )


# --- rows ----------------------------------------------------------------------------------


def _read(source: LabeledSource) -> tuple[LabeledBatch, bool]:
    """Return the first rows, and whether they are all."""
    parts: list[LabeledBatch] = []
    n, most, whole = 0, MOST_ROWS, True
    for part in source.read():
        if not parts and source.has_columns:
            most = max(FEWEST_ROWS, min(most, MOST_CELLS // max(1, part.X.num_columns)))
        if n + len(part) > most:
            whole, part = False, part.take(slice(0, most - n))
        n += len(part)
        parts.append(part)
        if not whole:
            break
    if not parts:
        raise NoRowsError("no row is there to learn from", file=source.file)
    return LabeledBatch.join(parts), whole


def _copies(rows: LabeledBatch) -> int:
    """Return how many rows of columns are equal to an earlier one; 0 where others look alike, too.

    Two persons may have the same few categories; rows are copies where some column tells most of
    them apart.
    """
    if isinstance(rows.X, MultiView):
        return 0
    n, most_values = len(rows), 0
    _, kinds, counts = np.unique(rows.y.astype(str), return_inverse=True, return_counts=True)
    for column in rows.X.columns:
        if len(counts) == n:
            return 0
        column = decoded(one_array(column))
        codes = numbers_of(column.dictionary_encode(null_encoding="encode").indices)
        n_values = int(codes.max()) + 1
        most_values = max(most_values, n_values)
        _, kinds, counts = np.unique(
            kinds * n_values + codes, return_inverse=True, return_counts=True
        )
    copies = n - len(counts)
    enough = copies >= SHARE_OF_COPIES * n and most_values >= SHARE_OF_VALUES * n
    return copies if enough else 0


def _blocks(n: int, most: int, size: int = 100) -> np.ndarray:
    """Positions of blocks of rows, evenly spaced; all rows where they are not too many."""
    if n <= most:
        return np.arange(n)
    starts = np.linspace(0, n - size, most // size).astype(np.intp)
    return np.unique(starts[:, None] + np.arange(size))


def _of_groups(codes: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of about so many rows: all rows of some groups, of large ones some rows of more."""
    order = rng.permutation(codes.max() + 1)
    rows = np.cumsum(np.bincount(codes)[order])
    n = max(2 * FEWEST_VALUES, int(np.searchsorted(rows, most)) + 1)
    found = np.flatnonzero(np.isin(codes, order[:n]))
    return found if len(found) <= 2 * most else np.sort(rng.permutation(found)[:most])


def _possible_groups(source: LabeledSource) -> list[str]:
    """Columns of text or numbers, in no view or with the name of somebody or an identifier.

    A category of a view, such as a city, recurs in new rows.
    """
    if not source.has_columns:
        return []
    used = _used(source)
    from pyarrow import types

    def fits(kind: Any) -> bool:
        return is_text(kind) or bool(types.is_integer(kind) or types.is_floating(kind))

    return [
        field.name
        for field in source.table.schema
        if field.name not in source.other_columns
        and (field.name not in used or is_group_name(field.name))
        and fits(field.type)
    ]


def _unused_dates(source: LabeledSource) -> list[str]:
    """Columns of dates in no view: when a row was written, which no model may learn."""
    if not source.has_columns:
        return []
    used = {*_used(source), *source.other_columns}
    return [one.name for one in source.table.schema if is_date(one.type) and one.name not in used]


def _dates_of_text(table: Any, names: list[str]) -> list[str]:
    """Return the columns of text that are dates in all of these rows."""
    texts = [name for name in names if is_text(table.schema.field(name).type)]
    found = find_formats([{name: one_array(table.column(name)) for name in texts}], texts)
    return [name for name, one in found.items() if one.is_sure]


def _used(source: LabeledSource) -> set[str]:
    """The columns of the views."""
    return {column for group in source.columns.values() for column in group}


def _coded(column: Any) -> tuple[np.ndarray, Any]:
    """Return the number of the value of each row, and the values, of which some may be in none."""
    if not hasattr(column.type, "value_type"):
        column = column.dictionary_encode()
    coded = column.unify_dictionaries().combine_chunks()
    return np.unique(numbers_of(coded.indices), return_inverse=True)[1], coded.dictionary


def _groups(column: Any) -> np.ndarray | None:
    """Return the number of the group of each row; None where numbers are not whole, or text."""
    column = nan_as_null(column)
    codes, values = _coded(column.drop_null() if column.null_count else column)
    if "float" in str(values.type) or "double" in str(values.type):
        numbers = numbers_of(values)
        if not (np.isfinite(numbers) & (numbers == np.floor(numbers))).all():
            return None
    elif is_text(values.type) and number_in(values) is not None:
        return None
    if not column.null_count:
        return codes
    there = np.flatnonzero(~numbers_of(column.is_null()))
    found = len(values) + np.arange(len(column))
    found[there] = codes
    return np.unique(found, return_inverse=True)[1]


def group_columns(table: Any, names: list[str], most: int = MOST_COLUMNS) -> dict[str, np.ndarray]:
    """Return the columns that may be groups of rows, with the number of the group of each row.

    A column has at least 20 values, 1.3 rows of each in the mean, and none of more than a fifth of
    the rows; a row without a value stands alone, and numbers are whole.  Of several those with the
    name of an identifier come first, then those in which no value has many rows.

    names: columns of text or numbers.
    most: how many.
    Returns groups: by name.
    """
    found, n = {}, table.num_rows
    for name in names:
        codes = _groups(table.column(name))
        if codes is None or not len(codes):
            continue
        counts = np.bincount(codes)
        many = len(counts) >= FEWEST_VALUES and n >= ROWS_OF_VALUE * len(counts)
        if many and counts.max() <= LARGEST_VALUE * n:
            found[name] = codes
    best = sorted(found, key=lambda name: (not is_group_name(name), found[name].max()))
    return {name: found[name] for name in best[:most]}


# --- what is learned -----------------------------------------------------------------------


class Rows(NamedTuple):
    """Rows as a quick model reads them."""

    rows: Any
    categories: list[np.ndarray]
    y: np.ndarray  # codes of classes, or numbers
    problem: Problem
    seed: int
    known: np.ndarray | None = None  # of whom each row is, if models see it

    def fit(
        self, learned: np.ndarray, target: np.ndarray, n_classes: int, *, by_number: bool = True
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Learn a target of some rows; return a function from positions to what is predicted.

        ``by_number=False`` leaves out columns that are the number of the row.
        """
        random = np.random.RandomState(self.seed)
        rows = rows_at(self.rows, learned)
        seen, y = np.unique(target, return_inverse=True)
        y = y if n_classes else target
        targets = Targets(y, len(seen) if n_classes else 0, np.ones(len(y)))
        wanted = Wanted(COLUMNS_OF_VIEW, 0, 0)  # codes of categories would load pandas
        found = LearnedFeatures(rows, self.categories, targets, wanted, random)
        kind = HistGradientBoostingClassifier if n_classes else HistGradientBoostingRegressor
        model = kind(
            learning_rate=RATE,
            max_iter=max(5, TREES // max(1, n_classes - 1)),
            max_leaf_nodes=15,
            max_bins=63,
            early_stopping=False,
            categorical_features=None,
            random_state=random,
        )
        X = found.draw(random)
        used = np.ones(X.shape[1], dtype=bool) if by_number else ~_row_numbers(X, learned)
        own, others = self._known_means(learned, targets, random)
        model.fit(np.hstack([X * used, own]), y)

        def predict(scored: np.ndarray) -> np.ndarray:
            X = features_of(rows_at(self.rows, scored), found.features) * used
            X = np.hstack([X, others(scored)])
            if not n_classes:
                return model.predict(X)
            p = np.full((len(scored), n_classes), LEAST_PROBABILITY)
            p[:, seen] = np.maximum(model.predict_proba(X), LEAST_PROBABILITY)
            return p / p.sum(axis=1, keepdims=True)

        return predict

    def _known_means(
        self, learned: np.ndarray, targets: Targets, random: np.random.RandomState
    ) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """Return the target statistics of whom the rows are of, and a function for other rows."""
        if self.known is None:
            return np.empty((len(learned), 0)), lambda scored: np.empty((len(scored), 0))
        codes, numbers, n = self.known[learned], targets.as_numbers(), int(self.known.max()) + 1
        order = targets.draw_order(random)
        a = best_weight(codes, numbers, targets.weight, order)
        each = category_statistics(codes, n, numbers, targets.weight, a)
        own = ordered_statistics(codes, numbers, targets.weight, order, a)
        return own, lambda scored: each[self.known[scored]]


def _encoded(source: LabeledSource, rows: LabeledBatch, problem: Problem, seed: int) -> Rows:
    """Return rows as views; of many classes the rarer ones are one."""
    X = rows.X
    if source.encoder is not None:
        X = clone(unnamed(source.encoder)).fit_transform(X)
    y = problem.encode(rows.y)
    if len(problem.classes) > MOST_CLASSES:
        order = np.argsort(-np.bincount(y, minlength=len(problem.classes)), kind="stable")
        rank = np.empty(len(order), dtype=np.intp)
        rank[order] = np.minimum(np.arange(len(order)), MOST_CLASSES - 1)
        y, problem = rank[y], Classification(np.arange(MOST_CLASSES), metric=problem.metric)
    if least_rows(problem.metric) > SCORED * len(y):
        default = Classification(problem.classes, problem.positive_label)
        problem = default if len(problem.classes) else problem
    made = make_rows(X.matrix, X.layout, X.present)
    return Rows(made, X.categories, y, problem, seed)


def _order_of_labels(y: np.ndarray, problem: Problem) -> tuple[bool, float]:
    """Return whether the labels come in long blocks, and how far their order is from chance.

    So do numbers that rise or fall with the rows, or of which the most frequent one, such as 0,
    stands apart.
    """
    if len(problem.classes):
        order = LabelOrder(problem.classes)
        order.update(y)
        return order.in_blocks, order.deviations
    values, counts = np.unique(y, return_counts=True)
    order = LabelOrder(np.array([False, True]))
    order.update(y == values[counts.argmax()])
    rises = _row_numbers(y[:, None], np.arange(len(y)))[0]
    return bool(rises) or order.in_blocks, serial_correlation(y) * np.sqrt(len(y))


def _can_split(y: np.ndarray, problem: Problem) -> bool:
    """Whether rows in order can be learned and scored: each part has more than one class."""
    if not len(problem.classes):
        return False
    parts = np.array_split(y, REPEATS + 1)
    return all(len(np.unique(part)) > 1 for part in parts)


def _tells_label(y: np.ndarray, problem: Problem) -> bool:
    """Whether the position of a row tells its class, as where the rows are nearly sorted by it."""
    if not len(problem.classes):
        return False
    codes = problem.encode(y)
    rank, n, found = _ranks(np.arange(len(y))), len(y), 0.0
    for k, own in enumerate(np.bincount(codes)):
        if 0 < own < n:  # own / n * |2 AUC - 1|
            found += abs(2.0 * float(rank[codes == k].sum()) / (n - own)) / n
    return found >= TELLS


def _halves_differ(part: Rows) -> bool:
    """Whether trees tell the first half of the rows from the second, on rows not learned."""
    n = len(part.y)
    second = (np.arange(n) >= n // 2).astype(np.intp)
    rows = np.arange(0, n, max(1, n // ROWS_OF_HALVES))
    fold = np.random.default_rng(part.seed).permutation(len(rows)) % 3
    scores = np.empty(len(rows))
    for k in range(3):
        learned = rows[fold != k]
        predict = part.fit(learned, second[learned], 2, by_number=False)
        scores[fold == k] = predict(rows[fold == k])[:, 1]
    n1 = int(second[rows].sum())
    n0 = len(rows) - n1
    auc = roc_auc_score(second[rows], scores)
    return bool((auc - 0.5) / np.sqrt((n0 + n1 + 1) / (12 * n0 * n1)) > DEVIATIONS_OF_HALVES)


def _row_numbers(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return which columns rise or fall with the number of the row, from 0 to 1."""
    ranks = np.column_stack([_ranks(column) for column in X.T])
    place = _ranks(rows)[:, None]
    spread = np.sqrt((ranks**2).sum(axis=0) * (place**2).sum())
    correlation = np.divide((ranks * place).sum(axis=0), spread, where=spread > 0.0, out=spread * 0)
    return np.abs(correlation) >= ROW_NUMBER


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks around 0, of equal values their mean."""
    return rankdata(values) - (len(values) + 1) / 2


# --- the test --------------------------------------------------------------------------------


class Draw(NamedTuple):
    """Rows that two models learn, as many, and those that both score."""

    apart: np.ndarray
    near: np.ndarray
    scored: np.ndarray


def _draw(
    past: np.ndarray, held: np.ndarray, rng: np.random.Generator, codes: np.ndarray | None = None
) -> Draw:
    """Return the past, and as many rows of which some are half of those that are held out.

    ``codes``: groups, of which the halves have different ones.
    """
    held = rng.permutation(held)
    if codes is not None:
        held = held[np.argsort(rng.permutation(codes.max() + 1)[codes[held]], kind="stable")]
    half = len(held) // 2
    others = rng.permutation(past)[: max(0, len(past) - (len(held) - half))]
    return Draw(past, np.sort(np.append(others, held[half:])), np.sort(held[:half]))


def later_rows(n: int, rng: np.random.Generator, codes: np.ndarray | None = None) -> Iterator[Draw]:
    """Yield blocks of rows to score, each after the rows of its past.

    ``codes``: groups, of which none has neighbors of its own.
    """
    size = max(2, round(SHARE * n))
    for start in np.linspace(2 * size, n - size, REPEATS).astype(int):
        yield _draw(np.arange(start), np.arange(start, start + size), rng, codes)


def new_groups(codes: np.ndarray, rng: np.random.Generator) -> Iterator[Draw]:
    """Yield the rows of a fifth of the groups, each beside the rows of the others."""
    codes = np.unique(codes, return_inverse=True)[1]
    part = rng.permutation(codes.max() + 1) % REPEATS
    for k in range(REPEATS):
        held = part[codes] == k
        yield _draw(np.flatnonzero(~held), np.flatnonzero(held), rng)


def compare_neighbors(
    part: Rows,
    draws: Iterable[Draw],
    rope: float,
    column: str | None = None,
    level: float = LEVEL,
    known: np.ndarray | None = None,
) -> NeighborTest | None:
    """Test whether a quick model needs neighbors of the rows that it scores.

    draws: what is learned and scored, repetition by repetition.
    rope: differences in the metric up to this are none.
    column: what makes neighbors; None: the order.
    level: the neighbors matter if p is below this.
    known: of whom each row is, which a model of neighbors sees, too.
    Returns test: None where a part has one class.
    """
    n_classes = len(part.problem.classes)
    losses, scored = [], []
    found: dict[bool, list[np.ndarray]] = {True: [], False: []}
    for draw in draws:
        both: list[float] = []
        for near in (True, False):
            learned = draw.near if near else draw.apart
            if n_classes and len(np.unique(part.y[learned])) < 2:
                return None
            rows = part._replace(known=known) if near else part
            predict = rows.fit(learned, part.y[learned], n_classes)
            found[near].append(predict(draw.scored))
            both.append(_loss(part.y[draw.scored], found[near][-1], n_classes))
        losses.append(both[1] - both[0])
        scored.append(draw.scored)
    y = part.y[np.concatenate(scored)]
    if n_classes and len(np.unique(y)) < 2:
        return None
    posterior = correlated_t_posterior(losses, SCORED)
    p = 1.0 - posterior.areas(0.0).better
    predicted = [np.concatenate(found[near]) for near in (True, False)]
    tests = []
    for metric in dict.fromkeys([part.problem.metric, *(["roc_auc"] if n_classes == 2 else [])]):
        with_them, without = (_value(part.problem, metric, y, one) for one in predicted)
        test = NeighborTest(column, metric, with_them, without, p)
        width = rope if is_bounded(metric) else rope * abs(test.near)
        loses = bool(test.loss > width)
        is_open = loses and level <= p < OPEN
        tests.append(replace(test, matters=loses and bool(p < level), is_open=is_open))
    return max(tests, key=lambda one: (one.matters, one.is_open))  # the first of equals


def _loss(y: np.ndarray, predicted: np.ndarray, n_classes: int) -> float:
    """The mean logarithmic loss, or squared error."""
    if not n_classes:
        return float(np.mean((y - predicted) ** 2))
    return float(-np.log(predicted[np.arange(len(y)), y]).mean())


def _value(problem: Problem, metric: str, y: np.ndarray, predicted: np.ndarray) -> float:
    """The metric, at the threshold that is best for it, if models get their own."""
    if not isinstance(problem, Classification):
        return problem.measure(metric, y, Scored(predicted))
    y, scores = problem.classes[y], np.log(predicted)
    if len(problem.classes) == 2:
        scores = scores[:, 1] - scores[:, 0]
    made = problem.decide(scores, predicted)
    if problem.tunes:
        threshold, _ = problem.tune(y, made)
        made = made._replace(predicted=decide(scores, predicted, threshold))
    return problem.measure(metric, y, made)
