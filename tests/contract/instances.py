"""The learners under test, in one table, and what the tests of the contract do with them.

A new public learner is checked without an entry here, as the representative of its own loop. An
entry is for parameters that take another path of the code, or share a loop with others.
"""

import tempfile
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier

import crossview
from crossview import (
    AROWClassifier,
    ConfidenceWeightedClassifier,
    EnsembleClassifier,
    EnsembleRegressor,
    FactorizationMachineClassifier,
    FactorizationMachineRegressor,
    KeCoClassifier,
    KeCoRegressor,
    LateFusionClassifier,
    LateFusionRegressor,
    MultiView,
    MultiViewExtraTreesClassifier,
    MultiViewExtraTreesRegressor,
    MultiViewLogisticRegression,
    MultiViewMachineClassifier,
    MultiViewMachineRegressor,
    MultiViewNetworkClassifier,
    MultiViewNetworkRegressor,
    MultiViewPAClassifier,
    MultiViewRidge,
    MultiViewSVMPerf,
    MultiViewTreesClassifier,
    MultiViewTreesRegressor,
    OnlineNewtonClassifier,
    OnlineNewtonRegressor,
    OnlineStackingClassifier,
    OnlineStackingRegressor,
    PAMClassifier,
    PassiveAggressiveClassifier,
    PegasosClassifier,
    Perceptron,
    SecondOrderPerceptron,
    SoftConfidenceWeightedClassifier,
    SupportTensorMachineClassifier,
    ViewEncoder,
    open_rows,
)
from crossview.data.row_sketch import hash_rows

N_COLUMNS = 12
WIDTHS = [4, 3, 5]
COLUMN_NAMES = [f"c{j}" for j in range(N_COLUMNS)]


class Case(NamedTuple):
    """A learner under test and the compiled loop that it uses.

    The first case of a loop represents it: what the shared layers do (containers, types, bad
    input) is checked on that one, and on all others by `make test-all`.
    """

    estimator: Any
    loop: str


# one pass in the order of the rows, as on a stream
ONE_PASS = {"n_epochs": 1, "early_stopping": False, "init_scale": 0.3, "random_state": 0}
LAM = {"view0": 1e-2, "view1": 0.1, "view2": 1e-3}
MAHALANOBIS = {"C": 0.1, "geometry": "mahalanobis"}

STACKED = [
    ("pa", PassiveAggressiveClassifier(C=0.1)),
    ("arow", AROWClassifier(covariance="diagonal")),
    ("fm", FactorizationMachineClassifier(n_factors=2)),
    ("first", PassiveAggressiveClassifier(), "view0"),
]
BLENDED = [
    ("pa", PassiveAggressiveClassifier(C=0.1, random_state=0)),
    ("first", PassiveAggressiveClassifier(random_state=0), "view0"),
]
STACKED_NUMBERS = [
    ("fm", FactorizationMachineRegressor(n_factors=2)),
    ("second", MultiViewMachineRegressor(), "view1"),
]

