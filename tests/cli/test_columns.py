"""Options of compare and train about columns: what is counted, in which order, with what weight."""

import shlex

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from sklearn.model_selection import StratifiedKFold

import crossview
from crossview import Checkpoint, Scoring, ViewEncoder
from crossview.catalog.learners import find_learner
from crossview.cli import main
from crossview.cli.words import Options
from crossview.comparing.folds.parts import drop_empty_columns
from crossview.errors import argument, spell_arguments
from crossview.saving.model_header import read_tables

# columns without a view, of which each test names other ones
pytestmark = pytest.mark.filterwarnings("ignore:not used:crossview.UnusedColumnsWarning")


def run(capsys, *words):
    """Exit status, and the lines of stdout and stderr."""
    status = main([str(word) for word in words])
    captured = capsys.readouterr()
    return status, captured.out.splitlines(), captured.err.splitlines()


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table of texts, times and weights; its file is rows.parquet."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    words = rng.choice(["good", "bad", "not", "film", "book"], (120, 4))
    is_good = (words == "good").sum(1) + rng.normal(size=120) > 0.8
    table = pa.table(
        {
            "t__words": [" ".join(row) for row in words],
            "n__x": rng.normal(size=120) + is_good,
            "day": rng.permutation(120) // 3,
            "times": rng.integers(0, 3, 120),
            "y": np.where(is_good, "yes", "no"),
        }
    )
    pyarrow.parquet.write_table(table, "rows.parquet")
    return table


def test_names_with_commas_are_in_double_quotes_in_every_list(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = ["a,b", "c=d", 'e"f', "it's, all", "g h"]
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, 3, 60) for name in names}
    columns["g h"] = columns["it's, all"] == 1
    table = pa.table({**columns, "y": np.where(columns["g h"], "yes", "no")})
    pyarrow.parquet.write_table(table, "rows.parquet")
    views = ["--view", 'v="a,b",g h', "--view", """w="c=d",e"f,"it's, all\""""]
    train = ["train", "rows.parquet", "--label", "y", "-o", "m.st", "--model", "pa:squared"]
    status, _, err = run(capsys, *train, *views, "--categorical", '"a,b","c=d"', "--no-progress")
    assert status == 0
    assert read_tables("m.st").columns == {"v": ["a,b", "g h"], "w": ["c=d", 'e"f', "it's, all"]}
    # what a warning says can be copied
    line = next(line for line in err if "--ignore" in line and "it's" in line)
    ignore = shlex.split(line.partition("--ignore ")[2])[0]
    status, *_ = run(capsys, *train, "--ignore", ignore, "--ignore", '"c=d","a,b"')
    assert status == 0
    assert read_tables("m.st").columns == {"all": ['e"f', "g h"]}


def test_messages_name_arguments_by_options_and_data_as_they_are(table, tmp_path, capsys):
    lists = {"ignore": ("--ignore", "--ignore", True), "views": ("--view", "--view", True)}
    spell_arguments(Options({**lists, "cost": ("--cost", "--cost", False)}))
    try:
        assert argument(in_order=True) == "--in-order"  # of compare, which describe speaks of
        assert argument(groups="the user") == "--groups 'the user'"
        assert argument(ignore='C:\\x,"') == """--ignore '"C:\\x,\"\"\"'"""
        assert argument(views={"a": "a_*", "b": "b_*"}) == "--view a='a_*' --view b='b_*'"
        assert argument(cost={"fp": 1, "fn": 2}) == "--cost fp=1,fn=2"
        assert (argument("ignore"), argument(C=1)) == ("--ignore", "C=1")
        assert argument(budget=None) == "--thorough"
    finally:
        spell_arguments(None)
    (tmp_path / "date=2024").mkdir()
    (tmp_path / "date=2024" / "rows.csv").write_text("a,y\n1,2\n1,2,3\n")
    status, _, err = run(capsys, "describe", "date=2024/rows.csv", "--label", "y")
    assert (status, err[0][:43]) == (2, "crossview: error: date=2024/rows.csv, row 1")
    assert argument(cv=1) == "cv=1"  # the command has ended


