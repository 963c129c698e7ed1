"""Folds in order or by groups, where rows are alike and random folds promise too much."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.metrics import roc_auc_score

from command_line import run
from comparisons import AS_IN_USE, ONE
from crossview import InputError, ViewEncoder, compare, describe, predict, train
from crossview.comparing.result.comparison import Comparison
from crossview.data.labeled_source import encoder_with_views, open_labeled
from crossview.data.summaries.columns import is_group_name
from crossview.errors import LeakWarning
from crossview.scoring import neighbors
from crossview.scoring.neighbors import find_split
from crossview.scoring.problems import make_problem
from crossview.scoring.progressive import LabelOrder, serial_correlation
from crossview.scoring.specification import Scoring

VIEWS = {"profile": "profile__*", "visit": "visit__*"}


@pytest.fixture(autouse=True)
def trees_tell(monkeypatch):
    """They are half of those in use."""
    monkeypatch.setattr(neighbors, "TREES", 15)


def make_users(n_users=150, of_user=True, seed=0):
    """Eight rows of each user, shuffled; the label is that of the user, or of the row."""
    rng = np.random.default_rng(seed)
    user = rng.permutation(np.repeat(np.arange(n_users), 8))
    profile = rng.normal(size=(n_users, 3))
    seen = profile[user] + 0.2 * rng.normal(size=(len(user), 3))
    visit = rng.normal(size=(len(user), 3))
    score = rng.normal(size=n_users)[user] if of_user else seen[:, 0] + visit[:, 0]
    columns = {f"profile__{j}": seen[:, j] for j in range(3)}
    columns |= {f"visit__{j}": visit[:, j] for j in range(3)}
    names = {"user_id": [f"u{i}" for i in user], "bought": np.where(score > 0, "yes", "no")}
    return pd.DataFrame(columns | names)


def make_order(n=1500, seed=0):
    """The label follows a level that wanders."""
    rng = np.random.default_rng(seed)
    level = np.cumsum(0.2 * rng.normal(size=n))
    columns = {"a__level": level, "a__noise": rng.normal(size=n), "b__noise": rng.normal(size=n)}
    label = np.sin(2.0 * level) + 0.3 * rng.normal(size=n) > 0.0
    return pd.DataFrame(columns | {"label": np.where(label, "yes", "no")})


def find(table, label, views=None, task="classification", **given):
    source = open_labeled(table, label, encoder=encoder_with_views(None, views), task=task)
    problem = make_problem(task, source.classes, Scoring(), class_rows=source.class_rows)
    return find_split(source, problem, **given)


def small(table, label, **given):
    given = {"models": ["view:visit", "pa:concatenated"], "grid": ONE, "cv": 3} | given
    return compare(table, label, **{"budget": None, "curve": False} | given)


def test_rows_of_a_user_are_not_learned_and_scored_where_they_are_alike():
    table = make_users()
    found = find(table, "bought", VIEWS)
    (test,) = found.tests
    assert (found.choice.column, found.order_alarm) == ("user_id", False)
    assert test.near > test.apart + 0.05
    assert not find(make_users(of_user=False), "bought", VIEWS).choice
    answer = small(table, "bought", views=VIEWS)
    by_hand = small(table, "bought", views=VIEWS, groups="user_id")
    assert answer.groups == by_hand.groups == "user_id"
    assert [row.scores for row in answer.rows] == [row.scores for row in by_hand.rows]
    assert answer.warnings[0].startswith("user_id: random folds say ")
    assert "(groups='user_id')" in answer.warnings[0]
    assert not by_hand.split_lines
    assert Comparison.from_dict(answer.to_dict()).groups == "user_id"
    insisted = small(table, "bought", views=VIEWS, random_folds=True)
    assert (insisted.groups, insisted.split_lines) == (None, [])
    model = "pa:concatenated"
    assert insisted.row(model).thresholds != answer.row(model).thresholds  # other folds
    more = small(table, "bought", views=VIEWS, models=["view:profile"], extend=answer)
    assert {row.model for row in more.rows} == {"view:visit", "view:profile", "pa:concatenated"}
    assert more.split_lines == answer.split_lines
    described = describe(table, "bought", views=VIEWS).warnings
    assert [line for line in described if line.startswith("user_id: random")] == answer.split_lines


def make_patients(n=200, of_patient=True, seed=0):
    """Six visits of each patient, whose columns say nothing of the label but by the id."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(n), 6)
    score = 2.0 * rng.normal(size=n)[patient] * of_patient + rng.normal(size=len(patient))
    visit = np.tile(np.arange(6.0), n)
    table = pd.DataFrame({"id": patient, "visit": visit, "x": rng.normal(size=len(patient))})
    return table.assign(y=np.where(score + 0.3 * table.x > 0.0, "ill", "well"))


