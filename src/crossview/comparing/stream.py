"""Comparing in the order of the stream: predict, score, then learn."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
from sklearn.base import clone

from crossview.catalog.learner import Learner
from crossview.catalog.metrics import metric_of
from crossview.comparing.answer import make_answer
from crossview.comparing.comparison import Comparison, ComparisonRow
from crossview.comparing.keeping_stream import (
    HeldBack,
    KeptOfStream,
    LabeledEnd,
    TimedScores,
    join_kept,
)
from crossview.comparing.observer import ComparisonObserver
from crossview.comparing.run import Run
from crossview.data.labeled import LabeledSource
from crossview.data.summaries.leak_check import LeakCheck
from crossview.errors import InputError
from crossview.scoring.label_order import LabelOrder
from crossview.scoring.metrics import BlockTally, RunningThreshold, Tally, least_rows
from crossview.scoring.problems import Classification, Scored
from crossview.scoring.row_values import numbers_of
from crossview.scoring.significance import Posterior, jackknife_posterior
from crossview.views import MultiView

__all__ = ["compare_stream"]

# rows of a stream that choose the parameters
SHARE_TO_TUNE, MOST_TO_TUNE = 0.1, 10_000


def compare_stream(
    run: Run, source: LabeledSource, rope: float, observer: ComparisonObserver
) -> Comparison:
    """Compare in stream order, with memory bounded by the batch.

    Parameters
    ----------
    run : Run
        What is compared, and how.
    source : LabeledSource
        The rows.
    rope : float
        Differences up to this are none.
    observer : ComparisonObserver
        Is told how it goes.

    Returns
    -------
    Comparison
        The answer.
    """
    n_first = max(1, min(int(source.n_rows * SHARE_TO_TUNE), MOST_TO_TUNE))
    encoder: Any = None if source.encoder is None else clone(source.encoder)
    labels = LabelOrder(source.classes)
    last = HeldBack(run, n_first, source.n_rows)
    leaks = LeakCheck(source)
    source.check = leaks.see
    batches = labels.watch(source.encoded(encoder, learn=True, first=n_first, see=last.see))
    progress = _ProgressiveRun(run, observer)
    # 1. the first part chooses the parameters; the model that learned it best continues
    of_views = []
    for batch in islice(batches, 1):
        of_views = numbers_of(source, batch[0])
        progress.choose(*batch)

    def answer() -> Comparison:
        return make_answer(
            run,
            source.layout,
            progress.rows(),
            progress.differences(),
            rope,
            n_rows=progress.n_scored + progress.n_unlabeled + progress.n_first,
            n_scored=progress.n_scored,
            unlabeled=progress.n_unlabeled,
            mode="progressive",
            test=f"differences in {run.metric}, jackknife over blocks of consecutive rows",
            folds=0,
            warnings=leaks.found,
        )

    # 2. all that comes after it is scored, then learned; the last rows by view, too
    next_answer = least_rows(run.metric)
    for batch in last.order(batches, progress.add_last):
        progress.score_then_learn(*batch)
        observer.say(f"{progress.n_scored:,} rows scored")
        if progress.n_scored >= next_answer:  # each costs a test per pair of models
            observer.partial(answer())
            next_answer = 2 * progress.n_scored
    if not progress.n_scored and progress.n_unlabeled:
        raise InputError(
            f"no row after the first {n_first}, which choose the parameters, has a label; "
            "shuffle the rows, or compare by folds"
        )
    if not progress.n_scored:
        raise InputError(
            f"the stream ends within its first {n_first} rows, which choose the parameters; "
            "compare it by folds instead"
        )
    labels.warn("if the order means nothing, compare by folds, which shuffles the rows")
    run.check_rows(progress.n_scored, "the stream, after the rows that choose parameters,")
    leaks.finish()
    final = answer()
    final.diagnostics = join_kept(progress.kept, progress.models, final, last.end, encoder)
    final.diagnostics.views, final.diagnostics.views_of = of_views, "the first rows"
    return final


class _ProgressiveRun:
    """The models of all learners on one stream, and their scores so far."""

    def __init__(self, run: Run, observer: ComparisonObserver) -> None:
        self.run, self.observer = run, observer
        self.models: list[Any] = []
        self.chosen: list[dict[str, Any]] = []
        M = len(run.learners)
        self.tallies: list[Any] = [run.task.tally() for _ in range(M)]
        self.untuned: list[Any] = [run.task.tally() for _ in range(M)]
        # by the rows that choose the parameters, then by those scored so far
        self.thresholds: list[RunningThreshold | None] = []
        self.blocks: list[BlockTally] = []
        self.kept: list[KeptOfStream] = []
        self.seconds, self.n_timed = np.zeros(M), np.zeros(M)
        self.n_first = self.n_scored = self.n_unlabeled = 0

    def choose(self, X: MultiView, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Choose the parameters of each learner on these rows."""
        known, rest = self.run.by_label(y)
        self.n_first, self.n_unlabeled = len(known), len(rest)
        self.run.task.check_first(y[known], len(rest))
        for learner in self.run.learners:
            self.observer.say(f"choosing on the first {len(y)} rows: {learner.title}")
            model, setting, scored = self._choose(learner, X, y, weight)
            self.models.append(model)
            self.chosen.append(setting)
            self.thresholds.append(self.run.task.running_threshold())
            self.run.task.decide_by(self.thresholds[-1], y[known], scored)
            self.blocks.append(self.run.task.block_tally(scored))
            self.kept.append(KeptOfStream(self.run, learner, X.layout.n_views))

    def _choose(
        self, learner: Learner, X: MultiView, y: np.ndarray, weight: np.ndarray | None
    ) -> tuple[Any, dict[str, Any], Scored]:
        """The model that did best on these rows, each scored before it was learned.

        Where it gets a threshold, it is judged at its best one.
        """
        task = self.run.task
        targets = y[self.run.by_label(y)[0]]
        best: tuple | None = None
        for setting in learner.candidates(self.run.grid):
            model = self.run.make(learner, learner.on_stream(setting))
            scored = self._scores(learner, model, X, y, weight)
            if isinstance(task, Classification) and task.tunes:
                _, value = task.tune(targets, scored)
            else:
                value = self.run.score(targets, scored)
            # few rows leave many equals: the smaller loss decides
            rank = (value, -float(task.losses(targets, scored).sum()))
            if best is None or rank > best[0]:
                best = (rank, model, setting, scored)
        assert best is not None
        return best[1:]

    def _scores(
        self,
        learner: Learner,
        model: Any,
        X: MultiView,
        y: np.ndarray,
        weight: np.ndarray | None,
    ) -> Scored:
        """Scores of the rows with label, each before it is learned; no other row is scored."""
        seen, (known, _) = learner.select_view(X), self.run.by_label(y)
        if len(known) == len(y) or learner.learns_unlabeled:
            return self.run.task.score_then_learn(model, seen, y, weight).take(known)
        if not len(known):
            return Scored(np.empty(0))
        own = None if weight is None else weight[known]
        return self.run.task.score_then_learn(model, seen[known], y[known], own)

    def score_then_learn(self, X: MultiView, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Score these rows by each model, then let it learn them."""
        run = self.run
        known, rest = run.by_label(y)
        targets = y[known]
        for i, (learner, model) in enumerate(zip(run.learners, self.models, strict=True)):
            if self.kept[i].differences is None or not len(known):
                start = time.perf_counter()
                scored = self._scores(learner, model, X, y, weight)
                n_timed = len(y) if learner.learns_unlabeled else len(known)
                timed = TimedScores(scored, n_timed, time.perf_counter() - start)
            else:
                own = None if weight is None else weight[known]
                rows = X if len(known) == len(y) else X[known]
                timed = self.kept[i].learn_in_pieces(model, rows, targets, own)
            self.seconds[i] += timed.seconds
            self.n_timed[i] += timed.n_timed
            if len(known):
                scored = timed.scored
                if run.task.judged_by_threshold:
                    run.task.count(self.untuned[i], targets, scored)
                scored = run.task.decide_by(self.thresholds[i], targets, scored)
                run.task.count(self.tallies[i], targets, scored)
                run.task.count(self.blocks[i], targets, scored)
                self.kept[i].add(targets, scored)
        self.n_scored += len(known)
        self.n_unlabeled += len(rest)

    def add_last(self, end: LabeledEnd) -> None:
        """Let each model score the last rows by view."""
        for kept, model, threshold in zip(self.kept, self.models, self.thresholds, strict=True):
            kept.add_last(model, threshold, end)

    def rows(self) -> list[ComparisonRow]:
        """Return the rows of the answer."""
        tuned = self.run.task.judged_by_threshold
        return [
            ComparisonRow(
                model=learner.name,
                title=learner.title,
                effort=learner.effort,
                value=self.tallies[i].value(self.run.metric),
                **{name: self.tallies[i].value(name) for name in self.run.task.shown},
                rows_per_second=self.n_timed[i] / self.seconds[i],
                setting=self.chosen[i],
                threshold=self._threshold(i),
                untuned=self.untuned[i].value(self.run.metric) if tuned else math.nan,
                chosen=[self.chosen[i]],
                confusion=_confusion(self.tallies[i]),
            )
            for i, learner in enumerate(self.run.learners)
        ]

    def _threshold(self, i: int) -> float:
        """The threshold of model i after the last row, as a probability of the positive class."""
        task, threshold = self.run.task, self.thresholds[i]
        # a table of the rows so far must not move the threshold of the next row
        last = task.fixed_threshold if threshold is None else copy.copy(threshold).place()
        return math.nan if last is None else task.of_other_side(last)

    def differences(self) -> Callable[[ComparisonRow, ComparisonRow], Posterior]:
        """Return what says how much a row is better than another one, by the rows so far."""
        names = (learner.name for learner in self.run.learners)
        # the metric of each model, and without each block
        values = {name: blocks.values() for name, blocks in zip(names, self.blocks, strict=True)}
        sign = 1.0 if metric_of(self.run.metric).higher_is_better else -1.0

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


def _confusion(tally: Any) -> list[list[int]] | None:
    return tally.confusion.tolist() if isinstance(tally, Tally) else None
