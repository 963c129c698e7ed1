"""Training that goes on from a model: as one run over the rows of both."""

import copy
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from crossview import (
    Checkpoint,
    InputError,
    LearnedRowsWarning,
    MultiView,
    Scoring,
    UnusedColumnsWarning,
    ViewEncoder,
    evaluate,
    load,
    predict,
    save,
    train,
)
from crossview.cli import main
from crossview.saving.files import alone
from training_runs import COLUMNS, KINDS, contents, make_table

# rows that the first part has; the second one has new categories and words
CUT = 1200


@pytest.fixture(scope="module")
def table():
    rows = make_table(2600).drop_columns(["number"])
    color = np.array(rows["c__color"].to_pylist(), dtype=object)
    color[CUT + 50 :: 7] = "violet"
    place = rows.column_names.index("c__color")
    return rows.set_column(place, "c__color", pa.array(color))


def in_two(X, y, given, folder):
    """The model of one run, and that of two runs."""
    whole, first, second = (str(folder / f"{name}.st") for name in ("whole", "first", "second"))
    options = {"in_order": True, **given}
    train(X, y, **options, output=whole)
    train(X.slice(0, CUT), y, **options, output=first)
    more = train(X.slice(CUT), init=first, in_order=True, output=second)
    return whole, second, more


@pytest.mark.parametrize(
    ("model", "options"), [kind for kind in KINDS if kind[1].get("epochs", 1) == 1]
)
def test_two_runs_are_one_run_over_both(model, options, table, tmp_path):
    if options.get("task") == "regression":
        table, y = make_table(2600).drop_columns(["y"]), "number"
    else:
        y = "y"
        if model != "keco":
            table = table.filter(table["y"].is_valid())
    whole, second, more = in_two(table, y, {"model": model, **COLUMNS, **options}, tmp_path)
    assert contents(second) == contents(whole)
    assert 0 < more.earlier < more.rows


def test_rows_without_a_label_are_counted_in_both(table, tmp_path):
    given = {"model": "keco", "settings": {"schedule": "stream"}, **COLUMNS}
    _, _, more = in_two(table, "y", given, tmp_path)
    assert more.rows + more.unlabeled == len(table)


def test_a_model_of_rows_in_order_goes_on_in_order_unless_another_one_is_asked_for(table):
    rows = table.filter(table["y"].is_valid())
    first = {
        order: train(rows.slice(0, CUT), "y", model="pa:squared", in_order=order, **COLUMNS)
        for order in (True, False)
    }
    found = {
        (before, now): train(rows.slice(CUT), init=first[before], in_order=now)
        for before in (True, False)
        for now in (None, True, False)
    }
    assert {given: one.order for given, one in found.items()} == {
        (before, now): "in order" if now or (now is None and before) else "shuffled"
        for before, now in found
    }
    assert not any(one.warnings for one in found.values())
    whole = train(rows, "y", model="pa:squared", in_order=True, **COLUMNS)
    np.testing.assert_array_equal(found[True, None].learner.coef_, whole.learner.coef_)


def test_what_train_returned_is_gone_on_from_and_stays_as_it_was(table):
    rows = table.filter(table["y"].is_valid())
    first = train(rows.slice(0, CUT), "y", model="pa:squared", **COLUMNS)
    coef = first.learner.coef_.copy()
    more = train(rows.slice(CUT), init=first)
    assert more.rows == len(rows)
    np.testing.assert_array_equal(first.learner.coef_, coef)
    assert (more.learner.coef_ != coef).any()
    # a few rows change the shares of the views a little
    few = train(rows.slice(0, 10), init=first)
    assert few.rows_of_view_shares == 1000
    for view, share in first.view_shares.items():
        assert abs(few.view_shares[view] - share) < 0.02
    assert few.reference == first.reference is not None


def test_it_goes_on_in_passes_and_from_a_checkpoint(table, tmp_path):
    rows = table.filter(table["y"].is_valid())
    first = train(rows.slice(0, CUT), "y", model="fm", **COLUMNS, output=tmp_path / "first.st")
    more = train(rows.slice(CUT), init=first, epochs=2, output=tmp_path / "more.st")
    assert (more.rows, more.passes) == (len(rows), 2)
    kept = {"checkpoint": Checkpoint(tmp_path / "kept.st", every=0.0, resume=True)}
    train(rows.slice(CUT), init=tmp_path / "first.st", epochs=2, output=tmp_path / "m.st", **kept)
    assert contents(tmp_path / "m.st") == contents(tmp_path / "more.st")
    with pytest.raises(InputError, match="is the model and its checkpoint; name two files"):
        train(rows, init=tmp_path / "first.st", **kept | {"checkpoint": tmp_path / "first.st"})


