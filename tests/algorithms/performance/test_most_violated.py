"""The searches for the most violated labeling, against enumeration."""

import numpy as np
import pytest

from crossview import Measure
from crossview.algorithms.performance.problem import make_problem
from reference import performance as reference

TABLES = ("fbeta", "error_rate", "balanced_accuracy", "g_mean", "prbep")
AT_K = ("precision_at_k", "recall_at_k", "precision_at_k:exact", "recall_at_k:exact")


def signs(rng, n):
    """Labels of both kinds, in any order."""
    y = np.where(np.arange(n) < rng.integers(1, n), 1, -1)
    rng.shuffle(y)
    return y


def scores(rng, n):
    """Scores, half of the time with ties."""
    return rng.normal(size=n) / 3 if rng.random() < 0.5 else rng.integers(-2, 3, n) / 4


def separated(rng, y, truth):
    """Scores; without the truth, half of the time such that nothing else is violated."""
    return scores(rng, len(y)) + (0.0 if truth else y * rng.integers(0, 2))


def value(problem, f, *, truth=True):
    """Of the labeling that was found, in the units of the print: a wrong row weighs 2."""
    delta, s = problem.search(f * 2.0 * problem.unit, truth=truth)
    return delta - s @ f * 2.0 * problem.unit


@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize("measure", [*TABLES, *AT_K])
def test_most_violated_labeling_is_that_of_all_labelings(measure, truth):
    rng = np.random.default_rng(0)
    for _ in range(25):
        n = int(rng.integers(2, 9))
        y, k = signs(rng, n), int(rng.integers(1, n + 1))
        f = separated(rng, y, truth)
        beta = float(rng.choice([0.5, 1.0, 2.0]))
        problem = make_problem(measure, y, np.ones(n), beta=beta, k=k)

        def delta(labels, y=y, k=k, beta=beta):
            return reference.loss(measure, y, labels, beta=beta, k=k)

        best = reference.most_violated(y, f, delta, truth=truth)
        assert value(problem, f, truth=truth) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("truth", [True, False])
def test_most_violated_pairs_are_those_of_all_labels_of_pairs(truth):
    rng = np.random.default_rng(1)
    for _ in range(25):
        n = int(rng.integers(2, 8))
        y = signs(rng, n)
        f = separated(rng, y, truth)
        problem = make_problem("roc_auc", y, np.ones(n))
        best = reference.most_violated_pairs(y, f, truth=truth)
        assert value(problem, f, truth=truth) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("margin", [-1.0, 0.0, 0.4, 0.75, 0.99, 1.01, 2.0])
def test_a_pair_is_wrong_below_a_margin_of_1(margin):
    problem = make_problem("roc_auc", np.array([1, -1]), np.ones(2))
    delta, s = problem.search(np.array([margin, 0.0]))
    assert (delta, *s) == ((1.0, 1.0, -1.0) if margin < 1.0 else (0.0, 0.0, 0.0))


@pytest.mark.parametrize("truth", [True, False])
def test_most_violated_order_is_that_of_all_orders(truth):
    rng = np.random.default_rng(2)
    for _ in range(20):
        n = int(rng.integers(2, 7))
        y = signs(rng, n)
        f = separated(rng, y, truth)
        problem = make_problem("average_precision", y, np.ones(n))
        best = reference.most_violated_ranking(y, f, truth=truth)
        assert value(problem, f, truth=truth) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("n", [50, 300])
@pytest.mark.parametrize("measure", ["fbeta", "g_mean", "prbep", "precision_at_k", "recall_at_k"])
def test_fast_search_is_the_full_scan(measure, n):
    rng = np.random.default_rng(n)
    for _ in range(3):
        y, f, k = signs(rng, n), scores(rng, n), int(rng.integers(1, n + 1))
        problem = make_problem(measure, y, np.ones(n), beta=0.5, k=k)
        a, b = np.meshgrid(np.arange((y > 0).sum() + 1), np.arange((y < 0).sum() + 1))
        best = -np.inf
        p, q = (np.concatenate([[0.0], np.cumsum(-np.sort(-f[y == sign]))]) for sign in (1, -1))
        for i, j in zip(a.ravel(), b.ravel(), strict=True):
            delta = reference.loss_of_table(measure, i, j, len(p) - 1, len(q) - 1, beta=0.5, k=k)
            if delta is not None:
                best = max(best, delta - 2.0 * (p[-1] - p[i]) + 2.0 * q[j])
        assert value(problem, f) == pytest.approx(best, abs=1e-10)


def test_any_function_of_the_table_is_searched_and_a_concave_one_faster_with_the_same_answer():
    rng = np.random.default_rng(3)
    jaccard = Measure(lambda tp, fp, fn, tn: tp / (tp + fp + fn))
    for _ in range(10):
        n = int(rng.integers(2, 60))
        y, f = signs(rng, n), scores(rng, n)
        full, fast = (
            make_problem("", y, np.ones(n), delta=jaccard.loss, concave=concave)
            for concave in (False, True)
        )
        assert value(full, f) == pytest.approx(value(fast, f), abs=1e-12)
