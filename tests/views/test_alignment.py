"""Rows of pandas belong together by their index, or are refused."""

import numpy as np
import pandas as pd
import pytest

from crossview import (
    InputError,
    KernelSearchCV,
    MultiView,
    MultiViewMachineRegressor,
    MultiViewPAClassifier,
    PegasosClassifier,
    ViewEncoder,
    compare,
    describe,
    evaluate,
    train,
)

rng = np.random.default_rng(0)
IDS = [f"P{i}" for i in range(40)]
Y = pd.Series(rng.integers(0, 2, 40), index=IDS)
A = pd.DataFrame(rng.normal(size=(40, 2)) + Y.to_numpy()[:, None], index=IDS, columns=["x", "z"])
B = pd.DataFrame(rng.normal(size=(40, 1)), index=IDS, columns=["x"])
FRAME = pd.concat({"a": A, "b": B}, axis=1)
BOTH = MultiView({"a": A, "b": B})
SHUFFLED = Y.sample(frac=1.0, random_state=0)


def test_views_are_put_in_the_order_of_the_first():
    X = MultiView({"a": A, "b": B.sample(frac=1.0, random_state=1), "c": np.ones((40, 1))})
    assert np.array_equal(X["b"], B.to_numpy())
    assert list(X.index) == IDS
    some = X[[3, 1]].select(["b"])
    assert list(some.index) == ["P3", "P1"]
    assert X[X["a"][:, 0] > 0.0].index.equals(A.index[A["x"] > 0.0])
    assert MultiView({"c": np.ones((40, 1))}).index is None


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (B.rename(index={"P3": "Q3"}), "'P3' only in a, 'Q3' only in b"),
        (B.reset_index(drop=True), "'P0', 'P1', 'P2', ... only in a, 0, 1, 2, ... only in b"),
        (B.rename(index={"P3": "P4"}), "some are there twice, in another order"),
        (B.set_axis([IDS, IDS]), r"'P0', .* only in a, \('P0', 'P0'\), .* only in b"),
    ],
)
def test_views_of_other_rows_are_refused(other, message):
    with pytest.raises(InputError, match=message):
        MultiView({"a": A, "b": other})


def test_frames_without_names_of_rows_stay_as_they_are():
    X = MultiView({"a": A.reset_index(drop=True), "b": B.reset_index(drop=True)})
    assert np.array_equal(X["b"], B.to_numpy())
    twice = pd.Index(["P0"] * 40)  # the same labels in the same order
    assert len(MultiView({"a": A.set_axis(twice), "b": B.set_axis(twice)})) == 40


PASS = MultiViewPAClassifier()


@pytest.mark.parametrize("X", [A, FRAME, BOTH, {"a": A, "b": B}], ids=type)
@pytest.mark.parametrize(
    "learn",
    [
        lambda X, y: MultiViewPAClassifier().fit(X, y),
        lambda X, y: MultiViewPAClassifier().fit(X, Y, sample_weight=y + 1.0),
        lambda X, y: MultiViewPAClassifier().partial_fit(X, y, classes=[0, 1]),
        lambda X, y: MultiViewMachineRegressor().partial_fit(X, y),
        lambda X, y: MultiViewPAClassifier().fit(X, Y).score(X, y),
        lambda X, y: MultiViewMachineRegressor().fit(X, Y).score(X, y),
        lambda X, y: KernelSearchCV(PegasosClassifier(kernel="rbf")).fit(X, y),
    ],
)
def test_learners_refuse_labels_in_another_order(learn, X):
    with pytest.raises(InputError, match=r"another order \('P22', .*; give \w+\.loc\[X\.index\]"):
        learn(X, SHUFFLED)


@pytest.mark.parametrize("X", [FRAME, BOTH], ids=["frame", "views"])
@pytest.mark.parametrize(
    "use",
    [
        lambda X, y: train(X, y),
        lambda X, y: train(X, Y, weight=y),
        lambda X, y: compare(X, y),
        lambda X, y: compare(X, Y, groups=y),
        lambda X, y: evaluate(PASS, X, y),
        lambda X, y: describe(FRAME, y),
    ],
)
def test_functions_refuse_labels_in_another_order(use, X):
    with pytest.raises(InputError, match=r"has the index of X in another order"):
        use(X, SHUFFLED)
    with pytest.raises(InputError, match=r"'P0', 'P1', 'P2', ... only in X, 0, 1, 2, ... only in"):
        use(X, Y.reset_index(drop=True))


