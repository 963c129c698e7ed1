"""Which rows train, choose and score: groups, order of time, repeats; and the columns they have."""

import time
from mmap import mmap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import f1_score, root_mean_squared_error
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, TimeSeriesSplit

from comparisons import OF_MACHINES, ONE, make_few, make_noisy, make_numbers, make_views, thorough
from crossview import (
    InputError,
    MultiView,
    MultiViewPAClassifier,
    MultiViewSVMPerf,
    PassiveAggressiveClassifier,
    Scoring,
)
from crossview.catalog.learners import find_learner
from crossview.comparing.folds.parts import Fold, drop_empty_columns
from crossview.comparing.folds.splits import Protocol, split_rows
from crossview.comparing.run import Run
from crossview.jobs.jobs import Jobs
from crossview.reporting.tables import comparison_head
from crossview.scoring.problems import Classification, Regression

GRID = {"C": [0.001, 0.1, 1000.0], "average": [], "epochs": [], "bins": []}


def weak(C=0.1):
    return PassiveAggressiveClassifier(C=C, random_state=0)


def f1(X, y, train, test, C=0.1):
    predicted = weak(C).fit(X[train], y[train]).predict(X[test])
    return f1_score(y[test], predicted, pos_label="yes")


def best_of(X, y, train, inner):
    """The setting with the best mean over the inner splits, and that mean."""
    means = [np.mean([f1(X, y, train[a], train[b], C) for a, b in inner]) for C in GRID["C"]]
    return GRID["C"][int(np.argmax(means))], max(means)


def test_a_group_is_never_learned_and_scored():
    X, y = make_noisy(200)
    groups = np.random.default_rng(0).integers(0, 25, 200)
    given = {
        "grid": GRID,
        "scoring": Scoring(threshold=None),
        "models": ["view:weak", "view:strong"],
        "cv": 3,
    }
    answer = thorough(X, y, groups=groups, **given)
    folds = StratifiedGroupKFold(3, shuffle=True, random_state=0)
    for f, (train, test) in enumerate(folds.split(y, y, groups)):
        assert not set(groups[train]) & set(groups[test])
        inner = list(folds.split(train, y[train], groups[train]))
        C, value = best_of(X["strong"], y, train, inner)
        row = answer.row("view:strong")
        assert row.chosen[f] == {"C": C}
        assert row.inner[f] == pytest.approx(value)
        assert row.scores[f] == pytest.approx(f1(X["strong"], y, train, test, C))
    assert answer.rows[0].scores != thorough(X, y, **given).rows[0].scores


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize(("n_groups", "cv"), [(2, 2), (2, 5), (3, 5), (4, 4), (4, 3), (5, 2)])
def test_few_groups_such_as_hospitals_are_left_out_in_turn(task, n_groups, cv):
    _, y = make_noisy(120) if task == "classification" else make_numbers(120)
    groups = np.arange(120) % n_groups
    kind = Classification(np.unique(y)) if task == "classification" else Regression("rmse")
    folds = split_rows(Run([], kind, 0, None, {}), y, Protocol(cv).by_groups(groups))
    assert len(folds) == min(cv, n_groups)
    for fold in folds:
        assert not set(groups[fold.train]) & set(groups[fold.test])
        assert len(fold.inner) == min(3, len(set(groups[fold.train]))) or len(fold.inner) == 3
        for rest, held_out in fold.inner:
            own = groups[fold.train]
            assert len(set(own)) == 1 or not set(own[rest]) & set(own[held_out])


def test_fewer_groups_than_folds_are_said():
    X, y = make_noisy(90)
    given = {"grid": ONE, "models": ["view:strong"], "scoring": Scoring(threshold=None)}
    answer = thorough(X, y, groups=np.arange(90) % 3, **given)
    assert answer.folds == 3
    assert "3 folds instead of 5, one for each group" in comparison_head(answer)
    assert not any(
        "folds" in line for line in thorough(X, y, groups=np.arange(90) % 9, **given).notes
    )
    with pytest.raises(InputError, match=r"all rows are of one group, .*; leave groups= out"):
        thorough(X, y, groups=np.zeros(90), **given)


