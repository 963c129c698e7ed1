"""Labels that come late or never, rows that are removed or never kept, and beginnings."""

import json
import sqlite3
import time
import warnings
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

import crossview
from command_line import run
from crossview import InputError, ViewEncoder, load, save
from crossview.saving.model_files import read_info
from crossview.serving import beginning
from crossview.serving.beginning import Beginning
from crossview.serving.storage.folder import replay
from live_servers import make_rows, serving


@pytest.fixture(autouse=True)
def few_slots(monkeypatch):
    """Models that begin with nothing have the slots of `train`, whose snapshots are large."""
    monkeypatch.setattr(beginning, "ViewEncoder", partial(ViewEncoder, hash_bits=10))


def wait_until(fits):
    until = time.monotonic() + 60
    while not fits():
        assert time.monotonic() < until
        time.sleep(0.01)


def rows_of(folder, query):
    with sqlite3.connect(folder / "log.sqlite") as connection:
        found = connection.execute(query).fetchall()
    connection.close()
    return found


def same_after_restart(folder, model, rows):
    """The model as a replay has it, and as a server that starts again."""
    found = replay(folder, output=folder / "again.safetensors")
    assert found.same
    assert not found.different
    again = crossview.load(folder / "again.safetensors")
    for row in rows:
        assert again.predict_proba_one(row) == model.predict_proba_one(row)
    return found


# --- labels that come late or never -------------------------------------------------------------


def test_a_row_without_a_label_is_learned_as_negative_and_corrected(tmp_path, model_file):
    model = crossview.load(model_file)
    rows, _ = make_rows(6)
    with serving(tmp_path, model_file, wait=0.3, no_label="skip", tend_seconds=0.05) as server:
        found = server.post("/predict?durable=1", {"rows": rows})["predictions"]
        ids = [one["id"] for one in found]
        server.post("/label", {"id": ids[2], "label": "click"})  # before the others are assumed
        wait_until(lambda: server.learned()["labels"] == 6)
        order = [(2, "click"), *((i, "skip") for i in (0, 1, 3, 4, 5))]
        # what comes now corrects; the same as what was assumed is noted, and not learned again
        late = [{"id": ids[4], "label": "click"}, {"id": ids[5], "label": "skip"}]
        assert [one["label"] for one in server.post("/label", late)["labels"]] == ["new", "new"]
        assert [one["label"] for one in server.post("/label", late)["labels"]] == ["known"] * 2
        server.post("/label", late[1] | {"label": "click"}, 409)
        numbers = server.learned()
        assert (numbers["labels"], numbers["scored"], numbers["without_label"]) == (8, 6, 0)
        for i, label in (*order, (4, "click")):
            model.learn_one(rows[i], label)
        # each row is scored once, by its last label
        right = {2: "click", 4: "click"}
        correct = sum(one["prediction"] == right.get(i, "skip") for i, one in enumerate(found))
        assert numbers["accuracy"] == pytest.approx(correct / 6)
        assert server.post("/predict", {"row": rows[0]})["probabilities"] == (
            model.predict_proba_one(rows[0])
        )
    assert same_after_restart(tmp_path, model, rows).labels == 8


def test_a_row_that_has_waited_is_dropped(tmp_path, model_file):
    rows, _ = make_rows(3)
    with serving(tmp_path, model_file, wait=0.2) as server:
        ids = [
            one["id"] for one in server.post("/predict?durable=1", {"rows": rows})["predictions"]
        ]
        server.post("/label", {"id": ids[0], "label": "skip"})
        time.sleep(0.25)
        answer = server.post("/label", {"id": ids[1], "label": "skip"}, 410)
        assert "waited too long" in answer["error"]
        assert server.post("/label", {"id": ids[0], "label": "skip"})["label"] == "known"
        assert server.learned()["labels"] == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [("buy", "none of the classes click, skip"), ("negative", "is positive, so name")],
)
def test_the_class_of_no_label_is_one_of_the_model(tmp_path, model_file, name, words):
    with serving(tmp_path, model_file) as server:
        live = server.serving.live
        with pytest.raises(InputError, match=words):
            live.find_class(name)
        live.info["positive"] = "click"
        assert live.find_class("negative") == "skip"
        live.info["positive_by"] = "guess"
        with pytest.raises(InputError, match="nothing says which one is positive, so name one"):
            live.find_class("negative")


