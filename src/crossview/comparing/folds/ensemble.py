"""The ensemble of a comparison: blended predictions of the rows that all models were scored on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import log_softmax

from crossview.algorithms import calibration
from crossview.algorithms.stacking.blend import Blend, blend_classes, blend_numbers, log_odds
from crossview.catalog.learner import BASELINE, Learner
from crossview.catalog.metrics import metric_of
from crossview.comparing.folds.parts import Data
from crossview.comparing.folds.work import FoldScore
from crossview.comparing.result.ranking import ComparisonRow, Member
from crossview.comparing.run import Run
from crossview.estimators.targets import limits_of
from crossview.labels import Threshold
from crossview.scoring.diagnostics import make_scored
from crossview.scoring.metrics import decide
from crossview.scoring.problems import Classification, Scored

# with one there is nothing to blend
FEWEST_MODELS, FEWEST_FOLDS = 2, 2

# of models that may be members, by fold
Scores = Mapping[str, Mapping[int, FoldScore]]


def can_blend(learner: Learner) -> bool:
    """Return whether a learner can be a member: `train` knows it, and it learns labeled rows."""
    return not (learner.name.startswith(BASELINE) or learner.learns_unlabeled)


def blend_folds(
    run: Run, data: Data, scores: Scores, folds: Sequence[int], cv: int
) -> tuple[list[FoldScore], Blend, Threshold | None] | None:
    """Return the scores of the ensemble fold by fold, and the blend of all folds.

    Members, weights and threshold are those of all folds but one, and are scored on that one, in
    turn.  The folds of a repetition are by themselves, since those of another one have the same
    rows.

    folds: folds that all models have finished.
    cv: folds of a repetition.
    Returns scores: of the ensemble; blend: of all folds; members are positions in ``scores``;
      threshold: the best of all folds if the blended probabilities are right; of the second class,
      or one per class of more.
    """
    if len(scores) < FEWEST_MODELS or len(folds) < FEWEST_FOLDS:
        return None
    made = Blending(run, data, scores, folds)
    found = []
    for f in folds:
        others = [g for g in folds if g // cv == f // cv and g != f]
        # the first fold of a repetition that is not complete has no others
        found.append(made.score(f, *made.fit(others or [g for g in folds if g != f])))
    blend, threshold = made.fit(folds)
    return (found, blend, threshold) if len(blend.members) >= FEWEST_MODELS else None


class Blending:
    """Predictions of all models for the rows of folds, and the labels; as for `blend_folds`."""

    def __init__(self, run: Run, data: Data, scores: Scores, folds: Sequence[int]) -> None:
        self.problem, self.data, self.metric = run.problem, data, run.metric
        self.loss = metric_of(run.metric).trains or ""  # of numbers
        any_model = next(iter(scores.values()))  # all have kept the same rows
        self.rows: dict[int, Any] = {f: any_model[f].blended for f in folds}
        self.y = {f: data.y[data.splits[f].test][self.rows[f]] for f in folds}
        self.codes = {f: self.problem.encode(self.y[f]) for f in folds}
        # an ensemble has one encoding: that without bins of numbers, or that with them
        binned = [_binned([of_model[f].setting for f in folds]) for of_model in scores.values()]
        pools = [np.flatnonzero(binned), np.flatnonzero(np.logical_not(binned))]
        self.pools = [pool for pool in pools if len(pool)]
        per_model = [self._predictions(of_model, folds) for of_model in scores.values()]
        self.predicted = {f: np.stack([one[f] for one in per_model]) for f in folds}

    def _predictions(
        self, scores: Mapping[int, FoldScore], folds: Sequence[int]
    ) -> dict[int, np.ndarray]:
        """Return the log odds (numbers) of a model; scores that have no unit are calibrated."""
        given: dict[int, Any] = {f: scores[f].predictions for f in folds}
        if not isinstance(self.problem, Classification):
            y = [self.data.y[self.data.splits[f].train] for f in folds]
            limits = [limits_of(own) for own in y]  # as the members of an ensemble are kept
            pairs = zip(given.items(), limits, strict=True)
            return {f: np.clip(value, *own)[:, None] for (f, value), own in pairs}
        if not all(scores[f].has_probabilities for f in folds):
            raw = np.concatenate([given[f] for f in folds])
            raw = raw.reshape(len(raw), -1)
            codes = np.concatenate([self.codes[f] for f in folds])
            state = calibration.fit(raw, codes, np.ones(len(raw)))
            given = {
                f: calibration.probabilities(value.reshape(len(value), -1), state)
                for f, value in given.items()
            }
        return {f: log_odds(p) for f, p in given.items()}

    def fit(self, folds: Sequence[int]) -> tuple[Blend, Threshold | None]:
        """Return the blend of some folds, and its threshold."""
        predicted = np.concatenate([self.predicted[f] for f in folds], axis=1)
        codes = np.concatenate([self.codes[f] for f in folds])
        found = [self._blend(predicted, codes, pool) for pool in self.pools]
        blend = min(found, key=lambda one: self._loss(one, predicted, codes))
        if not isinstance(self.problem, Classification):
            return blend, None
        if not self.problem.tunes:
            return blend, self.problem.fixed_threshold
        p = self._scored(blend, predicted).probabilities
        assert p is not None
        return blend, self.problem.expected_threshold(codes, p)

    def _blend(self, predicted: np.ndarray, codes: np.ndarray, pool: np.ndarray) -> Blend:
        """Return the blend of some of the models."""
        if isinstance(self.problem, Classification):
            blend = blend_classes(predicted[pool], codes)
        else:
            blend = blend_numbers(predicted[pool], codes, loss=self.loss)
        return blend._replace(members=pool[blend.members])

    def _loss(self, blend: Blend, predicted: np.ndarray, codes: np.ndarray) -> float:
        """Return the mean log loss of a blend, or the error that it makes least."""
        scored = self._scored(blend, predicted)
        if scored.probabilities is None:
            away = np.abs(scored.scores - codes)
            return float(np.mean(away if self.loss == "absolute_error" else away**2))
        return -float(np.mean(np.log(scored.probabilities[np.arange(len(codes)), codes])))

    def _scored(self, blend: Blend, predicted: np.ndarray) -> Scored:
        """Return rows as the blend scores them."""
        z = blend.combine(predicted[blend.members])
        if not isinstance(self.problem, Classification):
            return Scored(z[:, 0])
        log_p = log_softmax(np.column_stack([np.zeros(len(z)), z]), axis=1)
        return Scored(z[:, 0] if z.shape[1] == 1 else log_p, np.exp(log_p))

    def score(self, f: int, blend: Blend, threshold: Threshold | None) -> FoldScore:
        """Return the scores of the blend on a fold."""
        problem, y, rows = self.problem, self.y[f], self.rows[f]
        scored = self._scored(blend, self.predicted[f])
        if isinstance(problem, Classification):
            assert scored.probabilities is not None
            predicted = decide(scored.scores, scored.probabilities, threshold)
            scored = scored._replace(predicted=predicted)
        value = problem.measure(self.metric, y, scored)
        found = FoldScore(
            value=value,
            inner=np.nan,
            setting={},
            others={name: problem.measure(name, y, scored) for name in problem.shown},
            confusion=problem.confusion(y, scored),
            threshold=problem.of_other_side(threshold),
            blended=rows,
            predictions=scored.scores if scored.probabilities is None else scored.probabilities,
            has_probabilities=scored.probabilities is not None,
        )
        if problem.judged_by_threshold:
            found.untuned = problem.measure(self.metric, y, scored._replace(predicted=None))
        if self.data.sampled is not None:
            kept = self.data.sampled[self.data.splits[f].test][rows]
            own = scored.take(kept)
            found.kept = make_scored(
                *(rows[kept], self.codes[f][kept], own.scores, own.predicted, own.probabilities)
            )
        return found


def _binned(settings: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether more than half of the folds chose bins of the numbers."""
    return 2 * sum(bool(one.get("bins")) for one in settings) > len(settings)


