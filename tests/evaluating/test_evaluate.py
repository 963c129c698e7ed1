"""How good a model file is on labeled rows: metrics, intervals, views, slices, time."""

import io
import json
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from scipy.stats import beta
from sklearn import metrics
from sklearn.metrics import average_precision_score, r2_score, roc_auc_score

import crossview
from command_line import run
from crossview import (
    InputError,
    LearnedRowsWarning,
    MultiView,
    Scoring,
    ViewEncoder,
    datasets,
    evaluate,
)
from crossview.evaluating.slices import NumberSample
from crossview.reporting.displays.curves import MetricOverTimeDisplay
from crossview.reporting.displays.ranking import ReliabilityDisplay, Roc
from crossview.reporting.evaluation import evaluation_tables
from crossview.reporting.page.render import report_html
from crossview.scoring.metrics import measure

N = 1200
START = datetime(2026, 1, 5)
NAMES = np.array(["u__x", "u__z", "p__x", "q__c"])


def make_table(n, seed):
    rng = np.random.default_rng(seed)
    x, z, w = rng.normal(size=(3, n))
    c = rng.choice(["red", "green", "blue"], size=n)
    y = np.where(x + 0.5 * z - w + (c == "red") + 0.5 * rng.normal(size=n) > 0, "yes", "no")
    return pa.table(
        {
            "u__x": x,
            "u__z": z,
            "p__x": w,
            "q__c": c,
            "country": rng.choice(["NO", "DE", "FR"], size=n, p=[0.6, 0.3, 0.1]),
            "age": rng.integers(18, 80, size=n),
            "when": pa.array([START + timedelta(hours=i) for i in range(n)], pa.timestamp("us")),
            "y": y,
        }
    )


@pytest.fixture(scope="module")
def table():
    return make_table(N, 0)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("evaluate") / "model.st"
    crossview.train(make_table(2000, 1), "y", model="pa:squared", output=path)
    return path


def test_metrics_are_those_of_all_rows_in_any_batches(model, table):
    fitted = crossview.load(model)
    found = evaluate(model, table)
    scores = fitted.decision_function(table)
    codes = (np.array(table["y"].to_pylist()) == "yes").astype(int)
    given = {
        "probabilities": fitted.predict_proba(table),
        "predicted": (fitted.predict(table) == "yes").astype(int),
    }
    assert found.metric == "f1"  # the model was trained for it
    assert next(iter(found.metrics)) == "f1"
    for name, (value, low, high) in found.metrics.items():
        assert value == pytest.approx(measure(name, codes, scores, **given)), name
        if name == "expected_calibration_error":  # which chance makes larger
            assert np.isnan([low, high]).all()
        else:
            assert low <= value <= high, name
    assert found.n_rows == N == sum(map(sum, found.confusion))
    off = found.metrics["expected_calibration_error"].value
    assert ReliabilityDisplay.of(found).error == pytest.approx(off)
    assert sum(one.rows for one in found.calibration) == N
    again = evaluate(model, crossview.open_table(table, batch_rows=97)).to_dict()
    scale = ("roc_auc", "average_precision", "prbep", "precision_at_10%", "recall_at_10%")
    once = found.to_dict()
    for name in scale:  # where the scores are is seen in the first batch: for their intervals only
        assert once["metrics"].pop(name)["value"] == again["metrics"].pop(name)["value"]
    assert again == once
    json.dumps(once)


def test_the_calibration_error_is_evaluated_without_an_interval(model, table):
    found = evaluate(model, table, scoring="expected_calibration_error", views=True)
    assert "no interval: chance makes it larger" in found.summary
    assert np.isnan(found.metrics["expected_calibration_error"].low)
    assert all(np.isfinite(one.difference.value) for one in found.views)
    assert np.isfinite(found.metrics["log_loss"].low)


def test_a_fitted_model_does_not_know_its_label_and_says_what_does(model, table):
    fitted = crossview.load(model)
    with pytest.raises(InputError, match=r"name it: y='COLUMN' \(or give the file of train, or wh"):
        evaluate(fitted, table)
    assert evaluate(fitted, table, "y").n_rows == evaluate(model, table).n_rows == N