CASES = {
    "PA-I": Case(PassiveAggressiveClassifier(C=0.1), "identity"),
    "PA": Case(PassiveAggressiveClassifier(variant="PA"), "identity"),
    "PA-II-average": Case(
        PassiveAggressiveClassifier(variant="PA-II", C=0.1, average=True), "identity"
    ),
    "perceptron": Case(Perceptron(), "identity"),
    "perceptron-average": Case(Perceptron(average=True), "identity"),
    "squared": Case(MultiViewPAClassifier(WIDTHS, C=0.1), "coupled"),
    "squared-PA-II-average": Case(
        MultiViewPAClassifier(WIDTHS, C=0.1, variant="PA-II", average=True), "coupled"
    ),
    "absolute": Case(MultiViewPAClassifier(WIDTHS, C=0.1, coupling="absolute"), "coupled"),
    "independent": Case(MultiViewPAClassifier(WIDTHS, C=0.1, coupling="independent"), "coupled"),
    "concatenated": Case(MultiViewPAClassifier(WIDTHS, C=0.1, coupling="concatenated"), "coupled"),
    "learned-weights-average": Case(
        MultiViewPAClassifier(WIDTHS, C=0.1, view_weights="learned", average=True), "coupled"
    ),
    "published": Case(
        MultiViewPAClassifier(
            [7, 5], C=0.1, disagreement=0.5, coupling="absolute", update="published"
        ),
        "coupled",
    ),
    "PAM-II": Case(PAMClassifier(C=0.1), "covariance"),
    "PAM-I-diagonal-average": Case(
        PAMClassifier(variant="PAM-I", C=0.1, covariance="diagonal", average=True), "covariance"
    ),
    "AROW-low-rank-average": Case(
        AROWClassifier(covariance="low-rank", rank=7, average=True), "covariance"
    ),
    "CW": Case(ConfidenceWeightedClassifier(form="variance"), "covariance"),
    "SCW-II-diagonal": Case(
        SoftConfidenceWeightedClassifier(
            variant="SCW-II", covariance="diagonal", diagonal="covariance"
        ),
        "covariance",
    ),
    "SOP-average": Case(SecondOrderPerceptron(average=True), "covariance"),
    "SOP-diagonal-average": Case(
        SecondOrderPerceptron(covariance="diagonal", average=True), "covariance"
    ),
    "squared-mahalanobis-average": Case(
        MultiViewPAClassifier(WIDTHS, variant="PA-II", average=True, **MAHALANOBIS), "covariance"
    ),
    "absolute-low-rank": Case(
        MultiViewPAClassifier(
            WIDTHS, coupling="absolute", covariance="low-rank", rank=9, **MAHALANOBIS
        ),
        "covariance",
    ),
    "independent-diagonal-learned-weights": Case(
        MultiViewPAClassifier(
            WIDTHS,
            coupling="independent",
            covariance="diagonal",
            view_weights="learned",
            **MAHALANOBIS,
        ),
        "covariance",
    ),
    "concatenated-mahalanobis": Case(
        MultiViewPAClassifier(WIDTHS, coupling="concatenated", **MAHALANOBIS), "covariance"
    ),
    "newton": Case(OnlineNewtonClassifier(forgetting=0.98), "newton"),
    "newton-fourier": Case(
        OnlineNewtonClassifier(fourier_features=7, full_columns=5, random_state=0),
        "newton",
    ),
    "newton-regressor": Case(
        OnlineNewtonRegressor(fourier_features=7, columns="numbers", random_state=0), "newton"
    ),
    "MVM": Case(MultiViewMachineClassifier(WIDTHS, n_factors=3, **ONE_PASS), "machines float32"),
    "MVM-groups-hinge-sgd-l1": Case(
        MultiViewMachineClassifier(
            WIDTHS,
            groups=[["view0", "view1"], ["view2", "view0"]],
            loss="hinge",
            penalty="l1",
            optimizer="sgd",
            learning_rate=0.01,
            penalize_bias=True,
            n_factors=2,
            **ONE_PASS,
        ),
        "machines float64",
    ),
    "MVM-one-view": Case(MultiViewMachineClassifier([N_COLUMNS], **ONE_PASS), "machines float32"),
    "MVM-regressor": Case(MultiViewMachineRegressor(WIDTHS, **ONE_PASS), "machines float32"),
    "FM": Case(FactorizationMachineClassifier(WIDTHS, n_factors=3, **ONE_PASS), "machines float32"),
    "FM-cross": Case(
        FactorizationMachineClassifier(WIDTHS, cross_view_only=True, loss="squared", **ONE_PASS),
        "machines float32",
    ),
    "FM-order-3": Case(
        FactorizationMachineClassifier(WIDTHS, order=3, **ONE_PASS), "machines float32"
    ),
    "FM-regressor-huber": Case(
        FactorizationMachineRegressor(WIDTHS, loss="huber", **ONE_PASS), "machines float32"
    ),
    "STM": Case(
        SupportTensorMachineClassifier(WIDTHS, optimizer="adagrad", **ONE_PASS),
        "machines float32",
    ),
    "KeCo": Case(
        KeCoClassifier(WIDTHS, gamma=0.3, lam=1e-2, schedule="stream"), "kernel expansion"
    ),
    "KeCo-linear": Case(
        KeCoClassifier(WIDTHS, kernel="linear", lam=LAM, schedule="stream"), "kernel weights"
    ),
    "KeCo-regressor": Case(
        KeCoRegressor(WIDTHS, gamma=0.3, lam=LAM, schedule="stream"), "kernel expansion"
    ),
    "Pegasos-budget": Case(
        PegasosClassifier(
            WIDTHS, gamma=0.3, schedule="stream", budget=20, maintenance="projection"
        ),
        "kernel expansion",
    ),
    "SVMPerf": Case(MultiViewSVMPerf(WIDTHS, C1=0.3, C2=0.01, tol=1e-8), "cutting planes"),
    "SVMPerf-roc-area": Case(
        MultiViewSVMPerf([7, 5], measure="roc_auc", C1=0.1, tol=1e-6, fit_intercept=False),
        "cutting planes",
    ),
    "trees": Case(MultiViewTreesClassifier(WIDTHS, n_bags=2, max_iter=20, random_state=0), "trees"),
    "trees-additive": Case(
        MultiViewTreesClassifier(
            [7, 5],
            additive=True,
            max_columns=3,
            n_components=2,
            n_bags=1,
            max_iter=10,
            validation_fraction=0.0,
            random_state=0,
        ),
        "trees",
    ),
    "trees-regressor": Case(
        MultiViewTreesRegressor(WIDTHS, n_bags=1, max_iter=20, random_state=0), "trees"
    ),
    "extra-trees": Case(
        MultiViewExtraTreesClassifier(WIDTHS, n_estimators=10, random_state=0), "trees"
    ),
    "extra-trees-regressor": Case(
        MultiViewExtraTreesRegressor(WIDTHS, n_estimators=10, random_state=0), "trees"
    ),
    "network": Case(
        MultiViewNetworkClassifier(WIDTHS, n_members=2, n_hidden=8, max_epochs=5, random_state=0),
        "networks",
    ),
    "network-regressor": Case(
        MultiViewNetworkRegressor([7, 5], n_hidden=8, max_columns=4, max_epochs=3, random_state=0),
        "networks",
    ),
    "logistic-regression": Case(MultiViewLogisticRegression(WIDTHS), "scikit-learn"),
    "late-fusion": Case(LateFusionClassifier([7, 5]), "scikit-learn"),
    "ridge": Case(MultiViewRidge(WIDTHS), "scikit-learn"),
    "late-fusion-regressor": Case(LateFusionRegressor(WIDTHS), "scikit-learn"),
    "ensemble": Case(EnsembleClassifier(WIDTHS, members=BLENDED, cv=2), "ensemble"),
    "ensemble-regressor": Case(
        EnsembleRegressor(WIDTHS, members=STACKED_NUMBERS, cv=2, random_state=0), "ensemble numbers"
    ),
    "stacking": Case(OnlineStackingClassifier(WIDTHS, experts=STACKED, random_state=0), "stacking"),
    "stacking-memory": Case(
        OnlineStackingClassifier(WIDTHS, experts=STACKED, memory=True, random_state=0), "stacking"
    ),
    "stacking-pruned": Case(
        OnlineStackingClassifier(WIDTHS, prune=9, share=0.01, random_state=0), "stacking"
    ),
    "stacking-regressor": Case(
        OnlineStackingRegressor(WIDTHS, experts=STACKED_NUMBERS, random_state=0),
        "stacking numbers",
    ),
}