# --- rows that are removed, or never kept -------------------------------------------------------


def test_old_rows_are_removed_and_the_rest_is_replayed(tmp_path, model_file):
    model = crossview.load(model_file)
    rows, labels = make_rows(31)
    with serving(tmp_path, model_file, keep=0.4, tend_seconds=0.05) as server:
        sent = [{"row": r, "label": y} for r, y in zip(rows, labels, strict=True)]
        server.post("/learn", sent[:30])
        server.post("/predict?durable=1", {"rows": rows[:5]})
        counted = "SELECT (SELECT count(*) FROM labels), (SELECT count(*) FROM predictions)"
        wait_until(lambda: rows_of(tmp_path, counted) == [(0, 0)])
        assert rows_of(tmp_path, "PRAGMA freelist_count") == [(0,)]  # the file shrinks
        numbers = server.learned()
        assert (numbers["labels"], numbers["predictions"], numbers["scored"]) == (30, 35, 30)
        server.post("/label", {"id": "x1-0", "label": "skip"}, 404)
    with serving(tmp_path) as server:  # nothing is removed any more
        server.post("/learn", sent[30])
        assert server.learned()["labels"] == 31
    for row, label in zip(rows, labels, strict=True):
        model.learn_one(row, label)
    assert same_after_restart(tmp_path, model, rows[:5]).labels == 1
    (base,) = tmp_path.glob("base-*")
    base.write_bytes(base.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"not the model that log\.sqlite goes on from"):
        replay(tmp_path)


def test_hashed_rows_have_no_names_and_no_values(tmp_path, model_file):
    encoder, learner = (step for _, step in crossview.load(model_file).steps)
    rows, labels = make_rows(30)
    with serving(tmp_path, model_file, hash_rows=True) as server:
        for row, label in zip(rows, labels, strict=True):
            found = server.post("/predict", {"row": row})
            assert found["probabilities"] == learner.predict_proba_one(encoder.transform_one(row))
            server.post("/label", {"id": found["id"], "label": label})
            server.learned()
            learner.learn_one(encoder.transform_one(row), label)
        # the same row again is a retry, another one is not
        one = {"row": rows[0], "id": "mine"}
        assert server.post("/predict", one) == server.post("/predict", one)
        server.post("/predict", {"row": rows[3], "id": "mine"}, 409)
        assert server.post("/predict", {"row": {"user": {"age": "old"}}}, 422)["column"]
    kept = " ".join(row for (row,) in rows_of(tmp_path, "SELECT row FROM predictions"))
    assert not any(
        word in kept for word in ("user", "city", "Köln", "São", str(rows[0]["user"]["age"]))
    )
    assert replay(tmp_path).same == [30]
    with serving(tmp_path) as server:  # the folder knows
        found = server.post("/predict", {"row": rows[0]})["probabilities"]
        assert found == learner.predict_proba_one(encoder.transform_one(rows[0]))