def test_an_interval_covers_the_truth():
    """In about 95 of 100 draws; the error rate of the rule is known."""
    rng = np.random.default_rng(1)
    X = MultiView({"a": rng.normal(size=(4000, 1)), "b": rng.normal(size=(4000, 1))})
    flipped = rng.random(4000) < 0.2
    y = (X["a"][:, 0] > 0) ^ flipped
    rule = crossview.PassiveAggressiveClassifier(fit_intercept=False).fit(X[:500], y[:500])
    rule.set_threshold(None)
    truth = np.mean(rule.predict(X) == y)
    covered = 0
    for _ in range(40):
        some = rng.choice(4000, size=150)
        _, low, high = evaluate(rule, X[some], y[some], views=False).metrics["accuracy"]
        covered += low <= truth <= high
    assert covered >= 34


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_share_of_0_or_1_has_an_interval_as_of_a_binomial(n_classes):
    n = 12 * n_classes
    x = np.arange(n) % n_classes
    y = np.array(["no", "other", "yes"] if n_classes == 3 else ["no", "yes"])
    rows = pa.table({"a__x": x, "b__z": np.ones(n), "y": y[x]})
    model = crossview.train(rows, "y", model="logistic-regression")
    wrong = rows.set_column(2, "y", pa.array(y[(x + 1) % n_classes]))
    tail = {k: beta.ppf(0.975, 1, k) for k in (round(n / 10), 12, n)}
    of_rows = {"accuracy": n, "precision_at_10%": round(n / 10)}
    for name in ("accuracy", "f1", "recall", "precision", "roc_auc", "precision_at_10%"):
        given = {"scoring": Scoring(name, positive="yes" if n_classes == 2 else None)}
        high = tail[of_rows.get(name, 12)]
        found = evaluate(model, rows, views=False, by="y", **given)
        assert tuple(found.metrics[name]) == pytest.approx((1.0, 1.0 - high, 1.0)), name
        if name == "accuracy":
            assert found.by[0].slices[0].metric.low == pytest.approx(1.0 - tail[12])
        if name != "roc_auc":
            none = evaluate(model, wrong, views=False, **given).metrics[name]
            assert tuple(none) == pytest.approx((0.0, 0.0, high)), name


def test_the_mean_over_the_classes_says_how_many_there_are():
    x = np.arange(90) % 3
    rows = pa.table({"a__x": x, "b__z": np.ones(90), "y": np.array(["no", "other", "yes"])[x]})
    model = crossview.train(rows, "y", model="trees", settings={"n_bags": 1, "max_iter": 30})
    some = rows.filter(pa.array(x < 2))
    for name in ("f1", "balanced_accuracy", "roc_auc"):
        for found, words in (
            (evaluate(model, rows, scoring=name), "3 classes"),
            (evaluate(model, some, scoring=name), "2 of 3 classes"),
        ):
            assert f": {name} (mean over {words}) 1.0000" in found.summary
            shown = (str(one) for one in evaluation_tables(found))
            assert f"{name} (mean over {words})" in shown
            if name == "f1":  # one page is made like the other
                assert f"{name} (mean over {words})" in report_html(found)
    wrong = some.set_column(2, "y", pa.array(["no"] * some.num_rows))  # half predicted as another
    assert "f1 (mean over 2 of 3 classes)" in evaluate(model, wrong).summary
    recall = evaluate(model, wrong, scoring="balanced_accuracy").summary
    assert "balanced_accuracy (mean over 1 of 3 classes)" in recall


def test_scores_near_each_other_are_in_order():
    rng = np.random.default_rng(0)
    x = rng.normal(size=4000)
    y = (x + rng.normal(size=4000) > 3.0).astype(int)
    half = rng.integers(2, size=4000)
    rows = pa.table({"a__x": x, "b__z": rng.normal(size=4000), "half": half, "y": y})
    first, last = rows.slice(0, 2000), rows.slice(2000)
    weak = crossview.train(first, "y", model="logistic-regression", settings={"C": 1e-5})
    scores = crossview.predict(weak, last)["score"].to_numpy()
    assert np.ptp(scores) < 0.1
    for metric in ("roc_auc", "average_precision", "prbep", "recall_at_10%"):
        found = evaluate(weak, last, by="half", scoring=metric)
        assert found.value == pytest.approx(measure(metric, y[2000:], scores))
        _, low, high = found.metrics[metric]
        assert low < found.value < high
        for one in found.by[0].slices:
            here = half[2000:] == int(one.value)
            expected = measure(metric, y[2000:][here], scores[here])
            assert one.metric.value == pytest.approx(expected)
            assert one.difference == pytest.approx(expected - found.value)
        for one in found.views:
            assert one.difference.value == pytest.approx(one.missing.value - found.value)


def test_probabilities_order_the_rows_of_several_classes_as_in_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = np.array(["low", "middle", "high"])[np.digitize(X[:, 0] + rng.normal(size=1500), [-1, 1])]
    half = rng.integers(2, size=1500)
    rows = pa.table({"a__x": X[:, 0], "a__z": X[:, 1], "b__u": X[:, 2], "half": half, "y": y})
    model = crossview.train(rows.slice(0, 700), "y", model="logistic-regression")
    last, y, half = rows.slice(700), y[700:], half[700:]
    said = crossview.predict(model, last)
    p = np.column_stack([said[f"probability_{name}"] for name in np.unique(y)])

    def expected(here):
        return {
            "roc_auc": roc_auc_score(y[here], p[here], multi_class="ovr"),
            "average_precision": average_precision_score(y[here, None] == np.unique(y), p[here]),
        }

    for source in (last, crossview.open_table(last, batch_rows=97)):
        for metric, value in expected(half >= 0).items():
            found = evaluate(model, source, by="half", scoring=metric)
            assert found.value == pytest.approx(value)
            _, low, high = found.metrics[metric]
            assert low < value < high
            for one in found.by[0].slices:
                assert one.metric.value == pytest.approx(expected(half == int(one.value))[metric])
    display = Roc.of(found)
    assert np.mean(list(display.areas.values())) == pytest.approx(
        expected(half >= 0)["roc_auc"], abs=1e-6
    )