# public estimators that are no learner of rows and labels, and where they are tested
NO_LEARNERS = {
    "ViewEncoder": "it turns raw columns into rows; see the tests of encoding.encode",
    "ViewReader": "it reads text as rows; see the tests of readers.sparse.text_rows",
    "ViewScaler": "it scales rows; see the tests of encoding.view_scaler",
    "Pipeline": "it learns by its last step; see test_single_rows",
    "KernelSearchCV": "it searches for a KeCoClassifier's parameters; see the tests of KeCo",
}


def public_learners():
    """Every public class of learners."""
    public = [getattr(crossview, name) for name in crossview.__all__]
    return [
        thing
        for thing in public
        if isinstance(thing, type)
        and issubclass(thing, BaseEstimator)
        and thing.__name__ not in NO_LEARNERS
    ]


# what a learner without an entry is told, if it has the parameter
AS_A_STREAM = {
    "views": WIDTHS,
    "n_epochs": 1,
    "early_stopping": False,
    "schedule": "stream",
    "gamma": 0.3,
    "random_state": 0,
}
for _class in public_learners():
    if not any(type(case.estimator) is _class for case in CASES.values()):
        _own = {k: v for k, v in AS_A_STREAM.items() if k in _class().get_params()}
        CASES[_class.__name__] = Case(_class(**_own), _class.__name__)

