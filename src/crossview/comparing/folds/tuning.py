"""Tuning of a learner inside a training part."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from crossview.catalog.learner import Learner
from crossview.comparing.candidates import quadratic_cost
from crossview.comparing.folds.parts import Fold
from crossview.comparing.folds.splits import Split, draw_rows
from crossview.comparing.run import Run
from crossview.compiling import seconds_of_work
from crossview.errors import DivergedError, InputError
from crossview.labels import known_labels
from crossview.scoring.metrics import is_bounded, least_rows, signed_score
from crossview.scoring.problems import Classification, Scored, join

# rows that choose the parameters of a learner that needs all rows in memory
MOST_ROWS_AT_ONCE = 20_000
# in successive halving, the first round has this share of the rows, and lets as many settings pass
HALVING = 4
# multiplications of a fit with an exact covariance of bins, at most a part of a second
MAX_COST_OF_BINS = 5e8
# a refinement has to gain more than this on the held-out rows
LEAST_GAIN = 0.002
# a quarter of the rows does not tell apart values that are this close; the calmest goes first
ROUGHLY = 0.01
# larger values of these mean a stronger penalty or smaller steps; of others, such as C, smaller do
CALMER = {"alpha", "r"}

# a setting, with its position among all of them
Numbered = tuple[int, dict[str, Any]]


class Tuning(NamedTuple):
    """Effort that a learner may spend on tuning.

    splits: how many of the inner splits; None: all of them.
    halving: whether all settings are tried on a quarter of the rows first, and the best quarter of
      them on all rows; of the values of one parameter the calmest that is about the best, and its
      neighbors as long as they are better, since with more rows the best value moves.
    share: share of the training rows that choose the setting.
    refined: whether further parameters are tried from the best setting on.
    learned: share of the training rows that the model learns from in the end.
    lighter: whether the model has the parameters of ``Learner.lighter``.
    """

    splits: int | None = None
    halving: bool = False
    share: float = 1.0
    refined: bool = True
    learned: float = 1.0
    lighter: bool = False


@dataclass
class Chosen:
    """A setting, and what the held-out rows of the inner validation say of it.

    value: the metric that chooses, on the held-out rows; higher is better.
    order: position among the settings that were tried; the first of equals is chosen.
    held_out: scores of the held-out rows, where they calibrate the learner.
    y, weight: their labels and weights.
    """

    setting: dict[str, Any]
    value: float = -math.inf
    order: int = 0
    held_out: Scored | None = None
    y: np.ndarray | None = None
    weight: np.ndarray | None = None


def best_of(chosen: Sequence[Chosen]) -> Chosen:
    """Return the best one; the first of equals, whatever the order in which they come."""
    return max(chosen, key=lambda one: (one.value, -one.order))


def paths(learner: Learner, settings: Sequence[Numbered]) -> list[list[Numbered]]:
    """Return the settings in groups that are fitted together: for most learners one each.

    Those of one group differ in parameters of ``Learner.fitted_together`` only.
    """
    groups: dict[Any, list[Numbered]] = {}
    for order, setting in settings:
        common = tuple((k, v) for k, v in setting.items() if k not in learner.fitted_together)
        groups.setdefault(common if learner.fitted_together else order, []).append((order, setting))
    return list(groups.values())


def calibrates_in_pass(run: Run, learner: Learner, setting: dict[str, Any]) -> bool:
    """Return whether a classifier is calibrated by the one pass that it makes."""
    passes = 1 if learner.one_pass else setting.get("epochs", run.epochs) or 1
    return not (learner.in_memory or learner.stops_early) and passes == 1


def can_refine(run: Run, learner: Learner, fold: Fold, name: str) -> bool:
    """Return whether a parameter of ``Learner.refined`` can be tried on these rows."""
    if name == "bins":
        if not fold.n_bins:
            return False
        cost = quadratic_cost(fold.X_train.layout.n_columns + fold.n_bins, len(fold.y_train))
        return not learner.quadratic or cost < MAX_COST_OF_BINS
    return name != "epochs" or run.epochs is None


class Tuner:
    """The inner validation of one learner in one training part.

    fold: the training part, with the rows that are learned and held out.
    tuning: what it may spend.
    seconds: no setting is started after so much work, but one is always tried, from the middle.
    """

    def __init__(
        self,
        run: Run,
        learner: Learner,
        fold: Fold,
        tuning: Tuning = Tuning(),  # noqa: B008 (a tuple)
        seconds: float = math.inf,
    ) -> None:
        self.run, self.learner, self.fold = run, learner, fold
        self.deadline = seconds_of_work() + seconds
        self.labels = fold.y_train
        self._eased = learner.tuning_params
        once = learner.stops_early or not learner.streams
        self.inner = fold.inner[: 1 if once else tuning.splits]
        self.tuning = tuning
        self.diverged: DivergedError | None = None
        self._order, self._of_a_pass = 0, 0.0
        # the rows of the inner splits, kept for the settings of the same share and encoding
        self._taken: dict[tuple[int, float, bool], tuple[Any, np.ndarray, Any, Any]] = {}

    def choose(self, settings: Sequence[Numbered]) -> Chosen:
        """Return the best of some settings."""
        if self.tuning.lighter:
            settings = [(order, {**self.learner.lighter, **one}) for order, one in settings]
        if self.tuning.halving and len(settings) > 1:
            some = self.evaluate(settings, self.inner[:1], self.tuning.share / HALVING)
            some.sort(key=lambda one: (-one.value, one.order))
            if self._is_scale():
                least = some[0].value - ROUGHLY * self._unit(some[0].value)
                calm = max if self.learner.grid.keys() <= CALMER else min
                start = calm(one.order for one in some if one.value >= least)
                return self._sound(self._climb(settings, start, [one.order for one in some]))
            best = some[: math.ceil(len(settings) / HALVING)]
            settings = [(one.order, one.setting) for one in sorted(best, key=lambda c: c.order)]
        return self._sound(best_of(self.evaluate(settings, self.inner, self.tuning.share)))

    def _is_scale(self) -> bool:
        """Return whether the settings are the values of one parameter, in their order."""
        values = [self.run.grid.get(name, own) for name, own in self.learner.grid.items()]
        numbers = [one for own in values for one in own if isinstance(one, int | float)]
        return len(values) == 1 and len(numbers) == len(values[0]) and numbers == sorted(numbers)

    def _climb(self, settings: Sequence[Numbered], start: int, ranks: list[int]) -> Chosen:
        """Return the best setting, from a position on to one side or the other.

        ranks: positions of all settings, the best of fewer rows first.
        """
        by_order = dict(settings)

        def at(order: int) -> Chosen:
            return self.evaluate([(order, by_order[order])], self.inner, self.tuning.share)[0]

        best = first = at(start)
        sides = [order - first.order for order in ranks if abs(order - first.order) == 1]
        for side in sides:
            while best.order + side in by_order and seconds_of_work() < self.deadline:
                other = at(best.order + side)
                if not other.value > best.value:
                    break
                best = other
            if best is not first:
                break
        return best

    def _sound(self, chosen: Chosen) -> Chosen:
        """Return the setting, unless its loss and so that of all others diverges."""
        if self.diverged is not None and chosen.value == -math.inf:
            raise self.diverged
        return chosen

    def refine(self, chosen: Chosen) -> Chosen:
        """Return the setting after trying further parameters, one after the other.

        The values of a parameter are tried as long as each is better than the one before, by more
        than chance brings about, and as there is time: what is refined costs more.
        """
        self._order, self._of_a_pass = chosen.order, 0.0
        for name in self.learner.refined if self.tuning.refined else ():
            if not can_refine(self.run, self.learner, self.fold, name) or (
                name == "bins" and self.fold.binned is None
            ):
                continue
            before = chosen
            for side in self.learner.sides(name, self.run.grid):
                chosen = self._refine(chosen, name, side)
                if chosen is not before:
                    break
        return chosen

    def _refine(self, chosen: Chosen, name: str, values: Sequence[Any]) -> Chosen:
        """Return the setting with the last value of a parameter that gains."""
        for value in values:
            setting = {**chosen.setting, name: value}
            start, passes = seconds_of_work(), setting.get("epochs", 1)
            if start + self._of_a_pass * passes > self.deadline:
                break
            self._order += 1
            other = self.evaluate([(self._order, setting)], self.inner, self.tuning.share)[0]
            self._of_a_pass = (seconds_of_work() - start) / passes
            if not other.value > chosen.value + LEAST_GAIN * self._unit(chosen.value):
                break
            chosen = other
        return chosen

    def settle(self, chosen: Chosen) -> Chosen:
        """Return the setting with the held-out rows of all rows that are learned.

        They place the threshold and calibrate.  A share of the rows is enough to choose a setting,
        and not for these: scores grow with the rows.  Nor is a wide tolerance by which all weights
        stay 0, and all scores are the same.
        """
        whole, held_out = self.tuning.learned, chosen.held_out
        says_nothing = held_out is not None and np.ptp(held_out.scores) == 0.0
        if self.tuning.share == whole and not (self._eased and says_nothing):
            return chosen
        if says_nothing:
            self._eased = {}
        return self._sound(self.evaluate([(chosen.order, chosen.setting)], self.inner, whole)[0])

    def _unit(self, value: float) -> float:
        """Return the unit of a gain: 1, or the value where the metric has no bound."""
        return 1.0 if is_bounded(self.run.problem.chosen_by) else abs(value)

    def evaluate(
        self, settings: Sequence[Numbered], inner: list[Split], share: float
    ) -> list[Chosen]:
        """Return the settings with what the held-out rows say, as far as the deadline allows.

        A setting that gets a threshold is judged at its best one, over the rows of all splits
        together.  So is one that is calibrated by them.  Those in the middle come first, because
        where there is no time for the others, the first one is the answer.
        """
        found: list[Chosen] = []
        groups = paths(self.learner, settings)
        middle = (len(groups) - 1) / 2
        for i in sorted(range(len(groups)), key=lambda i: abs(i - middle)):
            if found and seconds_of_work() > self.deadline:
                break
            path = groups[i]
            together = [setting for _, setting in path]
            try:
                scored = [self._score(together, split, i, share) for i, split in enumerate(inner)]
            except DivergedError as error:  # the last choice, where all others do so as well
                self.diverged = error
                found += [Chosen(setting, -math.inf, order) for order, setting in path]
                continue
            for position, (order, setting) in enumerate(path):
                own = [of_split[position] for of_split in scored]
                found.append(self._judge(order, setting, own, inner))
            for one in found:  # of the others nobody needs the scores
                if one is not best_of(found):
                    one.held_out = one.y = one.weight = None
        return found

    def _take(
        self, number: int, split: Split, share: float, setting: dict[str, Any]
    ) -> tuple[Any, np.ndarray, Any, Any]:
        """Return a share of the rows to learn, their labels and weights, and the rows held out.

        All unlabeled rows are among them.
        """
        fold = self.fold.of_setting(setting)
        key = number, share, fold is self.fold
        if any(other[1:] != key[1:] for other in self._taken):
            self._taken.clear()
        if key not in self._taken:
            X, y, weight = fold.training_rows(self.learner)
            unlabeled = np.arange(len(fold.y_train), len(y))
            rows = np.concatenate([self._draw(split[0], share), unlabeled])
            own = None if weight is None else weight[rows]
            self._taken[key] = X[rows], y[rows], own, X[split[1]]
        return self._taken[key]

    def _draw(self, train: np.ndarray, share: float) -> np.ndarray:
        most = max(1, round(share * len(train)))
        if not self.learner.streams:
            most = min(most, max(MOST_ROWS_AT_ONCE, 10 * least_rows(self.run.metric)))
        return train[draw_rows(self.run.problem, self.labels[train], most, self.run.seed)]

    def _score(
        self, settings: Sequence[dict[str, Any]], split: Split, number: int, share: float
    ) -> list[tuple[Any, Scored]]:
        """A model for each setting that learned one part, and its scores of the other."""
        run, common = self.run, settings[0]
        X_train, y_train, weight, X_test = self._take(number, split, share, common)
        model = make_model(run, self.learner, {**common, **self._eased})
        with warnings.catch_warnings():  # a setting that takes too long is judged as it is
            warnings.simplefilter("ignore", ConvergenceWarning)
            if self.learner.fitted_together:
                values = [
                    {name: one[name] for name in self.learner.fitted_together} for one in settings
                ]
                models = model.fit_path(X_train, y_train, values, weight)
            else:
                models = [model.fit(X_train, y_train, weight)]
        calibrates = self._calibrates(common)
        problem = run.problem
        if not (calibrates or problem.tunes) and problem.fixed_threshold is not None:
            for model in models:
                model.set_threshold(problem.fixed_threshold)
        wanted = problem.needs_probabilities and not calibrates
        return [(model, problem.scores(model, X_test, probabilities=wanted)) for model in models]

    def _judge(
        self,
        order: int,
        setting: dict[str, Any],
        scored: list[tuple[Any, Scored]],
        inner: list[Split],
    ) -> Chosen:
        run, calibrates = self.run, self._calibrates(setting)
        chosen_by = run.problem.chosen_by
        # scores of different models have no common order
        by_split = (
            chosen_by == run.metric
            and not run.problem.judged_by_threshold
            and (run.problem.ranks or not calibrates)
        )
        if by_split and not (calibrates or run.problem.tunes):
            pairs = zip(inner, scored, strict=True)
            values = [run.score(self.labels[test], one) for (_, test), (_, one) in pairs]
            return Chosen(setting, float(np.mean(values)), order)
        assert isinstance(run.problem, Classification)
        together = join([one for _, one in scored])
        held_out = np.concatenate([test for _, test in inner])
        y = known_labels(self.labels[held_out])
        weight = None if self.fold.weights is None else self.fold.weights[held_out]
        judged = None
        if calibrates:  # the map depends on the scores alone, and any of the models can hold it
            model = scored[0][0]
            if len(lacking := np.setdiff1d(self.labels, model.classes_)):
                raise InputError(
                    f"class {lacking.tolist()[0]!r} is missing where parameters are chosen, and "
                    f"metric {run.metric!r} needs its probability; take fewer folds, or leave the "
                    "class out"
                )
            model.set_threshold(None)
            if self.learner.baseline and model.scores_are_log_odds:
                # as scikit-learn alone chooses; calibrated, few rows hardly tell them apart
                own = model.probabilities(together.scores)
                judged = run.problem.decide(together.scores, own)
            model.calibrate(together.scores, y, weight)
            together = run.problem.decide(together.scores, model.probabilities(together.scores))
        judged = judged or together
        if chosen_by != run.metric:
            value = signed_score(chosen_by, run.problem.measure(chosen_by, y, judged))
        elif by_split:
            ends = np.cumsum([len(test) for _, test in inner])
            parts = np.split(np.arange(len(y)), ends[:-1])
            value = float(np.mean([run.score(y[rows], judged.take(rows)) for rows in parts]))
        elif run.problem.tunes:
            value = run.problem.tune(y, together)[1]
        else:
            value = run.score(y, together)
        return Chosen(setting, value, order, together, y, weight)

    def _calibrates(self, setting: dict[str, Any]) -> bool:
        """Return whether the held-out rows calibrate the learner."""
        in_pass = calibrates_in_pass(self.run, self.learner, setting)
        return self.run.problem.needs_probabilities and not in_pass


def make_model(run: Run, learner: Learner, setting: dict[str, Any]) -> Any:
    """Return a new estimator, which fits no other models for its probabilities.

    Unless one pass calibrates it, the rows held out by the inner validation do.
    """
    if run.problem.name == "classification" and not calibrates_in_pass(run, learner, setting):
        setting = {**setting, "calibration": "none"}
    return run.make(learner, setting)
