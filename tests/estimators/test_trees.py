"""Boosted trees on views: categories, text, missing views, one score per view."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_info

import crossview
from comparisons import AS_IN_USE, models_have, thorough
from crossview import (
    InputError,
    MultiView,
    MultiViewExtraTreesClassifier,
    MultiViewExtraTreesRegressor,
    MultiViewTreesClassifier,
    MultiViewTreesRegressor,
    ViewEncoder,
)
from crossview.comparing.folds.parts import drop_empty_columns
from crossview.estimators.trees import boosting
from crossview.estimators.trees.boosting import MAX_BINS

FEW = {"n_bags": 1, "max_iter": 30, "random_state": 0}
VIEWS = {"user": "user_*", "page": "page_*"}


def make_table(n=600, seed=0):
    """Return clicks of devices, of which most are rare, in cities, on pages with text."""
    rng = np.random.default_rng(seed)
    device = np.minimum(rng.zipf(1.5, n), 300)
    city = rng.choice(["Oslo", "Bonn", "Rome"], n)
    words = np.array(["sun", "rain", "snow", "wind", "fog", "hail"])
    text = [" ".join(rng.choice(words, 3)) for _ in range(n)]
    likes = np.random.default_rng(7).normal(0, 2, 301)  # of devices, the same in all tables
    score = likes[device] + 2.0 * (city == "Oslo") + 2.0 * np.array(["sun" in one for one in text])
    label = np.where(score + rng.logistic(size=n) > 1.5, "yes", "no")
    columns = {
        "user_device": [f"d{i}" for i in device],
        "user_city": [None if i % 11 == 0 else one for i, one in enumerate(city)],
        "user_age": [
            None if i % 7 == 0 else a for i, a in enumerate(rng.normal(40, 9, n).tolist())
        ],
        "page_text": text,
    }
    return pa.table(columns), label, score


def fitted(model, n=600, **options):
    """Return a pipeline that has learned a table, and its labels."""
    table, label, _ = make_table(n)
    encoder = ViewEncoder(VIEWS, text=["page_text"], hash_bits=12, **options)
    return make_pipeline(encoder, model).fit(table, label)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_trees_of_numbers_are_those_of_scikit_learn(n_classes):
    """One bag without held-out rows, on columns of numbers, of which one view may be missing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6)).round(2)
    y = X[:, 0] + X[:, 1] * X[:, 4]
    if n_classes:
        y = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
    X[:60, :2] = np.nan
    weight = rng.integers(1, 4, 300).astype(float)
    ours = MultiViewTreesClassifier if n_classes else MultiViewTreesRegressor
    theirs = HistGradientBoostingClassifier if n_classes else HistGradientBoostingRegressor
    options = {"max_iter": 20, "learning_rate": 0.2, "max_leaf_nodes": 7, "l2_regularization": 0.5}
    model = ours([2, 4], validation_fraction=0.0, min_samples_leaf=9, **options)
    model.fit(X, y, sample_weight=weight)
    other = theirs(max_bins=MAX_BINS, min_samples_leaf=9, early_stopping=False, **options)
    other.fit(X, y, sample_weight=weight)
    method = "decision_function" if n_classes else "predict"
    found, expected = (getattr(one, method)(X) for one in (model, other))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    if n_classes:
        np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-12)


def test_boosted_trees_have_one_thread(monkeypatch):
    """Two wait for each other, and are slower wherever other programs run."""
    used = []
    fit = HistGradientBoostingClassifier.fit

    def observed(self, *args, **kwargs):
        found = threadpool_info()
        used.extend(one["num_threads"] for one in found if one["user_api"] == "openmp")
        return fit(self, *args, **kwargs)

    monkeypatch.setattr(HistGradientBoostingClassifier, "fit", observed)
    X = np.random.default_rng(0).normal(size=(80, 2))
    MultiViewTreesClassifier(**FEW).fit(X, X[:, 0] > 0.0)
    assert set(used) == {1}
    with pytest.raises(TypeError, match="n_jobs"):
        MultiViewTreesClassifier(n_jobs=2)


