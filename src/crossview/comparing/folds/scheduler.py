"""Scheduler of a comparison by folds: one queue of jobs within a budget of time."""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from crossview import compiling
from crossview.algorithms.stacking.blend import Blend
from crossview.catalog.learner import Learner
from crossview.catalog.learners import ENSEMBLE, find_learner
from crossview.comparing.budget.clock import Clock, Took
from crossview.comparing.budget.planner import Planner
from crossview.comparing.folds.ensemble import blend_folds, can_blend, ensemble_row
from crossview.comparing.folds.parts import Data, Fold
from crossview.comparing.folds.tuning import Chosen, best_of, paths
from crossview.comparing.folds.work import FoldScore, finish_fold, tune_settings
from crossview.comparing.result.comparison import ComparisonObserver
from crossview.comparing.result.ranking import NOT_COMPARED, ComparisonRow, LeftOut
from crossview.comparing.run import Run
from crossview.jobs.jobs import Call, Jobs
from crossview.labels import Threshold
from crossview.scoring.metrics import signed_score
from crossview.scoring.results import in_digits

# without two, nothing is known of the differences between folds
FEWEST_FOLDS = 2
# a machine that is less busy is not worth a word
MOST_TO_SAY = 1.25


class Resources(NamedTuple):
    """Workers, observer and clock of a comparison.

    clock: what is left of the budget.
    """

    jobs: Jobs
    observer: ComparisonObserver
    clock: Clock


class Job(NamedTuple):
    """Key of a call to a worker: a part of one fold for one learner.

    kind {"tune", "finish"}: choose a setting, or train with it and score.
    seconds: what it takes, by the guess.
    rows: of its largest fit.
    """

    kind: str
    fold: int
    seconds: float
    rows: float
    name: str


@dataclass
class OpenFold:
    """A fold that has begun and is not finished.

    rows: its rows; they are kept as long as there are tasks for them.
    parts: in how many tasks the settings of each learner are tried.
    found: the best setting of each of these tasks that is done.
    """

    rows: Fold
    parts: dict[str, int] = field(default_factory=dict)
    found: defaultdict[str, list[Chosen]] = field(default_factory=lambda: defaultdict(list))

    def add(self, name: str, chosen: Chosen) -> Chosen | None:
        """Take the best setting of a part; return the best of all once they are all there."""
        self.found[name].append(chosen)
        return None if self.still_tunes(name) else best_of(self.found[name])

    def still_tunes(self, name: str) -> bool:
        """Return whether the setting of a learner is not chosen yet."""
        return len(self.found[name]) < self.parts[name]