def test_ngrams_and_tf_idf_are_used_and_carried_on(table, capsys):
    given = ["--label", "y", "--text", "t__words"]
    for model, words in (
        ("pa:concatenated", "--text t__words --ngrams 2 --no-tf-idf --model"),
        (
            "baseline:gradient-boosting",
            'ViewEncoder(text=["t__words"], ngram_range=(1, 2), tf_idf=False)',
        ),
    ):
        more = ["--model", model, "--cv", "2", "--ngrams", "2", "--no-tf-idf", *given]
        status, out, _ = run(capsys, "compare", "rows.parquet", *more)
        assert status == 0
        assert words in " ".join(out).replace("'", '"')
    given = {"model": "pa:concatenated"}
    encoder = ViewEncoder(text=["t__words"], ngram_range=(1, 2))
    trained = crossview.train(table, "y", **given, encoder=encoder, output="m.st")
    assert trained.fitted[0].ngram_range == (1, 2)
    assert "t__words:film film" in " ".join(run(capsys, "inspect", "m.st")[1])
    goes_on = crossview.train(table, init="m.st").fitted[0]
    assert (tuple(goes_on.ngram_range), goes_on.tf_idf) == ((1, 2), True)
    assert goes_on.get_state()["texts"].tolist() == [240]
    views = crossview.MultiView({"a": np.eye(4), "b": np.eye(4)})
    with pytest.raises(crossview.InputError, match="encoded already; leave ngram_range= out"):
        crossview.train(views, [0, 1, 0, 1], encoder=ViewEncoder(ngram_range=(1, 2)))


def test_the_rows_are_taken_in_the_order_of_a_column(table, capsys):
    order = np.argsort(table["times"].to_numpy(), kind="stable")
    in_order = table.take(order).drop_columns(["times"])
    given = {"encoder": ViewEncoder(text=["t__words"], hash_bits=8)}
    kept = given | {
        "model": "pa:concatenated",
        "checkpoint": Checkpoint("c.st", every=0.0, resume=True),
    }
    small = crossview.open_table(table, batch_rows=50)
    by_time = crossview.train(small, "y", time="times", **kept)
    sorted_before = crossview.train(in_order, "y", in_order=True, **kept)
    np.testing.assert_array_equal(by_time.learner.coef_, sorted_before.learner.coef_)
    assert by_time.fitted[0].view_columns() == {"t": ["t__words"], "n": ["n__x"]}
    crossview.save(by_time, "time.st")
    for start in (by_time, "time.st"):  # the second run knows the column
        more = crossview.train(table, init=start)
        assert more.order == "in the order of 'times'"
        by_hand = crossview.train(in_order, "y", init=sorted_before)
        np.testing.assert_array_equal(more.learner.coef_, by_hand.learner.coef_)
    assert crossview.train(table, init=more, in_order=False).order == "shuffled"
    assert crossview.train(table, init=more, in_order=True).order == "in order"
    with pytest.warns(crossview.GuessWarning, match="no column 'times', in whose order the model"):
        assert crossview.train(in_order, init=more).info["time"] == "times"
    for mode in ({"cv": 3}, {"progressive": True}):
        one = {"models": ["pa:concatenated"], "curve": False, **given, **mode}
        a = crossview.compare(table, "y", time="times", **one)
        b = crossview.compare(in_order, "y", in_order="cv" in mode, **one)
        assert a.best.value == b.best.value
        assert a.best.scores == b.best.scores
    words = ["--label", "y", "--model", "view:n", "--cv", "3", "--time", "times"]
    _, out, err = run(capsys, "compare", "rows.parquet", *words, "--json", "c.json")
    assert "--time times" in out[-1]
    assert "--in-order" not in out[-1]
    assert not any("times" in line for line in err)
    assert run(capsys, "compare", "c.json")[1][-1] == out[-1]


