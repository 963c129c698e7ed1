"""The personal view: each feature crossed with the user of its row."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from command_line import read_csv, run
from crossview import (
    AROWClassifier,
    FactorizationMachineClassifier,
    InputError,
    KeCoClassifier,
    MultiViewPAClassifier,
    OnlineNewtonClassifier,
    OnlineStackingClassifier,
    PassiveAggressiveClassifier,
    ViewEncoder,
    compare,
    load,
    make_pipeline,
    merge,
    save,
    train,
)
from crossview.data.labeled import stack_rows
from crossview.data.row_columns import with_label
from reference.crossing import cross

LONG = " ".join(f"word{k}" for k in range(80))  # whose features are sorted in another way
TEXTS = ["cheap flights to Oslo", "weather in Bonn", "rain, rain and rain", "x", LONG]
VIEWS = {"a": ["age", "size"], "b": ["genre", "title"]}


def make_table(n=300, seed=0):
    """Numbers, categories and text with gaps, and users, some of them missing."""
    rng = np.random.default_rng(seed)

    def with_gaps(values, share=0.1):
        return [None if gap else v for v, gap in zip(values, rng.random(n) < share, strict=True)]

    user = rng.zipf(1.5, n) % 40
    genre = rng.integers(0, 5, n)
    age = rng.normal(40.0, 10.0, n)
    away = rng.normal(size=(40, 5))
    gone = rng.random(n) < 0.2  # the view is missing
    ages, sizes = with_gaps(age.tolist(), 0.3), with_gaps(rng.normal(size=n).tolist(), 0.3)
    return pa.table(
        {
            "age": [None if none else v for v, none in zip(ages, gone, strict=True)],
            "size": [None if none else v for v, none in zip(sizes, gone, strict=True)],
            "genre": with_gaps([f"g{k}" for k in genre]),
            "title": with_gaps(rng.choice(TEXTS, n).tolist()),
            "user": with_gaps(user.tolist()),
            "label": away[user, genre] + 0.3 * rng.normal(size=n) > 0.0,
        }
    )


def make_encoder(**options):
    return ViewEncoder(VIEWS, text=["title"], **{"hash_bits": 6, "per": "user", **options})


@pytest.mark.parametrize(
    "options",
    [{}, {"scale_views": False, "bins": None}, {"per_variance": 2.0, "tf_idf": False, "bins": 3}],
)
def test_crossed_features_are_those_of_a_slow_reference(options):
    table = make_table()
    encoder = make_encoder(**options)
    X = encoder.partial_fit_transform(table)
    given = {**options, "per": None}
    given.pop("per_variance", None)
    shared = make_encoder(**given).partial_fit_transform(table)
    V = shared.layout.n_views
    assert X.layout.names == (*shared.layout.names, "personal")
    own, without = X["personal"], shared.matrix
    assert_array_equal(X.matrix[:, : shared.shape[1]].toarray(), without.toarray())
    variance, collisions = options.get("per_variance", 0.3), 0
    for i, user in enumerate(table["user"].to_pylist()):
        line, row = without[[i]], own[[i]]
        assert X.present[i, V] == (user is not None)
        entries = dict(zip(line.indices.tolist(), line.data.tolist(), strict=True))
        slots = {} if user is None else cross(entries, f"user={user}", 10, variance)
        assert row.indices.tolist() == sorted(slots)
        assert_allclose(row.data, [slots[k] for k in sorted(slots)], rtol=1e-15)
        collisions += user is not None and len(slots) < 1 + len(entries)
    assert collisions  # the slots are few, so that this is tested, too


def test_single_rows_and_batches_give_the_same_bits(tmp_path):
    table = make_table().drop_columns(["label"])
    whole = make_encoder()
    X = whole.partial_fit_transform(table)
    parts, single = make_encoder(), make_encoder()
    for encoder in (parts, single):
        encoder.partial_fit(table[:0])
    for start, stop in ((0, 1), (1, 120), (120, 300)):
        part = table[start:stop].to_pandas() if start else table[:stop]
        own = parts.partial_fit_transform(part.convert_dtypes() if start else part)
        assert_array_equal(own.matrix.toarray(), X.matrix[start:stop].toarray())
    for i, row in enumerate(table.to_pylist()):
        one = single.partial_fit_transform_one(row)
        assert one.columns == X.matrix[[i]].indices.tolist()
        assert_array_equal(one.values, X.matrix[[i]].data)
        assert one.present == X.present[i].tolist()
    state = whole.get_state()
    copy = make_encoder()
    copy.set_header(whole.get_header())
    copy.set_state(state)
    again = whole.transform(table).matrix.toarray()
    for other in (parts, single, copy):
        assert {key: array.tolist() for key, array in other.get_state().items()} == {
            key: array.tolist() for key, array in state.items()
        }
        assert_array_equal(other.transform(table).matrix.toarray(), again)
        assert_array_equal(other.get_feature_names_out(), whole.get_feature_names_out())
    row = table.slice(7, 1)
    assert (
        copy.transform_one(row.to_pylist()[0]).columns
        == copy.transform(row).matrix.indices.tolist()
    )


def test_names_say_user_and_feature():
    encoder = make_encoder(hash_bits=16, bins=None)
    table = pa.table({"age": [30.0], "size": [1.0], "genre": ["Drama"], "title": ["so so"]})
    table = table.append_column("user", pa.array([7]))
    X = encoder.fit_transform(table)
    names = [encoder.feature_name("personal", slot) for slot in X["personal"].indices]
    assert sorted(names) == ["user=7", "user=7 × genre=Drama", "user=7 × title:so"]
    meaning = encoder.explain_columns("personal", X["personal"].indices)
    assert {(one.column, one.value) for one in meaning} == {
        ("user", "7"),
        ("genre", "Drama"),
        ("title", "so"),
    }
    assert not any(one.collides for one in meaning)
    few = make_encoder(remember_names=0)
    slots = few.fit_transform(table)["personal"].indices
    assert few.feature_name("personal", slots[0]) == f"slot {slots[0]}"
    assert encoder.specified_views() == VIEWS
    assert encoder.view_columns() == {**VIEWS, "personal": ["user"]}


def test_slots_of_several_pairs_are_marked():
    encoder = make_encoder(hash_bits=1)  # 32 slots
    slots = encoder.fit_transform(make_table())["personal"].indices
    assert any(one.collides for one in encoder.explain_columns("personal", np.unique(slots)))


def test_new_and_missing_users_have_the_shared_score():
    table = make_table()
    trained = train(table, "label", encoder=make_encoder(hash_bits=16), model="arow:diagonal")
    rows = table.drop_columns(["label", "user"]).slice(0, 50)

    def scores(user):
        return trained.fitted.decision_function(rows.append_column("user", user))

    nobody = scores(pa.nulls(50, pa.int64()))
    assert_allclose(nobody, scores(pa.array([10**6] * 50)), rtol=1e-12)
    assert np.abs(nobody - scores(pa.array([1] * 50))).max() > 0.01


@pytest.mark.parametrize("task", ["classification", "several", "regression"])
def test_a_stream_goes_on_and_is_read_from_a_file(tmp_path, task):
    table = make_table()
    label = {
        "classification": table["label"],
        "several": pa.array([f"c{k % 3}" for k in range(len(table))]),
        "regression": pa.array(np.random.default_rng(5).normal(size=len(table))),
    }[task]
    table = table.set_column(5, "label", label)
    kind = "regression" if task == "regression" else "classification"
    model = "linear" if task == "regression" else "pa:squared"
    encoder = make_encoder(categorical=["genre"], date=())
    options = {"in_order": True}
    given = {**options, "model": model, "encoder": encoder, "task": kind}
    whole = train(table, "label", **given)
    classes = None if task == "regression" else sorted(set(label.to_pylist()))
    first = train(table[:140], "label", **given, classes=classes, output=tmp_path / "first.cv")
    assert first.rows == 140
    then = train(table[140:], "label", init=tmp_path / "first.cv", **options)
    rows = table.drop_columns(["label"])
    # what stands in for a view that a row lacks is that of the last rows of each run
    rows = rows.filter(pa.array(whole.fitted[0].transform(rows).present.all(axis=1)))
    expected = whole.fitted.predict(rows)
    assert_array_equal(then.fitted.predict(rows), expected)
    save(then.fitted, tmp_path / "then.cv")
    loaded = load(tmp_path / "then.cv")
    assert_array_equal(loaded.predict(rows), expected)
    assert [loaded.predict_one(row) for row in rows.slice(0, 20).to_pylist()] == expected[
        :20
    ].tolist()


def test_single_rows_learn_as_tables_do():
    table = make_table()
    rows, labels = table.drop_columns(["label"]), table["label"].to_pylist()
    single, batch = (make_pipeline(make_encoder(), MultiViewPAClassifier()) for _ in range(2))
    for one in (single, batch):
        one.partial_fit(rows[:40], labels[:40], classes=[False, True])
    batch.partial_fit(rows[40:], labels[40:])
    for row, label in zip(rows[40:].to_pylist(), labels[40:], strict=True):
        single.learn_one(row, label)
    assert_array_equal(single.decision_function(rows), batch.decision_function(rows))


def test_models_of_two_parts_are_merged():
    table, options = make_table(), {"hash_bits": 3, "bins": None, "date": ()}
    rows, y = table.drop_columns(["label"]), table["label"].to_pylist()
    model = AROWClassifier(covariance="diagonal")
    one, two = (make_pipeline(make_encoder(**options), clone(model)) for _ in range(2))
    one.partial_fit(rows[:150], y[:150], classes=[False, True])
    two.partial_fit(rows[150:], y[150:], classes=[False, True])
    merged = merge([one, two])
    assert_allclose(merged[-1].coef_, (one[-1].coef_ + two[-1].coef_) / 2)
    merged.predict(rows)
    whole = make_encoder(**options).partial_fit(rows).get_state()
    state = merged[0].get_state()
    names = [name for name in state if name.startswith("personal.")]
    assert len(names) == 5
    for name in names:  # the names of all rows, in the same order
        assert_array_equal(state[name], whole[name])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"per": "usr"}, "per= names 'usr', which is no column; did you mean 'user'?"),
        ({"per": 3}, "per=3; give the name of a column"),
        ({"ignore": ["us*"]}, "column 'user': is named in per= and ignore="),
        ({"per_variance": 0.0}, "per_variance=0.0; give a number above 0"),
        ({"views": {"personal": "age"}, "text": ()}, "a view is called 'personal'"),
        (
            {"views": {"a": "user", "b": "age"}, "text": ()},
            "'a' has only columns of ignore= or per=",
        ),
        ({"text": ["user"]}, "text= names 'user', which is in no view"),
    ],
)
def test_what_is_wrong_is_one_line(options, message):
    table = make_table(20)
    options = {"views": VIEWS, "text": ["title"], "per": "user", **options}
    with pytest.raises(InputError) as error:
        ViewEncoder(**options).fit(table)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_states_that_contradict_themselves_are_refused():
    encoder = make_encoder()
    encoder.fit(make_table())
    for name, change in (
        ("personal.user", lambda a: a + 10_000),
        ("personal.feature", lambda a: np.full_like(a, a[0])),
        ("personal.feature", lambda a: a + encoder.layout_.n_columns),
    ):
        copy, state = make_encoder(), dict(encoder.get_state())
        copy.set_header(encoder.get_header())
        state[name] = change(state[name])
        with pytest.raises(InputError):
            copy.set_state(state)
    copy, header = make_encoder(per=None), encoder.get_header()
    with pytest.raises(InputError, match="per=None"):
        copy.set_header(header)


def test_the_commands_take_it(tmp_path, capsys):
    import pyarrow.csv

    rows, model = str(tmp_path / "rows.csv"), str(tmp_path / "m.cv")
    pyarrow.csv.write_csv(make_table(), rows)
    about = ["--label", "label", "--per", "user", "--view", "a=age,size", "--view", "b=genre"]
    about += ["--hash-bits", "10", "--no-scale-views", "--bins", "0"]
    status, _, said = run(capsys, "train", rows, *about, "--model", "arow:diagonal", "-o", model)
    assert status == 0, said
    status, out, said = run(capsys, "inspect", model)
    assert status == 0, said
    assert any("user=" in line and "× genre=g" in line for line in out)
    found = str(tmp_path / "found.csv")
    status, _, said = run(capsys, "predict", model, rows, "-o", found, "--explain", "2")
    assert status == 0, said
    assert "view_personal" in read_csv(found)[0]
    status, _, said = run(capsys, "train", rows, *about[:2], "--per", "usr", "-o", model)
    assert status == 2
    assert said[-1].startswith("crossview: error: --per names 'usr', which is no column")
    status, _, said = run(capsys, "train", rows, *about, "--model", "view:personal", "-o", model)
    assert (status, said[-1]) == (
        2,
        "crossview: error: view 'personal' is made of the others, and not learned alone",
    )


# --- users who are dropped ---------------------------------------------------------------


def make_visits(n=600):
    """Users who come, stay for a while, leave, and come back; labels are their own."""
    rng = np.random.default_rng(1)
    user = (np.arange(n) // 20 + rng.integers(0, 6, n)) % 30
    genre = rng.integers(0, 4, n)
    table = pa.table(
        {
            "user": [f"u{k}" for k in user],
            "genre": [f"g{k}" for k in genre],
            "age": rng.normal(size=n),
        }
    )
    return table, rng.random((30, 4))[user, genre] > rng.random(n)


def make_bounded(learner, most=12):
    encoder = ViewEncoder({"v": ["genre", "age"]}, per="user", max_users=most, hash_bits=8)
    return make_pipeline(encoder, learner)


def states_of(model):
    return [step.get_state() for _, step in model.steps]


def assert_same_states(model, other):
    for own, its in zip(states_of(model), states_of(other), strict=True):
        assert own.keys() == its.keys()
        for name, array in own.items():
            assert_array_equal(array, its[name], err_msg=name)


def recently_seen(users, most):
    """The users with a place after each row, by a list that is kept in order."""
    known = []
    for user in users:
        if user in known:
            known.remove(user)
        elif len(known) == most:
            del known[: max(1, most // 8)]
        known.append(user)
        yield set(known)


LEARNERS = [
    AROWClassifier(covariance="diagonal"),
    AROWClassifier(),
    PassiveAggressiveClassifier(average=True),
    FactorizationMachineClassifier(random_state=0),
    OnlineNewtonClassifier(),
    OnlineStackingClassifier(random_state=0, memory=True),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: type(one).__name__)
def test_dropped_users_leave_no_weights_and_no_names(learner, tmp_path):
    table, y = make_visits()
    whole, parts, single = (make_bounded(clone(learner)) for _ in range(3))
    whole.partial_fit(table, y, classes=[False, True])
    for start, stop in ((0, 7), (7, 200), (200, 201), (201, 600)):
        own = table.slice(start, stop - start)
        parts.partial_fit(own, y[start:stop], classes=[False, True])
    single.partial_fit(table[:2], y[:2], classes=[False, True])
    for row, label in zip(table.to_pylist()[2:], y[2:].tolist(), strict=True):
        single.learn_one(row, label)
    assert_same_states(whole, parts)
    assert_same_states(whole, single)
    # who is left, by the names of slots; all others have the scores of a user who never came
    encoder, model = whole[0], whole[-1]
    *_, kept = recently_seen(table["user"].to_pylist(), 12)
    names = encoder.slot_names("personal").values()
    assert {name.split(" × ")[0].removeprefix("user=") for name in names} == kept
    gone = set(table["user"].to_pylist()) - kept
    assert gone
    own = encoder.transform(table.slice(0, 50).set_column(0, "user", pa.array([min(gone)] * 50)))
    slots = set(own["personal"].indices.tolist()) - set(encoder.slot_names("personal"))
    first = own.layout.block("personal").start
    for part in getattr(model, "experts_", [("", model, None)]):
        if part[2] is None and "W" in part[1].get_state():
            assert not part[1].get_state()["W"][first + np.array(sorted(slots))].any()
    # a model file goes on with the same bits
    save(whole, tmp_path / "m.st")
    loaded = load(tmp_path / "m.st")
    for one in (whole, loaded):
        one.partial_fit(table, y)
    assert_same_states(whole, loaded)


@pytest.mark.parametrize("size", [1, 7, 64])
def test_late_labels_count_the_same_where_users_are_dropped(size):
    """A batch is cut where users are dropped, and so is what its experts said earlier."""
    table, y = make_visits(200)
    rows = table.to_pylist()
    whole, single = (make_bounded(OnlineStackingClassifier(random_state=0)) for _ in range(2))
    for model in (whole, single):
        model.partial_fit(table[:20], y[:20], classes=[False, True])
    said = []
    for row in rows:
        single.predict_one(row)
        said += single[-1].expert_predictions()
    delays = np.arange(200) % 3
    for start in range(20, 200, size):
        own = slice(start, min(start + size, 200))
        whole[-1].set_delay(delays[own], said[own])
        whole.partial_fit(table[own], y[own])
    for row, label, delay, then in list(zip(rows, y.tolist(), delays, said, strict=True))[20:]:
        single[-1].set_delay(int(delay), [then])
        single.learn_one(row, label)
    assert_same_states(whole, single)
    whole[-1].set_delay(delays[:100], said[:100])
    with pytest.raises(InputError, match="delays of 100 rows, and 180 rows to learn"):
        whole.partial_fit(table[20:], y[20:])


def test_a_user_who_comes_back_begins_with_what_all_share():
    table, y = make_visits(40)
    model = make_bounded(AROWClassifier(covariance="diagonal"), most=2)
    model.partial_fit(table.set_column(0, "user", pa.array(["a"] * 40)), y, classes=[False, True])
    asked = table.slice(0, 5)
    as_a, as_new = (asked.set_column(0, "user", pa.array([u] * 5)) for u in ("a", "new"))
    assert (model.decision_function(as_a) != model.decision_function(as_new)).any()
    model.partial_fit(asked.set_column(0, "user", pa.array(list("bcbcb"))), y[:5])
    assert_array_equal(model.decision_function(as_a), model.decision_function(as_new))


def test_max_users_is_honored_or_refused():
    table, y = make_visits(60)
    rows = table.append_column("y", pa.array(y))
    encoder = ViewEncoder(per="user", max_users=5, hash_bits=8)
    with pytest.raises(InputError, match="in_order=True"):
        train(rows, "y", encoder=encoder)
    with pytest.raises(InputError, match="leave epochs out"):
        train(rows, "y", encoder=encoder, in_order=True, epochs=2, model="pa:squared")
    with pytest.raises(InputError, match="stream"):
        train(rows, "y", encoder=encoder, in_order=True, model="trees")
    with pytest.raises(InputError, match="is for train"):
        compare(rows, "y", encoder=encoder, in_order=True)
    with pytest.raises(InputError, match="leave max_users= out"):
        make_bounded(AROWClassifier(covariance="full")).partial_fit(table, y, classes=[False, True])
    with pytest.raises(InputError, match="leave max_users= out"):
        make_bounded(KeCoClassifier()).partial_fit(table, y, classes=[False, True])
    for given, told in (
        ({"max_users": 5}, "needs per="),
        ({"per": "user", "max_users": 0}, "1 to"),
    ):
        with pytest.raises(InputError, match=told):
            ViewEncoder(**given).partial_fit(table)


def test_parts_of_rows_know_what_begins_anew_before_them():
    table, _ = make_visits(60)
    encoder = ViewEncoder(per="user", max_users=3, hash_bits=8)
    X = encoder.partial_fit_transform(table)
    whole = [(row, set(columns.tolist())) for row, columns in X.restarts if len(columns)]
    assert len(whole) > 3

    def restarts_of(parts, starts):
        pairs = zip(parts, starts, strict=True)
        found = [(s + row, columns) for X, s in pairs for row, columns in X.restarts]
        return [(row, set(columns.tolist())) for row, columns in found if len(columns)]

    cuts = [0, 1, whole[0][0], whole[1][0] + 1, 60]
    parts = [X[lo:hi] for lo, hi in pairwise(cuts)]
    assert restarts_of(parts, cuts[:-1]) == whole
    joined = stack_rows(parts)
    assert restarts_of([joined], [0]) == whole
    own = X.select(["personal"]).restarts[-1][1]
    assert set((own + X.layout.block("personal").start).tolist()) == whole[-1][1]
    # the rows with a label; what began anew before one that has none does so before the next
    labels = np.array([None if 0 < i < whole[1][0] + 2 else "a" for i in range(60)])
    carried: list[np.ndarray] = []
    batches = [with_label(X[lo:hi], labels[lo:hi], None, carried) for lo, hi in pairwise(cuts)]
    kept = [batch[0] for batch in batches if batch is not None]
    assert carried == []
    assert [len(some) for some in kept] == [1, 60 - whole[1][0] - 2]
    (first, _, *more) = [(row, len(columns)) for row, columns in kept[1].restarts]
    assert (first, more) == (
        (0, len(whole[0][1])),
        [(row - whole[1][0] - 2, len(columns)) for row, columns in whole[2:]],
    )
    with pytest.raises(InputError, match="leave them in it"):
        X[[3, 2]]
