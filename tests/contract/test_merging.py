"""Models that learned different rows merge to one that predicts, is saved and learns on."""

import copy

import numpy as np
import pytest
from sklearn.base import clone

import crossview
from contract.instances import assert_same_state, learn, scores_of, targets
from crossview import (
    AROWClassifier,
    InputError,
    KeCoClassifier,
    MultiViewMachineClassifier,
    MultiViewSVMPerf,
    OnlineStackingClassifier,
    PassiveAggressiveClassifier,
    ViewEncoder,
    ViewScaler,
    merge,
)


def keeps_rows(learner):
    """Whether its state has support vectors."""
    return not getattr(learner, "_explicit", True)


def test_merged_models_are_models(stream_learner_of_loop, table, tmp_path):
    X, y = table
    stream_learner = stream_learner_of_loop
    half = len(y) // 2
    start = learn(clone(stream_learner), X[:6], y[:6], classes=y)
    parts = []
    for rows in (slice(6, half), slice(half, None)):
        part = learn(clone(stream_learner), X[:6], y[:6], classes=y)
        parts.append(learn(part, X[rows], y[rows], classes=y))
    no_merge = {
        "support vectors are rows; set kernel='linear'": keeps_rows(stream_learner),
        "other experts than model 0; set prune=None": getattr(stream_learner, "prune", None),
    }
    for match, is_so in no_merge.items():
        if is_so:
            with pytest.raises(InputError, match=match):
                merge(parts, start=start)
            return
    before = [part.get_state() for part in parts]
    merged = merge(parts, weights=[half - 6, len(y) - half], start=start)
    for part, state in zip(parts, before, strict=True):  # they are read and not written
        assert all(np.array_equal(state[name], array) for name, array in part.get_state().items())
    crossview.save(merged, tmp_path / "merged.safetensors")
    assert_same_state(crossview.load(tmp_path / "merged.safetensors"), merged)
    assert_same_state(merge(parts, weights=[half - 6, len(y) - half], start=start), merged)
    # not of rows that a worse model than all would get wrong
    given = targets(stream_learner, y)
    worst = min(part.score(X, given) for part in parts)
    assert merged.score(X, given) > min(0.9 * worst, worst - 0.05)
    learn(merged, X, y, classes=y)
    assert np.isfinite(scores_of(merged, X)).all()


def test_copies_of_one_model_merge_to_it(stream_learner_of_loop, table):
    X, y = table
    if keeps_rows(stream_learner_of_loop):
        return
    model = learn(stream_learner_of_loop, X, y)
    merged = merge([model, model, model], start=model)
    np.testing.assert_allclose(scores_of(merged, X), scores_of(model, X), rtol=1e-5, atol=1e-6)


def test_stacks_whose_rows_become_easier_merge_to_a_stack(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 6))
    y = (X[:, 0] > 0).astype(int)
    make = OnlineStackingClassifier({"a": [0, 1, 2], "b": [3, 4, 5]}, random_state=0)
    start = clone(make).partial_fit(X[:2000], rng.permutation(y[:2000]), classes=[0, 1])
    # what they lose and know of the last rows is less than at the start
    parts = [copy.deepcopy(start).partial_fit(X[2000:], y[2000:]) for _ in range(8)]
    assert parts[0].get_state()["losses"][0] < 0.8 * start.get_state()["losses"][0]
    merged = merge(parts, start=start)
    crossview.save(merged, tmp_path / "merged.safetensors")
    assert crossview.load(tmp_path / "merged.safetensors").score(X, y) > 0.95
    assert np.linalg.eigvalsh(merged.get_state()["A_inv"]).min() > 0.0


def test_linear_weights_are_means_by_rows(table):
    X, y = table
    parts = [learn(PassiveAggressiveClassifier(), X[i::2], y[i::2], classes=y) for i in range(2)]
    merged = merge(parts, weights=[1, 3])
    expected = 0.25 * parts[0].coef_ + 0.75 * parts[1].coef_
    np.testing.assert_allclose(merged.coef_, expected, rtol=1e-12)
    np.testing.assert_allclose(
        merge([parts[0], parts[1]], weights=[1, 0]).coef_, parts[0].coef_, rtol=1e-12
    )


