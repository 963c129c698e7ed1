"""Options of compare and train about columns: what is counted, in which order, with what weight."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import crossview
from crossview.cli import main


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


def test_ngrams_are_counted_and_carried_on(table, capsys):
    given = ["--label", "y", "--text", "t__words"]
    for model, words in (
        ("pa:concatenated", "--text t__words --ngrams 2 --model"),
        ("yardstick:logistic-regression", 'ViewEncoder(text=["t__words"], ngram_range=(1, 2))'),
    ):
        more = ["--model", model, "--cv", "2", "--ngrams", "2", *given]
        status, out, _ = run(capsys, "compare", "rows.parquet", *more)
        assert status == 0
        assert words in " ".join(out).replace("'", '"')
    given = {"text": ["t__words"], "model": "pa:concatenated"}
    trained = crossview.train(table, "y", **given, ngrams=2, output="m.st")
    assert trained.fitted[0].ngram_range == (1, 2)
    assert "t__words:film film" in " ".join(run(capsys, "inspect", "m.st")[1])
    goes_on = crossview.train(table, init="m.st").fitted[0]
    assert tuple(goes_on.ngram_range) == (1, 2)
    views = crossview.MultiView({"a": np.eye(4), "b": np.eye(4)})
    with pytest.raises(crossview.InputError, match="encoded already; leave ngrams= at 1"):
        crossview.train(views, [0, 1, 0, 1], ngrams=2)


def test_the_rows_are_taken_in_the_order_of_a_column(table, capsys):
    order = np.argsort(table["times"].to_numpy(), kind="stable")
    in_order = table.take(order).drop_columns(["times"])
    given = {"text": ["t__words"], "hash_bits": 8}
    kept = given | {"model": "pa:concatenated", "checkpoint": "c.st", "every": 0.0, "resume": True}
    small = crossview.open_table(table, batch_rows=50)
    by_time = crossview.train(small, "y", time="times", **kept)
    sorted_before = crossview.train(in_order, "y", in_order=True, **kept)
    np.testing.assert_array_equal(by_time.learner.coef_, sorted_before.learner.coef_)
    assert by_time.fitted[0].view_columns() == {"t": ["t__words"], "n": ["n__x"]}
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
        (["rows.parquet", *train, "t__words"], "'t__words': holds string, and times are timestam"),
        (["rows.parquet", *train, "times", "--shuffle"], "--time times is an order; leave"),
    ):
        status, _, err = run(capsys, "train", *words)
        assert status == 2
        assert message in err[-1]
    monkeypatch.setattr("crossview.evaluation.labeled.MAX_BYTES", 100)
    err = run(capsys, "train", "rows.parquet", *train, "times")[2]
    assert "sorted by --time in memory; leave it out, and give a query with ORDER BY" in err[-1]
    views = crossview.MultiView({"a": np.eye(4), "b": np.eye(4)})
    with pytest.raises(crossview.InputError, match="X is a MultiView and has no column 'day'"):
        crossview.train(views, [0, 1, 0, 1], time="day")
    with pytest.raises(crossview.InputError, match="by groups or in the order of time"):
        crossview.compare(table, "y", time="times", groups="day")