def test_a_column_of_times_that_is_none_is_one_line(table, capsys, monkeypatch):
    nan = table.set_column(3, "times", pa.array([1.0] * 7 + [np.nan] + [2.0] * 112))
    pyarrow.parquet.write_table(nan, "nan.parquet")
    train = ["--label", "y", "-o", "m.st", "--time"]
    for words, message in (
        (["rows.parquet", *train, "tims"], "no column 'tims'; did you mean 'times'?"),
        (["nan.parquet", *train, "times"], "nan.parquet, row 7, column 'times': the time is missi"),
        (["rows.parquet", *train, "t__words"], "'t__words': holds text that is not a date in ev"),
        (["rows.parquet", *train, "times", "--shuffle"], "--time times is an order; leave"),
    ):
        status, _, err = run(capsys, "train", *words)
        assert status == 2
        assert message in err[-1]
    monkeypatch.setattr("crossview.data.shuffle.MAX_BYTES", 100)
    err = run(capsys, "train", "rows.parquet", *train, "times")[2]
    assert "sorted by --time in memory; give a query with ORDER BY instead" in err[-1]
    # from the numbers of rows and the types of columns, before a row is read
    err = run(capsys, "train", "nan.parquet", *train, "times")[2]
    assert "nan.parquet: the rows take more than" in err[-1]
    views = crossview.MultiView({"a": np.eye(4), "b": np.eye(4)})
    with pytest.raises(crossview.InputError, match="X is a MultiView and has no column 'day'"):
        crossview.train(views, [0, 1, 0, 1], time="day")
    with pytest.raises(crossview.InputError, match="by groups or in the order of time"):
        crossview.compare(table, "y", time="times", groups="day")


def test_rows_are_learned_with_their_weights(table, capsys):
    rng = np.random.default_rng(1)
    weight = np.where(rng.random(120) < 0.3, 0.0, rng.integers(1, 4, 120) / 2)
    rows = table.append_column("n__w", pa.array(weight))
    kept = {"checkpoint": Checkpoint("c.st", every=0.0, resume=True)}
    for name, in_order in (("pa:squared", True), ("arow", False), ("stacking", False)):
        given = {
            "encoder": ViewEncoder(text=["t__words"], hash_bits=8),
            "model": name,
            "in_order": in_order,
        }
        given["scoring"] = "accuracy"
        named = crossview.train(
            crossview.open_table(rows, batch_rows=50), "y", weight="n__w", **given, **kept
        )
        array = crossview.train(table, "y", weight=weight, **given)
        assert named.fitted[0].view_columns()["n"] == ["n__x"]
        for state in ("coef_", "intercept_"):
            if name != "stacking":
                a, b = (getattr(one.learner, state) for one in (named, array))
                np.testing.assert_array_equal(a, b)
        pandas = table.to_pandas()
        np.testing.assert_array_equal(
            named.fitted.predict_proba(pandas), array.fitted.predict_proba(pandas)
        )
    encoder = crossview.ViewEncoder(text=["t__words"], hash_bits=8)
    X = encoder.partial_fit_transform(table.drop_columns(["y"]))
    by_hand = crossview.MultiViewPAClassifier(coupling="squared", random_state=0)
    by_hand.partial_fit(X, table["y"].to_pylist(), ["no", "yes"], weight)
    given |= {"model": "pa:squared", "in_order": True}
    trained = crossview.train(table, "y", weight=weight, **given)
    np.testing.assert_array_equal(trained.learner.coef_, by_hand.coef_)