def test_views_in_memory_and_sparse_files(tmp_path):
    rng = np.random.default_rng(0)
    views = MultiView({"a": rng.normal(size=(1300, 3)), "b": rng.normal(size=(1300, 2))})
    y = (views["a"][:, 0] > 0).astype(int)
    whole = train(views, y, model="view:a", in_order=True)
    first = train(views[:200], y[:200], model="view:a", in_order=True)
    more = train(views[200:], y[200:], init=first, in_order=True)  # more than the last rows
    assert more.info == whole.info
    np.testing.assert_array_equal(more.learner.coef_, whole.learner.coef_)
    with pytest.raises(InputError, match=r"the rows have the views .*, and the model"):
        train(MultiView({"a": np.ones((4, 2)), "b": np.ones((4, 2))}), [0, 1, 0, 1], init=first)
    with pytest.raises(InputError, match="cannot read tables"):
        train(pa.table({"a__x": [1.0]}), "y", init=first)


def test_what_does_not_fit_is_one_line(table, tmp_path):
    rows = table.filter(table["y"].is_valid())
    first = train(rows.slice(0, 400), "y", model="pa:squared", **COLUMNS, output=tmp_path / "m.st")
    objects = {"bins": "encoder", "metric": "scoring", "threshold": "scoring"}
    for name, value in (
        ("model", "arow"),
        ("settings", {"C": 1.0}),
        ("bins", ViewEncoder(bins=4)),
        ("metric", Scoring("roc_auc")),
        ("threshold", Scoring(threshold=0.3)),
        ("task", "regression"),
        ("classes", np.array(["no", "yes"])),
    ):
        with pytest.raises(InputError, match=f"leave {name}= out; the model of init="):
            train(rows, init=first, **{objects.get(name, name): value})
    with pytest.raises(InputError, match="no column is called 'n__z'"):
        train(rows.drop_columns(["n__z"]), init=first)
    other = pa.array(["yes", "perhaps", *["no"] * (len(rows) - 2)])
    with pytest.raises(InputError, match="row 1, column 'y': label 'perhaps' is not among"):
        train(rows.set_column(rows.column_names.index("y"), "y", other), init=first)
    with pytest.raises(InputError, match="no row is there to learn from"):
        train(rows.slice(0, 0), init=first)
    svm = train(rows.slice(0, 40), "y", model="svmperf", views={"n": "n__*"})
    with pytest.raises(InputError, match="holds no counts to go on from"):
        train(rows, init=svm)
    save(first.fitted, tmp_path / "other.st")
    with pytest.raises(InputError, match=r"other\.st: holds no counts to go on from"):
        train(rows, init=tmp_path / "other.st")
    for info in ({}, first.info | {"rows": "many"}, first.info | {"metric": None}):
        save(first.fitted, tmp_path / "made_up.st", info=info, progress=first.progress)
        with pytest.raises(InputError, match=r"made_up\.st: is a damaged model file"):
            train(rows, init=tmp_path / "made_up.st")
    # the labels of the first rows were an array
    info = first.info | {"label": None}
    save(first.fitted, tmp_path / "array.st", info=info, progress=first.progress)
    with pytest.raises(InputError, match="has no name of a label column; give the labels, or"):
        train(rows, init=tmp_path / "array.st")
    assert train(rows, "y", init=tmp_path / "array.st").earlier == first.rows
    with pytest.raises(InputError, match="no such model file"):
        train(rows, init=tmp_path / "none.st")


