"""From scores to an answer: the order of the rows, and how sure it is."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from crossview.comparing.result.comparison import Comparison
from crossview.comparing.result.ranking import ComparisonRow, PersonalGain, behind_in
from crossview.comparing.result.verdict import CONSTANT, MOST_WORSE
from crossview.comparing.run import Run
from crossview.labels import about_weights
from crossview.scoring.metrics import is_bounded, signed_score
from crossview.scoring.significance import (
    Posterior,
    correlated_t_posterior,
    holm,
    holm_of_pairs,
)
from crossview.views import ViewLayout

# with this one a row is worse
SURELY = 0.95
# folds that tell little of an ensemble
FEW_FOLDS = 3

# how much the first of two rows is better
Difference = Callable[[ComparisonRow, ComparisonRow], Posterior]


def make_answer(
    run: Run,
    layout: ViewLayout,
    rows: Sequence[ComparisonRow],
    difference: Difference,
    rope: float,
    **known: Any,
) -> Comparison:
    """Return the rows in their order, with the difference of each to the best.

    rope: differences up to this are none; a share of the best value where the metric has no bound.
    **known: further attributes of the answer.
    """
    rows = sorted(rows, key=lambda row: signed_score(run.metric, row.value), reverse=True)
    share, rope = rope, _width(run.metric, rope, rows[0].value)
    # a mean above that of the ensemble is noisier than the ensemble is risky
    ensembles = [
        row for row in rows if row.members and not _loses(row, rows, difference, run, rope)
    ]
    rows.sort(key=lambda row: row not in ensembles)  # all others keep their order
    best = rows[0]
    rope = _width(run.metric, share, best.value)
    best.equal, best.difference, best.p, best.p_adjusted = True, None, None, None
    for row in rows[1:]:
        row.difference = difference(row, best)
        row.p = None if math.isnan(row.difference.p) else row.difference.p
        # a lower area under the curve is worse, whatever the metric says
        ranks_worse = row.roc_auc < best.roc_auc - rope
        row.equal = row.difference.areas(rope).worse <= MOST_WORSE and not ranks_worse
    for row, p in zip(rows[1:], _adjusted(rows, difference, known["mode"]), strict=True):
        row.p_adjusted = p
    answer = Comparison(
        task=run.problem.name,
        metric=run.metric,
        positive=run.problem.positive_label,
        positive_by=run.problem.positive_by,
        class_rows=run.problem.class_rows,
        rare_classes=list(run.problem.left_out),
        threshold=run.problem.threshold,
        threshold_for=run.problem.tuned_for,
        classes=run.problem.classes.tolist(),
        views=dict(zip(layout.names, layout.widths, strict=True)),
        seed=run.seed,
        epochs=run.epochs,
        rows=rows,
        rope=rope,
        gains=_gains(rows, difference),
        **known,
    )
    answer.warnings = [*answer.warnings, *answer.one_class]
    shown = {row.learner for row in rows} if run.weighted else set()
    ignoring = [
        one.name for one in run.learners if one.name in shown and not one.make().weighs_rows
    ]
    if ignoring:
        answer.warnings.append(about_weights(ignoring))
    if (pair := answer.unlabeled_pair) and answer.unlabeled:
        answer.unlabeled_benefit_p = difference(*pair).p
    return answer


def _gains(rows: Sequence[ComparisonRow], difference: Difference) -> list[PersonalGain]:
    """What deviations of users gain with each learner that is compared without them, too."""
    by_use = {(row.learner, row.user): row for row in rows}
    gains = []
    for row in rows:
        without = by_use.get((row.learner, "without"))
        category = by_use.get((row.learner, "category"))
        if row.user == "per" and without is not None and category is not None:
            values = without.value, category.value, row.value
            gains.append(PersonalGain(row.learner, *values, difference(row, category)))
    return gains


def _loses(
    row: ComparisonRow,
    rows: Sequence[ComparisonRow],
    difference: Difference,
    run: Run,
    rope: float,
) -> bool:
    """Return whether another row is better by more than the rope, surely or in all metrics.

    What looks at no column wins by any difference.  All metrics count where weights and cut of an
    ensemble tell little: with few folds they are those of one or two others, and in order those of
    another time.  Elsewhere one of twenty models leads in all metrics by luck.
    """
    unsure = run.in_order or len(row.scores) <= FEW_FOLDS
    return any(
        (
            one.model in CONSTANT
            and signed_score(run.metric, one.value) > signed_score(run.metric, row.value)
        )
        or difference(row, one).areas(rope).worse >= SURELY
        or (
            unsure
            and signed_score(run.metric, one.value) > signed_score(run.metric, row.value) + rope
            and not behind_in(one, row, run.metric)
        )
        for one in rows
        if one is not row
    )


def _width(metric: str, rope: float, best: float) -> float:
    """The rope in the unit of the metric: a share of the best value where that has no bound."""
    return rope if is_bounded(metric) else rope * abs(best)


def _adjusted(
    rows: Sequence[ComparisonRow], difference: Difference, mode: str
) -> list[float | None]:
    """The p of all rows but the best, adjusted for the number of tests.

    The data choose the best row, so on a stream all pairs count: otherwise ten equal models are
    declared different in more than a tenth of streams.  The t-test of folds is conservative enough
    without (docs/reproduction.md).
    """
    if mode == "cross-validation" or len(rows) < 2:
        return holm([row.p for row in rows[1:]])
    p = np.full((len(rows), len(rows)), np.nan)
    for i, j in combinations(range(len(rows)), 2):
        p[i, j] = p[j, i] = difference(rows[i], rows[j]).p
    return [None if np.isnan(one) else float(one) for one in holm_of_pairs(p)[0, 1:]]


def fold_difference(metric: str, test_share: float, least_scale: float = 0.0) -> Difference:
    """Return what compares two rows by their scores, fold by fold."""

    def difference(row: ComparisonRow, other: ComparisonRow) -> Posterior:
        # two models that are the same in all are no two models that are the same by chance
        least = 0.0 if row.others == other.others else least_scale
        return posterior_of(metric, row.scores, other.scores, test_share, least)

    return difference


def posterior_of(
    metric: str,
    scores: Sequence[float],
    others: Sequence[float],
    test_share: float,
    least_scale: float = 0.0,
) -> Posterior:
    """Return how much better some scores, fold by fold, are than others of the same folds.

    test_share: rows of a test fold, by the rows of a fold.
    """
    first = np.array([signed_score(metric, score) for score in scores])
    second = np.array([signed_score(metric, score) for score in others])
    return correlated_t_posterior(first - second, test_share, least_scale)


def fingerprint(*parts: Any) -> str:
    """Return a short hash of labels and protocol."""
    digest = hashlib.sha256()
    for part in parts:
        array = np.asarray(part)
        digest.update(str(array.dtype).encode())
        digest.update(repr(array.tolist()).encode() if array.dtype == object else array.tobytes())
    return digest.hexdigest()[:16]