REPRESENTATIVES = {
    name: case
    for name, case in CASES.items()
    if name == next(first for first, other in CASES.items() if other.loop == case.loop)
}


def params(wanted=lambda estimator: True, *, each_loop=False):
    """Return the cases that a test wants as pytest's parameters, each a clone.

    ``each_loop=True`` leaves all but the representatives of the loops to `make test-all`.
    """
    return [
        pytest.param(
            name,
            id=name,
            marks=[pytest.mark.exhaustive] if each_loop and name not in REPRESENTATIVES else [],
        )
        for name, case in CASES.items()
        if wanted(case.estimator)
    ]


def new(name):
    """Return an unfitted learner of the table."""
    return clone(CASES[name].estimator)


def streams(estimator):
    return hasattr(estimator, "partial_fit")


def streams_classes(estimator):
    return streams(estimator) and is_classifier(estimator)


def linear(estimator):
    """Whether the score is the sum or the mean of each view's weights times its columns."""
    has_weights = hasattr(type(estimator), "coef_") and not hasattr(type(estimator), "dual_coef_")
    has_weights = has_weights and not getattr(estimator, "fourier_features", 0)
    return has_weights and is_classifier(estimator)  # else each view predicts the target by itself


def streams_linear(estimator):
    return streams(estimator) and linear(estimator)


def has_kernel(estimator):
    return hasattr(estimator, "kernel")


def is_machine(estimator):
    return hasattr(estimator, "early_stopping")


