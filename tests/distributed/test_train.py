"""Training on files that workers read: an ordinary model file, the same for any cluster."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from dask import delayed as dask_delayed
from sklearn.base import clone

import crossview
from crossview import InputError, LearnedRowsWarning, Scoring, ViewEncoder, load
from crossview.distributed import connected, train


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same 900 rows in three Parquet files of two row groups, CSV, and svmlight."""
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    for f in range(3):
        n = 300
        age, city = rng.normal(40.0, 9.0, n), rng.integers(0, 9, n)
        clicks = (age - 40.0) / 9.0 + np.sin(city) + 0.5 * rng.normal(size=n) > 0.2
        table = pa.table(
            {
                "click": np.where(clicks, "yes", "no"),
                "user__age": age,
                "user__city": [f"c{c}" for c in city],
                "page__words": rng.choice(["a few words", "many more words"], n),
                "price": 2.0 * age - 80.0 + rng.normal(size=n),
                "w": rng.uniform(0.5, 1.5, n),
            }
        )
        pq.write_table(table, folder / f"{f}.parquet", row_group_size=150)
        pa.csv.write_csv(table, folder / f"{f}.csv")
        with (folder / f"{f}.svm").open("w") as out:
            for one, a, c in zip(clicks, age, city, strict=True):
                print(f"{2 * int(one) - 1} 1:{(a - 40.0) / 9.0} {c + 2}:1", file=out)
    return folder


VIEWS = {"user": "user__*", "page": "page__words"}
ENCODER = ViewEncoder(VIEWS, text=["page__words"], hash_bits=6)
BINNED = ViewEncoder(VIEWS, text=["page__words"], hash_bits=6, bins=4)
GIVEN = {"scoring": Scoring(positive="yes"), "encoder": ENCODER, "n_partitions": 3}


def test_a_model_file_like_any_other_the_same_for_any_cluster(client, one_worker, folder, tmp_path):
    files = str(folder / "*.parquet")
    trained = train(files, "click", client=client, output=tmp_path / "m", model="arow", **GIVEN)
    again = train(files, "click", client=one_worker, model="arow", **GIVEN)
    ours, theirs = trained.learner.get_state(), again.learner.get_state()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
    assert trained.threshold == again.threshold
    assert trained.rows == 855  # of the last 150 of each of three, each tenth is held out
    assert 0.0 <= trained.accuracy <= 1.0
    # the statistics of the encoder are those of the rows that were learned
    whole = crossview.train(
        files,
        "click",
        model="arow",
        scoring=Scoring(positive="yes"),
        encoder=ENCODER,
    )
    np.testing.assert_allclose(trained.fitted[0].mean_, whole.fitted[0].mean_, rtol=0.02)
    assert trained.fitted[0].count_.tolist() == [855.0]
    with pytest.warns(LearnedRowsWarning, match="9[0-9]% of the rows"):  # or were held out
        evaluated = crossview.evaluate(tmp_path / "m", files)
    assert evaluated.metrics["accuracy"].value > 0.8
    assert load(tmp_path / "m")[-1].classes_.tolist() == ["no", "yes"]


def test_what_a_model_does_not_heed_is_said(client, tmp_path):
    rng = np.random.default_rng(0)
    x, file = rng.normal(size=4000), str(tmp_path / "rows.parquet")
    table = pa.table({"x": x, "w": np.arange(4000) % 3 + 1.0, "n": np.exp(2.0 * x), "y": x > 0.0})
    pq.write_table(table, file, row_group_size=1000)
    given = {"client": client, "n_rounds": 1, "n_partitions": 2}
    classes = train(file, "y", model="cw", weight="w", **given, encoder=ViewEncoder(ignore=["n"]))
    assert any("do not change what is learned by cw" in one for one in classes.warnings)
    numbers = train(
        file,
        "n",
        model="linear",
        task="regression",
        **given,
        encoder=ViewEncoder(ignore=["w", "y"]),
    )
    assert any("skewed" in one for one in numbers.warnings)


def test_text_files_weights_bins_and_several_models(client, folder):
    for source, label, options in (
        ("*.csv", "click", {"model": "mvm", **GIVEN, "encoder": BINNED}),
        (
            "*.csv",
            "click",
            {"model": "pa:squared", "weight": "w", **GIVEN},
        ),
        ("*.svm", None, {"model": "pa:concatenated", "n_partitions": 2}),
    ):
        trained = train(str(folder / source), label, client=client, n_rounds=2, **options)
        assert trained.accuracy > 0.6, source
    number = {"encoder": ENCODER, "task": "regression", "in_order": True}
    files = str(folder / "*.parquet")
    trained = train(files, "price", client=client, model="mvm", n_partitions=2, **number)
    assert trained.metric["value"] < 12.0  # the standard deviation is 18
    assert trained.order == "in order"


