"""Comparing by folds: one queue of tasks, within a budget of time."""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from crossview.catalog.learner import Learner
from crossview.comparing.budget.planner import Planner
from crossview.comparing.budget.probing import probe
from crossview.comparing.comparison import ComparisonRow
from crossview.comparing.folds.jobs import Call, Jobs
from crossview.comparing.folds.parts import Fold, FoldSource
from crossview.comparing.folds.tuning import Chosen, best_of, paths
from crossview.comparing.folds.work import (
    FoldScore,
    finish_fold,
    tune_settings,
)
from crossview.comparing.observer import ComparisonObserver
from crossview.comparing.run import Run

__all__ = ["FoldComparison", "Resources"]

# without two, nothing is known of the differences between folds
FEWEST_FOLDS = 2


class Resources(NamedTuple):
    """What a comparison may use.

    Attributes
    ----------
    jobs : Jobs
        The workers.
    observer : ComparisonObserver
        Is told how it goes.
    deadline : float
        By the clock; infinity: it may take whatever it takes.
    """

    jobs: Jobs
    observer: ComparisonObserver
    deadline: float = math.inf


class Task(NamedTuple):
    """What a task is for: its key.

    Attributes
    ----------
    kind : {"tune", "finish"}
        Choose a setting, or train with it and score.
    fold : int
        Position of the fold.
    seconds : float
        What it takes, if the first slice of the rows is right.
    rows : float
        Of its largest fit.
    name : str
        The learner.
    """

    kind: str
    fold: int
    seconds: float
    rows: float
    name: str