class FoldComparison:
    """A comparison by folds, as far as it has come.

    The jobs wait in one queue.  A fold begins with those that choose settings.  When the setting
    of a learner is chosen, it is trained and scored next.  The next fold begins before the queue is
    empty, so that no worker waits for the last job of a fold.

    data: the rows of all folds.
    first: the rows of the first one, if it is encoded already; it is kept until it is used.
    scores: by the name of the learner, and the position of the fold.
    """

    def __init__(self, run: Run, data: Data, first: Fold | None, resources: Resources) -> None:
        self.run, self.data, self.n_splits = run, data, len(data.splits)
        self.first, self.number = first, 0
        self._next: Future[Fold] | None = None
        self.jobs, self.observer, self.clock = resources
        self.planner = Planner(run, self.n_splits, self.jobs.n_workers, self.clock)
        self.learners = {learner.name: learner for learner in run.learners}
        self.scores: dict[str, dict[int, FoldScore]] = {name: {} for name in self.learners}
        self.queue: deque[Call] = deque()
        self.pending: Counter[Job] = Counter()
        self.open: dict[int, OpenFold] = {}
        self.total = math.nan
        self.said: set[str] = set()
        self.begun: set[tuple[str, int]] = set()  # classes and efforts of learners
        # whether there is an ensemble of the models, and its scores
        self.blends, self.of_ensemble = False, dict[int, FoldScore]()

    def rounds(self) -> Iterator[int]:
        """Run all tasks; yield the number of finished folds, from two to all but one."""
        if self.clock.budget < math.inf:
            self.first = self.first or self.data.encode(0)
            self.planner.guess(self.first)
        yield from self._all_folds()
        if self.planner.costs and self.n_folds == self.n_splits:
            kept = self._kept()
            best = max(kept, key=lambda name: sum(one.inner for one in kept[name]))
            if names := self.planner.that_fit(self.planner.curve(best)):
                self._compare_after_all(names)
                yield self.n_folds

    def _compare_after_all(self, names: list[str]) -> None:
        """Compare learners that were dropped, because there is time left."""
        run = replace(self.run, learners=[self.learners[name] for name in names])
        resources = Resources(self.jobs, self.observer, self.clock)
        others = FoldComparison(run, self.data, None, resources)
        others.planner = self.planner.go_on(run)
        for _ in others._all_folds():
            pass
        for name, scores in others.scores.items():
            if len(scores) == self.n_splits:
                self.scores[name] = scores
                self.planner.take_back(name, others.planner)

    def _all_folds(self) -> Iterator[int]:
        done, few = FEWEST_FOLDS - 1, 2 * self.jobs.n_workers
        self.planner.replan(0, {})
        with ThreadPoolExecutor(1) as thread:  # encodes the next fold while the workers work
            self._look_ahead(thread)
            while self.queue or self._begin():
                results = self.jobs.run(self._waiting())
                for job, (result, took) in self.planner.failed.drop(results):
                    self._handle(job, result, took)
                    if len(self.queue) < few and self._next is not None and self._next.done():
                        self._begin()
                    self._look_ahead(thread)
                    if done < self.n_folds < self.n_splits:
                        done = self.n_folds
                        yield done
                self._look_ahead(thread)

    def _look_ahead(self, thread: ThreadPoolExecutor) -> None:
        """Let the thread encode the next fold, unless two are in memory."""
        kept = [self.scores[name] for name in self._kept_names()]
        self.open = {
            f: fold for f, fold in self.open.items() if any(f not in scores for scores in kept)
        }
        there = self._next is not None or self.number == self.n_splits
        if len(self.open) < 2 and not there:
            self._next = thread.submit(self._encode, self.number, self.planner.tries("bins"))

    def _encode(self, f: int, bins: bool) -> Fold:
        """Encode a fold, with bins of the numbers if they are tried; the first one may be there."""
        start = time.monotonic()
        fold, self.first = self.first, None
        if fold is None:
            fold = self.data.encode(f, bins)
            self.planner.encoding = time.monotonic() - start
        elif bins:
            self.data.add_bins(f, fold)
        return fold

    def _waiting(self) -> Iterator[Call]:
        """Yield tasks as long as there are any; threads of joblib ask for them."""
        while self.queue:
            call = self._next_call()
            job: Job = call.key
            dropped = self.planner.is_dropped(job.name) or (
                job.kind == "tune" and self.planner.gives_up(job.name, job.fold, True)
            )
            if not dropped:
                # a duration: the clock of a worker may be another one; what is planned is allowed
                planned = self.planner.by_what_is_known(job.seconds, job.name, job.rows)
                seconds = max(self.clock.remaining, planned)
                yield call._replace(arguments=(*call.arguments, seconds))

    def _begin(self) -> bool:
        """Put the tasks of the next fold into the queue; False if there is none, or no time."""
        f, rows = self.number, self._next
        if rows is None or (f >= FEWEST_FOLDS and self.clock.remaining < 0.0):
            return False
        if f and self.planner.costs:
            self._say_of_the_machine()
        begun = _seconds_of(self.pending, self.open.values(), self.planner)
        if f and not self.planner.replan(f, begun):
            return False
        fold = OpenFold(rows.result())
        self._next, self.number = None, f + 1
        self.total = self.planner.done + self.planner.plan.seconds
        self.open[f] = fold
        jobs = []
        kept = self._kept_names()
        for name in [name for name in self.planner.costs if name in kept] or kept:
            learner = self.learners[name]
            tuning = self.planner.tuning(name)
            groups = paths(learner, list(enumerate(learner.candidates(self.run.grid))))
            # in as many parts as there are workers; halving needs the settings together
            parts = 1 if tuning.halving else min(self.jobs.n_workers, len(groups))
            fold.parts[name] = parts
            for part in range(parts):
                some = [setting for group in groups[part::parts] for setting in group]
                expected = self.planner.expect(name, "tune") / parts
                jobs.append((expected, self._call("tune", f, name, expected, some, tuning)))
        if f or not self.planner.costs:  # the first fold has those first that bring most
            jobs.sort(key=lambda one: -one[0])
        self.queue.extend(call for _, call in jobs)
        return True

    def _next_call(self) -> Call:
        """Take the next call from the queue.

        Where a learner of the same class is at work, which has not told yet how long it takes,
        others come before.
        """
        costs = self.planner.costs

        def waits(call: Call) -> bool:
            name = call.key.name
            return self._kind(name) in self.begun and costs[name].told is None

        first = next((i for i, call in enumerate(self.queue) if not (costs and waits(call))), 0)
        call = self.queue[first]
        del self.queue[first]
        self.begun.add(self._kind(call.key.name))
        return call

    def _kind(self, name: str) -> tuple[str, int]:
        """Return the class and the effort of a learner."""
        return self.learners[name].path, self.learners[name].effort

    def _call(self, kind: str, f: int, name: str, seconds: float, *given: Any) -> Call:
        """Return a job, which takes about so long, as a call."""
        job = Job(kind, f, *self.planner.of_guess(seconds, name, kind), name)
        self.pending[job] += 1
        function = tune_settings if kind == "tune" else finish_fold
        return Call(job, function, (self.run, self.learners[name], self.open[f].rows, *given))

    def _handle(self, job: Job, result: Any, took: Took) -> None:
        """Take a result, and put the job that follows from it at the head of the queue."""
        kind, f, _, _, name = job
        self.pending[job] -= 1
        self.planner.add(name, took, job.seconds, job.rows)
        if self.planner.is_dropped(name):
            return
        if kind == "finish":
            self.scores[name][f] = result
            self.planner.inner.setdefault(name, result.inner)
        done = self.planner.done
        words = f"fold {f + 1} of {self.n_splits}: {name}{self._best_so_far()}"
        self.observer.progress(done, max(self.total, done), words)
        if kind == "finish":
            return
        if (chosen := self.open[f].add(name, result)) is not None:
            if f == 0:
                if self.planner.gives_up(name, 0, False):
                    return
                self.planner.give_up_rows(name)
            expected = self.planner.expect(name, "finish")
            given = chosen, self.planner.tuning(name)
            self.queue.appendleft(self._call("finish", f, name, expected, *given))

    def _best_so_far(self) -> str:
        """Return the best model of the first fold in words, until there is a table."""
        metric, scores = self.run.metric, {n: of[0] for n, of in self.scores.items() if 0 in of}
        if not scores or self.n_folds >= FEWEST_FOLDS:
            return ""
        best = max(scores, key=lambda name: signed_score(metric, scores[name].value))
        return f"; best so far: {best}, {metric} {in_digits(scores[best].value)}"

    def _say_of_the_machine(self) -> None:
        """Say once that the machine compiles, and that it is busy."""
        clock = self.clock
        if clock.compiled > compiling.SECONDS_UNTOLD and "compiled" not in self.said:
            self.said.add("compiled")
            self.observer.say(f"compiled for this machine, once, in {clock.compiled:.0f} s")
        if clock.slowness > MOST_TO_SAY and "busy" not in self.said:
            self.said.add("busy")
            seconds = clock.budget + clock.compiled
            self.observer.note(
                f"the machine is busy with something else: it takes about "
                f"{clock.slowness * seconds:.0f} s instead of {seconds:.0f} s"
            )

    @property
    def n_folds(self) -> int:
        """Folds that all learners have finished, from the first one on."""
        kept = [self.scores[name] for name in self._kept_names()]
        return next(f for f in count() if any(f not in scores for scores in kept)) if kept else 0

    def _kept_names(self) -> list[str]:
        return [name for name in self.learners if not self.planner.is_dropped(name)]

    def _kept(self) -> dict[str, list[FoldScore]]:
        """The scores of the folds that all learners have finished."""
        folds = range(self.n_folds)
        return {name: [self.scores[name][f] for f in folds] for name in self._kept_names()}

    def rows(self, cv: int) -> list[ComparisonRow]:
        """Return the rows of the answer, of the folds that all have finished."""
        kept = self._kept()
        rows = [_summary(self.learners[name], scores, self.run) for name, scores in kept.items()]
        if self.blends:
            rows += self._ensemble(rows, list(range(self.n_folds)), cv)
        return rows

    @property
    def left_out(self) -> list[LeftOut]:
        """What failed and what the budget did not allow; of models that were ahead, that too."""
        return [
            replace(one, what=one.what + self._ahead(one.model))
            if one.what.startswith(NOT_COMPARED)
            else one
            for one in self.planner.left_out
        ]

    def _ahead(self, name: str) -> str:
        """Return that a dropped learner was the best one of the folds that it finished."""
        folds = [f for f in self.scores[name] if f < self.n_folds]
        if not folds:
            return ""

        def mean(of: str) -> float:
            return float(np.mean([self.scores[of][f].value for f in folds]))

        mine, metric = mean(name), self.run.metric
        best = max(signed_score(metric, mean(other)) for other in self._kept_names())
        if signed_score(metric, mine) <= best:
            return ""
        where = "the first fold" if len(folds) == 1 else f"{len(folds)} folds"
        return f", though the best single model of {where} ({metric} {in_digits(mine)})"

    def _ensemble(
        self, rows: list[ComparisonRow], folds: list[int], cv: int
    ) -> list[ComparisonRow]:
        """Return the row of the ensemble, where there is one; its scores are kept."""
        rows = [row for row in rows if can_blend(self.learners[row.model])]
        scores = {row.model: self.scores[row.model] for row in rows}
        found = blend_folds(self.run, self.data, scores, folds, cv)
        if found is None:
            return []
        self.of_ensemble = dict(enumerate(found[0]))
        return [self.row_of_ensemble(*found, rows)]

    def row_of_ensemble(
        self,
        scores: list[FoldScore],
        blend: Blend,
        threshold: Threshold | None,
        rows: list[ComparisonRow],
    ) -> ComparisonRow:
        """Return the row of an ensemble of these rows, by its scores fold by fold."""
        entry = find_learner(ENSEMBLE, self.run.problem.name, self.data.layout.names)
        if threshold is not None:
            threshold = self.run.problem.of_other_side(threshold)
        return ensemble_row(_summary(entry, scores, self.run), blend, threshold, rows)


