"""SVMs trained for a measure (Wang), whose paper has no experiments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import ParameterGrid, StratifiedKFold, TunedThresholdClassifierCV
from sklearn.svm import LinearSVC

from benchmarks import data as shared_data
from benchmarks.papers.experiment import Claim, Experiment, Results, run_ways
from crossview import MultiViewSVMPerf
from crossview.scoring.metrics import measure

FOLDS, INNER = 5, 3
# a gap of a hundredth is enough to choose
TO_CHOOSE = 0.01
# one view after the other ends in a cycle of two rounds: both of them are shown
ROUNDS = 50
MEASURES = {"F1": "f1", "break-even point": "prbep", "ROC area": "roc_auc"}
C1, C2 = {"C1": [0.001, 0.01, 0.1, 1.0]}, {"C2": [0.0001, 0.001, 0.01]}


class TunedThreshold(TunedThresholdClassifierCV):
    """scikit-learn's, with scores of which 0 is the threshold."""

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores minus the threshold."""
        return super().decision_function(X) - self.best_threshold_


class Way(NamedTuple):
    """How to make a model for a metric, and the settings that are tried."""

    make: Callable[..., Any]
    grid: dict[str, list]


def _svm(
    metric: str, widths: list[int], tol: float, *, views: bool = True, own: bool = True, **how: Any
) -> Any:
    trained_for = metric if own else "error_rate"
    how |= {"measure": trained_for, "tol": tol, "calibration": "none"}
    return MultiViewSVMPerf(widths if views else None, **how)


def _linear(metric: str, widths: list[int], tol: float, C1: float) -> Any:
    model = LinearSVC(C=C1, loss="hinge", max_iter=100_000, random_state=0)
    return TunedThreshold(model, scoring="f1", cv=INNER) if metric == "f1" else model


def _way(grid: dict[str, list], **fixed: Any) -> Way:
    return Way(lambda *how, **setting: _svm(*how, **fixed, **setting), grid)


def _printed(rounds: int) -> Way:
    how = {"solver": "published", "fit_intercept": False, "max_iter": rounds}
    return _way(C1 | {"C2": [0.001]}, **how)


WAYS: dict[str, dict[str, Way]] = {
    "for the measure, views": {
        "as printed": _printed(ROUNDS),
        "corrected": _way(C1 | {"C2": [0.001]}),
        "tuned": _way(C1 | C2),
    },
    "for the measure, one round less, views": {"as printed": _printed(ROUNDS - 1)},
    "for the measure, concatenated": {"tuned": _way(C1, views=False)},
    "for the error rate, views": {"tuned": _way(C1 | C2, own=False)},
    "for the error rate, concatenated": {"tuned": _way(C1, views=False, own=False)},
    "baseline: LinearSVC, tuned threshold": {"tuned": Way(_linear, C1)},
}


def one_fold(
    name: str, form: str, X: Any, y: np.ndarray, widths: list[int], train: np.ndarray,
    test: np.ndarray,
) -> dict[str, float]:  # fmt: skip
    """Return each measure on a test fold, by the model whose setting was chosen for it."""
    way, found = WAYS[name][form], {}
    for words, metric in MEASURES.items():
        settings = list(ParameterGrid(way.grid))
        tried = np.zeros(len(settings))
        inner = StratifiedKFold(INNER, shuffle=True, random_state=0)
        for a, b in inner.split(train, y[train]):
            for i, setting in enumerate(settings):
                model = way.make(metric, widths, TO_CHOOSE, **setting)
                model.fit(X[train[a]], y[train[a]])
                tried[i] += measure(metric, y[train[b]], model.decision_function(X[train[b]]))
        model = way.make(metric, widths, 1e-3, **settings[int(tried.argmax())])
        model.fit(X[train], y[train])
        found[words] = float(measure(metric, y[test], model.decision_function(X[test])))
    return found


def run(data: tuple[Any, np.ndarray, list[int]]) -> Results:
    """Five folds."""
    X, y, widths = data
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(y, y)
    ways = {name: w for name, w in WAYS.items() if len(widths) > 1 or not name.endswith("views")}
    return run_ways(ways, one_fold, [(X, y, widths, *fold) for fold in folds])


def _two_views(load: Callable[[], tuple[Any, np.ndarray]]) -> tuple[Any, np.ndarray, list[int]]:
    X, y = load()
    parts = [sp.csr_array(X.select([view]).matrix) for view in X.layout.names]
    return sp.hstack(parts, format="csr"), y.astype(int), [part.shape[1] for part in parts]


def _census() -> tuple[Any, np.ndarray, list[int]]:
    """Return 8,000 rows of a9a, one view."""
    found = shared_data.fetch("a9a")
    rows = np.random.default_rng(0).permutation(np.sum(found.part == "train"))[:8000]
    X, y = sp.csr_matrix(found.data["person"][rows]), found.target
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # for LinearSVC
    return X, (y[rows] > 0).astype(int), [X.shape[1]]


VIEWS, ONE = "for the measure, views", "for the measure, concatenated"
EXPERIMENT = Experiment(
    name="performance",
    title="SVMs trained for a measure",
    source='Wang, "Multi-view learning for multivariate performance measures optimization". '
    "[Equations](svmperf.md). The paper has no experiments.",
    protocol="""\
Five folds, binary features; in percent. Three inner folds choose C1 (0.001 to 1 by decades) and
C2 (0.0001 to 0.01), separately for each measure. As printed: one view after the other, C2 = 0.001,
no intercept, and the weights after 50 rounds. They do not converge, but end in a cycle of two
rounds; "one round less" has the weights of the other one. Corrected: all views together,
C2 = 0.001. a9a has one view, and is 8,000 rows of census data. Settings that are equal to a row or
two in the inner folds are chosen by the last bits of products of matrices, so another processor may
move the third digit of a9a.""",
    sets={
        "webkb_course": lambda: _two_views(shared_data.webkb_course),
        "internet_ads": lambda: _two_views(shared_data.internet_ads),
        "a9a": _census,
    },
    run=run,
    higher=dict.fromkeys(MEASURES, True),
    claims=tuple(
        Claim(better, than, words)
        for words in MEASURES
        for better, than in (
            (VIEWS, "for the error rate, views"),
            (VIEWS, ONE),
            (ONE, "for the error rate, concatenated"),
            (ONE, "baseline: LinearSVC, tuned threshold"),
        )
    ),
    test_share=1.0 / FOLDS,
    scale=100.0,
)