@pytest.mark.parametrize(
    "model",
    [
        MultiViewTreesRegressor([3, 3], n_bags=2, max_iter=60, random_state=0),
        MultiViewExtraTreesRegressor([3, 3], n_estimators=50, random_state=0),
    ],
)
def test_the_unit_of_the_target_is_that_of_the_predictions(model):
    """Powers of two change no digit of the target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 6))
    y = X[:, 0] ** 2 + X[:, 3] * X[:, 1] + 0.1 * rng.normal(size=500)

    def predicted(y, weight=None):
        return model.fit(X[:350], y[:350], weight).predict(X[350:])

    plain = predicted(y)
    assert np.mean((plain - y[350:]) ** 2) < 0.5 * y[350:].var()
    for factor in (2.0**-30, 2.0**-600, 2.0**600):
        np.testing.assert_allclose(predicted(factor * y) / factor, plain, rtol=0, atol=1e-12)
    far = predicted(y + 1e8) - 1e8
    assert np.mean((far - y[350:]) ** 2) < 1.2 * np.mean((plain - y[350:]) ** 2)
    weight = rng.integers(1, 4, 350)
    for constant in (0.1, 0.0, -7e300):
        np.testing.assert_array_equal(predicted(np.full(500, constant), weight), constant)


def test_each_split_chooses_among_a_share_of_the_features_and_six_at_least():
    """All of six are a fifth of them; of thirty, each split has six to choose from."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 30))
    y = X[:, 0] + 0.5 * X[:, 7] > 0.0
    few, many = {}, {}
    for share in (0.2, 1.0):
        model = MultiViewTreesClassifier(max_features=share, **FEW)
        few[share] = model.fit(X[:, :6], y).decision_function(X[:, :6])
        many[share] = model.fit(X, y).feature_importances_
    np.testing.assert_array_equal(few[0.2], few[1.0])
    # where the best feature is not among the six, another one is taken
    assert many[0.2][[0, 7]].sum() < many[1.0][[0, 7]].sum()
    with pytest.raises(ValueError, match="max_features"):
        MultiViewTreesClassifier(max_features=0.0).fit(X, y)


def test_of_many_classes_there_are_fewer_iterations():
    assert AS_IN_USE[boosting, "OF_FEW_CLASSES"] == (0.1, 300)
    assert AS_IN_USE[boosting, "OF_MANY_CLASSES"] == (0.2, 100)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 6)), np.arange(60) % 5
    X[np.arange(60), y] += 1.5
    for n_classes, rate, steps in ((4, 0.1, 30), (5, 0.2, 10)):
        rows = y < n_classes
        plain = MultiViewTreesClassifier(n_bags=1, validation_fraction=0.0, min_samples_leaf=1)
        given = clone(plain).set_params(learning_rate=rate, max_iter=steps, max_leaf_nodes=15)
        found, expected = (one.fit(X[rows], y[rows]).decision_function(X) for one in (plain, given))
        np.testing.assert_array_equal(found, expected)
        assert plain.n_iter_ == steps


def test_the_only_row_of_a_class_does_not_keep_others_from_being_held_out():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 4)), rng.integers(5, size=400)  # noise: few trees are best
    y[7] = 5
    model = MultiViewTreesClassifier([4], random_state=0, n_bags=1).fit(X, y)
    assert model.n_iter_ < 30
    assert model.classes_.tolist() == [0, 1, 2, 3, 4, 5]
    assert model.predict_proba(X).min() > 1e-4
    weighted = model.fit(X, y, sample_weight=1.0 + (np.arange(400) % 2))
    assert weighted.n_iter_ < 30


def test_rows_of_weight_zero_are_not_learned():
    table, label, _ = make_table(200)
    X = ViewEncoder(VIEWS, text=["page_text"], hash_bits=10).fit_transform(table)
    weight = np.ones(200)
    weight[::3] = 0.0
    label = label.astype(object)
    label[::3] = "never"
    weighted = MultiViewTreesClassifier(**FEW).fit(X, label, sample_weight=weight)
    rest = MultiViewTreesClassifier(**FEW).fit(X[weight > 0.0], label[weight > 0.0])
    assert weighted.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(weighted.decision_function(X), rest.decision_function(X))
    by_class = MultiViewTreesClassifier(class_weight={"yes": 5.0}, **FEW).fit(X, label, weight)
    by_row = weight * np.where(label == "yes", 5.0, 1.0)
    by_row = MultiViewTreesClassifier(**FEW).fit(X, label, sample_weight=by_row)
    np.testing.assert_array_equal(by_class.decision_function(X), by_row.decision_function(X))
    assert (by_class.predict(X) == "yes").sum() > (weighted.predict(X) == "yes").sum()


@pytest.mark.parametrize("max_categories", [0, 8])
def test_categories_are_columns_and_not_slots(max_categories):
    """One feature has all devices, and predicts rows of another table."""
    model = fitted(MultiViewTreesClassifier(max_categories=max_categories, **FEW))
    learner, state = model[-1], model[-1].get_state()
    n_groups = len(state["slot_views"]), len(state["code_views"])
    assert n_groups == ((2, 0) if max_categories == 0 else (1, 1))
    assert len(state["columns"]) == 2 + 6  # age, whether it is missing, and the words
    test, label, _ = make_table(seed=1)
    p = model.predict_proba(test)[:, 1]
    assert roc_auc_score(label == "yes", p) > 0.78
    assert log_loss(label == "yes", p) < 0.56 < log_loss(label == "yes", np.full(600, p.mean()))
    # of the importance of a column its values have those that decide
    names = model[0].get_feature_names_out()
    importances = dict(zip(names, learner.feature_importances_, strict=True))
    assert importances["user__user_city=Oslo"] > importances["user__user_city=Rome"] > 0.0
    assert sum(learner.feature_importances_) == pytest.approx(1.0)


