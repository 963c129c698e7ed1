"""A comparison in the order of the stream: predict, score, then learn."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from crossview.catalog.learner import Learner
from crossview.catalog.metrics import metric_of
from crossview.comparing.candidates import target_scales
from crossview.comparing.result.answer import Difference, make_answer
from crossview.comparing.result.comparison import Comparison, ComparisonObserver
from crossview.comparing.result.ranking import EFFORT, ComparisonRow, name_of_use
from crossview.comparing.run import Run
from crossview.data.labeled import LabeledBatch, LabeledSource, stack_rows
from crossview.data.summaries.leaks import LeakCheck
from crossview.errors import InputError
from crossview.readers.source import take_rows
from crossview.scoring.collector import (
    DiagnosticsCollector,
    cells_of_row,
    numbers_of,
    strong_columns,
    strong_interactions,
)
from crossview.scoring.diagnostics import (
    MOST_ROWS_OF_STREAM,
    Diagnostics,
    ScoredRows,
    expert_weights,
    make_scored,
)
from crossview.scoring.drift import of_predicted_class
from crossview.scoring.metrics import Tally, decide, least_rows
from crossview.scoring.models.weights import ColumnNames
from crossview.scoring.problems import Classification, Scored, join
from crossview.scoring.progressive import LabelOrder
from crossview.scoring.results import memory_note
from crossview.scoring.significance import Posterior, jackknife_posterior
from crossview.views import MultiView

# rows of a stream that choose the parameters
SHARE_TO_TUNE, MOST_TO_TUNE = 0.1, 10_000


def compare_stream(
    run: Run, source: LabeledSource, rope: float, observer: ComparisonObserver
) -> Comparison:
    """Compare in stream order, with memory bounded by the batch.

    rope: differences up to this are none.
    """
    stream = Stream(run, source)
    final = stream.learn(rope, observer)
    final.diagnostics = stream.diagnose(final)
    return final


class Stream:
    """Rows in their order, and the models that predict and then learn them.

    models: the models, and what was counted of them.
    """

    def __init__(self, run: Run, source: LabeledSource) -> None:
        for learner in run.learners:
            if not learner.streams:
                raise InputError(
                    f"model {learner.name!r} needs all rows in memory and cannot learn from a "
                    "stream; compare it by folds, without progressive"
                )
        self.run, self.source = run, source
        self.models: list[_StreamedModel] = []
        self._encoder: Any = None if source.encoder is None else clone(source.encoder)
        self._leaks = LeakCheck(source)
        self._tries_scales = False
        self._n_scored = self._n_unlabeled = 0
        self._views: list[Any] = []
        self._end: LabeledEnd | None = None

    def learn(self, rope: float, observer: ComparisonObserver) -> Comparison:
        """Predict and learn all rows; return the answer, without what pictures need of it."""
        run, source = self.run, self.source
        n_first = max(1, min(int(source.n_rows * SHARE_TO_TUNE), MOST_TO_TUNE))
        labels = LabelOrder(source.classes)
        last = HeldBack(run, n_first, source.n_rows)
        source.check = self._leaks.see
        encoded = source.encoded(self._encoder, learn=True, first=n_first, see=last.see)
        batches = labels.watch(encoded)
        models = [_StreamedModel(run, learner, source.layout.names) for learner in run.learners]
        self.models = models
        # 1. the first part chooses the parameters; the model that learned it best continues
        for X, y, weight in islice(batches, 1):
            self._views = numbers_of(source, X)
            known, rest = run.by_label(y)
            self._n_scored, self._n_unlabeled = len(known), len(rest)
            run.problem.check_first(y[known], len(rest))
            scales = target_scales(y[known], run.grid, source.lowest_target)
            self._tries_scales = bool(scales)
            for model in models:
                observer.say(f"choosing on the first {len(y)} rows: {model.learner.title}")
                model.choose(X, y, weight, scales)

        def score_last(end: LabeledEnd) -> None:
            for model in models:
                model.score_last(end)

        # 2. all that comes after it is scored, then learned; the last rows by view, too
        next_answer, n_chosen = max(least_rows(run.metric), self._n_scored), self._n_scored
        for X, y, weight in last.order(batches, score_last):
            known, rest = run.by_label(y)
            for model in models:
                model.score_then_learn(X, y, weight, known)
            self._n_scored += len(known)
            self._n_unlabeled += len(rest)
            observer.say(f"{self._n_scored:,} rows scored")
            if self._n_scored >= next_answer:  # each costs a test per pair of models
                observer.partial(self.answer(models, rope))
                next_answer = 2 * self._n_scored
        if self._n_scored == n_chosen and self._n_unlabeled:
            raise InputError(
                f"no row after the first {n_first}, which choose the parameters, has a label; "
                "shuffle the rows, or compare by folds"
            )
        if self._n_scored == n_chosen:
            raise InputError(
                f"the stream ends within its first {n_first} rows, which choose the parameters; "
                "compare it by folds instead"
            )
        labels.warn("if the order means nothing, compare by folds, which shuffles the rows")
        run.check_rows(self._n_scored, "the stream")
        self._leaks.finish()
        self._end = last.end
        return self.answer(models, rope)

    def answer(self, models: Sequence[_StreamedModel], rope: float, **known: Any) -> Comparison:
        """Return the answer about models that have learned the rows so far."""
        return make_answer(
            self.run,
            self.source.layout,
            [model.row() for model in models],
            _differences(self.run, models),
            rope,
            n_rows=self._n_scored + self._n_unlabeled,
            n_scored=self._n_scored,
            unlabeled=self._n_unlabeled,
            mode="progressive",
            test=f"differences in {self.run.metric}, jackknife over blocks of consecutive rows",
            folds=0,
            tries_scales=self._tries_scales,
            warnings=self._leaks.found,
            note_lines=[
                f"{model.name}: {line}"
                for model in self.models
                for line in memory_note(model.model)
            ],
            **known,
        )

    def diagnose(self, answer: Comparison) -> Diagnostics:
        """Return what pictures need: curves of all models, and what the recommended one said."""
        models, end = self.models, self._end
        chosen, by_name = answer.recommended, {model.name: model for model in models}
        mine = by_name[chosen.model]
        found = Diagnostics(
            model=chosen.model,
            views=self._views,
            views_of="the first rows",
            class_rows=[sum(line) for line in chosen.confusion or []],
            scored=mine.collector.sample.scored(),
            experts=expert_weights(mine.model),
        )
        for model in models:
            errors, differences = model.collector.curves(model.name)
            found.errors += errors
            found.differences += differences
        if end is None:
            return found
        names = ColumnNames(self._encoder, getattr(end.source, "feature_names", None))
        found.columns = strong_columns(mine.model, names, mine.learner.select_view(end.X))
        found.columns_of = "the last rows of the stream"
        found.interactions = strong_interactions(mine.model, names) if found.columns else []

        def look_up(i: int) -> tuple[int, dict[str, str | None]]:
            return int(end.rows[i]), cells_of_row(end.source, i, names, end.X[[i]])

        for row in (chosen, *answer.rows):
            model = by_name.get(row.model, mine)
            if model.last is not None:  # the first model that has scored them by view
                found.view_model, found.by_view = model.name, model.last
                model.collector.add_scored(model.last, look_up)
                found.differing = model.collector.differing
                found.differing_of = f"the last {len(end.y):,}, scored before they were learned"
                break
        return found


class _StreamedModel:
    """A model of the comparison, and what was counted of it so far."""

    model: Any

    def __init__(self, run: Run, learner: Learner, views: Sequence[str]) -> None:
        self.run, self.learner = run, learner
        self.name = name_of_use(learner.name, run.user)
        self.setting: dict[str, Any] = {}
        self.tally: Any = run.problem.tally()
        self.untuned: Any = run.problem.tally()
        self.threshold = run.problem.running_threshold()
        self.blocks: Any = None
        self.n_timed, self.seconds = 0, 0.0
        given = (run.problem, views, MOST_ROWS_OF_STREAM)
        self.collector = DiagnosticsCollector(*given, seed=run.seed)
        # the last rows with the scores of their views, before any of them was learned
        self.last: ScoredRows | None = None
        # the papers compare how the views differ of learners whose views share a step
        self.couples = learner.view is None and "coupling" in learner.fixed

    def choose(
        self, X: MultiView, y: np.ndarray, weight: np.ndarray | None, scales: Sequence[str]
    ) -> None:
        """Choose the setting that did best on these rows, each scored before it was learned.

        The best one is tried with each of the ``scales`` of the target, too.

        Where the model gets a threshold, it is judged at its best one.  What is counted of a row is
        what the setting said whose loss was lowest on the rows before it, so that a choice among
        many settings is no gain.
        """
        problem = self.run.problem
        targets = y[self.run.by_label(y)[0]]
        best: tuple | None = None
        each: list[Scored] = []
        losses = []

        def settings() -> Iterator[dict[str, Any]]:
            yield from self.learner.candidates(self.run.grid)
            assert best is not None
            chosen = best[2]
            for scale in scales if "target_scale" in self.learner.refined else ():
                yield {**chosen, "target_scale": scale}

        for setting in settings():
            model = self.run.make(self.learner, self.learner.on_stream(setting))
            scored = self._score_then_learn(model, X, y, weight)
            if isinstance(problem, Classification) and problem.tunes:
                _, value = problem.tune(targets, scored)
            else:
                value = self.run.score(targets, scored)
            losses.append(problem.losses(targets, scored))
            each.append(scored)
            # few rows leave many equals: the smaller loss decides
            rank = (value, -float(losses[-1].sum()))
            if best is None or rank > best[0]:
                best = (rank, model, setting, scored)
        assert best is not None
        _, self.model, self.setting, scored = best
        self.blocks = problem.block_tally(scored)
        if len(targets):
            before = np.cumsum(losses, axis=1) - losses
            self._count(
                targets,
                join(each).take(before.argmin(axis=0) * len(targets) + np.arange(len(targets))),
            )

    def _score_then_learn(
        self, model: Any, X: MultiView, y: np.ndarray, weight: np.ndarray | None
    ) -> Scored:
        """Return the scores of the rows with a label, each before it is learned."""
        seen, (known, _) = self.learner.select_view(X), self.run.by_label(y)
        if len(known) == len(y) or self.learner.learns_unlabeled:
            return self.run.problem.score_then_learn(model, seen, y, weight).take(known)
        if not len(known):
            return Scored(np.empty(0))
        own = None if weight is None else weight[known]
        return self.run.problem.score_then_learn(model, seen[known], y[known], own)

    def score_then_learn(
        self, X: MultiView, y: np.ndarray, weight: np.ndarray | None, known: np.ndarray
    ) -> None:
        """Score rows, of which some have a known label, then learn and count them."""
        targets = y[known]
        if self.couples and len(known):
            rows = X if len(known) == len(y) else X[known]
            scored = self._learn_in_pieces(rows, targets, None if weight is None else weight[known])
        else:
            start = time.perf_counter()
            scored = self._score_then_learn(self.model, X, y, weight)
            self.seconds += time.perf_counter() - start
            self.n_timed += len(y) if self.learner.learns_unlabeled else len(known)
        if len(known):
            self._count(targets, scored)

    def _count(self, targets: np.ndarray, scored: Scored) -> None:
        """Count what was said of rows, each decided by the threshold for the rows before it."""
        problem = self.run.problem
        if problem.judged_by_threshold:
            problem.count(self.untuned, targets, scored)
        scored = problem.decide_by(self.threshold, targets, scored)
        problem.count(self.tally, targets, scored)
        problem.count(self.blocks, targets, scored)
        self.collector.add(targets, scored)

    def _learn_in_pieces(self, X: MultiView, y: np.ndarray, weight: np.ndarray | None) -> Scored:
        """Learn labeled rows, cut where the scores of their views are kept.

        Only the longest piece is timed: a model whose views nobody compares learns rows uncut.
        """
        differences, before = self.collector.differences, self.collector.errors.n_rows
        parts, done, timed = [], 0, (0, 0.0)
        while done < len(y):
            n = before + done
            piece = slice(done, done + differences.left(n))
            if differences.is_due(n):
                differences.add(self.model, X[done : done + 1], n)
            some, targets = X[piece], y[piece]
            own = None if weight is None else weight[piece]
            start = time.perf_counter()
            parts.append(self.run.problem.score_then_learn(self.model, some, targets, own))
            if len(targets) > timed[0]:
                timed = len(targets), time.perf_counter() - start
            done = piece.stop
        self.n_timed, self.seconds = self.n_timed + timed[0], self.seconds + timed[1]
        return join(parts)

    def score_last(self, end: LabeledEnd) -> None:
        """Score the last rows, before they are learned, by view; a threshold may decide."""
        if self.learner.view is not None or self.learner.baseline:
            return
        if not hasattr(self.model, "view_scores"):
            return
        problem, running = self.run.problem, self.threshold
        threshold = problem.fixed_threshold if running is None else running.threshold
        scored = problem.scores(self.model, end.X, probabilities=threshold is not None)
        if threshold is not None and scored.probabilities is not None:
            p = scored.probabilities
            scored = scored._replace(predicted=decide(scored.scores, p, threshold))
        of_classes = np.asarray(self.model.view_scores(end.X))
        self.last = make_scored(
            np.arange(len(end.y)),
            problem.encode(end.y),
            scored.scores,
            scored.predicted,
            view_scores=of_predicted_class(self.model, end.X, of_classes),
            of_classes=of_classes,
        )

    def row(self) -> ComparisonRow:
        """Return the row of the answer by the rows so far."""
        problem, metric = self.run.problem, self.run.metric
        # a table of the rows so far must not move the threshold of the next row
        running = self.threshold
        last = problem.fixed_threshold if running is None else copy.copy(running).place()
        tuned = problem.judged_by_threshold
        counted = isinstance(self.tally, Tally)
        return ComparisonRow(
            model=self.name,
            title=name_of_use(self.learner.title, self.run.user),
            baseline=self.learner.baseline,
            effort=self.learner.effort + EFFORT.get(self.run.user, 0),
            value=self.tally.value(metric),
            **{name: self.tally.value(name) for name in problem.shown},
            rows_per_second=self.n_timed / self.seconds if self.seconds else math.nan,
            setting=self.setting,
            threshold=problem.of_other_side(last) if isinstance(last, float) else math.nan,
            untuned=self.untuned.value(metric) if tuned else math.nan,
            chosen=[self.setting],
            confusion=self.tally.confusion.tolist() if counted else None,
            user=self.run.user,
        )


def _differences(run: Run, models: Sequence[_StreamedModel]) -> Difference:
    """Return a function of how much a row is better than another one, by the rows so far."""
    # the metric of each model, and without each block
    values = {model.name: model.blocks.values() for model in models}
    sign = 1.0 if metric_of(run.metric).higher_is_better else -1.0

    def difference(row: ComparisonRow, other: ComparisonRow) -> Posterior:
        whole, without, sizes = values[row.model]
        other_whole, other_without, _ = values[other.model]
        return jackknife_posterior(
            sign * (row.value - other.value),
            sign * (whole - other_whole),
            sign * (without - other_without),
            sizes,
        )

    return difference


# the last rows of a stream, and the share of it that they are at most
MOST_LAST, SHARE_LAST = 1000, 0.25


class LabeledEnd(NamedTuple):
    """The last rows with a label.

    y (n_samples,): their labels.
    rows (n_samples,): their positions in the stream.
    source: the same rows, as they were before they were encoded.
    """

    X: MultiView
    y: np.ndarray
    rows: np.ndarray
    source: Any


class HeldBack:
    """The last rows of a stream, which are learned after all others.

    Then each model is asked for the scores of their views, and learns them as all rows before.  So
    the rows in which the views differ most are rows that the model had not learned, they do not
    depend on batches, and of the stream only these rows are kept.

    n_first: rows that choose the parameters.
    begin: the position of the first one.
    end: those with a label; None before all others are learned, and where there are none.
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