# --- beginning with nothing ---------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::crossview.UnusedColumnsWarning")
def test_a_model_begins_with_its_first_labels(tmp_path):
    rows, labels = make_rows(200)
    begin = Beginning("click", views={"user": ["user__*"], "page": ["page__*"]}, ignore=["page__q"])
    rows[3] = {"page": {"size": 1.0, "q": "x"}, "click": "click"}  # its own label is no column
    with serving(tmp_path, begin) as server:
        answer = server.post("/predict", {"row": rows[0]})
        assert answer["prediction"] is None
        assert "first 20 labels" in answer["note"]
        server.post(
            "/learn", [{"row": r, "label": y} for r, y in zip(rows[:10], labels, strict=False)]
        )
        server.learned()
        for wrong, sent in ((7, "7"), (True, "true")):
            said = server.post("/learn", {"row": rows[0], "label": wrong}, 422)["error"]
            assert said.startswith(f"{sent} is of another kind than the labels before, such as ")
            assert said.endswith(": give text in quotes")
        assert server.learned()["classes"] == []
    with serving(tmp_path) as server:  # nothing is lost by a restart
        sent = [{"row": r, "label": y} for r, y in zip(rows[10:], labels[10:], strict=True)]
        server.post("/learn", sent[:20])
        numbers = server.learned()
        assert numbers["classes"] == ["click", "skip"]
        server.post("/learn", sent[20:])
        numbers = server.learned()
        assert numbers["labels"] == 200
        assert numbers["accuracy"] > 0.6
        live = server.serving.live
        assert live.learner.layout_.names == ("user", "page")
        names = set(live.model.steps[0][1].feature_names_in_)
        assert names == {"user__city", "user__age", "page__size"}
        assert "note" not in server.post("/predict", {"row": rows[0]})
    assert replay(tmp_path).same[-1] == 200
    # the same command goes on, another one is refused; what was left out is no unknown name
    with serving(tmp_path, begin) as server:
        answer = server.post("/predict", {"row": {"page": {"q": 1, "p": 2}, "click": "skip"}})
        assert answer["unknown"] == ["page__p"]
    with pytest.raises(InputError, match="other options"), serving(tmp_path, Beginning("other")):
        pass


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_commands_read_a_model_that_began_with_nothing(task, tmp_path, capsys):
    folder, model, found = (tmp_path / name for name in ("live", "m.safetensors", "e.json"))
    with serving(folder, Beginning("y", task)) as server:
        sent = [{"row": {"n": {"a": t % 9}}, "label": (t % 9 > 4) * 1.0} for t in range(40)]
        for part in (sent[:20], sent[20:]):
            server.post("/learn", part)
            server.learned()
    assert run(capsys, "replay", folder, "-o", model)[0] == 0
    out = tmp_path / "out.csv"
    for argv in (["inspect", model], ["predict", model, folder, "-o", out]):
        status, _, err = run(capsys, *argv)
        assert status == 0, err
    status, _, err = run(capsys, "evaluate", model, folder, "--json", found)
    assert status == 0, err
    content = json.loads(found.read_text())
    assert (content["n_rows"], content["label"], content["learned"]) == (40, "y", None)
    info = read_info(model)
    save(load(model), model, info=info | {"rows": 40})
    status, _, err = run(capsys, "evaluate", model, folder)
    assert (status, len(err)) == (2, 1)
    assert "is a damaged model file" in err[0]


@pytest.mark.parametrize("path", ["learn", "label"])
def test_a_boolean_in_quotes_is_told_to_leave_them_out(path, tmp_path):
    with serving(tmp_path, Beginning("y")) as server:
        sent = [{"row": {"n": {"a": t}}, "label": t % 2 == 1} for t in range(20)]
        for labels in (sent[:2], sent[2:]):  # before there are classes, and then
            server.post("/learn", labels)
            server.learned()
            found = server.post("/predict", {"row": sent[0]["row"]})["id"]
            wrong = {"learn": {"row": {}}, "label": {"id": found}}[path] | {"label": "true"}
            said = server.post(f"/{path}", wrong, 422)["error"]
            assert said == (
                "'true' is of another kind than the labels before, such as false: give true or "
                "false, without quotes"
            )


@pytest.mark.parametrize("classes", [[0, 1], [False, True], [0.0, 1.0]], ids=str)
def test_a_label_of_another_type_is_the_class_that_it_equals(classes, tmp_path):
    """It was scored as a class whose probability is 0."""
    losses = []
    for kind in (int, float, bool):
        with serving(tmp_path / kind.__name__, Beginning("y")) as server:
            rows = [{"n__a": t % 2} for t in range(40)]
            labels = [classes[t % 2] if t < 20 else kind(t % 2) for t in range(40)]
            sent = [{"row": x, "label": y} for x, y in zip(rows, labels, strict=True)]
            server.post("/learn", sent[:20])
            server.learned()
            found = server.post("/predict", {"row": rows[20]})["id"]
            server.post("/label", {"id": found, "label": labels[20]})
            server.learned()
            server.post("/learn", sent[21:])
            losses.append(server.learned()["log_loss"])
            shown = server.serving.shown()["now"][0]["label"]
            assert shown == json.dumps(classes[39 % 2])
    assert len({*losses}) == 1