def test_a_comparison_by_folds_learns_with_the_weights(table, capsys):
    rng = np.random.default_rng(1)
    weight = np.where(rng.random(120) < 0.3, 0.0, rng.integers(1, 4, 120) / 2)
    views = crossview.ViewEncoder(text=["t__words"], hash_bits=8).fit_transform(
        table.drop_columns(["y"])
    )
    y = table["y"].to_numpy(zero_copy_only=False)
    names = ["pa:concatenated", "logistic-regression", "late-fusion"]
    names += ["baseline:sklearn.neighbors:KNeighborsClassifier"]
    given = {
        "models": names,
        "cv": 2,
        "curve": False,
        "budget": None,
        "encoder": ViewEncoder(scale_views=False),
    }
    given |= {"scoring": Scoring("accuracy", threshold=None)}
    grid = {"C": [0.1], "average": [], "epochs": [], "bins": []}
    answer = crossview.compare(views, y, weight=weight, grid=grid, **given)
    same = crossview.compare(views, y, weight=np.full(120, 1.0), grid=grid, **given)
    without = crossview.compare(views, y, grid=grid, **given)
    assert [row.scores for row in same.rows] == [row.scores for row in without.rows]
    ((name, why),) = [(one.model, one.what) for one in answer.left_out]
    assert name.endswith("KNeighborsClassifier")
    assert "KNeighborsClassifier takes no weights" in why
    folds = StratifiedKFold(2, shuffle=True, random_state=0).split(y, y)
    for f, (train, test) in enumerate(folds):
        X, _ = drop_empty_columns([views[train], views[test]], views[train])
        for name in names[:3]:
            entry = find_learner(name, "classification", ["a"])
            made = {"random_state": 0} if entry.random else {}
            fitted = entry.make(C=0.1, **made).fit(X[0], y[train], weight[train])
            right = (fitted.decide(fitted.decision_function(X[1])) == y[test]).mean()
            assert answer.row(name).scores[f] == right


def test_weights_that_have_no_effect_are_said(table, capsys):
    said = "warning: weights of rows do not change what is learned by {}, but for rows of weight 0"
    words = ["rows.parquet", "--label", "y", "--ignore", "t__words", "--weight", "day"]
    for model, ignored in (
        (["cw"], "cw"),
        (["pa:squared", "--set", "variant=PA"], "pa:squared"),
        (["pa:squared"], None),
    ):
        given = [*words, "--model", *model, "-o", "m.st"]
        _, _, err = run(capsys, "train", *given)
        found = [line for line in err if "do not change what" in line]
        assert len(found) == (ignored is not None)
        assert all(said.format(ignored) in line for line in found)
    models = ["--model", "cw", "--model", "scw"]
    for mode in (["--cv", "2"], ["--progressive", "--in-order"]):
        _, out, err = run(capsys, "compare", *words, *models, *mode)
        assert sum(said.format("cw") in line for line in [*out, *err]) == 1


def test_encoder_and_metrics_count_rows_once_and_probabilities_by_weight():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    y = np.where(x + rng.normal(size=300) > 0, "yes", "no")
    plain = pa.table({"a__x": x, "b__x": rng.normal(size=300), "y": y})
    rows = plain.append_column("w", pa.array(rng.choice([0.0, 0.5, 3.0], 300)))
    weighed = crossview.train(rows, "y", weight="w", model="arow", in_order=True)
    alike = crossview.train(plain, "y", model="arow", in_order=True)
    assert weighed.rows == 300
    for name, one in weighed.encoder.get_state().items():
        np.testing.assert_array_equal(one, alike.encoder.get_state()[name])
    rows = rows.filter(pa.array(rows["w"].to_numpy() > 0))
    how = {"model": "cw", "in_order": True, "scoring": crossview.Scoring(metric="roc_auc")}
    weighed = crossview.train(rows, "y", weight="w", **how)
    alike = crossview.train(rows.drop_columns(["w"]), "y", **how)
    np.testing.assert_array_equal(weighed.learner.coef_, alike.learner.coef_)
    assert weighed.metric == alike.metric
    p = [one.fitted.predict_proba(rows) for one in (weighed, alike)]
    assert np.abs(p[0] - p[1]).max() > 1e-6
    [line] = [one for one in weighed.warnings if "do not change what is learned" in one]
    assert "probabilities do count them, and metrics and thresholds each row once" in line


