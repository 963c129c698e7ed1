"""`train` holds out whole groups, by the column that `compare` splits by."""

import shlex

import numpy as np
import pandas as pd
import pytest

from crossview import InputError, MultiView, MultiViewTreesClassifier, ViewEncoder, compare, train
from crossview.cli import main
from crossview.data.labeled_source import open_labeled
from crossview.training import passes

VIEWS = {"blood": "b__*", "urine": "u__*"}
TREES = {"max_iter": 20, "n_bags": 2}


@pytest.fixture(scope="module")
def visits():
    """Visits of patients in random order, some without an answer."""
    rng = np.random.default_rng(0)
    patient = rng.permutation(np.repeat(np.arange(50), 4))
    own = rng.normal(size=(50, 4))
    values = own[patient] + 0.1 * rng.normal(size=(200, 4))
    table = pd.DataFrame(values, columns=["b__x", "b__y", "u__x", "u__y"])
    table["b__patient"] = [f"p{k}" for k in patient]
    table["day"] = rng.permutation(200)
    ill = np.where(rng.random(50) < 0.4, "ill", "well")[patient].astype(object)
    ill[::19] = None
    return table.assign(answer=ill)


def by_hand(rows, groups):
    X = ViewEncoder(VIEWS, ignore=["b__patient", "day"]).fit_transform(rows.drop(columns="answer"))
    model = MultiViewTreesClassifier(random_state=0, **TREES)
    return model.fit(X.with_groups(groups), rows["answer"].to_numpy(str)), X


@pytest.mark.parametrize("time", [None, "day"])
def test_a_column_of_groups_is_in_no_view_and_holds_rows_out(visits, time):
    given = {"views": VIEWS, "model": "trees", "settings": TREES, "time": time}
    given["scoring"] = None
    trained = train(visits, "answer", groups="b__patient", **given)
    assert trained.encoder.view_columns() == {"blood": ["b__x", "b__y"], "urine": ["u__x", "u__y"]}
    rows = visits.assign(code=pd.factorize(visits["b__patient"])[0])
    rows = rows if time is None else rows.sort_values("day")
    rows = rows[rows["answer"].notna()].reset_index(drop=True)
    codes = rows.pop("code")
    model, X = by_hand(rows, codes)
    np.testing.assert_array_equal(trained.learner.decision_function(X), model.decision_function(X))
    plain, _ = by_hand(rows, np.arange(len(rows)))
    assert (plain.decision_function(X) != model.decision_function(X)).any()
    # an array of one value per row does the same
    named = {**given, "encoder": ViewEncoder(VIEWS, ignore=["b__patient"])}
    named.pop("views")
    again = train(visits, "answer", groups=visits["b__patient"].to_numpy(), **named)
    np.testing.assert_array_equal(again.learner.decision_function(X), model.decision_function(X))


def test_groups_of_a_container_are_those_of_its_rows(visits):
    rows = visits[visits["answer"].notna()]
    X = MultiView({"blood": rows[["b__x", "b__y"]], "urine": rows[["u__x", "u__y"]]})
    codes, y = pd.factorize(rows["b__patient"])[0], rows["answer"].to_numpy(str)
    own = X.with_groups(codes)
    given = {"model": "trees", "settings": TREES}
    named, held = train(X, y, groups=codes, **given), train(own, y, **given)
    assert (named.threshold, named.fitted.predict_proba(X).tolist()) == (
        held.threshold,
        held.fitted.predict_proba(X).tolist(),
    )
    assert X.groups is None
    with pytest.raises(InputError, match="X has groups; leave groups= out"):
        train(own, y, groups=codes, **given)
    folds = {"models": ["arow"], "cv": 3, "grid": {"r": [1.0]}, "curve": False}
    assert (
        compare(own, y, **folds).rows[0].scores
        == compare(X, y, groups=codes, **folds).rows[0].scores
    )
    for wrong in ({"random_folds": True}, {"in_order": True}, {"progressive": True}):
        with pytest.raises(InputError, match="groups"):
            compare(own, y, models=["arow"], **wrong)


def test_a_threshold_after_several_passes_is_of_held_out_groups(visits, monkeypatch):
    seen = []
    held_out_scores = passes.held_out_scores

    def see(learner, task, X, *others, **params):
        seen.append(X.groups)
        return held_out_scores(learner, task, X, *others, **params)

    monkeypatch.setattr(passes, "held_out_scores", see)
    rows = visits[visits["answer"].notna()]
    for groups in ("b__patient", None):
        train(rows, "answer", views=VIEWS, model="arow", epochs=2, groups=groups)
    assert pd.factorize(seen[0])[0].tolist() == pd.factorize(rows["b__patient"])[0].tolist()
    assert seen[1] is None


