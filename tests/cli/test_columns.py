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
        assert status == 0 and words in " ".join(out).replace("'", '"')
    trained = crossview.train("rows.parquet", "y", text=["t__words"], ngrams=2, output="m.st")
    assert trained.fitted[0].ngram_range == (1, 2)
    assert " ".join(run(capsys, "inspect", "m.st")[1]).count("t__words:not ") > 0
    goes_on = crossview.train(table, init="m.st").fitted[0]
    assert tuple(goes_on.ngram_range) == (1, 2)
    views = crossview.MultiView({"a": np.eye(4), "b": np.eye(4)})
    with pytest.raises(crossview.InputError, match="encoded already; leave ngrams= at 1"):
        crossview.train(views, [0, 1, 0, 1], ngrams=2)
