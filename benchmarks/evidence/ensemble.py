"""What choosing one model costs, and what the ensemble gains: rules of choice on rows apart."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import crossview
from benchmarks import data
from benchmarks.harness import (
    Table,
    benchmark,
    listed,
    loaded,
    mean_and_error,
    remembered,
    size,
)
from crossview.catalog.learners import ENSEMBLE
from crossview.comparing.budget.clock import Clock
from crossview.comparing.candidates import choose_learners
from crossview.comparing.folds.ensemble import Blending, blend_folds, can_blend
from crossview.comparing.folds.parts import Data
from crossview.comparing.folds.scheduler import FoldComparison, Resources
from crossview.comparing.folds.splits import FoldRows, Protocol, split_rows
from crossview.comparing.result.answer import fold_difference, make_answer
from crossview.comparing.result.comparison import ComparisonObserver
from crossview.comparing.result.ranking import ComparisonRow
from crossview.comparing.result.verdict import CONSTANT
from crossview.comparing.run import Run
from crossview.data.labeled_source import open_labeled
from crossview.jobs.jobs import Jobs
from crossview.scoring.metrics import decide
from crossview.scoring.problems import Scored, make_problem

SETS = data.tables(
    *("a9a", "criteo_sample", "movielens_100k", "spambase", "svmguide1", "cora"),
    *("webkb_course", "internet_ads", "news20_w100", "reuters_1200", "ipinyou_sample"),
    *("sms_spam", "breast-cancer", "ionosphere", "bupa", "bbcsport", "msrc_v5"),
)
# rows of a draw that learn, and at most as many that score
LEARN, SCORE = (2000, 1000, 500, 3000), 6000
DRAWS, CV, ROPE = 4, 5, 0.01
ANSWER = "what compare recommends"
RULES = ("best mean", "cheapest shown equal", "ensemble", ANSWER)
HALVES = 20
RULE = ["rule", "mean regret", "by halves", "worst", "beyond the rope", "over the best baseline"]
GAIN = ["set", "draws", "best baseline", "best single", "ensemble", "gain", "in its interval"]


class Draw:
    """Rows of a set that learn, and others that score; all models on both."""

    @staticmethod
    def rows(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows that learn, and those that score."""
        n = len(y)
        order = np.random.default_rng(seed).permutation(n)
        learn = min(LEARN[seed % len(LEARN)], 2 * n // 3)
        return np.sort(order[:learn]), np.sort(order[learn : learn + SCORE])

    @classmethod
    def is_possible(cls, y: np.ndarray, seed: int) -> bool:
        """Return whether each fold of the rows that learn has all classes."""
        return bool(np.unique(y[cls.rows(y, seed)[0]], return_counts=True)[1].min() >= CV)

    def __init__(self, X: Any, y: np.ndarray, options: dict, seed: int) -> None:
        n, (train, test) = len(y), self.rows(y, seed)
        encoder = crossview.ViewEncoder(**options)
        source = open_labeled(X, y, task="classification", unlabeled=True, encoder=encoder)
        problem = make_problem(
            "classification",
            source.classes,
            crossview.Scoring(positive=True if y.dtype == bool else None),
            class_rows=source.class_rows,
        )
        run = Run([], problem, seed, None, {})
        rows = source.load()
        labels = np.asarray(rows.y)
        folds = split_rows(run, labels[train], Protocol(CV))
        splits = [FoldRows(train[f.train], train[f.test], f.inner) for f in folds]
        inner = split_rows(run, labels[train], Protocol(3))
        splits.append(FoldRows(train, test, [(f.train, f.test) for f in inner]))
        everywhere = np.ones(n, dtype=bool)
        known = np.arange(n)
        self.data = Data(
            *(rows.X, labels, known, known[:0], source.encoder, source.layout),
            splits=splits,
            blended=everywhere,
            jobs=Jobs(-1),
        )
        run.learners = choose_learners(run, source.layout, len(train), None)
        found = FoldComparison(
            run, self.data, None, Resources(self.data.jobs, ComparisonObserver(), Clock(math.inf))
        )
        for _ in found.rounds():
            pass
        self.found, self.run = found, run
        self.answer = self._answer()

    def _answer(self) -> crossview.comparing.result.comparison.Comparison:
        """The answer by the first five folds."""
        found, run = self.found, self.run
        all_rows = {row.model: row for row in found.rows(CV)}
        self.truth = {name: row.scores[CV] for name, row in all_rows.items() if name != ENSEMBLE}
        rows = [row.by_folds(CV) for name, row in all_rows.items() if name != ENSEMBLE]
        scores = {n: s for n, s in found.scores.items() if can_blend(found.learners[n]) and s}
        of_folds, blend, threshold = blend_folds(run, self.data, scores, range(CV), CV)
        members = [row for row in rows if row.model in scores]
        rows.append(found.row_of_ensemble(of_folds, blend, threshold, members))
        last = Blending(run, self.data, scores, [CV]).score(CV, blend, threshold)
        self.truth[ENSEMBLE] = last.value
        self.last = {n: scores[CV] for n, scores in found.scores.items()} | {ENSEMBLE: last}
        return make_answer(
            *(run, self.data.layout, rows, fold_difference(run.metric, 1 / CV), ROPE),
            n_rows=len(self.data.y),
            n_scored=len(self.data.y),
            mode="cross-validation",
            test="",
            folds=CV,
            test_share=1 / CV,
        )

    def chosen(self) -> dict[str, str]:
        """The model that each rule chooses."""
        mean = max((row for row in self.answer.rows if not row.members), key=lambda row: row.value)
        cheapest = self.answer.cheapest
        one = mean if cheapest.members else cheapest
        models = mean.model, one.model, ENSEMBLE, self.answer.recommended.model
        return dict(zip(RULES, models, strict=True))

    def regrets(self) -> dict[str, float]:
        """Points that each rule is behind the best single model in hindsight."""
        top = max(value for name, value in self.truth.items() if name != ENSEMBLE)
        return {rule: 100 * (top - self.truth[name]) for rule, name in self.chosen().items()}

    def regrets_of_halves(self) -> dict[str, float]:
        """The same, where half of the rows choose the best model, and the others score it.

        The best of many models in hindsight is ahead by luck, too: the more so the more models
        there are, and the fewer rows.
        """
        y, rng = self.data.y[self.data.splits[CV].test], np.random.default_rng(0)
        scored = {name: self._scored(score) for name, score in self.last.items()}
        found: dict[str, list[float]] = {rule: [] for rule in RULES}
        for _ in range(HALVES):
            first, second = np.array_split(rng.permutation(len(y)), 2)
            names = [name for name in scored if name != ENSEMBLE]
            top = max(names, key=lambda name: self._value(y, scored[name], first))
            there = self._value(y, scored[top], second)
            for rule, name in self.chosen().items():
                found[rule].append(100 * (there - self._value(y, scored[name], second)))
        return {rule: float(np.mean(values)) for rule, values in found.items()}

    def _scored(self, score: Any) -> Scored:
        """What a model says of the rows that score, and predicts there."""
        problem, p = self.run.problem, score.predictions
        scores = p[:, 1] - 0.5 if p.shape[1] == 2 else p
        return Scored(scores, p, decide(scores, p, problem.of_other_side(score.threshold)))

    def _value(self, y: np.ndarray, scored: Scored, rows: np.ndarray) -> float:
        return self.run.problem.measure(self.run.metric, y[rows], scored.take(rows))

    def baseline(self) -> ComparisonRow:
        """The baseline with the best mean."""
        theirs = [r for r in self.answer.rows if r.baseline and r.model not in CONSTANT]
        return max(theirs, key=lambda row: row.value)


def points(X: Any, y: np.ndarray, options: dict, seed: int) -> dict[str, Any]:
    """All that the tables need of a draw: regrets, and scores in percent.

    They are those of the best baseline, the best model, and the ensemble; then whether its interval
    holds it.
    """
    draw = Draw(X, y, options, seed)
    singles = [value for name, value in draw.truth.items() if name != ENSEMBLE]
    low, high = draw.answer.interval(draw.answer.row(ENSEMBLE)) or (math.nan,) * 2
    true = draw.truth[ENSEMBLE]
    found = [100 * one for one in (draw.truth[draw.baseline().model], max(singles), true)]
    return {
        "regrets": draw.regrets(),
        "of halves": draw.regrets_of_halves(),
        "scores": [*found, bool(low <= true <= high)],
        "recommended": draw.answer.recommended.model,
    }


def _beside(regret: float) -> str:
    return f"{abs(regret):.2f} points {'behind' if regret > 0.0 else 'ahead of'}"


def findings(tables: list[Table]) -> list[str]:
    """Say what the ensemble gains, and what the measures choose."""
    titled, lines = {table.title: table for table in tables}, []
    if "Rules" in titled:
        rules = titled["Rules"]
        regret, beyond = rules.column("mean regret"), rules.column("beyond the rope")
        last = [*regret][-1]
        what = "What `compare` recommends" if last == ANSWER else "The ensemble"
        lines.append(
            f"{what} is {regret[last]:.2f} points behind the best single "
            f"model in hindsight, and beyond the rope in {beyond[last]:.0f} % of the draws; "
            f"the model with the best mean {regret[RULES[0]]:.2f} points and "
            f"{beyond[RULES[0]]:.0f} %."
        )
        if "by halves" in rules.header:
            luck = rules.column("by halves")
            ours, mean = (_beside(luck[rule]) for rule in (last, RULES[0]))
            lines.append(
                "Where half of the rows choose the best model and the others score it, it "
                f"is {ours} it, and the model with the best mean {mean} it: the rest is luck of "
                "the best of many models on few rows."
            )
    if "Gain" in titled:
        gain = titled["Gain"].column("gain")
        ahead = [name for name, value in gain.items() if value > 0.3]
        behind = [name for name, value in gain.items() if value < -0.3]
        lines.append(
            f"It is ahead of the best baseline by more than .3 points on {listed(ahead)}; behind "
            f"by more on {listed(behind)}."
        )
    return lines


@benchmark("docs/reproduction.md", SETS, findings)
def ensemble(wanted: list[str]) -> list[Table]:
    """Rules of choice by their regret, and the gain of the ensemble by set."""
    gains, regrets = Table(GAIN, title="Gain"), []
    over: dict[str, list[float]] = {rule: [] for rule in RULES}
    halves: dict[str, list[float]] = {rule: [] for rule in RULES}
    for name, (X, y, options) in loaded(SETS, wanted):
        y = np.asarray(y)
        possible = [k for k in range(size(DRAWS, 1)) if Draw.is_possible(y, k)]
        draws = [remembered((name, k), points, X, y, options, k) for k in possible]
        if not draws:
            continue
        cells = [draw["scores"] for draw in draws]
        for draw, (theirs, top, *_) in zip(draws, cells, strict=True):
            regrets.append(draw["regrets"])
            for rule, regret in draw["regrets"].items():
                over[rule].append(top - theirs - regret)
                halves[rule].append(draw["of halves"][rule])
        theirs, top, true, held = np.transpose(cells)
        gain = true - theirs
        means = (f"{one.mean():.1f}" for one in (theirs, top, true))
        won = mean_and_error(gain) if len(gain) > 1 else f"{gain[0]:+.1f}"
        gains.add(name, len(cells), *means, won, f"{held.mean():.0%}")
    rules = Table(RULE, title="Rules")
    for rule in RULES if regrets else ():
        values = np.array([one[rule] for one in regrets])
        rules.add(
            *(rule, f"{values.mean():.2f}", f"{np.mean(halves[rule]):.2f}", f"{values.max():.1f}"),
            *(f"{np.mean(values > 100 * ROPE):.0%}", f"{np.mean(over[rule]):+.2f}"),
        )
    return [rules, gains]