def _seconds_of(
    pending: Mapping[Job, int], folds: Iterable[OpenFold], planner: Planner
) -> dict[str, float]:
    """Seconds that learners have still to take for the folds that have begun."""
    seconds: dict[str, float] = defaultdict(float)
    for job, n in pending.items():
        seconds[job.name] += n * planner.by_what_is_known(job.seconds, job.name, job.rows)
    for fold in folds:
        for name in fold.parts:
            if fold.still_tunes(name) and not planner.is_dropped(name):
                seconds[name] += planner.expect(name, "finish")
    return seconds


def _summary(learner: Learner, scores: list[FoldScore], run: Run) -> ComparisonRow:
    """Return the row of a learner, with its means over the folds."""
    confusions = [score.confusion for score in scores if score.confusion is not None]
    return ComparisonRow(
        title=learner.title,
        model=learner.name,
        effort=learner.effort,
        baseline=learner.baseline,
        rows_per_second=float(np.median([score.rows_per_second for score in scores])),
        predicted_per_second=float(np.median([score.predicted_per_second for score in scores])),
        scores=[score.value for score in scores],
        inner=[score.inner for score in scores],
        others={name: [score.others[name] for score in scores] for name in run.problem.shown},
        chosen=[score.setting for score in scores],
        thresholds=[one.threshold for one in scores if isinstance(one.threshold, float)],
        untuned_scores=[score.untuned for score in scores if not math.isnan(score.untuned)],
        passes=[score.passes for score in scores],
        shares=[score.learned for score in scores],
        confusion=np.sum(confusions, axis=0).tolist() if confusions else None,
    ).by_folds(len(scores), in_order=run.in_order)