def test_a_class_that_one_model_has_not_seen():
    X = np.repeat(np.eye(3), 10, axis=0)
    y = np.repeat(["a", "b", "c"], 10)
    two, three = slice(0, 20), slice(10, 30)
    parts = [
        PassiveAggressiveClassifier().partial_fit(X[rows], y[rows], classes=np.unique(y[rows]))
        for rows in (two, three)
    ]
    merged = merge(parts)
    assert merged.classes_.tolist() == ["a", "b", "c"]
    assert [part.classes_.tolist() for part in parts] == [["a", "b"], ["b", "c"]]
    assert set(merged.predict(X)) == {"a", "b", "c"}


def test_encoders_merge_to_that_of_all_rows():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 60
    table = pd.DataFrame(
        {
            "a__x": np.where(rng.random(n) < 0.2, np.nan, rng.normal(5.0, 2.0, n)),
            "a__city": rng.choice(["Oslo", "Bonn", "Rome"], n),
            "b__text": rng.choice(["one two", "two three", "three four five"], n),
        }
    ).astype({"a__x": "Float64"})
    make = ViewEncoder(text=["b__text"], hash_bits=6, tf_idf=True, bins=None)
    start = clone(make).partial_fit(table[:10])
    parts = []
    for rows in (slice(10, 30), slice(30, None)):
        part = clone(make).partial_fit(table[:10])
        parts.append(part.partial_fit(table[rows]))
    merged = parts[0].merge_with([parts[1]], start)
    whole = clone(make).partial_fit(table)
    np.testing.assert_allclose(merged.count_, whole.count_)
    np.testing.assert_allclose(merged.mean_, whole.mean_)
    for name, array in whole.get_state().items():
        if not name.startswith(("norms", "m2", "mean")):  # norms are of rows as encoded so far
            np.testing.assert_array_equal(merged.get_state()[name], array, err_msg=name)
    np.testing.assert_allclose(merged.get_state()["m2"], whole.get_state()["m2"])
    np.testing.assert_allclose(merged.mean_norm_, whole.mean_norm_, rtol=0.2)


def test_pipelines_merge_step_by_step():
    from sklearn.pipeline import Pipeline

    rng = np.random.default_rng(0)
    X = crossview.MultiView({"a": rng.normal(size=(40, 2)), "b": 9 * rng.normal(size=(40, 3))})
    y = np.arange(40) % 2
    models = [
        Pipeline([("scaler", ViewScaler()), ("model", AROWClassifier(random_state=0))]).fit(
            X[part], y[part]
        )
        for part in (slice(0, 15), slice(15, 40))
    ]
    merged = merge(models, weights=[15, 25])
    np.testing.assert_allclose(merged[0].mean_norm_, ViewScaler().fit(X).mean_norm_)
    assert merged.predict(X).shape == (40,)
    with pytest.raises(InputError, match="model 1 is an AROWClassifier, and model 0 a Pipeline"):
        merge([models[0], models[1][1]])


def test_what_has_no_merge_is_refused_in_one_line(table):
    X, y = table
    pa = learn(PassiveAggressiveClassifier(), X, y)
    for models, match in (
        ([], "no models"),
        ([pa, PassiveAggressiveClassifier()], "model 1 is not fitted"),
        ([pa, learn(AROWClassifier(), X, y)], "model 1 is an AROWClassifier"),
        ([pa, learn(PassiveAggressiveClassifier(C=2.0), X, y)], "C=2.0, and model 0 C=1.0"),
        ([pa, learn(PassiveAggressiveClassifier(), X[:, 1:], y)], "has the views"),
        ([MultiViewSVMPerf().fit(X, y > np.unique(y)[0])] * 2, "solution for all of its rows"),
        ([KeCoClassifier(n_iterations=20).fit(X, y)] * 2, "support vectors are rows"),
        (
            [learn(MultiViewMachineClassifier(random_state=seed), X, y) for seed in range(2)],
            "other initial weights",
        ),
    ):
        with pytest.raises(InputError, match=match) as error:
            merge(models)
        assert "\n" not in str(error.value)
    for weights in ([1.0], [1.0, -1.0], [0, 0]):
        with pytest.raises(InputError, match="weights="):
            merge([pa, pa], weights=weights)