def test_groups_of_one_class_each_are_scored_where_the_metric_is_defined():
    X, y = make_noisy(120)
    groups = np.arange(120) % 4
    groups[y == "yes"] = np.maximum(groups[y == "yes"], 1)  # no row of it in the first
    given = {"grid": ONE, "models": ["view:strong", "logistic-regression"], "groups": groups}
    assert thorough(X, y, scoring="log_loss", **given).folds == 4
    with pytest.raises(InputError, match=r"a test fold has class 'no' only, .* roc_auc is not def"):
        thorough(X, y, scoring="roc_auc", **given)
    # of two groups with a class each no inner model has both
    groups = np.where(y == "yes", 1, 0)
    groups[::3] = 2
    answer = thorough(X, y, scoring="log_loss", **given | {"groups": groups})
    assert np.isfinite([row.value for row in answer.rows]).all()
    with pytest.raises(InputError, match=r"class .* is missing in the training rows of a fold, as"):
        thorough(X, y, cv=2, **given | {"groups": y == "yes"})


@pytest.mark.parametrize("protocol", ["groups", "in_order"])
def test_a_class_may_be_missing_where_parameters_are_chosen(protocol):
    rng = np.random.default_rng(0)
    y, n = rng.integers(0, 4, 300), 300
    groups = rng.integers(0, 6, n)
    groups[y == 3] = rng.integers(6, 8, (y == 3).sum())
    if protocol == "in_order":  # the class comes late
        y[:60][y[:60] == 3] = 0
    X = MultiView({"a": 2.0 * np.eye(4)[y] + rng.normal(size=(n, 4)), "b": rng.normal(size=(n, 2))})
    given = {"groups": groups, "cv": 2} if protocol == "groups" else {"in_order": True, "cv": 3}
    run = Run([], Classification(np.unique(y)), 0, None, {})
    folds = split_rows(run, y, Protocol(**given))
    lacking = [set(y[f.train]) - set(y[f.train][train]) for f in folds for train, _ in f.inner]
    # of groups the splits that have all classes choose, in order there is one split
    assert any(lacking) == (protocol == "in_order")
    assert protocol == "in_order" or {len(f.inner) for f in folds} == {2}
    answer = thorough(X, y, models=["view:a", "baseline:majority"], grid=ONE, **given)
    assert answer.best.model == "view:a"
    if protocol == "in_order":
        with pytest.raises(InputError, match="class 3 is missing where parameters are chosen"):
            thorough(
                X, y, models=["view:a"], grid=ONE | {"epochs": [2]}, scoring="log_loss", **given
            )


def test_groups_belong_to_all_rows_also_to_those_without_label():
    X, y, known = make_few()
    groups = np.arange(150) // 5
    given = {"grid": ONE, "scoring": Scoring(threshold=None), "models": ["view:strong"], "cv": 2}
    some = thorough(X, y, groups=groups, **given)
    alone = thorough(X[known], y[known].astype(str), groups=groups[known], **given)
    assert some.best.scores == alone.best.scores


@pytest.mark.parametrize("n_groups", [30, None])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_inner_splits_of_many_rows_keep_groups_together(task, n_groups, monkeypatch):
    monkeypatch.setattr("crossview.comparing.folds.splits.MOST_ROWS_FOR_INNER_FOLDS", 50)
    y = np.arange(120) % 2
    groups = None if n_groups is None else np.arange(120) % n_groups
    kind = Regression("rmse") if task == "regression" else Classification(np.unique(y))
    for fold in split_rows(Run([], kind, 0, None, {}), y, Protocol(3, groups=groups)):
        ((a, b),) = fold.inner
        assert sorted([*a, *b]) == list(range(len(fold.train)))
        for one, other in ((fold.train, fold.test), (fold.train[a], fold.train[b])):
            assert not set(one) & set(other)
            assert groups is None or not set(groups[one]) & set(groups[other])


