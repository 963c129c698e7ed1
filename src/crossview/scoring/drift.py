"""Drift: the distribution of the views of new rows, compared with that in training.

`make_reference` divides the norms and the scores of the last training rows into parts, which the
model file keeps; a `DriftCounter` counts new rows in the same parts.  The two are compared by the
population stability index.

A model knows the rows that it has learned, so their scores are further from 0 than those of new
rows.  Where a stream has far more rows than columns, this alone gives an index of up to 0.2, which
is below the limit; of texts after one pass up to 0.6, and after five passes of other rows up to
0.7.  So scores are compared where the model errs in its last rows at least half as often as in rows
that it had not learned (`BY_HEART`), or where the rows of the reference were held out; otherwise
inputs and missing views alone.  Scoring the rows before they are learned is no better: a learner
that moves with each row gives up to 0.5.

N. Siddiqi, "Credit Risk Scorecards", 2006 (the index and its usual limits, 0.1 and 0.25);
B. Yurdakul, J. Naranjo, "Statistical Properties of the Population Stability Index", Journal of Risk
Model Validation 14, 2020 (its distribution where nothing has moved).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from crossview.batch import make_rows
from crossview.errors import InputError, some_names
from crossview.labels import places_of
from crossview.scoring.metrics.tally import added
from crossview.views import MultiView

# Siddiqi: from 0.1 on something has moved, from 0.25 on much has
MOVED = 0.25
N_PARTS = 10
# a part that no row was in counts as half a row (Jeffreys' prior), so that the logarithm is finite
PRIOR = 0.5
# where nothing has moved, one index in a thousand is above the limit
LEVEL = 0.001
# rows that a reference has; a file that says more was made up
FEWEST_ROWS, MOST_ROWS = 50, 1 << 20
# of a column it is said if such a share of the rows is otherwise
MUCH = 0.25
# columns that have a line each
MOST_COLUMNS = 5
_OF_COLUMNS = {
    "missing": "rows are null",
    "unknown": "values are new to the model",
    "midnight": "times are midnight, as of days",
}
# a model knows rows in which it errs less often than in so large a share of the others
BY_HEART = 0.5
# two values that are closer, by their spread, are the same in practice: an edge between them
# would divide rows that differ by rounding, or by one step of a learner
NARROWEST_GAP = 1e-3
# scores in a file; earlier ones, of several classes, were not relative to their mean, so they are
# not compared
SCORES = "relative_scores"


class Parts(NamedTuple):
    """Numbers of a sample, divided into parts."""

    edges: np.ndarray  # (n_parts - 1,), between the parts, ascending
    counts: np.ndarray  # (n_parts,), rows of the sample in each part


@dataclass(frozen=True)
class Drift:
    """Drift of one property of a view, or of one of its columns, since training.

    The property is "inputs", the norms of its rows, "scores", or "missing", the share of the rows
    in which it is missing.  Of a column it is "missing", "unknown", the share of its values that
    were not learned, or "midnight", the share of its times without a time of day; of the last two
    ``before`` is what is expected of new rows at most.
    """

    view: str
    what: str
    index: float  # the population stability index
    limit: float  # what it must exceed to count: 0.25, or more where few rows explain a higher one
    before: float  # about the median; of missing the share
    now: float
    rows: int  # new ones
    column: str | None = None

    @property
    def moved(self) -> bool:
        """True if the index is above what chance and the usual limit allow.

        Of a column a quarter of the rows has changed, too, or all are so now: columns are many.
        """
        if self.index <= self.limit or self.column is None:
            return self.index > self.limit
        change = self.now - self.before
        much = abs(change) >= MUCH or self.now == 1.0
        return much and (change > 0.0 or self.what == "missing")

    @property
    def words(self) -> str:
        """The drift in words."""
        if self.column is not None:
            what = f"{self.now:.0%} of its {_OF_COLUMNS[self.what]}, in training"
            return f"{what} {'at most ' * (self.what == 'unknown')}{self.before:.0%}"
        if self.what == "missing":
            return f"it is missing in {self.now:.0%} of the rows, in training in {self.before:.0%}"
        what = "its scores" if self.what == "scores" else "its inputs (norms of its rows)"
        for digits in (3, 6):
            before, now = f"{self.before:.{digits}g}", f"{self.now:.{digits}g}"
            if before != now:
                return f"{what} moved: their median was {before} and is {now}"
        return f"{what} are spread otherwise; their median is still about {self.now:.3g}"


def population_stability_index(before: Any, now: Any) -> float:
    """Return how differently two samples fall into parts: ``Σ_j (q_j - p_j) log(q_j / p_j)``.

    Both have shape (n_parts,) and hold rows; half a row is added to each part, so that no share is
    0.  Usually below 0.1 little has moved, from 0.25 on much has.

    >>> from crossview.scoring.drift import population_stability_index
    >>> population_stability_index([100, 100], [50, 50])
    0.0
    >>> round(population_stability_index([100, 100], [150, 50]), 2)
    0.27
    """
    p, q = (np.asarray(counts, dtype=np.float64) + PRIOR for counts in (before, now))
    p, q = p / p.sum(), q / q.sum()
    return float(((q - p) * np.log(q / p)).sum())


def limit_of_index(before: np.ndarray, now: np.ndarray) -> float:
    """Return what the index must exceed: 0.25, or what chance alone may give by so few rows.

    Where nothing has moved, it is distributed as ``(1/n + 1/m) χ²`` with one degree of freedom
    fewer than there are parts (Yurdakul and Naranjo 2020).
    """
    if len(before) < 2:
        return math.inf
    chance = (1.0 / before.sum() + 1.0 / now.sum()) * special.chdtri(len(before) - 1, LEVEL)
    return max(MOVED, float(chance))


def find_parts(values: np.ndarray) -> Parts:
    """Divide a sample into about ten parts of as many values each, or one of nearly equal values.

    An edge lies in the widest gap between two values near a decile, so that what has few
    different values, such as the scores of a category, is not divided inside one of them.
    """
    values = np.sort(values)
    n = len(values)
    low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
    narrowest = NARROWEST_GAP * max(high - low, 0.05 * abs(middle))
    edges = []
    for i in range(1, N_PARTS):
        for distance in (0.25, 0.5):  # in parts; half a part on either side leaves no gap out
            first, last = (int(n * (i + d) / N_PARTS) for d in (-distance, distance))
            gaps = np.diff(values[first : max(last, first + 1) + 1])
            widest = int(gaps.argmax())
            if gaps[widest] > narrowest:
                edges.append(float(values[first + widest : first + widest + 2].mean()))
                break
    inner = np.unique(edges)
    return Parts(inner, np.bincount(np.searchsorted(inner, values), minlength=len(inner) + 1))


def view_norms(X: MultiView) -> np.ndarray:
    """Return the Euclidean norm of each view in each row; NaN where it is missing."""
    rows = make_rows(X.matrix, X.layout, X.present)
    n, V = len(X), X.layout.n_views
    with np.errstate(over="ignore"):
        squares = rows.data**2
    if rows.shared:
        blocks = squares.reshape(n, -1)
        sums = np.stack(
            [blocks[:, X.layout.block(view)].sum(axis=1) for view in X.layout.names], axis=1
        )
    else:
        of_row = np.repeat(np.arange(n), np.diff(rows.indptr).astype(np.int64))
        of_view = np.searchsorted(X.layout.ptr[1:], rows.indices, side="right")
        sums = np.bincount(of_row * V + of_view, weights=squares, minlength=n * V).reshape(n, V)
    norms = np.sqrt(sums)
    if len(rows.present):
        norms[~rows.present] = np.nan
    return norms


def scores_of_views(learner: Any, X: MultiView, scores: np.ndarray | None = None) -> np.ndarray:
    """Return one score per row and view: with several classes, that of the predicted class.

    That is how much it is above the mean of the classes, as what a view adds to all of them decides
    nothing: the log probability of the predicted class is near 0 where the view is sure of it.  It
    is NaN where a view is missing; ``scores`` are the joint scores, where they are known.
    """
    return of_predicted_class(learner, X, np.asarray(learner.view_scores(X)), scores)


def of_predicted_class(
    learner: Any, X: MultiView, each: np.ndarray, scores: np.ndarray | None = None
) -> np.ndarray:
    """Return `scores_of_views` where those of all classes, ``each``, are known."""
    if each.ndim == 2:
        return each
    if scores is None:
        scores = learner.decision_function(X)
    predicted = each[np.arange(len(X)), :, places_of(learner.decide(scores), learner.classes_)]
    return np.asarray(predicted - each.mean(axis=2))


def make_reference(
    learner: Any, X: MultiView, n_rows: int, *, with_scores: bool
) -> dict[str, Any] | None:
    """Return how inputs and scores of each view are distributed, for later rows to compare with.

    X holds the last of the ``n_rows`` that the learner learned; of few rows the first half is left
    out, because they were scaled by the mean norms so far.  ``with_scores`` says that their scores
    are about those of new rows.  The answer is JSON, for `read_reference`; None for too few rows.
    """
    X = X[-max(1, n_rows // 2) :]
    if len(X) < FEWEST_ROWS:
        return None
    norms = view_norms(X)
    scores = scores_of_views(learner, X) if with_scores else np.full(norms.shape, np.nan)
    reference = {}
    for v, view in enumerate(X.layout.names):
        there = ~np.isnan(norms[:, v])
        reference[view] = {
            "rows": len(X),
            "missing": int(len(X) - there.sum()),
            "inputs": _parts_to_json(norms[there, v]),
            SCORES: _parts_to_json(scores[~np.isnan(scores[:, v]), v]),
        }
    return reference


def _parts_to_json(values: np.ndarray) -> dict[str, list[float]] | None:
    if len(values) < FEWEST_ROWS or not np.isfinite(values).all():
        return None
    parts = find_parts(values)
    return {"edges": parts.edges.tolist(), "counts": parts.counts.tolist()}


class ViewReference(NamedTuple):
    """Reference distribution of one view in training: norms of rows, and scores, if known."""

    missing: np.ndarray  # rows in which it was there, and was missing
    inputs: Parts | None
    scores: Parts | None


def read_reference(info: Mapping[str, Any], views: tuple[str, ...]) -> list[ViewReference] | None:
    """Return what a model file keeps of each view; None if it keeps nothing."""
    content = info.get("reference")
    if content is None:
        return None
    try:
        return [_read_view(content[view]) for view in views]
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"holds a damaged reference for drift ({error})") from None


def without_scores(reference: Any) -> Any:
    """Return the reference of a model that has learned since, so that its scores are others."""
    if not isinstance(reference, Mapping):
        return reference
    return {
        view: {**known, SCORES: None} if isinstance(known, Mapping) else known
        for view, known in reference.items()
    }


def _read_view(content: Mapping[str, Any]) -> ViewReference:
    rows, missing = int(content["rows"]), int(content["missing"])
    if not 0 <= missing <= rows <= MOST_ROWS or rows < 1:
        raise ValueError("its rows")
    parts = [_read_parts(content["inputs"]), _read_parts(content.get(SCORES))]
    return ViewReference(np.array([rows - missing, missing]), *parts)


def _read_parts(content: Mapping[str, Any] | None) -> Parts | None:
    if content is None:
        return None
    edges = np.array(content["edges"], dtype=np.float64)
    counts = np.array(content["counts"], dtype=np.float64)
    sound = edges.ndim == counts.ndim == 1 and len(edges) == len(counts) - 1 < N_PARTS
    sound = sound and bool(np.isfinite(edges).all()) and bool((np.diff(edges) > 0).all())
    if not (sound and counts.min() >= 0 and 0 < counts.sum() <= MOST_ROWS):
        raise ValueError("its parts")
    return Parts(edges, counts)


class DriftCounter:
    """Counts of new rows in the parts of a reference, which has one entry per view."""

    def __init__(self, views: tuple[str, ...], reference: list[ViewReference]) -> None:
        self.views, self.reference = views, reference
        # (view, inputs or scores, part); the last part: missing
        self.counts = np.zeros((len(views), 2, N_PARTS + 1), dtype=np.int64)

    def empty(self) -> DriftCounter:
        """Return one that has counted nothing."""
        return DriftCounter(self.views, self.reference)

    def locate(self, X: MultiView, scores: np.ndarray) -> np.ndarray:
        """Return the part of each row, for `count`: integers of shape (n_samples, n_views, 2).

        The last axis is inputs and scores; the scores are those of `scores_of_views`.
        """
        values = np.stack([view_norms(X), scores], axis=-1)
        places = np.full(values.shape, N_PARTS)
        for v, one in enumerate(self.reference):
            for i, parts in enumerate((one.inputs, one.scores)):
                there = ~np.isnan(values[:, v, i])
                edges = np.empty(0) if parts is None else parts.edges
                places[there, v, i] = np.searchsorted(edges, values[there, v, i])
        return places

    def count(self, places: np.ndarray) -> None:
        """Count some rows, by what `locate` gave."""
        n_cells = self.counts.size // (N_PARTS + 1)
        cells = places.reshape(-1, n_cells) + (N_PARTS + 1) * np.arange(n_cells)
        self.counts += np.bincount(cells.ravel(), minlength=self.counts.size).reshape(
            self.counts.shape
        )

    def __add__(self, other: DriftCounter) -> DriftCounter:
        return added(self, other, "counts")

    def drifts(self, ignored: Sequence[str] = ()) -> list[Drift]:
        """Return the drift of each view; not of those that are ignored."""
        found = []
        for view, one, (norms, scores) in zip(self.views, self.reference, self.counts, strict=True):
            if view in ignored or not norms.sum():
                continue
            there = np.array([norms[:-1].sum(), norms[-1]])
            shares = [float(counts[1] / counts.sum()) for counts in (one.missing, there)]
            found.append(drift_of(view, "missing", one.missing, there, shares))
            for what, parts, counts in (
                ("inputs", one.inputs, norms),
                ("scores", one.scores, scores),
            ):
                now = counts[: 1 if parts is None else len(parts.counts)]
                if parts is not None and len(parts.edges) and now.sum():
                    # about the medians: the edges are as if joined by straight lines
                    shares = [np.cumsum(c)[:-1] / c.sum() for c in (parts.counts, now)]
                    middles = [float(np.interp(0.5, one, parts.edges)) for one in shares]
                    found.append(drift_of(view, what, parts.counts, now, middles))
        return found


def drift_of(
    view: str, what: str, before: Any, now: Any, values: list[float], column: str | None = None
) -> Drift:
    """Return the drift of numbers of rows, and about what value they have."""
    index, limit = population_stability_index(before, now), limit_of_index(before, now)
    return Drift(view, what, index, limit, values[0], values[1], int(now.sum()), column)


def drift_warnings(drifts: list[Drift]) -> list[str]:
    """Return a line for each view and column that has moved: what moved, and by how much.

    A column of a view that is missing more often is missing with it.
    """
    views: dict[str, list[str]] = {}
    columns: dict[str, list[str]] = {}
    moved = [one for one in drifts if one.moved]
    missing = {one.view for one in moved if one.column is None and one.what == "missing"}
    for one in moved:
        if one.column is None:
            views.setdefault(one.view, []).append(f"{one.words} (PSI {one.index:.2f})")
        elif one.what != "missing" or one.view not in missing:
            columns.setdefault(one.column, []).append(one.words)
    lines = [f"view {k!r} is not as in training: {'; '.join(what)}" for k, what in views.items()]
    said = [f"column {k!r} is not as in training: {'; '.join(what)}" for k, what in columns.items()]
    if others := list(columns)[MOST_COLUMNS:]:
        said[MOST_COLUMNS:] = [
            f"{len(others):,} more columns are not as in training: {some_names(others)}"
        ]
    return lines + said