@dataclass
class OpenFold:
    """A fold that has begun and is not finished.

    Attributes
    ----------
    rows : Fold
        Its rows; they are kept as long as there are tasks for them.
    parts : dict of str to int
        In how many tasks the settings of each learner are tried.
    found : dict of str to list of Chosen
        The best setting of each of these tasks that is done.
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


class NextFold:
    """The fold after those that have begun; a thread encodes it while the workers work.

    Parameters
    ----------
    source : FoldSource
        The rows of all folds.
    first : Fold or None
        The rows of the first one, if it is encoded already.

    Attributes
    ----------
    number : int
        Its position.
    seconds : float
        What encoding took.
    """

    def __init__(self, source: FoldSource, first: Fold | None) -> None:
        self.source, self.first = source, first
        self.number, self.seconds = 0, 0.0
        self._rows: Future[Fold] | None = None

    def encode(self, thread: ThreadPoolExecutor, bins: bool) -> None:
        """Let the thread encode it, with bins of the numbers if they are asked for."""
        if self._rows is None and self.number < len(self.source):
            self._rows = thread.submit(self._encode, bins)

    def _encode(self, bins: bool) -> Fold:
        start = time.time()
        fold, self.first = self.first, None
        if fold is None:
            fold = self.source.encode(self.number, bins)
            self.seconds = time.time() - start
        elif bins:
            self.source.add_bins(self.number, fold)
        return fold

    @property
    def is_there(self) -> bool:
        """Whether it is encoded."""
        return self._rows is not None and self._rows.done()

    def take(self) -> OpenFold | None:
        """Return it once it is encoded, and go on to the next one; None if nothing is encoded."""
        if self._rows is None:
            return None
        fold, self._rows = OpenFold(self._rows.result()), None
        self.number += 1
        return fold


class FoldComparison:
    """A comparison by folds, as far as it has come.

    The tasks wait in one queue.  A fold begins with those that choose settings.  When the setting
    of a learner is chosen, it is trained and scored next.  The next fold begins before the queue is
    empty, so that no worker waits for the last task of a fold.

    Parameters
    ----------
    run : Run
        What is compared, and how.
    source : FoldSource
        The rows of all folds.
    first : Fold or None
        The rows of the first one, if it is encoded already; it is kept until it is used.
    resources : Resources
        Workers, observer and deadline.

    Attributes
    ----------
    scores : dict of str to dict of int to FoldScore
        By the name of the learner, and the position of the fold.
    planner : Planner
        What the budget allows.
    """

    def __init__(
        self, run: Run, source: FoldSource, first: Fold | None, resources: Resources
    ) -> None:
        self.run, self.source, self.n_splits = run, source, len(source)
        self.next = NextFold(source, first)
        self.jobs, self.observer, deadline = resources
        self.planner = Planner(run, self.n_splits, self.jobs.n_workers, deadline)
        self.learners = {learner.name: learner for learner in run.learners}
        self.scores: dict[str, dict[int, FoldScore]] = {name: {} for name in self.learners}
        self.queue: deque[Call] = deque()
        self.pending: Counter[Task] = Counter()
        self.open: dict[int, OpenFold] = {}
        self.total = math.nan

    def rounds(self) -> Iterator[int]:
        """Run all tasks; yield the number of finished folds, from two to all but one."""
        if self.planner.deadline < math.inf:
            first = self.next.first = self.next.first or self.source.encode(0)
            probe(self.run, first, self.planner, self.jobs, self.observer)
            del first  # it is kept until it is used
        yield from self._all_folds()
        if self.planner.costs.known and self.n_folds == self.n_splits:
            kept = self._kept()
            best = max(kept, key=lambda name: sum(one.inner for one in kept[name]))
            if names := self.planner.that_fit(self.planner.curve(best)):
                self._compare_after_all(names)
                yield self.n_folds

    def _compare_after_all(self, names: list[str]) -> None:
        """Compare learners that were dropped, because there is time left."""
        run = replace(self.run, learners=[self.learners[name] for name in names])
        resources = Resources(self.jobs, self.observer, self.planner.deadline)
        others = FoldComparison(run, self.source, None, resources)
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
                for task, (result, seconds) in self.planner.failed.drop(results):
                    self._handle(task, result, seconds)
                    if len(self.queue) < few and self.next.is_there:
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
        if len(self.open) < 2:
            self.next.encode(thread, self.planner.tries("bins"))

    def _waiting(self) -> Iterator[Call]:
        """Yield tasks as long as there are any; threads of joblib ask for them."""
        while self.queue:
            call = self.queue.popleft()
            if not self.planner.is_dropped(call.key.name):
                yield call

    def _begin(self) -> bool:
        """Put the tasks of the next fold into the queue; False if there is none, or no time."""
        f = self.next.number
        late = f >= FEWEST_FOLDS and time.time() > self.planner.deadline
        fold = None if late else self.next.take()
        if fold is None:
            return False
        self.planner.encoding = self.next.seconds or self.planner.encoding
        if f:
            self.planner.replan(f, _seconds_of(self.pending, self.open.values(), self.planner))
        self.total = self.planner.costs.done + self.planner.plan.seconds
        self.open[f] = fold
        tasks = []
        for name in self._kept_names():
            learner = self.learners[name]
            tuning = self.planner.tuning(name)
            groups = paths(learner, tuning.tried(learner.candidates(self.run.grid)))
            # in as many parts as there are workers; halving needs the settings together
            parts = 1 if tuning.halving else min(self.jobs.n_workers, len(groups))
            fold.parts[name] = parts
            for part in range(parts):
                some = [setting for group in groups[part::parts] for setting in group]
                expected = self.planner.expect(name, "tune") / parts
                task = Task("tune", f, *self.planner.of_slices(expected, name, "tune"), name)
                given = (fold.rows, some, tuning, self.planner.deadline)
                tasks.append((expected, self._call(task, tune_settings, *given)))
        tasks.sort(key=lambda one: -one[0])
        self.queue.extend(call for _, call in tasks)
        return True

    def _call(self, task: Task, function: Callable[..., Any], *given: Any) -> Call:
        """Return a task as a call."""
        self.pending[task] += 1
        return Call(task, function, (self.run, self.learners[task.name], *given))

    def _handle(self, task: Task, result: Any, seconds: float) -> None:
        """Take a result, and put the task that follows from it at the head of the queue."""
        kind, f, _, _, name = task
        self.pending[task] -= 1
        self.planner.costs.add(name, seconds, task.seconds, task.rows)
        if self.planner.is_dropped(name):
            return
        done = self.planner.costs.done
        words = f"fold {f + 1} of {self.n_splits}: {name}"
        self.observer.progress(done, max(self.total, done), words)
        if kind == "finish":
            self.scores[name][f] = result
            return
        if (chosen := self.open[f].add(name, result)) is not None:
            tuning = self.planner.tuning(name)
            expected = self.planner.expect(name, "finish")
            finish = Task("finish", f, *self.planner.of_slices(expected, name, "finish"), name)
            given = (self.open[f].rows, chosen, tuning, self.planner.deadline)
            self.queue.appendleft(self._call(finish, finish_fold, *given))

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

    def rows(self) -> list[ComparisonRow]:
        """Return the rows of the answer, of the folds that all have finished."""
        return [
            _summary(self.learners[name], scores, self.run) for name, scores in self._kept().items()
        ]


def _seconds_of(
    pending: Mapping[Task, int], folds: Iterable[OpenFold], planner: Planner
) -> dict[str, float]:
    """Seconds that learners have still to take for the folds that have begun."""
    seconds: dict[str, float] = defaultdict(float)
    for task, n in pending.items():
        cost = planner.costs.known.get(task.name)
        seconds[task.name] += (
            n * task.seconds * (1.0 if cost is None else cost.correction(task.rows))
        )
    for fold in folds:
        for name in fold.parts:
            if fold.still_tunes(name) and not planner.is_dropped(name):
                seconds[name] += planner.expect(name, "finish")
    return seconds


def _summary(learner: Learner, scores: list[FoldScore], run: Run) -> ComparisonRow:
    """The row of a learner, with its means over the folds."""
    values = [score.value for score in scores]
    thresholds = [score.threshold for score in scores if score.threshold is not None]
    untuned = [score.untuned for score in scores if not math.isnan(score.untuned)]
    others = {name: [score.others[name] for score in scores] for name in run.task.shown}
    confusions = [score.confusion for score in scores if score.confusion is not None]
    means: dict[str, Any] = {name: float(np.mean(some)) for name, some in others.items()}
    return ComparisonRow(
        title=learner.title,
        model=learner.name,
        effort=learner.effort,
        learned=float(np.mean([score.learned for score in scores])),
        baseline=learner.baseline,
        value=float(np.mean(values)),
        std=float(np.std(values, ddof=1)) if len(values) > 1 else math.nan,
        **means,
        threshold=float(np.median(thresholds)) if thresholds else math.nan,
        untuned=float(np.mean(untuned)) if untuned else math.nan,
        epochs=round(float(np.median([score.passes for score in scores]))),
        rows_per_second=float(np.median([score.rows_per_second for score in scores])),
        predicted_per_second=float(np.median([score.predicted_per_second for score in scores])),
        setting=_most_frequent([score.setting for score in scores]),
        scores=values,
        inner=[score.inner for score in scores],
        others=others,
        chosen=[score.setting for score in scores],
        thresholds=thresholds,
        untuned_scores=untuned,
        confusion=np.sum(confusions, axis=0).tolist() if confusions else None,
    )


def _most_frequent(choices: list[dict[str, Any]]) -> dict[str, Any]:
    """The setting that was chosen most often; the first of equals."""
    return dict(Counter(tuple(c.items()) for c in choices).most_common(1)[0][0])