def test_a_log_of_labels_of_several_types_has_the_classes_of_its_model(tmp_path, capsys):
    labels = [0, 1.0, True, 0.0, 1, False]  # before there are classes
    with serving(tmp_path / "d", Beginning("y")) as server:
        sent = [{"row": {"n__a": t}, "label": labels[t % 6]} for t in range(24)]
        server.post("/learn", sent)
        assert len(server.learned()["classes"]) == 2
    status, out, _ = run(capsys, "describe", tmp_path / "d", "--label", "y")
    assert status == 0
    (line,) = (line for line in out if line.startswith("y "))
    assert line.split()[2] == "numeric"


def test_first_rows_that_are_no_table_are_said(tmp_path):
    begin = Beginning("y", views={"user": ["user_*"]})
    with serving(tmp_path, begin) as server:
        sent = [{"row": {"a": t, "b": [t, "x"][t % 2]}, "label": t % 2} for t in range(20)]
        server.post("/learn", sent)
        assert server.learned()["labels_refused"] == 20
        shown = server.serving.shown()
        assert "the first 20 rows could not be learned" in shown["warnings"][-1]
        assert "in quotes" in server.post("/learn", {"row": {"a": 1}, "label": 2**63}, 422)["error"]
        assert server.said == [f"warning: {shown['warnings'][-1]}"]
        # others can; what is in no view may be anything
        more = [{"b": [1, [1, "x"]], "user_c": 2**70}, {"b": 2**3000, "user_c": 0.5}]
        sent = [{"row": {"user_a": t, **more[t % 2]}, "label": t % 2} for t in range(20)]
        server.post("/learn", sent)
        assert server.learned()["classes"] == [0, 1]
        assert server.post("/predict", {"row": {"user_a": 3}})["probabilities"].keys() == {"0", "1"}
        json.dumps(server.serving.shown(), allow_nan=False)


def test_whole_numbers_beyond_64_bits_are_categories_of_first_rows(tmp_path):
    begin = Beginning("y", kinds={"categorical": ["n__id"]})
    rows = [{"n": {"id": 10 ** (19 + t % 2), "a": t / 2}} for t in range(24)]
    with serving(tmp_path, begin) as server:
        sent = [{"row": row, "label": ["no", "yes"][t % 2]} for t, row in enumerate(rows)]
        server.post("/learn", sent)
        assert server.learned()["classes"] == ["no", "yes"]
        said = [server.post("/predict", {"row": row})["probabilities"] for row in rows[:2]]
        text = {"n": {"id": str(10**20), "a": 0.5}}
        assert server.post("/predict", {"row": text})["probabilities"] == said[1]