def test_a_machine_for_a_measure_is_that_of_all_rows_together(client, one_worker, folder, tmp_path):
    files = sorted(map(str, folder.glob("*.parquet")))
    given = {"model": "svmperf", "scoring": "f1", "settings": {"C2": 0.01}, **GIVEN}
    trained = train(files, "click", client=client, **given)
    again = train(files, "click", client=one_worker, **given)
    ours, theirs = trained.learner.get_state(), again.learner.get_state()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
    assert (trained.rows, trained.passes, trained.threshold) == (855, None, again.threshold)
    rows = np.arange(300)
    is_learned = (rows < 150) | (rows % 10 < 9)
    table = pa.concat_tables([pq.read_table(file).filter(pa.array(is_learned)) for file in files])
    X = trained.encoder.transform(table)
    here = clone(trained.learner).set_params(calibration="none").fit(X, table["click"].to_numpy())
    there = trained.learner
    np.testing.assert_allclose(there.objective_history_, here.objective_history_, rtol=1e-9)
    assert trained.encoder.count_.tolist() == [855.0]
    assert trained.metric["value"] > 0.7
    of_text = {
        "client": client,
        "model": "svmperf",
        "n_partitions": 2,
        "encoder": ViewEncoder(scale_views=False),
    }
    for metric in ("accuracy", "roc_auc"):
        text = train(str(folder / "*.svm"), scoring=metric, output=tmp_path / "m", **of_text)
        assert text.accuracy > 0.6
        with pytest.warns(LearnedRowsWarning, match="9[0-9]% of the rows"):
            evaluated = crossview.evaluate(tmp_path / "m", str(folder / "0.svm"))
        assert evaluated.metrics["log_loss"].value < 0.69


def test_what_does_not_apply_is_refused_in_one_line(client, folder):
    files = str(folder / "*.parquet")
    for source, options, match in (
        (files, {"model": "svmperf", "n_rounds": 2}, "'svmperf' has no rounds"),
        (files, {"model": "keco"}, "set schedule=stream"),
        (files, {"n_partitions": 7}, "7 partitions of 6 files or row groups"),
        (files, {"epochs": 3}, "epochs= does not apply"),
        (files, {"colour": 3}, "no option 'colour'"),
        (files, {"weight": [1.0]}, "weight= is the name of a column"),
        (f"SELECT * FROM '{files}'", {}, "give files"),
        (pa.table({"click": [0, 1], "x": [0.0, 1.0]}), {}, "give files"),
    ):
        given = {"model": "pa:squared", "n_partitions": 2, **options}
        with pytest.raises(InputError, match=match) as error:
            train(source, "click", client=client, **given)
        assert "\n" not in str(error.value)
    for address, match in (("local:0", "1 process or more"), ("tcp://127.0.0.1:x", "no Dask")):
        with pytest.raises(InputError, match=match), connected(address):
            pass


def test_every_partition_holds_out_rows_of_its_last_block_and_of_many_rows_few(
    client, folder, monkeypatch
):
    monkeypatch.setattr("crossview.distributed.worker_rows.MOST_HELD_OUT", 15)
    files = [str(folder / f"{f}.parquet") for f in (0, 1)]
    given = {**GIVEN, "n_partitions": 2, "n_rounds": 1}
    # of 150 rows at the end of each of two partitions every twentieth: 159 to 299
    assert train(files, "click", client=client, model="pa:squared", **given).rows == 600 - 16


def test_too_few_rows_to_hold_one_out_are_an_error(client, folder, tmp_path):
    for part in range(2):
        few = pq.read_table(folder / "0.parquet").slice(9 * part, 9)
        pq.write_table(few, tmp_path / f"{part}.parquet")
    with pytest.raises(InputError, match="no labeled row is held out"):
        train(str(tmp_path / "*.parquet"), "click", client=client, **{**GIVEN, "n_partitions": 2})


def test_a_dask_data_frame_learns_as_its_files_do(client, folder):
    dataframe = pytest.importorskip("dask.dataframe")
    names = sorted(str(path) for path in folder.glob("*.parquet"))
    tables = [pq.read_table(name).to_pandas() for name in names]
    frame = dataframe.concat([dataframe.from_pandas(one, npartitions=2) for one in tables])
    from_frame = train(frame, "click", client=client, model="arow", weight="w", **GIVEN)
    from_files = train(names, "click", client=client, model="arow", weight="w", **GIVEN)
    ours, theirs = from_frame.learner.get_state(), from_files.learner.get_state()
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
    assert from_frame.threshold == from_files.threshold


def test_categories_of_a_dask_data_frame_may_differ_between_partitions(client, folder):
    dataframe = pytest.importorskip("dask.dataframe")
    table = pq.read_table(folder / "0.parquet").to_pandas()
    parts = [table[:100], table[100:200], table[200:]]
    frame = dataframe.from_delayed(
        [dask_delayed(as_category)(part, "user__city") for part in parts],
        meta=as_category(table, "user__city"),
        verify_meta=False,
    )
    trained = train(
        frame, "click", client=client, model="pa:squared", **{**GIVEN, "encoder": BINNED}
    )
    assert trained.rows == 300 - 10 * 3
    assert trained.accuracy > 0.5


def as_category(table, column):
    return table.assign(**{column: table[column].astype("category")})
