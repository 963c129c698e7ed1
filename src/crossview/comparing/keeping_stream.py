"""What a comparison in stream order keeps for pictures.

The last rows are held back until all others are learned.  Then each model is asked for the scores
of their views, and learns them as all rows before.  So the rows in which the views differ most are
rows that the model had not learned, they do not depend on batches, and of the stream only these
rows are kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from crossview.catalog.learner import Learner
from crossview.comparing.comparison import Comparison
from crossview.comparing.held_out_scores import differing_rows
from crossview.comparing.run import Run
from crossview.data.labeled import LabeledBatch, stack_rows
from crossview.data.labeled_source import take_rows
from crossview.scoring.diagnostics import (
    MOST_ROWS_OF_STREAM,
    Diagnostics,
    ErrorCurve,
    RowSample,
    ScoredRows,
    ViewDifferences,
    expert_weights,
    make_scored,
    n_sampled,
)
from crossview.scoring.drift import scores_of_views
from crossview.scoring.metrics import RunningThreshold, decide
from crossview.scoring.problems import Scored, errors_of, join
from crossview.scoring.row_values import (
    cells_of_row,
    columns_of,
    strong_columns,
    strong_interactions,
)
from crossview.scoring.weights import ColumnNames
from crossview.views import MultiView

__all__ = ["HeldBack", "KeptOfStream", "LabeledEnd", "TimedScores", "join_kept"]

# the last rows of a stream, and the share of it that they are at most
MOST_LAST, SHARE_LAST = 1000, 0.25


class LabeledEnd(NamedTuple):
    """The last rows with a label.

    Attributes
    ----------
    X : MultiView
        The rows.
    y : ndarray of shape (n_samples,)
        Their labels.
    rows : ndarray of int of shape (n_samples,)
        Their positions in the stream.
    source : MultiView or pyarrow.Table
        The same rows, as they were before they were encoded.
    """

    X: MultiView
    y: np.ndarray
    rows: np.ndarray
    source: Any


class TimedScores(NamedTuple):
    """Scores of rows, each before it was learned, and how long some of them took.

    Attributes
    ----------
    scored : Scored
        The scores.
    n_timed : int
        How many of the rows were timed.
    seconds : float
        How long these took to be scored and learned.
    """

    scored: Scored
    n_timed: int
    seconds: float


class HeldBack:
    """The last rows of a stream, which are learned after all others.

    Parameters
    ----------
    run : Run
        What is compared.
    n_first : int
        Rows that choose the parameters.
    n_rows : int
        All rows.

    Attributes
    ----------
    begin : int
        The position of the first one.
    end : LabeledEnd or None
        Those with a label; None before all others are learned, and where there are none.
    """

    def __init__(self, run: Run, n_first: int, n_rows: int) -> None:
        self.run, self.done = run, n_first
        self.begin = n_rows - min(MOST_LAST, int(SHARE_LAST * max(0, n_rows - n_first)))
        self.end: LabeledEnd | None = None
        self._held: list[tuple] = []
        self._source: list[LabeledBatch] = []
        self._seen = 0

    def see(self, batch: LabeledBatch) -> None:
        """Keep these rows of a batch that is not encoded yet."""
        cut = max(0, self.begin - self._seen)
        if cut < len(batch):
            self._source.append(batch.take(slice(cut, len(batch))))
        self._seen += len(batch)

    def order(
        self, batches: Iterable[tuple], look: Callable[[LabeledEnd], None]
    ) -> Iterator[tuple]:
        """Yield all rows, with labels and weights; before the last ones these are looked at."""
        yield from self._before(batches)
        self.end = self._labeled()
        if self.end is not None:
            look(self.end)
        yield from self._held

    def _before(self, batches: Iterable[tuple]) -> Iterator[tuple]:
        """Yield the rows before the last ones, and hold those back."""
        for X, y, weight in batches:
            cut = min(max(0, self.begin - self.done), len(y))
            self.done += len(y)
            for part in (slice(0, cut), slice(cut, len(y))):
                if part.stop == part.start:
                    continue
                whole = part == slice(0, len(y))
                own = None if weight is None else weight[part]
                some = (X if whole else X[part], y[part], own)
                if part.start >= cut:
                    self._held.append(some)
                else:
                    yield some

    def _labeled(self) -> LabeledEnd | None:
        """The last rows that have a label."""
        y = [y for _, y, _ in self._held]
        known = [self.run.by_label(part)[0] for part in y]
        if not sum(map(len, known)):
            return None
        starts = np.cumsum([0, *map(len, y[:-1])])
        at = np.concatenate([start + rows for start, rows in zip(starts, known, strict=True)])
        return LabeledEnd(
            stack_rows([X[rows] for (X, _, _), rows in zip(self._held, known, strict=True)]),
            np.concatenate([part[rows] for part, rows in zip(y, known, strict=True)]),
            self.begin + at,
            take_rows(LabeledBatch.join(self._source).X, at),
        )


class KeptOfStream:
    """What is kept of one model.

    Parameters
    ----------
    run : Run
        What is compared.
    learner : Learner
        The entry of the model.
    n_views : int
        Number of views.

    Attributes
    ----------
    differences : ViewDifferences or None
        How the views differ; None for a learner that does not say how its views share a step: only
        those are what the papers compare.
    last : ScoredRows or None
        The last rows with the scores of their views, before any of them was learned; None for a
        learner without such scores.
    """

    def __init__(self, run: Run, learner: Learner, n_views: int) -> None:
        self.run, self.learner, self.name = run, learner, learner.name
        self.errors = ErrorCurve()
        self.last: ScoredRows | None = None
        couples = learner.view is None and "coupling" in learner.fixed
        self.differences = ViewDifferences() if couples else None
        most = n_sampled(len(run.task.classes), n_views)
        self.sample = RowSample(min(MOST_ROWS_OF_STREAM, most), run.seed)

    def learn_in_pieces(
        self, model: Any, X: MultiView, y: np.ndarray, weight: np.ndarray | None
    ) -> TimedScores:
        """Let a model learn labeled rows, cut where the scores of its views are kept.

        Only the longest piece is timed: a model that nobody looks at learns rows uncut.
        """
        assert self.differences is not None
        parts, done, timed = [], 0, (0, 0.0)
        while done < len(y):
            n = self.errors.n_rows + done
            piece = slice(done, done + self.differences.left(n))
            if self.differences.is_due(n):
                self.differences.add(model, X[done : done + 1], n)
            some, targets = X[piece], y[piece]
            own = None if weight is None else weight[piece]
            start = time.perf_counter()
            parts.append(self.run.task.score_then_learn(model, some, targets, own))
            if len(targets) > timed[0]:
                timed = len(targets), time.perf_counter() - start
            done = piece.stop
        return TimedScores(join(parts), *timed)

    def add_last(self, model: Any, running: RunningThreshold | None, end: LabeledEnd) -> None:
        """Score the last rows, before they are learned, by view; a threshold may decide."""
        if self.learner.view is not None or not hasattr(model, "view_scores"):
            return
        task = self.run.task
        threshold = task.fixed_threshold if running is None else running.threshold
        scored = task.scores(model, end.X, probabilities=threshold is not None)
        if threshold is not None and scored.probabilities is not None:
            p = scored.probabilities[:, 1]
            scored = scored._replace(predicted=decide(scored.scores, p, threshold))
        self.last = make_scored(
            np.arange(len(end.y)),
            task.encode(end.y),
            scored.scores,
            scored.predicted,
            view_scores=scores_of_views(model, end.X),
        )

    def add(self, y: np.ndarray, scored: Scored) -> None:
        """Count labeled rows."""
        self.errors.update(errors_of(self.run.task, y, scored))
        drawn = self.sample.draw(len(y))
        codes, some = self.run.task.encode(y), scored.take(drawn)
        self.sample.add(y=codes[drawn], **some._asdict())


def join_kept(
    kept: Sequence[KeptOfStream],
    models: Sequence[Any],
    answer: Comparison,
    end: LabeledEnd | None,
    encoder: Any,
) -> Diagnostics:
    """Return what was kept of all models; of the rows, what the recommended one said of them.

    Parameters
    ----------
    kept : sequence of KeptOfStream
        One per model.
    models : sequence of learners
        The models.
    answer : Comparison
        The answer.
    end : LabeledEnd or None
        The last rows.
    encoder : ViewEncoder, ViewReader, ViewScaler or None
        What has encoded them.

    Returns
    -------
    Diagnostics
        With curves.
    """
    chosen = answer.recommended
    by_name = {one.name: (one, model) for one, model in zip(kept, models, strict=True)}
    mine, learner = by_name[chosen.model]
    numbers = answer.task == "regression"
    found = Diagnostics(
        model=chosen.model,
        class_rows=[sum(line) for line in chosen.confusion or []],
        scored=mine.sample.scored(),
        errors=[one.errors.curve(one.name, root=numbers) for one in kept],
        differences=[
            one.differences.curve(one.name)
            for one in kept
            if one.differences is not None and len(one.differences.rows)
        ],
        experts=expert_weights(learner),
    )
    if end is not None:
        names = ColumnNames(encoder, getattr(end.source, "feature_names", None))
        found.columns = strong_columns(learner, names, mine.learner.select_view(end.X))
        found.columns_of = "the last rows of the stream"
        found.interactions = strong_interactions(learner, names) if found.columns else []
        _add_differing(
            found, [by_name[row.model][0] for row in (chosen, *answer.rows)], end, encoder
        )
    return found


def _add_differing(
    found: Diagnostics, kept: Sequence[KeptOfStream], end: LabeledEnd, encoder: Any
) -> None:
    """Add the last rows by view, of the first model that has scored them so."""
    one = next((one for one in kept if one.last is not None), None)
    if one is None or one.last is None:
        return

    names = ColumnNames(encoder, getattr(end.source, "feature_names", None))
    columns = columns_of(encoder)

    def look_up(i: int) -> tuple[int, dict[str, str | None]]:
        return int(end.rows[i]), cells_of_row(end.source, i, names, columns, end.X[[i]])

    found.view_model, found.by_view = one.name, one.last
    found.differing = differing_rows(one.last, one.run.task.classes, end.X.layout.names, look_up)
    found.differing_of = f"the last {len(end.y):,}, scored before they were learned"
