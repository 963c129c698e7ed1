"""Comparing where a number is predicted."""

import json
import math
from dataclasses import replace
from statistics import median_low

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_absolute_error, root_mean_squared_error
from sklearn.model_selection import KFold

import crossview
from comparisons import OF_MACHINES, ONE, make_numbers, make_numbers_frame, thorough
from crossview import (
    InputError,
    MultiView,
    Scoring,
    compare,
    open_table,
)
from crossview.algorithms.stacking.blend import Blend
from crossview.baselines import baselines
from crossview.catalog.learners import find_learner
from crossview.comparing.candidates import choose_learners
from crossview.comparing.folds.ensemble import ensemble_row
from crossview.comparing.result.ranking import ComparisonRow
from crossview.comparing.result.verdict import CONSTANT
from crossview.comparing.run import Run
from crossview.reporting.tables import comparison_notes, to_markdown
from crossview.scoring.problems import Regression
from reference.jackknife import block_jackknife


@pytest.fixture(scope="module")
def numbers():
    return thorough(*make_numbers(), task="regression", cv=3, grid=OF_MACHINES)


def test_of_numbers_the_lowest_error_is_best_and_interactions_are_seen(numbers):
    assert {row.model for row in numbers.rows} == {
        *("view:user", "view:item", "linear", "fm:cross-view", "fm", "mvm", "stacking"),
        *("trees", "trees:additive", "extra-trees", "network", "kernel-ridge", "ensemble"),
        *(one.name for one in baselines("regression") if one.name != "baseline:median"),
    }
    values = [row.value for row in numbers.rows[1:]]
    assert values == sorted(values)
    ensemble = numbers.row("ensemble")
    assert numbers.best.model == "mvm"  # which made the numbers, and leads in both errors
    assert ensemble.rmse > numbers.best.rmse + numbers.rope
    assert ensemble.mae > numbers.best.mae
    linear = numbers.row("linear")
    assert numbers.row("mvm").value < 2 < 4 < linear.value < numbers.row("view:item").value
    assert not linear.equal
    # below 0 is worse, also where lower values are better
    assert linear.difference.location == pytest.approx(numbers.best.value - linear.value)
    # an error has no bound: the rope is a share of the best value
    assert numbers.rope == pytest.approx(0.01 * numbers.best.value)
    assert (numbers.metric, numbers.task, numbers.classes) == ("rmse", "regression", [])
    assert all(row.rmse == row.value and row.mae < row.rmse for row in numbers.rows)
    assert all(math.isnan(row.accuracy) for row in numbers.rows)


def test_errors_are_those_of_the_folds_computed_by_hand(numbers):
    X, y = make_numbers()
    method = find_learner("mvm", "regression", X.layout.names)
    passes = []
    for f, (train, test) in enumerate(KFold(3, shuffle=True, random_state=0).split(y)):
        model = method.make(alpha=1e-4, learning_rate=0.1, random_state=0).fit(X[train], y[train])
        predicted = model.predict(X[test])
        row = numbers.row("mvm")
        assert row.scores[f] == pytest.approx(root_mean_squared_error(y[test], predicted))
        assert row.others["mae"][f] == pytest.approx(mean_absolute_error(y[test], predicted))
        passes.append(model.n_iter_)
    assert row.epochs == median_low(passes) > 1


def test_a_machine_makes_as_many_passes_as_it_is_told(numbers):
    assert "--epochs" in numbers.train_options_of(numbers.row("mvm"))
    assert any(note.startswith("passes until early stopping") for note in comparison_notes(numbers))
    X, y = make_numbers()
    told = thorough(X, y, task="regression", grid=OF_MACHINES, epochs=3, models=["mvm", "linear"])
    assert [row.epochs for row in told.rows] == [3, 3]
    assert told.train_options[-2:] == ["--epochs", "3"]
    assert not any("passes" in note for note in comparison_notes(told))
    labels = np.where(y > 40, "high", "low")
    mixed = thorough(X, labels, cv=3, grid=ONE, models=["pa:squared", "mvm"])
    assert mixed.row("mvm").epochs > mixed.row("pa:squared").epochs == 1
    assert mixed.best.model == "mvm"