def test_a_value_that_training_did_not_have_is_one_of_no_rows():
    model = fitted(MultiViewTreesClassifier(**FEW))
    row = {"user_city": ["Oslo"], "user_age": [40.0], "page_text": ["sun"]}
    new, other, none = (
        model.decision_function(pa.table({"user_device": pa.array([one], pa.string()), **row}))
        for one in ("never seen", "nor this one", None)
    )
    known = model.decision_function(pa.table({"user_device": ["d2"], **row}))
    assert new == other == none != known


def test_the_order_of_the_rows_is_no_leak():
    """Ids that are all different and labels by chance: nothing can be learned from them."""
    rng = np.random.default_rng(0)
    table = pa.table({"a__id": [f"i{i // 2}" for i in range(800)], "b__x": rng.normal(size=800)})
    label = rng.integers(2, size=800)
    model = make_pipeline(ViewEncoder(), MultiViewTreesClassifier(random_state=0))
    p = model.fit(table, label).predict_proba(table)[:, 1]
    assert np.abs(p - 0.5).max() < 0.3


@pytest.mark.parametrize("n_classes", [2, 3])
def test_additive_trees_are_a_sum_of_one_score_per_view(n_classes):
    table, label, score = make_table()
    label = label if n_classes == 2 else np.digitize(score, [0.0, 2.0])
    encoder = ViewEncoder(VIEWS, text=["page_text"], hash_bits=10)
    X = encoder.fit_transform(table)
    model = MultiViewTreesClassifier(additive=True, **FEW).fit(X, label)
    each = model.view_scores(X)
    np.testing.assert_allclose(each.sum(axis=1), model.decision_function(X), atol=1e-12)
    # what a view says does not depend on the other one
    other = MultiView({"user": X["user"], "page": X["page"][::-1]})
    np.testing.assert_array_equal(model.view_scores(other)[:, 0], each[:, 0])
    together = MultiViewTreesClassifier(**FEW).fit(X, label)
    assert not np.allclose(together.view_scores(X).sum(axis=1), together.decision_function(X))


def test_products_of_views_are_for_trees_that_are_not_additive():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(800, 4)), rng.normal(size=(400, 4))
    accuracy = {
        additive: MultiViewTreesClassifier([2, 2], additive=additive, random_state=0)
        .fit(X, X[:, 0] * X[:, 2] > 0)
        .score(new, new[:, 0] * new[:, 2] > 0)
        for additive in (False, True)
    }
    assert accuracy[False] > 0.85
    assert accuracy[True] < 0.6


def test_a_missing_view_is_learned_and_scored():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    a, b = y[:, None] + rng.normal(size=(400, 2)), 3.0 * y[:, None] + rng.normal(size=(400, 2))
    present = rng.random((400, 2)) < 0.7
    present[:, 0] |= ~present[:, 1]
    X = MultiView({"a": a, "b": b}, present=present)
    model = MultiViewTreesClassifier(**FEW).fit(X, y)
    for additive in (False, True):
        model = MultiViewTreesClassifier(additive=additive, **FEW).fit(X, y)
        np.testing.assert_array_equal(np.isnan(model.view_scores(X)), ~present)
        only_a = MultiView({"a": a, "b": b}, present=np.tile([True, False], (400, 1)))
        scores = [model.score(rows, y) for rows in (MultiView({"a": a, "b": b}), only_a)]
        assert 0.65 < scores[1] < scores[0]
        assert not model.contributions(only_a)[:, 2:].nnz


@pytest.mark.parametrize("max_columns", [200, 3])  # of words: columns, or also components
@pytest.mark.parametrize(
    "model",
    [
        MultiViewTreesClassifier(**FEW),
        MultiViewTreesClassifier(additive=True, **FEW),
        MultiViewTreesRegressor(**FEW),
        MultiViewExtraTreesClassifier(n_estimators=20, random_state=0),
        MultiViewExtraTreesRegressor(n_estimators=20, random_state=0),
    ],
)
def test_contributions_are_what_the_score_loses_without_an_entry(model, max_columns):
    table, _, score = make_table()
    X = ViewEncoder(VIEWS, text=["page_text"], hash_bits=12).fit_transform(table)
    y = np.digitize(score, [0.0, 2.0]) if is_classifier(model) else score
    model = clone(model).set_params(max_columns=max_columns).fit(X, y)
    matrix, present = X[:40].matrix.tocsr(), np.tile([True, False], (40, 1))
    present[5:, 1] = True
    row, column = matrix.nonzero()
    without = matrix[row].tolil()
    without[np.arange(len(row)), column] = 0.0

    def scores(rows, present):
        parts = {name: rows.tocsr()[:, X.layout.block(name)] for name in VIEWS}
        rows = MultiView(parts, present=present)
        return (
            model.decision_function(rows) if is_classifier(model) else model.predict(rows)[:, None]
        )

    whole = scores(matrix, present)
    lost = whole[row] - scores(without, present[row])
    expected = lost[np.arange(len(row)), whole.argmax(axis=1)[row]]
    assert (np.abs(expected) > 1e-3).sum() > 40
    some = MultiView({v: matrix[:, X.layout.block(v)] for v in VIEWS}, present=present)
    found = model.contributions(some).toarray()
    np.testing.assert_allclose(found[row, column], expected, atol=1e-12)
    assert not found[:5, X.layout.block("page")].any()


