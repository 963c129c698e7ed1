"""Regressors that learn the logarithm of the target."""

import json

import numpy as np
import pandas as pd
import pytest

import crossview
from crossview import InputError, export, load, save
from crossview.catalog.learners import known_learners
from crossview.comparing.candidates import with_target_scale
from crossview.exporting import runtime

rng = np.random.default_rng(0)
X = crossview.MultiView({"a": rng.normal(size=(240, 3)), "b": rng.normal(size=(240, 2))})
Y = np.exp(8.0 + X["a"][:, 0] + 0.5 * X["b"][:, 1] + 0.1 * rng.normal(size=240))
SCALES = {"log": (np.log, np.exp), "log1p": (np.log1p, np.expm1)}
ENTRIES = {one.name: one for one in known_learners("regression", X.layout.names)}


@pytest.mark.parametrize(
    ("name", "scale"),
    [("ridge", "log1p"), *((name, "log") for name in ENTRIES if name != "keco")],
)
def test_predictions_are_those_of_the_logarithm(name, scale):
    log, exp = SCALES[scale]
    entry = ENTRIES[name]
    own = entry.select_view(X)
    of_logs = entry.make(random_state=0).fit(own, log(Y))
    model = entry.make(random_state=0, target_scale=scale).fit(own, Y)
    np.testing.assert_array_equal(model.predict(own), exp(of_logs.predict(own)))
    one = own[:1]
    assert model.predict_one(one) == pytest.approx(model.predict(one)[0], rel=1e-12)


@pytest.mark.parametrize("name", ["fm", "stacking", "newton"])
def test_a_stream_of_single_rows_is_the_stream_of_batches(name):
    entry = ENTRIES[name]
    one_by_one, batches = (
        entry.make(random_state=0, target_scale="log", **entry.passes(1)) for _ in range(2)
    )
    if name == "fm":
        one_by_one.set_params(early_stopping=False)
        batches.set_params(early_stopping=False)
    said = []
    for i in range(60):
        said.append(one_by_one.predict_one(X.matrix[i]) if i else 1.0)
        one_by_one.learn_one(X.matrix[i], float(Y[i]))
    found = batches.score_then_learn(X[:60].matrix, Y[:60])
    np.testing.assert_array_equal(one_by_one.predict(X[60:].matrix), batches.predict(X[60:].matrix))
    np.testing.assert_array_equal(found[1:], said[1:])


FAR = crossview.MultiView({v: 1e4 * np.sign(X[v]) for v in X.layout.names})


@pytest.mark.parametrize("name", ["ridge", "linear", "late-fusion", "fm", "stacking"])
def test_no_prediction_is_far_beyond_the_learned_targets(name, tmp_path):
    model = ENTRIES[name].make(random_state=0, target_scale="log")
    weight = np.r_[0.0, np.ones(239)]
    model.fit(X, np.r_[1e30, Y[1:]], weight)
    logs = np.log(Y[1:])
    low, high = logs.min() - 0.5 * np.ptp(logs), logs.max() + 0.5 * np.ptp(logs)
    found = np.log(model.predict(FAR))
    assert found.min() >= low - 1e-9
    assert found.max() == pytest.approx(high)
    assert model.predict_one(FAR[:1]) == pytest.approx(np.exp(found[0]))
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(np.log(load(tmp_path / "model").predict(FAR)), found)