def make_rows(n_classes=2, rows=80, seed=0):
    """Return rows, among them an empty one, twins and a constant column, and their labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, N_COLUMNS)).round(3) * (rng.random((rows, N_COLUMNS)) < 0.6)
    X[3] = 0.0
    X[8] = X[7]
    X[:, 2] = 1.0
    noise = rng.normal(size=(N_COLUMNS, n_classes)), rng.normal(size=(rows, n_classes))
    y = (X @ noise[0] + 0.4 * noise[1]).argmax(1)
    return X, np.array(LABELS)[y]


LABELS = ["ant", "bee", "cat", "dog"]


def targets(estimator, y):
    """Return labels for a classifier, numbers for a regressor."""
    return y if is_classifier(estimator) else np.searchsorted(LABELS, y).astype(float)


def learn(estimator, X, y, classes=None, **options):
    """Learn from a batch of a stream (``classes``: all that come), or fit where none is taken."""
    y = targets(estimator, y)
    if not streams(estimator):
        return estimator.fit(X, y, **options)
    if is_classifier(estimator):
        options["classes"] = np.unique(y if classes is None else classes)
    return estimator.partial_fit(X, y, **options)


def scores_of(estimator, X):
    """Return what the prediction is made from."""
    return np.asarray(getattr(estimator, "decision_function", estimator.predict)(X))


def weights_of(estimator):
    """Return the weights in the order of the columns, (any, n_columns)."""
    nested = getattr(estimator, "experts_", None) or getattr(estimator, "members_", None)
    if nested:  # those on all views
        return np.vstack([weights_of(own) for _, own, view in nested if view is None])
    if hasattr(estimator, "coef_"):
        return estimator.coef_
    if hasattr(estimator, "dual_coef_"):
        return np.hstack(list(estimator.dual_coef_.values()))
    if hasattr(estimator, "feature_importances_"):
        return estimator.feature_importances_[None]
    n = max(A.shape[1] for A in estimator.factors_.values())
    wide = [np.pad(A, ((0, 0), (0, n - A.shape[1]))) for A in estimator.factors_.values()]
    return np.vstack(wide).T


def tolerance(estimator):
    """Sums in another order differ in the last digits; a cutting plane may then be another one."""
    return 1e-12 if streams(estimator) else 1e-3


def assert_same_state(a, b, *, probabilities=True):
    """Assert that all arrays are equal; without ``probabilities`` except the calibration."""
    a, b = a.get_state(), b.get_state()
    assert a.keys() == b.keys()
    for name in a.keys() - (set() if probabilities else {"calibration"}):
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


def calls_of_every_loop():
    """Return calls that together run, and so compile, each loop of compiled_loops.py.

    The first and the last of them have few functions in common.
    """

    def learn_and_predict(name, n_classes):
        X, y = make_rows(n_classes)
        learner = learn(new(name), X, y)
        learner.predict(X)
        if is_machine(learner) or hasattr(learner, "feature_importances_"):
            learner.contributions(X)

    def fit(learner):
        learner.fit(*make_rows(3))

    def learn_one_by_one(learner):
        for x, y in zip(*make_rows(3), strict=True):
            learner.learn_one(x, y)
            learner.predict_proba_one(x)

    def learn_and_merge(learner):
        crossview.merge([learner.fit(*make_rows(3)) for _ in range(2)])

    def encode(cell, **options):
        ViewEncoder(**options).fit_transform(pd.DataFrame([[cell, 1.0]], columns=["a__x", "b__y"]))

    def read(end, line):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, f"t.{end}").write_text(f"{line}\n")
            list(open_rows(Path(folder, f"t.{end}")))

    def hash_some():
        table = pd.DataFrame({"a__x": [1.0], "b__y": ["word"]})
        hash_rows(table, ViewEncoder().fit(table))
        hash_rows(MultiView({"a": np.ones((1, 1))}), None)

    def learners(wanted):
        return [
            partial(learn_and_predict, name, n_classes)
            for name in REPRESENTATIVES
            if wanted(new(name))
            for n_classes in (2, 3)
        ]

    def is_stack(learner):
        return hasattr(learner, "experts")

    return [
        *learners(lambda learner: not is_machine(learner) and not is_stack(learner)),
        partial(fit, KeCoClassifier()),
        partial(fit, MultiViewSVMPerf(measure="g_mean")),
        partial(fit, MultiViewSVMPerf(measure="average_precision")),
        partial(learn_and_merge, new("newton")),
        *learners(is_stack),
        *(partial(learn_and_predict, "stacking-memory", n_classes) for n_classes in (2, 3)),
        partial(learn_one_by_one, new("stacking")),
        partial(encode, 1.0),
        hash_some,
        partial(encode, "some words", text=["a__x"], tf_idf=True),
        partial(read, "svm", "1 1:2"),
        partial(read, "ffm", "1 1:1:2"),
        partial(read, "vw", "1 |a b"),
        *reversed(learners(is_machine)),
    ]