@pytest.mark.parametrize("name", ["a{:03}".format, int])
def test_an_id_that_models_learn_by_heart_makes_groups(name):
    """Whatever the order of the rows, and however the ids are written."""
    table = make_patients()
    table["id"] = table["id"].map(name)
    for rows in (table, table.sample(frac=1.0, random_state=0)):
        found = find(rows, "y")
        assert found.choice.column == "id"
        assert found.choice.near > found.choice.apart + 0.05
    assert find(table.drop(columns="id").assign(id=table.id), "y", {"a": ["x"]}).choice is None
    other = make_patients(of_patient=False)
    other["id"] = other["id"].map(name)
    assert find(other, "y").choice is None


def test_a_column_of_groups_that_was_declared_is_trained_without_its_kind(tmp_path, capsys):
    table = make_patients()
    encoder = ViewEncoder(categorical=["id"])
    answer = small(table, "y", encoder=encoder, models=["pa:concatenated"])
    assert answer.groups == "id"
    trained = train(table, "y", **answer.train_arguments)
    assert trained.encoder.view_columns() == {"all": ["visit", "x"]}
    table.to_csv(file := tmp_path / "t.csv", index=False)
    options = ["--categorical", "id,visit", "--model", "pa:concatenated", "--budget", "60s"]
    status, out, _ = run(capsys, "compare", file, "--label", "y", *options)
    assert status == 0
    assert "--categorical visit --groups id" in " ".join(out)


def test_identifiers_that_cross_or_have_many_rows_are_categories():
    rng = np.random.default_rng(0)
    reader, book = np.divmod(rng.choice(100 * 100, 2000, replace=False), 100)
    score = 2.0 * (rng.normal(size=100)[reader] + rng.normal(size=100)[book])
    x, z = rng.normal(size=(2, 2000))
    rated = pd.DataFrame({"user_id": reader, "book_id": book, "x": x, "y": score + z})
    assert find(rated, "y", task="regression").choice is None
    assert find(rated.drop(columns="book_id"), "y", task="regression").choice.column == "user_id"
    store = np.arange(2000) % 25
    sold = pd.DataFrame({"store_id": store, "x": x, "y": rng.normal(size=25)[store] + z})
    (test,) = find(sold, "y", task="regression").tests
    assert (test.column, test.loss < 0.1) == ("store_id", True)


def test_the_order_of_a_table_that_is_sorted_by_user_is_that_of_the_users(monkeypatch):
    """Rows near in the order are alike because they are of the same user."""
    monkeypatch.setattr(neighbors, "TREES", AS_IN_USE[neighbors, "TREES"])
    table = make_users(seed=3).sort_values("user_id", kind="stable")
    found = find(table, "bought", VIEWS)
    order, users = found.tests
    assert (order.column, order.matters, found.order_alarm) == (None, False, True)
    assert order.loss > users.loss > 0.05
    assert found.choice is users
    wandering = make_order()
    wandering["user_id"] = np.arange(len(wandering)) // 8  # in the order of time
    assert find(wandering, "label").choice.column is None