@pytest.mark.parametrize("name", ["fm", "stacking"])
def test_a_stream_may_predict_what_its_targets_so_far_allow(name):
    def start():
        model = ENTRIES[name].make(random_state=0, target_scale="log", **ENTRIES[name].passes(1))
        return model.set_params(early_stopping=False) if name == "fm" else model

    rows = crossview.MultiView({v: np.r_[X[v][:30], FAR[v][:10] / 1e3] for v in X.layout.names})
    y = Y[:40].copy()
    weight = np.ones(40)
    weight[35] = 0.0
    y[35] = 1e9
    whole = start()
    found = whole.score_then_learn(rows.matrix, y, weight)
    for i in range(1, 40):
        seen = np.log(y[:i][weight[:i] > 0.0])
        assert seen.min() - 0.5 * np.ptp(seen) - 1e-9 <= np.log(found[i])
        assert np.log(found[i]) <= seen.max() + 0.5 * np.ptp(seen) + 1e-9
    parts, alone = start(), start()
    again = [parts.score_then_learn(rows[a:b].matrix, y[a:b], weight[a:b]) for a, b in CUTS]
    np.testing.assert_array_equal(np.concatenate(again), found)
    for i in range(40):
        if 0 < i < 30:  # a pass takes the size of a far row before it scores it
            assert alone.predict_one(rows.matrix[i]) == found[i]
        alone.learn_one(rows.matrix[i], float(y[i]), float(weight[i]))
    np.testing.assert_array_equal(alone.predict(FAR.matrix), whole.predict(FAR.matrix))
    merged = crossview.merge([start().partial_fit(X[:9], Y[:9]), start().partial_fit(X[9:], Y[9:])])
    logs = np.log(Y)
    assert np.log(merged.predict(FAR)).max() <= logs.max() + 0.5 * np.ptp(logs) + 1e-9


CUTS = [(0, 1), (1, 8), (8, 33), (33, 40)]


def test_a_target_without_a_logarithm_is_refused():
    y = Y.copy()
    y[7] = 0.0
    model = crossview.MultiViewRidge(target_scale="log")
    with pytest.raises(InputError, match=r"row 7: the target 0 has no logarithm.* \(log1p: 0 or"):
        model.fit(X, y)
    assert model.set_params(target_scale="log1p").fit(X, y).predict(X).min() > -1.0
    online = crossview.FactorizationMachineRegressor(target_scale="log1p", early_stopping=False)
    online.learn_one({"a": 1.0}, 2.0).learn_one({"a": 2.0}, 3.0)
    before = online.predict_one({"a": 1.0})
    with pytest.raises(InputError, match="the target -1 has no logarithm"):
        online.learn_one({"a": 1.0}, -1.0)
    assert online.predict_one({"a": 1.0}) == before


def test_the_row_that_a_member_cannot_learn_is_that_of_all_rows():
    members = [("ridge", crossview.MultiViewRidge(target_scale="log"))]
    y = np.r_[Y[:200], -1.0, Y[201:]]
    with pytest.raises(InputError, match="row 200: the target -1 has no logarithm"):
        crossview.EnsembleRegressor(members=members, cv=3).fit(X, y)
    crossview.EnsembleRegressor(members=members, weights=[1.0]).fit(X, y, (y > 0.0).astype(float))


def test_what_was_learned_on_one_scale_is_not_read_on_another():
    model = crossview.MultiViewRidge(target_scale="log").fit(X, Y)
    before = model.predict(X)
    model.set_params(target_scale="linear")
    with pytest.raises(InputError, match="what was learned is on the scale 'log'; fit again, or"):
        model.predict(X)
    np.testing.assert_array_equal(model.set_params(target_scale="log").predict(X), before)
    model.set_params(target_scale="linear").fit(X, Y).set_params(alpha=2.0)
    assert np.isfinite(model.predict(X)).all()


def test_experts_learn_on_the_scale_of_their_stack():
    machine = crossview.FactorizationMachineRegressor(target_scale="log", early_stopping=False)
    stack = crossview.OnlineStackingRegressor(experts=[("fm", machine)])
    with pytest.raises(InputError, match=r"expert 'fm' has target_scale='log'.*set it there"):
        stack.fit(X.matrix, Y)