def test_times_and_weights_are_described_and_large_weights_warned_of(table, capsys):
    heavy = "n__w: the weights have a mean of 50, which multiplies C and every step of learning; "
    for mean, warned in ((50.0, True), (0.05, True), (5.0, False)):
        rows = table.append_column("n__w", pa.array(np.tile([0.5, 1.5], 60) * mean))
        pyarrow.parquet.write_table(rows, "w.parquet")
        given = ["w.parquet", "--label", "y", "--weight", "n__w"]
        out = run(capsys, "describe", *given, "--time", "times")[1]
        err = run(capsys, "train", *given, "--model", "view:n", "-o", "m.st")[2]
        for lines in (out, err):
            assert any("the weights have a mean" in line for line in lines) == warned
            if mean == 50.0:
                assert any(heavy in line for line in lines)
        views = {one.name: one.view for one in crossview.describe(rows, "y", weight="n__w").columns}
        assert (views["n__x"], views["n__w"]) == ("n", None)
    missing = rows.set_column(3, "times", pa.array([1.0] * 7 + [None] + [2.0] * 112))
    pyarrow.parquet.write_table(missing, "w.parquet")
    for words, message in (
        (["--time", "times"], "w.parquet, row 7, column 'times': the time is missing"),
        (["--time", "t__words"], "'t__words': holds text that is not a date in every"),
        (["--weight", "t__words"], "'t__words': holds string, and weights are numbers"),
        (["--weight", "n__ww"], "no column 'n__ww'; did you mean 'n__w'?"),
    ):
        status, _, err = run(capsys, "describe", *given[:3], *words)
        assert (status, len(err)) == (2, 1)
        assert message in err[0]


def test_bad_weights_are_one_line(table, capsys):
    for value, what in (
        (-1.0, "-1.0 is no weight; give a number from 0 to 1e+12"),
        (np.inf, "inf is no weight"),
        (None, "the weight is missing; leave the row out, or give a number: a row of weight 0 is"),
    ):
        column = pa.array([1.0] * 7 + [value] + [2.0] * 112)
        pyarrow.parquet.write_table(table.append_column("w", column), "bad.parquet")
        err = run(capsys, "train", "bad.parquet", "--label", "y", "--weight", "w", "-o", "m.st")[2]
        assert f"bad.parquet, row 7, column 'w': {what}" in err[-1]
    words = ["rows.parquet", "--label", "y", "--weight"]
    for more, message in (
        (["wight"], "no column 'wight'"),
        (["t__words"], "column 't__words': holds string, and weights are numbers"),
        (["day", "--model", "svmperf"], "'svmperf' is trained for f1, which takes no weights"),
    ):
        status, _, err = run(capsys, "compare", *words, *more)
        assert status == 2
        assert message in err[-1]
    for mode in (["--cv", "2"], ["--progressive"]):
        _, out, _ = run(capsys, "compare", *words, "day", "--model", "view:n", *mode)
        assert "--weight day" in out[-1]
    views, y = crossview.MultiView({"a": np.eye(4), "b": np.eye(4)}), [0, 1, 0, 1]
    for weight, message in (
        ("day", "X is a MultiView and has no column 'day'; give weight= as an array"),
        ([1.0, 2.0], "2 weights for"),
        ([1.0, -2.0, 1.0, 1.0], "row 1: -2.0 is no weight"),
    ):
        with pytest.raises(crossview.InputError, match=message):
            crossview.train(views, y, weight=weight)
    with pytest.raises(crossview.InputError, match="119 weights for a table"):
        crossview.train(table, "y", weight=np.ones(119))
    lists = table.append_column("n__list", pa.array([[1.0]] * 120))
    for function, option, what in (
        (crossview.train, "weight", "weights are numbers"),
        (crossview.train, "time", "times are timestamps, dates or numbers"),
        (crossview.compare, "groups", "groups are text, numbers or dates"),
    ):
        with pytest.raises(crossview.InputError, match=f"'n__list': holds list<.*, and {what}"):
            function(lists, "y", **{option: "n__list"})