def make_shops():
    """Rows of 24 shops, one shop after the other; customers of a shop like the same."""
    rng = np.random.default_rng(0)
    shop = np.repeat(np.arange(24), 50)
    X = rng.normal(size=(len(shop), 3))
    label = X[:, 0] + 3.0 * (rng.permutation(24) % 2)[shop] > 1.5
    table = pd.DataFrame({"a__x": X[:, 0], "a__z": X[:, 1], "b__w": X[:, 2], "b__shop": shop})
    return table.assign(y=np.where(label, "yes", "no"))


def test_rows_sorted_by_a_category_have_no_order_of_time():
    table = make_shops()
    towns = [f"{a}{b}" for a in ("Oslo", "Bonn", "Rome") for b in "abcdefgh"]
    for names in (towns, np.arange(24), 1000 * np.arange(24), [f"S{i}E{i}" for i in range(24)]):
        found = find(table.assign(b__shop=np.array(names)[table.b__shop]), "y", always=True)
        assert (found.sorted_by, found.choice) == ("b__shop", None)
        (line,) = found.lines()
        assert "the rows are sorted by b__shop" in line
        assert line.endswith("give groups='b__shop'")  # in order, some shops are learned
    assert find(table.sample(frac=1.0, random_state=0), "y", always=True).sorted_by is None
    text = [str(1950 + i % 50) for i in range(len(table))]  # which is not learned as a time
    (line,) = find(table.assign(b__when=text), "y", always=True).lines()
    assert line.endswith("time='b__when', once its years are numbers and no text")
    weeks = table.assign(b__shop=[f"week {i}" for i in table.b__shop])
    years = table.assign(b__shop=table.b__shop + 2001)
    for in_time in (weeks, years, table.rename(columns={"b__shop": "b__month"})):
        assert find(in_time, "y", always=True).choice.column is None


