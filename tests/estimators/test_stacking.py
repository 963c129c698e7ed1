"""Stacks of default and of given experts, on streams that change and that grow."""

import numpy as np
import pytest
from sklearn.base import clone

import crossview
import shared_data
from contract.instances import assert_same_state
from crossview import (
    AROWClassifier,
    InputError,
    MultiView,
    MultiViewMachineClassifier,
    OnlineStackingClassifier,
    OnlineStackingRegressor,
    PassiveAggressiveClassifier,
    PegasosClassifier,
    Perceptron,
)
from crossview.estimators.stacking.defaults import default_classifiers, default_regressors
from crossview.views import ViewLayout

ROWS = 4000


def switching(rows=2 * ROWS, seed=0):
    """Two views; the first tells the class of the first half of the rows, the second the rest."""
    rng = np.random.default_rng(seed)
    views = [rng.normal(size=(rows, 5)) for _ in range(2)]
    w = rng.normal(size=5)
    w *= 3.0 / np.linalg.norm(w)
    logit = np.where(np.arange(rows) < rows // 2, views[0] @ w, views[1] @ w)
    y = rng.random(rows) < 1 / (1 + np.exp(-logit))
    return MultiView({"first": views[0], "second": views[1]}), y, logit


def losses_of(model, X, y):
    return log_losses(model.score_then_learn(X, y, classes=[False, True]), y)


def log_losses(score, y):
    return np.logaddexp(0.0, np.where(y, -score, score))


@pytest.fixture(scope="module")
def switched():
    X, y, logit = switching()
    model = OnlineStackingClassifier(random_state=0)
    return model, losses_of(model, X, y), log_losses(logit, y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_in_the_pass_the_scale_of_an_expert_has_the_score_of_the_row_itself(n_classes):
    """That, and no label, is all by which `score_then_learn` and `decision_function` differ."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, 60)
    X = rng.normal(size=(60, 4)) + np.eye(n_classes, 4)[y]
    model = OnlineStackingClassifier(
        experts=[("arow", AROWClassifier()), ("pa", PassiveAggressiveClassifier(C=0.1))]
    )
    classes = np.arange(n_classes)
    scores = clone(model).score_then_learn(X, y, classes)
    K, apart = 1 if n_classes == 2 else n_classes, []
    squares = 2 + 3 * K  # of a calibration; then the number of rows
    for i in range(1, 60):
        row = X[i : i + 1]
        seen = clone(model).partial_fit(X[:i], y[:i], classes)
        apart.append(np.abs(seen.decision_function(row)[0] - scores[i]).max())
        for k, (_, expert, _) in enumerate(seen.experts_):
            s = expert.decision_function(row)
            seen._state["calibrations"][k, squares] += np.mean((s - s.mean() * (K > 1)) ** 2)
            seen._state["calibrations"][k, squares + 1] += 1.0
        np.testing.assert_allclose(seen.decision_function(row)[0], scores[i], rtol=1e-9, atol=1e-9)
    assert max(apart) > 0.1
    other = y.copy()
    other[30] = (y[30] + 1) % n_classes
    changed = clone(model).score_then_learn(X, other, classes)
    assert np.array_equal(changed[:31], scores[:31])
    assert not np.array_equal(changed[31], scores[31])


def test_the_loss_is_back_2000_rows_after_the_best_view_changed(switched):
    _, losses, least = switched
    # what no model can do without is not the same in all parts
    above = losses - least
    before = least.mean() + above[ROWS - 1000 : ROWS].mean()
    assert least.mean() + above[ROWS : ROWS + 200].mean() > 1.3 * before
    assert least.mean() + above[ROWS + 1500 : ROWS + 2500].mean() < 1.03 * before


def test_the_history_shows_which_view_was_trusted_when(switched):
    model, _, _ = switched
    past = model.weight_history_
    of = {view: past.experts.index(f"view:{view}") for view in ("first", "second")}
    early, late = (past.n_rows > 1000) & (past.n_rows < ROWS), past.n_rows > ROWS + 1000
    for weights in (past.mixture, past.stacking):
        lead = weights[:, of["first"]] - weights[:, of["second"]]
        assert lead[early].mean() > 0.0 > lead[late].mean()
    assert len(past.n_rows) <= 512
    assert past.mixture.shape == past.stacking.shape == (len(past.n_rows), len(past.experts))


def losses_of_experts(model, X, y):
    """Mean log loss of each expert as a learner of its own, calibrated in the same pass."""
    for _, learner, view in model.experts_:
        alone = clone(learner).set_params(calibration="sigmoid")
        own = X if view is None else X.select([view])
        _, p = alone.score_then_learn(own, y, [False, True], return_proba=True)
        yield -np.log(np.maximum(p[np.arange(len(y)), y * 1], 1e-6)).mean()


def test_it_is_ahead_of_its_experts(switched):
    model, losses, _ = switched
    X, y, _ = switching()
    assert losses.mean() < min(losses_of_experts(model, X, y))


def test_it_is_ahead_of_its_experts_on_web_pages():
    X, y = shared_data.webkb_course()
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    model = OnlineStackingClassifier(random_state=0)
    assert losses_of(model, X, y).mean() < min(losses_of_experts(model, X, y))


@pytest.mark.parametrize("n_classes", [2, 5, 50])
@pytest.mark.parametrize("n_views", [1, 2, 4, 5, 8, 9, 40])
def test_the_default_experts_are_few_and_different(n_views, n_classes):
    layout = ViewLayout([f"v{v}" for v in range(n_views)], [3] * n_views)
    for entries in (default_classifiers(layout, n_classes), default_regressors(layout)):
        assert 6 <= len(entries) <= 20
        assert len({name for name, _, _ in entries}) == len(entries)
        assert len({(repr(learner), view) for _, learner, view in entries}) == len(entries)
    machines = [e for e in default_classifiers(layout, n_classes) if hasattr(e[1], "n_factors")]
    factorized = [learner for _, learner, _ in machines if getattr(learner, "groups", None) is None]
    assert any(learner.forgetting < 1.0 for learner in factorized) == (n_classes <= 20)
    assert bool(factorized) == (n_classes <= 20)
    alone = {view for _, _, view in default_classifiers(layout, n_classes)} - {None}
    assert len(alone) == (n_views if 1 < n_views <= 8 else 0)


def test_experts_are_the_same_where_columns_that_no_row_has_are_dropped():
    def names(widths):
        layout = ViewLayout(["a", "b"], widths)
        found = (default_classifiers(layout, 2), default_regressors(layout))
        return [[name for name, _, _ in entries] for entries in found]

    assert names([2**18, 3000]) == names([3, 30])
    assert sum(name.startswith("newton") for name in names([3, 30])[0]) == 2


# --- pruning ------------------------------------------------------------------------------


def test_dropped_experts_are_no_longer_learned_however_the_stream_is_cut(tmp_path):
    X, y, _ = switching(3000)
    X, y = X[:1500], y[:1500]  # the second view tells nothing
    classes = [False, True]
    whole = OnlineStackingClassifier(prune=200, random_state=0).partial_fit(X, y, classes)
    n_experts = len(whole.weight_history_.experts)
    assert 1 <= len(whole.experts_) < n_experts
    parts = OnlineStackingClassifier(prune=200, random_state=0)
    for start in range(0, len(y), 77):
        parts.partial_fit(X[start : start + 77], y[start : start + 77], classes)
        if start == 770:
            crossview.save(parts, tmp_path / "m.safetensors")
            parts = crossview.load(tmp_path / "m.safetensors")
    assert_same_state(whole, parts)
    assert parts.weight_history_.experts == whole.weight_history_.experts
    assert parts.mixture_weights_ == whole.mixture_weights_
    arrays = OnlineStackingClassifier(random_state=0).partial_fit(X, y, classes).get_state()
    assert len(whole.get_state()) < len(arrays)
    names = [name for name, _, _ in whole.experts_]
    assert list(whole.stacking_weights_) == names


# --- rows that are mappings -----------------------------------------------------------------


def test_views_features_and_classes_that_come_later(tmp_path):
    rng = np.random.default_rng(0)
    model, right = OnlineStackingClassifier(random_state=0), 0
    for t in range(400):
        label = int(rng.integers(2 + (t > 100)))
        row = {"text": {f"w{int(w)}": 1.0 for w in rng.integers(30, size=4)}}
        row["text"][f"only{label}"] = 1.0
        if t > 50 and t % 3:
            row["link"] = {f"to{label}": 1.0, f"page{int(rng.integers(30))}": 1.0}
        right += t > 200 and model.predict_one(row) == label
        model.learn_one(row, label)
    assert right > 160
    assert model.classes_.tolist() == [0, 1, 2]
    # a view that comes later has its own expert, and so has the first one then
    assert {view for _, _, view in model.experts_} == {None, "text", "link"}
    crossview.save(model, tmp_path / "m.safetensors")
    again = crossview.load(tmp_path / "m.safetensors")
    row = {"text": {"only2": 1.0, "brand new": 1.0}, "other": {"x": 1.0}}
    assert again.predict_one(row) == model.predict_one(row) == 2
    assert_same_state(again.learn_one(row, 3), model.learn_one(row, 3))
    assert again.classes_.tolist() == [0, 1, 2, 3]


def test_a_regressor_grows_and_resumes(tmp_path):
    rng = np.random.default_rng(0)
    model = OnlineStackingRegressor(random_state=0)
    errors = []
    for t in range(300):
        a, b = int(rng.integers(5)), int(rng.integers(5))
        row = {"user": {f"u{a}": 1.0}} | ({"item": {f"i{b}": 1.0}} if t > 9 else {})
        target = 5.0 + a + (b if t > 9 else 0)
        errors.append((model.predict_one(row) or 0.0) - target)
        model.learn_one(row, target)
    assert np.abs(errors[200:]).mean() < 0.9
    crossview.save(model, tmp_path / "m.safetensors")
    again = crossview.load(tmp_path / "m.safetensors")
    assert_same_state(again.learn_one(row, 1.0), model.learn_one(row, 1.0))
    # an expert predicts in the units of the target, too
    _, learner, _ = again.experts_[0]
    assert abs(learner.predict_one(row) - target) < 3.0


# --- missing views, several classes, parameters ------------------------------------------------


def test_a_missing_view_silences_its_expert():
    X, y, _ = switching(1200)
    present = np.ones((1200, 2), dtype=bool)
    present[::2, 0] = False
    X = MultiView.from_matrix(X.matrix, X.layout, present=present)
    model = OnlineStackingClassifier(random_state=0)
    losses = losses_of(model, X, y)
    assert np.isfinite(losses).all()
    assert losses[1::2][:300].mean() < losses[::2][:300].mean()
    assert np.isnan(model.view_scores(X)[::2, 0]).all()
    assert not np.isnan(model.view_scores(X)[:, 1]).any()
    alone = {view: learner for _, learner, view in model.experts_ if view}["first"]
    own = clone(alone).partial_fit(X.select(["first"])[1::2], y[1::2], [False, True])
    np.testing.assert_array_equal(alone.coef_, own.coef_)


def test_probabilities_of_several_classes_add_up_and_beat_the_experts():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(1500, 6)), rng.normal(size=(6, 4))
    y = (X @ w + rng.gumbel(size=(1500, 4))).argmax(axis=1)
    model = OnlineStackingClassifier([3, 3], random_state=0)
    logs = model.score_then_learn(X, y, classes=np.arange(4))
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0)
    loss = -logs[np.arange(1500), y]
    assert loss[500:].mean() < 0.75 * np.log(4)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(p.argmax(axis=1), model.predict(X))


def test_experts_are_named_parameters():
    experts = [("pa", PassiveAggressiveClassifier()), ("arow", AROWClassifier(), "view1")]
    model = OnlineStackingClassifier([2, 2], experts=experts)
    assert model.get_params()["pa__C"] == 1.0
    model.set_params(pa__C=0.1, arow=Perceptron(), share=0.0)
    assert clone(model).get_params()["pa__C"] == 0.1
    assert model.experts[1][1:] == (model.get_params()["arow"], "view1")
    X = np.random.default_rng(0).normal(size=(60, 4))
    model.fit(X, X[:, 0] > 0)
    assert [(name, view) for name, _, view in model.experts_] == [("pa", None), ("arow", "view1")]
    assert not hasattr(experts[0][1], "classes_")


def test_a_kernel_learner_may_be_an_expert():
    X, y, _ = switching(300)
    kernel = PegasosClassifier(gamma=0.3, schedule="stream", budget=20)
    experts = [("pa", PassiveAggressiveClassifier(C=0.1)), ("kernel", kernel, "first")]
    model = OnlineStackingClassifier(experts=experts, random_state=0)
    assert model.fit(X[:150], y[:150]).score(X[:150], y[:150]) > 0.7


WRONG = {
    "empty": ([], "experts= is empty"),
    "no pair": ([PassiveAggressiveClassifier()], r"give \(name, learner\)"),
    "same name": ([("a", Perceptron()), ("a", Perceptron())], "name 'a'"),
    "kind": ([("a", OnlineStackingRegressor())], "'a' is an OnlineStackingRegressor"),
    "view": ([("a", Perceptron(), "view7")], "'a' is for the view 'view7'"),
    "parameter": ([("a", PassiveAggressiveClassifier(C=-1))], "'C' parameter"),
    "stream": ([("a", MultiViewMachineClassifier(optimizer="lbfgs"))], "needs all rows"),
    "own views": ([("a", MultiViewMachineClassifier([2, 2]))], "views of its own"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_experts_are_one_clear_line(what):
    experts, message = WRONG[what]
    model = OnlineStackingClassifier([2, 2], experts=experts)
    with pytest.raises(ValueError, match=message) as info:
        model.partial_fit(np.eye(4), [0, 1, 0, 1], classes=[0, 1])
    assert what == "parameter" or isinstance(info.value, InputError)
    assert not hasattr(model, "classes_")


def test_a_memory_grows_with_the_columns(tmp_path):
    """Loops look numbers up by column: arrays that are too short are read and written beyond."""
    model = OnlineStackingClassifier(memory=True, random_state=0)
    for i in range(6):
        model.learn_one({f"v{v}": {f"c{i}": 1.0} for v in range(1 + i // 3)}, "ab"[i % 2])
    assert len(model.get_state()["memory_input_of"]) == model._slots.n_columns
    crossview.save(model, tmp_path / "model.safetensors")
    assert_same_state(crossview.load(tmp_path / "model.safetensors"), model)
