"""Comparing by folds: rounds of tasks, within a budget of time."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from crossview.catalog.learner import Learner
from crossview.evaluation.comparing.jobs import Call, Jobs
from crossview.evaluation.comparing.observer import ComparisonObserver
from crossview.evaluation.comparing.parts import Data, Fold
from crossview.evaluation.comparing.plan import LEVELS, Cost, Plan, in_words, make_plan
from crossview.evaluation.comparing.run import Run
from crossview.evaluation.comparing.splits import FoldRows
from crossview.evaluation.comparing.tuning import Chosen, best_of, paths
from crossview.evaluation.comparing.work import (
    FoldScore,
    Probe,
    finish_fold,
    probe_learner,
    tune_settings,
)
from crossview.evaluation.result import ComparisonRow, LeftOut

__all__ = ["FoldComparison", "Resources"]

# of the time of all workers, the rest waits for the last task of a round
EFFICIENCY = 0.85
# without two, nothing is known of the differences between folds
FEWEST_FOLDS = 2
# compiling for less than this counts as any other work
MOST_SECONDS_TO_LOAD = 3.0


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


class FoldComparison:
    """A comparison by folds, as far as it has come.

    Round k chooses the settings of fold k, and trains and scores fold k - 1 with those chosen in
    the round before.  So no worker waits for the other half of a fold.

    Parameters
    ----------
    run : Run
        What is compared, and how.
    data : Data
        The rows.
    splits : list of FoldRows
        The folds.
    first : Fold
        The rows of the first one.
    resources : Resources
        Workers, observer and deadline.

    Attributes
    ----------
    scores : dict of str to list of FoldScore
        Fold by fold, by the name of the learner.
    left_out : list of LeftOut
        What the budget does not allow.
    """

    def __init__(
        self,
        run: Run,
        data: Data,
        splits: Sequence[FoldRows],
        first: Fold,
        resources: Resources,
    ) -> None:
        self.run, self.data, self.splits, self.first = run, data, splits, first
        self.jobs, self.observer, self.deadline = resources
        self.learners = {learner.name: learner for learner in run.learners}
        self.settings = {
            name: list(enumerate(learner.candidates(run.grid)))
            for name, learner in self.learners.items()
        }
        self.costs: dict[str, Cost] = {}
        self.values: dict[str, float] = {}
        self.plan = Plan(dict.fromkeys(self.learners, LEVELS[0]))
        self.scores: dict[str, list[FoldScore]] = {name: [] for name in self.learners}
        self.saved: dict[str, tuple[str, float]] = {}
        self.took = dict.fromkeys(self.learners, 0.0)
        self.expected = dict.fromkeys(self.learners, 0.0)
        self.done = 0.0
        self.encoding = 0.0

    def rounds(self) -> Iterator[int]:
        """Run all rounds; yield the number of finished folds, from two on."""
        fold: Fold | None = self.first
        if self.deadline < math.inf:
            assert fold is not None
            self._probe(fold)
        before: tuple[Fold, dict[str, Chosen]] | None = None
        for f in range(len(self.splits) + 1):
            if f >= FEWEST_FOLDS and time.time() > self.deadline:
                fold = None
            chosen = self._round(f, fold, before)
            if fold is None:
                break
            before = fold, chosen
            fold = self._fold(f + 1) if f + 1 < len(self.splits) else None
            if self.n_folds >= FEWEST_FOLDS:
                yield self.n_folds

    def _fold(self, f: int) -> Fold:
        start = time.time()
        fold = self.data.fold(self.splits[f], self.first.X_more is not None)
        self.encoding = time.time() - start
        return fold

    def _probe(self, fold: Fold) -> None:
        """Estimate what each learner costs, by a first slice of the first training part."""
        self.observer.say("estimating the cost of each model on a first slice of the rows")
        compiled = 0.0
        calls = [
            Call(name, probe_learner, (self.run, learner, fold))
            for name, learner in self.learners.items()
        ]
        for name, probe in self.jobs.run(calls):
            self._add_cost(name, fold, probe)
            compiled += probe.compiled / self.jobs.n_workers
        if compiled > MOST_SECONDS_TO_LOAD:
            self.observer.say(f"compiled for this machine, once, in {compiled:.0f} s")
            self.deadline += compiled

    def _add_cost(self, name: str, fold: Fold, probe: Probe) -> None:
        learner = self.learners[name]
        once = learner.stops_early or not learner.streams
        self.costs[name] = Cost.of_probe(
            probe,
            n_settings=len(self.settings[name]),
            n_splits=1 if once else len(fold.inner),
            n_inner=len(fold.inner[0][0]),
            n_train=len(fold.y_train),
            n_refined=sum(
                len(self.run.grid.get(key, values)) for key, values in learner.refined.items()
            ),
        )
        self.values[name] = probe.value

    def _round(
        self, f: int, fold: Fold | None, before: tuple[Fold, dict[str, Chosen]] | None
    ) -> dict[str, Chosen]:
        """Choose the settings of a fold, and train and score the one before it."""
        if fold is not None:
            self._make_plan(f)
        calls = self._finishing(before) + ([] if fold is None else self._tuning(f, fold))
        calls.sort(key=lambda one: -one[0])
        found: dict[str, list[Chosen]] = {}
        total = self.done + self.plan.seconds
        words = f"fold {min(f + 1, len(self.splits))} of {len(self.splits)}"
        for name, seconds in self._expected_of(calls).items():
            self.expected[name] += seconds
        for (kind, name), (result, seconds) in self.jobs.run([call for _, call in calls]):
            self.done += seconds
            self.observer.progress(self.done, max(total, self.done), f"{words}: {name}")
            if kind == "tune":
                found.setdefault(name, []).append(result)
            else:
                self.scores[name].append(result)
            self.took[name] += seconds
        self._learn_costs()
        return {name: best_of(some) for name, some in found.items()}

    def _finishing(self, before: tuple[Fold, dict[str, Chosen]] | None) -> list[tuple[float, Call]]:
        if before is None:
            return []
        fold, chosen = before
        calls = []
        for name, choice in chosen.items():
            if name in self.plan.dropped:
                continue
            tuning = self.plan.tuning[name]
            given = (self.run, self.learners[name], fold, choice, tuning, self.deadline)
            calls.append((self._expect(name, "finish"), Call(("finish", name), finish_fold, given)))
        return calls

    def _tuning(self, f: int, fold: Fold) -> list[tuple[float, Call]]:
        """The settings in as many parts as there are workers; halving needs them together."""
        calls = []
        for name, learner in self.learners.items():
            if name in self.plan.dropped:
                continue
            groups, tuning = paths(learner, self.settings[name]), self.plan.tuning[name]
            parts = 1 if tuning.halving else min(self.jobs.n_workers, len(groups))
            for part in range(parts):
                some = [setting for group in groups[part::parts] for setting in group]
                given = (self.run, learner, fold, some, tuning, self.deadline)
                expected = self._expect(name, "tune") / parts
                calls.append((expected, Call(("tune", name), tune_settings, given)))
        return calls

    def _expect(self, name: str, kind: str) -> float:
        """Seconds that a task takes; without a budget, the settings tell which take longest."""
        cost = self.costs.get(name)
        if cost is None:
            return float(len(self.settings[name]))
        tuning = self.plan.tuning[name]
        return cost.tune(tuning) if kind == "tune" else cost.finish(tuning)

    def _expected_of(self, calls: list[tuple[float, Call]]) -> dict[str, float]:
        """What the estimate of the first slice says of some tasks, by learner."""
        seconds: dict[str, float] = {}
        for expected, call in calls:
            name = call.key[1]
            if name in self.costs:
                expected /= self.costs[name].correction
                seconds[name] = seconds.get(name, 0.0) + expected
        return seconds

    def _make_plan(self, f: int) -> None:
        """Plan the folds that are left, by what those before took."""
        if not self.costs:
            left = len(self.splits) - f
            self.plan.seconds = self.done / f * left if f else math.nan
            return
        folds_left = len(self.splits) - f
        costs = {name: cost for name, cost in self.costs.items() if name not in self.plan.dropped}
        seconds = self.deadline - time.time() - self.encoding * (folds_left - 1)
        before = self.plan.dropped
        self.plan = make_plan(
            costs,
            self.values,
            dict.fromkeys(costs, folds_left),
            EFFICIENCY * self.jobs.n_workers * max(0.0, seconds),
        )
        for name in self.plan.dropped:
            whole = self.costs[name].fold(LEVELS[0]) * folds_left
            done = len(self.scores[name])
            what = "not compared" + (f" after {done} fold{'s' * (done > 1)}" if done else "")
            self.saved[name] = what, whole
        for name, tuning in self.plan.tuning.items():
            if words := in_words(tuning, self.costs[name]):
                cost = self.costs[name]
                more = cost.tune(LEVELS[0]) - cost.tune(tuning)
                self.saved[name] = words, self.saved.get(name, ("", 0.0))[1] + more
        self.plan.dropped |= before

    def _learn_costs(self) -> None:
        """Correct what the learners cost by what they took."""
        for name, cost in self.costs.items():
            if self.expected[name] > 0.0:
                cost.correction = self.took[name] / self.expected[name]

    @property
    def left_out(self) -> list[LeftOut]:
        """What the budget did not allow, in the order of the learners."""
        return [LeftOut(name, *self.saved[name]) for name in self.learners if name in self.saved]

    def allows_curve(self, name: str) -> bool:
        """Return whether there is time for the learning curve of a learner."""
        if name not in self.costs:
            return True
        cost = self.costs[name]
        seconds = len(self.splits) * (cost.n_splits + 1) * cost.fit(cost.n_train)
        return time.time() + seconds / self.jobs.n_workers < self.deadline

    @property
    def n_folds(self) -> int:
        """Folds that all learners have finished."""
        return min((len(scores) for scores in self._kept().values()), default=0)

    def _kept(self) -> dict[str, list[FoldScore]]:
        return {name: s for name, s in self.scores.items() if name not in self.plan.dropped}

    def rows(self) -> list[ComparisonRow]:
        """Return the rows of the answer, of the folds that all have finished."""
        return [
            _summary(self.learners[name], scores[: self.n_folds], self.run)
            for name, scores in self._kept().items()
        ]


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
        yardstick=learner.yardstick,
        value=float(np.mean(values)),
        std=float(np.std(values, ddof=1)) if len(values) > 1 else math.nan,
        **means,
        threshold=float(np.median(thresholds)) if thresholds else math.nan,
        untuned=float(np.mean(untuned)) if untuned else math.nan,
        epochs=round(float(np.median([score.passes for score in scores]))),
        rows_per_second=float(np.median([score.rows_per_second for score in scores])),
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
