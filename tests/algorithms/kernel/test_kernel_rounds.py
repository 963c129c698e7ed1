"""Rounds of labeling: who is labeled, how many, and after how many steps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from crossview.algorithms.kernel.quota import trust
from crossview.algorithms.kernel.rounds import (
    FIRST_STEPS,
    ROUNDS,
    Drawable,
    Learner,
    choose_rows,
    choose_steps,
    drawable,
    learn_in_rounds,
    split_folds,
    trust_in_agreement,
)


def test_trust_is_accuracy_above_chance_and_grows_with_the_evidence():
    assert trust(0, 0, 2) == 0.0
    assert trust(50, 100, 2) == trust(10, 100, 10) == trust(3, 100, 10) == 0.0
    grows = [trust(9 * n, 10 * n, 2) for n in (1, 3, 10, 1000)]
    assert grows == sorted(grows)
    assert_allclose(grows[-1], 0.8, atol=1e-3)
    assert_allclose(trust(6, 6, 2), 0.75)


def test_the_most_certain_rows_of_each_class_are_chosen_up_to_its_share():
    scores = np.array([[0.9], [0.2], [0.5], [0.7], [-0.1], [-0.3]])
    assert_array_equal(choose_rows(scores, np.array([0.5, 0.5]), 2 / 3), [0, 3, 4, 5])
    assert_array_equal(choose_rows(scores, np.array([0.2, 0.8]), 0.5), [0, 3])
    assert not len(choose_rows(scores, np.array([0.5, 0.5]), 0.0))
    # the margin is that to the second class: row 1 is less certain than its score
    several = np.array([[1.0, 0.0, 0.0], [2.0, 1.9, 0.0], [0.0, 0.1, -1.0], [0.0, 0.0, 0.3]])
    assert_array_equal(choose_rows(several, np.full(3, 1 / 3), 0.75), [0, 2, 3])


def test_folds_are_stratified_and_need_two_rows_per_class():
    classes = np.array([0] * 7 + [1] * 3)
    folds = list(split_folds(classes, np.random.RandomState(0)))
    assert_array_equal(np.sort(np.concatenate([held for _, held in folds])), np.arange(10))
    for rest, held_out in folds:
        assert_array_equal(np.sort(np.concatenate([rest, held_out])), np.arange(10))
        assert (classes[held_out] == 1).sum() == 1
    assert not list(split_folds(np.array([0, 0, 1]), np.random.RandomState(0)))


class Recorder:
    """A learner that knows the classes; a later row is more certain."""

    def __init__(self, truth, losses=None):
        self.truth, self.losses, self.fits = truth, losses, []

    def fit(self, draws, labels, weight):
        self.fits.append((draws, labels.copy(), weight.copy()))

    def score(self, rows):
        if self.losses is not None:
            return self.truth[rows, None] * (1.0 - self.losses[len(self.fits) - 1])
        return self.truth[rows, None] * (1.0 + rows[:, None] / 100.0)

    def learner(self):
        return Learner(self.fit, self.score)


def problem(n=60, known=12):
    truth = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    labels = np.where(np.arange(n) < known, truth, np.nan)[:, None]
    return truth, drawable(labels, np.ones(n))


@pytest.mark.parametrize(
    ("losses", "steps"),
    [([0.5, 0.4, 0.3999], 2), ([0.5, 0.6], 1), ([0.9, 0.8, 0.7, 0.6, 0.5, 0.4], 8)],
)
def test_steps_double_until_held_out_rows_get_no_better(losses, steps):
    truth, data = problem()
    spy = Recorder(truth, losses)
    assert choose_steps(spy.learner(), data, np.random.RandomState(0)) == steps * FIRST_STEPS
    for k, (draws, _, _) in enumerate(spy.fits):
        assert len(draws) == FIRST_STEPS * 2**k
        # the same rows are held out in all of them: a third of each class, rounded up
        assert_array_equal(np.unique(draws), np.unique(spy.fits[0][0]))
        assert (truth[np.unique(draws)] > 0).sum() == 2
        assert (truth[np.unique(draws)] < 0).sum() == 5


def test_rounds_label_more_and_more_rows_by_the_trust():
    truth, data = problem()
    labeled = ~np.isnan(data.labels[:, 0])
    data = data._replace(weight=np.where(labeled, np.where(truth > 0, 4.0, 2.0), 1.0))
    spy = Recorder(truth)
    learn_in_rounds(spy.learner(), data, 200, 0, np.random.RandomState(0))
    trusted = trust(12, 12, 2)
    alone, *rounds = spy.fits[3:]  # after three folds
    assert set(alone[0]) == set(data.known)
    assert len(rounds) == ROUNDS
    for r, (draws, labels, weight) in enumerate(rounds, start=1):
        assert_array_equal(np.isin(draws, data.known), np.arange(200) % 2 == 0)
        chosen = np.flatnonzero(~labeled & ~np.isnan(labels[:, 0]))
        assert_array_equal(labels[chosen, 0], truth[chosen])
        part = trusted * r / ROUNDS * len(data.unknown)
        # a third of the labeled rows is positive, and so are the chosen ones
        assert (truth[chosen] > 0).sum() == int(part / 3)
        assert (truth[chosen] < 0).sum() == int(2 * part / 3)
        # a class weight applies to the labeled rows and to those that get the class
        assert_allclose(weight[chosen], np.where(truth[chosen] > 0, 4.0, 2.0))


def test_without_evidence_no_row_is_labeled():
    truth, data = problem()
    wrong = Drawable(-data.labels, *data[1:])
    spy = Recorder(truth)
    assert trust_in_agreement(spy.learner(), wrong, 100, np.random.RandomState(0)) == 0.0
    spy.fits.clear()
    learn_in_rounds(spy.learner(), wrong, 100, 4, np.random.RandomState(0))
    assert len(spy.fits) == 4
    assert set(spy.fits[-1][0]) == set(data.known)