def test_rows_in_the_order_of_a_time_are_sorted_by_nothing_else():
    table = make_shops()
    day = pd.Timestamp("2025-11-30") + pd.to_timedelta(np.arange(len(table)) // 3, unit="D")
    for times in (np.arange(len(table)) // 2, day, day.strftime("%d/%m/%Y")):
        timed = table.assign(a__time=times)
        assert find(timed, "y", always=True).choice.column is None
    shuffled = timed.assign(a__time=timed.a__time.sample(frac=1.0, random_state=0).to_numpy())
    assert find(shuffled, "y", always=True).sorted_by == "b__shop"


def test_ids_are_in_the_order_of_time_unless_another_column_starts_again_with_each():
    table = make_shops().rename(columns={"b__shop": "b__shop_id"})
    found = find(table, "y", always=True)
    assert (found.sorted_by, found.choice.column) == (None, "b__shop_id")
    visit = np.arange(len(table)) % 50
    found = find(table.assign(a__visit=visit), "y", always=True)
    assert (found.sorted_by, found.time) == ("b__shop_id", None)
    found = find(table.assign(a__week=visit), "y", always=True)
    assert (found.sorted_by, found.time) == ("b__shop_id", "a__week")
    assert find(table.assign(a__visit=visit // 40), "y", always=True).sorted_by is None


@pytest.mark.parametrize("said", ["groups", "time", "weight"])
@pytest.mark.parametrize("named", ["user_id", "user_i?"])
def test_a_column_of_groups_times_or_weights_is_named_by_no_view(said, named):
    table = pd.DataFrame({"user_id": [1.0, 2.0], "age": [0.0, 1.0], "y": [0, 1]})
    with pytest.raises(InputError, match="column 'user_id': view 'a' names it, and a column of gr"):
        compare(table, "y", views={"a": [named, "age"]}, **{said: "user_id"})


def test_a_column_of_groups_leaves_the_views():
    table = make_users().rename(columns={"user_id": "profile__user"})
    answer = small(table, "bought", views=VIEWS)
    assert answer.groups == "profile__user"
    assert answer.views == {"profile": 6, "visit": 6}
    # compare has it in no view, so it is no leak that --ignore would mend
    (line,) = [one for one in describe(table, "bought").warnings if "profile__user" in one]
    assert line.startswith("profile__user: random folds say ")


def test_rows_that_follow_their_order_are_scored_in_order():
    table = make_order()
    models = ["view:a", "pa:concatenated"]
    answer = small(table, "label", models=models)
    by_hand = small(table, "label", models=models, in_order=True)
    assert answer.in_order
    assert [row.scores for row in answer.rows] == [row.scores for row in by_hand.rows]
    assert answer.warnings[0].startswith("row order: random folds say ")
    assert "--in-order" in answer.train_options
    shuffled = table.sample(frac=1.0, random_state=0)
    assert not find(shuffled, "label").order_alarm
    repeated = small(table, "label", models=models, repeats=2, cv=2)  # an order has one way
    assert not repeated.in_order
    assert "but the folds are random: repeats=2: folds in the order of time" in repeated.warnings[0]


def make_change(n=600):
    """What a column means is reversed after half of the rows."""
    x = np.random.default_rng(0).normal(size=n)
    return pd.DataFrame({"x": x, "y": np.where((x > 0) == (np.arange(n) < n // 2), "yes", "no")})


def test_an_order_without_times_is_one_of_time_only_where_numbers_wander():
    table, rng = make_order(), np.random.default_rng(0)
    places = np.repeat(rng.permutation(150), 10)  # ten rows of each mixture
    mixtures = rng.normal(size=(150, 2))[places]
    strength = np.sin(3.0 * mixtures[:, 0]) + mixtures[:, 1] + rng.normal(size=150)[places]
    runs = pd.DataFrame({"a__x": mixtures[:, 0], "a__z": mixtures[:, 1]})
    runs["label"] = strength + 0.1 * rng.normal(size=1500)
    found = find(runs, "label", task="regression")
    assert (found.order_alarm, found.choice, found.timeless) == (True, None, True)
    (line,) = found.lines()
    assert line.startswith("row order: random folds say ")
    assert "but no column has times in that order: it may be that of places" in line
    timed = runs.assign(a__time=np.arange(1500) // 3)
    assert find(timed, "label", task="regression").choice.column is None
    at = pd.Series(pd.date_range("1965-03-01", periods=1500, freq="61s"))
    for written in (at, at.dt.strftime("%d.%m.%Y %H:%M:%S")):  # in no view
        found = find(runs.assign(at=written), "label", {"a": "a__*"}, task="regression")
        assert [one.column for one in found.tests] == [None]
        assert found.choice.column is None
    newest_first = runs.assign(at=written[::-1].to_numpy())
    found = find(newest_first, "label", {"a": "a__*"}, task="regression")
    assert (found.choice, found.backward) == (None, "at")
    (line,) = found.lines()
    assert "but the last rows are the oldest by at" in line
    assert line.endswith("time='at' scores each fold by models of the rows that are earlier")
    mixed = runs.assign(at=written).sample(frac=1.0, random_state=0)
    lines = find(mixed, "label", {"a": "a__*"}, task="regression").lines()
    assert any("'at' is a date, and compare has random folds" in line for line in lines)
    kept = table.assign(day=np.arange(1500) // 3)  # in no view, and no groups
    found = find(kept, "label", {"a": "a__*", "b": "b__*"})
    assert [one.column for one in found.tests] == [None]


@pytest.mark.filterwarnings("ignore:all 400 rows")
def test_folds_in_order_are_learned_in_their_order_as_train_does():
    table, models = make_change(), ["pa:concatenated", "linear", "arow", "logistic-regression"]
    given = {"grid": ONE, "cv": 2, "budget": None, "scoring": "roc_auc"}
    answer = compare(table, "y", models=models, in_order=True, **given)
    assert answer.row("pa:concatenated").scores[-1] > 0.9
    assert answer.row("logistic-regression").scores[-1] < 0.1
    tuned = compare(table, "y", models=models[:1], in_order=True, **given | {"grid": None})
    assert tuned.rows[0].setting == tuned.rows[0].chosen[-1]
    members = {"members": ["pa:concatenated weight=1", "logistic-regression weight=0"]}
    later = table.tail(200)
    for in_order, least, most in ((True, 0.9, 1.0), (None, 0.0, 0.1)):
        given = {"settings": members, "in_order": in_order}
        trained = train(table.head(400), "y", model="ensemble", **given)
        scores = np.asarray(predict(trained.fitted, later)["score"])
        assert least <= roc_auc_score(later["y"] == "yes", scores) <= most
    trained = train(table, "y", model="ensemble", in_order=True)
    names = {name: one.get_params() for name, one, _ in trained.learner.members}
    assert (list(names), names["linear"]["shuffle"]) == (["trees", "linear"], False)


def test_numbers_have_an_order_too():
    table = make_order()
    table["label"] = np.sin(2.0 * table["a__level"]) + 0.3 * table["b__noise"]
    assert find(table, "label", task="regression").choice.column is None
    shuffled = table.sample(frac=1.0, random_state=0)
    assert not find(shuffled, "label", task="regression", always=True).choice
    assert find(table.sort_values("label"), "label", task="regression").sorted_by_label
    table["label"] = shuffled["label"].clip(0.0).to_numpy()  # many rows are 0, and come last
    table = pd.concat([table[table["label"] > 0.0], table[table["label"] == 0.0]])
    assert find(table, "label", task="regression").sorted_by_label


def test_rows_sorted_by_label_have_no_order_to_test():
    table = make_order().sort_values("label", kind="stable")
    answer = small(table, "label", models=["view:a", "pa:concatenated"])
    assert not answer.in_order
    assert answer.split_lines == find(table, "label").lines()
    assert answer.warnings[0].startswith("the rows are sorted by label: ")


def test_rows_nearly_sorted_by_label_have_none_either_without_a_time():
    rng = np.random.default_rng(0)
    n = 1200
    positive = rng.random(n) < np.where(np.arange(n) < 600, 0.05, 0.85)
    label = np.where(positive, "yes", "no")
    table = pd.DataFrame({"a__x": rng.normal(size=n), "b__z": rng.normal(size=n), "label": label})
    assert find(table, "label").sorted_by_label
    timed = find(table.assign(a__time=np.arange(n)), "label")
    assert (timed.sorted_by_label, timed.order_alarm) == (False, True)
    table["label"] = np.where(rng.random(n) < np.linspace(0.3, 0.7, n), "yes", "no")
    assert not find(table, "label").sorted_by_label


def test_a_date_that_decides_nothing_is_named():
    table = make_order().sample(frac=1.0, random_state=0)
    assert find(table, "label").lines() == []
    table["a__day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(table.index, "D")
    [line] = find(table, "label").lines()
    assert line.startswith(
        "'a__day' is a date, and compare has random folds: time='a__day' scores each"
    )
    assert find(table.sort_values("label"), "label").sorted_by_label


def test_rows_that_come_twice_are_named_unless_by_chance():
    table = make_order(400).sample(frac=1.0, random_state=0)
    assert find(table, "label").copies == 0
    twice = pd.concat([table, table[:40]])
    assert find(twice, "label").copies == 40
    assert find(twice, "label").lines()[0].startswith("40 rows are equal to an earlier one, with")
    rng = np.random.default_rng(0)
    few = pd.DataFrame({f"a__{j}": rng.integers(3, size=400).astype(str) for j in range(3)})
    assert find(few.assign(label=rng.integers(2, size=400)), "label").copies == 0


def test_the_number_of_the_row_is_no_sign_of_an_order():
    table = make_order().sample(frac=1.0, random_state=0)
    table["a__number"] = np.arange(len(table))
    assert not find(table, "label").order_alarm


def test_columns_that_may_be_groups():
    rng = np.random.default_rng(0)
    table = make_users(60, of_user=False)
    n = len(table)
    table["few"] = rng.integers(0, 10, n).astype(str)
    table["one_each"] = [f"r{i}" for i in range(n)]
    table["large"] = np.where(rng.random(n) < 0.5, 0, rng.integers(0, 50, n))
    table["missing"] = [None if i == 3 else f"m{i % 40}" for i in range(n)]
    table["ratio"] = rng.integers(0, 40, n) / 7.0
    table["shop"] = rng.integers(0, 40, n)
    table["visit__city"] = [f"c{i}" for i in rng.integers(0, 40, n)]  # recurs in new rows
    found = find(table, "bought", VIEWS)
    assert [test.column for test in found.tests] == (names := ["user_id", "shop", "missing"])
    out = find(table, "bought", VIEWS, deadline=0.0)
    assert (out.tests, out.out_of_time) == ([], names)
    assert out.lines()[0].startswith(
        f"no time to test whether rows are alike by {', '.join(names)}"
    )


def test_an_id_that_some_rows_lack_makes_groups():
    """Of numbers, pandas makes floats then; a row without a group stands alone."""
    table = make_users()
    table["user_id"] = pd.factorize(table["user_id"])[0]
    table.loc[::40, "user_id"] = None
    assert table["user_id"].dtype == float
    answer = small(table, "bought", views=VIEWS)
    by_hand = small(table, "bought", views=VIEWS, groups="user_id")
    assert answer.groups == by_hand.groups == "user_id"
    assert [row.scores for row in answer.rows] == [row.scores for row in by_hand.rows]
    said = f"{table['user_id'].isna().sum()} rows without a group stand alone"
    assert said in answer.notes
    assert said in by_hand.notes


def test_an_identifier_of_several_rows_is_named_where_no_test_decides(monkeypatch):
    few = make_users(30)
    few["visit__number"] = few.groupby("user_id").cumcount()
    few["visit__id"] = [f"v{i}" for i in range(len(few))]  # one row each
    answer = small(few, "bought", views=VIEWS)
    (line,) = answer.split_lines
    assert answer.groups is None
    assert line.startswith("user_id: 240 rows have 30 values, and ")
    assert line.endswith("give groups='user_id'")
    assert line in describe(few, "bought", views=VIEWS).warnings
    table = make_users(50)
    assert find(table, "bought", VIEWS).choice.column == "user_id"
    monkeypatch.setattr(neighbors, "LEVEL", 0.0)  # no test is sure
    (line,) = find(table, "bought", VIEWS).lines()
    assert line.startswith("user_id: random folds say ")
    assert "may be chance; if new rows" in line
    assert find(table.rename(columns={"user_id": "shop"}), "bought", VIEWS).lines() == []


def make_alike(seed=0, permuted=False):
    """Five rows of each of 40 patients, who have one label and look like themselves."""
    rng = np.random.default_rng(seed)
    of, n = np.repeat(np.arange(40), 5), 200
    y = rng.permutation(np.arange(40) % 2)[of]
    columns = {f"p{i}": rng.normal(size=40)[of] + 0.1 * rng.normal(size=n) for i in range(4)}
    columns["ward"] = [f"w{i}" for i in rng.integers(0, 25, n)]
    columns["dose"] = rng.integers(0, 30, n)
    columns["colour"] = 1000 + rng.permutation(40)[of]
    y = rng.permutation(y) if permuted else y
    return pd.DataFrame(columns | {"y": np.where(y, "case", "control")})


@pytest.mark.parametrize("kind", [int, str, "category"])
def test_values_with_one_label_each_are_named_whatever_their_column_is_called(kind):
    table = make_alike().astype({"colour": kind})
    (line,) = find(table, "y").lines()
    assert line.startswith("colour: 40 of 40 values with several rows have one label each, ")
    assert line.endswith("if new rows have other values of it, give groups='colour'")
    assert line in describe(table, "y").warnings
    of = table["colour"].astype(int)
    numbers = table.assign(y=np.random.default_rng(0).normal(size=2000)[of])
    (line,) = find(numbers, "y", task="regression").lines()
    assert line.startswith("colour: 40 of 40 values")
    # more rows, of which only columns in no view are tested
    more = pd.concat([make_alike(), make_alike(1).assign(colour=of + 100)]).sample(
        frac=1.0, random_state=0
    )
    (line,) = find(more.astype({"colour": kind}), "y").lines()
    assert line.startswith("colour: 80 of 80 values")


def test_values_have_one_label_each_by_chance_or_as_the_label_follows_them():
    for seed in range(20):
        assert find(make_alike(seed, permuted=True), "y").lines() == []
    z = np.random.default_rng(0).normal(size=200)
    table = pd.DataFrame({"psa": (50 + 8 * z).round().astype(int), "y": np.where(z > 0, "a", "b")})
    assert find(table.assign(other=z), "y").lines() == []


@pytest.mark.filterwarnings(f"ignore::{LeakWarning.__module__}.LeakWarning")
def test_names_of_groups():
    names = ["nr", "Patid", "subj", "case", "family", "Litter", "caseid", "subject_nr", "a__pid"]
    names += ["Patienten-Nr.", "Patientennummer", "Pat.-Nr.", "Nr.", "pat_no", "USUBJID", "Proband"]
    names += ["Fallnummer", "患者编号", "mouse", "Tiernummer", "fall_nr"]
    assert all(map(is_group_name, [*names, "user_name", "patientNr", "x__child.id"]))
    others = ["age", "year", "no", "number", "grid", "paid", "showcase", "price", "state", "city"]
    others += ["zip", "postcode", "sponsor_code", "key", "tier", "fall", "piano", "casino"]
    assert not any(map(is_group_name, others))


def test_names_and_numbers_of_times():
    names = ["date", "invoiceDate", "b__year", "sample.yr", "eventtime", "t", "week 3", "timeOfDay"]
    assert all(neighbors._is_time(one, None) for one in [*names, "a__days", "dates", "year2"])
    others = [
        "candidate",
        "sentiment",
        "second",
        "weekly_sales",
        "holiday",
        "state",
        "age",
        "daily",
    ]
    assert not any(neighbors._is_time(one, np.arange(5.0)) for one in others)
    seconds = 1.7e9 + 3600.0 * np.arange(5)
    for numbers in (seconds, seconds // 1e6 + 300.0, 20250101.0 + np.arange(5)):
        assert neighbors._is_time("x", numbers)
        assert not neighbors._is_time("customer_id", numbers)
        assert not neighbors._is_time("x", numbers + 0.5)


def test_folds_that_cannot_be_made_are_random():
    table = make_users()
    table.loc[table["user_id"] == "u3", "bought"] = "perhaps"  # a class of one user
    answer = small(table, "bought", views=VIEWS)
    assert answer.groups is None
    assert "but the folds are random: class 'perhaps' is missing" in answer.warnings[0]


@pytest.mark.parametrize("said", [{"groups": "user_id"}, {"in_order": True}, {"time": "day"}])
def test_random_folds_contradict_other_folds(said):
    (name,) = said
    with pytest.raises(InputError, match=f"random_folds= and {name}= contradict each other"):
        small(make_users(), "bought", views=VIEWS, random_folds=True, **said)
    with pytest.raises(InputError, match="random_folds= is for a comparison by folds"):
        compare(make_users(), "bought", views=VIEWS, random_folds=True, progressive=True)


def test_changes_of_labels_are_counted_in_standard_deviations():
    y = np.random.default_rng(0).integers(0, 2, 2000)
    order = LabelOrder(np.array([0, 1]))
    order.update(y)
    # with two classes it is the correlation with the next label
    assert order.deviations == pytest.approx(serial_correlation(y) * np.sqrt(len(y)), abs=0.1)
    order.update(np.sort(y))
    assert order.deviations > 20.0


def test_numbers_that_are_text_are_no_groups():
    ids = np.repeat(np.arange(30), 4)
    forms = {"plot": "A{}", "code": "0{}", "share": "{}.5%", "price": "€ {}.50"}
    table = pa.table({name: [form.format(k) for k in ids] for name, form in forms.items()})
    assert set(neighbors.group_columns(table, list(forms), most=len(forms))) == {"plot", "code"}