def test_by_the_command_in_place_with_the_kinds_of_the_model(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    one = pa.table({"a__zip": ["A1", "B2"] * 20, "b__x": range(40), "y": ["p", "q"] * 20})
    two = pa.table({"a__zip": [17, 18] * 5, "b__x": range(10), "id": range(10)})
    late = pa.table({"id": [8, 1, 3, 2, 7, 6, 4], "y": list("pqqpqpp")})
    for name, table in (("one", one), ("two", two), ("late", late)):
        pa.csv.write_csv(table, f"{name}.csv")
    command = ["train", "one.csv", "--label", "y", "--model", "scw", "--hash-bits", "4"]
    assert main([*command, "-o", "m.st"]) == 0
    more = ["train", "two.csv", "--init", "m.st", "-o", "m.st"]
    assert main([*more, "--source", "late.csv"]) == 0
    err = capsys.readouterr().err
    assert "3 of 10 rows are not in late.csv, and are left out" in err
    assert "47 rows shuffled, 40 of them before, 1 pass" in err
    encoder = load("m.st")[0]
    names = [encoder.feature_name("a", column) for column in range(16)]
    assert {"a__zip=A1", "a__zip=17"} <= set(names)
    for options, message in (
        (["--model", "pa"], "leave --model out; the model of --init has its own"),
        (["--set", "C=1"], "leave --set out; the model of --init"),
        (["--on", "id"], "--on 'id' is for --source; name a table to join"),
    ):
        assert main([*more, *options]) == 2
        assert message in capsys.readouterr().err


def with_counts(first, **changed):
    """What a finished model keeps, with other counts."""
    header, counts = first.progress
    return header, counts | {name.replace("__", "."): value for name, value in changed.items()}


def test_what_is_made_up_is_a_damaged_file(table, tmp_path):
    rows = table.filter(table["y"].is_valid())
    first = train(rows.slice(0, 60), "y", model="pa:squared", **COLUMNS)
    info, path = first.info, tmp_path / "made_up.st"
    finished = first.progress[0]["finished"]
    for change, progress in (
        ({"threshold": 7.0}, first.progress),
        ({"positive": "none such"}, first.progress),
        ({"view_shares": {"n": 1.0}}, first.progress),
        ({"rows_of_view_shares": "many"}, first.progress),
        ({"task": "regression"}, first.progress),
        ({"rows": info["rows"] + 1}, first.progress),
        ({"metric": {"name": "", "value": 0.5}}, first.progress),
        ({"threshold": ...}, first.progress),
        ({}, ({"finished": finished | {"skipped": -1}}, first.progress[1])),
        ({}, ({"finished": finished | {"threshold": []}}, first.progress[1])),
        ({}, with_counts(first, tally__loss=np.empty(0))),
        ({}, with_counts(first, tally__n_rows=np.array([-1]))),
        ({}, with_counts(first, labels___last=np.array([2]))),
        ({}, with_counts(first, last__n_rows=np.empty(0))),
        ({}, with_counts(first, tally__order__cells=np.array([[1 << 15], [1], [0]]))),
        # a threshold that would never have been placed again: an endless loop
        ({}, with_counts(first, threshold___next_position=np.array([1]))),
    ):
        changed = {key: value for key, value in (info | change).items() if value is not ...}
        save(first.fitted, path, info=changed, progress=progress)
        with pytest.raises(InputError, match=r"damaged|the counts") as caught:
            train(rows.slice(60), init=path)
        assert "\n" not in str(caught.value)
    header, counts = first.progress
    of_before = {name: array for name, array in counts.items() if name != "tally.places"}
    save(first.fitted, path, info=info, progress=(header, of_before))
    with pytest.raises(InputError, match=r"init= has counts .*'places'\); train without it"):
        train(rows.slice(60), init=path)


def sparse_lines(n, columns, entry, seed):
    rng = np.random.default_rng(seed)
    weight = np.sin(np.arange(200.0))
    for _ in range(n):
        own = np.sort(rng.choice(columns, 6, replace=False))
        values = rng.normal(size=6).round(3)
        yield " ".join(
            [str(int(weight[own] @ values > 0)), *map(entry, own.tolist(), values.tolist())]
        )


ENTRIES = {"svm": lambda j, x: f"{j}:{x}", "ffm": lambda j, x: f"{j % 2}:{j}:{x}"}


@pytest.mark.parametrize("model", ["stacking", "arow:diagonal", "newton"])
@pytest.mark.parametrize("ending", list(ENTRIES))
def test_columns_of_later_sparse_files_are_learned(ending, model, tmp_path):
    entry, files = ENTRIES[ending], {}
    first = list(sparse_lines(400, np.arange(20, 60), entry, 0))
    # below the lowest index, too, where a field begins there
    low = 10 if ending == "ffm" and model == "newton" else 20
    more = list(sparse_lines(400, np.arange(low, 120), entry, 1))
    for name, lines in {"first": first, "more": more, "both": [*first, *more]}.items():
        files[name] = str(tmp_path / f"{name}.{ending}")
        with open(files[name], "w") as file:
            print(*lines, sep="\n", file=file)
    half, two = str(tmp_path / "half.st"), str(tmp_path / "two.st")
    one = train(files["both"], model=model, in_order=True)
    train(files["first"], model=model, in_order=True, output=half)
    train(files["more"], init=half, in_order=True, output=two)
    scores = []
    for trained in (one, two):
        predict(trained, files["more"], str(tmp_path / "answer.csv"))
        table = pa.csv.read_csv(str(tmp_path / "answer.csv"))
        scores.append(table["score"].to_numpy())
    np.testing.assert_array_equal(*scores)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the views are not as in training
        warnings.simplefilter("error", UnusedColumnsWarning)
        with pytest.raises(UnusedColumnsWarning, match="which the model has not learned"):
            predict(half, files["more"], str(tmp_path / "answer.csv"))


@pytest.mark.parametrize("views", [None, {"n": "n"}])
def test_namespaces_that_a_model_has_not_learned_are_named(views, tmp_path):
    file, more = str(tmp_path / "rows.vw"), str(tmp_path / "more.vw")
    for path, name in ((file, "n"), (more, "z")):
        with open(path, "w") as opened:
            lines = (f"{i % 2} |n a:{2 * (i % 2) - 1} |{name} b:{i % 5}" for i in range(60))
            print(*lines, file=opened, sep="\n")
    trained = train(file, views=views, model="arow")
    for use in (
        lambda: predict(trained, more, str(tmp_path / "answer.csv")),
        lambda: evaluate(trained.fitted, more),
        lambda: train(more, init=trained),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            use()
        named = [str(one.message) for one in caught if one.category is UnusedColumnsWarning]
        assert len(named) == (views is None)
        assert all("have namespace 'z', which the model has not learned" in one for one in named)


def test_columns_beyond_the_ranges_of_a_view_stay_out(tmp_path):
    file, more = str(tmp_path / "rows.svm"), str(tmp_path / "more.svm")
    for path, highest in ((file, 60), (more, 100)):
        with open(path, "w") as opened:
            lines = sparse_lines(300, np.arange(20, highest), ENTRIES["svm"], 0)
            print(*lines, sep="\n", file=opened)
    trained = train(file, views={"some": "20:50"}, model="newton")
    again = train(more, init=trained)
    assert again.learner.layout_ == trained.learner.layout_
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnusedColumnsWarning)
        predict(again, more, str(tmp_path / "answer.csv"))


def test_a_field_that_comes_later_is_said(tmp_path):
    file, more = str(tmp_path / "rows.ffm"), str(tmp_path / "more.ffm")
    for path, n_fields in ((file, 2), (more, 3)):
        with open(path, "w") as opened:
            entry = lambda j, x, n=n_fields: f"{j % n}:{j}:{x}"  # noqa: E731
            print(*sparse_lines(300, np.arange(20, 60), entry, 0), sep="\n", file=opened)
    trained = train(file, model="newton")
    with pytest.warns(UnusedColumnsWarning, match="field 2"):
        train(more, init=trained)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("words", "values"),
    [(["False", "True"], [False, True]), (["0.0", "1.0"], [0, 1]), (["no", "yes"], [False, True])],
)
def test_labels_may_be_written_in_another_way(words, values, reverse, tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 400))
    code = (a + 0.3 * b > 0.0).astype(int)
    files = []
    for name, labels in (("rows.csv", words), ("rows.parquet", values)):
        files.append(str(tmp_path / name))
        table = pa.table({"a": a, "b": b, "y": [labels[one] for one in code]})
        write = pa.csv.write_csv if name.endswith("csv") else pa.parquet.write_table
        write(table, files[-1])
    first, more = files[::-1] if reverse else files
    one = train(first, "y", model="arow", in_order=True)
    two = train(more, init=one, in_order=True)
    assert two.learner.classes_.tolist() == one.learner.classes_.tolist()
    same = train(first, init=one, in_order=True)
    np.testing.assert_array_equal(two.learner.coef_, same.learner.coef_)