def test_a_pipeline_knows_the_index_behind_its_encoder():
    for table in (FRAME, {"a": A, "b": B.sample(frac=1.0, random_state=1)}):
        X = ViewEncoder().fit_transform(table)
        assert X.layout.names == ("a", "b")
        assert list(X.index) == IDS
        with pytest.raises(InputError, match="another order"):
            MultiViewPAClassifier().fit(X, SHUFFLED)


def test_the_first_level_of_columns_names_the_views():
    expected = MultiViewPAClassifier(random_state=0).fit(BOTH, Y)
    for X in (FRAME, {"a": A, "b": B}):
        learner = MultiViewPAClassifier(random_state=0).fit(X, Y)
        assert learner.layout_ == BOTH.layout
        assert np.array_equal(learner.predict(X), expected.predict(BOTH))
    part = pd.concat({"a": A, "b": B.iloc[:20]}, axis=1)  # b is missing in the other rows
    assert np.isnan(MultiViewPAClassifier().fit(part, Y).view_scores(part)[20:, 1]).all()
    assert train(part, Y, model="pa:squared").fitted.predict(part).shape == (40,)


@pytest.mark.parametrize("label", ["t", ("t", "")])
def test_levels_that_are_empty_are_in_no_name(label):
    table = pd.concat({"a": A, "b": B}, axis=1)
    table["t", ""] = Y.to_numpy()
    trained = train(table, label, model="pa:squared")
    assert trained.fitted[0].view_columns() == {
        view: [f"{view}__{name}" for name in block] for view, block in (("a", A), ("b", B))
    }
    assert describe(table, label).columns[-1].name == "t"
    assert evaluate(trained.fitted, table, label).n_rows == 40
    table["g", ""] = table["w", ""] = np.arange(40) // 2 + 1
    for use in ({"groups": ("g", "")}, {"weight": ("w", "")}, {"time": ("w", "")}):
        (name,) = use
        given = {"model": "pa:squared", name: use[name][0]}
        by_text = train(table, label, **given).fitted[-1].get_state()
        by_levels = train(table, label, **{**given, **use}).fitted[-1].get_state()
        assert all((by_text[key] == by_levels[key]).all() for key in by_text)
    sliced = evaluate(trained.fitted, table, label, by=[("g", "")], time=("w", ""))
    assert sliced.by[0].column == "g"
    table = table.drop(columns=["g", "w"], level=0)
    with pytest.raises(InputError, match=r"no label column 'u' \(there are: a__.*, t\)"):
        train(table, "u")
    table["", "t"] = 1.0
    with pytest.raises(InputError, match="two columns are called 't'"):
        train(table, "t")


def test_a_frame_with_a_column_per_row_of_the_others_is_transposed():
    ids = [f"s{i}" for i in range(6)]
    genes = pd.DataFrame(np.arange(18.0).reshape(3, 6), ["g0", "g1", "g2"], ids)
    obs = pd.DataFrame({"age": np.arange(6.0)}, ids)
    y = pd.Series([0, 1] * 3, ids)
    of_view = r"'genes' is transposed: its columns are the rows of 'obs' \('s0', .*; give its \.T"
    with pytest.raises(InputError, match=of_view):
        MultiView({"obs": obs, "genes": genes})
    with pytest.raises(InputError, match=of_view):
        train({"genes": genes, "obs": obs}, y.to_numpy())
    with pytest.raises(InputError, match="'genes' is transposed: its columns are the rows of y"):
        train({"genes": genes}, y)
    with pytest.raises(InputError, match="X is transposed: its columns are the rows of y"):
        train(genes, y)
    related = obs.dot(obs.T)  # whose columns are its own rows
    assert MultiView({"obs": obs, "related": related}).layout.names == ("obs", "related")
