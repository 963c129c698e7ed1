"""The search for λ and γ."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold

import crossview
from crossview import InputError, KeCoClassifier, KernelSearchCV, PegasosClassifier
from kernel_data import WIDTHS, as_labels, as_table, problem


def test_the_search_finds_what_a_grid_search_by_hand_finds():
    X, y, truth, present = problem(n=120, labeled=0.9)
    table = as_table(X, present)
    lams, gammas = [1e-3, 1e-1], [0.05, 0.5, "median"]
    for model, labels in (
        (PegasosClassifier(WIDTHS, n_iterations=150, random_state=0), truth),
        (KeCoClassifier(WIDTHS, n_iterations=150, random_state=0), as_labels(y)),
    ):
        search = KernelSearchCV(model, lams, gammas, cv=4).fit(table, labels)
        results = search.cv_results_
        assert results["split_test_score"].shape == (6, 4)
        assert search.best_score_ == results["mean_test_score"].max() > 0.7
        assert search.best_params_["lam"] in lams
        best = clone(model).set_params(**search.best_params_).fit(table, labels)
        assert_array_equal(best.decision_function(table), search.decision_function(table))
        # one setting and fold by hand: learn the other rows, with the rows drawn there
        learner = clone(model).set_params(lam=lams[1], gamma=gammas[1])
        seed = np.random.RandomState(0).randint(2**31 - 1)

        kinds = np.nan_to_num(labels.astype(float))
        folds = StratifiedKFold(4, shuffle=True, random_state=seed)
        train, test = list(folds.split(table, kinds))[2]
        known = test[kinds[test] != 0]
        learner.set_params(random_state=np.random.RandomState(seed + 2)).fit(
            table[train], labels[train]
        )
        expected = roc_auc_score(labels[known] > 0, learner.decision_function(table[known]))
        here = (results["param_lam"] == lams[1]) & (results["param_gamma"] == gammas[1])
        assert_allclose(results["split_test_score"][here, 2], expected, atol=1e-12)


def test_other_estimators_and_measures_are_an_error():
    X, y, _, present = problem()
    table = as_table(X, present)
    for model in (
        crossview.Perceptron(),
        KeCoClassifier(kernel="precomputed"),
        KeCoClassifier(schedule="stream"),
        KeCoClassifier(approximation="fourier"),
    ):
        with pytest.raises(InputError):
            KernelSearchCV(model).fit(table, as_labels(y))
    with pytest.raises(InputError, match="scoring"):
        KernelSearchCV(KeCoClassifier(WIDTHS), scoring="f1").fit(table, as_labels(y))


def test_grid_search_cv_works_too():
    X, _, y, present = problem()
    search = GridSearchCV(
        PegasosClassifier(random_state=0, n_iterations=100), {"lam": [1e-3, 1e-1]}, cv=3
    ).fit(as_table(X, present), y)
    assert search.best_score_ > 0.7
    kernel = rbf_kernel(as_table(X, present))
    pre = GridSearchCV(
        PegasosClassifier(kernel="precomputed", random_state=0), {"lam": [1e-3, 1e-1]}, cv=3
    ).fit(kernel, y)
    assert pre.best_score_ > 0.7