def test_what_is_read_as_text_can_be_copied(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    words = np.array(["good", "bad", "room", "staff", "noise", "food", "more", "never", "again"])
    texts = [" ".join(rng.choice(words, 3 + i % 9)) for i in range(200)]
    rows = {"Any, comments?": texts, "x": range(200), "y": ["yes", "no"] * 100}
    pyarrow.parquet.write_table(pa.table(rows), "t.parquet")
    given = ["describe", "t.parquet", "--label", "y"]
    out = run(capsys, *given)[1]
    (line,) = [line for line in out if line.startswith("read as text")]
    assert line.endswith("""as categories: --categorical '"Any, comments?"'""")
    (line,) = [line for line in out if line.startswith("views: ")]
    views = shlex.split(line.removeprefix("views: ").partition(";")[0])
    options = [word for view in views for word in ("--view", view)]
    assert run(capsys, *given, *options)[0] == 0


def test_dates_leaks_and_columns_to_ignore(table, capsys):
    """What was recognized, guessed and found is a line each; options change it, and are kept."""
    days = [f"{1 + i % 12:02}/{1 + i % 9:02}/2025" for i in range(120)]
    paid = pa.array(days, mask=np.array(table["y"].to_pylist()) == "no")
    more = table.append_column("n__day", pa.array(days)).append_column("n__paid", paid)
    pyarrow.parquet.write_table(more, "dates.parquet")
    given = ["dates.parquet", "--label", "y", "--text", "t__words"]
    # 1. train
    train = ["train", *given, "--model", "pa:concatenated", "-o", "m.st"]
    status, _, lines = run(capsys, *train)
    assert status == 0
    assert lines[0] == "crossview: read as dates: n__day (%m/%d/%Y), n__paid (%m/%d/%Y)"
    assert lines[1].endswith("%d/%m/%Y fits as well: --date n__day=%d/%m/%Y")
    (leak,) = [line for line in lines if "label is" in line]
    assert leak.startswith("crossview: warning: n__paid: is filled in exactly the ")
    assert leak.endswith("known after the label, leave it out: --ignore n__paid")
    options = ["--ignore", "n__paid", "--date", "n=n__day=%d/%m/%Y", "--view", "t=t__*,n__paid"]
    status, _, lines = run(capsys, *train, *options, "--view", "n=n__x")
    assert status == 0
    assert not any("dates" in line or "label is" in line for line in lines)
    encoder = crossview.load("m.st")[0]
    assert encoder.view_columns() == {"t": ["t__words"], "n": ["n__x", "n__day"]}
    # 2. compare, and what it prints
    compare = ["compare", *given, "--cv", "2", "--model", "baseline:gradient-boosting"]
    status, out, _ = run(capsys, *compare, "--json", "c.json")
    (found,) = [line for line in out if line.startswith("warning")]
    assert found.startswith("warning: n__paid: is filled in exactly the ")
    assert found in run(capsys, "compare", "c.json")[1]
    status, out, _ = run(capsys, *compare, *options, "--view", "n=n__x", "--time", "day")
    assert not any(line.startswith("warning") for line in out)
    program = "\n".join(out[out.index(next(line for line in out if "import" in line)) :])
    assert "drop_columns(['y', 'n__paid', 'day'])" in program
    names: dict = {}
    exec(program, names)
    assert len(names["model"].predict(names["X"])) == 120
    # 3. no option is ignored
    for option, value, words in (
        ("--ignore", "nothing*", "no column 'nothing*'"),
        ("--date", "n__day=%d/%q", "has '%q'"),
        ("--date", "n__da", "which is in no view"),
        ("--time", "n__day", "may be %m/%d/%Y or %d/%m/%Y"),
    ):
        status, _, lines = run(capsys, *train, option, value)
        assert status == 2
        assert words in lines[-1]
    assert run(capsys, *train, "--time", "n__day", "--date", "n__day=%m/%d/%Y")[0] == 0