def test_rows_in_the_order_of_time_are_scored_by_models_of_the_rows_before():
    X, y = make_noisy(120)
    models = ["view:strong", "svmperf:error_rate"]
    grid = GRID | {"C1": [0.1], "C2": [0.01]}
    answer = thorough(
        X, y, in_order=True, cv=3, scoring=Scoring(threshold=None), grid=grid, models=models
    )
    row = answer.row("view:strong")
    assert answer.folds == 3
    shares = []
    for f, (train, test) in enumerate(TimeSeriesSplit(3).split(y)):
        n = len(train)
        first = n - round(n / 5)
        C, value = best_of(X["strong"], y, train, [(np.arange(first), np.arange(first, n))])
        assert row.chosen[f] == {"C": C}
        assert row.inner[f] == pytest.approx(value)
        assert row.scores[f] == pytest.approx(f1(X["strong"], y, train, test, C))
        model = MultiViewSVMPerf(C1=0.1, C2=0.01, measure="error_rate").fit(X[train], y[train])
        expected = f1_score(y[test], model.predict(X[test]), pos_label="yes")
        assert answer.row("svmperf:error_rate").scores[f] == pytest.approx(expected)
        shares.append(len(test) / (n + len(test)))
    assert answer.test_share == pytest.approx(np.mean(shares))
    order = np.argsort(y, kind="stable")
    words = "class 'yes' is missing in the training rows of a fold; .* comes: progressive=True"
    with pytest.raises(InputError, match=words):
        thorough(X[order], y[order], in_order=True, cv=3, grid=ONE, models=models)


def test_repeats_are_folds_of_the_next_seeds():
    X, y = make_views()
    given = {
        "grid": ONE,
        "models": ["view:weak", "pa:squared"],
        "scoring": Scoring(threshold=None),
        "cv": 2,
    }
    answer = thorough(X, y, repeats=2, seed=3, **given)
    assert answer.folds == 4
    assert answer.test_share == pytest.approx(1 / 2)
    expected = {"view:weak": [], "pa:squared": []}
    for seed in (3, 4):
        folds = StratifiedKFold(2, shuffle=True, random_state=seed)
        for train, test in folds.split(y, y):
            for name, model, seen in (
                ("view:weak", PassiveAggressiveClassifier(C=0.1, random_state=3), X["weak"]),
                (
                    "pa:squared",
                    MultiViewPAClassifier(C=0.1, disagreement=0.1, random_state=3),
                    X,
                ),
            ):
                predicted = model.fit(seen[train], y[train]).predict(seen[test])
                expected[name].append(f1_score(y[test], predicted, pos_label="yes"))
    for name, scores in expected.items():
        assert answer.row(name).scores == pytest.approx(scores)


def test_numbers_have_groups_and_an_order_too():
    X, y = make_numbers(80)
    groups = np.arange(80) // 4
    given = {"task": "regression", "cv": 2, "grid": OF_MACHINES, "models": ["linear"], "epochs": 2}
    found = [
        thorough(X, y, **given, **more).best.scores
        for more in ({}, {"groups": groups}, {"in_order": True})
    ]
    assert len({tuple(scores) for scores in found}) == 3
    linear = find_learner("linear", "regression", X.layout.names)
    options = {"alpha": 1e-4, "learning_rate": 0.1, "random_state": 0, **linear.passes(2)}
    options["shuffle"] = False
    for f, (train, test) in enumerate(TimeSeriesSplit(2).split(y)):
        model = linear.make(**options).fit(X[train], y[train])
        expected = root_mean_squared_error(y[test], model.predict(X[test]))
        assert found[2][f] == pytest.approx(expected)


def test_any_number_of_workers_gives_the_same_table():
    X, y = make_noisy(120)
    given = {
        "grid": GRID | {"average": [True], "C1": [0.1, 1.0], "C2": [0.01]},
        "models": ["view:strong", "pa:concatenated", "svmperf:error_rate"],
        "cv": 2,
    }
    answers = [thorough(X, y, n_jobs=n_jobs, **given) for n_jobs in (1, 2)]
    contents = [answer.to_dict() for answer in answers]
    for content in contents:
        content.pop("seconds")
        for row in content["rows"]:
            del row["rows_per_second"], row["predicted_per_second"]
    assert contents[0] == contents[1]


def test_workers_share_rows_by_a_file_that_goes_with_them():
    X, y = make_noisy(60)
    fold = Fold(X, y, X[:5], y[:5], [])
    assert Jobs(1).share(fold) is fold
    shared = Jobs(2).share(fold)
    array = shared.X_train.matrix
    while not isinstance(array.base, mmap):
        array = array.base
    path = Path(array.filename)
    assert path.exists()
    assert np.array_equal(shared.X_train.matrix, X.matrix)
    assert shared.y_test.tolist() == y[:5].tolist()
    del shared
    for _ in range(1000):  # another process removes it
        if not path.exists():
            return
        time.sleep(0.01)
    pytest.fail(f"{path} is left behind")


