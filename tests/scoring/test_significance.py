"""Posteriors of differences, and the tests of significance."""

import math

import numpy as np
import pytest
from scipy import stats

from benchmarks.evidence.sequences import losses, winners
from benchmarks.evidence.simulated import differences, scores_of_folds, stream
from crossview.errors import InputError
from crossview.scoring.metrics import BlockTally, measure
from crossview.scoring.significance import (
    SIGNIFICANT,
    ConfidenceSequence,
    Posterior,
    correlated_t_posterior,
    holm,
    holm_of_pairs,
    jackknife_posterior,
)
from reference import jackknife as reference
from reference.confidence_sequence import interval as reference_interval

FIRST = np.array([0.78, 0.81, 0.75, 0.80, 0.77, 0.79, 0.82, 0.76, 0.80, 0.78])
SECOND = np.array([0.80, 0.82, 0.79, 0.80, 0.80, 0.78, 0.85, 0.78, 0.81, 0.79])


@pytest.mark.parametrize(
    ("rope", "runs", "areas"),
    [
        (0.01, 1, (0.0022474106129484355, 0.20188884804513962, 0.795863741341912)),
        (0.02, 1, (0.00028045406791184116, 0.7110794424731753, 0.2886401034589128)),
        (0.01, 2, (0.008528713586418294, 0.2502057101112015, 0.7412655763023802)),
        (0.0, 1, (0.02300601833693905, 0.0, 0.976993981663061)),
    ],
)
def test_the_areas_are_those_of_baycomp(rope, runs, areas):
    """Printed by `two_on_single(FIRST, SECOND, rope, runs)` of baycomp 1.0.3.

    It is not installed for the tests: it brings matplotlib, and a top-level package `tests`.
    """
    found = correlated_t_posterior(SECOND - FIRST, runs / len(FIRST)).areas(rope)
    assert found == pytest.approx(areas, abs=1e-12)
    swapped = correlated_t_posterior(FIRST - SECOND, runs / len(FIRST)).areas(rope)
    assert swapped == pytest.approx(areas[::-1], abs=1e-12)


def test_a_posterior_agrees_with_itself():
    """The p is below 0.05 where 0 is outside of the interval, and twice the area below 0."""
    for shift in (-0.02, -0.015, 0.0, 0.005):
        difference = correlated_t_posterior(SECOND - FIRST + shift, 1 / len(FIRST))
        low, high = difference.interval()
        assert (difference.p < 0.05) == (not low <= 0.0 <= high)
        worse, _, better = difference.areas(0.0)
        assert difference.p == pytest.approx(2 * min(worse, better))
        low, high = difference.interval(0.9)
        outside = Posterior(difference.location - low, difference.scale, difference.degrees)
        assert outside.areas(0.0).worse == pytest.approx(0.05)


def test_a_difference_that_is_certain_or_unknown():
    assert correlated_t_posterior([0.0] * 3, 1 / 3).areas(0.0) == (0, 1, 0)
    certain = correlated_t_posterior([0.1] * 3, 1 / 3)
    assert certain.areas(0.01) == (0, 0, 1)
    assert certain.areas(0.2) == (0, 1, 0)
    assert certain.interval() == pytest.approx((0.1, 0.1))
    assert correlated_t_posterior([-0.1] * 3, 1 / 3).areas(0.01) == (1, 0, 0)
    # folds of few rows are the same by chance
    few = correlated_t_posterior([0.0] * 3, 1 / 3, least_scale=0.02)
    assert few.areas(0.01).worse == few.areas(0.01).better > 0.3
    for unknown in ([0.1], [], [0.1, math.nan]):
        difference = correlated_t_posterior(unknown, 1 / 3, 0.02)
        assert np.isnan(difference.areas(0.01)).all()
        assert np.isnan(difference.interval()).all()
        assert math.isnan(difference.p)


