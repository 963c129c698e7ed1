"""Evaluation by workers: what one machine counts, the same for any cluster."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from dask import delayed

import crossview
from crossview import InputError, MultiView, Scoring, ViewEncoder
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


VIEWS = {"user": "user__*", "page": "page__words", "ad": "ad__*"}


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
            for label, age in zip(
                part["level"].to_pylist(), part["price"].to_pylist(), strict=True
            ):
                print(f"{2 * int(label == 'high') - 1} 1:{age / 20} 2:{age % 1.0}", file=out)
    rest = table.slice(700)
    labeled = rest.filter(pa.compute.is_valid(rest["click"]))
    given = {"encoder": ViewEncoder(VIEWS, text=["page__words"], hash_bits=6)}
    for name, label, options in (
        ("classes", "click", {"scoring": Scoring(positive="yes"), "model": "pa:squared"}),
        ("several", "level", {"model": "pa:absolute"}),
        ("number", "price", {"task": "regression", "model": "mvm", "groups": "country"}),
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


@pytest.mark.filterwarnings("ignore:.*rows that the model has learned")
@pytest.mark.parametrize(
    ("model", "source", "options"),
    [
        ("classes", "*.parquet", {"by": ["country", "user__age"], "time": "when"}),
        ("classes", "*.parquet", {"scoring": "roc_auc", "window": 100, "time": "when"}),
        ("several", "*.parquet", {"by": "ad__size", "window": 64, "scoring": "f1"}),
        ("several", "*.parquet", {"by": "ad__size", "scoring": "roc_auc"}),
        ("several", "*.parquet", {"window": 64, "scoring": "top_accuracy"}),
        ("number", "*.parquet", {"by": "country"}),
        ("classes", "*.csv", {"by": "user__city", "scoring": "log_loss"}),
        ("rows", "*.svm", {}),
    ],
)
def test_the_answer_is_that_of_one_machine(client, folder, model, source, options):
    files = str(folder / source)
    expected = crossview.evaluate(folder / model, files, **options)
    assert expected.learned == float(model == "rows")
    for n in (1, 2, 5) if source == "*.parquet" else (3,):
        found = evaluate(folder / model, files, client=client, n_partitions=n, **options)
        # all counts and texts are equal, and only what comes from sums of floats may round
        assert_same(found.to_dict(), expected.to_dict(), **CLOSE)
        assert found.drift == expected.drift
        assert [one.drift for one in found.windows] == [one.drift for one in expected.windows]
        ours, theirs = found.diagnostics, expected.diagnostics
        assert (ours.differing, ours.columns) == (theirs.differing, theirs.columns)
        for name, array in vars(theirs.scored).items():  # the sample of a report
            np.testing.assert_array_equal(getattr(ours.scored, name), array)


def test_the_same_bits_for_one_worker_and_two(client, one_worker, folder):
    given = {"n_partitions": 5, "by": "country", "time": "when"}
    two, one = (
        evaluate(folder / "classes", str(folder / "*.parquet"), client=some, **given)
        for some in (client, one_worker)
    )
    assert two == one
    assert two.diagnostics.differing == one.diagnostics.differing


def test_blocks_and_samples_are_those_of_one_machine_where_rows_are_many(
    client, folder, monkeypatch
):
    """Of numbers, of rows for pictures, and of rows in a window, more than fit in one sample."""
    monkeypatch.setattr("crossview.evaluating.slices.MOST_SAMPLED", 64)
    monkeypatch.setattr("crossview.scoring.diagnostics.MOST_ROWS", 50)
    files, given = str(folder / "*.parquet"), {"by": ["user__age", "price"], "time": "when"}
    found = evaluate(folder / "classes", files, client=client, n_partitions=5, **given)
    expected = crossview.evaluate(folder / "classes", files, **given)
    assert_same(found.to_dict(), expected.to_dict(), **CLOSE)
    ours, theirs = found.diagnostics.scored, expected.diagnostics.scored
    assert ours.rows.tolist() == theirs.rows.tolist()
    assert len(ours.rows) == 50


def test_a_dask_data_frame_counts_as_its_rows(client, folder):
    dataframe = pytest.importorskip("dask.dataframe")
    table = pa.concat_tables([pq.read_table(folder / f"{f}.parquet") for f in range(3)])
    whole = table.to_pandas()
    frame = dataframe.concat(
        [dataframe.from_pandas(whole[a:b], npartitions=2) for a, b in [(0, 400), (400, 700)]]
    )
    given = {"by": "country", "time": "when", "views": False}
    found = evaluate(folder / "classes", frame, client=client, n_partitions=3, **given)
    expected = crossview.evaluate(folder / "classes", whole, **given)
    ours, theirs = found.to_dict(), expected.to_dict()
    for name, metric in theirs["metrics"].items():
        if crossview.catalog.metrics.metric_of(name).kind == "order":  # intervals in other bins
            low, high = metric["low"], metric["high"]
            assert ours["metrics"][name]["value"] == metric["value"]
            assert ours["metrics"][name]["high"] - high == pytest.approx(0.0, abs=high - low)
            ours["metrics"][name] = metric
    assert_same(ours, theirs, **CLOSE)


@pytest.mark.parametrize("metric", ["f1", "roc_auc"])
def test_rows_of_other_classes_are_errors_as_on_one_machine(client, folder, tmp_path, metric):
    for f in range(2):
        table = pq.read_table(folder / f"{f}.parquet")
        level = np.array(table["level"].to_pylist(), dtype=object)
        level[[40, 120 + f]] = ["other", "none"][:: 1 - 2 * f]
        at = table.column_names.index("level")
        pq.write_table(table.set_column(at, "level", pa.array(level)), tmp_path / f"{f}.parquet")
    files = str(tmp_path / "*.parquet")
    given = {"by": "ad__size", "window": 64, "scoring": metric}
    expected = crossview.evaluate(folder / "several", files, **given)
    assert expected.unknown == {"other": 2, "none": 2}
    for n in (1, 2):
        found = evaluate(folder / "several", files, client=client, n_partitions=n, **given)
        assert_same(found.to_dict(), expected.to_dict(), **CLOSE)
        assert list(found.unknown) == list(expected.unknown)


def test_what_cannot_be_evaluated_is_refused_in_one_line(client, folder, tmp_path):
    files, model = str(folder / "*.parquet"), folder / "classes"
    wrong = pq.read_table(folder / "2.parquet")
    labels = [*wrong["click"].to_pylist()[:-1], "perhaps"]
    pq.write_table(wrong.set_column(0, "click", pa.array(labels)), tmp_path / "wrong.parquet")
    nobody = pa.nulls(len(wrong), pa.string())
    pq.write_table(wrong.set_column(0, "click", nobody), tmp_path / "unlabeled.parquet")
    views = MultiView({"a": np.ones((2, 1))})
    for source, options, match in (
        (files, {"n_partitions": 7}, "7 partitions of 5 files or row groups"),
        (files, {"n_partitions": 0}, "n_partitions=0; give 1 or more"),
        (files, {"by": "contry"}, "no column 'contry'; did you mean 'country'"),
        (files, {"window": "1d"}, "it needs time="),
        (files, {"window": 1}, "window=1 makes 700 windows"),
        (files, {"time": "when", "window": "1s"}, "500 is the most"),
        (files, {"time": "country"}, "text that is not a date in every row"),
        (files, {"y": np.ones(700)}, "y= is the name of a column"),
        (files, {"colour": 3}, "no option 'colour'"),
        (files, {"client": "local:2"}, "client= is a str"),
        (f"SELECT * FROM '{files}'", {}, "give files"),
        (wrong, {}, "give files"),
        (views, {}, "give files"),
        (tmp_path / "wrong.parquet", {}, "wrong.parquet, row 98, column 'click': label 'perhaps'"),
        (tmp_path / "unlabeled.parquet", {}, "no row has a label"),
    ):
        with pytest.raises(InputError, match=match) as error:
            evaluate(model, source, **{"client": client, "n_partitions": 1, **options})
        assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="a model of svmlight files"):
        evaluate(folder / "rows", files, client=client)


def test_partitions_without_rows_or_labels_count_nothing(client, folder, tmp_path):
    table = pq.read_table(folder / "0.parquet")
    unlabeled = table.set_column(0, "click", pa.nulls(len(table), pa.string()))
    for name, part in (("a", unlabeled), ("b", table[:0]), ("c", table), ("d", unlabeled)):
        pq.write_table(part, tmp_path / f"{name}.parquet", row_group_size=200)
    files = str(tmp_path / "*.parquet")
    given = {"by": "country", "window": 50}
    found = evaluate(folder / "classes", files, client=client, n_partitions=3, **given)
    expected = crossview.evaluate(folder / "classes", files, **given)
    assert_same(found.to_dict(), expected.to_dict(), **CLOSE)
    assert found.skipped > 600


@pytest.mark.exhaustive  # processes that load everything again
def test_a_killed_worker_changes_no_bit(client, folder, tmp_path):
    dataframe = pytest.importorskip("dask.dataframe")
    whole = pq.read_table(folder / "0.parquet").to_pandas()

    def load(first, marker):
        """Some rows; the process that loads those from 180 on in the third pass ends."""
        import os

        if first == 180 and marker is not None:
            with open(marker) as file:
                left = int(file.read())
            with open(marker, "w") as file:
                file.write(str(left - 1))
            if left == 1:
                os._exit(1)
        return whole[first : first + 60]

    def frame(marker):
        parts = [delayed(load)(first, marker) for first in range(0, 300, 60)]
        return dataframe.from_delayed(parts, meta=whole[:0], verify_meta=False)

    given = {"n_partitions": 3, "by": "country"}
    expected = evaluate(folder / "classes", frame(None), client=client, **given)
    marker = tmp_path / "left"
    marker.write_text("3")  # the third pass is the one that scores
    with connected("local:2") as processes:
        found = evaluate(folder / "classes", frame(str(marker)), client=processes, **given)
    assert int(marker.read_text()) < 0
    assert found == expected
