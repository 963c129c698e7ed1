"""What stands in for the score of a view that no learned row lacked."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

from crossview import (
    AROWClassifier,
    FactorizationMachineRegressor,
    LateFusionClassifier,
    MultiView,
    MultiViewKernelRidgeClassifier,
    MultiViewMachineClassifier,
    MultiViewNetworkRegressor,
    MultiViewPAClassifier,
    MultiViewTreesClassifier,
    OnlineNewtonClassifier,
    OnlineStackingClassifier,
    PassiveAggressiveClassifier,
    Perceptron,
    SecondOrderPerceptron,
    predict,
    train,
)

VIEWS = ("user", "ad", "query")
LEARNERS = [
    AROWClassifier(random_state=0),
    MultiViewPAClassifier(random_state=0),
    OnlineNewtonClassifier(random_state=0),
    MultiViewMachineClassifier(random_state=0),
    FactorizationMachineRegressor(random_state=0),
    MultiViewTreesClassifier(max_iter=5, random_state=0),
    MultiViewNetworkRegressor(max_epochs=2, random_state=0),
    MultiViewKernelRidgeClassifier(random_state=0),
    LateFusionClassifier(),
]


def rows_of(n, present=None, seed=0):
    """Return categories of three views as indicators, and a label that is rare."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(5, size=(n, 3))
    y = (codes[:, 0] + codes[:, 1] > 6).astype(int)
    blocks = {view: np.eye(5)[codes[:, v]] for v, view in enumerate(VIEWS)}
    return MultiView(blocks, present=present), y


def scores_of(learner, X):
    return learner.decision_function(X) if hasattr(learner, "classes_") else learner.predict(X)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("missing", [[0], [2], [0, 1, 2]], ids=str)
def test_scores_are_as_high_without_a_view_as_with_it(learner, missing):
    X, y = rows_of(300)
    learner = clone(learner).fit(X, y)
    present = np.ones((300, 3), dtype=bool)
    present[:, missing] = False
    without, _ = rows_of(300, present)
    assert scores_of(learner, without).mean() == pytest.approx(scores_of(learner, X).mean())
    if hasattr(learner, "predict_one"):
        (row,) = [{v: {0: 1.0} for k, v in enumerate(VIEWS) if k not in missing}]
        one = MultiView({v: np.eye(5)[:1] for v in VIEWS}, present=present[:1])
        assert learner.predict_one(row) == learner.predict(one)[0]


def test_nothing_stands_in_for_what_many_learned_rows_lacked():
    present = np.ones((400, 3), dtype=bool)
    present[::2, 0] = False
    state = AROWClassifier(random_state=0).fit(*rows_of(400, present)).get_state()
    assert not state["stand_in"][0].any()
    assert state["stand_in"][1:].all()
    assert state["lacked"].tolist() == [200.0, 0.0, 0.0, 0.0]


def test_what_stands_in_fades_as_rows_that_lack_the_view_are_learned():
    X, y = rows_of(400)
    models = [AROWClassifier(shuffle=False).partial_fit(X, y, classes=[0, 1]) for _ in range(2)]
    models[0].learn_stand_ins(X)
    present = np.ones((150, 3), dtype=bool)
    present[:, 0] = False
    present[100:] = True
    more, labels = rows_of(150, present)
    before = [one.decision_function(more[:1])[0] for one in models]
    for one in models:
        one.partial_fit(more, labels, sample_weight=np.r_[np.zeros(50), np.ones(100)])
    after = [one.decision_function(more[:1])[0] for one in models]
    assert before[0] != before[1]
    assert after[0] - after[1] == pytest.approx((before[0] - before[1]) * 50 / 100)


@pytest.mark.parametrize(
    "learner", [AROWClassifier(), FactorizationMachineRegressor(), OnlineStackingClassifier()]
)
def test_rows_that_lack_a_view_are_learned_alike_one_by_one_and_in_batches(learner):
    X, y = rows_of(200)
    learner = clone(learner).set_params(random_state=0).fit(X, y)
    present = np.random.default_rng(1).random((60, 3)) < 0.7
    present[~present.any(axis=1)] = True
    more, labels = rows_of(60, present, seed=2)
    models = [clone(learner).fit(X, y) for _ in range(2)]
    whole = models[0].score_then_learn(more, labels)
    parts = []
    for i in range(60):
        parts.append(scores_of(models[1], more[[i]]))
        models[1].partial_fit(more[[i]], labels[[i]])
    if not isinstance(learner, OnlineStackingClassifier):  # whose memory follows a stream only
        np.testing.assert_allclose(whole, np.concatenate(parts), rtol=1e-12)
    states = [one.get_state() for one in models]
    for name in states[0]:
        np.testing.assert_array_equal(*[state[name] for state in states], err_msg=name)


@pytest.mark.parametrize(
    "learner",
    [
        Perceptron(random_state=0),
        PassiveAggressiveClassifier(average=True, random_state=0),
        AROWClassifier(random_state=0),
        AROWClassifier(covariance="diagonal", random_state=0),
        SecondOrderPerceptron(random_state=0),
        MultiViewPAClassifier(random_state=0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("fit", [True, False])
def test_a_row_without_any_view_has_the_same_score_before_it_is_learned(learner, fit):
    X, y = rows_of(200)
    learner = clone(learner).fit(X, y) if fit else clone(learner).partial_fit(X, y, [0, 1])
    empty = np.zeros((3, 3), dtype=bool)
    empty[1] = True
    some, labels = rows_of(3, empty, seed=1)
    before = learner.decision_function(some[[0]])
    if not fit:
        assert before == 0.0
    one = pickle.loads(pickle.dumps(learner))
    assert learner.score_then_learn(some, labels)[0] == pytest.approx(before[0], rel=1e-12)
    for i, row in enumerate(({}, {v: dict(enumerate(some[v][1])) for v in VIEWS}, {})):
        one.learn_one(row, int(labels[i]))
    for name, array in learner.get_state().items():
        np.testing.assert_allclose(array, one.get_state()[name], rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("model", ["stacking", "pa:squared", "linear"])
def test_rows_without_any_value_have_the_probability_of_the_class(model):
    rng = np.random.default_rng(0)
    codes = rng.integers(8, size=(1500, 2))
    y = rng.random(1500) < np.where(codes[:, 0] == 0, 0.5, 0.05)
    cells = {
        "user__city": [f"c{code}" for code in codes[:, 0]],
        "ad__size": [f"s{code}" for code in codes[:, 1]],
    }
    trained = train(pa.table({**cells, "click": y.astype(int)}), "click", model=model)
    nothing = pa.table({name: pa.nulls(1, pa.string()) for name in cells})
    p = trained.fitted.predict_proba(nothing)[0, 1]
    assert y.mean() / 2 < p < 2 * y.mean()
    with pytest.warns(UserWarning, match="view 'ad' is missing; scored by the others, and a const"):
        predict(trained, nothing.select(["user__city"]))
    lacking = {**cells, "ad__size": pa.array([None] * 100 + cells["ad__size"][100:])}
    trained = train(pa.table({**lacking, "click": y.astype(int)}), "click", model=model)
    with pytest.warns(UserWarning, match="view 'ad' is missing; scored without it"):
        predict(trained, nothing.select(["user__city"]))