# --- columns that are empty in the rows to learn -------------------------------


def make_sparse(n=120, seed=0):
    """Two views of many columns, most of which few rows or none have, and one without any."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    views = {}
    for name in ("page", "link"):
        dense = rng.random((n, 400)) < 0.01
        dense[:, 3] |= y == 1
        views[name] = sp.csr_array(dense.astype(float))
    views["none"] = sp.csr_array((n, 40))
    return MultiView(views), np.where(y == 1, "yes", "no")


@pytest.mark.parametrize(
    "model", ["pa:squared", "pa:concatenated", "arow", "svmperf:error_rate", "pegasos"]
)
def test_learners_predict_the_same_without_empty_columns(model):
    X, y = make_sparse()
    learned, rest = X[:60], X[60:]
    (narrow, narrow_rest), _ = drop_empty_columns([learned, rest], learned)
    occurs = np.unique(learned.matrix.indices)
    assert narrow.layout.names == X.layout.names
    assert sum(narrow.layout.widths) == len(occurs) + 3
    # a view keeps the columns that occur, and has a last one for what else a row has
    for name in X.layout.names:
        block = X.layout.block(name)
        known = [i for i in occurs if block.start <= i < block.stop]
        for wide, small in ((learned, narrow), (rest, narrow_rest)):
            dense, kept = wide.matrix.toarray(), small[name].toarray()
            assert (kept[:, :-1] == dense[:, known]).all()
            whole = np.linalg.norm(dense[:, block], axis=1)
            np.testing.assert_allclose(np.linalg.norm(kept, axis=1), whole)
    assert narrow_rest["page"].toarray()[:, -1].any()
    learner = find_learner(model, "classification", X.layout.names)
    setting = learner.candidates(ONE | {"kernel": ["rbf"]})[0]
    setting |= {"gamma": 0.1} if model == "pegasos" else {}
    wide, small = (
        learner.make(**setting, random_state=0).fit(part, y[:60]) for part in (learned, narrow)
    )
    np.testing.assert_allclose(
        small.decision_function(narrow_rest), wide.decision_function(rest), rtol=1e-6, atol=1e-9
    )


def test_rows_that_have_most_columns_stay_as_they_are():
    X, _ = make_views(30)
    assert drop_empty_columns([X, X[:3]], X)[0][0] is X
    full = MultiView({"a": sp.csr_array(np.eye(4)), "b": sp.csr_array(np.ones((4, 2)))})
    assert drop_empty_columns([full], full)[0][0] is full


def test_views_that_are_missing_stay_missing_without_empty_columns():
    X, _ = make_sparse(40)
    present = np.ones((40, 3), dtype=bool)
    present[::3, 0] = present[:, 2] = False
    X = MultiView.from_matrix(X.matrix, X.layout, present=present)
    (narrow,), _ = drop_empty_columns([X], X)
    assert (narrow.present == present).all()


def test_compare_of_hashed_columns_is_that_by_hand():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 90)
    frame = pd.DataFrame(
        {"a__x": [f"{k}{n}" for k, n in zip(y, rng.integers(0, 9, 90), strict=True)],
         "b__z": rng.integers(0, 50, 90).astype(str), "y": y}
    )  # fmt: skip
    from crossview import ViewEncoder

    given = {
        "grid": ONE,
        "cv": 2,
        "scoring": Scoring(threshold=None),
        "models": ["pa:concatenated"],
    }
    encoder = ViewEncoder(hash_bits=12, scale_views=False)
    answer = thorough(frame, "y", encoder=encoder, **given)
    for f, (train, test) in enumerate(StratifiedKFold(2, shuffle=True, random_state=0).split(y, y)):
        table = frame.drop(columns="y")
        encoder = ViewEncoder(hash_bits=12, scale_views=False).fit(table.iloc[train])
        model = PassiveAggressiveClassifier(C=0.1, random_state=0)
        model.fit(encoder.transform(table.iloc[train]), y[train])
        predicted = model.predict(encoder.transform(table.iloc[test]))
        assert answer.best.scores[f] == pytest.approx(f1_score(y[test], predicted))
