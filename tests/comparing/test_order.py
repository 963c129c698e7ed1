"""The order in which rows are learned, and what a file of text says of them."""

import itertools
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from comparisons import ONE, make_few, make_frame, make_views, thorough
from crossview import (
    InputError,
    LabelOrderWarning,
    Scoring,
    compare,
    open_table,
    predict,
    progressive,
    train,
)
from crossview.data import shuffle
from crossview.estimators.linear import PassiveAggressiveClassifier
from crossview.scoring.progressive import LabelOrder
from shared_data import webkb_course


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the same table, sorted by label, as CSV and as Parquet of small row groups."""
    monkeypatch.chdir(tmp_path)
    table = pa.Table.from_pandas(make_frame(400).sort_values("answer"), preserve_index=False)
    table = table.append_column(
        "strong__kind", pa.array([f"kind {i % 7}" for i in range(len(table))])
    )
    pa.csv.write_csv(table, "t.csv")
    pa.parquet.write_table(table, "t.parquet", row_group_size=30)
    return table


def accuracy(trained, table):
    answer = predict(trained.fitted, table)["prediction"].to_pylist()
    return np.mean(np.asarray(answer) == np.asarray(table["answer"].to_pylist()))


def weights(trained):
    return trained.learner.coef_


def test_rows_sorted_by_label_are_shuffled(here):
    with warnings.catch_warnings():
        warnings.simplefilter("error", LabelOrderWarning)
        trained = train("t.csv", "answer", model="pa:concatenated", settings={"C": 0.1})
    assert (trained.order, trained.info["order"], trained.info["seed"]) == ("shuffled",) * 2 + (0,)
    assert accuracy(trained, here) > 0.9
    with pytest.warns(LabelOrderWarning, match=r"the label changes in 1 of 400 rows, and in 198"):
        sorted_ = train("t.csv", "answer", model="pa:concatenated", in_order=True)
    assert sorted_.order == "in order"
    # what the order hides: all but the last rows of the first class were met as the only class
    assert sorted_.accuracy > trained.accuracy
    assert accuracy(sorted_, here) < accuracy(trained, here)


def test_the_order_depends_on_the_rows_and_the_seed_and_not_on_their_source(here):
    options = {"model": "scw", "epochs": 2}
    model = train("t.csv", "answer", **options)
    for source in (
        "t.parquet",
        here,
        open_table("t.csv", batch_rows=7),
        "SELECT * FROM 't.csv'",
    ):
        assert (weights(train(source, "answer", **options)) == weights(model)).all()
    y = here["answer"].to_pylist()
    assert (weights(train("t.parquet", "answer", **options)) == weights(model)).all()
    labels_apart = train(here.drop_columns("answer"), y, **options)
    assert (weights(labels_apart) == weights(model)).all()
    assert (weights(train("t.csv", "answer", seed=1, **options)) != weights(model)).any()
    # a second pass over the same order would give this
    rng = np.random.default_rng(0)
    orders = [rng.permutation(len(here)) for _ in range(2)]
    assert orders[0].tolist() != orders[1].tolist()
    by_hand = train(here.take(orders[0]), "answer", model="scw", in_order=True)
    assert (weights(train("t.csv", "answer", model="scw")) == weights(by_hand)).all()


def test_views_and_unlabeled_rows_are_shuffled(monkeypatch):
    X, y, _ = make_few()
    X, y = X[np.argsort(y == "yes", kind="stable")], y[np.argsort(y == "yes", kind="stable")]
    order = np.random.default_rng(0).permutation(len(y))
    options = {"model": "keco", "settings": {"schedule": "stream", "kernel": "linear"}}
    trained, by_hand = train(X, y, **options), train(X[order], y[order], in_order=True, **options)
    assert (trained.rows, trained.unlabeled) == (by_hand.rows, by_hand.unlabeled)
    answers = [predict(one.fitted, X)["score"].to_numpy() for one in (trained, by_hand)]
    assert (answers[0] == answers[1]).all()
    assert train(X, y, model="keco", settings={"n_iterations": 5}).order is None


def test_a_query_keeps_the_order_it_asks_for(here):
    for query in (
        "SELECT * FROM 't.csv' ORDER BY strong__0",
        "SELECT * FROM (FROM 't.csv' ORDER BY strong__0) WHERE weak__0 IS NOT NULL",
    ):
        trained = train(query, "answer", model="scw")
        assert trained.order == "in the order of the query"
        assert train(query, "answer", model="scw", in_order=False).order == "shuffled"
    by_hand = train(here.sort_by("strong__0"), "answer", model="scw", in_order=True)
    assert (weights(trained) == weights(by_hand)).all()
    window = "SELECT *, row_number() OVER (ORDER BY weak__0) AS weak__rank FROM 't.csv'"
    assert train(window, "answer", model="scw").order == "shuffled"


def test_more_rows_than_the_buffer_are_shuffled_by_blocks(here, monkeypatch):
    monkeypatch.setattr(shuffle, "MAX_BYTES", here.nbytes // 5)
    monkeypatch.setattr("crossview.data.labeled.LabeledSource.batch_rows", 16)
    options = {"model": "pa:concatenated", "settings": {"C": 0.1}}
    trained = train(open_table("t.parquet", batch_rows=16), "answer", **options)
    assert (trained.rows, trained.order) == (400, "shuffled by blocks")
    assert accuracy(trained, here) > 0.9
    # the source cannot be read in random order: the labels still come in blocks
    wide = here.sort_by("answer").append_column("noise__id", pa.array(range(len(here))))
    pa.csv.write_csv(pa.concat_tables([wide] * 5).sort_by("answer"), "long.csv")
    with pytest.warns(LabelOrderWarning, match=r"a query with ORDER BY random\(\)"):
        trained = train(open_table("long.csv", batch_rows=16), "answer", **options)
    assert (trained.rows, trained.order) == (2000, "shuffled by blocks")


def test_a_bad_row_is_named_as_in_its_file(here, tmp_path):
    half = len(here) // 2
    for i, part in enumerate((here.slice(0, half), here.slice(half))):
        numbers = part["strong__0"].to_numpy().copy()
        if i:
            numbers[77] = np.nan
        part = part.set_column(0, "strong__0", pa.array(numbers))
        pa.parquet.write_table(part, f"part{i}.parquet")
    with pytest.raises(InputError, match="NaN") as caught:
        train("part*.parquet", "answer", model="scw")
    assert (caught.value.file, caught.value.row, caught.value.column) == (
        "part1.parquet",
        77,
        "strong__0",
    )


@pytest.mark.parametrize("counts", [(3, 4), (1, 5), (2, 2, 3), (1, 1, 4, 2), (4,)])
def test_changes_of_the_label_in_random_order(counts):
    labels = [k for k, n in enumerate(counts) for _ in range(n)]
    order = LabelOrder(np.arange(len(counts)))
    order.update(np.asarray(labels))
    changes = [
        np.count_nonzero(np.diff(permuted)) for permuted in set(itertools.permutations(labels))
    ]
    assert order.n_changes == len(counts) - 1
    np.testing.assert_allclose(order.expected, (np.mean(changes), np.std(changes)), atol=1e-7)


def test_blocks_of_labels_do_not_depend_on_batches_and_are_no_chance():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(1000) < 0.3, "b", "a").astype(object)
    for labels, blocks in (
        (np.sort(y), True),
        (np.repeat(y[:100], 30), True),
        (y, False),
        (np.repeat(y, 5), False),  # bursts are no blocks
        (np.sort(y[:12]), False),  # too few to say
        (np.full(1000, "a", dtype=object), False),
    ):
        counted = []
        for cut in (1, 7, len(labels)):
            order = LabelOrder(np.array(["a", "b"]))
            for start in range(0, len(labels), cut):
                order.update(labels[start : start + cut])
                order.update(np.array([None], dtype=object))  # has no label
            counted.append((order.n_changes, *order.counts))
            assert order.in_blocks == blocks
        assert len(set(counted)) == 1


def test_every_run_in_order_warns_of_blocks_once():
    X, y = make_views(400)
    order = np.r_[np.argsort(y[:200]), 200 + np.argsort(y[200:])]
    X, y = X[order], y[order]
    model = PassiveAggressiveClassifier()
    with pytest.warns(LabelOrderWarning, match="changes in 3 of 400 rows") as caught:
        list(
            progressive(
                model, [(X.matrix[:250], y[:250]), (X.matrix[250:], y[250:])], ["no", "yes"]
            )
        )
    assert len(caught) == 1
    order = np.r_[:20, 399:379:-1, 20:380]  # the rows that choose parameters have both classes
    models = ["pa:concatenated", "view:weak"]
    with pytest.warns(LabelOrderWarning, match="compare by folds") as caught:
        answer = compare(X[order], y[order], progressive=True, grid=ONE, models=models)
    assert len(caught) == 1
    assert "--in-order" in answer.train_options
    assert "--in-order" not in compare(X, y, cv=2, grid=ONE, models=models).train_options


@pytest.mark.parametrize("how", [{"cv": 2}, {"progressive": True}])
def test_csv_and_parquet_of_the_same_rows_give_the_same_comparison(how, here):
    table = here.take(np.random.default_rng(0).permutation(len(here)))
    pa.csv.write_csv(table, "t.csv")
    pa.parquet.write_table(table, "t.parquet", row_group_size=30)
    how |= {
        "models": ["pa:squared", "scw", "pam:squared", "view:weak"],
        "grid": ONE | {"C": [0.01, 0.1]},
    }
    answers = [
        thorough(name, "answer", **how) for name in ("t.csv", "t.parquet", "SELECT * FROM 't.csv'")
    ]
    for answer in answers[1:]:
        for row, other in zip(answers[0].rows, answer.rows, strict=True):
            assert (row.value, row.setting, row.threshold) == (
                other.value,
                other.setting,
                other.threshold,
            )
        assert (answer.n_rows, answer.n_scored) == (answers[0].n_rows, answers[0].n_scored)


def test_labels_stay_as_they_are_written(here):
    for written in (["no", "yes"], ["False", "True"], ["f", "t"]):
        labels = [written[label == "yes"] for label in here["answer"].to_pylist()]
        flags = [written[i % 2] for i in range(len(here))]
        table = here.set_column(here.column_names.index("answer"), "answer", pa.array(labels))
        table = table.append_column("weak__flag", pa.array(flags))
        pa.csv.write_csv(table, "t.csv", pa.csv.WriteOptions(quoting_style="needed"))
        for options in ({}, {"classes": written}):
            trained = train(
                "t.csv", "answer", model="scw", scoring=Scoring(positive=written[0]), **options
            )
            assert trained.positive == written[0]
            found = set(predict(trained.fitted, "t.csv")["prediction"].to_pylist())
            assert found == set(written)
        answer = thorough(
            "t.csv",
            "answer",
            cv=2,
            scoring=Scoring(positive=written[0]),
            grid=ONE,
            models=["scw", "view:weak"],
        )
        assert answer.classes == sorted(written)
        # columns that are copied, too; as features they are categories, as in Parquet
        kept = predict(trained.fitted, "t.csv", keep=["answer"])
        assert kept["answer"].to_pylist() == labels
        flags = [batch.X["weak__flag"].to_pylist() for batch in open_table("t.csv")]
        # so do columns that are no label; true and false are in small letters, as in Parquet
        expected = set(written) if "False" not in written else {"false", "true"}
        assert set(flags[0]) == expected


def test_whole_numbers_stay_numbers(tmp_path):
    frame = make_frame()
    for words, classes in (
        (["0", "1"], [0, 1]),
        (["-1", "1"], [-1, 1]),
        (["+1", "-1"], None),
        (["01", "02"], None),
    ):
        frame["answer"] = np.where(make_views()[1] == "yes", words[1], words[0])
        frame.to_csv(tmp_path / "t.csv", index=False)
        trained = train(
            tmp_path / "t.csv", "answer", model="scw", scoring=Scoring(positive=words[1])
        )
        assert trained.learner.classes_.tolist() == (classes or words)


def test_web_pages_sorted_by_class_are_learned():
    X, y = webkb_course()
    assert np.count_nonzero(np.diff(y.astype(int))) == 1
    trained = train(X, y, model="scw")
    predicted = predict(trained.fitted, X)["prediction"].to_numpy(zero_copy_only=False)
    assert np.mean(predicted == y) > 0.98
    with pytest.warns(LabelOrderWarning):
        trained = train(X, y, model="scw", in_order=True)
    predicted = predict(trained.fitted, X)["prediction"].to_numpy(zero_copy_only=False)
    assert len(np.unique(predicted)) == 1  # of the last rows
    assert trained.accuracy > 0.95  # and the figure on the way hides it