@pytest.mark.parametrize("together", [False, True])
def test_a_first_row_of_another_kind_is_refused_alone(together, tmp_path):
    """It made a category of a column of numbers, for good, and the labels after it were lost."""
    begin = Beginning("y", kinds={"numeric": ["n__d*"], "categorical": ["n__id"], "date": ["n__t"]})
    first = {"a": 20, "b": True, "c": "x", "d": "7", "id": 1, "t": "2025-01-01"}
    rows = [{"n": {**first, "a": 20 + t / 2, "id": [t, f"A{t}"][t % 2]}} for t in range(20)]
    numbers, text = "give a number without quotes, or null", "text in quotes"
    wrong = [
        ("a", "31,5", f"'31,5' is text, and the rows before have numbers, such as 20.0: {numbers}"),
        (
            "a",
            True,
            f"true is a Boolean, and the rows before have numbers, such as 20.0: {numbers}",
        ),
        ("b", 1, "1 is a number, and the rows before have true and false, such as true: give true"),
        ("c", 0.5, f"0.5 is a number, and the rows before have text, such as 'x': give {text}"),
        ("a", 1e101, "too large"),
        ("a", [1], "[1] is no value of a column: give a number"),
        ("a", [1, 2], "is a vector, and the rows before have 20.0: give that, or null"),
        ("d", "many", "'many' is not a number: give one without quotes"),
        ("t", "soon", "'soon' is no date as in"),
    ]
    bad = [{"n": {**first, name: value}} for name, value, _ in wrong]
    with serving(tmp_path, begin) as server:

        def learn(some):
            sent = [{"row": row, "label": ["no", "yes"][t % 2]} for t, row in enumerate(some)]
            if together:
                return server.post("/learn", sent, 207)["labels"]
            found = []
            for row, one in zip(some, sent, strict=True):
                found.append(server.post("/learn", one, 422 if row in bad else 200))
                server.learned()
            return found

        found = learn([*rows[:2], *bad, *rows[2:19]])
        for one, (name, _, words) in zip(found[2:], wrong, strict=False):
            assert one["column"] == f"n__{name}"
            assert words in one["error"]
        assert (server.learned()["labels"], server.get("/stats")["classes"]) == (19, [])
        said = server.post("/predict", {"rows": [rows[0], bad[0]]}, 207)["predictions"]
        assert "is text" in said[1]["error"]
        server.post("/learn", {"row": rows[19], "label": "no"})
        numbers = server.learned()
        assert (numbers["labels"], numbers["labels_refused"]) == (20, 0)
        kinds = server.serving.live.model.steps[0][1].kinds()
        assert kinds == {
            **dict.fromkeys(("n__a", "n__d"), "numeric"),
            **dict.fromkeys(("n__b", "n__c", "n__id"), "categorical"),
            "n__t": "date",
        }
        assert server.said == []
    assert replay(tmp_path).labels == 20


def test_a_label_of_a_row_of_another_kind_is_refused_alone_and_said(tmp_path):
    """Rows that were predicted before any label are like no others yet."""
    with serving(tmp_path, Beginning("y")) as server:
        rows = [{"n": {"a": "31,5" if t == 5 else t}} for t in range(22)]
        ids = [server.post("/predict?durable=1", {"row": row})["id"] for row in rows]
        server.post("/label", [{"id": one, "label": t % 2} for t, one in enumerate(ids[:20])])
        assert server.learned()["labels_refused"] == 1
        (line,) = server.said
        assert line.startswith("warning: a label could not be learned: column 'n__a': '31,5' is")
        assert line[9:] in server.serving.shown()["warnings"]
    with serving(tmp_path) as server:
        server.post("/label", [{"id": one, "label": t % 2} for t, one in enumerate(ids[20:])])
        numbers = server.learned()
        assert (numbers["labels"], numbers["labels_refused"]) == (22, 1)
        assert server.serving.live.model.steps[0][1].kinds() == {"n__a": "numeric"}
        words = [{"id": server.post("/predict", {"row": rows[0]})["id"], "label": "no"}]
        assert "give a number" in server.post("/label", words, 422)["labels"][0]["error"]


def test_labels_of_two_kinds_in_one_request(tmp_path):
    with serving(tmp_path, Beginning("y")) as server:
        sent = [{"row": {"n": {"a": t}}, "label": ["1", 1][t == 3]} for t in range(5)]
        found = server.post("/learn", sent, 207)["labels"]
        assert [one.get("label") for one in found] == ["new", "new", "new", None, "new"]
        assert "give text in quotes" in found[3]["error"]
        assert server.learned()["labels_refused"] == 0