def _usual_setting(row: ComparisonRow) -> dict[str, Any]:
    """Return the setting of a row, or the last one with the bins and scale that most folds chose.

    Its weight is for these, and bins are those of all members.
    """
    binned = _binned(row.chosen)
    usual = [one for one in row.chosen if bool(one.get("bins")) == binned] or [row.setting]
    scales = [one.get("target_scale") for one in usual]
    scale = max(scales, key=scales.count)
    usual = [one for one in usual if one.get("target_scale") == scale]
    return row.setting if row.setting in usual else usual[-1]


def ensemble_row(
    row: ComparisonRow, blend: Blend, threshold: Threshold | None, rows: Sequence[ComparisonRow]
) -> ComparisonRow:
    """Return the row of the ensemble with what it consists of.

    blend: of all folds.
    threshold: of all folds, of the positive class.
    rows: all models that were blended, in the order of the blend.
    Returns row: with members, the largest weight first, each in its `_usual_setting`.
    """
    members, seconds = [], 0.0
    for k, weight in zip(blend.members.tolist(), blend.weights.tolist(), strict=True):
        one = rows[k]
        chosen = _usual_setting(one)
        epochs = chosen.get("epochs", one.epochs)
        setting = {name: value for name, value in chosen.items() if name != "epochs"}
        members.append(Member(one.model, weight, setting, epochs))
        seconds += 1.0 / one.rows_per_second
    return replace(
        row,
        members=sorted(members, key=lambda one: -one.weight),
        threshold=threshold if isinstance(threshold, float) else np.nan,
        class_thresholds=threshold if isinstance(threshold, list) else [],
        rows_per_second=1.0 / seconds,
        predicted_per_second=1.0 / sum(1.0 / rows[k].predicted_per_second for k in blend.members),
    )