def test_a_lead_in_error_is_told_as_a_positive_number(numbers):
    best, other = numbers.row("mvm"), numbers.row("linear")
    apart = thorough(
        *make_numbers(), task="regression", cv=3, grid=OF_MACHINES, models=["linear", best.model]
    )
    assert apart.row("linear").p_adjusted < 0.05
    assert f"best: {best.model}, rmse {best.value:.4g} (95 % interval" in apart.verdict[0]
    assert f"ahead of linear by {other.value - best.value:.4g}; with" in apart.verdict[0]
    assert numbers.train_options[:2] == ["--task", "regression"]
    header, _, first, *_ = to_markdown(apart).splitlines()
    assert header == "| model | what it is | rmse | worse | p | mae | rows/s | chosen |"
    assert f"**{best.value:.3f} ± {best.std:.3f}**" in first
    assert numbers.verdict[0] in str(numbers)
    content = json.loads(json.dumps(numbers.to_dict(), allow_nan=False))
    assert content["rows"][0]["accuracy"] is None
    assert content["task"] == "regression"


@pytest.mark.parametrize("unit", [1e-4, 1e4])
def test_errors_have_the_unit_of_the_target_and_four_digits(unit):
    X, y = make_numbers(100)
    answer = thorough(
        X, unit * y, task="regression", cv=2, grid=OF_MACHINES, models=["fm", "linear"]
    )
    cell = to_markdown(answer).splitlines()[2].split("|")[3].strip(" *").split()[0]
    assert len(cell.replace(".", "").lstrip("0")) in (4, 5)
    assert float(cell) == pytest.approx(answer.best.value, rel=1e-3)


def test_mae_may_decide():
    X, y = make_numbers(150)
    answer = thorough(
        X, y, task="regression", scoring="mae", cv=3, grid=OF_MACHINES, models=["fm", "linear"]
    )
    assert all(row.value == row.mae for row in answer.rows)
    assert "| mae | worse | p | rmse |" in to_markdown(answer)


def test_the_share_of_the_variance_may_decide():
    X, y = make_numbers(150)
    models = ["fm", "linear", "baseline:mean"]
    given = {"task": "regression", "scoring": "r2", "models": models, "grid": OF_MACHINES}
    answer = thorough(X, y, cv=3, **given)
    by_rmse = thorough(X, y, cv=3, **given | {"scoring": "rmse"})
    assert [row.model for row in answer.rows] == [row.model for row in by_rmse.rows]
    for f, (_, test) in enumerate(KFold(3, shuffle=True, random_state=0).split(y)):
        for row in answer.rows:
            expected = 1.0 - by_rmse.row(row.model).scores[f] ** 2 / y[test].var()
            assert row.scores[f] == pytest.approx(expected)
    assert answer.row("baseline:mean").value < 0.0 < answer.best.value < 1.0
    assert "95 % interval" in answer.verdict[0]
    stream = thorough(X, y, progressive=True, **given | {"models": models[:2]})
    for row in stream.rows:
        assert row.value == pytest.approx(1.0 - row.rmse**2 / y.var())


def test_the_constant_is_the_best_one_by_the_metric():
    X, _ = make_numbers(150)
    y = np.where(np.arange(150) % 3 == 0, 30.0, 0.0)
    given = {"models": ["linear"], "cv": 2, "task": "regression", "grid": OF_MACHINES}
    for metric, name in (("rmse", "mean"), ("mae", "median")):
        run = Run([], Regression(metric), 0, 1, OF_MACHINES)
        names = [one.name for one in choose_learners(run, X.layout, 150, None)]
        assert [one for one in names if one in CONSTANT] == [f"baseline:{name}"]
        answer = thorough(X, y, scoring=metric, baselines=[name], **given)
        told = f"no model is clearly better than the {name} for all rows: "
        assert any(line.startswith(told) for line in answer.verdict)
    assert answer.row("baseline:median").value == pytest.approx(10.0)