def test_a_class_of_one_group_is_said(visits):
    rare = visits.assign(answer=visits["answer"].where(visits["b__patient"] != "p7", "rare"))
    given = {"views": VIEWS, "model": "trees", "settings": TREES}
    (line,) = train(rare, "answer", groups="b__patient", **given).warnings
    assert line.startswith("class 'rare' has rows of one group alone: it is learned always")
    assert train(visits, "answer", groups="b__patient", **given).warnings == []


def test_groups_and_times_are_read_with_the_rows_of_a_query(visits, tmp_path):
    visits.reset_index().to_parquet(tmp_path / "visits.parquet")
    query = f"SELECT * FROM '{tmp_path / 'visits.parquet'}' ORDER BY random()"  # another each time
    encoder = ViewEncoder({"all": ["index"]})
    for time in (None, "day"):
        source = open_labeled(
            query, "answer", encoder=encoder, groups="b__patient", time=time, unlabeled=True
        )
        rows = source.load()
        places = rows.X["index"].to_numpy()
        patients = pd.factorize(visits["b__patient"][places])[0]
        assert len(set(zip(rows.groups, patients, strict=True))) == 50
        assert (time is None) == (np.diff(visits["day"][places]) < 0).any()


def test_groups_that_cannot_be_are_refused(visits, tmp_path):
    first = train(visits, "answer", views=VIEWS, model="arow", output=tmp_path / "m.st")
    for given, message in (
        ({"groups": "patient"}, "did you mean 'b__patient'"),
        ({"groups": np.arange(9)}, "9 groups for a table of 200 rows"),
        ({"groups": 3}, "groups= is an int; give a name or one value per row or None"),
        ({"groups": "b__patient", "init": first}, "which rows a new model holds out"),
    ):
        more = {} if "init" in given else {"views": VIEWS, "model": "trees"}
        with pytest.raises(InputError, match=message):
            train(visits, "answer", **more, **given)
    for option in ("groups", "time", "weight"):
        with pytest.raises(InputError, match=f"'answer': is the label, so it is not .* {option}="):
            train(visits, "answer", views=VIEWS, model="trees", **{option: "answer"})


def test_rows_without_a_group_stand_alone(visits):
    lost = visits["b__patient"].where(~visits.index.isin([7, 31]))
    given = {"views": VIEWS, "model": "trees", "settings": TREES}
    named = train(visits.assign(b__patient=lost), "answer", groups="b__patient", **given)
    array = train(visits.drop(columns="b__patient"), "answer", groups=lost, **given)
    rows = visits.drop(columns=["b__patient", "answer"])
    p = [one.fitted.predict_proba(rows) for one in (named, array)]
    np.testing.assert_array_equal(*p)
    X = MultiView({"blood": rows[["b__x", "b__y"]], "urine": rows[["u__x", "u__y"]]})
    own = train(X.with_groups(lost), visits["answer"], **{**given, "views": None})
    assert "2 rows without a group stand alone" in own.warnings
    assert "2 rows without a group stand alone" in [*named.warnings][-1] == array.warnings[-1]


def test_rows_that_are_sorted_by_their_group_are_no_stream(visits):
    rows = visits.sort_values("b__patient").dropna().reset_index(drop=True)
    given = {"views": VIEWS, "model": "pa:squared"}
    alone = train(rows.drop(columns="b__patient"), "answer", **given)
    assert "in their order the label changes in" in " ".join(alone.warnings)
    named = train(rows, "answer", groups="b__patient", **given)
    assert "order" not in " ".join(named.warnings)
    runs = np.arange(len(rows)) // 16 % 2  # of about four patients
    sorted_by = train(rows.assign(answer=runs), "answer", groups="b__patient", **given)
    assert "of 50 groups, and by chance" in " ".join(sorted_by.warnings)


def test_the_printed_command_trains_with_the_groups_of_the_folds(
    visits, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    visits.to_csv("visits.csv", index=False)
    rows = ["visits.csv", "--label", "answer", "--view", "blood=b__*", "--view", "urine=u__*"]
    compared = [*rows, "--groups", "b__patient", "--model", "trees", "--cv", "3"]
    assert main(["compare", *compared]) == 0
    (line,) = [one for one in capsys.readouterr().out.splitlines() if "crossview train" in one]
    assert " --groups b__patient --model trees " in line
    assert main(shlex.split(line.replace("MODEL", "m.st"))[1:]) == 0
    assert main(["predict", "m.st", "visits.csv"]) == 0
    dask = ["--dask", "localhost:1", "--groups", "b__patient", "-o", "x.st"]
    assert main(["train", *rows, *dask]) == 2
    assert "--groups" in capsys.readouterr().err