def test_a_threshold_for_something_else_than_the_costs_is_said(table):
    def said(trained, **scoring):
        notes = evaluate(trained, table, scoring=Scoring(**scoring)).notes
        return [one for one in notes if "not for these costs" in one]

    costs = {"fp": 1, "fn": 20}
    for_f1 = crossview.train(make_table(600, 1), "y", scoring="f1", model="pa:squared")
    [line] = said(for_f1, cost=costs)
    assert "the best for f1" in line
    assert "threshold=0.0476" in line
    assert said(for_f1) == said(for_f1, cost=costs, threshold=0.0476) == []
    for_costs = crossview.train(
        make_table(600, 1), "y", scoring=Scoring(cost=costs), model="pa:squared"
    )
    assert said(for_costs) == said(for_costs, cost={"fp": 2, "fn": 40}) == []
    assert "threshold=0.5" in said(for_costs, cost={"fp": 1, "fn": 1})[0]


def test_the_calibration_of_several_classes_is_of_the_most_probable_and_is_called_so():
    """Where classes have thresholds, another one may be predicted."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 3))
    rows = pa.table({"x": x[:, 0], "z": x[:, 1], "y": (x + rng.normal(size=(600, 3))).argmax(1)})
    fitted = crossview.train(rows, "y", model="linear", task="classification").fitted
    found = evaluate(fitted, rows, "y", scoring=Scoring(threshold=[0.8, 0.1, 0.1]), views=False)
    p, y = fitted.predict_proba(rows), np.array(rows["y"])
    assert found.predicted_rows != np.bincount(p.argmax(axis=1), minlength=3).tolist()
    n = [one.rows for one in found.calibration]
    shares = np.average([one.share for one in found.calibration], weights=n)
    assert shares == pytest.approx(np.mean(p.argmax(axis=1) == y))
    assert {"most probable class"} <= {
        one.header[0].removeprefix("probability of ")
        for one in evaluation_tables(found)
        if not isinstance(one, str)
    }
    assert "most probable class" in ReliabilityDisplay.of(found).title


@pytest.mark.parametrize("metric", [None, "recall", "precision_at_k"])
def test_k_is_of_the_metrics_at_k_whichever_decides(model, table, metric):
    found = evaluate(model, table, scoring=Scoring(metric, k=50), views=False)
    fitted, codes = crossview.load(model), np.array(table["y"].to_pylist()) == "yes"
    scores = fitted.decision_function(table)
    for name in ("precision_at_k", "recall_at_k"):
        (shown,) = (one for one in found.metrics if one.startswith(name[:-1]))
        value = measure(name, codes.astype(int), scores, k=50)
        assert shown == f"{name[:-1]}50"
        assert found.metrics[shown].value == pytest.approx(value)
    with pytest.raises(InputError, match="k=50 is for precision_at_k, recall_at_k and top_a"):
        crossview.train(table, "y", model="linear", scoring=Scoring("recall", k=50))
    with pytest.raises(InputError, match=r"k=1\.5; give a whole number of rows"):
        Scoring("recall", k=1.5)


def test_k_takes_the_place_of_that_of_the_training(table):
    trained = crossview.train(table, "y", model="linear", scoring="recall_at_5%")
    found = evaluate(trained.fitted, table, "y", scoring=Scoring(k=50), views=False)
    assert "recall_at_50" in found.metrics
    with pytest.warns(LearnedRowsWarning):
        assert evaluate(trained, table, scoring=Scoring(k=50), views=False).metric == "recall_at_50"


def test_a_missing_view_costs_what_predicting_without_it_costs(model, table):
    found = evaluate(model, table)
    fitted = crossview.load(model)
    for one in found.views:
        without = table.drop_columns([name for name in NAMES if name.startswith(one.view)])
        with pytest.warns(UserWarning, match=f"view '{one.view}' is missing"):
            answer = crossview.predict(fitted, without)
        codes = (np.array(table["y"].to_pylist()) == "yes").astype(int)
        predicted = np.array([label == "yes" for label in answer["prediction"].to_pylist()])
        assert one.missing.value == pytest.approx(
            measure("f1", codes, np.zeros(N), predicted=predicted.astype(int))
        )
        assert one.difference.value == pytest.approx(one.missing.value - found.value)
        assert one.difference.low <= one.difference.value <= one.difference.high
        assert one.alone is not None
    absent = evaluate(model, table.drop_columns(["p__x"]))
    assert absent.missing_views == ["p"]
    assert [one.view for one in absent.views] == ["u", "q"]
    assert evaluate(model, table, views=False).views == []


def test_slices_and_windows_divide_the_rows(model, table):
    found = evaluate(model, table, by=["country", "age"], time="when", window="1w")
    countries, ages = found.by
    counts = dict(zip(*np.unique(table["country"].to_pylist(), return_counts=True), strict=True))
    assert [(one.value, one.rows) for one in countries.slices] == sorted(
        counts.items(), key=lambda item: -item[1]
    )
    for one in countries.slices:
        rows = np.array(table["country"].to_pylist()) == one.value
        alone = evaluate(model, table.filter(pa.array(rows)))
        assert one.metric.value == pytest.approx(alone.value)
        assert one.difference == pytest.approx(alone.value - found.value)
    assert len(ages.slices) == 10
    assert sum(one.rows for one in ages.slices) == N
    assert min(one.rows for one in ages.slices) > 80
    starts = [one.start for one in found.windows]
    assert starts == [f"{START + timedelta(weeks=i):%Y-%m-%d}" for i in range(8)]
    assert [one.rows for one in found.windows] == [168] * 7 + [24]
    assert np.average(
        [one.loss for one in found.windows], weights=[one.rows for one in found.windows]
    ) == pytest.approx(found.metrics["log_loss"].value)


@pytest.mark.parametrize("metric", ["f1", "f2", "recall", "precision", "g_mean"])
def test_slices_and_windows_without_a_positive_row_have_no_value(metric):
    """Nothing is wrong in them, and 0 would make them the worst ones."""
    quiet = np.arange(400) < 100
    x = np.where(quiet, -1.0, np.random.default_rng(0).normal(size=400))
    x[100], x[101] = 2.0, -2.0  # in both windows of these rows are both classes
    rows = pa.table({"x": x, "place": np.where(quiet, "quiet", "loud"), "y": x > 0})
    fitted = crossview.train(rows, "y", model="linear", scoring=Scoring(threshold=0.5)).fitted
    found = evaluate(fitted, rows, "y", by="place", window=100, scoring=metric)
    loud, none = found.by[0].slices
    assert none.value == "quiet"
    assert np.isnan([*none.metric, none.difference]).all()
    assert loud.metric.value > 0
    assert [np.isnan(one.metric.value) for one in found.windows] == [True, False, False, False]
    assert found.to_dict()["by"][0]["slices"][1]["metric"]["value"] is None
    assert "nan" not in MetricOverTimeDisplay.of(found).title
    alone = evaluate(fitted, rows.slice(0, 100), "y", scoring=metric)  # as for these rows alone
    assert np.isnan(alone.value)
    assert alone.metrics["accuracy"].value == 1.0
    assert f"all 100 rows are of class False, so that {metric} cannot say" in str(alone.warnings)


@pytest.mark.parametrize(
    ("metric", "is_told"),
    [("f1", True), ("macro_f1", True), ("roc_auc", True), ("accuracy", False), ("log_loss", False)],
)
@pytest.mark.parametrize("only", [True, False])
def test_rows_of_one_class_are_told_where_the_metric_needs_both(metric, is_told, only):
    """With false positives F1 is 0, as in scikit-learn, which looks as if the model were bad."""
    x = np.random.default_rng(0).normal(size=400)
    y = np.where(np.arange(400) < 100, only, x > 0)
    rows = pa.table({"x": x, "place": np.where(np.arange(400) < 100, "quiet", "loud"), "y": y})
    fitted = crossview.train(rows.slice(100), "y", model="linear").fitted
    found = evaluate(fitted, rows, "y", by="place", window=100, scoring=metric)
    assert [one.one_class for one in found.by[0].slices] == [False, is_told]
    assert [one.one_class for one in found.windows] == [is_told, False, False, False]
    words = f"of one class, so that {metric} cannot say how well the model tells the classes apart"
    assert (f"{words}, in: place quiet, from row " in str(found.warnings)) == is_told
    alone = evaluate(fitted, rows.slice(0, 100), "y", scoring=metric)
    assert (f"all 100 rows are of class {only}" in str(alone.to_dict()["warnings"])) == is_told


def test_windows_of_rows_numbers_and_of_default_width(model, table):
    of_rows = evaluate(model, table, window=500, views=False).windows
    assert [(one.start, one.rows) for one in of_rows] == [
        ("row 0", 500),
        ("row 500", 500),
        ("row 1,000", 200),
    ]
    assert 5 <= len(evaluate(model, table, time="when", views=False).windows) <= 13
    unix = table.append_column("unix", pa.array([883612800 + 60 * i for i in range(N)]))
    starts = [one.start for one in evaluate(model, unix, time="unix", window="6h").windows]
    assert starts[:2] == ["1998-01-01 00:00", "1998-01-01 06:00"]
    days = table.append_column("day", pa.array([883612800 + 86400 * i for i in range(N)]))
    for width, first in (("90d", "1998-01-01"), ("28d", "1997-12-29")):  # a Monday
        windows = evaluate(model, days, time="day", window=width, views=False).windows
        assert windows[0].start == first
    plain = table.append_column("step", pa.array([*range(N - 3), None, None, None]))
    found = evaluate(model, plain, time="step", views=False)
    assert [one.start for one in found.windows[:2]] == ["0", "200"]
    assert found.without_time == 3


def test_slices_are_in_the_order_of_their_labeled_rows(model, table):
    """Which is shown; rows without a label may be most of a value."""
    place = np.array(["a"] * 700 + ["b"] * 400 + ["c"] * 100)
    labels = [None if i < 650 else label for i, label in enumerate(table["y"].to_pylist())]
    some = pa.array([None if i % 50 == 0 else one for i, one in enumerate(place.tolist())])
    rows = table.drop_columns(["y"]).append_column("y", pa.array(labels))
    found = evaluate(model, rows.append_column("place", some), by=["place", "age"], views=False)
    assert [(one.value, one.rows) for one in found.by[0].slices] == [
        ("b", 392),
        ("c", 98),
        ("a", 49),
        ("(missing)", 11),
    ]
    lows = [float(one.value.split()[-3]) for one in found.by[1].slices]
    assert lows == sorted(lows)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_dates_make_ranges_as_numbers_do(kind, model, table, tmp_path):
    first = np.datetime64("2024-01-01T00:30:00", "s")
    times = first + np.arange(N).astype("timedelta64[h]")
    gaps = [None if i % 100 == 7 else one for i, one in enumerate(times.astype("M8[D]").tolist())]
    rows = table.append_column("time", pa.array(times)).append_column("day", pa.array(gaps))
    file = tmp_path / f"rows.{kind}"
    (pa_csv.write_csv if kind == "csv" else pq.write_table)(rows, file)
    by_time, by_day = evaluate(model, file, by=["time", "day"], views=False).by
    assert [one.rows for one in by_time.slices] == [N // 10] * 10
    assert by_time.slices[0].value == "2024-01-01 00:30:00 to 2024-01-05 23:30:00"
    assert by_time.slices[-1].value.endswith(" to 2024-02-19 23:30:00")
    *days, missing = by_day.slices
    assert (missing.value, missing.rows) == ("(missing)", N // 100)
    assert days[0].value == "2024-01-01 to 2024-01-06"
    assert [one.value[:6] for one in days[1:]] == ["above "] * 9
    assert sum(one.rows for one in days) == N - N // 100
    far = pa.array(np.datetime64("9990-06-01") + np.arange(N))
    [found] = evaluate(model, table.append_column("far", far), by="far", views=False).by
    assert found.slices[-1].value.endswith(" to 9993-09-12")
    few = rows.set_column(rows.column_names.index("day"), "day", pa.array([gaps[0]] * N))
    assert [one.value for one in evaluate(model, few, by="day").by[0].slices] == ["2024-01-01"]


def test_ranges_of_dates_end_where_dates_of_the_column_are(model, table):
    times = np.datetime64("1969-01-10T00:00:00", "s") + np.arange(N) * np.timedelta64(10, "h")
    with_times = table.append_column("t", pa.array(times))
    here = pa.timestamp("s", "Asia/Tokyo")  # read in UTC, which names say
    given = {"by": ["t", "zoned"], "time": "zoned", "window": "70d", "views": False}
    found = evaluate(model, with_times.append_column("zoned", pa.array(times).cast(here)), **given)
    plain, zoned = found.by
    ends = [one.value.rpartition(" to ")[2] for one in plain.slices]
    assert {np.datetime64(end) for end in ends} <= set(times)
    assert [one.value for one in zoned.slices] == [f"{one.value} UTC" for one in plain.slices]
    assert [one.start for one in found.windows][:2] == ["1969-01-06 UTC", "1969-03-17 UTC"]


@pytest.mark.filterwarnings("ignore::crossview.errors.LearnedRowsWarning")
def test_ids_that_the_model_takes_as_categories_make_no_ranges(table):
    ids = 1_234_560 + np.arange(N) % 30
    table = table.append_column("user", pa.array(ids)).append_column("n", pa.array(ids / 1.0))
    for given in ({"views": {"u": ["u__x", "user"]}, "categorical": ["user"]}, {"per": "user"}):
        trained = crossview.train(table, "y", model="linear", encoder=ViewEncoder(**given))
        by_user, by_number = evaluate(trained, table, by=["user", "n"], views=False).by
        assert [one.value for one in by_user.slices][:2] == ["1234560", "1234561"]
        assert by_user.slices[-1].value == "(others)"
        assert by_number.slices[0].value == "1234560 to 1234563"
    few = table.set_column(table.column_names.index("n"), "n", pa.array(ids % 2 + 1e6))
    names = {one.value for one in evaluate(trained, few, by="n", views=False).by[0].slices}
    assert names == {"1000000", "1000001"}


def test_many_values_gaps_and_rare_ones_make_slices(model, table):
    values = [f"v{min(i % 40, 30)}" for i in range(N - 5)] + [None] * 5
    found = evaluate(model, table.append_column("c", pa.array(values)), by="c", views=False)
    names = [one.value for one in found.by[0].slices]
    assert names[0] == "v30"
    assert names[-2:] == ["(others)", "(missing)"]
    assert len(names) == 22
    sample = NumberSample()
    for part in np.split(np.arange(300_000.0), [7, 70_000, 123_456]):
        sample.add(part)
    assert set(np.diff(sample.values)) == {8.0}
    assert (sample.low, sample.high) == (0.0, 299_999.0)
    values = []
    for first, last in ((0, 7), (7, 70_000), (70_000, 300_000)):  # on several machines
        part = NumberSample(first, 300_000)
        part.add(np.arange(float(first), float(last)))
        values.append(part.values)
    assert np.array_equal(np.concatenate(values), sample.values)


def test_rows_without_a_label_are_skipped_and_other_labels_are_refused(model, table, tmp_path):
    labels = table["y"].to_pylist()
    gaps = table.set_column(7, "y", pa.array([None, *labels[1:]]))
    assert (evaluate(model, gaps).n_rows, evaluate(model, gaps).skipped) == (N - 1, 1)
    file = tmp_path / "new.csv"
    pa_csv.write_csv(table.set_column(7, "y", pa.array([*labels[:-2], "it's", "?"])), file)
    with pytest.raises(InputError) as error:
        evaluate(model, file)
    assert str(error.value).endswith(
        "new.csv, row 1198, column 'y': label \"it's\" is not among the classes of the model (no, "
        "yes); 2 of these 1,200 rows have such labels (it's, ?): leave them out (WHERE y NOT IN "
        "('it''s', '?') in a query), mend them, or train a model that has them"
    )
    assert evaluate(model, f"SELECT * FROM '{file}' WHERE y NOT IN ('it''s', '?')").n_rows == N - 2
    with pytest.raises(InputError, match="1 labels for"):
        evaluate(model, table, ["yes"])
    with pytest.raises(InputError, match="no row has a label"):
        evaluate(model, table.set_column(7, "y", pa.nulls(N, pa.string())))
    renamed = table.rename_columns([*table.column_names[:-1], "answer"])
    with pytest.raises(InputError, match=r"no column 'y' \(the label of the model\)"):
        evaluate(model, renamed)
    assert evaluate(model, renamed, "answer").value == evaluate(model, table).value
    without, value = table.drop_columns(["y"]), evaluate(model, table).value
    for same in (labels, [label == "yes" for label in labels]):  # as a query reads yes and no
        assert evaluate(model, without, same, views=False).value == value


def test_views_that_have_moved_are_named(model, table, tmp_path, capsys):
    assert evaluate(model, table).warnings == []
    moved = table.set_column(2, "p__x", pa.array(5.0 + np.array(table["p__x"])))
    assert any(
        line.startswith("view 'p' is not as in training: its inputs")
        for line in evaluate(model, moved).warnings
    )
    with pytest.warns(UserWarning, match="view 'p' is not as in training"):
        crossview.predict(model, moved)
    file = tmp_path / "moved.csv"
    pa_csv.write_csv(moved.drop_columns(["y"]), file)
    status, _, err = run(capsys, "predict", model, file, "-o", tmp_path / "scores.csv")
    assert status == 0
    assert any(line.startswith("crossview: warning: view 'p' is not as in tr") for line in err)


def test_several_classes_numbers_and_files_of_views(tmp_path):
    digits = datasets.load("digits")
    file = tmp_path / "digits.st"
    crossview.train(digits[:1200], "digit", model="pa:squared", output=file)
    texts = pa.table(digits.drop_columns(["digit"]) if isinstance(digits, pa.Table) else digits)
    labels = [str(label) for label in pa.table(digits)["digit"].to_pylist()]
    found = evaluate(file, texts[1200:], labels[1200:])  # the classes are numbers
    assert found.value > 0.8
    assert len(found.confusion) == 10
    rng = np.random.default_rng(0)
    X = MultiView({"a": rng.normal(size=(400, 2)), "b": rng.normal(size=(400, 2))})
    target = X["a"][:, 0] + X["b"][:, 1]
    trained = crossview.train(X, target, model="linear", task="regression")
    found = evaluate(trained.fitted, X, np.where(np.arange(400) == 3, np.nan, target))
    assert list(found.metrics) == ["rmse", "mae", "r2"]
    for shift in (0.0, 3.0):  # below 0 where the mean of the rows says more
        value, low, high = evaluate(trained.fitted, X, target + shift, scoring="r2").metrics["r2"]
        assert value == pytest.approx(r2_score(target + shift, trained.fitted.predict(X)))
        assert low < value < high <= 1.0
        assert (value > 0.0) == (shift == 0.0)
    assert (found.skipped, found.loss, found.calibration) == (1, "squared error", [])
    assert all(one.difference.value > 0 for one in found.views)
    with pytest.raises(InputError, match="the rows are views, and have no columns"):
        evaluate(trained.fitted, X, target, by="a")


def test_the_command_prints_all_of_it_at_any_width(model, table, tmp_path, capsys):
    file, answer = tmp_path / "new.csv", tmp_path / "answer.json"
    pa_csv.write_csv(table, file)
    status, out, err = run(
        *(capsys, "evaluate", model, file, "--by", "country,when", "--time", "when"),
        *("--metric", "roc_auc", "--json", answer),
    )
    assert (status, err) == (0, [])
    n = table["y"].to_pylist().count("yes")
    assert out[0].startswith(
        f"{file}, 1,200 rows with a label: roc_auc ('yes': {n} of 1,200 rows) 0.9"
    )
    content = json.loads(answer.read_text())
    assert content["metrics"]["roc_auc"]["low"] < content["metrics"]["roc_auc"]["high"]
    assert {"q", "NO", "2026-01-05", "expected_calibration_error"} <= {
        word for line in out for word in line.split()
    }
    found = evaluate(model, file, by=["country", "when"], time="when")
    assert {one["column"] for one in content["by"]} == {"country", "when"}
    text = io.StringIO()
    console = Console(file=text, width=40)
    for part in evaluation_tables(found):
        console.print(part)
    assert "difference" in text.getvalue()
    assert max(map(len, text.getvalue().splitlines())) <= 40
    status, _, err = run(capsys, "evaluate", model, file, "--json", file)
    assert (status, err) == (
        2,
        [f"crossview: error: {file}: is one of the inputs; write to another file"],
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "contry"}, "no column 'contry'; did you mean 'country'"),
        ({"window": "1d"}, "needs time="),
        ({"window": "1x"}, "give a time, such as 1d"),
        ({"time": "when", "window": "1min"}, "500 is the most"),
        ({"time": "country"}, "holds text that is not a date in every row; convert it in a query"),
        ({"time": "age", "window": "1d"}, "no Unix time"),
        ({"window": 1}, "1,200 windows"),
        ({"scoring": {"metric": "rmse"}}, "is about numbers"),
        ({"scoring": {"threshold": 2.0}}, "a probability between 0 and 1"),
        ({"scoring": {"positive": "si"}}, "no class 'si'"),
        ({"missing_columns": "drop"}, "give error or null"),
    ],
)
def test_what_is_wrong_is_one_line(options, message, model, table):
    with pytest.raises(InputError, match=message):
        evaluate(model, table, **options | {"scoring": Scoring(**options.get("scoring", {}))})


def test_a_label_without_a_name_is_a_column_like_any_other():
    table = pa.table({"a__x": np.arange(60.0), "b__y": np.sin(np.arange(60)), "": [0, 1] * 30})
    given = {"scoring": Scoring(threshold=None), "encoder": crossview.ViewEncoder(bins=None)}
    fitted = crossview.train(table, "", model="pa:squared", **given).fitted
    assert crossview.evaluate(fitted, table, "").n_rows == 60
    with pytest.raises(InputError, match="no column ''"):
        crossview.evaluate(fitted, table.drop_columns([""]), "")


def test_intervals_count_the_groups_of_the_training(tmp_path):
    """Rows of one user are right or wrong together, wherever they stand."""
    rng = np.random.default_rng(0)
    user = np.repeat(np.arange(90), 12)
    x = rng.normal(size=len(user))
    y = np.where(x + 2.0 * rng.normal(size=90)[user] > 0.0, "yes", "no")
    rows = pa.table({"user_id": user, "x": x, "y": y})
    path, file = tmp_path / "model.st", tmp_path / "rows.csv"
    learned, later = rows.slice(0, 480), rows.slice(480)
    crossview.train(learned, "y", model="logistic-regression", groups="user_id", output=path)
    found = evaluate(path, later)
    assert found.groups == found.to_dict()["groups"] == "user_id"
    assert found.summary.endswith(", by user_id)")
    shuffled = later.take(rng.permutation(len(later)))
    pa_csv.write_csv(shuffled, file)
    for same in (shuffled, file):
        for metric, one in evaluate(path, same).metrics.items():
            assert one == pytest.approx(found.metrics[metric], rel=1e-9, nan_ok=True), metric
    alone = evaluate(path, shuffled.drop_columns(["user_id"]))
    assert (alone.groups, alone.value) == (None, found.value)
    given = evaluate(path, shuffled.drop_columns(["user_id"]), groups=shuffled["user_id"])
    assert given.metrics["accuracy"] == pytest.approx(found.metrics["accuracy"], rel=1e-9)
    renamed = shuffled.rename_columns(["person", "x", "y"])
    assert evaluate(path, renamed, groups="person").metrics == given.metrics
    (_, low, high), (_, first, last) = (one.metrics["accuracy"] for one in (alone, found))
    assert last - first > 1.3 * (high - low)


def test_groups_that_are_given():
    """Views have them as an array; a row without a group stands alone."""
    rng = np.random.default_rng(0)
    X = MultiView({"a": rng.normal(size=(300, 2)), "b": rng.normal(size=(300, 1))})
    y = np.where(X.matrix[:, 0] + rng.normal(size=300) > 0.0, "yes", "no")
    user = np.repeat(np.arange(30), 10)
    model = crossview.MultiViewPAClassifier(random_state=0).fit(X, y)
    rows, pairs = evaluate(model, X, y), evaluate(model, X, y, groups=user)
    assert (rows.groups, pairs.groups) == (None, "groups")
    assert evaluate(model, X.with_groups(user), y).metrics == pairs.metrics != rows.metrics
    with pytest.raises(InputError, match="30 groups"):
        evaluate(model, X, y, groups=user[::10])
    with pytest.raises(InputError, match="310 groups"):
        evaluate(model, X, y, groups=[*user, *range(10)])
    with pytest.raises(InputError, match="X has groups"):
        evaluate(model, X.with_groups(user), y, groups=user)
    table = pa.table({"x": X.matrix[:, 0], "y": y, "user": pa.nulls(300, pa.string())})
    trained = crossview.train(table[:200], "y", model="pa:concatenated")
    alone, rows = (evaluate(trained, table[200:], groups=by) for by in ("user", None))
    assert alone.groups == "user"
    assert alone.metrics["roc_auc"] == pytest.approx(rows.metrics["roc_auc"], rel=0.1)
    with pytest.raises(InputError, match="no column 'usr'; did you mean 'user'"):
        evaluate(trained, table, groups="usr")
    with pytest.raises(InputError, match=r"'y': is the label, so it is not the column of groups="):
        evaluate(trained, table, groups="y")
    lists = table.append_column("tags", pa.array([[1]] * 300))
    with pytest.raises(InputError, match=r"'tags': holds list<.*, and groups are text, numbers or"):
        evaluate(trained, lists, groups="tags")


@pytest.mark.parametrize("numbers", [False, True])
def test_rows_of_other_classes_are_errors_and_have_no_probability(numbers, tmp_path):
    rng = np.random.default_rng(5)
    codes = rng.integers(4, size=500)
    names = np.array([1, 2, 5, 7]) if numbers else np.array(["a", "b", "e", "z"])
    columns = {"u__x": codes + rng.normal(size=500) / 2, "v__x": codes % 2 + rng.normal(size=500)}
    y = names[codes].astype(object)
    trained = crossview.train(pa.table(columns | {"y": y})[:300], "y", model="pa:squared")
    y[[310, 499, 400]] = [3, 3, 9] if numbers else ["c", "c", "zz"]
    rows = pa.table(columns | {"y": y})[300:]
    pa_csv.write_csv(rows, tmp_path / "t.csv")
    found = evaluate(trained, rows, window=100)
    assert found.unknown == ({3: 2, 9: 1} if numbers else {"c": 2, "zz": 1})
    assert found.classes == sorted([*found.unknown, *names.tolist()])
    assert found.notes[0].startswith("3 of 200 rows have labels that the model does not know (")
    from_text = evaluate(trained, tmp_path / "t.csv", "y", window=100).to_dict()
    assert from_text["metrics"] == found.to_dict()["metrics"]
    said = crossview.predict(trained, rows)
    y, predicted = np.array(y[300:].tolist()), np.array(said["prediction"])
    for name, value in (
        ("accuracy", metrics.accuracy_score(y, predicted)),
        ("macro_f1", metrics.f1_score(y, predicted, average="macro")),
    ):
        assert found.metrics[name].value == pytest.approx(value)
    known = np.isin(y, names.tolist())
    p = np.column_stack([said[f"probability_{one}"] for one in names])[known]
    loss = metrics.log_loss(y[known], p, labels=names)
    assert found.metrics["log_loss"].value == pytest.approx(loss)
    assert np.mean([one.loss for one in found.windows]) == pytest.approx(loss, rel=0.05)
    found = evaluate(trained, rows, scoring=Scoring("top_accuracy", k=3), by="u__x", window=100)
    right = metrics.top_k_accuracy_score(y[known], p, k=3, labels=names) * known.mean()
    assert found.value == pytest.approx(right) != pytest.approx(1.0)
    assert "precision_at_10%" in found.metrics  # whose k is another one
    assert np.mean([one.metric.value for one in found.windows]) == pytest.approx(right)
    by_loss = evaluate(trained, rows, scoring="log_loss")
    assert by_loss.value == pytest.approx(loss)
    assert by_loss.n_rows == 200
    for wrong in (
        ["other"] * 101 + y[101:].tolist(),  # most of the rows
        [f"n{i % 5}" if i < 5 else one for i, one in enumerate(y.tolist())],  # most of the classes
    ):
        with pytest.raises(InputError, match="is not among the classes of the model"):
            evaluate(trained, rows, np.array(wrong, dtype=object))