@pytest.mark.parametrize("metric", ["rmse", "mae"])
def test_numbers_in_stream_order_by_hand(metric, monkeypatch):
    X, y = make_numbers()
    models = ["linear", "fm", "mvm"]
    given = {"task": "regression", "progressive": True, "scoring": metric, "models": models}
    answer = thorough(X, y, grid=OF_MACHINES, **given)
    assert (answer.n_rows, answer.n_scored) == (300, 300)
    errors = {}
    for row in answer.rows:
        method = find_learner(row.model, "regression", X.layout.names)
        model = method.make(alpha=1e-4, learning_rate=0.1, random_state=0)
        parts = (slice(0, 30), slice(30, 300))
        predicted = np.concatenate([model.score_then_learn(X[one], y[one]) for one in parts])
        each = np.abs(predicted - y)
        assert row.mae == pytest.approx(each.mean())
        assert row.rmse == pytest.approx(np.sqrt((each**2).mean()))
        errors[row.model] = each if metric == "mae" else each**2
    for row in answer.rows[1:]:
        one, best = (
            lambda rows, each=errors[name]: np.mean(each[rows]) ** (1 if metric == "mae" else 0.5)
            for name in (row.model, answer.best.model)
        )
        expected = block_jackknife(300, lambda rows, a=one, b=best: b(rows) - a(rows))
        assert row.difference.location == pytest.approx(expected.location)
        assert row.difference.scale == pytest.approx(expected.scale)
        assert row.p == pytest.approx(expected.p)
    monkeypatch.setattr("crossview.data.labeled.LabeledSource.batch_rows", 13)
    pieces = thorough(X, y, grid=OF_MACHINES, **given)
    for row, other in zip(answer.rows, pieces.rows, strict=True):
        assert other.value == pytest.approx(row.value)
        assert other.p == pytest.approx(row.p)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"scoring": "f1"},
            "metric 'f1' is about classes, and numbers are predicted; .* rmse, mae",
        ),
        ({"scoring": "rsme"}, "no metric 'rsme'; did you mean 'rmse'"),
        ({"task": "classification", "scoring": "mae"}, "metric 'mae' is about numbers"),
        ({"task": "classification"}, "is not a class.*task='regression'"),
        ({"task": "regresion"}, "no task 'regresion'; did you mean 'regression'"),
        ({"scoring": Scoring(positive=1)}, "positive= is about classes"),
        (
            {"models": ["pa:squared", "mvm"]},
            "model 'pa:squared' predicts classes; .*there are: view:user, view:item, lin",
        ),
        ({"models": ["mvn", "fm"]}, "no model 'mvn'; did you mean 'mvm'"),
        ({"grid": {"C": [1]}}, "grid= names 'C' .*alpha, .*learning_rate"),
        ({"cv": 200}, "300 rows are too few for 200 folds; take fewer folds"),
        ({"X": np.ones((1, 2)), "y": [1.0]}, "1 row is too few for 5 folds; two folds take four"),
        ({"y": [7.5] * 300}, "is 7.5 in every row, of which nothing can be learned; choose"),
        ({"cv": 1}, "cv=1; give 2 folds or more"),
        ({"y": ["a"] * 300}, "row 0: 'a' is not a number to predict"),
        ({"y": [1.0, np.inf] * 150}, "row 1: inf is not a number to predict"),
        ({"y": np.ones((300, 2))}, "y= is a ndarray of 2 dimensions; give a name or one value per"),
        ({"y": [1.0]}, "1 labels for 300 rows"),
    ],
)
def test_compare_of_numbers_refuses(change, message):
    X, y = make_numbers()
    given = {"X": X, "y": y, "task": "regression", "grid": None} | change
    with pytest.raises(InputError, match=message):
        thorough(given.pop("X"), given.pop("y"), **given)


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("n/a", "'n/a' is not a number to predict.*; null='n/a' if it says that"),
        ("inf", "inf is not"),
    ],
)
def test_a_bad_number_names_its_row_in_the_file(value, what, progressive, tmp_path):
    lines = make_numbers_frame(1100).to_csv(index=False).splitlines()
    lines[1051] = ",".join([*lines[1051].split(",")[:-1], value])
    (tmp_path / "t.csv").write_text("\n".join(lines))
    stream = open_table(tmp_path / "t.csv", batch_rows=300)
    with pytest.raises(InputError, match=what) as caught:
        thorough(
            stream, "rating", task="regression", progressive=progressive, grid=OF_MACHINES,
            models=["linear", "fm"],
        )  # fmt: skip
    assert (caught.value.row, caught.value.column) == (1050, "rating")
    assert caught.value.file.endswith("t.csv")


def test_numbers_of_any_type_of_column():
    frame = make_numbers_frame(60)
    frame["rating"] = frame["rating"].round()
    given = {"task": "regression", "cv": 2, "grid": OF_MACHINES, "models": ["linear", "fm"]}
    expected = [(row.model, row.scores) for row in thorough(frame, "rating", **given).rows]
    for kind in (int, str, "category", "Int64"):
        other = frame.assign(rating=frame["rating"].astype(int).astype(kind))
        found = thorough(other, "rating", **given)
        assert [(row.model, row.scores) for row in found.rows] == expected
    apart = thorough(frame.drop(columns="rating"), frame["rating"], **given)
    assert [(row.model, row.scores) for row in apart.rows] == expected
    dates = frame.assign(rating=pd.Timestamp("2020-01-01"))
    with pytest.raises(InputError, match=r"column 'rating': .*is not a number to predict"):
        thorough(dates, "rating", **given)


def test_a_missing_view_of_a_linear_model_adds_nothing():
    X, y = make_numbers(120)
    present = np.ones((120, 2), dtype=bool)
    present[::3, 1] = False
    X = MultiView({name: X[name] for name in X.keys()}, present=present)  # noqa: SIM118
    answer = thorough(X, y, task="regression", cv=2, grid=OF_MACHINES)
    assert all(math.isfinite(row.value) for row in answer.rows)