def test_wide_views_become_components_and_the_best_columns():
    rng = np.random.default_rng(0)
    words = (rng.random((300, 400)) < 0.08) * 1.0
    y = words[:, :20].sum(axis=1) + words[:, 20] * 9.0
    X = MultiView({"words": words, "few": rng.normal(size=(300, 3))})
    model = MultiViewTreesRegressor(max_columns=40, n_components=5, **FEW).fit(X, y)
    state = model.get_state()
    assert (state["columns"] < 400).sum() == 40
    assert 20 in state["columns"]
    assert state["loadings"].shape == (400, 5)
    assert model.feature_importances_.argmax() == 20
    without = MultiViewTreesRegressor(max_columns=40, n_components=0, **FEW).fit(X, y)
    assert without.get_state()["loadings"].shape == (0, 0)


def test_a_regressor_of_a_table_is_trained_saved_and_explained(tmp_path):
    table, _, score = make_table()
    table = table.append_column("score", pa.array(score))
    path = tmp_path / "model.safetensors"
    options = {"task": "regression", "output": path}
    encoder = ViewEncoder(VIEWS, text=["page_text"])
    trained = crossview.train(table, "score", encoder=encoder, model="trees", **options)
    np.testing.assert_array_equal(
        trained.fitted.predict(table), crossview.load(path).predict(table)
    )
    found = crossview.weights(path).to_pydict()
    assert set(found["weight"]) == {None}
    assert sum(found["importance"]) == pytest.approx(1.0)
    assert {"user_device", "user_city", "user_age"} <= set(found["column"])


def test_what_has_no_passes_is_told_so():
    table, label, _ = make_table(60)
    table = table.append_column("label", pa.array(label))
    with pytest.raises(InputError, match="trees has no passes; leave epochs out"):
        crossview.train(table, "label", views=VIEWS, model="trees", epochs=3)
    model = MultiViewTreesClassifier(**FEW).fit(np.eye(8), [0, 1] * 4)
    with pytest.raises(InputError, match="has no merge"):
        crossview.merge([model, model])


def test_the_values_of_a_column_are_known_where_rows_and_views_are_taken():
    table, label, _ = make_table()
    X = ViewEncoder(VIEWS, text=["page_text"], hash_bits=12).fit_transform(table)
    X = X.select(["page", "user"])[::2]
    devices, cities = (set(one.tolist()) for one in X.categories)
    assert len(cities) == 3
    block, matrix = X.layout.block("user"), X["user"].tocoo()
    occurring = set((matrix.col + block.start).tolist())
    assert devices | cities <= set(range(block.start, block.stop))
    # what is no value: age, and whether it is missing
    assert len(occurring - devices - cities) == 2
    (narrow,), _ = drop_empty_columns([X], X)
    assert narrow.layout.n_columns < 400
    both = [MultiViewTreesClassifier(**FEW).fit(rows, label[::2]) for rows in (X, narrow)]
    scores = [m.decision_function(rows) for m, rows in zip(both, (X, narrow), strict=True)]
    np.testing.assert_array_equal(*scores)


def test_compare_tries_fewer_leaves_and_else_more():
    rng = np.random.default_rng(0)
    places = rng.uniform(size=(2000, 6))
    of_cells = 3.0 * rng.normal(size=(10, 10))[tuple((10 * places[:, :2]).astype(int).T)]
    of_sum = np.sin(3.0 * places).sum(axis=1)
    chosen = []
    for target, n in ((of_cells, 2000), (of_sum, 800)):
        X = MultiView({"a": places[:n, :1], "b": places[:n, 1:]})
        y = target[:n] + 0.3 * rng.normal(size=n)
        given = {"task": "regression", "models": ["trees"], "curve": False}
        with models_have(AS_IN_USE):
            answer = thorough(X, y, cv=2, **given)
        chosen.append({one.get("max_leaf_nodes") for one in answer.row("trees").chosen})
    assert chosen[0] <= {31, 63}
    assert chosen[1] == {5}