def views_of_two(n=200, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    y = np.where(a + 0.3 * rng.normal(size=n) > 0.0, "up", "down")
    return pa.table({"u__a": a, "v__b": rng.choice(list("pqr"), n), "y": y})


def test_a_view_that_is_gone_is_missing_in_each_way_of_learning(tmp_path):
    table = views_of_two()
    rest, file = table.drop_columns(["v__b"]), str(tmp_path / "rest.csv")
    pa.csv.write_csv(rest, file)
    first = train(table, "y", model="arow", in_order=True)
    nulls = table.set_column(1, "v__b", pa.array([None] * len(table), pa.string()))
    expected = train(nulls, init=first, in_order=True)
    for rows in (rest, file):
        with pytest.warns(UserWarning, match="view 'v' is missing"):
            found = train(rows, init=first, in_order=True)
        np.testing.assert_array_equal(found.learner.coef_, expected.learner.coef_)
    X, y = rest.drop_columns(["y"]), np.array(rest["y"].to_pylist())
    by_table, by_row = (copy.deepcopy(first.fitted) for _ in range(2))
    with pytest.warns(UserWarning, match="view 'v' is missing"):
        by_table.partial_fit(X, y)
    for row, label in zip(X.to_pylist(), y.tolist(), strict=True):
        by_row.learn_one(row, label)
    np.testing.assert_array_equal(by_table[-1].coef_, by_row[-1].coef_)


@pytest.mark.filterwarnings("default:view '.' is missing:UserWarning")
def test_a_text_that_is_gone_is_missing_in_all_its_views_by_the_command(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    table = make_table(60).drop_columns(["number", "c__color"])
    place = table.column_names.index("t__words")
    nulls = table.set_column(place, "t__words", pa.nulls(60, pa.string()))
    for name, rows in {
        "all": table,
        "gone": table.drop_columns(["t__words"]),
        "null": nulls,
    }.items():
        pa.csv.write_csv(rows, f"{name}.csv")
    views = ["w=words(t__words)", "s=shape(t__words)", "n=n__*"]
    options = [word for view in views for word in ("--view", view)]
    assert (
        main(["train", "all.csv", "--label", "y", "--model", "arow", *options, "-o", "m.st"]) == 0
    )
    for name in ("gone", "null"):
        assert main(["train", f"{name}.csv", "--init", "m.st", "-o", f"{name}.st"]) == 0
        assert main(["predict", "m.st", f"{name}.csv", "-o", f"{name}-scores.csv"]) == 0
    assert contents("gone.st") == contents("null.st")
    assert contents("gone-scores.csv") == contents("null-scores.csv")
    lines = capsys.readouterr().err.splitlines()
    for view in "ws":
        assert (
            f"crossview: warning: view {view!r} is missing; the rows are learned without it"
            in lines
        )
        assert any(f"view {view!r} is missing in gone.csv; scored" in line for line in lines)


def test_a_new_column_is_said_in_each_way_of_learning():
    table = views_of_two()
    more = table.append_column("u__new", table["u__a"])
    views = {"u": "u__a", "w": "words(v__b)", "s": "shape(v__b)"}
    first = train(table, "y", model="arow", encoder=ViewEncoder(views))
    said = r"no such columns: u__new.* \(there are: [uv]__[ab], [uv]__[ab]\)"
    with pytest.warns(UnusedColumnsWarning, match=said):
        train(more, init=first)
    with pytest.warns(UnusedColumnsWarning, match=said):
        copy.deepcopy(first.fitted).partial_fit(
            more.drop_columns(["y"]), np.array(more["y"].to_pylist())
        )


def test_rows_that_are_learned_again_are_said_and_no_second_run_learns_from_the_same_model(
    tmp_path, capsys
):
    rows, model = make_table(400).drop_columns(["number"]), str(tmp_path / "m.st")
    rows = rows.filter(rows["y"].is_valid())
    pa.parquet.write_table(rows.slice(0, 200), tmp_path / "first.parquet")
    pa.parquet.write_table(rows.slice(200), tmp_path / "second.parquet")
    first, second = str(tmp_path / "first.parquet"), str(tmp_path / "second.parquet")
    train(first, "y", model="pa:squared", output=model)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LearnedRowsWarning)
        assert not train(second, init=model, output=tmp_path / "more.st").warnings
    with pytest.warns(LearnedRowsWarning, match="^100% of the rows are equal to rows that the mod"):
        again = train(first, init=model)
    assert "they count twice now" in again.warnings[-1]
    with alone(model), pytest.raises(InputError, match="another run that has not ended uses this"):
        train(second, init=model, output=model)
    with alone(model):  # the model is only read
        train(second, init=model, output=tmp_path / "other.st")
    assert main(["train", first, "--init", model, "-o", model]) == 0
    assert capsys.readouterr().err.count("they count twice now") == 1