def test_skewed_numbers_from_nothing(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = [{"n": {"a": a}} for a in rng.normal(0, 1, 400).tolist()]
    prices = [float(np.exp(10 + 1.5 * row["n"]["a"])) for row in rows]
    sent = [{"row": row, "label": y} for row, y in zip(rows, prices, strict=True)]
    losses = {}
    for scale in ("linear", "log"):
        folder = tmp_path / scale
        with (
            warnings.catch_warnings(record=True) as said,
            serving(folder, Beginning("y", "regression", target_scale=scale)) as server,
        ):
            warnings.simplefilter("always", crossview.GuessWarning)
            for lo in range(0, 400, 20):
                server.post("/learn", sent[lo : lo + 20])
                server.learned()
            losses[scale] = server.get("/stats")["squared_error"]
            wrong = {"row": {}, "label": -1.0}
            assert server.post("/learn", wrong, {"linear": 200, "log": 422}[scale])
        assert [("--target-scale log" in str(one.message)) for one in said] == (
            [True] if scale == "linear" else []
        )
        status, _, err = run(capsys, "replay", folder)
        assert (status, err) == (0, [])
    assert losses["log"] < losses["linear"] / 2


def test_numbers_from_nothing(tmp_path):
    with serving(tmp_path, Beginning("y", "regression")) as server:
        sent = [{"row": {"n": {"a": t / 10}}, "label": t / 5} for t in range(40)]
        server.post("/learn", sent[:25])
        server.learned()
        server.post("/learn", sent[25:])
        assert server.learned()["squared_error"] is not None
        for wrong in ("12,5", "12.5", True):
            said = server.post("/learn", {"row": {}, "label": wrong}, 422)["error"]
            sent = "true" if wrong is True else repr(wrong)
            assert said == f"{sent} is not a number: give one without quotes, such as 31.5"
        for wrong in (1e300, -(10**400)):
            said = server.post("/learn", {"row": {}, "label": wrong}, 422)["error"]
            assert "is too large: give a number up to 1e+75" in said
        for many in (1, 30):
            sent_rows = [{"n": {"a": 1}}, *[{"n": {"a": 10**400}}] * many]
            said = server.post("/predict", {"rows": sent_rows}, 207)["predictions"]
            assert all("is too large: write null" in one["error"] for one in said[1:])
        far = server.post("/predict", {"row": {"n": {"a": 1e100}}})["id"]
        server.post("/label", {"id": far, "label": 1e75})
        assert server.learned()["labels"] == 41
        assert server.get("/readyz")["status"] == "ready"
    assert replay(tmp_path).labels == 41


def test_kinds_are_declared_on_the_command_line(tmp_path, capsys, monkeypatch):
    """Text in the first row made a column of numbers one of text, for good."""
    begun = []
    monkeypatch.setattr("crossview.serving.serve.serve", lambda *args, **_: begun.append(args[1]))
    options = ["--numeric", "user__age", "--date", "user__born=%d.%m.%Y", "--sparse", "page__*"]
    argv = ["--new", "--label", "click", *options, "--data", tmp_path / "d"]
    assert run(capsys, "serve", *argv)[0] == 0
    user = {"user": {"age": "31", "born": "1.2.1990"}, "page": {"a": 0, "b": 0}}
    rows = [user, {"user": {"age": 31.5, "born": "24.12.1991"}, "page": {"a": 1}}]
    [begin] = begun
    begin.write(tmp_path / "begin.json")
    for one in (begin, Beginning.read(tmp_path / "begin.json")):
        with serving(tmp_path / str(len(begun)), one) as server:
            begun.append(one)
            sent = [{"row": rows[t % 2], "label": ["no", "yes"][t % 2]} for t in range(24)]
            server.post("/learn", sent)
            assert server.learned()["classes"] == ["no", "yes"]
            answer = server.post("/predict", {"row": {"user": {"age": 7, "born": "3.3.2003"}}})
            assert answer["probabilities"].keys() == {"no", "yes"}
            words = server.post("/predict", {"row": {"user": {"age": "old"}}}, 422)["error"]
            assert "'old' is not a number" in words


def test_options_that_do_not_fit_are_refused(tmp_path, model_file, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for argv, words in (
        (["--new"], "give --label"),
        ([model_file, "--label", "click"], "--label is about a new model"),
        ([model_file, "--numeric", "n__a"], "--numeric is about a new model"),
        ([model_file, "--date", "n__a=%d.%m.%Y"], "--date is about a new model"),
        (["--new", "--label", "click", model_file], "--new begins with nothing"),
        ([model_file, "--no-label", "skip"], "give --wait"),
        ([model_file, "--wait", "soon"], "--wait 'soon': give a time"),
        ([model_file, "--wait", "7d", "--keep", "1h"], "--keep is less than --wait"),
        (
            [model_file, "--wait", "7d", "--no-label", "dog"],
            "--no-label dog is none of the classes",
        ),
        (["--new", "--label", "y", "--hash-rows"], "--hash-rows needs a model"),
        (["--new", "--label", "y", "--view", "user"], "give a view and its columns"),
        (["--new", "--label", "y", "--task", "number"], "no task 'number'"),
        (["--new", "--label", "y", "--target-scale", "log"], "add --new --task regression"),
        (["--new", "--label", "y", "--target-scale", "root"], "give linear, log or log1p"),
        (["nothing.safetensors"], "no such model file"),
    ):
        status, _, err = run(capsys, "serve", *argv, "--data", words[2:9], "--port", "0")
        assert (status, len(err)) == (2, 1), err
        assert words in err[0]
        assert not any(tmp_path.iterdir())  # no folder is left


# --- the log as a table -------------------------------------------------------------------------


def test_the_log_is_a_source_of_its_labeled_rows(tmp_path, model_file, capsys):
    rows, labels = make_rows(80)
    folder = tmp_path / "d"
    with serving(folder, model_file, wait=0.3, no_label="skip", tend_seconds=0.05) as server:
        sent = [{"row": r, "label": y} for r, y in zip(rows[:76], labels, strict=False)]
        server.post("/learn", sent)
        found = server.post("/predict?durable=1", {"rows": rows[76:]})["predictions"]
        wait_until(lambda: server.learned()["labels"] == 80)
        server.post("/label", {"id": found[1]["id"], "label": "click"})
    with serving(folder) as server:  # nothing is assumed any more
        server.post("/predict?durable=1", {"rows": rows[:3]})  # without a label
        # it is read while the server runs
        order = [*range(76), 76, 78, 79, 77]
        last = [*labels[:76], "skip", "skip", "skip", "click"]
        batches = [batch.X for batch in crossview.open_table(folder)]
        table = pa.Table.from_batches(batches).to_pandas()
        assert len(table) == 80
        ages = [rows[i].get("user", {}).get("age") for i in order]
        assert [None if age != age else age for age in table["user__age"]] == ages
        assert table["label"].tolist() == last
        crossview.save(server.serving.live.model, tmp_path / "now.safetensors")
    out = tmp_path / "t.safetensors"
    for argv in (
        ["describe", folder, "--label", "label"],
        ["train", folder, "--label", "label", "--in-order", "--model", "pa:squared", "-o", out],
        ["evaluate", tmp_path / "now.safetensors", folder, "--label", "label", "--no-views"],
        ["compare", folder, "--label", "label", "--model", "pa:squared", "--cv", "2"],
    ):
        status, printed, err = run(capsys, *argv)
        assert status == 0, err
        assert any("80" in line for line in [*printed, *err])
    assert printed[-1] == f"crossview replay {folder} --challenger EARLIER"
    assert "one that has learned this log seems better than it is" in printed[-2]
    (folder / "orders.sqlite").write_bytes(b"another database")
    status, _, err = run(capsys, "describe", folder / "orders.sqlite")
    assert (status, len(err)) == (2, 1)
    assert "orders.sqlite: is not called log.sqlite, as the log of a server" in err[0]
    with serving(tmp_path / "hashed", model_file, hash_rows=True) as server:
        server.post("/learn", sent[:3])
    for name, words in (("hashed", "no names and values"), ("empty", "no row with a label")):
        if name == "empty":
            with serving(tmp_path / name, model_file):
                pass
        status, _, err = run(capsys, "describe", tmp_path / name)
        assert (status, len(err)) == (2, 1)
        assert words in err[0]
