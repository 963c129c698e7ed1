"""Fits of parts of the rows, side by side in several processes."""

import os

import numpy as np
import pytest
from joblib import parallel_config
from joblib.parallel import ThreadingBackend
from sklearn.base import BaseEstimator

from crossview import LateFusionClassifier, MultiViewTreesClassifier
from crossview.estimators.base.held_out import FEWEST_OF_PROCESS, Part, fit_parts


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(FEWEST_OF_PROCESS, 3))
    return X, (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)


def test_processes_are_for_those_who_ask_for_them_and_have_many_rows(data):
    class Learner(BaseEstimator):  # of a function: processes get its code
        fits_on_one_core = True

        def fit(self, X, y, sample_weight):
            self.process_, self.n_rows_ = os.getpid(), len(y)
            return self

    X, y = data
    many, few = [Part(X, y, None)] * 3, [Part(X, y, None, np.arange(100))] * 3
    own = os.getpid()
    assert [one.process_ for one in fit_parts(Learner(), many)] == [own] * 3
    with parallel_config(n_jobs=2):
        assert own not in [one.process_ for one in fit_parts(Learner(), many)]
        found = list(fit_parts(Learner(), [many[0], few[0]]))
    assert [one.process_ for one in found] == [own] * 2
    assert [one.n_rows_ for one in found] == [len(y), 100]


@pytest.mark.parametrize("backend", [None, "threading"])
def test_they_change_nothing(backend, data):
    """Threads would restore each other's filters of warnings, so they fit nothing side by side."""
    learner = MultiViewTreesClassifier(max_iter=5, n_bags=1, random_state=0, calibration="sigmoid")
    alone = learner.fit(*data).predict_proba(data[0])
    with parallel_config(**({"backend": backend} if backend else {}), n_jobs=2):
        assert np.allclose(learner.fit(*data).predict_proba(data[0]), alone, rtol=0, atol=1e-12)


class NoWorkers(ThreadingBackend):
    """It refuses to start."""

    def configure(self, *_, **__):
        raise RuntimeError("workers are asked for")


def test_scikit_learn_asks_for_no_workers_where_rows_are_few(data):
    X, y = data
    with parallel_config(NoWorkers(), n_jobs=2):
        LateFusionClassifier([1, 2]).fit(X[:-1], y[:-1])
        with pytest.raises(RuntimeError, match="workers are asked for"):
            LateFusionClassifier([1, 2]).fit(X, y)
