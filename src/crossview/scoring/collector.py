"""The collector of what results keep for pictures: scores, cells of rows, strong columns."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from crossview.errors import InputError
from crossview.scoring.diagnostics import (
    MOST_DIFFERING,
    MOST_ROWS,
    MOST_VALUES,
    Curve,
    DifferingRow,
    ErrorCurve,
    RowSample,
    ScoredRows,
    StrongColumn,
    StrongInteraction,
    ViewDifferences,
    ViewNumbers,
    mean_difference,
    most_differing,
    n_sampled,
    short_values,
    view_numbers,
)
from crossview.scoring.models.weights import ColumnNames, with_view
from crossview.scoring.problems import (
    Problem,
    Scored,
    errors_of,
    total_of_errors,
)
from crossview.views import MultiView

if TYPE_CHECKING:
    from crossview.data.labeled import LabeledSource


class DiagnosticsCollector:
    """Collector of the diagnostics of one model; its size does not grow with the rows.

    Collectors of consecutive rows add up, but for their curves, which need all rows in order.
    Of the labeled rows ``first_row`` come before these, and other collectors have them.
    Attributes are ``errors``, the mean error so far; ``differences`` of the views of some rows;
    ``sample``, some rows with their scores; and ``most``, the rows in which the views differ most.
    """

    def __init__(
        self,
        task: Problem,
        views: Sequence[str],
        most_rows: int = MOST_ROWS,
        *,
        seed: int = 0,
        first_row: int = 0,
    ) -> None:
        self.task, self.views = task, views
        self.errors, self.differences = ErrorCurve(), ViewDifferences()
        n = min(most_rows, n_sampled(len(task.classes), len(views)))
        self.sample = RowSample(n, seed, first_row)
        self.most: list[tuple[float, DifferingRow]] = []

    def go_on(self, tally: Any) -> None:
        """Begin the curve of errors after the rows of a tally."""
        self.errors = ErrorCurve(tally.n_rows, total_of_errors(self.task, tally))

    def add(self, y: np.ndarray, scored: Scored) -> None:
        """Add rows of a stream, each scored before it was learned."""
        self.errors.update(errors_of(self.task, y, scored))
        self.add_to_sample(y, scored)

    def add_to_sample(
        self, y: np.ndarray, scored: Scored, **view_scores: np.ndarray | None
    ) -> None:
        """Add rows to the sample alone, with scores of their views as `make_scored` takes them."""
        drawn = self.sample.draw(len(y))
        if len(drawn):
            codes = self.task.encode(y)[drawn]
            each = {k: None if one is None else one[drawn] for k, one in view_scores.items()}
            self.sample.add(y=codes, **each, **scored.take(drawn)._asdict())

    def add_differing(
        self,
        view_scores: np.ndarray | None,
        describe: Callable[[int], tuple[int, Any, Any, dict[str, str | None]]],
    ) -> None:
        """Keep those of some rows in which the views differ most, of equals the first ones.

        Of ``view_scores`` of shape (n_samples, n_views), of None and of one view no row is kept.
        ``describe`` takes the position of a row, and returns its position in the source, its label,
        what is predicted, and some of its cells.
        """
        rows = most_differing(view_scores)
        if view_scores is None or not len(rows):
            return
        least = self.most[-1][0] if len(self.most) == MOST_DIFFERING else 0.0
        sizes = mean_difference(view_scores[rows])
        for i, size in zip(rows.tolist(), sizes.tolist(), strict=True):
            if not size > least:
                break
            place, label, predicted, values = describe(i)
            scores = {
                view: float(score)
                for view, score in zip(self.views, view_scores[i], strict=True)
                if not np.isnan(score)
            }
            found = DifferingRow(place, _text(label), _text(predicted), scores, values)
            self.most.append((size, found))
        self._keep_most()

    def add_scored(
        self,
        scored: ScoredRows,
        look_up: Callable[[int], tuple[int, dict[str, str | None]]],
    ) -> None:
        """Keep rows as `add_differing`; ``look_up`` gives their places in the source and cells."""

        def describe(i: int) -> tuple[int, Any, Any, dict[str, str | None]]:
            place, values = look_up(i)
            if scored.predicted is None:
                return place, scored.y[i], scored.scores[i], values
            classes = self.task.classes
            return place, classes[scored.y[i]], classes[scored.predicted[i]], values

        self.add_differing(scored.view_scores, describe)

    def _keep_most(self) -> None:
        self.most = sorted(self.most, key=lambda one: -one[0])[:MOST_DIFFERING]

    def __add__(self, other: DiagnosticsCollector) -> DiagnosticsCollector:
        total = copy.copy(self)
        total.sample, total.most = self.sample + other.sample, [*self.most, *other.most]
        total._keep_most()
        return total

    @property
    def differing(self) -> list[DifferingRow]:
        """The rows in which the views differ most, the most differing one first."""
        return [row for _, row in self.most]

    def curves(self, model: str) -> tuple[list[Curve], list[Curve]]:
        """Return the curves of errors and of differences, those that there are."""
        errors = self.errors.curve(model, root=not len(self.task.classes))
        some = len(self.differences.rows)
        return [errors], [self.differences.curve(model)] if some else []


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


# rows whose contributions are computed, and columns that are kept
MOST_CONTRIBUTING, MOST_COLUMNS = 300, 20


def cells_of_row(
    source: Any,
    row: int,
    names: ColumnNames,
    encoded: MultiView | None = None,
) -> dict[str, str | None]:
    """Return some cells of a row, before it is encoded, by column: about as many of each view.

    Of a view with many columns those with the largest entries in the row as ``encoded`` are shown,
    else the first ones; of a MultiView the largest entries.  A missing one is None.
    """
    if isinstance(source, MultiView):
        line = source[[row]]
        each = max(1, MOST_VALUES // line.layout.n_views)
        entries: dict[str, float] = {}
        for view in line.layout.names:
            largest, part = _largest(line, view, each)
            largest.sort()
            for name, column in zip(names.texts(view, largest), largest, strict=True):
                entries[name] = float(part[column])
        return short_values(entries)
    here = set(source.column_names)
    views = {view: [one for one in some if one in here] for view, some in names.columns.items()}
    each = max(1, MOST_VALUES // max(len(views), 1))
    shown = []
    for view, some in views.items():
        if len(some) > each and encoded is not None:
            largest, _ = _largest(encoded, view, MOST_VALUES)
            telling = dict.fromkeys(one.column for one in names.meanings(view, largest))
            place = {one: i for i, one in enumerate(some)}
            first = dict.fromkeys(one for one in [*telling, *some] if one in place)
            some = sorted(list(first)[:each], key=place.__getitem__)
        shown += some[:each]
    line = source.select(shown).slice(row, 1).to_pylist()[0]
    return short_values(line)


def _largest(X: MultiView, view: str, most: int) -> tuple[list[int], np.ndarray]:
    """The columns of the largest entries of one row in a view, largest first, and its entries."""
    part = X.matrix[:, X.layout.block(view)]
    entries = np.asarray(part.toarray() if sp.issparse(part) else part).ravel()
    order = np.argsort(-np.abs(entries), kind="stable")[:most]
    return order[entries[order] != 0.0].tolist(), entries


def strong_columns(learner: Any, names: ColumnNames, X: MultiView) -> list[StrongColumn]:
    """Return at most 20 columns, those whose contributions to the scores of some rows differ most.

    One that adds the same to all rows tells no two of them apart.  At most 300 rows count, evenly
    spaced, because rows are often sorted.  A learner without weights of columns has none.
    """
    try:
        learner.check_weights()
        some = np.linspace(0, len(X) - 1, min(len(X), MOST_CONTRIBUTING)).astype(np.intp)
        found = learner.contributions(X[some])
    except InputError:
        return []
    n = max(found.shape[0], 1)
    total = np.bincount(found.indices, found.data, minlength=found.shape[1])
    rows = np.bincount(found.indices, minlength=found.shape[1])
    apart = np.abs(found.data - total[found.indices] / n)
    size = np.bincount(found.indices, apart, minlength=found.shape[1])
    size = (size + (n - rows) * np.abs(total) / n) / n
    top = np.argsort(-size, kind="stable")[:MOST_COLUMNS]
    places = {
        int(columns[i]): (view, int(i))
        for view, columns in learner.view_columns().items()
        for i in np.flatnonzero(np.isin(columns, top))
    }
    kept: list[StrongColumn] = []
    for column in top.tolist():
        if column in places and size[column] > 0.0:
            view, i = places[column]
            (name,) = names.texts(view, [i])
            mean = float(total[column] / rows[column])
            kept.append(StrongColumn(view, name, float(size[column]), mean, rows[column] / n))
    return kept


def strong_interactions(learner: Any, names: ColumnNames, top: int = 10) -> list[StrongInteraction]:
    """Return the ``top`` interactions of each order of a machine, by name, the strongest first."""
    if not hasattr(learner, "interactions") or not top:
        return []
    return [
        StrongInteraction(
            [
                with_view(view, names.texts(view, [column])[0])
                for view, column in zip(one.views, one.columns, strict=True)
            ],
            float(one.weight),
            "" if one.label is None else str(one.label),
        )
        for one in learner.interactions(top)
    ]


def numbers_of(source: LabeledSource, X: MultiView) -> list[ViewNumbers]:
    """Return the views in numbers, by encoded rows; columns and kinds are those of the source."""
    if not source.has_columns:
        widths = dict(zip(source.layout.names, source.layout.widths, strict=True))
        return view_numbers(X, {name: int(width) for name, width in widths.items()})
    n_columns = {name: len(some) for name, some in source.columns.items()}
    return view_numbers(X, n_columns, source.encoder.column_kinds())
