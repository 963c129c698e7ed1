"""Evaluation by workers: what one machine counts, the same for any cluster."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import crossview
from command_line import run
from crossview import InputError, MultiView
from crossview.distributed import connected, evaluate

RNG = np.random.default_rng(0)
# sums that several machines round in another way
CLOSE = {"rel": 1e-12, "abs": 1e-15}


def make_table(n):
    age, city = RNG.normal(40.0, 9.0, n), RNG.integers(0, 9, n)
    noise = 0.5 * RNG.normal(size=n)
    score = (age - 40.0) / 9.0 + np.sin(city) + noise
    click = np.where(score > 0.2, "yes", "no").astype(object)
    click[RNG.random(n) < 0.1] = None
    return pa.table(
        {
            "click": pa.array(click, pa.string()),
            "level": np.array(["low", "middle", "high"])[np.digitize(score, [-0.5, 0.5])],
            "user__age": pa.array(np.where(RNG.random(n) < 0.05, np.nan, age), from_pandas=True),
            "user__city": [f"c{c}" for c in city],
            "page__words": RNG.choice(["a few words", "many more words"], n),
            "ad__size": RNG.integers(1, 5, n),
            "price": 2.0 * age - 80.0 + noise,
            "country": RNG.choice(["NO", "DE", "FR"], n, p=[0.6, 0.3, 0.1]),
            "when": 883612800 + 3600 * np.arange(n),
        }
    )


VIEWS = {"views": {"user": "user__*", "page": "page__words", "ad": "ad__*"}, "hash_bits": 6}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """700 rows in three Parquet files of five row groups, CSV and svmlight, and four models."""
    folder = tmp_path_factory.mktemp("rows")
    table = make_table(1400)
    for f, (first, n) in enumerate([(0, 301), (301, 300), (601, 99)]):
        part = table.slice(first, n)
        pq.write_table(part, folder / f"{f}.parquet", row_group_size=151)
        pa.csv.write_csv(part, folder / f"{f}.csv")
        with (folder / f"{f}.svm").open("w") as out:
            for label, age in zip(part["level"].to_pylist(), part["price"].to_pylist()):
                print(f"{2 * int(label == 'high') - 1} 1:{age / 20} 2:{age % 1.0}", file=out)
    rest = table.slice(700)
    labeled = rest.filter(pa.compute.is_valid(rest["click"]))
    given = {**VIEWS, "text": ["page__words"]}
    for name, label, options in (
        ("classes", "click", {"positive": "yes", "model": "pa:squared"}),
        ("several", "level", {"model": "pa:absolute"}),
        ("number", "price", {"task": "regression", "model": "mvm"}),
    ):
        crossview.train(labeled, label, output=folder / name, **options, **given)
    crossview.train(str(folder / "*.svm"), output=folder / "rows", model="pa:concatenated")
    return folder


def assert_same(ours, theirs, **close):
    """Equal numbers of rows and texts, and floats that differ by rounding."""
    assert type(ours) is type(theirs)
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys()
        ours, theirs = list(ours.values()), list(theirs.values())
    if isinstance(ours, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other, **close)
    elif isinstance(ours, float):
        assert ours == pytest.approx(theirs, **close)
    else:
        assert ours == theirs


def counts_of(found):
    """Everything that is counted, and not summed."""
    drifts = [found.drift, *(one.drift for one in found.windows)]
    return (
        (found.n_rows, found.skipped, found.without_time, found.confusion),
        [one.rows for one in found.calibration],
        [[(one.value, one.rows) for one in column.slices] for column in found.by],
        [(one.start, one.rows) for one in found.windows],
        drifts,
        [one.rows for one in (found.diagnostics.scored, found.diagnostics.by_view)],
    )


@pytest.mark.parametrize("n_partitions", [1, 2, 5])
@pytest.mark.parametrize(
    ("model", "source", "options"),
    [
        ("classes", "*.parquet", {"by": ["country", "user__age"], "time": "when"}),
        ("classes", "*.parquet", {"metric": "roc_auc", "window": 100, "time": "when"}),
        ("several", "*.parquet", {"by": "ad__size", "window": 64, "metric": "f1"}),
        ("number", "*.parquet", {"by": "country"}),
        ("classes", "*.csv", {"by": "user__city", "metric": "log_loss"}),
        ("rows", "*.svm", {}),
    ],
)
def test_the_answer_is_that_of_one_machine(client, folder, model, source, options, n_partitions):
    files = str(folder / source)
    n = min(n_partitions, 3) if source != "*.parquet" else n_partitions
    found = evaluate(folder / model, files, client=client, n_partitions=n, **options)
    expected = crossview.evaluate(folder / model, files, **options)
    assert np.array_equal(found.diagnostics.scored.rows, expected.diagnostics.scored.rows)
    assert np.array_equal(found.diagnostics.scored.scores, expected.diagnostics.scored.scores)
    assert found.diagnostics.differing == expected.diagnostics.differing
    assert found.confusion == expected.confusion
    assert [one.rows for one in found.calibration] == [one.rows for one in expected.calibration]
    assert found.drift == expected.drift
    assert [one.drift for one in found.windows] == [one.drift for one in expected.windows]
    assert_same(found.to_dict(), expected.to_dict(), **CLOSE)
    assert found.n_rows > 500