@pytest.mark.parametrize("kind", ["stack", "ensemble"])
@pytest.mark.parametrize("target", ["py", "json", "sql", "onnx"])
def test_a_file_and_its_exports_predict_the_same(kind, target, tmp_path):
    if target == "onnx":
        pytest.importorskip("onnx")
    learner = crossview.OnlineStackingRegressor(target_scale="log1p", random_state=0)
    if kind == "ensemble":
        members = [
            ("ridge", crossview.MultiViewRidge(target_scale="log")),
            ("trees", crossview.MultiViewTreesRegressor(max_iter=5, random_state=0)),
        ]
        learner = crossview.EnsembleRegressor(members=members, weights=[0.7, 0.4])
    table = pd.DataFrame({f"{v}__{i}": X[v][:, i] for v in X.layout.names for i in range(2)})
    far = table[:2] * 1e4  # as far as predictions go
    model = crossview.make_pipeline(crossview.ViewEncoder(), learner).fit(table, Y)
    expected = model.predict(table)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(table), expected)
    # whatever is written is compared with the model before
    export(tmp_path / "model", tmp_path / f"model.{target}")
    if target == "json":
        scorer = runtime.Model(json.loads((tmp_path / "model.json").read_text()))
        rows = pd.concat([table[:5], far])
        found = [scorer.predict(one) for one in rows.to_dict("records")]
        np.testing.assert_allclose(found, model.predict(rows), rtol=1e-12)


def test_compare_tries_the_logarithm_of_a_skewed_target_alone():
    learners = list(ENTRIES.values())

    def tried(y, grid=None):
        return {
            one.refined.get("target_scale") for one in with_target_scale(learners, y, grid or {})
        }

    assert tried(Y) == {("log",), None}  # an ensemble tries nothing
    assert tried(np.floor(Y / Y.mean())) == {("log1p",), None}
    for y in (np.log(Y), -Y, Y - 2.0 * Y.min(), np.ones(9)):
        assert tried(y) == {None}
    assert tried(-Y, {"target_scale": ["log"]}) == {("log",), None}


def test_compare_chooses_the_logarithm_where_effects_multiply():
    answer = crossview.compare(
        X, Y, task="regression", models=["ridge", "linear"], cv=3, budget=None
    )
    assert all(one.get("target_scale") == "log" for row in answer.rows for one in row.chosen)
    assert "target_scale=log" in " ".join(answer.train_options)
    given = {"models": ["ridge"], "cv": 3, "budget": None}
    none = crossview.compare(X, Y, task="regression", grid={"target_scale": []}, **given)
    assert not any("target_scale" in one for one in none.rows[0].chosen)
    straight = crossview.compare(X, np.log(Y), task="regression", **given)
    assert not any("target_scale" in one for one in straight.rows[0].chosen)


def test_training_says_that_the_logarithm_may_be_better():
    table = pd.DataFrame({"a__x": X["a"][:, 0], "b__x": X["b"][:, 0], "y": Y})

    def notes(table, model, **settings):
        trained = crossview.train(table, "y", model=model, task="regression", settings=settings)
        return [line for line in trained.warnings if "skewed" in line]

    for model in ("stacking", "ridge"):
        (note,) = notes(table, model)
        assert "set target_scale=log to" in note
        assert notes(table, model, target_scale="log") == []
        assert notes(table.assign(y=np.log(Y)), model) == []


@pytest.mark.parametrize("model", ["stacking", "trees"])
def test_the_row_without_a_logarithm_is_that_of_the_file(tmp_path, model):
    file = str(tmp_path / "t.csv")
    targets = Y.copy()
    targets[171] = -2.5
    pd.DataFrame(X["a"]).add_prefix("a__").assign(b__0=X["b"][:, 0], y=targets).to_csv(
        file, index=False
    )
    with pytest.raises(InputError, match=r"the target -2\.5 has no logarithm") as raised:
        crossview.train(file, "y", task="regression", model=model, settings={"target_scale": "log"})
    assert (raised.value.file, raised.value.row) == (file, 171)