def test_holm_by_hand():
    # p in ascending order times 4, 3, 2, 1, never below the one before
    assert holm([0.04, 0.01, 0.03, 0.005]) == pytest.approx([0.06, 0.03, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
    adjusted = holm([0.02, None, math.nan, 0.01])
    assert adjusted[1] is None
    assert math.isnan(adjusted[2])
    assert [adjusted[0], adjusted[3]] == [0.02, 0.02]


def test_the_corrected_t_test_by_hand():
    # d = 1, 2, 3: mean 2, variance 1; t = 2 / sqrt(1/3 + 1/2), 2 degrees of freedom
    t = 2 / math.sqrt(5 / 6)
    # survival function of Student's t with 2 degrees of freedom
    p = correlated_t_posterior([1, 2, 3], 1 / 3).p
    assert p == pytest.approx(1 - t / math.sqrt(2 + t * t))
    assert (
        correlated_t_posterior([-1, -2, -3], 1 / 3).p == correlated_t_posterior([1, 2, 3], 1 / 3).p
    )


def test_the_corrected_t_test_without_variance():
    assert correlated_t_posterior([0.0, 0.0, 0.0], 1 / 3).p == 1.0
    assert correlated_t_posterior([0.1, 0.1, 0.1], 1 / 3).p == 0.0
    assert math.isnan(correlated_t_posterior([0.1, math.nan], 1 / 2).p)


def assert_same(found, expected):
    assert found.location == pytest.approx(expected.location, abs=1e-12)
    assert found.scale == pytest.approx(expected.scale)
    assert found.degrees == expected.degrees


def jackknife(metric, y, models, parts=1, **how):
    """The posterior of the difference of two models over a stream, cut into parts."""
    values = []
    for model in models:
        tally = BlockTally(metric, **how)
        for rows in np.array_split(np.arange(len(y)), parts):
            tally.update(y[rows], *(None if one is None else one[rows] for one in model))
        values.append(tally.values())
    (a, a_without, rows), (b, b_without, _) = values
    return jackknife_posterior(a - b, a - b, a_without - b_without, rows)


def two_models(y, n_classes, seed=1):
    rng = np.random.default_rng(seed)
    for noise in (1.0, 1.5):
        if n_classes == 2:
            scores = noise * rng.normal(size=len(y)) + y - 0.3
            p = 1.0 / (1.0 + np.exp(-np.column_stack([-scores, scores])))
            yield (4 * scores).round() / 4, p, (p[:, 1] > 0.4).astype(int)
        elif n_classes:
            scores = noise * rng.normal(size=(len(y), n_classes)) + np.eye(n_classes)[y]
            p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
            p = np.maximum((32 * p).round(), 1.0) / 32
            yield (4 * scores).round() / 4, p, p.argmax(axis=1)
        else:
            yield (y + noise * rng.normal(size=len(y)),)


def test_a_huge_score_is_in_the_last_bin_of_a_block():
    y, scores = np.arange(130) % 2, np.linspace(-1e-9, 1e-9, 130)
    tally, expected = (BlockTally("roc_auc", n_classes=2, typical_scores=scores) for _ in range(2))
    for one, largest in ((tally, 1.7e308), (expected, 1.0)):
        one.update(y, scores)
        one.update(y[:2], np.array([largest, 0.0]))
    for found, same in zip(tally.values(), expected.values(), strict=True):
        assert np.array_equal(found, same)


OF_ANY = ["accuracy", "f1", "roc_auc", "log_loss"]
OF_THREE = [*OF_ANY, "top_2_accuracy"]
OF_TWO = [
    *(*OF_ANY, "cost:fp=1,fn=5", "average_precision", "prbep", "expected_calibration_error"),
    *("recall_at_5%", "precision_at_k"),
]


@pytest.mark.parametrize(
    ("metric", "n_classes"),
    [(m, 2) for m in OF_TWO] + [(m, 3) for m in OF_THREE] + [("rmse", 0), ("mae", 0), ("r2", 0)],
)
def test_a_stream_has_the_posterior_of_the_jackknife_in_any_batches(metric, n_classes):
    n = 620  # 39 blocks of 16 rows, the last one of 12
    rng = np.random.default_rng(0)
    y = rng.choice(n_classes, n) if n_classes else rng.normal(size=n)
    models = list(two_models(y, n_classes))
    k = {"k": 0.1} if metric == "precision_at_k" else {}

    def difference(rows):
        a, b = (
            measure(
                *(metric, y[rows], model[0][rows]),
                **k,
                probabilities=model[1][rows] if n_classes else None,
                predicted=model[2][rows] if n_classes else None,
                positive=0,
            )
            for model in models
        )
        return a - b

    # wide units: each score has a bin of its own
    how = {"n_classes": n_classes, "positive": 0}
    if n_classes:
        how["typical_scores"] = np.array([-3.0, 0.0, 3.0]).repeat(2)
        if n_classes == 3:  # probabilities
            how["typical_scores"] = np.tile(how["typical_scores"][:, None] / 6 + 0.5, 3)
    found = jackknife(metric, y, models, **how)
    expected = reference.block_jackknife(n, difference)
    # the k highest of fewer rows: a share that is not rounded, which the reference rounds
    close = 0.05 if "_at_" in metric else 1e-9
    assert found.location == pytest.approx(expected.location)
    assert found.scale == pytest.approx(expected.scale, rel=close)
    assert found.degrees == expected.degrees == 38
    assert jackknife(metric, y, models, parts=n, **how) == found
    assert jackknife(metric, y, models, parts=7, **how) == found


@pytest.mark.parametrize(
    ("metric", "n_classes"),
    [("f1", 2), ("roc_auc", 3), ("top_accuracy", 3), ("rmse", 0), ("r2", 0)],
)
def test_the_parts_of_a_stream_add_up_to_its_blocks(metric, n_classes):
    n = 620
    rng = np.random.default_rng(0)
    y = rng.choice(n_classes, n) if n_classes else rng.normal(size=n)
    (model, _) = two_models(y, n_classes)
    whole = BlockTally(metric, n_classes=n_classes)
    whole.update(y, *model)
    parts = []
    for rows in np.split(np.arange(n), [0, 7, 320, 333, 619, 620]):  # also parts without rows
        part = BlockTally(metric, n_classes=n_classes)
        part.begin_at(int(rows[0]) if len(rows) else sum(one.n_rows for one in parts), n)
        part.update(y[rows], *(one[rows] for one in model))
        parts.append(part)
    total = sum(parts[1:], start=parts[0])
    for found, expected in zip(total.values(), whole.values(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    with pytest.raises(InputError, match="these do not, or the rows have changed"):
        parts[1] + parts[3]
    with pytest.raises(InputError, match="these do not, or the rows have changed"):
        whole + whole


@pytest.mark.parametrize(("metric", "n_classes"), [("f1", 2), ("roc_auc", 3), ("rmse", 0)])
def test_blocks_that_are_told_are_the_same_in_any_order(metric, n_classes):
    n, rng = 620, np.random.default_rng(0)
    y = rng.choice(n_classes, n) if n_classes else rng.normal(size=n)
    (model, _) = two_models(y, n_classes)
    block = rng.integers(64, size=n)
    found = []
    for order in (np.arange(n), rng.permutation(n)):
        parts = [BlockTally(metric, n_classes=n_classes) for _ in range(3)]
        for part, rows in zip(parts, (order[:200], order[200:200], order[200:]), strict=True):
            part.update(y[rows], *(one[rows] for one in model), blocks=block[rows])
        found.append(sum(parts[1:], start=parts[0]).values())
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    np.testing.assert_array_equal(found[0][2], np.bincount(block))


def test_the_jackknife_of_single_rows_is_the_t_test_of_the_mean():
    a, b = np.random.default_rng(0).normal(size=(2, 40))
    found = jackknife("mae", np.zeros(40), [(a,), (b,)])
    assert found.p == pytest.approx(stats.ttest_rel(abs(a), abs(b)).pvalue)


def test_a_difference_over_few_rows_is_unknown():
    y, scores = np.array([0, 1]), np.array([-1.0, 1.0])
    for n, metric in ((0, "f1"), (1, "accuracy"), (2, "roc_auc")):
        model = (scores[:n],)
        assert math.isnan(jackknife(metric, y[:n], [model, model], n_classes=2).p)
    assert jackknife("f1", y, [(scores,), (scores,)], n_classes=2).p == 1.0


def independent_streams(n, n_streams, shift=0.0, seed=0):
    """Streams of independent rows: the classes, and two models that are level but for a shift."""
    rng = np.random.default_rng(seed)
    for _ in range(n_streams):
        y = (rng.random(n) < 0.3).astype(int)
        common = rng.normal(size=n) + y - 0.5
        yield y, *(common + 0.7 * rng.normal(size=n) + shift * y * i for i in range(2))


def test_on_independent_rows_the_jackknife_agrees_with_delong_and_mcnemar():
    """As the standard errors of a few streams have noise, their means must agree."""
    ratios = []
    for y, *scores in independent_streams(800, 40, shift=0.2):
        models = [(one, None, (one > 0).astype(int)) for one in scores]
        how = {"n_classes": 2, "typical_scores": scores[0][:50]}
        auc = reference.delong(y == 1, *scores)
        right = [predicted == y for _, _, predicted in models]
        one_of_them = right[0] != right[1]
        share = (right[0] & one_of_them).sum() / one_of_them.sum()
        # McNemar's standard error; with an exact p it has none
        of_accuracy = math.sqrt(one_of_them.sum() * (1 - (2 * share - 1) ** 2)) / 800
        ratios.append(
            [
                jackknife("roc_auc", y, models, **how).scale / auc.scale,
                jackknife("accuracy", y, models, **how).scale / of_accuracy,
            ]
        )
    assert np.mean(ratios, axis=0) == pytest.approx(1.0, abs=0.05)


def test_equal_models_are_seldom_declared_different():
    """A small draw of `python -m benchmarks evidence coverage`, with what must not be done."""
    rng = np.random.default_rng(0)
    folds = [np.diff(scores_of_folds(rng, "accuracy", 200, 2))[:, 0] for _ in range(150)]
    declared = [correlated_t_posterior(d, 1 / 5).p < SIGNIFICANT for d in folds]
    if_independent = [correlated_t_posterior(d, 0.0).p < SIGNIFICANT for d in folds]
    assert np.mean(declared) <= 0.05 < np.mean(if_independent)
    several, of_best, covered = [], [], []
    for _ in range(200):
        found = differences("accuracy", stream(rng, "accuracy", 300, 8))
        best = int(np.argmax([row[0].location for row in found]))
        p = np.array([[one.p for one in row] for row in found])
        several.append(np.nanmin(holm_of_pairs(p)[best]) < SIGNIFICANT)
        of_best.append(min(holm(np.delete(p[best], best).tolist())) < SIGNIFICANT)
        low, high = found[0][1].interval()
        covered.append(low <= 0.0 <= high)
    # 0.05, and twice the standard error of the draws
    assert np.mean(several) <= 0.08 < np.mean(of_best)
    assert np.mean(covered) >= 0.92


def test_errors_that_follow_each_other_need_blocks():
    """Row by row, a drift that belongs to neither of two equal models is taken for a difference."""
    rng = np.random.default_rng(0)
    blocks, rows = [], []
    for _ in range(100):
        models = stream(rng, "rmse", 4000, 2, drift=0.98)
        blocks.append(differences("rmse", models)[0][1].p < SIGNIFICANT)
        a, b = ((y - predicted) ** 2 for y, predicted in models)
        rows.append(stats.ttest_rel(a, b).pvalue < SIGNIFICANT)
    assert np.mean(blocks) <= 0.1 < np.mean(rows)


def test_a_real_difference_is_found():
    rng = np.random.default_rng(0)
    for metric, lead in (("f1", 0.6), ("roc_auc", 0.6), ("log_loss", 0.6), ("rmse", 0.3)):
        difference = differences(metric, stream(rng, metric, 2000, 2, lead=lead))[0][1]
        assert difference.areas(0.01).better > 0.95, metric


# --- a confidence sequence --------------------------------------------------------------------


def test_the_confidence_sequence_is_that_of_the_reference():
    rng = np.random.default_rng(0)
    for n, bound in ((1, 1.0), (60, 0.5), (400, 2.0)):
        numbers = np.append(rng.uniform(-0.6, 1.0, n - 1), 0.9) * bound
        sequence = ConfidenceSequence(bound)
        for number in numbers:
            sequence.add(number)
        expected = reference_interval(numbers.tolist(), bound)
        np.testing.assert_allclose(sequence.interval(), expected, atol=1e-7)
    assert sequence.interval()[0] > 0.0
    sequence.add(1e9)  # is clipped
    assert sequence.total == pytest.approx(numbers.sum() + 2.0)


def test_equal_models_are_seldom_told_apart_whenever_one_looks():
    """2,000 logs of 10^5 labels are in docs/reproduction.md."""
    rng = np.random.default_rng(0)
    one, other = losses(rng, (100, 3000), 0.4, 0.4)
    named, _ = winners(one - other)
    assert np.mean(named >= 0) <= 0.05
    named, sign = winners(1.2 * one - other)  # and soon where they are not equal
    assert (named >= 0).mean() > 0.9
    assert (sign[named >= 0] > 0).all()
    for t in range(3):  # the interval itself says so at the same label
        sequence = ConfidenceSequence(1.0)
        for d in (1.2 * one - other)[t, : named[t] + 1]:
            before = sequence.interval()
            sequence.add(d)
        assert before[0] < 0.0 < sequence.interval()[0] + 1e-3


@pytest.mark.parametrize("g", [1, 3])
def test_the_interval_of_a_stream_is_printed_as_plain_numbers(g):
    difference = np.float64(2.0)
    found = jackknife_posterior(difference, difference, np.linspace(2.5, 1.5, g), np.ones(g))
    assert all(type(end) is float for end in found.interval())
    assert type(found.location) is float
