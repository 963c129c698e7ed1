"""Diagnostics of results for plots and reports: scored rows, curves along a stream, views.

Nothing here grows with the rows beyond a fixed number, and nothing depends on batches or workers.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from crossview.scoring.drift import scores_of_views
from crossview.views import MultiView

# rows of a sample, and numbers in it: of many classes it has fewer rows
MOST_ROWS, MOST_NUMBERS = 20_000, 400_000
# numbers in the scores of the views for all classes, of which a result keeps one per row and view
MOST_VIEW_SCORES = 2_000_000
# on a stream, where each model of a comparison keeps a sample
MOST_ROWS_OF_STREAM = 5_000
# points of a curve, and rows whose views are scored, each time the rows double
POINTS, ROWS_SCORED = 8, 8
# before, a learner knows little, and each row would be scored
FIRST_SCORED = 16
# rows in which the views differ most, and of each the values that are shown
MOST_DIFFERING, MOST_VALUES, LONGEST_VALUE = 8, 9, 60


@dataclass(frozen=True)
class ViewNumbers:
    """A view in numbers."""

    view: str
    columns: int  # those of the source
    kinds: dict[str, int]  # how many columns are of each kind; empty where they are encoded already
    used: int  # encoded columns that are not 0 in some row
    entries: float  # mean number of entries of a row that are not 0
    density: float  # share of the entries of the used columns that are not 0
    missing: float  # share of the rows in which the whole view is missing


@dataclass(frozen=True)
class ScoredRows:
    """Rows that a model had not learned, and what it said of them; a sample of at most 20,000.

    Probabilities are there where the model was calibrated.  The scores of the views are NaN where
    one is missing, of several classes those of the predicted one; ``view_sizes`` are those of
    `sizes_of_views`.  Both are None for a model of one view or without such scores.
    """

    rows: np.ndarray  # positions among the labeled rows, ascending
    y: np.ndarray  # codes of the classes, or numbers
    scores: np.ndarray  # (n_samples,) or (n_samples, n_classes), or predictions
    predicted: np.ndarray | None = None  # codes; None where a number is predicted
    probabilities: np.ndarray | None = None  # (n_samples, n_classes)
    view_scores: np.ndarray | None = None  # (n_samples, n_views)
    view_sizes: np.ndarray | None = None  # (n_samples, n_views)
    learned: bool = False  # whether the model had learned these rows, after all


@dataclass(frozen=True)
class DifferingRow:
    """A row whose views differ much."""

    row: int  # position in the source, from 0; -1 where that is not known
    label: str
    predicted: str
    scores: dict[str, float]  # of each view
    values: dict[str, str | None]  # some cells as they are in the source, by column


@dataclass(frozen=True)
class StrongColumn:
    """A column that contributes much to the scores."""

    view: str
    column: str
    size: float  # mean absolute difference of contributions over some rows from their mean
    mean: float  # mean contribution of the rows in which it is not 0
    rows: float  # share of the rows in which it is not 0


@dataclass(frozen=True)
class StrongInteraction:
    """A product of columns, or a single one, with a large weight in the score of a machine."""

    columns: list[str]  # names, with those of their views
    weight: float  # coefficient in the score; of a regressor, in standard deviations of the target
    label: str = ""  # the class of the score; empty where there is one score


@dataclass(frozen=True)
class Curve:
    """A value of one model along a stream, after some numbers of rows."""

    model: str
    rows: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class ExpertWeights:
    """The weights of the experts of a stack after some numbers of rows; they add up to 1."""

    experts: list[str]
    rows: np.ndarray
    weights: np.ndarray  # (n_snapshots, n_experts)


@dataclass
class Diagnostics:
    """Diagnostics of a result for plots and reports; parts that do not apply are empty."""

    model: str = ""  # of ``scored`` and ``experts``
    views: list[ViewNumbers] = field(default_factory=list)
    views_of: str = ""  # the rows that the views are about, in words
    class_rows: list[int] = field(default_factory=list)  # rows of each class
    scored: ScoredRows | None = None  # a sample of rows with their scores
    # of ``by_view`` and ``differing``: the same one, or in a comparison, if that has no scores by
    # view, the best one that has
    view_model: str = ""
    # rows with the scores of their views; of a comparison in stream order the last rows, counted
    # from the first of these, as the model scored them before it learned them
    by_view: ScoredRows | None = None
    # rows in which the scores of the views differ most
    differing: list[DifferingRow] = field(default_factory=list)
    # the rows that these are chosen from, in words; empty: all that were scored
    differing_of: str = ""
    # columns that contribute most to the scores of some rows, the strongest first
    columns: list[StrongColumn] = field(default_factory=list)
    columns_of: str = ""  # these rows, in words
    # the strongest of a machine, by their order; a comparison keeps them, as it keeps no model
    interactions: list[StrongInteraction] = field(default_factory=list)
    # the mean error of all rows so far, each before it was learned: the share that was predicted
    # wrong, or the root of the mean squared error
    errors: list[Curve] = field(default_factory=list)
    # the difference of the views at some rows, each before it was learned
    differences: list[Curve] = field(default_factory=list)
    experts: ExpertWeights | None = None


def n_sampled(n_classes: int, n_views: int) -> int:
    """Return the number of rows of a sample: fewer where a row has many scores."""
    most = MOST_NUMBERS // max(2 * n_classes + n_views, 1)
    return min(MOST_ROWS, max(1, min(most, MOST_VIEW_SCORES // max(n_classes * n_views, 1))))


def mean_difference(view_scores: np.ndarray) -> np.ndarray:
    """Return ``|s_1 - s_2|`` of each row; of more views the mean over their pairs.

    ``view_scores`` has shape (n_samples, n_views); a pair with a missing view, which is NaN, does
    not count, and rows with fewer than two views have NaN.
    """
    total, pairs = np.zeros(len(view_scores)), np.zeros(len(view_scores))
    for v, w in combinations(range(view_scores.shape[1]), 2):
        difference = np.abs(view_scores[:, v] - view_scores[:, w])
        there = ~np.isnan(difference)
        total[there] += difference[there]
        pairs += there
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(pairs > 0, total / pairs, np.nan)


def sizes_of_views(view_scores: np.ndarray) -> np.ndarray:
    """Return how far the score of each view is from its mean over the rows, 0 where it is missing.

    ``view_scores`` has shape (n_samples, n_views), or for several classes (n_samples, n_views,
    n_classes), of which the mean over the classes is returned.  The score of a view may have a part
    of the mean of the targets in it, or of the intercept of a class, about which no view says
    anything; so each class has a mean of its own.
    """
    view_scores = np.asarray(view_scores, dtype=np.float64)
    counts = np.maximum(np.isfinite(view_scores).sum(axis=0), 1)
    size = np.abs(np.nan_to_num(view_scores - np.nansum(view_scores, axis=0) / counts))
    return size if size.ndim == 2 else np.asarray(size.mean(axis=2))


def most_differing(view_scores: np.ndarray | None) -> np.ndarray:
    """Return the positions of the rows in which the views differ most, the first of equals."""
    if view_scores is None or view_scores.shape[1] < 2:
        return np.empty(0, dtype=np.intp)
    difference = mean_difference(view_scores)
    order = np.argsort(-difference, kind="stable")
    return order[: min(MOST_DIFFERING, int((difference > 0.0).sum()))]


def view_numbers(
    X: MultiView, columns: Mapping[str, int] | None = None, kinds: Mapping[str, Any] | None = None
) -> list[ViewNumbers]:
    """Return each view of some encoded rows in numbers.

    ``columns`` are the numbers of columns of the source in each view (None: those of X), and
    ``kinds`` how many of them are of each kind.
    """
    found, matrix, n = [], X.matrix, max(len(X), 1)
    if sp.issparse(matrix):
        there = matrix.data != 0.0
        counts = np.bincount(matrix.indices[there], minlength=X.layout.n_columns)
    else:
        counts = np.count_nonzero(matrix, axis=0)
    for v, name in enumerate(X.layout.names):
        of_view = counts[X.layout.block(name)]
        used, entries = int(np.count_nonzero(of_view)), int(of_view.sum())
        missing = 0.0 if X.present is None else float(1.0 - X.present[:, v].mean())
        found.append(
            ViewNumbers(
                view=name,
                columns=int(X.layout.widths[v]) if columns is None else columns[name],
                kinds={} if kinds is None else dict(kinds[name]),
                used=used,
                entries=entries / n,
                density=entries / (n * used) if used else 0.0,
                missing=missing,
            )
        )
    return found


def expert_weights(learner: Any) -> ExpertWeights | None:
    """Return the weights of the experts of a fitted stack; None for other learners."""
    past = getattr(learner, "weight_history_", None)
    if past is None or not len(past.n_rows):
        return None
    return ExpertWeights(list(past.experts), np.asarray(past.n_rows), np.asarray(past.mixture))


def _next_point(n: int) -> int:
    """The next number of rows at which a curve has a point, after ``n``: eight per doubling."""
    step = max(1, (1 << n.bit_length() >> 1) // POINTS)
    return n + step - n % step


class ErrorCurve:
    """The mean error of the rows so far, at numbers of rows that grow by about a tenth.

    Before, ``n_rows`` rows with a sum of errors of ``total`` were counted.

    >>> from crossview.scoring.diagnostics import ErrorCurve
    >>> curve = ErrorCurve()
    >>> curve.update([1.0, 0.0, 0.0])
    >>> curve.curve("pa").values.round(2).tolist()
    [1.0, 0.5, 0.33]
    """

    def __init__(self, n_rows: int = 0, total: float = 0.0) -> None:
        self.n_rows, self.total = n_rows, total
        self.rows, self.totals = np.empty(0, dtype=np.int64), np.empty(0)

    def update(self, errors: Any) -> None:
        """Count the errors of some more rows."""
        sums = np.cumsum(np.concatenate([[self.total], errors]))
        end, points = self.n_rows + len(sums) - 1, []
        point = _next_point(self.n_rows)
        while point <= end:
            points.append(point)
            point = _next_point(point)
        at = np.array(points, dtype=np.int64)
        self.rows = np.concatenate([self.rows, at])
        self.totals = np.concatenate([self.totals, sums[at - self.n_rows]])
        self.n_rows, self.total = end, float(sums[-1])

    def curve(self, model: str, *, root: bool = False) -> Curve:
        """Return the means, or the roots of the means, with that of all rows as the last one."""
        rows, totals = self.rows, self.totals
        if self.n_rows and (not len(rows) or rows[-1] < self.n_rows):
            rows, totals = np.append(rows, self.n_rows), np.append(totals, self.total)
        means = totals / np.maximum(rows, 1)
        return Curve(model, rows, np.sqrt(means) if root else means)


class ViewDifferences:
    """The difference of the views of some rows of a stream, each before it is learned.

    The rows, whose positions count from 1, are those at fixed positions from the 17th on, eight
    each time their number doubles; whoever learns the stream asks how many rows are `left` until
    the next one, and begins a piece with it.
    """

    def __init__(self) -> None:
        self.rows, self.values = np.empty(0, dtype=np.int64), np.empty(0)

    @staticmethod
    def left(n: int) -> int:
        """Return how many rows to learn after the first ``n`` before one is scored, 1 or more."""
        if n < FIRST_SCORED:
            return FIRST_SCORED - n
        step = (1 << n.bit_length() >> 1) // ROWS_SCORED
        return step - n % step

    def is_due(self, n: int) -> bool:
        """Return whether the row after the first ``n`` is to be scored."""
        return n >= FIRST_SCORED and self.left(n - 1) == 1

    def add(self, learner: Any, X: Any, n: int) -> None:
        """Score a row, before which ``n`` others were learned."""
        difference = mean_difference(scores_of_views(learner, X))
        if np.isfinite(difference[0]):
            self.rows = np.append(self.rows, n + 1)
            self.values = np.append(self.values, difference[:1])

    def curve(self, model: str) -> Curve:
        """Return the differences."""
        return Curve(model, self.rows, self.values)


class RowSample:
    """A sample of ``n`` rows of a stream, drawn without knowing how many there are.

    Each row draws a random number, and the rows with the smallest ones stay: so the sample depends
    on seed and rows, and not on batches.  Samples of consecutive parts of a stream, each drawn from
    its ``first_row`` on, add up to that of the stream.
    """

    def __init__(self, n: int, seed: int = 0, first_row: int = 0) -> None:
        self.n, self.n_rows = n, first_row
        generator = np.random.PCG64(seed)
        self._rng = np.random.Generator(generator.advance(first_row))  # one step per row
        self._keys = np.empty(0)
        self._kept: dict[str, np.ndarray] = {}

    def draw(self, n: int) -> np.ndarray:
        """Return the rows of the next ``n`` that may stay; `add` is then given theirs."""
        keys = self._rng.random(n)
        below = np.sort(self._keys)[self.n - 1] if len(self._keys) >= self.n else math.inf
        self._drawn = np.flatnonzero(keys < below)
        self._new = keys[self._drawn]
        self._first, self.n_rows = self.n_rows, self.n_rows + n
        return self._drawn

    def add(self, **columns: np.ndarray | None) -> None:
        """Add arrays of the rows that were drawn last, by name; None is left out."""
        given = {name: array for name, array in columns.items() if array is not None}
        given["rows"] = self._first + self._drawn
        keys = np.concatenate([self._keys, self._new])
        kept = np.sort(np.argsort(keys, kind="stable")[: self.n])
        for name, array in given.items():
            before = self._kept.get(name)
            self._kept[name] = (array if before is None else np.concatenate([before, array]))[kept]
        self._keys = keys[kept]

    def __add__(self, other: RowSample) -> RowSample:
        total = copy.copy(self)
        total.n_rows = other.n_rows
        keys = np.concatenate([self._keys, other._keys])
        kept = np.sort(np.argsort(keys, kind="stable")[: self.n])
        both = [one for one in (self._kept, other._kept) if one]
        names = both[0] if both else {}
        total._kept = {name: np.concatenate([one[name] for one in both])[kept] for name in names}
        total._keys = keys[kept]
        return total

    def scored(self) -> ScoredRows | None:
        """Return the rows, in their order; None before there are any."""
        if not len(self._keys):
            return None
        return make_scored(**self._kept)


def make_scored(
    rows: np.ndarray,
    y: np.ndarray,
    scores: np.ndarray,
    predicted: np.ndarray | None = None,
    probabilities: np.ndarray | None = None,
    view_scores: np.ndarray | None = None,
    of_classes: np.ndarray | None = None,
) -> ScoredRows:
    """Return scored rows as they are kept: in half the memory.

    ``of_classes``: scores of the views for all classes, where ``view_scores`` are of the predicted.
    """
    each = view_scores if of_classes is None else of_classes
    codes = y.astype(np.int32) if predicted is not None else y.astype(np.float64)
    return ScoredRows(
        rows.astype(np.int64),
        codes,
        scores.astype(np.float32),
        None if predicted is None else predicted.astype(np.int32),
        None if probabilities is None else probabilities.astype(np.float32),
        None if view_scores is None else view_scores.astype(np.float32),
        None if each is None else sizes_of_views(each).astype(np.float32),
    )


def short_values(values: Mapping[str, Any]) -> dict[str, str | None]:
    """Return some values of a row as short text; None and NaN, which are missing, stay None."""
    shown: dict[str, str | None] = {}
    for name, value in list(values.items())[:MOST_VALUES]:
        if value is None or value != value:
            shown[name] = None
            continue
        text = f"{value:.8g}" if isinstance(value, float) else " ".join(str(value).split())
        shown[name] = text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
    return shown