@pytest.mark.parametrize(("last", "scale"), [(5.0, "log"), (0.0, "log1p"), (-1.0, None)])
def test_a_stream_tries_the_logarithm_of_skewed_targets_if_all_have_one(last, scale):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1500, 2)), columns=["a__x", "b__x"])
    y = np.append(np.exp(X.sum(axis=1) + 0.1 * rng.normal(size=1500))[:-1], last)
    for given in ((X, y), (X.assign(y=y), "y")):
        options = {"progressive": True, "in_order": True, "models": ["linear"]}
        answer = compare(*given, task="regression", **options)
        assert answer.rows[0].setting.get("target_scale") == scale
    none = compare(X, y, task="regression", grid={"target_scale": []}, **options)
    assert "target_scale" not in none.rows[0].setting


@pytest.mark.parametrize("progressive", [False, True])
def test_train_doubts_no_scale_that_was_compared(progressive):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 2)), columns=["a__x", "b__x"])
    y = np.exp(1.5 * rng.normal(size=600)) + 0.5 * (
        X["a__x"] > 0.0
    )  # skewed, with a sum of effects
    models, given = ["linear"], {"progressive": progressive, "in_order": progressive}
    answer = compare(X, y, task="regression", models=models, **given)
    arguments = answer.train_arguments
    assert arguments["settings"]["target_scale"] == "linear"
    assert not any("skewed" in line for line in crossview.train(X, y, **arguments).warnings)
    alone = crossview.train(X, y, model="linear", task="regression", settings={"alpha": 0.1})
    assert any("skewed" in line for line in alone.warnings)


def test_the_ensemble_makes_the_error_least_that_the_metric_asks_for():
    """A blend by squares follows the few large numbers."""
    rng = np.random.default_rng(0)
    X = MultiView({"a": rng.normal(size=(600, 2)), "b": rng.normal(size=(600, 2))})
    y = np.exp(X["a"][:, 0] + X["b"][:, 0] + 1.5 * rng.normal(size=600))
    models = ["view:a", "view:b", "ensemble"]
    answer = compare(X, y, task="regression", scoring="mae", models=models, cv=3, budget=None)
    row = answer.row("ensemble")
    assert row.value < min(answer.row(name).value for name in models[:2])
    trained = crossview.train(X, y, **answer.train_arguments_of(row))
    assert trained.learner.loss == "absolute_error"


def test_a_far_row_is_not_the_whole_error_of_an_ensemble():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(200, 2)), rng.normal(size=(200, 2))
    y = a[:, 0] + b[:, 1] + 0.1 * rng.normal(size=200)
    a[7, 0] = 1e4
    answer = compare(
        MultiView({"a": a, "b": b}),
        y,
        task="regression",
        models=["ridge", "view:a", "view:b", "ensemble"],
        budget=None,
    )
    of_model = {row.model: max(row.scores) for row in answer.rows}
    assert of_model["ridge"] > 10 * np.ptp(y) > 10 * of_model["ensemble"]


def test_members_of_an_ensemble_are_on_the_scale_for_which_their_weights_are():
    """In order the setting of the last fold is shown, and two of three predicted no logarithms."""
    chosen = [{"alpha": 1.0}, {"alpha": 3.0}, {"alpha": 1.0, "target_scale": "log1p"}]
    ridge = ComparisonRow("ridge", "", rows_per_second=1.0, predicted_per_second=1.0)
    ridge = replace(ridge, chosen=chosen, setting=chosen[-1])
    for row, setting in ((ridge, chosen[1]), (replace(ridge, setting=chosen[0]), chosen[0])):
        blend = Blend(np.array([0]), np.array([0.8]))
        (member,) = ensemble_row(ComparisonRow("ensemble", ""), blend, None, [row]).members
        assert member.setting == setting


def test_members_of_an_ensemble_have_the_bins_that_most_folds_chose():
    """Bins are those of all members: those of one fold of one member would change the others."""
    chosen = [{"alpha": 1.0, "bins": 10}, {"alpha": 3.0}, {"alpha": 0.3}]
    fm = ComparisonRow("fm", "", rows_per_second=1.0, predicted_per_second=1.0)
    blend = Blend(np.array([0]), np.array([0.8]))
    for row, setting in ((chosen, chosen[2]), ([*chosen, chosen[0], chosen[0]], chosen[0])):
        fm = replace(fm, chosen=row, setting=chosen[0])
        (member,) = ensemble_row(ComparisonRow("ensemble", ""), blend, None, [fm]).members
        assert member.setting == setting
