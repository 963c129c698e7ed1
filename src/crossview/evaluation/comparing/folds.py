"""Comparing by folds: rounds of tasks, within a budget of time."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from crossview.catalog.learner import Learner
from crossview.evaluation.comparing.jobs import Call, Jobs
from crossview.evaluation.comparing.observer import ComparisonObserver
from crossview.evaluation.comparing.parts import Data, Fold
from crossview.evaluation.comparing.planner import Planner
from crossview.evaluation.comparing.probing import probe
from crossview.evaluation.comparing.run import Run
from crossview.evaluation.comparing.splits import FoldRows
from crossview.evaluation.comparing.tuning import Chosen, best_of, paths
from crossview.evaluation.comparing.work import (
    FoldScore,
    finish_fold,
    tune_settings,
)
from crossview.evaluation.result import ComparisonRow

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
    first : Fold or None
        The rows of the first one, if it is encoded already; it is kept until it is used.
    resources : Resources
        Workers, observer and deadline.

    Attributes
    ----------
    scores : dict of str to list of FoldScore
        Fold by fold, by the name of the learner.
    planner : Planner
        What the budget allows.
    """

    def __init__(
        self,
        run: Run,
        data: Data,
        splits: Sequence[FoldRows],
        first: Fold | None,
        resources: Resources,
    ) -> None:
        self.run, self.data, self.splits, self.first = run, data, splits, first
        self.jobs, self.observer, deadline = resources
        self.planner = Planner(run, len(splits), self.jobs.n_workers, deadline)
        self.learners = {learner.name: learner for learner in run.learners}
        self.scores: dict[str, list[FoldScore]] = {name: [] for name in self.learners}

    def rounds(self) -> Iterator[int]:
        """Run all rounds; yield the number of finished folds, from two on."""
        if self.planner.deadline < math.inf:
            self.first = self.first or self._fold(0)
            probe(self.run, self.first, self.planner, self.jobs, self.observer)
        yield from self._all_folds()
        if self.planner.costs.known and self.n_folds == len(self.splits):
            kept = self._kept()
            best = max(kept, key=lambda name: sum(score.inner for score in kept[name]))
            if names := self.planner.that_fit(self.planner.curve(best)):
                self._compare_after_all(names)
                yield self.n_folds

    def _compare_after_all(self, names: list[str]) -> None:
        """Compare learners that were dropped, because there is time left."""
        run = replace(self.run, learners=[self.learners[name] for name in names])
        resources = Resources(self.jobs, self.observer, self.planner.deadline)
        others = FoldComparison(run, self.data, self.splits, None, resources)
        others.planner = self.planner.go_on(run)
        for _ in others._all_folds():
            pass
        for name, scores in others.scores.items():
            if len(scores) == len(self.splits):
                self.scores[name] = scores
                self.planner.take_back(name, others.planner)

    def _all_folds(self) -> Iterator[int]:
        fold: Fold | None = self.first or self._fold(0)
        self.first = None
        before: tuple[Fold, dict[str, Chosen]] | None = None
        with ThreadPoolExecutor(1) as thread:  # encodes the next fold while the workers work
            for f in range(len(self.splits) + 1):
                if f >= FEWEST_FOLDS and time.time() > self.planner.deadline:
                    fold = None
                more = fold is not None and f + 1 < len(self.splits)
                following = thread.submit(self._fold, f + 1) if more else None
                chosen = self._round(f, fold, before)
                if fold is None:
                    break
                before = fold, chosen
                fold = following.result() if following else None
                if self.n_folds >= FEWEST_FOLDS:
                    yield self.n_folds

    def _fold(self, f: int) -> Fold:
        start = time.time()
        fold = self.data.fold(self.splits[f])
        self.planner.encoding = time.time() - start
        return fold

    def _round(
        self, f: int, fold: Fold | None, before: tuple[Fold, dict[str, Chosen]] | None
    ) -> dict[str, Chosen]:
        """Choose the settings of a fold, and train and score the one before it."""
        if fold is not None:
            self.planner.replan(f, [] if before is None else [*before[1]])
        calls = self._finishing(before) + ([] if fold is None else self._tuning(fold))
        calls.sort(key=lambda one: -one[0])
        self.planner.costs.start(calls)
        found: dict[str, list[Chosen]] = {}
        total = self.planner.costs.done + self.planner.plan.seconds
        words = f"fold {min(f + 1, len(self.splits))} of {len(self.splits)}"
        results = self.jobs.run([call for _, call in calls])
        for (kind, name), (result, seconds) in self.planner.failed.drop(results):
            self.planner.costs.add(name, seconds)
            done = self.planner.costs.done
            self.observer.progress(done, max(total, done), f"{words}: {name}")
            if kind == "tune":
                found.setdefault(name, []).append(result)
            else:
                self.scores[name].append(result)
        self.planner.costs.correct()
        return {name: best_of(some) for name, some in found.items()}

    def _finishing(self, before: tuple[Fold, dict[str, Chosen]] | None) -> list[tuple[float, Call]]:
        if before is None:
            return []
        fold, chosen = before
        calls = []
        for name, choice in chosen.items():
            if self.planner.is_dropped(name):
                continue
            tuning, deadline = self.planner.tuning(name), self.planner.deadline
            given = (self.run, self.learners[name], fold, choice, tuning, deadline)
            call = Call(("finish", name), finish_fold, given)
            calls.append((self.planner.expect(name, "finish"), call))
        return calls

    def _tuning(self, fold: Fold) -> list[tuple[float, Call]]:
        """The settings in as many parts as there are workers; halving needs them together."""
        calls = []
        for name, learner in self.learners.items():
            if self.planner.is_dropped(name):
                continue
            settings = list(enumerate(learner.candidates(self.run.grid)))
            groups, tuning = paths(learner, settings), self.planner.tuning(name)
            parts = 1 if tuning.halving else min(self.jobs.n_workers, len(groups))
            for part in range(parts):
                some = [setting for group in groups[part::parts] for setting in group]
                given = (self.run, learner, fold, some, tuning, self.planner.deadline)
                expected = self.planner.expect(name, "tune") / parts
                calls.append((expected, Call(("tune", name), tune_settings, given)))
        return calls

    @property
    def n_folds(self) -> int:
        """Folds that all learners have finished."""
        return min((len(scores) for scores in self._kept().values()), default=0)

    def _kept(self) -> dict[str, list[FoldScore]]:
        return {name: s for name, s in self.scores.items() if not self.planner.is_dropped(name)}

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
